/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_dequeue. (hot)
 *
 * Takes the next event of the ring. If the ring is empty, it reads the CQ; the usual result, one
 * successful completion of the next operation in order, is returned directly.
 */
#include "base/clock.h"
#include "data/amo.h"
#include "data/cq.h"
#include "data/dto_event.h"
#include "fabric/fab_ops.h"
#include "object/coll_handle.h"
#include "object/deferred_work.h"
#include "object/progress_wakeup.h"
#include "object/version.h"

/* Calls renew the consumers' lease. They look at the clock at about this interval, a small part of
 * the lease's period. */
#define CLOCK_GAP DOFI_US(50)
#define CALLS_MOST 64u

static __attribute__((noinline)) void evd_look_at_clock(struct dofi_evd *evd)
{
	uint64_t now = dofi_now(), gap = now - evd->clock_at;

	if (gap < CLOCK_GAP)
		evd->calls += evd->calls < CALLS_MOST;
	else
		evd->calls = (uint8_t)(1 + (evd->calls - 1) * CLOCK_GAP / gap);
	evd->calls_left = evd->calls;
	evd->clock_at = now;
	dofi_progress_renew_lease(evd->obj.ia, now);
}

/* Copies field by field: the event has usually just been stored that way, and a wide load of
 * recently stored fields defeats store-to-load forwarding. */
void dofi_evd_pop(struct dofi_evd *evd, DAT_EVENT *event)
{
	const struct dofi_event *e = &evd->ring[evd->head++ & (evd->capacity - 1)];

	DOFI_ASSERT_LOCKED(&evd->lock);
	DOFI_ASSERT(evd->tail - evd->head < evd->capacity, "EVD %p: head %u, tail %u, capacity %u",
		    (void *)evd, evd->head, evd->tail, evd->capacity);
	DOFI_COUNT(evd->counts->popped, 1);
	event->event_number = e->number;
	event->evd_handle = evd;
	if (e->number == DAT_DTO_COMPLETION_EVENT)
		dofi_dto_copy(&event->event_data.dto_completion_event_data,
			      &e->data.dto_completion_event_data);
	else
		event->event_data = e->data;
	dofi_event_extra(event, e->immed, e);
	if (e->srq)
		dofi_srq_dequeued(e->srq, e->data.dto_completion_event_data.ep_handle);
	/* Rewind the empty ring to entries that are in the caches. */
	if (evd->head == evd->tail)
		evd->head = evd->tail = 0;
	evd->overflowed = false;
}

/* True if the operation is next in order and its completion has no effects besides the event. */
ALWAYS_INLINE bool evd_is_simple_completion(const struct dofi_ep *ep, const struct dofi_queue *q,
					    uint32_t head, const struct dofi_dto *dto)
{
	return dto == dofi_queue_at(q, head) && !(dto->flags & DAT_COMPLETION_SUPPRESS_FLAG) &&
	       atomic_load_explicit(&ep->open, memory_order_acquire) &&
	       !atomic_load_explicit(&q->waiting, memory_order_acquire);
}

/* Queues the events of operations that are done and were waiting for one that is being returned;
 * they notify the CNO. */
static __attribute__((noinline)) void evd_report_next(struct dofi_evd *evd, struct dofi_ep *ep,
						      struct dofi_queue *q)
{
	uint32_t before = evd->notified;

	dofi_queue_report(ep, q, evd);
	dofi_evd_notify(evd, before);
}

ALWAYS_INLINE void evd_return_event(struct dofi_evd *evd, struct dofi_ep *ep, struct dofi_queue *q,
				    uint32_t head, struct dofi_dto *dto, enum dofi_dto_kind kind,
				    bool recv, DAT_EVENT *event)
{
	dofi_dto_count_done(ep->counts, kind, dto->length, DAT_DTO_SUCCESS, recv);
	DOFI_COUNT(evd->counts->direct, 1);
	DOFI_PROBE5(complete, ep, kind, dto->cookie.as_64, DAT_DTO_SUCCESS, dto->length);
	event->event_number = dofi_dto_event(kind);
	event->evd_handle = evd;
	dofi_dto_fill(&event->event_data.dto_completion_event_data, ep, dto, kind, DAT_DTO_SUCCESS);
	dofi_event_extra(event, dto->immed, NULL);
	atomic_store_explicit(&dto->state, DOFI_DTO_FREE, memory_order_relaxed);
	atomic_store_explicit(&q->head, ++head, memory_order_release);
	if (DOFI_UNLIKELY(dofi_dto_is_done(dofi_queue_at(q, head))))
		evd_report_next(evd, ep, q);
	else
		dofi_queue_rewind_if_empty(ep, q, head);
}

/* Returns the length of a message whose prefix has no effects; -1: it has, or it is invalid. The
 * general path repeats this. */
static __attribute__((noinline)) ssize_t evd_bounce_data(struct dofi_evd *evd, struct dofi_dto *dto,
							 size_t len)
{
	uint64_t data, flags = 0;

	if (evd->obj.ia->fab.desc->ops->read_prefix(evd, dto, &len, &data, &flags) || data)
		return -1;
	return (ssize_t)len;
}

ALWAYS_INLINE bool evd_return_receive(struct dofi_evd *evd, struct dofi_dto *dto, ssize_t len,
				      DAT_EVENT *event)
{
	struct dofi_ep *ep = dto->ep;
	struct dofi_queue *q = &ep->rq;
	uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);

	if (len < 0 || (uint64_t)len > dto->length || (evd->entry[0].flags & FI_REMOTE_CQ_DATA) ||
	    ep->has_watermarks || !evd_is_simple_completion(ep, q, head, dto))
		return false;
	dto->length = (uint64_t)len;
	evd_return_event(evd, ep, q, head, dto, DOFI_RECV, true, event);
	return true;
}

static __attribute__((noinline)) bool evd_return_prefixed(struct dofi_evd *evd,
							  struct dofi_dto *dto, DAT_EVENT *event)
{
	return evd_return_receive(evd, dto, evd_bounce_data(evd, dto, evd->entry[0].len), event);
}

ALWAYS_INLINE bool evd_return_request(struct dofi_evd *evd, struct dofi_dto *dto,
				      enum dofi_dto_kind kind, DAT_EVENT *event)
{
	struct dofi_ep *ep = dto->ep;
	struct dofi_queue *q = &ep->sq;
	uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);

	if (!evd_is_simple_completion(ep, q, head, dto) || q->failed ||
	    atomic_load_explicit(&ep->graceful, memory_order_acquire))
		return false;
	if (dofi_kind_fetches(kind)) {
		if (kind != DOFI_READ && ep->amo.on)
			return false;
		atomic_fetch_add_explicit(&ep->reads_done, 1, memory_order_release);
	}
	evd_return_event(evd, ep, q, head, dto, kind, false, event);
	return true;
}

/* Requests of the InfiniBand extension. */
static __attribute__((noinline)) bool evd_return_extended(struct dofi_evd *evd,
							  struct dofi_dto *dto, DAT_EVENT *event)
{
	return evd_return_request(evd, dto, dto->kind, event);
}

/* False: the completion, the only one of the read, must pass through the ring. */
ALWAYS_INLINE bool evd_return_direct(struct dofi_evd *evd, DAT_EVENT *event)
{
	struct dofi_dto *dto = evd->entry[0].op_context;

	if (!dto || atomic_load_explicit(&dto->state, memory_order_acquire) != DOFI_DTO_POSTED)
		return false;
	if (dto->kind == DOFI_RECV) {
		if (dto->shared)
			return false;
		return evd->has_msg_prefix
			       ? evd_return_prefixed(evd, dto, event)
			       : evd_return_receive(evd, dto, (ssize_t)evd->entry[0].len, event);
	}
	return dto->kind < DOFI_RECV ? evd_return_request(evd, dto, dto->kind, event)
				     : evd_return_extended(evd, dto, event);
}

/* Returns the next event of the ring, if any. */
static DAT_RETURN evd_pop_ring(struct dofi_evd *evd, DAT_EVENT *event, uint32_t before)
{
	/* Without a class or subtype: programs compare the whole value. */
	if (!dofi_evd_count(evd))
		return DAT_QUEUE_EMPTY;
	dofi_evd_pop(evd, event);
	/* Further events of the same batch notify the CNO. */
	if (dofi_evd_count(evd))
		dofi_evd_notify(evd, before);
	return DAT_SUCCESS;
}

/* A poll drives the operations of groups of collectives that report to the EVD. Caller holds
 * evd->lock, which is released meanwhile. */
static void evd_poll_groups(struct dofi_evd *evd)
{
	dofi_unlock(&evd->lock);
	dofi_coll_run(evd->obj.ia);
	dofi_lock(&evd->lock);
}

/* The same for software atomic operations: of its endpoints, and of peers. */
static __attribute__((noinline)) DAT_RETURN evd_poll_amo(struct dofi_evd *evd, DAT_EVENT *event)
{
	struct dofi_amo *amo = &evd->obj.ia->amo;

	atomic_fetch_add_explicit(&amo->polls, 1, memory_order_relaxed);
	dofi_unlock(&evd->lock);
	dofi_amo_poll(evd->obj.ia, false);
	dofi_lock(&evd->lock);
	return evd_pop_ring(evd, event, evd->notified);
}

/* True if the next event must come from the CQ. */
ALWAYS_INLINE bool evd_has_cq_only(const struct dofi_evd *evd)
{
	return !evd->barred && !dofi_evd_count(evd);
}

/* Takes an event without reading the CQ, which need not exist. */
static __attribute__((noinline)) DAT_RETURN evd_take_event(struct dofi_evd *evd, DAT_EVENT *event)
{
	bool groups;

	DOFI_ASSERT_LOCKED(&evd->lock);
	if (evd->dying)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	DOFI_COUNT(evd->counts->takes, 1);
	groups = atomic_load_explicit(&evd->groups, memory_order_relaxed);
	if ((evd->cq || groups) && !--evd->calls_left)
		evd_look_at_clock(evd);
	if (evd->waiter || evd->dead)
		return DOFI_ERR(DAT_INVALID_STATE, evd->waiter ? DAT_INVALID_STATE_EVD_WAITER : 0);
	if (groups && !dofi_evd_count(evd))
		evd_poll_groups(evd);
	return evd_pop_ring(evd, event, evd->notified);
}

/* Releases the lock and executes deferred work. */
static __attribute__((noinline)) DAT_RETURN evd_leave_deferred(struct dofi_evd *evd, DAT_RETURN ret)
{
	struct dofi_ia *ia = dofi_obj_ia(&evd->obj);

	dofi_unlock(&evd->lock);
	if (dofi_deferred_has_eps(ia))
		dofi_deferred_run(ia);
	if (dofi_deferred_take_coll(ia))
		dofi_coll_run(ia);
	return ret;
}

/* The same if there is any. `evd` may be freed once the lock is released. */
ALWAYS_INLINE DAT_RETURN evd_leave(struct dofi_evd *evd, DAT_RETURN ret)
{
	if (DOFI_UNLIKELY(dofi_deferred_pending(dofi_obj_ia(&evd->obj))))
		return evd_leave_deferred(evd, ret);
	dofi_unlock(&evd->lock);
	return ret;
}

/* Processes the result of a read of the CQ that is neither returned directly nor empty. */
static __attribute__((noinline)) DAT_RETURN evd_take_read(struct dofi_evd *evd, DAT_EVENT *event,
							  ssize_t n)
{
	uint32_t before = evd->notified;

	if (n == -FI_EAGAIN)
		return evd_leave(evd, evd_poll_amo(evd, event));
	if (dofi_cq_process(evd, n))
		DOFI_COUNT(evd->counts->poll_ring, 1);
	return evd_leave(evd, evd_pop_ring(evd, event, before));
}

/* Reads the CQ of an EVD whose ring is empty; releases the lock. */
ALWAYS_INLINE DAT_RETURN evd_read_cq(struct dofi_evd *evd, DAT_EVENT *event)
{
	ssize_t n;

	DOFI_COUNT(evd->counts->polls, 1);
	n = dofi_cq_read(evd);
	evd = DOFI_FRESH(evd);
	if (n == 1)
		return evd_return_direct(evd, event) ? evd_leave(evd, DOFI_FRESH(DAT_SUCCESS))
						     : evd_take_read(evd, event, 1);
	if (n == -FI_EAGAIN && !dofi_amo_active(&evd->obj.ia->amo))
		return evd_leave(evd, DAT_QUEUE_EMPTY);
	return evd_take_read(evd, event, n);
}

/* Takes an event in the cases in which dofi_evd_dequeue does not read the CQ itself. `locked`: the
 * caller has found the handle and `event` valid and has locked the EVD. Another thread may free it
 * meanwhile, which then waits for the lock. */
static __attribute__((noinline)) DAT_RETURN evd_dequeue_other(struct dofi_evd *evd,
							      DAT_EVENT *event, bool locked)
{
	if (!locked) {
		if (!dofi_obj_is_live(evd, DAT_HANDLE_TYPE_EVD))
			return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
		if (!event)
			return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
		dofi_lock(&evd->lock);
	}
	if (evd_has_cq_only(evd)) {
		evd_look_at_clock(evd);
		return evd_read_cq(evd, event);
	}
	return evd_leave(evd, evd_take_event(evd, event));
}

DAT_RETURN dofi_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct dofi_evd *evd = handle;
	bool locked = dofi_obj_is_live(handle, DAT_HANDLE_TYPE_EVD) && event &&
		      dofi_trylock(&evd->lock);

	if (locked && evd_has_cq_only(evd)) {
		if (DOFI_UNLIKELY(!--evd->calls_left))
			evd_look_at_clock(evd);
		return evd_read_cq(evd, event);
	}
	return evd_dequeue_other(evd, event, locked);
}
