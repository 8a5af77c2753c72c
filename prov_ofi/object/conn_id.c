/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates and frees connection ids. */
#include <stdlib.h>

#include "object/conn_id.h"

#define INDEX_MASK ((1u << DOFI_CONN_ID_INDEX_BITS) - 1)
#define CHUNK (1u << DOFI_CONN_ID_CHUNK_BITS)
#define GENERATIONS (1u << (DOFI_CONN_ID_BITS - DOFI_CONN_ID_INDEX_BITS))

void dofi_conn_ids_init(struct dofi_conn_ids *t)
{
	pthread_mutex_init(&t->lock, NULL);
	for (size_t i = 0; i < DOFI_CONN_ID_CHUNKS; i++)
		atomic_init(&t->chunk[i], NULL);
	t->used = t->free_head = 0;
}

void dofi_conn_ids_free(struct dofi_conn_ids *t)
{
	for (size_t i = 0; i < DOFI_CONN_ID_CHUNKS; i++) {
		free(t->chunk[i]);
		t->chunk[i] = NULL;
	}
	pthread_mutex_destroy(&t->lock);
}

static struct dofi_conn_id_slot *conn_id_slot_at(struct dofi_conn_ids *t, uint32_t index)
{
	return &t->chunk[index >> DOFI_CONN_ID_CHUNK_BITS][index & (CHUNK - 1)];
}

static uint32_t conn_id_new_index(struct dofi_conn_ids *t)
{
	uint32_t index = t->used + 1, at = index >> DOFI_CONN_ID_CHUNK_BITS;

	if (index > INDEX_MASK)
		return 0;
	if (!t->chunk[at]) {
		struct dofi_conn_id_slot *chunk = calloc(CHUNK, sizeof(*chunk));

		if (!chunk)
			return 0;
		atomic_store_explicit(&t->chunk[at], chunk, memory_order_release);
	}
	t->used = index;
	return index;
}

uint32_t dofi_conn_id_alloc(struct dofi_conn_ids *t, struct dofi_ep *ep)
{
	struct dofi_conn_id_slot *slot;
	uint32_t index, conn_id = 0;

	pthread_mutex_lock(&t->lock);
	index = t->free_head ? t->free_head : conn_id_new_index(t);
	if (index) {
		slot = conn_id_slot_at(t, index);
		if (index == t->free_head)
			t->free_head = slot->next_free;
		slot->generation = (slot->generation + 1) % GENERATIONS;
		conn_id = slot->generation << DOFI_CONN_ID_INDEX_BITS | index;
		atomic_store_explicit(&slot->ep, ep, memory_order_relaxed);
		atomic_store_explicit(&slot->conn_id, conn_id, memory_order_release);
	}
	pthread_mutex_unlock(&t->lock);
	return conn_id;
}

void dofi_conn_id_free(struct dofi_conn_ids *t, uint32_t conn_id)
{
	uint32_t index = conn_id & INDEX_MASK;
	struct dofi_conn_id_slot *slot;

	pthread_mutex_lock(&t->lock);
	slot = conn_id_slot_at(t, index);
	atomic_store_explicit(&slot->conn_id, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->ep, NULL, memory_order_relaxed);
	slot->next_free = t->free_head;
	t->free_head = index;
	pthread_mutex_unlock(&t->lock);
}

struct dofi_ep *dofi_conn_id_at(struct dofi_conn_ids *t, uint32_t index)
{
	struct dofi_conn_id_slot *slot = atomic_load_explicit(
		&t->chunk[index >> DOFI_CONN_ID_CHUNK_BITS], memory_order_acquire);

	if (!slot)
		return NULL;
	slot += index & (CHUNK - 1);
	if (!atomic_load_explicit(&slot->conn_id, memory_order_acquire))
		return NULL;
	return atomic_load_explicit(&slot->ep, memory_order_relaxed);
}
