/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the steps that all test patterns consist of. */
#ifndef DAT_PERF_FLOW_H
#define DAT_PERF_FLOW_H

#include "layer.h"

/* Reads of an empty queue between two checks of the clock. */
#define PERF_SPIN 1024

struct perf_wait_state {
	unsigned int empty;
	uint64_t until;
};

/* Fails if nothing has completed for --timeout, unless unlimited, or the peer has ended. */
int perf_wait_limit(struct perf_wait_state *p, const struct perf_run *run, const char *layer,
		    const char *what, bool unlimited);

/* The slow path of perf_wait_check. */
int perf_wait_slow(struct perf_wait_state *p, struct perf_hub *hub, const char *what);

/*
 * After an empty read: 0, or an error if nothing has completed for --timeout or the peer has
 * ended.
 */
static inline int perf_wait_check(struct perf_wait_state *p, struct perf_hub *hub, const char *what)
{
	enum perf_mode mode = hub->dev->c->mode;

	if (++p->empty % PERF_SPIN && (mode == PERF_POLL || mode == PERF_MEMORY))
		return 0;
	return perf_wait_slow(p, hub, what);
}

static inline int perf_reap(struct perf_hub *hub, enum perf_queue q, int max)
{
	int limit, n;

	if (hub->dev->c->mode == PERF_POLL || hub->dev->c->mode == PERF_MEMORY)
		return hub->layer->reap(hub, q, max);
	limit = (int)hub->dev->run->plan->timeout_ms;
	if (hub->dev->c->mode == PERF_WAIT)
		return hub->layer->wait(hub, q, max, limit);
	n = hub->layer->reap(hub, q, max);
	if (n)
		return n;
	n = hub->layer->wait_any(hub, limit);
	return n < 0 ? n : hub->layer->reap(hub, q, max);
}

/* Takes completions of queue `q` until `*count` has reached `goal`. */
static inline int perf_until(struct perf_hub *hub, enum perf_queue q, const uint64_t *count,
			     uint64_t goal, int max)
{
	struct perf_wait_state p = { 0, 0 };
	int ret;

	while (*count < goal) {
		ret = perf_reap(hub, q, max);
		if (ret > 0)
			continue;
		if (!ret)
			ret = perf_wait_check(&p, hub, q == PERF_TX ? "own completion" : "message");
		if (ret)
			return ret;
	}
	return 0;
}

int perf_post(struct perf_side *s, enum perf_op op, size_t len, bool more, bool closing);
int perf_refill(struct perf_hub *hub);

/* Send one message; await one message of the peer. */
int perf_send_one(struct perf_side *s, enum perf_op op, size_t len);
int perf_recv_one(struct perf_hub *hub);

/* Send a closing message on each endpoint; await those of the peer. */
int perf_send_all(struct perf_hub *hub);
int perf_recv_all(struct perf_hub *hub);

/* The next endpoint in turn; both processes count alike. */
static inline struct perf_side *perf_next(struct perf_hub *hub)
{
	struct perf_side *s = hub->side[hub->next];

	if (++hub->next == hub->sides)
		hub->next = 0;
	return s;
}

/* The peer writes here as a device would: no lock of this process orders that access. */
__attribute__((no_sanitize("thread"))) static inline uint8_t perf_peek(const uint8_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

#endif
