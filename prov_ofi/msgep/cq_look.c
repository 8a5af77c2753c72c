/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes in what has arrived for the endpoints of a queue, and binds endpoints to it. (hot)
 *
 * The endpoints for which something has come lately are in front and are looked at each time; the
 * idle ones behind them in turn, a few each time. So a look takes as long as there are busy
 * connections, however many there are in all, and what comes for an idle one is found after as many
 * looks as it takes to get round: together they take about as long as one look at all of them.
 * A caller that is about to sleep has all of them looked at.
 *
 * Where connections of both wires of a fabric meet, looking at the network costs more than a
 * message through shared memory takes: it is looked at when there are connections on it, and not
 * more often than helps it.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "msgep/cq_look.h"

/* Nanoseconds between two looks at the network by polls that serve local connections as well: less
 * than a message takes there. */
#define LOOK 4000
/* Polls of a single connection's memory before rdm_cq_comes_now reports that nothing is there. */
#define LOOKS 8
/* An endpoint is idle after as many looks without news; the first ones never are. */
#define BUSY_LOOKS 4096u
#define BUSY_LEAST 16u
/* Idle endpoints in each look. */
#define IDLE_EACH 4u

bool rdm_cq_looks_far(struct rdm_cq *cq)
{
	const struct rdm_fabric *fabric = cq->domain->fabric;
	uint64_t now;

	if (!fabric->local_wire)
		return true;
	if (!fabric->wire->busy(cq->domain))
		return false;
	if (!cq->has_local)
		return true;
	now = dofi_now();
	if (now < cq->look_at)
		return false;
	cq->look_at = now + LOOK;
	return true;
}

static inline bool has_news(struct rdm_ep *ep)
{
	return atomic_load_explicit(&ep->pending, memory_order_relaxed) || ep->wire->ready(ep);
}

/* False: another thread is at the endpoint. */
static inline bool look_at(struct rdm_ep *ep, struct rdm_sink *sink)
{
	if (!rdm_trylock(&ep->lock))
		return false;
	ep->sink = sink;
	rdm_proto_progress(ep);
	ep->sink = NULL;
	rdm_unlock(&ep->lock);
	return true;
}

/* Looks at one entry. True: there was news. */
static inline bool look_in(struct rdm_cq *cq, struct rdm_cq_ep *e, struct rdm_sink *sink, bool *all)
{
	struct rdm_ep *ep = e->ep;

	/* Before that its wire may still change. */
	if (atomic_load_explicit(&ep->state, memory_order_acquire) != RDM_UP)
		return false;
	cq->saw_local |= ep->wire->local;
	if (!has_news(ep))
		return false;
	e->news_at = cq->looks;
	/* The lock's holder moves the endpoint, or the next poll does. */
	if (!look_at(ep, sink))
		*all = false;
	return true;
}

static inline void swap(struct rdm_cq *cq, uint32_t i, uint32_t j)
{
	struct rdm_cq_ep e = cq->eps[i];

	cq->eps[i] = cq->eps[j];
	cq->eps[j] = e;
}

static bool look_at_busy(struct rdm_cq *cq, struct rdm_sink *sink)
{
	uint32_t n = cq->n_busy, i;
	bool all = true;

	if (++cq->turn >= n)
		cq->turn = 0;
	i = cq->turn;
	for (uint32_t left = n; left; left--, i++) {
		if (i >= n)
			i = 0;
		look_in(cq, &cq->eps[i], sink, &all);
	}
	/* One in each look, so that a look never takes long because of it. */
	if (n > BUSY_LEAST && cq->looks - cq->eps[cq->turn].news_at > BUSY_LOOKS)
		swap(cq, cq->turn, --cq->n_busy);
	return all;
}

/* At some of them, or at each. */
static bool look_at_idle(struct rdm_cq *cq, bool each, struct rdm_sink *sink)
{
	bool all = true;
	uint32_t left;

	if (each || cq->idle_turn >= cq->n_eps || cq->idle_turn < cq->n_busy)
		cq->idle_turn = cq->n_busy;
	left = cq->n_eps - cq->idle_turn;
	if (!each && left > IDLE_EACH)
		left = IDLE_EACH;
	for (; left; left--, cq->idle_turn++) {
		/* What takes its place has been looked at, if each is. */
		if (look_in(cq, &cq->eps[cq->idle_turn], sink, &all))
			swap(cq, cq->idle_turn, cq->n_busy++);
	}
	return all;
}

bool rdm_cq_look(struct rdm_cq *cq, bool far, bool each, struct rdm_sink *sink)
{
	const struct rdm_wire *wire = cq->domain->fabric->wire;
	bool all;

	if (far && wire->progress)
		wire->progress(cq->domain, sink);
	if (rdm_cq_all_dispatched(cq))
		return true;
	cq->looks++;
	all = look_at_busy(cq, sink);
	if (cq->n_busy != cq->n_eps)
		all = look_at_idle(cq, each, sink) && all;
	cq->has_local |= cq->saw_local;
	if (cq->n_busy == cq->n_eps || cq->idle_turn == cq->n_eps) {
		cq->has_local = cq->saw_local;
		cq->saw_local = false;
	}
	return all;
}

bool rdm_cq_comes_now(struct rdm_cq *cq)
{
	struct rdm_ep *ep = cq->n_eps == 1 ? cq->eps[0].ep : NULL;

	if (!cq->has_local || !ep ||
	    atomic_load_explicit(&ep->state, memory_order_acquire) != RDM_UP)
		return false;
	for (int i = 0; i < LOOKS; i++)
		if (ep->wire->ready(ep))
			return true;
	return false;
}

int rdm_cq_attach(struct rdm_cq *cq, struct rdm_ep *ep)
{
	int ret = 0;

	rdm_lock(&cq->poll);
	for (uint32_t i = 0; i < cq->n_eps; i++)
		if (cq->eps[i].ep == ep)
			goto out;
	if (cq->n_eps == cq->eps_room) {
		uint32_t room = cq->eps_room ? 2 * cq->eps_room : 4;
		struct rdm_cq_ep *eps = realloc(cq->eps, room * sizeof(*eps));

		if (!eps) {
			ret = -FI_ENOMEM;
			goto out;
		}
		cq->eps = eps;
		cq->eps_room = room;
	}
	cq->eps[cq->n_eps] = cq->eps[cq->n_busy];
	cq->eps[cq->n_busy] = (struct rdm_cq_ep){ .ep = ep, .news_at = cq->looks };
	cq->n_busy++;
	cq->n_eps++;
out:
	rdm_unlock(&cq->poll);
	return ret;
}

/* The endpoint receives there. The second one concerns the first; further ones say by themselves
 * when they connect that they are not alone. */
void rdm_cq_receives(struct rdm_cq *cq, struct rdm_ep *newest)
{
	rdm_lock(&cq->poll);
	newest->rx_cq = cq;
	if (atomic_fetch_add(&cq->receivers, 1) != 1)
		goto out;
	for (uint32_t i = 0; i < cq->n_eps; i++) {
		struct rdm_ep *ep = cq->eps[i].ep;

		if (ep == newest || ep->rx_cq != cq || !ep->wire->several)
			continue;
		rdm_lock(&ep->lock);
		if (atomic_load_explicit(&ep->state, memory_order_relaxed) == RDM_UP)
			ep->wire->several(ep);
		rdm_unlock(&ep->lock);
	}
out:
	rdm_unlock(&cq->poll);
}

/* The busy ones stay in front. */
static void remove_entry(struct rdm_cq *cq, uint32_t i)
{
	if (i < cq->n_busy) {
		cq->eps[i] = cq->eps[--cq->n_busy];
		i = cq->n_busy;
	}
	cq->eps[i] = cq->eps[--cq->n_eps];
}

void rdm_cq_detach(struct rdm_cq *cq, struct rdm_ep *ep)
{
	rdm_lock(&cq->poll);
	for (uint32_t i = 0; i < cq->n_eps; i++) {
		if (cq->eps[i].ep != ep)
			continue;
		remove_entry(cq, i);
		if (ep->rx_cq == cq)
			atomic_fetch_sub(&cq->receivers, 1);
		break;
	}
	if (ep->wire->doorbell && ep->sock >= 0)
		epoll_ctl(cq->epfd, EPOLL_CTL_DEL, ep->sock, NULL);
	rdm_unlock(&cq->poll);
}

bool rdm_cq_listen_to(struct rdm_cq *cq, struct rdm_ep *ep)
{
	struct epoll_event ev = { .events = EPOLLIN };

	ev.data.ptr = ep;
	/* EEXIST: it serves both directions. */
	return !epoll_ctl(cq->epfd, EPOLL_CTL_ADD, ep->sock, &ev) || errno == EEXIST;
}
