/* SPDX-License-Identifier: BSD-2-Clause */
/* Hash table from 32-bit keys to pointers: open addressing, at most half full, no locking. */
#ifndef DOFI_KEY_MAP_H
#define DOFI_KEY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dofi_key_slot {
	uint32_t key;
	void *value; /* NULL: free */
};

struct dofi_key_map {
	struct dofi_key_slot *slot;
	size_t mask; /* power of two minus 1 */
	size_t used;
};

void dofi_key_map_init(struct dofi_key_map *m);
void dofi_key_map_free(struct dofi_key_map *m);
/* Replaces the value of an existing key. False: no memory. */
bool dofi_key_map_insert(struct dofi_key_map *m, uint32_t key, void *value);
void dofi_key_map_remove(struct dofi_key_map *m, uint32_t key);

static inline size_t dofi_key_map_home(const struct dofi_key_map *m, uint32_t key)
{
	return (key * 2654435761u >> 7) & m->mask;
}

/* NULL: no such key. */
static inline void *dofi_key_map_find(const struct dofi_key_map *m, uint32_t key)
{
	const struct dofi_key_slot *slot = m->slot;

	for (size_t i = dofi_key_map_home(m, key); slot[i].value; i = (i + 1) & m->mask)
		if (slot[i].key == key)
			return slot[i].value;
	return NULL;
}

#endif
