/* SPDX-License-Identifier: BSD-2-Clause */
/* In which order are operations posted and completions taken? The same for DAT and raw. */
#include <errno.h>
#include <stdlib.h>

#include "layer.h"
#include "proc.h"

/* Reads of an empty queue between two looks at the clock. */
#define SPIN 1024

struct patience {
	unsigned int empty;
	uint64_t until;
};

/* After an empty read: 0, or -ETIMEDOUT when nothing has come for --timeout. */
static int still_waiting(struct patience *p, struct perf_side *s, const char *what)
{
	int limit = s->dev->run->opts->timeout_ms;
	uint64_t now;

	if (++p->empty % SPIN && s->dev->c->mode == PERF_POLL)
		return 0;
	perf_beat();
	if (s->idle_target)
		return 0;
	now = perf_now();
	if (!p->until)
		p->until = now + (uint64_t)limit * 1000000u;
	if (now < p->until)
		return 0;
	return perf_error(-ETIMEDOUT, s->layer->name, what, "nothing came for %d ms", limit);
}

static int take(struct perf_side *s, enum perf_queue q, int max)
{
	if (s->dev->c->mode == PERF_WAIT)
		return s->layer->wait(s, q, max, s->dev->run->opts->timeout_ms);
	return s->layer->reap(s, q, max);
}

/* Takes completions of queue `q` until `*count` has reached `goal`. */
static inline int until(struct perf_side *s, enum perf_queue q, const uint64_t *count,
			uint64_t goal, int max)
{
	struct patience p = { 0, 0 };
	int ret;

	while (*count < goal) {
		ret = take(s, q, max);
		if (ret > 0)
			continue;
		if (!ret)
			ret = still_waiting(&p, s, q == PERF_TX ? "own completion" : "message");
		if (ret)
			return ret;
	}
	return 0;
}

static inline int post(struct perf_side *s, enum perf_op op, size_t len, bool more)
{
	struct patience p = { 0, 0 };
	int ret;

	while ((ret = s->layer->post(s, op, len, more)) == -EAGAIN) {
		ret = s->layer->reap(s, PERF_TX, s->dev->c->window);
		if (!ret)
			ret = still_waiting(&p, s, "room in the send queue");
		if (ret < 0)
			return ret;
	}
	if (!ret)
		s->tx_posted++;
	return ret;
}

static inline int post_recv(struct perf_side *s)
{
	int ret = s->layer->post_recv(s);

	if (!ret)
		s->rx_posted++;
	return ret;
}

int perf_refill(struct perf_side *s)
{
	uint64_t want = s->rx_done + (uint64_t)s->dev->c->recv_depth;
	int ret = 0;

	while (!ret && s->rx_posted < want)
		ret = post_recv(s);
	return ret;
}

/* One message of ours, one of the peer's, in either order. */
static int say(struct perf_side *s, size_t len)
{
	int ret = post(s, PERF_SEND, len, false);

	return ret ? ret : until(s, PERF_TX, &s->tx_done, s->tx_posted, 1);
}

static int hear(struct perf_side *s)
{
	int ret = until(s, PERF_RX, &s->rx_done, s->rx_done + 1, 1);

	return ret ? ret : post_recv(s);
}

/* Both sides count turns of a ping-pong of writes alike; each writes the number of the turn. */
static int write_own(struct perf_side *s, size_t size)
{
	s->tx[size - 1] = s->turn;
	return post(s, PERF_WRITE, size, false);
}

/* The peer writes here like a device: no lock of this process orders that. */
__attribute__((no_sanitize("thread"))) static inline uint8_t peek(const uint8_t *at)
{
	return *(const volatile uint8_t *)at;
}

static int see_peers(struct perf_side *s, size_t size)
{
	const uint8_t *last = &s->rx[size - 1];
	struct patience p = { 0, 0 };
	int ret;

	/* the reads also move data on fabrics without progress of their own */
	while (peek(last) != s->turn || s->tx_done < s->tx_posted) {
		ret = s->layer->reap(s, PERF_TX, 1);
		if (!ret)
			ret = still_waiting(&p, s, "RDMA write of the peer");
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int lat_turn(struct perf_side *s, const struct perf_case *c)
{
	int ret;

	switch (c->op) {
	case PERF_SEND:
		ret = say(s, c->size);
		return ret ? ret : hear(s);
	case PERF_WRITE:
		s->turn++;
		ret = write_own(s, c->size);
		return ret ? ret : see_peers(s, c->size);
	default:
		ret = post(s, PERF_READ, c->size, false);
		return ret ? ret : until(s, PERF_TX, &s->tx_done, s->tx_posted, 1);
	}
}

/*
 * Ends every test: the answer tells that the peer has everything that was posted before,
 * and both make progress until nothing is under way.
 */
static int closing(struct perf_side *s)
{
	int ret = say(s, 1);

	return ret ? ret : hear(s);
}

static int initiate_lat(struct perf_side *s, const struct perf_case *c, struct perf_figures *f)
{
	double half = c->op == PERF_READ ? 1000.0 : 2000.0;
	double *us = malloc(sizeof(*us) * (size_t)c->iters);
	uint64_t last = 0, now;
	int ret = us ? 0 : perf_error(-ENOMEM, NULL, "malloc", "%ld samples", c->iters);
	long i;

	for (i = 0; !ret && i < c->warmup + c->iters; i++) {
		if (i == c->warmup)
			last = perf_now();
		ret = lat_turn(s, c);
		now = perf_now();
		if (i >= c->warmup)
			us[i - c->warmup] = (double)(now - last) / half;
		last = now;
		if (i % 64 == 0)
			perf_beat();
	}
	if (!ret)
		ret = closing(s);
	if (!ret)
		perf_latency(f, us, c->iters);
	free(us);
	return ret;
}

/* Posts as much as the window allows; in bursts only when it is empty. */
static int fill_window(struct perf_side *s, const struct perf_case *c, uint64_t end)
{
	const struct perf_opts *o = s->dev->run->opts;
	int reads = s->dev->run->read_limit;
	int window = c->op == PERF_READ && reads < c->window ? reads : c->window;
	uint64_t limit = s->tx_done + (uint64_t)window;
	int ret = 0;

	if (o->burst && s->tx_posted > s->tx_done)
		return 0;
	if (limit > end)
		limit = end;
	while (!ret && s->tx_posted < limit)
		ret = post(s, c->op, c->size, o->burst && s->tx_posted + 1 < limit);
	return ret;
}

/* Keeps the window filled until `count` operations have reached the peer. */
static int stream(struct perf_side *s, const struct perf_case *c, long count)
{
	uint64_t end = s->tx_done + (uint64_t)count;
	int ret = 0;

	while (!ret && s->tx_done < end) {
		ret = fill_window(s, c, end);
		if (!ret)
			ret = until(s, PERF_TX, &s->tx_done, s->tx_done + 1, c->window);
		perf_beat();
	}
	return ret ? ret : closing(s);
}

static int initiate_bw(struct perf_side *s, const struct perf_case *c, struct perf_figures *f)
{
	uint64_t start;
	double seconds;
	int ret = c->warmup ? stream(s, c, c->warmup) : 0;

	start = perf_now();
	if (!ret)
		ret = stream(s, c, c->iters);
	if (ret)
		return ret;
	seconds = (double)(perf_now() - start) / 1e9;
	f->rate = (double)c->iters / seconds;
	f->mbps = f->rate * (double)c->size / 1e6;
	return 0;
}

int perf_initiate(struct perf_side *s, const struct perf_case *c, struct perf_figures *f)
{
	perf_figures_none(f);
	return c->test == PERF_LAT ? initiate_lat(s, c, f) : initiate_bw(s, c, f);
}

static int respond_lat(struct perf_side *s, const struct perf_case *c)
{
	int ret = 0;
	long i;

	for (i = 0; !ret && i < c->warmup + c->iters; i++) {
		if (c->op == PERF_SEND) {
			ret = hear(s);
			if (!ret)
				ret = say(s, c->size);
		} else {
			s->turn++;
			ret = see_peers(s, c->size);
			if (!ret)
				ret = write_own(s, c->size);
		}
		if (i % 64 == 0)
			perf_beat();
	}
	/* the last write has no successor whose wait would take its completion */
	if (!ret)
		ret = until(s, PERF_TX, &s->tx_done, s->tx_posted, 1);
	if (!ret)
		ret = hear(s);
	return ret ? ret : say(s, 1);
}

/* Takes `count` messages and the closing one, and answers that. */
static int sink(struct perf_side *s, long count)
{
	uint64_t goal = s->rx_done + (uint64_t)count + 1;
	int ret = 0;

	s->idle_target = !count;
	while (!ret && s->rx_done < goal) {
		ret = until(s, PERF_RX, &s->rx_done, s->rx_done + 1, s->dev->c->recv_depth);
		if (!ret)
			ret = perf_refill(s);
		perf_beat();
	}
	s->idle_target = false;
	return ret ? ret : say(s, 1);
}

int perf_respond(struct perf_side *s, const struct perf_case *c)
{
	bool takes = c->op == PERF_SEND;
	int ret = 0;

	if (c->test == PERF_LAT)
		return c->op == PERF_READ ? sink(s, 0) : respond_lat(s, c);
	if (c->warmup)
		ret = sink(s, takes ? c->warmup : 0);
	return ret ? ret : sink(s, takes ? c->iters : 0);
}

/* One operation from a to b within one thread, with every completion that it has. */
int perf_loop_iter(struct perf_side *a, struct perf_side *b, const struct perf_case *c, long i)
{
	struct patience p = { 0, 0 };
	uint8_t mark = (uint8_t)(i + 1);
	const uint8_t *last = &b->rx[c->size - 1];
	uint64_t heard = b->rx_done + (c->op == PERF_SEND ? 1 : 0);
	int ret;

	ret = c->op == PERF_SEND ? post_recv(b) : 0;
	a->tx[c->size - 1] = mark;
	if (!ret)
		ret = post(a, c->op, c->size, false);
	while (!ret && (a->tx_done < a->tx_posted || b->rx_done < heard ||
			(c->op == PERF_WRITE && peek(last) != mark))) {
		if (a->tx_done < a->tx_posted)
			ret = a->layer->reap(a, PERF_TX, 1);
		if (ret >= 0 && (c->op != PERF_SEND || b->rx_done < heard))
			ret = b->layer->reap(b, PERF_RX, 1);
		if (ret >= 0)
			ret = still_waiting(&p, a, "own message");
	}
	return ret < 0 ? ret : 0;
}
