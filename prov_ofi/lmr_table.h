/* SPDX-License-Identifier: BSD-2-Clause */
/* From a 32-bit memory context to its region in a few instructions.
 *
 * A context is index + generation: bits 0..19 the index (from 1, so that no context is 0),
 * bits 20..31 the generation, which changes with each reuse of the index. Readers take no lock:
 * entries never move, and an entry answers for a context only while `context` equals it.
 */
#ifndef DOFI_LMR_TABLE_H
#define DOFI_LMR_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dofi_api.h"

#define DOFI_LMR_INDEX_BITS 20
#define DOFI_LMR_CHUNK_BITS 10
#define DOFI_LMR_CHUNKS (1u << (DOFI_LMR_INDEX_BITS - DOFI_LMR_CHUNK_BITS))
#define DOFI_LMR_MAX ((1u << DOFI_LMR_INDEX_BITS) - 2)

struct dofi_lmr;
struct dofi_pz;
struct dofi_window;

struct dofi_region {
	_Atomic uint32_t context;	/* 0: free */
	uint32_t next_free;
	uint64_t base;			/* first address as triplets name it (zero-based: 0) */
	uint64_t length;
	uint64_t bias;			/* real address = address in the triplet + bias */
	DAT_MEM_PRIV_FLAGS priv;
	struct dofi_pz *pz;
	void *desc;			/* libfabric's local descriptor */
	struct dofi_lmr *lmr;		/* whose it is: an LMR's, */
	struct dofi_window *window;	/* or that of an RMR's binding (rmr.h) */
};

struct dofi_lmr_table {
	pthread_mutex_t lock;
	_Atomic(struct dofi_region *) chunk[DOFI_LMR_CHUNKS];
	uint32_t used;			/* indices ever handed out */
	uint32_t free_head, free_tail;	/* first freed, first reused; 0: none */
	uint32_t live;
	_Atomic uint32_t held;		/* threads between hold and let go */
};

static inline struct dofi_region *dofi_region_find(struct dofi_lmr_table *t, uint32_t context)
{
	uint32_t index = context & ((1u << DOFI_LMR_INDEX_BITS) - 1);
	struct dofi_region *chunk = atomic_load_explicit(&t->chunk[index >> DOFI_LMR_CHUNK_BITS],
							 memory_order_acquire);
	struct dofi_region *r;

	if (!chunk || !context)
		return NULL;
	r = &chunk[index & ((1u << DOFI_LMR_CHUNK_BITS) - 1)];
	if (atomic_load_explicit(&r->context, memory_order_acquire) != context)
		return NULL;
	return r;
}

/* Does all of it lie in the region? The address is as triplets name it. */
static inline bool dofi_region_covers(const struct dofi_region *r, uint64_t address, uint64_t len)
{
	uint64_t offset = address - r->base;

	return offset <= r->length && len <= r->length - offset;
}

/* True: the region still answers, and will not be dropped before dofi_region_let_go, which is
 * called soon and in either case. */
static inline bool dofi_region_hold(struct dofi_lmr_table *t, uint32_t context)
{
	const struct dofi_region *r;

	/* In one order with what dofi_region_drop does: one of the two sees the other. */
	atomic_fetch_add(&t->held, 1);
	r = dofi_region_find(t, context);
	return r && atomic_load(&r->context) == context;
}

static inline void dofi_region_let_go(struct dofi_lmr_table *t)
{
	atomic_fetch_sub_explicit(&t->held, 1, memory_order_release);
}

void dofi_lmr_table_init(struct dofi_lmr_table *t);
void dofi_lmr_table_free(struct dofi_lmr_table *t);
/* A free entry and the context that it will answer for; it does not answer yet. */
struct dofi_region *dofi_region_take(struct dofi_lmr_table *t, uint32_t *context);
/* The entry answers from now on. */
void dofi_region_open(struct dofi_region *r, uint32_t context);
/* Is there still a region with this descriptor? Slow: for errors. */
bool dofi_region_has_desc(struct dofi_lmr_table *t, const void *desc);
/* It does not answer any more, nobody holds it, and it may be reused later. */
void dofi_region_drop(struct dofi_lmr_table *t, struct dofi_region *r, uint32_t context);

#endif
