/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands operations to the fabric; for messages inline, since every post does it. */
#ifndef DOFI_DTO_SUBMIT_H
#define DOFI_DTO_SUBMIT_H

#include "base/inline.h"
#include "object/ep.h"
#include "object/conn_id.h"

static inline struct fi_msg dofi_fab_msg(struct dofi_dto *dto)
{
	/* libfabric (verbs) must not get descriptors without segments. */
	struct fi_msg msg = { .msg_iov = dto->iov, .desc = dto->iov_count ? dto->desc : NULL,
			      .iov_count = dto->iov_count, .context = &dto->ctx };

	return msg;
}

/* Completion data of every message to that peer. */
static inline uint64_t dofi_fab_conn_id(const struct dofi_ep *ep)
{
	return (uint64_t)ep->peer_conn_id << DOFI_DATA_CONN_ID_SHIFT;
}

/* Completion data of this message. */
static inline uint64_t dofi_fab_data(const struct dofi_ep *ep, const struct dofi_dto *dto)
{
	uint64_t data = dofi_fab_conn_id(ep);

	if (dto->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		data |= DOFI_DATA_SOLICITED;
	if (dto->inv_key)
		data |= DOFI_DATA_INVALIDATE | (uint64_t)dto->inv_key << 32;
	return data;
}


/* With a message prefix (fabric/verbs/msg_prefix.h). */
ssize_t dofi_fab_recv_prefixed(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto);
ssize_t dofi_fab_send_prefixed(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto,
			       uint64_t data);

/* A message of one segment uses the short calls: on devices the others cost more and copy small
 * messages twice. `single` is a constant in some callers. */
static inline __attribute__((always_inline)) ssize_t
dofi_fab_recv(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto, bool single)
{
	struct fi_msg msg;

	if (single && !ep->has_msg_prefix)
		return fi_recv(fid, dto->iov[0].iov_base, dto->iov[0].iov_len, dto->desc[0],
			       FI_ADDR_UNSPEC, &dto->ctx);
	if (ep->has_msg_prefix)
		return dofi_fab_recv_prefixed(ep, fid, dto);
	msg = dofi_fab_msg(dto);
	return fi_recvmsg(fid, &msg, FI_COMPLETION);
}

static inline __attribute__((always_inline)) ssize_t
dofi_fab_send(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto, bool single,
	      uint64_t data)
{
	struct fi_msg msg;

	if (single && !data && !ep->has_msg_prefix)
		return fi_send(fid, dto->iov[0].iov_base, dto->iov[0].iov_len, dto->desc[0],
			       FI_ADDR_UNSPEC, &dto->ctx);
	if (ep->has_msg_prefix)
		return dofi_fab_send_prefixed(ep, fid, dto, data);
	msg = dofi_fab_msg(dto);
	msg.data = data;
	return fi_sendmsg(fid, &msg, data ? FI_COMPLETION | FI_REMOTE_CQ_DATA : FI_COMPLETION);
}

/* Uses the calls that describe the operation in a structure. */
ssize_t dofi_fab_rdma_msg(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto);

static inline __attribute__((always_inline)) ssize_t
dofi_fab_rdma(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto, bool single,
	      enum dofi_dto_kind kind)
{
	void *base = dto->iov[0].iov_base;
	size_t len = dto->iov[0].iov_len;

	if (!single)
		return dofi_fab_rdma_msg(ep, fid, dto);
	if (kind == DOFI_READ)
		return fi_read(fid, base, len, dto->desc[0], FI_ADDR_UNSPEC, dto->remote_addr,
			       dto->remote_key, &dto->ctx);
	return fi_write(fid, base, len, dto->desc[0], FI_ADDR_UNSPEC, dto->remote_addr,
			dto->remote_key, &dto->ctx);
}

/* Operations of the InfiniBand extension (data/dto_ext.c). */
ssize_t dofi_fab_write_immed(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto);
ssize_t dofi_fab_atomic(const struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto);
/* Posts the write with these flags and this context. */
ssize_t dofi_fab_write(const struct dofi_ep *ep, struct fid_ep *fid, const struct dofi_dto *dto,
		       struct fi_msg_rma *msg, uint64_t flags);
/* Returns how many operations before position `pos` the fabric has; the value may be outdated. */
static inline uint32_t dofi_queue_holds(struct dofi_queue *q, uint32_t pos)
{
	return pos - atomic_load_explicit(&q->head, memory_order_acquire);
}

/* True if the operation must wait for outstanding RDMA reads or for fewer of them. */
static inline bool dofi_dto_fenced(const struct dofi_ep *ep, enum dofi_dto_kind kind,
				   unsigned int flags)
{
	if (dofi_kind_fetches(kind) &&
	    ep->reads_started - atomic_load_explicit(&ep->reads_done, memory_order_acquire) >=
		    ep->max_reads)
		return true;
	return (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) &&
	       ep->reads_started != atomic_load_explicit(&ep->reads_done, memory_order_acquire);
}

/* True if operations of the queue can be handed to the fabric. Caller holds ep->lock. */
static inline bool dofi_dto_may_submit(const struct dofi_ep *ep, const struct dofi_queue *q)
{
	if (!ep->conn || ep->conn->shut)
		return false;
	return q == &ep->rq || ep->state == DAT_EP_STATE_CONNECTED ||
	       ep->state == DAT_EP_STATE_DISCONNECT_PENDING;
}

/* Handles a refusal of the fabric. Any error except EAGAIN means that the connection has ended;
 * ending it flushes the waiting operations. */
void dofi_dto_refused(struct dofi_ep *ep, struct dofi_dto *dto, ssize_t ret);

/* Hands waiting operations to the fabric as far as it accepts them. Caller holds ep->lock. */
void dofi_dto_submit(struct dofi_ep *ep);
/* The same for one queue. */
void dofi_dto_submit_queue(struct dofi_ep *ep, struct dofi_queue *q);
/* Reports completed operations at the head of a queue; takes the lock of its EVD. */
void dofi_dto_report_done(struct dofi_ep *ep, struct dofi_queue *q);

#endif
