/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast path of posting. (hot)
 *
 * Handles one segment of nonzero length, no flag except the one that suppresses the event, a
 * connected EP and no waiting operation: the common case, whose latency includes every instruction
 * here. Everything else, errors above all, falls back to data/dto.c without side effects.
 */
#include "data/dto.h"
#include "data/dto_post.h"
#include "progress/deferred_work.h"

ALWAYS_INLINE bool dto_fast_is_ordinary(const DAT_LMR_TRIPLET *seg, enum dofi_dto_kind kind,
					DAT_COMPLETION_FLAGS flags)
{
	return seg && (kind == DOFI_RECV ? !flags : !(flags & ~DAT_COMPLETION_SUPPRESS_FLAG));
}

/* True if the queue has a free slot and the operation may go to the fabric at once. */
ALWAYS_INLINE bool dto_fast_is_free(struct dofi_ep *ep, struct dofi_queue *q, uint32_t tail,
				    enum dofi_dto_kind kind)
{
	const struct dofi_conn *conn = ep->conn;
	uint32_t count = dofi_queue_holds(q, tail);

	if (ep->state != DAT_EP_STATE_CONNECTED || !conn || conn->shut)
		return false;
	if (q->sent != tail || count >= q->limit || count >= q->depth)
		return false;
	return !dofi_dto_fenced(ep, kind, 0);
}

ALWAYS_INLINE bool dto_fast_take_segment(struct dofi_ep *ep, struct dofi_dto *dto,
					 enum dofi_dto_kind kind, const DAT_LMR_TRIPLET *seg)
{
	DAT_MEM_PRIV_FLAGS need = kind == DOFI_RECV || kind == DOFI_READ
				  ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG : DOFI_READABLE;
	const struct dofi_region *r = dofi_region_find(&ep->obj.ia->lmrs, seg->lmr_context);
	uint64_t len = seg->segment_length;

	/* For requests one comparison also rejects length 0. */
	if (kind == DOFI_RECV ? !len : len - 1 >= ep->max_size)
		return false;
	if (!r || !(r->priv & need) || r->pz != ep->pz ||
	    !dofi_region_covers(r, seg->virtual_address, len))
		return false;
	dto->pz = ep->pz;
	dto->desc[0] = r->desc;
	dto->iov[0].iov_base = (void *)(uintptr_t)(seg->virtual_address + r->bias);
	dto->iov[0].iov_len = len;
	dto->iov_count = 1;
	dto->length = len;
	return true;
}

/* The remote segment has the same length or, for a write, is longer. */
ALWAYS_INLINE bool dto_fast_take_target(struct dofi_dto *dto, enum dofi_dto_kind kind, uint64_t len,
					const DAT_RMR_TRIPLET *remote)
{
	if (kind == DOFI_READ ? remote->segment_length != len : remote->segment_length < len)
		return false;
	dto->remote_addr = dofi_rmr_addr(remote);
	dto->remote_key = remote->rmr_context;
	return true;
}

ALWAYS_INLINE bool dto_fast_post_locked(struct dofi_ep *ep, enum dofi_dto_kind kind,
					const DAT_LMR_TRIPLET *seg, DAT_DTO_COOKIE cookie,
					DAT_COMPLETION_FLAGS flags, const DAT_RMR_TRIPLET *remote)
{
	struct dofi_queue *q = kind == DOFI_RECV ? &ep->rq : &ep->sq;
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	struct dofi_dto *dto = dofi_queue_at(q, tail);

	if (!dofi_ep_max_iov(ep, kind) || !dto_fast_is_free(ep, q, tail, kind) ||
	    !dto_fast_take_segment(ep, dto, kind, seg))
		return false;
	if (kind == DOFI_RECV)
		dto->memory = seg->lmr_context;
	else if (kind != DOFI_SEND && !dto_fast_take_target(dto, kind, seg->segment_length, remote))
		return false;
	dto->inv_key = 0;
	dofi_dto_append(ep, q, tail, dto, kind, cookie, flags, DOFI_DTO_POSTED);
	dofi_dto_hand_over(ep, q, tail, dto, kind, true,
			   kind == DOFI_SEND ? dofi_fab_conn_id(ep) : 0);
	return true;
}

ALWAYS_INLINE bool dto_fast_post(DAT_EP_HANDLE handle, enum dofi_dto_kind kind, DAT_COUNT n,
				 const DAT_LMR_TRIPLET *seg, DAT_DTO_COOKIE cookie,
				 DAT_COMPLETION_FLAGS flags, const DAT_RMR_TRIPLET *remote)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	bool posted;

	if (n != 1 || !ep || !dto_fast_is_ordinary(seg, kind, flags))
		return false;
	dofi_lock(&ep->lock);
	posted = dto_fast_post_locked(ep, kind, seg, cookie, flags, remote);
	dofi_unlock(&ep->lock);
	return posted;
}

DAT_RETURN dofi_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	if (dto_fast_post(ep, DOFI_SEND, n, iov, cookie, flags, NULL))
		return DAT_SUCCESS;
	return dofi_dto_send(ep, n, iov, cookie, flags);
}

DAT_RETURN dofi_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dofi_ep *ep = handle;
	struct dofi_evd *evd;

	if (!dto_fast_post(handle, DOFI_RECV, n, iov, cookie, flags, NULL)) {
		DAT_RETURN ret = dofi_dto_recv(handle, n, iov, cookie, flags);

		if (ret)
			return ret;
	}
	evd = ep->recv_evd;
	/* NULL: another thread has just freed the EP. */
	if (evd && atomic_load_explicit(&evd->stalled, memory_order_acquire))
		dofi_deferred_resume_cq(evd);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags)
{
	if (remote && dto_fast_post(ep, DOFI_READ, n, iov, cookie, flags, remote))
		return DAT_SUCCESS;
	return dofi_dto_read(ep, n, iov, cookie, remote, flags);
}

DAT_RETURN dofi_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags)
{
	if (remote && dto_fast_post(ep, DOFI_WRITE, n, iov, cookie, flags, remote))
		return DAT_SUCCESS;
	return dofi_dto_write(ep, n, iov, cookie, remote, flags);
}
