/* SPDX-License-Identifier: BSD-2-Clause */
/* Message prefixes: put in front of messages, and removed. (hot) */
#include <stdlib.h>
#include <string.h>

#include "data/dto_submit.h"
#include "fabric/verbs/msg_prefix.h"

/* Queues of more slots than this have no room for copies: it would be more than 16 KiB. */
#define MOST_COPIES 128

int dofi_words_make(struct dofi_fab *fab, struct dofi_words *w, size_t n, bool copies)
{
	size_t bytes = DOFI_WORD_BYTES + (copies && n <= MOST_COPIES ? DOFI_WORD_COPY : 0);
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

static void lengthen(struct longer *l, const struct dofi_words *w, size_t slot,
		     struct dofi_dto *dto)
{
	l->msg = dofi_fab_msg(dto);
	l->iov[0].iov_base = word_at(w, slot);
	l->iov[0].iov_len = DOFI_WORD_BYTES;
	l->desc[0] = fi_mr_desc(w->mr);
	for (size_t i = 0; i < dto->iov_count; i++) {
		l->iov[i + 1] = dto->iov[i];
		l->desc[i + 1] = dto->desc[i];
	}
	l->msg.msg_iov = l->iov;
	l->msg.desc = l->desc;
	l->msg.iov_count++;
}

static inline void gather(char *to, const struct dofi_dto *dto)
{
	for (size_t i = 0; i < dto->iov_count; i++) {
		memcpy(to, dto->iov[i].iov_base, dto->iov[i].iov_len);
		to += dto->iov[i].iov_len;
	}
}

ssize_t dofi_word_send(struct fid_ep *fid, const struct dofi_words *w, size_t slot,
		       struct dofi_dto *dto, uint64_t data)
{
	uint64_t *word = word_at(w, slot);
	struct longer l;

	*word = htobe64(data);
	if (w->stride > 1 && dto->length <= DOFI_WORD_COPY) {
		gather((char *)(word + 1), dto);
		return fi_send(fid, word, DOFI_WORD_BYTES + dto->length, fi_mr_desc(w->mr),
			       FI_ADDR_UNSPEC, &dto->ctx);
	}
	lengthen(&l, w, slot, dto);
	return fi_sendmsg(fid, &l.msg, FI_COMPLETION);
}

ssize_t dofi_word_recv(struct fid_ep *fid, const struct dofi_words *w, size_t slot,
		       struct dofi_dto *dto)
{
	struct longer l;

	if (dofi_word_lands(w, dto))
		return fi_recv(fid, word_at(w, slot), DOFI_WORD_BYTES + dto->length,
			       fi_mr_desc(w->mr), FI_ADDR_UNSPEC, &dto->ctx);
	lengthen(&l, w, slot, dto);
	return fi_recvmsg(fid, &l.msg, FI_COMPLETION);
}

bool dofi_word_unload(struct dofi_lmr_table *lmrs, const struct dofi_words *w, size_t slot,
		      const struct dofi_dto *dto, size_t len)
{
	bool there = dofi_region_hold(lmrs, dto->memory);

	if (there && len && len <= dto->length)
		memcpy(dto->iov[0].iov_base, word_at(w, slot) + 1, len);
	dofi_region_let_go(lmrs);
	return there;
}
