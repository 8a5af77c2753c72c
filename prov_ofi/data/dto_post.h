/* SPDX-License-Identifier: BSD-2-Clause */
/* Inline steps of every post, shared by data/dto.c and data/dto_fast.c. */
#ifndef DOFI_DTO_POST_H
#define DOFI_DTO_POST_H

#include "base/inline.h"
#include "base/probe.h"
#include "data/dto_submit.h"

/* Local write implies local read: programs send from memory registered for writing only. */
#define DOFI_READABLE (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

ALWAYS_INLINE void dofi_dto_count(struct dofi_ep *ep, enum dofi_dto_kind kind)
{
	_Atomic uint64_t *c = kind == DOFI_RECV ? &ep->recv_msgs
			      : kind == DOFI_SEND ? &ep->sent_msgs : &ep->rdma_ops;

	/* The caller holds ep->lock: a plain increment, atomic for readers only. */
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* Appends the operation, which is filled in at slot `tail`, to the queue. */
ALWAYS_INLINE void dofi_dto_append(struct dofi_ep *ep, struct dofi_queue *q, uint32_t tail,
				   struct dofi_dto *dto, enum dofi_dto_kind kind,
				   DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
				   enum dofi_dto_state state)
{
	dto->ep = ep;
	dto->cookie = cookie;
	dto->kind = (uint8_t)kind;
	dto->flags = (uint16_t)flags;
	dto->status = DAT_DTO_ERR_FLUSHED;
	dto->solicited = dto->shared = false;
	atomic_store_explicit(&dto->state, state, memory_order_release);
	atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
	dofi_dto_count(ep, kind);
	DOFI_PROBE4(post, ep, kind, dto->cookie.as_64, dto->length);
	if (kind == DOFI_SEND || kind == DOFI_WRITE)
		dofi_evd_posted(ep->req_evd, dto->length);
}

/* Hands the operation, which need not wait, to the fabric. Its state is DOFI_DTO_POSTED already:
 * another thread may read its completion during the call. `single`: it has one segment; `data` is
 * the completion data of a message. */
ALWAYS_INLINE void dofi_dto_hand_over(struct dofi_ep *ep, struct dofi_queue *q, uint32_t pos,
				      struct dofi_dto *dto, enum dofi_dto_kind kind, bool single,
				      uint64_t data)
{
	struct dofi_evd *evd = kind == DOFI_RECV ? ep->recv_evd : ep->req_evd;
	struct fid_ep *fid = ep->conn->fid;
	ssize_t ret;

	if (dofi_kind_fetches(kind))
		ep->reads_started++;
	dofi_evd_enter(evd, ep->cq_external_lock);
	if (kind == DOFI_RECV)
		ret = dofi_fab_recv(ep, fid, dto, single);
	else if (kind == DOFI_SEND)
		ret = dofi_fab_send(ep, fid, dto, single, data);
	else if (kind == DOFI_WRITE_IMMED)
		ret = dofi_fab_write_immed(ep, fid, dto);
	else if (kind >= DOFI_FETCH_ADD)
		ret = dofi_fab_atomic(ep, fid, dto);
	else
		ret = dofi_fab_rdma(ep, fid, dto, single, kind);
	dofi_evd_leave(evd, ep->cq_external_lock);
	if (!ret) {
		q->sent = pos + 1;
		return;
	}
	dofi_dto_refused(ep, dto, ret);
	atomic_store_explicit(&q->waiting, true, memory_order_release);
}

#endif
