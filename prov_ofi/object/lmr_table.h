/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps a 32-bit memory context to its region in a few instructions.
 *
 * A context is a nonzero 32-bit random number of the system: on most fabrics it is also the remote
 * key, which must not be predictable. Its low bits index a slot of an array that no other live
 * region of the IA uses: numbers whose slot is in use are discarded when a context is chosen. When
 * the array doubles, the index has one bit more.
 *
 * Readers take no lock: regions never move, former arrays are kept, and a context is valid only
 * while it equals `context` of the region found. Regions that are not valid, and slots without a
 * region, have a context that differs in bit 0 from all that lead there, so that one comparison
 * suffices.
 *
 * A region may be removed, and its memory be used for another one, while a post reads it. Its
 * atomic members are written by DOFI_REGION_SET while its context is not valid (`priv` also while
 * it is), and read by DOFI_REGION_GET. A reader that finds the context valid afterwards has read
 * members of one region: if one were of a later region, the context would be seen to have ended,
 * and those of an earlier one were replaced before the program got the context.
 */
#ifndef DOFI_LMR_TABLE_H
#define DOFI_LMR_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/dat_version.h"
#include "base/inline.h"
#include "base/lock.h"

#define DOFI_LMR_CHUNK_BITS 10
#define DOFI_LMR_CHUNKS 1024u
#define DOFI_LMR_MAX ((DOFI_LMR_CHUNKS << DOFI_LMR_CHUNK_BITS) - 2)
#define DOFI_LMR_NUMBERS 64

/* Local write implies local read: programs send from memory registered for writing only. */
#define DOFI_READABLE (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)

struct dofi_lmr;
struct dofi_pz;
struct dofi_window;

struct dofi_region {
	_Atomic uint32_t context; /* the complement of `reserved`: not valid */
	uint32_t reserved;        /* its context, also before the region is opened */
	struct dofi_region *next_free;
	_Atomic uint64_t base; /* first address in triplets (zero-based: 0) */
	_Atomic uint64_t length;
	_Atomic uint64_t bias; /* real address = address in the triplet + bias */
	_Atomic(DAT_MEM_PRIV_FLAGS) priv;
	struct dofi_pz *_Atomic pz;
	/* `pz` if local operations may read the memory, and if they may write it; else NULL. A post
	 * compares it with the PZ of its EP, which is never NULL while that is connected. */
	struct dofi_pz *_Atomic readable, *_Atomic writable;
	void *_Atomic desc;         /* libfabric's local descriptor */
	struct dofi_lmr *lmr;       /* owner: an LMR, */
	struct dofi_window *window; /* or the window of an RMR (object/rmr.h) */
};

#define DOFI_REGION_GET(member) atomic_load_explicit(&(member), memory_order_acquire)
#define DOFI_REGION_SET(member, value) \
	atomic_store_explicit(&(member), (value), memory_order_release)

struct dofi_lmr_slots {
	uint32_t mask;                 /* power of two minus 1 */
	struct dofi_lmr_slots *former; /* half as large */
	_Atomic(struct dofi_region *) slot[];
};

struct dofi_lmr_table {
	_Atomic(struct dofi_lmr_slots *) slots;
	_Atomic uint32_t held; /* threads between hold and release */
	pthread_mutex_t lock;
	struct dofi_region *chunk[DOFI_LMR_CHUNKS];
	uint32_t used; /* regions allocated so far */
	uint32_t live;
	struct dofi_region *free;
	uint32_t numbers_left;
	uint32_t numbers[DOFI_LMR_NUMBERS];
};

/* Returns the only region that may have the context, for dofi_region_is_valid after its members
 * have been read. */
ALWAYS_INLINE struct dofi_region *dofi_region_at(struct dofi_lmr_table *t, uint32_t context)
{
	const struct dofi_lmr_slots *s = atomic_load_explicit(&t->slots, memory_order_acquire);

	return atomic_load_explicit(&s->slot[context & s->mask], memory_order_acquire);
}

ALWAYS_INLINE bool dofi_region_is_valid(const struct dofi_region *r, uint32_t context)
{
	return atomic_load_explicit(&r->context, memory_order_acquire) == context;
}

static inline struct dofi_region *dofi_region_find(struct dofi_lmr_table *t, uint32_t context)
{
	struct dofi_region *r = dofi_region_at(t, context);

	return dofi_region_is_valid(r, context) ? r : NULL;
}

/* True if the region contains the whole range; `address` as in triplets. */
ALWAYS_INLINE bool dofi_region_covers(const struct dofi_region *r, uint64_t address, uint64_t len)
{
	uint64_t end;

	return !__builtin_add_overflow(address - DOFI_REGION_GET(r->base), len, &end) &&
	       end <= DOFI_REGION_GET(r->length);
}

/* True: the region is valid and is not removed before dofi_region_release, which the caller must
 * call soon, in either case. */
static inline bool dofi_region_hold(struct dofi_lmr_table *t, uint32_t context)
{
	const struct dofi_region *r;

	/* Sequentially consistent with dofi_region_remove: one of the two sees the other. */
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
/* Allocates a region and its context, which is not valid yet. NULL: no memory, no random number, or
 * too many regions. */
struct dofi_region *dofi_region_insert(struct dofi_lmr_table *t, uint32_t *context);
/* Sets the rights that local operations have. */
void dofi_region_set_rights(struct dofi_region *r, struct dofi_pz *pz, DAT_MEM_PRIV_FLAGS priv);
/* Makes the context valid. */
void dofi_region_open(struct dofi_region *r, uint32_t context);
/* True if a region has this descriptor. Slow: for error handling. */
bool dofi_region_has_desc(struct dofi_lmr_table *t, const void *desc);
/* Invalidates the context, waits until no thread holds the region and frees it for reuse. */
void dofi_region_remove(struct dofi_lmr_table *t, struct dofi_region *r, uint32_t context);

#endif
