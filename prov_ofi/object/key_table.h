/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps keys that the fabric chose to regions.
 *
 * Where the provider chooses the keys, a remote key is a memory context, which object/lmr_table.h
 * resolves. Where the device chooses them, this table holds the remote keys for the few operations
 * that use a key on the side that owns the memory: invalidation, and reads into an RMR.
 */
#ifndef DOFI_KEY_TABLE_H
#define DOFI_KEY_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/key_map.h"
#include "base/lock.h"

struct dofi_key_table {
	pthread_mutex_t lock;
	struct dofi_key_map map; /* the contexts are the values */
};

void dofi_keys_init(struct dofi_key_table *t);
void dofi_keys_free(struct dofi_key_table *t);
/* False: no memory. */
bool dofi_key_insert(struct dofi_key_table *t, uint32_t key, uint32_t context);
void dofi_key_remove(struct dofi_key_table *t, uint32_t key);
/* Returns the context; 0: no such key. */
uint32_t dofi_key_find(struct dofi_key_table *t, uint32_t key);

#endif
