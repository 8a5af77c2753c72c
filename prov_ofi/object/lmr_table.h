/* SPDX-License-Identifier: BSD-2-Clause */
/* From a 32-bit memory context to its region in a few instructions.
 *
 * A context is a number of the system's generator, all 32 bits of it, and not 0: on most fabrics
 * it is also the key for peers, which nobody must guess. Its low bits are a place in an array that
 * no other living region of the adapter has: a number whose place is taken is thrown away when a
 * context is chosen. The array grows with the number of regions, and the places then have one bit
 * more.
 *
 * Readers take no lock: regions never move, former arrays stay, and a region answers for a context
 * only while its own `context` equals it.
 */
#ifndef DOFI_LMR_TABLE_H
#define DOFI_LMR_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/dat_version.h"

#define DOFI_LMR_CHUNK_BITS 10
#define DOFI_LMR_CHUNKS 1024u
#define DOFI_LMR_MAX ((DOFI_LMR_CHUNKS << DOFI_LMR_CHUNK_BITS) - 2)
#define DOFI_LMR_NUMBERS 64

struct dofi_lmr;
struct dofi_pz;
struct dofi_window;

struct dofi_region {
	_Atomic uint32_t context;	/* 0: does not answer */
	uint32_t reserved;		/* what it answers, or is to answer, for */
	struct dofi_region *next_free;
	uint64_t base;			/* first address as triplets name it (zero-based: 0) */
	uint64_t length;
	uint64_t bias;			/* real address = address in the triplet + bias */
	DAT_MEM_PRIV_FLAGS priv;
	struct dofi_pz *pz;
	void *desc;			/* libfabric's local descriptor */
	struct dofi_lmr *lmr;		/* whose it is: an LMR's, */
	struct dofi_window *window;	/* or that of an RMR's binding (object/rmr.h) */
};

struct dofi_lmr_slots {
	uint32_t mask;			/* a power of two less 1 */
	struct dofi_lmr_slots *former;	/* half as large */
	_Atomic(struct dofi_region *) slot[];
};

struct dofi_lmr_table {
	_Atomic(struct dofi_lmr_slots *) slots;
	_Atomic uint32_t held;		/* threads between hold and let go */
	pthread_mutex_t lock;
	struct dofi_region *chunk[DOFI_LMR_CHUNKS];
	uint32_t used;			/* regions ever handed out */
	uint32_t live;
	struct dofi_region *free;
	uint32_t numbers_left;
	uint32_t numbers[DOFI_LMR_NUMBERS];
};

static inline struct dofi_region *dofi_region_find(struct dofi_lmr_table *t, uint32_t context)
{
	const struct dofi_lmr_slots *s = atomic_load_explicit(&t->slots, memory_order_acquire);
	struct dofi_region *r = atomic_load_explicit(&s->slot[context & s->mask],
						     memory_order_acquire);

	if (!r || !context)
		return NULL;
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

/* True: the region still answers, and will not be dropped before dofi_region_release, which is
 * called soon and in either case. */
static inline bool dofi_region_hold(struct dofi_lmr_table *t, uint32_t context)
{
	const struct dofi_region *r;

	/* In one order with what dofi_region_remove does: one of the two sees the other. */
	atomic_fetch_add(&t->held, 1);
	r = dofi_region_find(t, context);
	return r && atomic_load(&r->context) == context;
}

static inline void dofi_region_release(struct dofi_lmr_table *t)
{
	atomic_fetch_sub_explicit(&t->held, 1, memory_order_release);
}

void dofi_lmr_table_init(struct dofi_lmr_table *t);
void dofi_lmr_table_free(struct dofi_lmr_table *t);
/* A free region and the context that it will answer for; it does not answer yet. NULL: no memory,
 * no number, or too many regions. */
struct dofi_region *dofi_region_insert(struct dofi_lmr_table *t, uint32_t *context);
/* The region answers from now on. */
void dofi_region_open(struct dofi_region *r, uint32_t context);
/* Is there still a region with this descriptor? Slow: for errors. */
bool dofi_region_has_desc(struct dofi_lmr_table *t, const void *desc);
/* It does not answer any more, nobody holds it, and it may be reused later. */
void dofi_region_remove(struct dofi_lmr_table *t, struct dofi_region *r, uint32_t context);

#endif
