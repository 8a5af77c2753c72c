/* SPDX-License-Identifier: BSD-2-Clause */
/* Which operations must DAT and raw libfabric offer so that one pattern runs on both? */
#ifndef DAT_PERF_LAYER_H
#define DAT_PERF_LAYER_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#include "perf.h"

/* Completions of what this side started, and of its receives; one queue may be both. */
enum perf_queue { PERF_TX, PERF_RX };

struct perf_layer;

/* What a process knows during a run; DAT tells the raw twin which address and limit to use. */
struct perf_run {
	const struct perf_opts *opts;
	char addr[INET6_ADDRSTRLEN];
	int read_limit;
};

/* Where a listener can be reached, as it travels over the side channel. */
struct perf_where {
	struct sockaddr_storage addr;
	uint64_t len;
	uint64_t qual;
};

/* The memory that a peer may read and write. */
struct perf_target {
	uint64_t addr;
	uint64_t key;
};

struct perf_dev {
	const struct perf_layer *layer;
	struct perf_run *run;
	const struct perf_case *c;
};

/*
 * One endpoint with its queues and its memory: `tx` is sent from, written from and read
 * into, `rx` takes incoming messages and writes and is read by the peer. The counters
 * only grow. An idle target may hear nothing for as long as the peer reads and writes: it
 * leaves time limits to the peer and to the parent.
 */
struct perf_side {
	const struct perf_layer *layer;
	struct perf_dev *dev;
	uint64_t tx_posted;
	uint64_t rx_posted;
	uint64_t tx_done;
	uint64_t rx_done;
	uint8_t *tx;
	uint8_t *rx;
	size_t mem_len;
	size_t rx_len;
	struct perf_target local;
	struct perf_target peer;
	bool idle_target;
	uint8_t turn;
};

/* All return 0 (or a count) or a negative errno; the first detector prints the reason. */
struct perf_layer {
	const char *name;
	int (*open)(struct perf_run *run, const struct perf_case *c, struct perf_dev **dev);
	int (*close)(struct perf_dev *dev);
	int (*listen)(struct perf_dev *dev, struct perf_where *where);
	int (*side_open)(struct perf_dev *dev, struct perf_side **side);
	int (*connect)(struct perf_side *s, const struct perf_where *where);
	int (*accept)(struct perf_side *s);
	int (*established)(struct perf_side *s);
	int (*disconnect)(struct perf_side *s);
	int (*side_close)(struct perf_side *s);

	/* the measured calls; -EAGAIN of a post: reap and try again */
	int (*post_recv)(struct perf_side *s);
	int (*post)(struct perf_side *s, enum perf_op op, size_t len, bool more);
	int (*reap)(struct perf_side *s, enum perf_queue q, int max);
	int (*wait)(struct perf_side *s, enum perf_queue q, int max, int timeout_ms);
};

extern const struct perf_layer perf_dat_layer;
extern const struct perf_layer perf_raw_layer;

/* memory.c: the buffers are laid out in the same way for both layers */
int perf_memory_get(struct perf_side *s, size_t size);
void perf_memory_put(struct perf_side *s);

/* pattern.c */
int perf_refill(struct perf_side *s);
int perf_initiate(struct perf_side *s, const struct perf_case *c, struct perf_figures *f);
int perf_respond(struct perf_side *s, const struct perf_case *c);
int perf_loop_iter(struct perf_side *a, struct perf_side *b, const struct perf_case *c, long i);

#endif
