/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates and frees memory contexts. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "object/lmr_table.h"

#define CHUNK (1u << DOFI_LMR_CHUNK_BITS)
#define FIRST_CAPACITY 64u

/* What slots of even and of odd index lead to if they have no region. */
static struct dofi_region vacant[2] = { { .context = 1 }, { .context = 0 } };

/* Slots of a table without regions; never written. */
static struct dofi_lmr_slots none = { .mask = 1, .slot = { &vacant[0], &vacant[1] } };

void dofi_lmr_table_init(struct dofi_lmr_table *t)
{
	memset(t, 0, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	atomic_init(&t->slots, &none);
}

void dofi_lmr_table_free(struct dofi_lmr_table *t)
{
	struct dofi_lmr_slots *s = atomic_load(&t->slots), *former;

	for (; s != &none; s = former) {
		former = s->former;
		free(s);
	}
	for (size_t i = 0; i < DOFI_LMR_CHUNKS; i++)
		free(t->chunk[i]);
	pthread_mutex_destroy(&t->lock);
}

/* Returns a random number of the system, fetched in batches. */
static bool lmr_table_unpredictable(struct dofi_lmr_table *t, uint32_t *number)
{
	while (!t->numbers_left) {
		ssize_t n = getrandom(t->numbers, sizeof(t->numbers), 0);

		if (n == (ssize_t)sizeof(t->numbers))
			t->numbers_left = DOFI_LMR_NUMBERS;
		else if (n >= 0 || errno != EINTR)
			return false;
	}
	*number = t->numbers[--t->numbers_left];
	t->numbers[t->numbers_left] = 0;
	return true;
}

/* Keeps the former array until the table is freed: readers may be using it. */
static bool lmr_table_grow(struct dofi_lmr_table *t)
{
	struct dofi_lmr_slots *former = atomic_load(&t->slots), *wider;
	uint32_t capacity = former == &none ? FIRST_CAPACITY : (former->mask + 1) * 2;

	wider = malloc(sizeof(*wider) + capacity * sizeof(wider->slot[0]));
	if (!wider)
		return false;
	wider->mask = capacity - 1;
	wider->former = former;
	for (uint32_t i = 0; i < capacity; i++)
		atomic_init(&wider->slot[i], &vacant[i & 1]);
	for (uint32_t i = 0; i <= former->mask; i++) {
		struct dofi_region *r = atomic_load(&former->slot[i]);

		if (r != &vacant[i & 1])
			atomic_init(&wider->slot[r->reserved & wider->mask], r);
	}
	atomic_store_explicit(&t->slots, wider, memory_order_release);
	return true;
}

static struct dofi_region *lmr_table_free_region(struct dofi_lmr_table *t)
{
	struct dofi_region *r = t->free;
	uint32_t at = t->used >> DOFI_LMR_CHUNK_BITS;

	if (r) {
		t->free = r->next_free;
		return r;
	}
	if (!t->chunk[at])
		t->chunk[at] = calloc(CHUNK, sizeof(*t->chunk[at]));
	return t->chunk[at] ? &t->chunk[at][t->used++ & (CHUNK - 1)] : NULL;
}

/* At most half of the slots are in use: at most two attempts are needed on average. */
static bool lmr_table_choose(struct dofi_lmr_table *t, struct dofi_lmr_slots *s, uint32_t *context)
{
	do {
		if (!lmr_table_unpredictable(t, context))
			return false;
	} while (!*context || atomic_load(&s->slot[*context & s->mask]) != &vacant[*context & 1]);
	return true;
}

struct dofi_region *dofi_region_insert(struct dofi_lmr_table *t, uint32_t *context)
{
	struct dofi_region *r = NULL;
	struct dofi_lmr_slots *s;

	pthread_mutex_lock(&t->lock);
	if (t->live == DOFI_LMR_MAX ||
	    ((t->live + 1) * 2 > atomic_load(&t->slots)->mask && !lmr_table_grow(t)))
		goto out;
	s = atomic_load(&t->slots);
	if (!lmr_table_choose(t, s, context))
		goto out;
	r = lmr_table_free_region(t);
	if (!r)
		goto out;
	r->reserved = *context;
	atomic_store_explicit(&r->context, ~*context, memory_order_relaxed);
	atomic_store_explicit(&s->slot[*context & s->mask], r, memory_order_release);
	t->live++;
out:
	pthread_mutex_unlock(&t->lock);
	return r;
}

void dofi_region_set_rights(struct dofi_region *r, struct dofi_pz *pz, DAT_MEM_PRIV_FLAGS priv)
{
	DOFI_REGION_SET(r->priv, priv);
	DOFI_REGION_SET(r->pz, pz);
	DOFI_REGION_SET(r->readable, priv & DOFI_READABLE ? pz : NULL);
	DOFI_REGION_SET(r->writable, priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG ? pz : NULL);
}

void dofi_region_open(struct dofi_region *r, uint32_t context)
{
	atomic_store_explicit(&r->context, context, memory_order_release);
}

bool dofi_region_has_desc(struct dofi_lmr_table *t, const void *desc)
{
	bool found = false;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < t->used && !found; i++) {
		const struct dofi_region *r = &t->chunk[i >> DOFI_LMR_CHUNK_BITS][i & (CHUNK - 1)];

		found = atomic_load_explicit(&r->context, memory_order_acquire) == r->reserved &&
			DOFI_REGION_GET(r->desc) == desc;
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}

void dofi_region_remove(struct dofi_lmr_table *t, struct dofi_region *r, uint32_t context)
{
	struct dofi_lmr_slots *s;

	atomic_store(&r->context, ~context);
	while (atomic_load(&t->held))
		sched_yield();
	pthread_mutex_lock(&t->lock);
	t->live--;
	s = atomic_load(&t->slots);
	atomic_store_explicit(&s->slot[context & s->mask], &vacant[context & 1],
			      memory_order_release);
	r->next_free = t->free;
	t->free = r;
	pthread_mutex_unlock(&t->lock);
}
