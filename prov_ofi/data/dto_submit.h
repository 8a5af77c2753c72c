/* SPDX-License-Identifier: BSD-2-Clause */
/* Submits operations to the fabric as far as it accepts them. */
#ifndef DOFI_DTO_SUBMIT_H
#define DOFI_DTO_SUBMIT_H

#include "data/fi_post.h"

/* Returns how many operations before position `pos` the fabric has; the value may be outdated. */
static inline uint32_t dofi_queue_holds(const struct dofi_queue *q, uint32_t pos)
{
	return pos - atomic_load_explicit(&q->head, memory_order_acquire);
}

/* True if the operation must wait for outstanding RDMA reads or for fewer of them. */
static inline bool dofi_dto_fenced(const struct dofi_ep *ep, enum dofi_dto_kind kind,
				   unsigned int flags)
{
	/* A software atomic operation waits for all earlier requests. */
	if (kind >= DOFI_FETCH_ADD && ep->amo.on && dofi_queue_holds(&ep->sq, ep->sq.sent))
		return true;
	if (dofi_kind_fetches(kind) &&
	    ep->reads_started - atomic_load_explicit(&ep->reads_done, memory_order_acquire) >=
		    ep->max_reads)
		return true;
	return (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG) &&
	       ep->reads_started != atomic_load_explicit(&ep->reads_done, memory_order_acquire);
}

/* The same for an operation that is not handed over at once; such fabrics have no others. */
static inline bool dofi_dto_must_wait(const struct dofi_ep *ep, enum dofi_dto_kind kind,
				      unsigned int flags)
{
	if (ep->reads_bar && !dofi_kind_fetches(kind))
		flags |= DAT_COMPLETION_BARRIER_FENCE_FLAG;
	return dofi_dto_fenced(ep, kind, flags);
}

/* True if operations of the queue can be handed to the fabric. Caller holds ep->lock. */
static inline bool dofi_dto_may_submit(const struct dofi_ep *ep, const struct dofi_queue *q)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!ep->conn || ep->conn->shut)
		return false;
	return q == &ep->rq || ep->state == DAT_EP_STATE_CONNECTED ||
	       ep->state == DAT_EP_STATE_DISCONNECT_PENDING;
}

/* Handles a refusal of the operation at q->sent by the fabric. Any error except EAGAIN means that
 * the connection has ended; ending it flushes the waiting operations. Releases the lock of the EVD
 * if cq_external_lock is set. */
void dofi_dto_refused(struct dofi_ep *ep, struct dofi_queue *q, ssize_t ret);

/* The EVD on which operations of the kind complete. */
ALWAYS_INLINE struct dofi_evd *dofi_dto_evd(const struct dofi_ep *ep, enum dofi_dto_kind kind)
{
	return kind == DOFI_RECV ? ep->recv_evd : ep->req_evd;
}

/* Hands the operation at q->sent, which need not wait, to the fabric. Its state is DOFI_DTO_POSTED
 * already: another thread may read its completion during the call. `only`: its only segment; NULL:
 * it has another number of them. `data` is the completion data of a message. False: it was refused.
 * Caller holds ep->lock and, with cq_external_lock, the lock of the EVD, which is released. */
ALWAYS_INLINE bool dofi_dto_submit_one(struct dofi_ep *ep, struct dofi_queue *q,
				       struct dofi_dto *dto, enum dofi_dto_kind kind,
				       const struct dofi_segment *only, uint64_t data)
{
	struct fid_ep *fid = ep->conn->fid;
	ssize_t ret;

	if (dofi_kind_fetches(kind))
		ep->reads_started++;
	if (kind == DOFI_RECV)
		ret = dofi_fab_recv(ep, fid, dto, only);
	else if (kind == DOFI_SEND)
		ret = dofi_fab_send(ep, fid, dto, only, data);
	else if (kind == DOFI_WRITE_IMMED)
		ret = dofi_fab_write_immed(ep, fid, dto);
	else if (kind >= DOFI_FETCH_ADD)
		ret = dofi_fab_atomic(ep, fid, dto);
	else
		ret = dofi_fab_rdma(ep, fid, dto, only, kind);
	if (DOFI_UNLIKELY(ret)) {
		dofi_dto_refused(ep, q, ret);
		return false;
	}
	q->sent++;
	if (ep->cq_external_lock)
		dofi_unlock(&dofi_dto_evd(ep, kind)->lock);
	return true;
}

/* The same for an operation with any number of segments, which is queued. */
ALWAYS_INLINE bool dofi_dto_submit_any(struct dofi_ep *ep, struct dofi_queue *q,
				       struct dofi_dto *dto, enum dofi_dto_kind kind)
{
	struct dofi_segment first = { dto->iov[0].iov_base, dto->iov[0].iov_len, dto->desc[0] };

	if (ep->cq_external_lock)
		dofi_lock(&dofi_dto_evd(ep, kind)->lock);
	atomic_store_explicit(&dto->state, DOFI_DTO_POSTED, memory_order_release);
	return dofi_dto_submit_one(ep, q, dto, kind, dto->iov_count == 1 ? &first : NULL,
				   kind == DOFI_SEND ? dofi_cq_data_msg(ep, dto) : 0);
}

/* Hands waiting operations to the fabric as far as it accepts them. Caller holds ep->lock. */
void dofi_dto_submit(struct dofi_ep *ep);
/* The same for one queue. */
void dofi_dto_submit_queue(struct dofi_ep *ep, struct dofi_queue *q);

#endif
