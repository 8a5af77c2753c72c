/* SPDX-License-Identifier: BSD-2-Clause */
/* The collectives of an adapter: their EVD, and the processing of its events.
 *
 * The progress thread processes them after each of its rounds, and every consumer that polls or
 * waits for an EVD with groups. One thread at a time does; another one that comes meanwhile only
 * makes it look again.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "cm/cm.h"
#include "coll/coll_int.h"
#include "data/cq.h"
#include "object/deferred_work.h"
#include "object/progress_wakeup.h"

#define EVENTS_FIRST 256
/* Events per run, so that other threads get the lock. */
#define EVENTS_MOST 4096
/* Interval of looking whether other threads have left. */
#define CLOSE_TICK_US 100

/* True: there was an event. `may_read`: the CQ is read if none is queued. */
static bool coll_take(struct dofi_coll *coll, bool consumer, bool may_read, DAT_EVENT *event)
{
	struct dofi_evd *evd = coll->evd;
	bool any;

	dofi_lock(&evd->lock);
	if (consumer && (may_read || dofi_evd_count(evd)))
		dofi_evd_polled(evd);
	if (may_read && !dofi_evd_count(evd))
		dofi_cq_read_batch(evd);
	any = dofi_evd_count(evd);
	if (any)
		dofi_evd_pop(evd, event);
	dofi_unlock(&evd->lock);
	return any;
}

static void coll_request_arrived(const DAT_CR_ARRIVAL_EVENT_DATA *data)
{
	struct dofi_sp *sp = data->sp_handle.psp_handle;

	dofi_coll_request(sp->obj.context.as_ptr, data->cr_handle);
}

static void coll_event(const DAT_EVENT *event)
{
	const DAT_CONNECTION_EVENT_DATA *conn = &event->event_data.connect_event_data;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;
	struct coll_peer *p;
	struct dofi_ep *ep;

	switch ((int)event->event_number) {
	case 0: /* dofi_coll_forget */
		return;
	case DAT_CONNECTION_REQUEST_EVENT:
		coll_request_arrived(&event->event_data.cr_arrival_event_data);
		return;
	case DAT_DTO_COMPLETION_EVENT:
		ep = dto->ep_handle;
		p = ep->obj.context.as_ptr;
		dofi_coll_peer_dto_event(p, dto);
		break;
	default:
		ep = conn->ep_handle;
		p = ep->obj.context.as_ptr;
		dofi_coll_peer_conn_event(p, event->event_number, conn);
		break;
	}
	dofi_coll_settle(p->group);
}

static void coll_expire(struct dofi_coll *coll)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &coll->groups)
	{
		struct coll_group *g = dofi_container(pos, struct coll_group, link);

		if (!atomic_exchange(&g->expired, false) || g->state != COLL_CREATING)
			continue;
		dofi_coll_fail(g, "not all members have created it in time");
		dofi_coll_settle(g);
	}
}

void dofi_coll_process(struct dofi_coll *coll)
{
	bool consumer = !dofi_progress_is_me(coll->ia);
	DAT_EVENT event;
	int n = 0;

	/* A consumer that has its event is not kept waiting. */
	coll->reported = false;
	while (n < EVENTS_MOST && coll_take(coll, consumer, !coll->reported, &event)) {
		coll_event(&event);
		n++;
	}
	if (n == EVENTS_MOST)
		dofi_progress_wakeup(coll->ia);
	if (atomic_exchange_explicit(&coll->expired, false, memory_order_relaxed))
		coll_expire(coll);
}

static void coll_run(struct dofi_ia *ia)
{
	struct dofi_coll *coll = ia->coll;

	DOFI_NO_CANCEL();
	do {
		if (pthread_mutex_trylock(&coll->lock)) {
			/* The holder sees it when it has released the lock. */
			atomic_store(&coll->pending, true);
			if (pthread_mutex_trylock(&coll->lock))
				return;
		}
		if (atomic_load_explicit(&coll->pending, memory_order_relaxed))
			atomic_store(&coll->pending, false);
		dofi_coll_process(coll);
		pthread_mutex_unlock(&coll->lock);
	} while (atomic_load(&coll->pending));
	if (dofi_deferred_pending(ia))
		dofi_deferred_run(ia);
}

void dofi_coll_unlock(struct dofi_coll *coll)
{
	struct dofi_ia *ia = coll->ia;

	pthread_mutex_unlock(&coll->lock);
	if (atomic_load(&coll->pending))
		dofi_coll_run(ia);
}

bool dofi_coll_reserve(struct dofi_coll *coll, uint32_t peers)
{
	struct dofi_evd *evd = coll->evd;
	uint32_t capacity;
	bool ok = true;

	dofi_lock(&evd->lock);
	capacity = evd->capacity;
	while (capacity < EVENTS_FIRST + 4 * (coll->peers + peers))
		capacity *= 2;
	if (capacity > evd->capacity)
		ok = dofi_evd_grow(evd, capacity);
	if (ok)
		evd->qlen = (DAT_COUNT)capacity;
	dofi_unlock(&evd->lock);
	if (ok)
		coll->peers += peers;
	return ok;
}

void dofi_coll_forget(struct dofi_coll *coll, const struct dofi_ep *ep)
{
	struct dofi_evd *evd = coll->evd;

	dofi_lock(&evd->lock);
	for (uint32_t i = evd->head; i != evd->tail; i++) {
		struct dofi_event *e = &evd->ring[i & (evd->capacity - 1)];
		DAT_HANDLE of = e->number == DAT_DTO_COMPLETION_EVENT
					? e->data.dto_completion_event_data.ep_handle
					: e->data.connect_event_data.ep_handle;

		if (e->number != DAT_CONNECTION_REQUEST_EVENT && of == ep)
			e->number = (DAT_EVENT_NUMBER)0;
	}
	dofi_unlock(&evd->lock);
}

/* ---- life ---- */

static void coll_close(struct dofi_ia *ia)
{
	struct dofi_coll *coll = ia->coll;

	atomic_store(&ia->coll_hooks, NULL);
	while (atomic_load(&ia->coll_users))
		usleep(CLOSE_TICK_US);
	pthread_mutex_lock(&coll->lock);
	while (!dofi_list_empty(&coll->groups))
		dofi_coll_group_destroy(dofi_container(coll->groups.next, struct coll_group, link));
	while (!dofi_list_empty(&coll->members))
		dofi_coll_member_destroy(
			dofi_container(coll->members.next, struct coll_member, link));
	while (atomic_load(&coll->evd->borrowers))
		usleep(CLOSE_TICK_US);
	atomic_store(&coll->evd->obj.magic, 0);
	dofi_evd_destroy(coll->evd);
	pthread_mutex_unlock(&coll->lock);
	pthread_mutex_destroy(&coll->lock);
	ia->coll = NULL;
	ia->coll_evd = NULL;
	free(coll);
}

static const struct dofi_coll_hooks hooks = { coll_run, coll_close };

static struct dofi_coll *coll_open(struct dofi_ia *ia)
{
	struct dofi_coll *coll = calloc(1, sizeof(*coll));

	if (!coll)
		return NULL;
	if (dofi_evd_new(ia, EVENTS_FIRST,
			 DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, NULL, false,
			 &coll->evd)) {
		free(coll);
		return NULL;
	}
	/* Alive, but not the consumer's: not in the list of objects. */
	atomic_store(&coll->evd->obj.magic, DOFI_OBJ_MAGIC(DAT_HANDLE_TYPE_EVD));
	coll->ia = ia;
	pthread_mutex_init(&coll->lock, NULL);
	dofi_list_init(&coll->members);
	dofi_list_init(&coll->groups);
	ia->coll = coll;
	ia->coll_evd = coll->evd;
	atomic_store_explicit(&ia->coll_hooks, &hooks, memory_order_release);
	return coll;
}

struct dofi_coll *dofi_coll_of(struct dofi_ia *ia)
{
	static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
	struct dofi_coll *coll;

	pthread_mutex_lock(&opening);
	coll = ia->coll ? ia->coll : coll_open(ia);
	pthread_mutex_unlock(&opening);
	return coll;
}
