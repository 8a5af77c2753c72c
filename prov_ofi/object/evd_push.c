/* SPDX-License-Identifier: BSD-2-Clause */
/* The event queues of EVDs: room, pushing, notification; asynchronous events, which report that one
 * is full, among others. */
#include "base/eventfd.h"
#include "base/fork_lock.h"
#include "base/grow.h"
#include "base/log.h"
#include "object/async_evd.h"
#include "object/cno.h"
#include "object/evd.h"
#include "object/progress_wakeup.h"

pthread_mutex_t dofi_async_lock = PTHREAD_MUTEX_INITIALIZER;
DOFI_FORK_LOCK(dofi_async_lock, DOFI_FORK_ASYNC)

bool dofi_evd_grow(struct dofi_evd *evd, uint32_t capacity)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	DOFI_ASSERT(capacity >= dofi_evd_count(evd), "EVD %p: %u events, new capacity %u",
		    (void *)evd, dofi_evd_count(evd), capacity);
	return dofi_ring_resize(&evd->ring, sizeof(*evd->ring), &evd->capacity, capacity, evd->head,
				evd->tail);
}

/* False: no memory. */
static bool evd_append(struct dofi_evd *evd, const struct dofi_event *event)
{
	struct dofi_event *slot = dofi_evd_slot(evd);

	DOFI_ASSERT_LOCKED(&evd->lock);
	if (!slot)
		return false;
	*slot = *event;
	dofi_evd_commit(evd, slot);
	DOFI_COUNT(evd->counts->other_events, 1);
	if (event->number >= DAT_CONNECTION_EVENT_ESTABLISHED &&
	    event->number <= DAT_CONNECTION_EVENT_UNREACHABLE)
		DOFI_COUNT(evd->counts->conn_events, 1);
	return true;
}

/* Caller holds evd->lock. */
static bool evd_ensure_capacity(struct dofi_evd *evd, uint32_t capacity)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	return dofi_evd_pow2(capacity) <= evd->capacity ||
	       dofi_evd_grow(evd, dofi_evd_pow2(capacity));
}

bool dofi_evd_reserve(struct dofi_evd *evd)
{
	bool ok;

	dofi_lock(&evd->lock);
	ok = evd_ensure_capacity(evd, (uint32_t)evd->qlen + evd->extra + 1);
	evd->extra += ok;
	dofi_unlock(&evd->lock);
	return ok;
}

void dofi_evd_unreserve(struct dofi_evd *evd)
{
	dofi_lock(&evd->lock);
	evd->extra--;
	dofi_unlock(&evd->lock);
}

void dofi_evd_push_extra(struct dofi_evd *evd, const struct dofi_event *event, uint32_t most)
{
	uint32_t before;

	dofi_lock(&evd->lock);
	before = evd->notified;
	if (!evd->dying && dofi_evd_count(evd) < most && evd_append(evd, event))
		dofi_evd_notify(evd, before);
	dofi_unlock(&evd->lock);
}

void dofi_evd_push_reserved(struct dofi_evd *evd, const struct dofi_event *event)
{
	uint32_t before;

	dofi_lock(&evd->lock);
	before = evd->notified;
	evd->extra--;
	if (!evd->dying && evd_append(evd, event))
		dofi_evd_notify(evd, before);
	dofi_unlock(&evd->lock);
}

bool dofi_evd_has_slot(struct dofi_evd *evd)
{
	bool has_slot;

	dofi_lock(&evd->lock);
	has_slot = dofi_evd_count(evd) < (uint32_t)evd->qlen;
	dofi_unlock(&evd->lock);
	return has_slot;
}

/* Reports the loss of an event of a stream that is limited to the granted length. */
static void evd_report_overflow(struct dofi_evd *evd, DAT_COUNT qlen,
				const struct dofi_event *event)
{
	struct dofi_ia *ia = evd->obj.ia;

	dofi_log(DOFI_LOG_ERROR, "event %#x lost: the EVD is full with %d events",
		 (unsigned int)event->number, (int)qlen);
	if (evd != ia->async_evd)
		dofi_async_event(ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, evd, DAT_EVD_OVERFLOW_ERROR);
}

static void evd_open_gate(_Atomic bool *gate)
{
	if (gate)
		atomic_store_explicit(gate, true, memory_order_release);
}

/* Any call may read the event queue of the adapter, and with it events of collectives, which it
 * does not process: no thread waits for this EVD. */
static void evd_wake_collectives(struct dofi_evd *evd)
{
	struct dofi_ia *ia = evd->obj.ia;

	if (evd == atomic_load_explicit(&ia->coll_evd, memory_order_relaxed))
		dofi_progress_wakeup(ia);
}

/* Opens `gate` (NULL: none) even if the queue is full. */
static bool evd_push(struct dofi_evd *evd, const struct dofi_event *event, _Atomic bool *gate)
{
	bool soft = event->number == DAT_SOFTWARE_EVENT ||
		    event->number == DAT_CONNECTION_REQUEST_EVENT ||
		    event->number == DOFI_UD_REQUEST_EVENT;
	uint32_t before;
	bool full, report;
	DAT_COUNT qlen;

	dofi_lock(&evd->lock);
	if (evd->dying) {
		evd_open_gate(gate);
		dofi_unlock(&evd->lock);
		return true;
	}
	before = evd->notified;
	qlen = evd->qlen;
	full = dofi_evd_count(evd) >= (uint32_t)qlen;
	report = full && !soft && !evd->overflowed;
	if (full && !soft) {
		evd->overflowed = true;
		if (evd == evd->obj.ia->async_evd) {
			evd->dead = true;
			dofi_evd_wake_locked(evd);
		}
	}
	if (!full) {
		evd_append(evd, event);
		dofi_evd_notify(evd, before);
		evd_wake_collectives(evd);
	}
	evd_open_gate(gate);
	dofi_unlock(&evd->lock);
	if (report)
		evd_report_overflow(evd, qlen, event);
	return !full;
}

bool dofi_evd_push(struct dofi_evd *evd, const struct dofi_event *event)
{
	return evd_push(evd, event, NULL);
}

void dofi_evd_push_opening(struct dofi_evd *evd, const struct dofi_event *event, _Atomic bool *gate)
{
	evd_push(evd, event, gate);
}

void dofi_evd_wake_locked(struct dofi_evd *evd)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	if (!evd->sleeping)
		return;
	evd->sleeping = false;
	dofi_eventfd_set(evd->wake_fd);
}

void dofi_evd_notify(struct dofi_evd *evd, uint32_t notified_before)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	if (evd->notified == notified_before)
		return;
	if (evd->waiter || (evd->cno && evd->enabled))
		DOFI_COUNT(evd->counts->notifies, 1);
	if (evd->waiter)
		dofi_evd_wake_locked(evd);
	else if (evd->cno && evd->enabled)
		dofi_cno_fire(evd->cno, evd);
}

/* ---- asynchronous events ---- */

static bool async_is_about_ep(const struct dofi_event *event)
{
	const struct dofi_obj *obj = event->data.asynch_error_event_data.dat_handle;

	return event->number == DAT_ASYNC_ERROR_EP_BROKEN && obj->type == DAT_HANDLE_TYPE_EP;
}

void dofi_async_push(struct dofi_ia *ia, const struct dofi_event *event, uint32_t most)
{
	pthread_mutex_lock(&dofi_async_lock);
	dofi_count_async(ia->counts, event->number, async_is_about_ep(event));
	if (ia->async_evd && most)
		dofi_evd_push_extra(ia->async_evd, event, most);
	else if (ia->async_evd)
		dofi_evd_push(ia->async_evd, event);
	pthread_mutex_unlock(&dofi_async_lock);
}

void dofi_async_event(struct dofi_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle,
		      DAT_COUNT reason)
{
	struct dofi_event e = { .number = number, .notify = true };

	e.data.asynch_error_event_data.dat_handle = handle;
	e.data.asynch_error_event_data.reason = reason;
	dofi_async_push(ia, &e, 0);
}
