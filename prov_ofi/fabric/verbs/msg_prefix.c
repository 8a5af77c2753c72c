/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds and removes message prefixes. (hot) */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/verbs/msg_prefix.h"
#include "fabric/verbs/split_rdma.h"
#include "object/srq.h"

/* Queues of more slots than this have no room for copies: it would be more than 16 KiB. */
#define MOST_COPIES 128

int dofi_msg_prefixes_alloc(struct dofi_fab *fab, struct dofi_msg_prefixes *w, size_t n,
			    bool copies)
{
	size_t bytes =
		DOFI_MSG_PREFIX_LEN + (copies && n <= MOST_COPIES ? DOFI_MSG_PREFIX_BOUNCE : 0);
	struct fi_mr_attr attr;
	struct iovec iov;
	int ret;

	if (w->base || !n)
		return 0;
	w->stride = bytes / DOFI_MSG_PREFIX_LEN;
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

/* Sends the message with an additional segment. */
struct longer {
	struct iovec iov[DOFI_IOV_MAX + 1];
	void *desc[DOFI_IOV_MAX + 1];
	struct fi_msg msg;
};

static void msg_prefix_add_segment(struct longer *l, const struct dofi_msg_prefixes *w, size_t slot,
				   struct dofi_dto *dto)
{
	l->msg = (struct fi_msg){ .iov_count = dto->iov_count, .context = &dto->ctx };
	l->iov[0].iov_base = msg_prefix_at(w, slot);
	l->iov[0].iov_len = DOFI_MSG_PREFIX_LEN;
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
	struct longer l;

	*word = htobe64(data);
	if (w->stride > 1 && dto->length <= DOFI_MSG_PREFIX_BOUNCE) {
		msg_prefix_gather((char *)(word + 1), dto);
		return fi_send(fid, word, DOFI_MSG_PREFIX_LEN + dto->length, fi_mr_desc(w->mr),
			       FI_ADDR_UNSPEC, &dto->ctx);
	}
	msg_prefix_add_segment(&l, w, slot, dto);
	return fi_sendmsg(fid, &l.msg, FI_COMPLETION);
}

ssize_t dofi_msg_prefix_write(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			      struct dofi_dto *dto, const struct fi_msg_rma *write, uint64_t data)
{
	const struct dofi_fab *fab = &dto->ep->obj.ia->fab;
	uint64_t *word = msg_prefix_at(w, slot);
	struct fi_msg_rma first = *write;
	ssize_t ret;

	first.context = NULL;
	ret = dofi_split_rdma(fid, dto, &first, fab->max_write_iov, 0);
	if (ret)
		return ret;
	*word = htobe64(data);
	/* -FI_EAGAIN: the next call submits the message only. */
	return fi_send(fid, word, DOFI_MSG_PREFIX_LEN, fi_mr_desc(w->mr), FI_ADDR_UNSPEC,
		       &dto->ctx);
}

/* True if this receive uses the bounce buffer behind its prefix. */
static inline bool msg_prefix_uses_bounce(const struct dofi_msg_prefixes *w,
					  const struct dofi_dto *dto)
{
	return w->stride > 1 && dto->memory && dto->length <= DOFI_MSG_PREFIX_BOUNCE;
}

ssize_t dofi_msg_prefix_recv(struct fid_ep *fid, const struct dofi_msg_prefixes *w, size_t slot,
			     struct dofi_dto *dto)
{
	struct longer l;

	if (msg_prefix_uses_bounce(w, dto))
		return fi_recv(fid, msg_prefix_at(w, slot), DOFI_MSG_PREFIX_LEN + dto->length,
			       fi_mr_desc(w->mr), FI_ADDR_UNSPEC, &dto->ctx);
	msg_prefix_add_segment(&l, w, slot, dto);
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

/* Reads the prefix of a received message; *len becomes the length of the consumer's part. False: no
 * prefix. */
static inline bool msg_prefix_read(const struct dofi_msg_prefixes *w, size_t slot, size_t *len,
				   uint64_t *data)
{
	if (*len < DOFI_MSG_PREFIX_LEN)
		return false;
	*len -= DOFI_MSG_PREFIX_LEN;
	*data = be64toh(w->base[slot * w->stride]);
	return true;
}

uint8_t dofi_msg_prefix_take(struct dofi_evd *evd, struct dofi_dto *dto, size_t *len,
			     uint64_t *data)
{
	const struct dofi_queue *q;
	size_t slot;

	/* The prefix identifies the EP of a shared buffer. */
	if (dto->shared)
		return msg_prefix_read(&dto->srq->prefixes, dto->prefix_slot, len, data)
			       ? DAT_DTO_SUCCESS
			       : DAT_DTO_ERR_BAD_RESPONSE;
	q = &dto->ep->rq;
	slot = (size_t)(dto - q->dto);
	if (!msg_prefix_read(&q->prefixes, slot, len, data))
		return DAT_DTO_ERR_BAD_RESPONSE;
	if (msg_prefix_uses_bounce(&q->prefixes, dto) &&
	    !msg_prefix_copy_bounce(&evd->obj.ia->lmrs, &q->prefixes, slot, dto, *len))
		return q->failed ? DAT_DTO_ERR_FLUSHED : DAT_DTO_ERR_LOCAL_PROTECTION;
	return DAT_DTO_SUCCESS;
}
