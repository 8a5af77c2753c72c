/* SPDX-License-Identifier: BSD-2-Clause */
/* Polls the endpoints of a queue, and binds endpoints to it. (hot)
 *
 * Endpoints with recent activity are in front and are polled each time; of the idle ones after
 * them, a few each time in turn. So the cost of a poll depends on the number of active connections,
 * not of all. Data for an idle endpoint is found after one round of them, which takes about as long
 * as one poll of all. A caller that is about to block polls all of them. Endpoints that a ready
 * ring announces (ready.h) are not polled at all.
 *
 * A poll that finds nothing polls another queue, too: its consumer may be waiting for what arrives
 * in memory, and the progress thread leaves a queue that was polled often to its consumer.
 *
 * Where local and network connections meet, polling the network costs more than a message through
 * shared memory: it is polled only if it has connections, and at limited intervals.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/grow.h"
#include "msgep/object/cq_poll.h"
#include "msgep/ready.h"

/* Nanoseconds between two polls of the network by a queue with local connections, too: less than a
 * network message takes. */
#define NETWORK_POLL_NS 4000
/* A consumer that polls a single connection: times that its memory is checked by each poll, because
 * a round of the caller's loop takes many times as long as a check. */
#define SINGLE_TRIES 8u
/* An endpoint becomes idle after this many polls without activity; BUSY_LEAST endpoints never
 * do. */
#define BUSY_POLLS 4096u
#define BUSY_LEAST 16u
/* Empty polls between two visits of other queues, if their own consumers poll those. */
#define SKIP_MOST 63u
/* Idle endpoints per poll. */
#define IDLE_EACH 4u

bool msgep_cq_network_due(struct msgep_cq *cq)
{
	uint64_t now;

	if (!cq->domain->fabric->transport->busy(cq->domain))
		return false;
	if (!cq->has_local)
		return true;
	now = dofi_now();
	if (now < cq->next_network_poll)
		return false;
	cq->next_network_poll = now + NETWORK_POLL_NS;
	return true;
}

static inline bool cq_ep_has_news(struct msgep_ep *ep, unsigned int tries)
{
	return atomic_load_explicit(&ep->pending, memory_order_relaxed) ||
	       ep->transport->ready(ep, tries);
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

/* Polls one entry. True: there was activity. */
static inline bool cq_poll_transport(struct msgep_cq *cq, struct msgep_cq_ep *e,
				     struct msgep_cq_direct *direct, bool *all)
{
	struct msgep_ep *ep = e->ep;

	/* Before MSGEP_UP the transport may still change. */
	if (atomic_load_explicit(&ep->state, memory_order_acquire) != MSGEP_UP)
		return false;
	cq->saw_local |= ep->transport->local;
	if (!cq_ep_has_news(ep, direct && cq->n_eps == 1 ? SINGLE_TRIES : 1))
		return false;
	e->last_active = cq->polls;
	/* The lock holder processes it, or the next poll does. */
	if (!cq_poll_ep(ep, direct))
		*all = false;
	return true;
}

static inline void cq_swap(struct msgep_cq *cq, uint32_t i, uint32_t j)
{
	struct msgep_cq_ep e = cq->eps[i];

	cq->eps[i] = cq->eps[j];
	cq->eps[j] = e;
}

static bool cq_poll_active(struct msgep_cq *cq, struct msgep_cq_direct *direct)
{
	uint32_t n = cq->n_active, i;
	bool all = true;

	if (++cq->turn >= n)
		cq->turn = 0;
	i = cq->turn;
	for (uint32_t left = n; left; left--, i++) {
		if (i >= n)
			i = 0;
		cq_poll_transport(cq, &cq->eps[i], direct, &all);
	}
	/* One per poll, which bounds the time that this takes. */
	if (n > BUSY_LEAST && cq->polls - cq->eps[cq->turn].last_active > BUSY_POLLS)
		cq_swap(cq, cq->turn, --cq->n_active);
	return all;
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
		/* If each is polled, the entry that takes its place has been polled. */
		if (cq_poll_transport(cq, &cq->eps[cq->idle_turn], direct, &all))
			cq_swap(cq, cq->idle_turn, cq->n_active++);
	}
	return all;
}

/* Not inlined: a queue of few endpoints has no ready rings. */
static __attribute__((noinline)) bool cq_poll_ready(struct msgep_cq *cq,
						    struct msgep_cq_direct *direct)
{
	bool all = true;

	cq->saw_local = true;
	for (uint32_t i = 0; i < cq->n_ready; i++)
		if (!msgep_ready_is_empty(cq->ready[i]))
			all = msgep_ready_poll(cq->ready[i], direct) && all;
	return all;
}

bool msgep_cq_poll_eps(struct msgep_cq *cq, bool far, bool each, struct msgep_cq_direct *direct)
{
	const struct msgep_transport *transport = cq->domain->fabric->transport;
	bool all;

	DOFI_ASSERT_LOCKED(&cq->poll);
	if (far && transport->progress)
		transport->progress(cq->domain, direct);
	if (msgep_cq_all_dispatched(cq))
		return true;
	cq->polls++;
	all = cq_poll_active(cq, direct);
	if (cq->n_active != cq->n_polled)
		all = cq_poll_idle(cq, each, direct) && all;
	if (cq->n_ready)
		all = cq_poll_ready(cq, direct) && all;
	cq->has_local |= cq->saw_local;
	if (cq->n_active == cq->n_polled || cq->idle_turn == cq->n_polled) {
		cq->has_local = cq->saw_local;
		cq->saw_local = false;
	}
	return all;
}

/* A queue whose own consumer polls it is left alone. True: the next one was polled. */
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
	if (idle)
		msgep_cq_poll_eps(other, false, false, NULL);
	other->served_polls = other->polls;
	dofi_unlock(&other->poll);
	return idle;
}

void msgep_cq_serve_another(struct msgep_cq *cq)
{
	DOFI_ASSERT_LOCKED(&cq->poll);
	if (++cq->skipped <= cq->skip || !dofi_trylock(&cq->domain->serve_lock))
		return;
	cq->skipped = 0;
	/* Threads that poll different queues must not share cache lines at each poll. */
	if (cq_serve_next(cq))
		cq->skip = 0;
	else if (cq->skip < SKIP_MOST)
		cq->skip = 2 * cq->skip + 1;
	dofi_unlock(&cq->domain->serve_lock);
}

/* A queue for both directions has one entry: a search among all of them would make binding, and so
 * connecting, slower with each connection. */
int msgep_cq_attach(struct msgep_cq *cq, struct msgep_ep *ep)
{
	bool ok;

	if (ep->tx_cq == cq || ep->rx_cq == cq)
		return 0;
	dofi_lock(&cq->poll);
	ok = DOFI_TABLE_RESERVE(cq->eps, cq->eps_capacity, cq->n_eps + 1, 4, UINT32_MAX);
	if (ok) {
		cq->eps[cq->n_eps++] = cq->eps[cq->n_polled];
		cq->eps[cq->n_polled++] = cq->eps[cq->n_active];
		cq->eps[cq->n_active++] =
			(struct msgep_cq_ep){ .ep = ep, .last_active = cq->polls };
	}
	dofi_unlock(&cq->poll);
	return ok ? 0 : -FI_ENOMEM;
}

/* The endpoint receives there. The second receiver requires order from the first, too; later ones
 * announce a shared queue when they connect. */
void msgep_cq_add_receiver(struct msgep_cq *cq, struct msgep_ep *newest)
{
	dofi_lock(&cq->poll);
	newest->rx_cq = cq;
	if (atomic_fetch_add(&cq->receivers, 1) != 1)
		goto out;
	for (uint32_t i = 0; i < cq->n_eps; i++) {
		struct msgep_ep *ep = cq->eps[i].ep;

		if (ep == newest || ep->rx_cq != cq || !ep->transport->keep_order)
			continue;
		dofi_lock(&ep->lock);
		if (atomic_load_explicit(&ep->state, memory_order_relaxed) == MSGEP_UP)
			ep->transport->keep_order(ep);
		dofi_unlock(&ep->lock);
	}
out:
	dofi_unlock(&cq->poll);
}

/* Moves an entry behind those that are polled; returns its new place. */
static uint32_t cq_move_back(struct msgep_cq *cq, uint32_t i)
{
	if (i < cq->n_active) {
		cq_swap(cq, i, --cq->n_active);
		i = cq->n_active;
	}
	if (i < cq->n_polled) {
		cq_swap(cq, i, --cq->n_polled);
		i = cq->n_polled;
	}
	return i;
}

void msgep_cq_stop_polling(struct msgep_cq *cq, const struct msgep_ep *ep)
{
	dofi_lock(&cq->poll);
	for (uint32_t i = 0; i < cq->n_polled; i++) {
		if (cq->eps[i].ep != ep)
			continue;
		cq_move_back(cq, i);
		break;
	}
	dofi_unlock(&cq->poll);
}

bool msgep_cq_attach_ready(struct msgep_cq *cq, struct msgep_ready *r)
{
	bool ok = true;

	dofi_lock(&cq->poll);
	for (uint32_t i = 0; i < cq->n_ready; i++)
		if (cq->ready[i] == r)
			goto out;
	ok = DOFI_TABLE_RESERVE(cq->ready, cq->ready_capacity, cq->n_ready + 1, 2, UINT32_MAX);
	if (ok)
		cq->ready[cq->n_ready++] = r;
out:
	dofi_unlock(&cq->poll);
	return ok;
}

void msgep_cq_detach_ready(struct msgep_cq *cq, const struct msgep_ready *r)
{
	dofi_lock(&cq->poll);
	for (uint32_t i = 0; i < cq->n_ready; i++)
		if (cq->ready[i] == r)
			cq->ready[i--] = cq->ready[--cq->n_ready];
	dofi_unlock(&cq->poll);
}

void msgep_cq_detach(struct msgep_cq *cq, struct msgep_ep *ep)
{
	dofi_lock(&cq->poll);
	for (uint32_t i = 0; i < cq->n_eps; i++) {
		if (cq->eps[i].ep != ep)
			continue;
		cq->eps[cq_move_back(cq, i)] = cq->eps[--cq->n_eps];
		if (ep->rx_cq == cq)
			atomic_fetch_sub(&cq->receivers, 1);
		break;
	}
	if (ep->transport->doorbell && ep->sock >= 0)
		epoll_ctl(cq->epfd, EPOLL_CTL_DEL, ep->sock, NULL);
	dofi_unlock(&cq->poll);
}

bool msgep_cq_add_doorbell(struct msgep_cq *cq, struct msgep_ep *ep)
{
	struct epoll_event ev = { .events = EPOLLIN };

	ev.data.ptr = ep;
	/* EEXIST: it serves both directions. */
	return !epoll_ctl(cq->epfd, EPOLL_CTL_ADD, ep->sock, &ev) || errno == EEXIST;
}
