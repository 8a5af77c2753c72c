/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds and removes message prefixes. (hot) */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "fabrics/verbs/msg_prefix.h"
#include "fabrics/verbs/split_rdma.h"
#include "object/limits.h"
#include "object/srq.h"

/* Queues of more slots than this have no room for copies: it would be more than 16 KiB. */
#define MOST_COPIES 128
/* Bytes of a slot with a bounce buffer. */
#define SLOT 128
/* Added to the bytes of a write, in bits 1..31 of the prefix (msg_prefix.h). */
#define WRITTEN 2u

static inline size_t msg_prefix_len(bool to_srq)
{
	return to_srq ? DOFI_MSG_PREFIX_MAX : sizeof(uint64_t);
}

int dofi_msg_prefixes_alloc(struct dofi_fab *fab, struct dofi_msg_prefixes *w, size_t n,
			    bool copies)
{
	size_t bytes = copies && n <= MOST_COPIES ? SLOT : DOFI_MSG_PREFIX_MAX;
	struct fi_mr_attr attr;
	struct iovec iov;
	int ret;

	if (w->base || !n)
		return 0;
	w->stride = bytes / sizeof(*w->base);
	w->base = calloc(n, bytes);
	if (!w->base)
		return -FI_ENOMEM;
	memset(&attr, 0, sizeof(attr));
	iov.iov_base = w->base;
	iov.iov_len = n * bytes;
	attr.mr_iov = &iov;
	attr.iov_count = 1;
	attr.access = FI_SEND | FI_RECV;
	ret = fi_mr_regattr(fab->domain, &attr, 0, &w->mr);
	if (ret) {
		free(w->base);
		w->base = NULL;
	}
	return ret;
}

static inline uint64_t *msg_prefix_at(const struct dofi_msg_prefixes *w, size_t slot)
{
	return &w->base[slot * w->stride];
}

/* True if the slots have bounce buffers, and one has room for `bytes` behind a prefix of `len`. */
static inline bool msg_prefix_has_bounce(const struct dofi_msg_prefixes *w, size_t len,
					 uint64_t bytes)
{
	return w->stride == SLOT / sizeof(*w->base) && bytes <= SLOT - len;
}

/* Writes the prefix of a request. `written`: its second part, to an SRQ. Returns its bytes. */
static inline size_t msg_prefix_put(const struct dofi_dto *dto, uint64_t *word, uint64_t data,
				    uint64_t written)
{
	bool to_srq = dto->ep->peer_conn_id;

	word[0] = htobe64(data);
	if (to_srq)
		word[1] = htobe64(written);
	return msg_prefix_len(to_srq);
}

/* Sends the message with an additional segment. */
struct longer {
	struct iovec iov[DOFI_IOV_MAX + 1];
	void *desc[DOFI_IOV_MAX + 1];
	struct fi_msg msg;
};

static void msg_prefix_add_segment(struct longer *l, const struct dofi_msg_prefixes *w, size_t slot,
				   size_t len, struct dofi_dto *dto)
{
	l->msg = (struct fi_msg){ .iov_count = dto->iov_count, .context = &dto->ctx };
	l->iov[0].iov_base = msg_prefix_at(w, slot);
	l->iov[0].iov_len = len;
	l->desc[0] = fi_mr_desc(w->mr);
	memcpy(&l->iov[1], dofi_dto_iov(dto), dto->iov_count * sizeof(*l->iov));
	memcpy(&l->desc[1], dofi_dto_desc(dto), dto->iov_count * sizeof(*l->desc));
	l->msg.msg_iov = l->iov;
	l->msg.desc = l->desc;
	l->msg.iov_count++;
}

static inline void msg_prefix_gather(char *to, struct dofi_dto *dto)
{
	const struct iovec *iov = dofi_dto_iov(dto);

	for (size_t i = 0; i < dto->iov_count; i++) {
		memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
}

ssize_t dofi_msg_prefix_send(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			     struct dofi_dto *dto, uint64_t data)
{
	uint64_t *word = msg_prefix_at(w, slot);
	size_t len = msg_prefix_put(dto, word, data, 0);
	struct longer l;

	if (msg_prefix_has_bounce(w, len, dto->length)) {
		msg_prefix_gather((char *)word + len, dto);
		return fi_send(fid, word, len + dto->length, fi_mr_desc(w->mr), FI_ADDR_UNSPEC,
			       &dto->ctx);
	}
	msg_prefix_add_segment(&l, w, slot, len, dto);
	return fi_sendmsg(fid, &l.msg, FI_COMPLETION);
}

ssize_t dofi_msg_prefix_write(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			      struct dofi_dto *dto, const struct fi_msg_rma *write, uint64_t data)
{
	const struct dofi_fab *fab = &dto->ep->obj.ia->fab;
	uint64_t *word = msg_prefix_at(w, slot);
	struct fi_msg_rma first = *write;
	ssize_t ret;
	size_t len;

	first.context = NULL;
	ret = dofi_split_rdma(fid, dto, &first, fab->max_write_iov, 0);
	if (ret)
		return ret;
	if (!dto->ep->peer_conn_id)
		data |= (dto->length + WRITTEN) << 1;
	len = msg_prefix_put(dto, word, data, dto->length + 1);
	/* -FI_EAGAIN: the next call submits the message only. */
	return fi_send(fid, word, len, fi_mr_desc(w->mr), FI_ADDR_UNSPEC, &dto->ctx);
}

/* True if this receive of an EP uses the bounce buffer behind its prefix. */
static inline bool msg_prefix_uses_bounce(const struct dofi_msg_prefixes *w,
					  const struct dofi_dto *dto)
{
	return dto->memory && msg_prefix_has_bounce(w, msg_prefix_len(false), dto->length);
}

ssize_t dofi_msg_prefix_recv(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			     struct dofi_dto *dto)
{
	size_t len = msg_prefix_len(dto->shared);
	struct longer l;

	if (!dto->shared && msg_prefix_uses_bounce(w, dto))
		return fi_recv(fid, msg_prefix_at(w, slot), len + dto->length, fi_mr_desc(w->mr),
			       FI_ADDR_UNSPEC, &dto->ctx);
	msg_prefix_add_segment(&l, w, slot, len, dto);
	return fi_recvmsg(fid, &l.msg, FI_COMPLETION);
}

static bool msg_prefix_copy_bounce(struct dofi_lmr_table *lmrs, const struct dofi_msg_prefixes *w,
				   size_t slot, const struct dofi_dto *dto, size_t len)
{
	bool there = dofi_region_hold(lmrs, dto->memory);

	if (there && len && len <= dto->length)
		memcpy(dto->iov[0].iov_base, msg_prefix_at(w, slot) + 1, len);
	dofi_region_release(lmrs);
	return there;
}

/* Reads the first part of a prefix of `bytes`; *len becomes the length of the consumer's part.
 * False: no prefix. */
static inline bool msg_prefix_read(const uint64_t *word, size_t bytes, size_t *len, uint64_t *data)
{
	if (*len < bytes)
		return false;
	*len -= bytes;
	*data = be64toh(word[0]);
	return true;
}

/* The message follows a write of `bytes`. */
static void msg_prefix_is_written(uint64_t bytes, size_t *len, uint64_t *flags)
{
	*len = bytes;
	*flags |= FI_REMOTE_WRITE;
}

static uint8_t msg_prefix_take_shared(const struct dofi_dto *dto, size_t *len, uint64_t *data,
				      uint64_t *flags)
{
	const uint64_t *word = msg_prefix_at(&dto->srq->prefixes, dto->prefix_slot);

	if (!msg_prefix_read(word, msg_prefix_len(true), len, data))
		return DAT_DTO_ERR_BAD_RESPONSE;
	if (!word[1])
		return DAT_DTO_SUCCESS;
	msg_prefix_is_written(be64toh(word[1]) - 1, len, flags);
	return *len > DOFI_MAX_MESSAGE ? DAT_DTO_ERR_BAD_RESPONSE : DAT_DTO_SUCCESS;
}

uint8_t dofi_msg_prefix_take(struct dofi_evd *evd, struct dofi_dto *dto, size_t *len,
			     uint64_t *data, uint64_t *flags)
{
	const struct dofi_queue *q;
	size_t slot;

	if (dto->shared)
		return msg_prefix_take_shared(dto, len, data, flags);
	q = &dto->ep->rq;
	slot = (size_t)(dto - q->dto);
	if (!msg_prefix_read(msg_prefix_at(&q->prefixes, slot), msg_prefix_len(false), len, data))
		return DAT_DTO_ERR_BAD_RESPONSE;
	if (msg_prefix_uses_bounce(&q->prefixes, dto) &&
	    !msg_prefix_copy_bounce(&evd->obj.ia->lmrs, &q->prefixes, slot, dto, *len))
		return q->failed ? DAT_DTO_ERR_FLUSHED : DAT_DTO_ERR_LOCAL_PROTECTION;
	if ((uint32_t)*data >> 1 >= WRITTEN)
		msg_prefix_is_written(((uint32_t)*data >> 1) - WRITTEN, len, flags);
	return DAT_DTO_SUCCESS;
}
