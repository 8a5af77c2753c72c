/* SPDX-License-Identifier: BSD-2-Clause */
/* How do memory contexts come and go? */
#include <sched.h>
#include <stdlib.h>

#include "lmr_table.h"

#define INDEX_MASK ((1u << DOFI_LMR_INDEX_BITS) - 1)

static struct dofi_region *entry(struct dofi_lmr_table *t, uint32_t index)
{
	struct dofi_region *chunk = t->chunk[index >> DOFI_LMR_CHUNK_BITS];

	return &chunk[index & ((1u << DOFI_LMR_CHUNK_BITS) - 1)];
}

void dofi_lmr_table_init(struct dofi_lmr_table *t)
{
	pthread_mutex_init(&t->lock, NULL);
	for (size_t i = 0; i < DOFI_LMR_CHUNKS; i++)
		atomic_init(&t->chunk[i], NULL);
	t->used = t->free_head = t->free_tail = t->live = 0;
	atomic_init(&t->held, 0);
}

void dofi_lmr_table_free(struct dofi_lmr_table *t)
{
	for (size_t i = 0; i < DOFI_LMR_CHUNKS; i++) {
		free(t->chunk[i]);
		t->chunk[i] = NULL;
	}
	pthread_mutex_destroy(&t->lock);
}

static uint32_t fresh_index(struct dofi_lmr_table *t)
{
	uint32_t index = t->used + 1, slot = index >> DOFI_LMR_CHUNK_BITS;

	if (t->used >= DOFI_LMR_MAX)
		return 0;
	if (!t->chunk[slot]) {
		struct dofi_region *chunk = calloc(1u << DOFI_LMR_CHUNK_BITS, sizeof(*chunk));

		if (!chunk)
			return 0;
		atomic_store_explicit(&t->chunk[slot], chunk, memory_order_release);
	}
	t->used++;
	/* Generation 0 in next_free's upper bits: see dofi_region_drop. */
	entry(t, index)->next_free = 0;
	return index;
}

struct dofi_region *dofi_region_take(struct dofi_lmr_table *t, uint32_t *context)
{
	struct dofi_region *r = NULL;
	uint32_t index;

	pthread_mutex_lock(&t->lock);
	/* Reuse late: a stale context should go on failing as long as possible. */
	if (t->live + 64 < t->used && t->free_head) {
		index = t->free_head;
		r = entry(t, index);
		t->free_head = r->next_free & INDEX_MASK;
		if (!t->free_head)
			t->free_tail = 0;
	} else {
		index = fresh_index(t);
		if (index)
			r = entry(t, index);
	}
	if (r) {
		uint32_t generation = (r->next_free >> DOFI_LMR_INDEX_BITS) + 1;

		t->live++;
		*context = generation << DOFI_LMR_INDEX_BITS | index;
	}
	pthread_mutex_unlock(&t->lock);
	return r;
}

void dofi_region_open(struct dofi_region *r, uint32_t context)
{
	atomic_store_explicit(&r->context, context, memory_order_release);
}

bool dofi_region_has_desc(struct dofi_lmr_table *t, const void *desc)
{
	bool found = false;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 1; i <= t->used && !found; i++) {
		const struct dofi_region *r = entry(t, i);

		found = atomic_load_explicit(&r->context, memory_order_acquire) && r->desc == desc;
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}

void dofi_region_drop(struct dofi_lmr_table *t, struct dofi_region *r, uint32_t context)
{
	uint32_t index = context & INDEX_MASK;

	atomic_store(&r->context, 0);
	while (atomic_load(&t->held))
		sched_yield();
	pthread_mutex_lock(&t->lock);
	t->live--;
	/* The generation is kept in the upper bits of the free-list link. */
	r->next_free = context & ~INDEX_MASK;
	if (t->free_tail) {
		struct dofi_region *last = entry(t, t->free_tail);

		last->next_free = (last->next_free & ~INDEX_MASK) | index;
	} else {
		t->free_head = index;
	}
	t->free_tail = index;
	pthread_mutex_unlock(&t->lock);
}
