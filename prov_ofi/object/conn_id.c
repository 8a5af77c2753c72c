/* SPDX-License-Identifier: BSD-2-Clause */
/* Assigns connection ids. */
#include <stdlib.h>

#include "object/conn_id.h"

#define INDEX_MASK ((1u << DOFI_TAG_INDEX_BITS) - 1)
#define CHUNK (1u << DOFI_TAG_CHUNK_BITS)
#define GENERATIONS (1u << (DOFI_TAG_BITS - DOFI_TAG_INDEX_BITS))

void dofi_tags_init(struct dofi_tags *t)
{
	pthread_mutex_init(&t->lock, NULL);
	for (size_t i = 0; i < DOFI_TAG_CHUNKS; i++)
		atomic_init(&t->chunk[i], NULL);
	t->used = t->free_head = 0;
}

void dofi_tags_free(struct dofi_tags *t)
{
	for (size_t i = 0; i < DOFI_TAG_CHUNKS; i++) {
		free(t->chunk[i]);
		t->chunk[i] = NULL;
	}
	pthread_mutex_destroy(&t->lock);
}

static struct dofi_tag_slot *slot_at(struct dofi_tags *t, uint32_t index)
{
	return &t->chunk[index >> DOFI_TAG_CHUNK_BITS][index & (CHUNK - 1)];
}

static uint32_t fresh_index(struct dofi_tags *t)
{
	uint32_t index = t->used + 1, at = index >> DOFI_TAG_CHUNK_BITS;

	if (index > INDEX_MASK)
		return 0;
	if (!t->chunk[at]) {
		struct dofi_tag_slot *chunk = calloc(CHUNK, sizeof(*chunk));

		if (!chunk)
			return 0;
		atomic_store_explicit(&t->chunk[at], chunk, memory_order_release);
	}
	t->used = index;
	return index;
}

uint32_t dofi_tag_take(struct dofi_tags *t, struct dofi_ep *ep)
{
	struct dofi_tag_slot *slot;
	uint32_t index, tag = 0;

	pthread_mutex_lock(&t->lock);
	index = t->free_head ? t->free_head : fresh_index(t);
	if (index) {
		slot = slot_at(t, index);
		if (index == t->free_head)
			t->free_head = slot->next_free;
		slot->generation = (slot->generation + 1) % GENERATIONS;
		tag = slot->generation << DOFI_TAG_INDEX_BITS | index;
		atomic_store_explicit(&slot->ep, ep, memory_order_relaxed);
		atomic_store_explicit(&slot->tag, tag, memory_order_release);
	}
	pthread_mutex_unlock(&t->lock);
	return tag;
}

void dofi_tag_drop(struct dofi_tags *t, uint32_t tag)
{
	uint32_t index = tag & INDEX_MASK;
	struct dofi_tag_slot *slot;

	pthread_mutex_lock(&t->lock);
	slot = slot_at(t, index);
	atomic_store_explicit(&slot->tag, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->ep, NULL, memory_order_relaxed);
	slot->next_free = t->free_head;
	t->free_head = index;
	pthread_mutex_unlock(&t->lock);
}
