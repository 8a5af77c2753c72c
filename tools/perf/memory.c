/* SPDX-License-Identifier: BSD-2-Clause */
/* Lays out the memory of the endpoints. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layer.h"
#include "proc.h"

/* The minimum of a buffer, which also holds the closing message of one byte. */
#define CACHE_LINE 64
#define MAX_MEMORY ((size_t)8 << 30)

/* The size of a buffer: whole cache lines. */
size_t perf_buffer_size(const struct perf_case *c)
{
	return c->size < CACHE_LINE ? CACHE_LINE
				    : (c->size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* Up to this number of sides, their parts are page-aligned, as buffers of a program would be; with
 * more, they are aligned to cache lines, so that the memory is little more than the messages
 * need. */
#define MAX_PAGED_SIDES 256

struct layout {
	size_t tx;
	size_t rx;
	size_t target;
	size_t shared;
	int tx_slots;
	int rx_slots;
	int shared_slots;
};

static size_t aligned(size_t len, size_t to)
{
	return (len + to - 1) / to * to;
}

static void lay_out(struct layout *l, const struct perf_hub *hub)
{
	const struct perf_case *c = hub->dev->c;
	bool validate = hub->dev->run->plan->validate;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t unit = c->eps > MAX_PAGED_SIDES ? CACHE_LINE : page;

	memset(l, 0, sizeof(*l));
	l->tx_slots = validate ? c->window : 1;
	l->rx_slots = validate && !hub->shared_depth ? c->recv_depth : 1;
	l->shared_slots = !hub->shared_depth ? 0 : validate ? hub->shared_depth : 1;
	l->tx = aligned((size_t)l->tx_slots * hub->stride, unit);
	l->rx = aligned((size_t)l->rx_slots * hub->stride, unit);
	l->target = validate ? aligned((size_t)c->window * hub->stride, unit) : 0;
	l->shared = aligned((size_t)l->shared_slots * hub->stride, page);
}

static int slots_get(struct perf_slots *slots, int n, struct perf_slot model, size_t stride)
{
	int i;

	slots->slot = calloc((size_t)n, sizeof(*slots->slot));
	slots->spare = calloc((size_t)n, sizeof(*slots->spare));
	if (!slots->slot || !slots->spare)
		return perf_error(-ENOMEM, NULL, "calloc", "out of memory");
	slots->n = n;
	for (i = 0; i < n; i++) {
		slots->slot[i] = model;
		slots->slot[i].mem = model.mem + (size_t)i * stride;
		slots->spare[slots->spares++] = &slots->slot[i];
	}
	return 0;
}

static void slots_put(struct perf_slots *slots)
{
	free(slots->slot);
	free(slots->spare);
	memset(slots, 0, sizeof(*slots));
}

/* Allocates the memory of all endpoints of the case; `shared_depth` is set before. */
int perf_memory_get(struct perf_hub *hub)
{
	const struct perf_case *c = hub->dev->c;
	struct layout l;
	uint8_t *mem;

	hub->stride = perf_buffer_size(c);
	lay_out(&l, hub);
	hub->mem_len = l.shared + (size_t)c->eps * (l.tx + l.rx + l.target);
	if (hub->mem_len > MAX_MEMORY)
		return perf_error(-E2BIG, NULL, "memory",
				  "needs %zu MiB: use fewer "
				  "endpoints, a smaller window or smaller messages",
				  hub->mem_len >> 20);
	mem = mmap(NULL, hub->mem_len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (mem == MAP_FAILED)
		return perf_error(-errno, NULL, "mmap", "%zu bytes: %s", hub->mem_len,
				  strerror(errno));
	hub->mem = mem;
	if (!hub->shared_depth)
		return 0;
	return slots_get(&hub->shared_rx, l.shared_slots,
			 (struct perf_slot){
				 .done = &hub->shared_done,
				 .total = &hub->rx_done,
				 .hub = hub,
				 .mem = mem,
				 .queue = PERF_RX,
				 .checked = hub->dev->run->plan->validate,
			 },
			 hub->stride);
}

void perf_memory_put(struct perf_hub *hub)
{
	if (hub->mem)
		munmap(hub->mem, hub->mem_len);
	hub->mem = NULL;
	slots_put(&hub->shared_rx);
}

/* Assigns the part of the new endpoint, number `sides`. */
int perf_memory_side(struct perf_hub *hub, struct perf_side *s)
{
	bool validate = hub->dev->run->plan->validate;
	struct layout l;
	uint8_t *mem;
	int ret;

	lay_out(&l, hub);
	mem = hub->mem + l.shared + (size_t)hub->sides * (l.tx + l.rx + l.target);
	s->target = validate ? mem + l.tx + l.rx : mem + l.tx;
	s->local.addr = (uintptr_t)s->target;
	ret = slots_get(&s->tx, l.tx_slots,
			(struct perf_slot){
				.done = &s->tx_done,
				.total = &hub->tx_done,
				.hub = hub,
				.side = s,
				.mem = mem,
				.queue = PERF_TX,
			},
			hub->stride);
	if (ret)
		return ret;
	ret = slots_get(&s->rx, l.rx_slots,
			(struct perf_slot){
				.done = &s->rx_done,
				.total = &hub->rx_done,
				.hub = hub,
				.side = s,
				.mem = mem + l.tx,
				.queue = PERF_RX,
				.checked = validate,
			},
			hub->stride);
	if (!ret && validate)
		perf_fill_target(s);
	return ret;
}

void perf_memory_side_put(struct perf_side *s)
{
	slots_put(&s->tx);
	slots_put(&s->rx);
}
