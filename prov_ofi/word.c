/* SPDX-License-Identifier: BSD-2-Clause */
/* How does a word get in front of a message, and off it again? (hot) */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "word.h"

int dofi_words_make(struct dofi_fab *fab, struct dofi_words *w, size_t n)
{
	struct fi_mr_attr attr;
	struct iovec iov;
	int ret;

	if (w->word || !n)
		return 0;
	w->word = calloc(n, DOFI_WORD_BYTES);
	if (!w->word)
		return -FI_ENOMEM;
	memset(&attr, 0, sizeof(attr));
	iov.iov_base = w->word;
	iov.iov_len = n * DOFI_WORD_BYTES;
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
	l->iov[0].iov_base = &w->word[slot];
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

ssize_t dofi_word_send(struct fid_ep *fid, const struct dofi_words *w, size_t slot,
		       const struct fi_msg *msg)
{
	struct longer l;

	lengthen(&l, w, slot, msg);
	w->word[slot] = htobe64(msg->data);
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
	*data = be64toh(w->word[slot]);
	return true;
}
