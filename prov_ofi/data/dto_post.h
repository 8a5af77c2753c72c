/* SPDX-License-Identifier: BSD-2-Clause */
/* Inline steps of a post, and the whole post of an ordinary operation. (hot) */
#ifndef DOFI_DTO_POST_H
#define DOFI_DTO_POST_H

#include "base/inline.h"
#include "base/probe.h"
#include "data/dto_submit.h"
#include "object/ep_state.h"
#include "object/progress_wakeup.h"

/* Posts renew the consumers' lease, too, for a window of posts may take as long as several of its
 * periods: one in these, which may be a system call each, and those that may copy as much. */
#define DOFI_POSTS_PER_LOOK 8
#define DOFI_LONG_COPY 16384

/* Counts a posted operation that is neither send, write, read nor receive. */
static __attribute__((noinline)) void dto_count_other(struct dofi_ep_slot *slot,
						      enum dofi_dto_kind kind, uint64_t bytes)
{
	switch (kind) {
	case DOFI_WRITE_IMMED:
		DOFI_COUNT(slot->write_immed.n, 1);
		DOFI_COUNT(slot->write_immed.bytes, bytes);
		break;
	case DOFI_SEND_UD:
		DOFI_COUNT(slot->ud_sent.n, 1);
		DOFI_COUNT(slot->ud_sent.bytes, bytes);
		break;
	case DOFI_FETCH_ADD:
		DOFI_COUNT(slot->fetch_adds, 1);
		break;
	case DOFI_CMP_SWAP:
		DOFI_COUNT(slot->cmp_swaps, 1);
		break;
	default:
		DOFI_COUNT(slot->binds, 1);
		break;
	}
}

/* Counts a posted operation. Caller holds ep->lock. */
ALWAYS_INLINE void dofi_dto_count(struct dofi_ep_slot *slot, enum dofi_dto_kind kind,
				  uint64_t bytes)
{
	if (kind > DOFI_RECV) {
		dto_count_other(slot, kind, bytes);
		return;
	}
	DOFI_COUNT(slot->posted[kind].n, 1);
	DOFI_COUNT(slot->posted[kind].bytes, bytes);
}

/* Appends the operation, which is filled in at slot `tail`, to the queue. */
ALWAYS_INLINE void dofi_dto_append(struct dofi_ep *ep, struct dofi_queue *q, uint32_t tail,
				   struct dofi_dto *dto, enum dofi_dto_kind kind,
				   DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
				   uint64_t length, enum dofi_dto_state state)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	DOFI_ASSERT(dofi_queue_count(q) < q->limit, "EP %p: tail %u, head %u, limit %u", (void *)ep,
		    q->tail, q->head, q->limit);
	DOFI_ASSERT(atomic_load(&dto->state) == DOFI_DTO_FREE, "EP %p: operation %p in state %d",
		    (void *)ep, (void *)dto, atomic_load(&dto->state));
	dto->ep = ep;
	dto->cookie = cookie;
	dto->kind = (uint8_t)kind;
	dto->flags = (uint16_t)flags;
	dto->status = DAT_DTO_ERR_FLUSHED;
	dto->solicited = dto->shared = false;
	dto->length = length;
	atomic_store_explicit(&dto->state, state, memory_order_release);
	atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
	dofi_dto_count(ep->counts, kind, length);
	DOFI_PROBE4(post, ep, kind, cookie.as_64, length);
	if ((kind == DOFI_SEND || kind == DOFI_WRITE) &&
	    DOFI_UNLIKELY(length >= DOFI_LONG_COPY || !(tail % DOFI_POSTS_PER_LOOK)))
		dofi_progress_renew_lease(ep->obj.ia, dofi_now());
}

/* Ordinary operations have one segment of nonzero length, no flag except the one that suppresses
 * the event, a connected EP and no waiting operation: the latency of short messages includes every
 * instruction for them. All others, errors above all, are left to data/dto_general.c without side
 * effects. */
ALWAYS_INLINE bool dofi_dto_flags_are_ordinary(enum dofi_dto_kind kind, DAT_COMPLETION_FLAGS flags)
{
	return kind == DOFI_RECV ? !flags : !(flags & ~DAT_COMPLETION_SUPPRESS_FLAG);
}

/* True if the queue has a free slot and the operation may go to the fabric at once. */
ALWAYS_INLINE bool dofi_dto_goes_at_once(struct dofi_ep *ep, struct dofi_queue *q, uint32_t tail,
					 enum dofi_dto_kind kind)
{
	DOFI_ASSERT(q->quota == dofi_ep_quota(ep, q), "EP %p: quota %u, not %u", (void *)ep,
		    q->quota, dofi_ep_quota(ep, q));
	return q->sent == tail && dofi_queue_holds(q, tail) < q->quota &&
	       !dofi_dto_fenced(ep, kind, 0);
}

/* Finds the memory of the segment, as dto_take_segments in data/dto_general.c. Its region may be
 * removed meanwhile. */
ALWAYS_INLINE bool dofi_dto_take_segment(struct dofi_ep *ep, enum dofi_dto_kind kind,
					 const DAT_LMR_TRIPLET *seg, struct dofi_segment *s)
{
	DAT_LMR_CONTEXT context = seg->lmr_context;
	const struct dofi_region *r = dofi_region_at(&ep->obj.ia->lmrs, context);
	bool writes = kind == DOFI_RECV || kind == DOFI_READ;

	s->len = seg->segment_length;
	/* For requests one comparison also rejects length 0. */
	if (kind == DOFI_RECV ? !s->len : s->len - 1 >= ep->max_size)
		return false;
	if (DOFI_REGION_GET(*(writes ? &r->writable : &r->readable)) != ep->pz ||
	    !dofi_region_covers(r, seg->virtual_address, s->len))
		return false;
	s->base = (void *)(uintptr_t)(seg->virtual_address + DOFI_REGION_GET(r->bias));
	s->desc = DOFI_REGION_GET(r->desc);
	return dofi_region_is_valid(r, context);
}

/* The remote segment has the same length or, for a write, is longer. */
ALWAYS_INLINE bool dofi_dto_take_target(struct dofi_dto *dto, enum dofi_dto_kind kind, uint64_t len,
					const DAT_RMR_TRIPLET *remote)
{
	if (kind == DOFI_READ ? remote->segment_length != len : remote->segment_length < len)
		return false;
	dto->remote_addr = dofi_rmr_addr(remote);
	dto->remote_key = remote->rmr_context;
	return true;
}

/* Posts an operation of one segment if it is ordinary and, with cq_external_lock, the lock of the
 * EVD is free. False: it must be posted in another way. Caller holds ep->lock. */
ALWAYS_INLINE bool dofi_dto_post_ordinary(struct dofi_ep *ep, enum dofi_dto_kind kind,
					  const DAT_LMR_TRIPLET *seg, DAT_DTO_COOKIE cookie,
					  DAT_COMPLETION_FLAGS flags, const DAT_RMR_TRIPLET *remote)
{
	struct dofi_queue *q = kind == DOFI_RECV ? &ep->rq : &ep->sq;
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	struct dofi_segment s;
	struct dofi_dto *dto;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!dofi_dto_flags_are_ordinary(kind, flags) ||
	    (kind != DOFI_RECV && !dofi_ep_max_iov(ep, kind)) ||
	    !dofi_dto_goes_at_once(ep, q, tail, kind) || !dofi_dto_take_segment(ep, kind, seg, &s))
		return false;
	dto = dofi_queue_at(q, tail);
	if (kind != DOFI_RECV && kind != DOFI_SEND &&
	    !dofi_dto_take_target(dto, kind, s.len, remote))
		return false;
	if (ep->cq_external_lock && !dofi_trylock(&dofi_dto_evd(ep, kind)->lock))
		return false;
	if (kind == DOFI_RECV)
		dto->memory = seg->lmr_context;
	dto->desc[0] = s.desc;
	dto->iov[0].iov_base = s.base;
	dto->iov[0].iov_len = s.len;
	dto->iov_count = 1;
	dto->inv_key = 0;
	dofi_dto_append(ep, q, tail, dto, kind, cookie, flags, s.len, DOFI_DTO_POSTED);
	dofi_dto_submit_one(ep, q, dto, kind, &s, kind == DOFI_SEND ? dofi_cq_data_conn_id(ep) : 0);
	return true;
}

#endif
