/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps keys that the fabric chose to memory contexts. */
#include "object/key_table.h"

void dofi_keys_init(struct dofi_key_table *t)
{
	pthread_mutex_init(&t->lock, NULL);
	dofi_key_map_init(&t->map);
}

void dofi_keys_free(struct dofi_key_table *t)
{
	dofi_key_map_free(&t->map);
	pthread_mutex_destroy(&t->lock);
}

bool dofi_key_insert(struct dofi_key_table *t, uint32_t key, uint32_t context)
{
	bool ok;

	pthread_mutex_lock(&t->lock);
	ok = dofi_key_map_insert(&t->map, key, (void *)(uintptr_t)context);
	pthread_mutex_unlock(&t->lock);
	return ok;
}

void dofi_key_remove(struct dofi_key_table *t, uint32_t key)
{
	pthread_mutex_lock(&t->lock);
	dofi_key_map_remove(&t->map, key);
	pthread_mutex_unlock(&t->lock);
}

uint32_t dofi_key_find(struct dofi_key_table *t, uint32_t key)
{
	uint32_t context;

	pthread_mutex_lock(&t->lock);
	context = (uint32_t)(uintptr_t)dofi_key_map_find(&t->map, key);
	pthread_mutex_unlock(&t->lock);
	return context;
}
