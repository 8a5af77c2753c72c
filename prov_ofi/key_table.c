/* SPDX-License-Identifier: BSD-2-Clause */
/* How are the fabric's keys found again? Open addressing; a hole is filled when it appears. */
#include <stdlib.h>

#include "key_table.h"

#define FIRST_ROOM 64

static size_t home(const struct dofi_key_table *t, uint32_t key)
{
	return (key * 2654435761u >> 7) & (t->room - 1);
}

void dofi_keys_init(struct dofi_key_table *t)
{
	pthread_mutex_init(&t->lock, NULL);
	t->entry = NULL;
	t->room = t->used = 0;
}

void dofi_keys_free(struct dofi_key_table *t)
{
	free(t->entry);
	t->entry = NULL;
	pthread_mutex_destroy(&t->lock);
}

/* The key's place, or the free one where it would be. */
static size_t place(const struct dofi_key_table *t, uint32_t key)
{
	size_t i = home(t, key);

	while (t->entry[i].key && t->entry[i].key != key)
		i = (i + 1) & (t->room - 1);
	return i;
}

static bool grow(struct dofi_key_table *t)
{
	struct dofi_key_table wider = *t;

	wider.room = t->room ? t->room * 2 : FIRST_ROOM;
	wider.entry = calloc(wider.room, sizeof(*wider.entry));
	if (!wider.entry)
		return false;
	for (size_t i = 0; i < t->room; i++)
		if (t->entry[i].key)
			wider.entry[place(&wider, t->entry[i].key)] = t->entry[i];
	free(t->entry);
	t->entry = wider.entry;
	t->room = wider.room;
	return true;
}

bool dofi_key_enter(struct dofi_key_table *t, uint32_t key, uint32_t context)
{
	bool ok;
	size_t i;

	pthread_mutex_lock(&t->lock);
	ok = t->used * 2 < t->room || grow(t);
	if (ok) {
		i = place(t, key);
		t->used += !t->entry[i].key;
		t->entry[i].key = key;
		t->entry[i].context = context;
	}
	pthread_mutex_unlock(&t->lock);
	return ok;
}

/* Entries behind a hole move into it if their search would stop there. */
static void close_hole(struct dofi_key_table *t, size_t hole)
{
	size_t mask = t->room - 1;

	for (size_t i = (hole + 1) & mask; t->entry[i].key; i = (i + 1) & mask) {
		if (((i - home(t, t->entry[i].key)) & mask) < ((i - hole) & mask))
			continue;
		t->entry[hole] = t->entry[i];
		t->entry[i].key = 0;
		hole = i;
	}
}

void dofi_key_drop(struct dofi_key_table *t, uint32_t key)
{
	size_t i;

	pthread_mutex_lock(&t->lock);
	i = t->room ? place(t, key) : 0;
	if (t->room && t->entry[i].key) {
		t->entry[i].key = 0;
		t->used--;
		close_hole(t, i);
	}
	pthread_mutex_unlock(&t->lock);
}

uint32_t dofi_key_find(struct dofi_key_table *t, uint32_t key)
{
	uint32_t context = 0;

	pthread_mutex_lock(&t->lock);
	if (t->room) {
		size_t i = place(t, key);

		context = t->entry[i].key ? t->entry[i].context : 0;
	}
	pthread_mutex_unlock(&t->lock);
	return context;
}
