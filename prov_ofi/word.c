/* SPDX-License-Identifier: BSD-2-Clause */
/* How does a word get in front of a message, and off it again? (hot) */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "word.h"

int dofi_words_make(struct dofi_fab *fab, struct dofi_words *w, size_t n, bool copies)
{
	size_t bytes = DOFI_WORD_BYTES + (copies ? DOFI_WORD_COPY : 0);
	struct fi_mr_attr attr;
	struct iovec iov;
	int ret;

	if (w->word || !n)
		return 0;
	w->stride = bytes / DOFI_WORD_BYTES;
	w->word = calloc(n, bytes);
	if (!w->word)
		return -FI_ENOMEM;
	memset(&attr, 0, sizeof(attr));
	iov.iov_base = w->word;
	iov.iov_len = n * bytes;
	attr.mr_iov = &iov;
	attr.iov_count = 1;
	attr.access = FI_SEND | FI_RECV;
	ret = fi_mr_regattr(fab->domain, &attr, 0, &w->mr);
	if (ret) {
		free(w->word);
		w->word = NULL;
	}
	return ret;
}

void dofi_words_free(struct dofi_words *w)
{
	if (!w->word)
		return;
	fi_close(&w->mr->fid);
	free(w->word);
	w->word = NULL;
	w->mr = NULL;
}

static inline uint64_t *word_at(const struct dofi_words *w, size_t slot)
{
	return &w->word[slot * w->stride];
}

/* The message with one segment more. */
struct longer {
	struct iovec iov[DOFI_IOV_MAX + 1];
	void *desc[DOFI_IOV_MAX + 1];
	struct fi_msg msg;
};

static inline void lengthen(struct longer *l, const struct dofi_words *w, size_t slot,
			    const struct fi_msg *msg)
{
	l->msg = *msg;
	l->iov[0].iov_base = word_at(w, slot);
	l->iov[0].iov_len = DOFI_WORD_BYTES;
	l->desc[0] = fi_mr_desc(w->mr);
	for (size_t i = 0; i < msg->iov_count; i++) {
		l->iov[i + 1] = msg->msg_iov[i];
		l->desc[i + 1] = msg->desc[i];
	}
	l->msg.msg_iov = l->iov;
	l->msg.desc = l->desc;
	l->msg.iov_count++;
}

/* Copies the message to `to`, if there is room; its length, or -1. */
static inline ssize_t gather(char *to, const struct fi_msg *msg)
{
	size_t total = 0;

	for (size_t i = 0; i < msg->iov_count; i++) {
		size_t len = msg->msg_iov[i].iov_len;

		if (len > DOFI_WORD_COPY - total)
			return -1;
		memcpy(to + total, msg->msg_iov[i].iov_base, len);
		total += len;
	}
	return (ssize_t)total;
}

ssize_t dofi_word_send(struct fid_ep *fid, const struct dofi_words *w, size_t slot,
		       const struct fi_msg *msg)
{
	uint64_t *word = word_at(w, slot);
	struct longer l;
	ssize_t len = gather((char *)(word + 1), msg);

	*word = htobe64(msg->data);
	if (len >= 0)
		return fi_send(fid, word, DOFI_WORD_BYTES + (size_t)len, fi_mr_desc(w->mr),
			       FI_ADDR_UNSPEC, msg->context);
	lengthen(&l, w, slot, msg);
	l.msg.data = 0;
	return fi_sendmsg(fid, &l.msg, FI_COMPLETION);
}

ssize_t dofi_word_recv(struct fid_ep *fid, const struct dofi_words *w, size_t slot,
		       const struct fi_msg *msg)
{
	struct longer l;

	lengthen(&l, w, slot, msg);
	return fi_recvmsg(fid, &l.msg, FI_COMPLETION);
}

bool dofi_word_take(const struct dofi_words *w, size_t slot, size_t *len, uint64_t *data)
{
	if (*len < DOFI_WORD_BYTES)
		return false;
	*len -= DOFI_WORD_BYTES;
	*data = be64toh(*word_at(w, slot));
	return true;
}
