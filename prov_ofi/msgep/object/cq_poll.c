/* SPDX-License-Identifier: BSD-2-Clause */
/* Polls the endpoints of a queue. (hot)
 *
 * Endpoints with recent activity are in front and are polled each time; of the idle ones after
 * them, a few each time in turn. So the cost of a poll depends on the number of active connections,
 * not of all. Data for an idle endpoint is found after one round of them, which takes about as long
 * as one poll of all. A caller that is about to block polls all of them. Endpoints that a ready
 * ring announces (ready.h) are not polled at all. If there are many whose
 * transport reports news (cq_touch.c), a poll processes the reported ones.
 *
 * A poll that finds nothing polls another queue, too: its consumer may be waiting for what arrives
 * in memory, and the progress thread leaves a queue that was polled often to its consumer.
 *
 * Where local and network connections meet, polling the network costs more than a message through
 * shared memory: it is polled only if it has connections, and at limited intervals.
 */
#include "base/clock.h"
#include "msgep/object/cq_poll.h"
#include "msgep/ready.h"

/* Nanoseconds between two polls of the network by a queue with local connections, too: less than a
 * network message takes. */
#define NETWORK_POLL_NS 4000
/* An endpoint becomes idle after this many polls without activity. */
#define BUSY_POLLS 4096u
/* Polls between two visits of other queues, if their own consumers poll those. */
#define SKIP_MOST 63u
/* Idle endpoints per poll. */
#define IDLE_EACH 4u

bool msgep_cq_network_due(struct msgep_cq *cq)
{
	uint64_t now;

	if (!cq->domain->fabric->transport->busy(cq->domain))
		return false;
	if (!atomic_load_explicit(&cq->n_local, memory_order_relaxed))
		return true;
	now = dofi_now();
	if (now < cq->next_network_poll)
		return false;
	cq->next_network_poll = now + NETWORK_POLL_NS;
	return true;
}

/* False: another thread holds the lock. */
static inline bool cq_poll_ep(struct msgep_ep *ep, struct msgep_cq_direct *direct)
{
	if (!dofi_trylock(&ep->lock))
		return false;
	ep->cq_direct = direct;
	msgep_proto_progress(ep);
	ep->cq_direct = NULL;
	dofi_unlock(&ep->lock);
	return true;
}

/* Polls one entry that may have news. True: there was activity. */
static inline bool cq_poll_entry(struct msgep_cq *cq, struct msgep_cq_ep *e,
				 struct msgep_cq_direct *direct, bool *all)
{
	/* Before MSGEP_UP the transport may still change. */
	if (msgep_asks_transport(e->ep) &&
	    (atomic_load_explicit(&e->ep->state, memory_order_acquire) != MSGEP_UP ||
	     !msgep_ep_has_news(e->ep)))
		return false;
	e->last_active = cq->polls;
	/* The lock holder processes it, or the next poll does. */
	if (!cq_poll_ep(e->ep, direct))
		*all = false;
	return true;
}

/* Polls some of them, or each. */
static bool cq_poll_idle(struct msgep_cq *cq, bool each, struct msgep_cq_direct *direct)
{
	bool all = true;
	uint32_t left;

	if (each || cq->idle_turn >= cq->n_polled || cq->idle_turn < cq->n_active)
		cq->idle_turn = cq->n_active;
	left = cq->n_polled - cq->idle_turn;
	if (!each && left > IDLE_EACH)
		left = IDLE_EACH;
	for (; left; left--, cq->idle_turn++) {
		struct msgep_cq_ep *e = &cq->eps[cq->idle_turn];

		/* If each is polled, the entry that takes its place has been polled. */
		if (msgep_ep_may_have_news(e->ep) && cq_poll_entry(cq, e, direct, &all))
			msgep_cq_swap(cq, cq->idle_turn, cq->n_active++);
	}
	return all;
}

/* True if there is more than one poll processes. */
static bool cq_has_more(struct msgep_ep *ep)
{
	bool more;

	dofi_lock(&ep->lock);
	more = atomic_load(&ep->state) == MSGEP_UP &&
	       !ep->transport->quiet(ep, atomic_load(&ep->pending));
	dofi_unlock(&ep->lock);
	return more;
}

/* Polls an endpoint that has been reported. One that is not up is reported again when it is. */
static bool cq_poll_reported(struct msgep_ep *ep, struct msgep_cq_direct *direct)
{
	bool all;

	if (!msgep_ep_is_up(ep) || !msgep_ep_has_news(ep))
		return true;
	all = cq_poll_ep(ep, direct);
	/* The holder of the lock may have left some. */
	if (!all || (ep->transport->ready(ep) && cq_has_more(ep)))
		msgep_ep_touch(ep);
	return all;
}

/* The reported endpoints, and one that is not: a request that waits for memory is not reported. */
static bool cq_poll_touched(struct msgep_cq *cq, struct msgep_cq_direct *direct)
{
	uint32_t left = atomic_load(&cq->n_touched);
	struct msgep_ep *ep;
	bool all = true;

	for (; left && (ep = msgep_cq_next_touched(cq)); left--)
		all = cq_poll_reported(ep, direct) && all;
	if (++cq->reported_turn >= cq->n_eps || cq->reported_turn < cq->n_polled)
		cq->reported_turn = cq->n_polled;
	if (cq->reported_turn < cq->n_eps) {
		ep = cq->eps[cq->reported_turn].ep;
		if (msgep_ep_is_up(ep) && ep->transport->reports_news)
			all = cq_poll_reported(ep, direct) && all;
	}
	return all;
}

static bool cq_poll_ready(struct msgep_cq *cq, struct msgep_cq_direct *direct)
{
	bool all = true;

	for (uint32_t i = 0; i < cq->n_ready; i++)
		if (!msgep_ready_is_empty(cq->ready[i]))
			all = msgep_ready_poll(cq->ready[i], direct) && all;
	return all;
}

/* An endpoint without activity becomes idle. One per poll is checked, which bounds the time that
 * this takes. */
static void cq_check_activity(struct msgep_cq *cq)
{
	if (++cq->turn >= cq->n_active)
		cq->turn = 0;
	if (cq->polls - cq->eps[cq->turn].last_active > BUSY_POLLS)
		msgep_cq_swap(cq, cq->turn, --cq->n_active);
}

bool msgep_cq_poll_eps(struct msgep_cq *cq, struct msgep_cq_ep *news, bool each,
		       struct msgep_cq_direct *direct)
{
	struct msgep_cq_ep *e;
	bool all = true;

	DOFI_ASSERT_LOCKED(&cq->poll);
	cq->polls++;
	if (cq->all_dispatched)
		return true;
	for (e = news ? news : msgep_cq_find_news(cq, cq->eps); e;
	     e = msgep_cq_find_news(cq, e + 1))
		cq_poll_entry(cq, e, direct, &all);
	if (atomic_load_explicit(&cq->has_reported, memory_order_relaxed))
		all = cq_poll_touched(cq, direct) && all;
	if (cq->n_active > MSGEP_BUSY_LEAST)
		cq_check_activity(cq);
	if (cq->n_active != cq->n_polled)
		all = cq_poll_idle(cq, each, direct) && all;
	if (cq->n_ready)
		all = cq_poll_ready(cq, direct) && all;
	return all;
}

/* True if polling this queue processes all connections of the domain. */
static bool cq_has_all(const struct msgep_cq *cq)
{
	return cq->n_eps == atomic_load_explicit(&cq->domain->eps, memory_order_relaxed);
}

/* A queue whose own consumer polls it is left alone. True: the next one was polled. Caller holds
 * serve_lock. */
static bool cq_serve_next(struct msgep_cq *cq)
{
	struct msgep_domain *domain = cq->domain;
	struct dofi_list *next = domain->served->next;
	struct msgep_cq *other;
	bool idle;

	if (next == &domain->cqs || next == &cq->link)
		next = next->next;
	if (next == &domain->cqs || next == &cq->link)
		next = next->next;
	domain->served = next;
	if (next == &domain->cqs || next == &cq->link)
		return false;
	other = dofi_container(next, struct msgep_cq, link);
	if (!dofi_trylock(&other->poll))
		return false;
	idle = other->polls == other->served_polls;
	if (idle && (!msgep_cq_is_plain(other) || msgep_cq_find_news(other, other->eps)))
		msgep_cq_poll_eps(other, NULL, false, NULL);
	other->served_polls = other->polls;
	dofi_unlock(&other->poll);
	return idle;
}

void msgep_cq_serve_another(struct msgep_cq *cq)
{
	bool served = false;

	DOFI_ASSERT_LOCKED(&cq->poll);
	if (!msgep_cq_visits_another(cq))
		return;
	if (!cq_has_all(cq) && dofi_trylock(&cq->domain->serve_lock)) {
		served = cq_serve_next(cq);
		dofi_unlock(&cq->domain->serve_lock);
	}
	/* Threads that poll different queues must not share cache lines at each poll. */
	if (served)
		cq->skip = 0;
	else if (cq->skip < SKIP_MOST)
		cq->skip = 2 * cq->skip + 1;
	cq->next_visit = cq->polls + cq->skip;
}
