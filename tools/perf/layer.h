/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the operations that DAT and raw libfabric both implement, so that one pattern runs on
 * both.
 */
#ifndef DAT_PERF_LAYER_H
#define DAT_PERF_LAYER_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#include "perf.h"

/* Completions of requests, and of receives; one queue may serve both. */
enum perf_queue { PERF_TX, PERF_RX };

struct perf_layer;
struct perf_hub;
struct perf_side;

/* The state of a process during a run; DAT sets the address and limits of the raw twin. */
struct perf_run {
	const struct perf_plan *plan;
	const char *ia;
	bool one_host;
	char raw_provider[PERF_NAME];
	char addr[INET6_ADDRSTRLEN];
	int read_limit;
	int chan;
};

/* The address of a listener. */
struct perf_listen_addr {
	struct sockaddr_storage addr;
	uint64_t qual;
};

/* The memory that a peer may read and write, and the endpoint's name where nothing connects. */
struct perf_target {
	uint64_t addr;
	uint64_t key;
	uint64_t name_len;
	uint8_t name[128];
};

struct perf_dev {
	const struct perf_layer *layer;
	struct perf_run *run;
	const struct perf_case *c;
};

/*
 * One buffer, and what its completion counts: the side's own counter (or that of the shared
 * receive queue) and the hub's. Without validation all operations of a side share one.
 */
struct perf_slot {
	uint64_t *done;
	uint64_t *total;
	struct perf_hub *hub;
	struct perf_side *side;
	uint8_t *mem;
	uint64_t expect; /* the expected result of an atomic operation */
	enum perf_queue queue;
	bool checked;
};

struct perf_slots {
	struct perf_slot *slot;
	struct perf_slot **spare;
	int spares;
	int n;
};

/*
 * One endpoint and its part of the memory: `tx` is sent from, written from and read into,
 * `rx` takes incoming messages, `target` is written and read by the peer. The counters only
 * grow. `counted` numbers atomic operations and writes with immediate data: the latter carry
 * their number, a fetch and add finds it.
 */
struct perf_side {
	const struct perf_layer *layer;
	struct perf_hub *hub;
	uint64_t tx_posted;
	uint64_t rx_posted;
	uint64_t tx_done;
	uint64_t rx_done;
	struct perf_slots tx;
	struct perf_slots rx;
	uint8_t *target;
	struct perf_target local;
	struct perf_target peer;
	uint64_t wrote;
	uint64_t written;
	uint64_t sent_seq;
	uint64_t heard_seq;
	uint64_t counted;
	uint64_t heard_immed;
	uint8_t turn;
	bool needs_refill; /* in hub->refill */
};

/*
 * Queues, memory and perhaps receives that endpoints share. An idle target may receive nothing
 * while the peer reads and writes: it leaves time limits to the peer and to the parent. `awaited`
 * counts the messages that the pattern has awaited: on a merged queue more may have been reaped
 * (rx_done) during other waits.
 */
struct perf_hub {
	const struct perf_layer *layer;
	struct perf_dev *dev;
	struct perf_side *side[PERF_MAX_EPS];
	struct perf_side *refill[PERF_MAX_EPS]; /* sides with receives to post */
	int sides;
	int refills;
	int next;
	int next_in;
	int shared_depth;
	uint64_t tx_posted;
	uint64_t tx_done;
	uint64_t rx_done;
	uint64_t awaited;
	uint64_t shared_posted;
	uint64_t shared_done;
	struct perf_slots shared_rx;
	uint8_t *mem;
	size_t mem_len;
	size_t stride;
	bool idle_target;
	struct perf_hub *twin; /* the other end, if the same thread drives it */
};

/* One operation: what to do, from or into which buffer, and how far into the peer's memory. */
struct perf_work {
	enum perf_op op;
	size_t len;
	uint64_t offset;
	uint64_t number;
	struct perf_slot *slot;
	bool more;
};

/*
 * All return 0 (or a count) or a negative errno; the function that detects an error prints it.
 * -EOPNOTSUPP of hub_open: the layer does not support the case, which is not a failure.
 */
struct perf_layer {
	const char *name;
	int (*open)(struct perf_run *run, const struct perf_case *c, struct perf_dev **dev);
	int (*close)(struct perf_dev *dev);
	int (*hub_open)(struct perf_dev *dev, struct perf_hub **hub);
	int (*hub_close)(struct perf_hub *hub);
	int (*listen)(struct perf_dev *dev, struct perf_listen_addr *listen_addr);
	int (*side_open)(struct perf_hub *hub, struct perf_side **side);
	int (*connect)(struct perf_side *s, const struct perf_listen_addr *listen_addr);
	int (*accept)(struct perf_side *s);
	int (*established)(struct perf_side *s);
	int (*exchange)(struct perf_side *s);
	int (*disconnect)(struct perf_side *s);
	int (*side_close)(struct perf_side *s);

	/* the measured calls; -EAGAIN of a post: reap and try again */
	int (*post_recv)(struct perf_side *s, struct perf_slot *slot);
	int (*post_shared)(struct perf_hub *hub, struct perf_slot *slot);
	int (*post)(struct perf_side *s, const struct perf_work *w);
	int (*reap)(struct perf_hub *hub, enum perf_queue q, int max);
	int (*wait)(struct perf_hub *hub, enum perf_queue q, int max, int timeout_ms);
	/* blocks until either queue may have a completion */
	int (*wait_any)(struct perf_hub *hub, int timeout_ms);
	/* data moves while no thread calls the layer */
	bool own_progress;
};

extern const struct perf_layer perf_dat_layer;
extern const struct perf_layer perf_raw_layer;
extern const struct perf_layer perf_queue_layer;

/* memory.c: the buffers are laid out in the same way for both layers */
size_t perf_buffer_size(const struct perf_case *c);
int perf_memory_get(struct perf_hub *hub);
void perf_memory_put(struct perf_hub *hub);
int perf_memory_side(struct perf_hub *hub, struct perf_side *s);
void perf_memory_side_put(struct perf_side *s);

/* check.c */
void perf_fill_bytes(uint8_t *mem, size_t len, uint64_t seq, bool may_corrupt);
int perf_check_bytes(const char *layer, const uint8_t *mem, size_t len, uint64_t seq,
		     const char *what);
int perf_check_slot(struct perf_slot *slot, size_t len);
int perf_check_immed(struct perf_side *s, const uint32_t *data);
int perf_check_immed_slot(struct perf_slot *slot, const uint32_t *data);
void perf_fill(struct perf_side *s, const struct perf_work *w, bool closing);
void perf_fill_target(struct perf_side *s);
int perf_check_written(struct perf_hub *hub);
int perf_check_turn(struct perf_side *s);

/* The next refill posts receives on marked sides only: checking thousands of them would take
 * long. */
static inline void perf_mark_refill(struct perf_side *s)
{
	if (s->needs_refill)
		return;
	s->needs_refill = true;
	s->hub->refill[s->hub->refills++] = s;
}

static inline void perf_add_side(struct perf_hub *hub, struct perf_side *s)
{
	hub->side[hub->sides++] = s;
	perf_mark_refill(s);
}

static inline void perf_count_completion(struct perf_slot *slot)
{
	++*slot->done;
	++*slot->total;
	if (slot->queue == PERF_RX && slot->side)
		perf_mark_refill(slot->side);
}

/* Takes one completion of `len` bytes. */
static inline int perf_completed(void *cookie, size_t len)
{
	struct perf_slot *slot = cookie;

	perf_count_completion(slot);
	return slot->checked ? perf_check_slot(slot, len) : 0;
}

/* Counts a receive completed by a write with immediate data; NULL: the data is unknown. */
static inline int perf_completed_immed(void *cookie, const uint32_t *data)
{
	struct perf_slot *slot = cookie;

	perf_count_completion(slot);
	return slot->checked ? perf_check_immed_slot(slot, data) : 0;
}

/* latency.c, stream.c */
int perf_initiate_lat(struct perf_hub *hub, const struct perf_case *c, struct perf_figures *f);
int perf_respond_lat(struct perf_hub *hub, const struct perf_case *c);
int perf_initiate_bw(struct perf_hub *hub, const struct perf_case *c, struct perf_figures *f);
int perf_respond_bw(struct perf_hub *hub, const struct perf_case *c);
int perf_both_ways(struct perf_hub *hub, const struct perf_case *c, struct perf_figures *f);
int perf_loop_iter(struct perf_hub *a, struct perf_hub *b, const struct perf_case *c, long i);

#endif
