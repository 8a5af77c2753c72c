/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures latency: ping-pong by messages, or by writes that the target polls for. */
#include <errno.h>
#include <stdlib.h>

#include "flow.h"
#include "proc.h"

/* In a ping-pong of writes each side writes the number of the turn. */
static int ping_write(struct perf_side *s, size_t size)
{
	s->tx.slot[0].mem[size - 1] = s->turn;
	return perf_post(s, PERF_WRITE, size, false, false);
}

static int pong_wait(struct perf_side *s, const struct perf_case *c)
{
	bool hands_off = c->mode == PERF_MEMORY && s->layer->own_progress;
	const uint8_t *last = &s->target[c->size - 1];
	struct perf_wait_state p = { 0, 0 };
	int ret = 0;

	while (perf_peek(last) != s->turn) {
		/* reading the queues also drives progress on fabrics with manual progress */
		if (!hands_off)
			ret = s->layer->reap(s->hub, PERF_TX, 1);
		if (!ret)
			ret = perf_wait_check(&p, s->hub, "RDMA write of the peer");
		if (ret < 0)
			return ret;
		ret = 0;
	}
	while (s->tx_done < s->tx_posted) {
		ret = s->layer->reap(s->hub, PERF_TX, 1);
		if (!ret)
			ret = perf_wait_check(&p, s->hub, "own completion");
		if (ret < 0)
			return ret;
	}
	return s->hub->dev->run->plan->validate ? perf_check_turn(s) : 0;
}

static int lat_turn(struct perf_hub *hub, const struct perf_case *c)
{
	struct perf_side *s = perf_next(hub);
	int ret;

	switch (c->op) {
	case PERF_SEND:
	case PERF_IMMED:
		ret = perf_send_one(s, c->op, c->size);
		return ret ? ret : perf_recv_one(hub);
	case PERF_WRITE:
		s->turn++;
		ret = ping_write(s, c->size);
		return ret ? ret : pong_wait(s, c);
	default:
		ret = perf_post(s, c->op, c->size, false, false);
		return ret ? ret : perf_until(hub, PERF_TX, &s->tx_done, s->tx_posted, 1);
	}
}

int perf_initiate_lat(struct perf_hub *hub, const struct perf_case *c, struct perf_figures *f)
{
	double half = perf_fetches(c->op) ? 1000.0 : 2000.0;
	double *us = malloc(sizeof(*us) * (size_t)c->iters);
	uint64_t last = 0, now;
	int ret = us ? 0 : perf_error(-ENOMEM, NULL, "malloc", "%ld samples", c->iters);
	long i;

	for (i = 0; !ret && i < c->warmup + c->iters; i++) {
		if (i == c->warmup)
			last = perf_now();
		ret = lat_turn(hub, c);
		now = perf_now();
		if (i >= c->warmup)
			us[i - c->warmup] = (double)(now - last) / half;
		last = now;
		if (i % 64 == 0)
			perf_beat();
	}
	if (!ret)
		ret = perf_send_all(hub);
	if (!ret)
		ret = perf_recv_all(hub);
	if (!ret)
		perf_latency(f, us, c->iters);
	free(us);
	return ret;
}

static int answer_turn(struct perf_hub *hub, const struct perf_case *c)
{
	struct perf_side *s = perf_next(hub);
	int ret;

	if (perf_takes_receive(c->op)) {
		ret = perf_recv_one(hub);
		return ret ? ret : perf_send_one(s, c->op, c->size);
	}
	s->turn++;
	ret = pong_wait(s, c);
	return ret ? ret : ping_write(s, c->size);
}

int perf_respond_lat(struct perf_hub *hub, const struct perf_case *c)
{
	long i, turns = perf_fetches(c->op) ? 0 : c->warmup + c->iters;
	int ret = 0;

	for (i = 0; !ret && i < turns; i++) {
		ret = answer_turn(hub, c);
		if (i % 64 == 0)
			perf_beat();
	}
	/* no later wait takes the completion of the last write */
	if (!ret)
		ret = perf_until(hub, PERF_TX, &hub->tx_done, hub->tx_posted, 1);
	hub->idle_target = !turns;
	if (!ret)
		ret = perf_recv_all(hub);
	hub->idle_target = false;
	return ret ? ret : perf_send_all(hub);
}

/* One operation from a to b within one thread, including all its completions. */
int perf_loop_iter(struct perf_hub *a, struct perf_hub *b, const struct perf_case *c, long i)
{
	struct perf_wait_state p = { 0, 0 };
	uint8_t mark = (uint8_t)(i + 1);
	const uint8_t *last = &b->side[0]->target[c->size - 1];
	bool receive = perf_takes_receive(c->op);
	uint64_t awaited = b->rx_done + (receive ? 1 : 0);
	int ret = 0;

	/* raw immediate data may consume no receive */
	if (receive && b->side[0]->rx_posted == b->side[0]->rx_done) {
		ret = b->layer->post_recv(b->side[0], b->side[0]->rx.slot);
		b->side[0]->rx_posted++;
	}
	a->side[0]->tx.slot[0].mem[c->size - 1] = mark;
	if (!ret)
		ret = perf_post(a->side[0], c->op, c->size, false, false);
	while (!ret && (a->tx_done < a->tx_posted || b->rx_done < awaited ||
			(c->op == PERF_WRITE && perf_peek(last) != mark))) {
		if (a->tx_done < a->tx_posted)
			ret = a->layer->reap(a, PERF_TX, 1);
		if (ret >= 0 && (!receive || b->rx_done < awaited))
			ret = b->layer->reap(b, PERF_RX, 1);
		if (ret >= 0)
			ret = perf_wait_check(&p, a, "own message");
	}
	return ret < 0 ? ret : 0;
}
