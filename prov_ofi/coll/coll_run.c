/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes the events of the collectives.
 *
 * The progress thread processes them after each of its rounds, and every consumer that polls or
 * waits for an EVD with groups. One thread at a time does; another one that comes meanwhile only
 * makes it look again.
 */
#include "base/cancel.h"
#include "cm/cm.h"
#include "coll/coll_int.h"
#include "data/cq.h"
#include "object/deferred_work.h"
#include "object/progress_wakeup.h"

/* Events per run, so that other threads get the lock. */
#define EVENTS_MOST 4096

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

/* Long messages may have waited for a while. */
static void coll_announce(struct coll_group *g)
{
	g->watching = false;
	for (uint32_t i = 0; i < g->size; i++)
		if (i != g->self)
			dofi_coll_peer_announce(&g->peers[i]);
}

static void coll_expire(struct dofi_coll *coll)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &coll->groups)
	{
		struct coll_group *g = dofi_container(pos, struct coll_group, link);

		if (!atomic_exchange(&g->expired, false))
			continue;
		if (g->state == COLL_CREATING)
			dofi_coll_fail(g, "not all members have created it in time");
		else if (g->state == COLL_READY)
			coll_announce(g);
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

void dofi_coll_turn(struct dofi_ia *ia)
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
	if (dofi_deferred_has_eps(ia))
		dofi_deferred_run(ia);
}

void dofi_coll_unlock(struct dofi_coll *coll)
{
	struct dofi_ia *ia = coll->ia;

	pthread_mutex_unlock(&coll->lock);
	if (atomic_load(&coll->pending))
		dofi_coll_run(ia);
}
