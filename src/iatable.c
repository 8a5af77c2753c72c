/* SPDX-License-Identifier: BSD-2-Clause */
/* Assigns IA numbers, and finds the number of a provider's IA. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "iatable.h"
#include "registry.h"

static struct dati_ia_slot first_block[DATI_IA_BLOCK];

_Atomic(struct dati_ia_slot *) dati_ia_blocks[DATI_IA_BLOCKS] = { first_block };

static int ia_table_grow(size_t index)
{
	struct dati_ia_slot *block = calloc(DATI_IA_BLOCK, sizeof(*block));

	if (!block)
		return -ENOMEM;
	atomic_store_explicit(&dati_ia_blocks[index], block, memory_order_release);
	return 0;
}

/* Takes the lowest free slot: programs and the specification rely on 1, 2, 3... */
int dati_ia_add(void *own, struct dati_dynamic *reg, DAT_IA_HANDLE *handle)
{
	struct dati_ia_slot *slot;
	uintptr_t value;

	for (value = 1; value < DATI_IA_LIMIT; value++) {
		slot = dati_ia_slot(value);
		if (!slot) {
			if (ia_table_grow(value / DATI_IA_BLOCK))
				return -ENOMEM;
			slot = dati_ia_slot(value);
		}
		if (atomic_load_explicit(&slot->own, memory_order_relaxed))
			continue;
		slot->reg = reg;
		slot->pins = 0;
		slot->closing = false;
		atomic_store_explicit(&slot->own, own, memory_order_release);
		*handle = (DAT_IA_HANDLE)value;
		return 0;
	}
	return -ENOSPC;
}

void dati_ia_remove(DAT_IA_HANDLE handle)
{
	struct dati_ia_slot *slot = dati_ia_slot((uintptr_t)handle);

	slot->reg = NULL;
	slot->closing = false;
	atomic_store_explicit(&slot->own, NULL, memory_order_release);
}

struct dati_ia_slot *dati_ia_first_of(const char *name)
{
	struct dati_ia_slot *slot;
	uintptr_t value;

	for (value = 1; (slot = dati_ia_slot(value)); value++)
		if (slot->reg && !slot->closing && !strcmp(slot->reg->info.ia_name, name))
			return slot;
	return NULL;
}

bool dati_ia_none(void)
{
	struct dati_ia_slot *slot;
	uintptr_t value;

	for (value = 1; (slot = dati_ia_slot(value)); value++)
		if (atomic_load_explicit(&slot->own, memory_order_relaxed))
			return false;
	return true;
}

void dati_ia_free_blocks(void)
{
	size_t i;

	for (i = 1; i < DATI_IA_BLOCKS; i++)
		free(atomic_exchange(&dati_ia_blocks[i], NULL));
}

void dati_ia_in_child(void)
{
	struct dati_ia_slot *slot;
	uintptr_t value;

	for (value = 1; (slot = dati_ia_slot(value)); value++)
		slot->pins = 0;
}

/* Takes no lock: providers call this inside queries, while they hold locks of their own. */
DAT_IA_HANDLE dati_ia_handle_of(const void *own)
{
	struct dati_ia_slot *slot;
	uintptr_t value;

	for (value = 1; (slot = dati_ia_slot(value)); value++)
		if (atomic_load_explicit(&slot->own, memory_order_acquire) == own)
			return (DAT_IA_HANDLE)value;
	return DAT_HANDLE_NULL;
}
