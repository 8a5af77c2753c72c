/* SPDX-License-Identifier: BSD-2-Clause */
/* From a key that the fabric chose to the region behind it.
 *
 * Where keys are ours, a remote key is a memory context and object/lmr_table.h finds it. Where the device
 * chooses them, those that a peer may use are entered here, for the few calls that take a key on
 * the side whose memory it names: invalidation, and reads into an RMR.
 */
#ifndef DOFI_KEY_TABLE_H
#define DOFI_KEY_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/key_map.h"

struct dofi_key_table {
	pthread_mutex_t lock;
	struct dofi_key_map map;	/* the contexts are the values */
};

void dofi_keys_init(struct dofi_key_table *t);
void dofi_keys_free(struct dofi_key_table *t);
/* False without memory. */
bool dofi_key_insert(struct dofi_key_table *t, uint32_t key, uint32_t context);
void dofi_key_remove(struct dofi_key_table *t, uint32_t key);
/* The context; 0: no such key. */
uint32_t dofi_key_find(struct dofi_key_table *t, uint32_t key);

#endif
