/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures two connections on two event queues: each side in turn writes on B, reads the queue of
 * B until that has completed, and then reads only the queue of A and the memory that the peer
 * writes.
 */
#include <errno.h>
#include <stdlib.h>

#include "proc.h"
#include "transport.h"

static int turn_write(struct perf_transport *t, uint8_t turn)
{
	size_t last = t->c->size - 1;
	struct perf_wait_state p = { 0, 0 };
	int ret;

	if (t->run->plan->validate)
		perf_fill_bytes(t->source, last, turn, true);
	t->source[last] = turn;
	ret = t->ops->write(t);
	while (!ret) {
		ret = t->ops->written(t);
		if (ret)
			break;
		ret = perf_transport_wait(&p, t, "own completion");
	}
	return ret < 0 ? ret : 0;
}

static int turn_await(struct perf_transport *t, uint8_t turn)
{
	size_t last = t->c->size - 1;
	struct perf_wait_state p = { 0, 0 };
	int ret = 0;

	while (!ret && perf_peek(&t->target[last]) != turn) {
		ret = t->ops->look(t);
		if (!ret)
			ret = perf_transport_wait(&p, t, "RDMA write of the peer");
	}
	if (ret || !t->run->plan->validate)
		return ret;
	return perf_check_bytes(t->ops->name, t->target, last, turn, "write");
}

int perf_pattern_queues(struct perf_transport *t, struct perf_figures *f)
{
	const struct perf_case *c = t->c;
	double *us = malloc(sizeof(*us) * (size_t)c->iters);
	int ret = us ? 0 : perf_error(-ENOMEM, NULL, "malloc", "%ld samples", c->iters);
	bool first = t->role == PERF_CLIENT;
	uint64_t last = 0, now;
	uint8_t turn = 0;
	long i;

	for (i = 0; !ret && i < c->warmup + c->iters; i++) {
		if (i == c->warmup)
			last = perf_now();
		turn++;
		ret = first ? turn_write(t, turn) : turn_await(t, turn);
		if (!ret)
			ret = first ? turn_await(t, turn) : turn_write(t, turn);
		now = perf_now();
		if (i >= c->warmup)
			us[i - c->warmup] = (double)(now - last) / 2000.0;
		last = now;
		if (i % 64 == 0)
			perf_beat();
	}
	if (!ret)
		perf_latency(f, us, c->iters);
	free(us);
	return ret;
}
