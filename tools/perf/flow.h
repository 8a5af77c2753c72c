/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps that all patterns are made of. */
#ifndef DAT_PERF_FLOW_H
#define DAT_PERF_FLOW_H

#include "layer.h"

/* Reads of an empty queue between two looks at the clock. */
#define PERF_SPIN 1024

struct perf_patience {
	unsigned int empty;
	uint64_t until;
};

/* The slow part of perf_still_waiting. */
int perf_look_up(struct perf_patience *p, struct perf_hub *hub, const char *what);

/* After an empty read: 0, or an error when nothing has come for --timeout, or the peer went. */
static inline int perf_still_waiting(struct perf_patience *p, struct perf_hub *hub,
				     const char *what)
{
	enum perf_mode mode = hub->dev->c->mode;

	if (++p->empty % PERF_SPIN && (mode == PERF_POLL || mode == PERF_MEMORY))
		return 0;
	return perf_look_up(p, hub, what);
}

static inline int perf_take(struct perf_hub *hub, enum perf_queue q, int max)
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
	struct perf_patience p = { 0, 0 };
	int ret;

	while (*count < goal) {
		ret = perf_take(hub, q, max);
		if (ret > 0)
			continue;
		if (!ret)
			ret = perf_still_waiting(&p, hub,
						 q == PERF_TX ? "own completion" : "message");
		if (ret)
			return ret;
	}
	return 0;
}

int perf_post(struct perf_side *s, enum perf_op op, size_t len, bool more, bool closing);
int perf_refill(struct perf_hub *hub);

/* One message of ours, one of the peer's, in either order. */
int perf_say(struct perf_side *s, enum perf_op op, size_t len);
int perf_hear(struct perf_hub *hub);

/* One last message for each endpoint; the peer's ones. */
int perf_say_all(struct perf_hub *hub);
int perf_hear_all(struct perf_hub *hub);

/* The endpoint whose turn it is; both processes count alike. */
static inline struct perf_side *perf_next(struct perf_hub *hub)
{
	struct perf_side *s = hub->side[hub->next];

	if (++hub->next == hub->sides)
		hub->next = 0;
	return s;
}

/* The peer writes here like a device: no lock of this process orders that. */
__attribute__((no_sanitize("thread"))) static inline uint8_t perf_peek(const uint8_t *at)
{
	return *(const volatile uint8_t *)at;
}

#endif
