/* SPDX-License-Identifier: BSD-2-Clause */
/* Inserts keys into a hash table and removes them; a removal closes the gap at once. */
#include <stdlib.h>

#include "base/key_map.h"

#define FIRST_SLOTS 64

/* Slot of an empty table, so that lookups need no special case. */
static struct dofi_key_slot none;

void dofi_key_map_init(struct dofi_key_map *m)
{
	*m = (struct dofi_key_map){ .slot = &none };
}

void dofi_key_map_free(struct dofi_key_map *m)
{
	if (m->slot != &none)
		free(m->slot);
	dofi_key_map_init(m);
}

/* Returns the slot of the key, or the free slot where it would be inserted. */
static size_t key_map_slot(const struct dofi_key_map *m, uint32_t key)
{
	size_t i = dofi_key_map_home(m, key);

	while (m->slot[i].value && m->slot[i].key != key)
		i = (i + 1) & m->mask;
	return i;
}

static bool key_map_grow(struct dofi_key_map *m)
{
	size_t slots = m->slot == &none ? FIRST_SLOTS : (m->mask + 1) * 2;
	struct dofi_key_map wider = { .mask = slots - 1, .used = m->used };

	wider.slot = calloc(slots, sizeof(*wider.slot));
	if (!wider.slot)
		return false;
	for (size_t i = 0; i <= m->mask; i++)
		if (m->slot[i].value)
			wider.slot[key_map_slot(&wider, m->slot[i].key)] = m->slot[i];
	dofi_key_map_free(m);
	*m = wider;
	return true;
}

bool dofi_key_map_insert(struct dofi_key_map *m, uint32_t key, void *value)
{
	size_t i;

	if ((m->used + 1) * 2 > m->mask + 1 && !key_map_grow(m))
		return false;
	i = key_map_slot(m, key);
	m->used += !m->slot[i].value;
	m->slot[i] = (struct dofi_key_slot){ key, value };
	return true;
}

/* Moves later entries into the gap if their lookup would stop there. */
static void key_map_close_hole(struct dofi_key_map *m, size_t hole)
{
	for (size_t i = (hole + 1) & m->mask; m->slot[i].value; i = (i + 1) & m->mask) {
		size_t home = dofi_key_map_home(m, m->slot[i].key);

		if (((i - home) & m->mask) < ((i - hole) & m->mask))
			continue;
		m->slot[hole] = m->slot[i];
		m->slot[i].value = NULL;
		hole = i;
	}
}

void dofi_key_map_remove(struct dofi_key_map *m, uint32_t key)
{
	size_t i = key_map_slot(m, key);

	if (!m->slot[i].value)
		return;
	m->slot[i].value = NULL;
	m->used--;
	key_map_close_hole(m, i);
}
