/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps the number that a consumer holds to the provider's IA. */
#ifndef DATI_IATABLE_H
#define DATI_IATABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dati_api.h"

struct dati_dynamic;

/*
 * Consumers hold slot numbers, beginning at 1. Slots live in blocks that are never moved, so that
 * a lookup needs no lock: it loads the block, then the slot. `own` alone is read without the
 * registry lock; everything else in a slot belongs to that lock.
 */
#define DATI_IA_BLOCK 64
#define DATI_IA_BLOCKS 1024
#define DATI_IA_LIMIT (DATI_IA_BLOCK * DATI_IA_BLOCKS)

struct dati_ia_slot {
	_Atomic(void *) own;      /* the provider's IA; NULL while the slot is free */
	struct dati_dynamic *reg; /* the registration that it was opened through */
	unsigned int pins;        /* calls in progress that a close waits for */
	bool closing;
};

/* Hidden, so that hot calls access it without the GOT. */
__attribute__((
	visibility("hidden"))) extern _Atomic(struct dati_ia_slot *) dati_ia_blocks[DATI_IA_BLOCKS];

static inline struct dati_ia_slot *dati_ia_slot(uintptr_t value)
{
	struct dati_ia_slot *block;

	if (value >= DATI_IA_LIMIT)
		return NULL;
	block = atomic_load_explicit(&dati_ia_blocks[value / DATI_IA_BLOCK], memory_order_acquire);
	return block ? &block[value % DATI_IA_BLOCK] : NULL;
}

/*
 * The provider's IA of a consumer's handle; NULL if the handle is not an IA number. Slot 0 is
 * never used.
 */
static inline void *dati_ia_own(DAT_HANDLE handle)
{
	struct dati_ia_slot *slot = dati_ia_slot((uintptr_t)handle);

	return slot ? atomic_load_explicit(&slot->own, memory_order_acquire) : NULL;
}

/* The four below are called with the registry lock held. */
int dati_ia_add(void *own, struct dati_dynamic *reg, DAT_IA_HANDLE *handle);
void dati_ia_remove(DAT_IA_HANDLE handle);
struct dati_ia_slot *dati_ia_first_of(const char *name);
bool dati_ia_none(void);
void dati_ia_free_blocks(void);

/* In a forked child, where no calls of other threads are in progress. */
void dati_ia_in_child(void);

DAT_IA_HANDLE dati_ia_handle_of(const void *own);

#endif /* DATI_IATABLE_H */
