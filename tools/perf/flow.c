/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts operations, keeps receives posted and exchanges messages, with time limits. */
#include <errno.h>
#include <poll.h>

#include "flow.h"
#include "proc.h"

static bool peer_is_gone(const struct perf_run *run)
{
	struct pollfd pfd = { .fd = run->chan, .events = POLLRDHUP };

	return run->chan >= 0 && poll(&pfd, 1, 0) > 0 &&
	       pfd.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

int perf_wait_limit(struct perf_wait_state *p, const struct perf_run *run, const char *layer,
		    const char *what, bool unlimited)
{
	int limit = (int)run->plan->timeout_ms;
	uint64_t now = perf_now();

	perf_beat();
	if (peer_is_gone(run))
		return perf_error(-EPIPE, layer, what, "the peer process has ended");
	if (unlimited)
		return 0;
	if (!p->until)
		p->until = now + (uint64_t)limit * 1000000u;
	if (now < p->until)
		return 0;
	return perf_error(-ETIMEDOUT, layer, what, "no completion for %d ms", limit);
}

int perf_wait_slow(struct perf_wait_state *p, struct perf_hub *hub, const char *what)
{
	return perf_wait_limit(p, hub->dev->run, hub->layer->name, what, hub->idle_target);
}

/* Chooses the buffer: with validation, each outstanding operation has its own. */
static void choose_slot(struct perf_side *s, struct perf_work *w, bool closing)
{
	uint64_t k;

	if (s->tx.n == 1) {
		w->slot = s->tx.slot;
	} else {
		k = w->op == PERF_SEND ? s->sent_seq : s->wrote;
		w->slot = &s->tx.slot[k % (uint64_t)s->tx.n];
		if (w->op != PERF_SEND && !perf_atomic(w->op))
			w->offset = k % (uint64_t)s->tx.n * s->hub->stride;
	}
	if (s->hub->dev->run->plan->validate)
		perf_fill(s, w, closing);
}

int perf_post(struct perf_side *s, enum perf_op op, size_t len, bool more, bool closing)
{
	struct perf_work w = { .op = op, .len = len, .more = more };
	struct perf_hub *hub = s->hub;
	struct perf_wait_state p = { 0, 0 };
	int ret;

	if (op == PERF_IMMED || perf_atomic(op))
		w.number = s->counted++;
	choose_slot(s, &w, closing);
	while ((ret = s->layer->post(s, &w)) == -EAGAIN) {
		ret = s->layer->reap(hub, PERF_TX, hub->dev->c->window);
		if (!ret && hub->twin)
			ret = s->layer->reap(hub->twin, PERF_RX, 1);
		if (!ret)
			ret = perf_wait_check(&p, hub, "space in the send queue");
		if (ret < 0)
			return ret;
	}
	if (!ret) {
		s->tx_posted++;
		hub->tx_posted++;
	}
	return ret;
}

static inline struct perf_slot *free_slot(struct perf_slots *slots)
{
	return slots->n == 1 ? slots->slot : slots->spare[--slots->spares];
}

static int refill_shared(struct perf_hub *hub)
{
	uint64_t want = hub->shared_done + (uint64_t)hub->shared_depth;
	int ret = 0;

	while (!ret && hub->shared_posted < want) {
		ret = hub->layer->post_shared(hub, free_slot(&hub->shared_rx));
		if (!ret)
			hub->shared_posted++;
	}
	return ret;
}

static inline int refill_side(struct perf_side *s, uint64_t depth)
{
	int ret = 0;

	while (!ret && s->rx_posted < s->rx_done + depth) {
		ret = s->layer->post_recv(s, free_slot(&s->rx));
		if (!ret)
			s->rx_posted++;
	}
	return ret;
}

int perf_refill(struct perf_hub *hub)
{
	uint64_t depth = (uint64_t)hub->dev->c->recv_depth;
	struct perf_side *s;
	int ret = 0;

	if (hub->shared_depth)
		return refill_shared(hub);
	while (!ret && hub->refills) {
		s = hub->refill[--hub->refills];
		s->needs_refill = false;
		ret = refill_side(s, depth);
	}
	return ret;
}

int perf_send_one(struct perf_side *s, enum perf_op op, size_t len)
{
	int ret = perf_post(s, op, len, false, false);

	return ret ? ret : perf_until(s->hub, PERF_TX, &s->tx_done, s->tx_posted, 1);
}

int perf_recv_one(struct perf_hub *hub)
{
	int ret = perf_until(hub, PERF_RX, &hub->rx_done, ++hub->awaited, 1);

	return ret ? ret : perf_refill(hub);
}

int perf_send_all(struct perf_hub *hub)
{
	int i, ret = 0;

	for (i = 0; !ret && i < hub->sides; i++)
		ret = perf_post(hub->side[i], PERF_SEND, 1, false, true);
	return ret ? ret : perf_until(hub, PERF_TX, &hub->tx_done, hub->tx_posted, 1);
}

int perf_recv_all(struct perf_hub *hub)
{
	int i, ret = 0;

	for (i = 0; !ret && i < hub->sides; i++)
		ret = perf_recv_one(hub);
	return ret;
}
