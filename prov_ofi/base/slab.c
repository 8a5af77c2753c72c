/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates type-stable object memory. */
#include <stdlib.h>
#include <string.h>

#include "base/fork_lock.h"
#include "base/slab.h"

#define ALIGN 64

/* Of all slabs. */
static pthread_mutex_t slab_lock = PTHREAD_MUTEX_INITIALIZER;
DOFI_FORK_LOCK(slab_lock, DOFI_FORK_SLAB)

static size_t slab_stride(const struct dofi_slab *slab)
{
	size_t n = slab->size + sizeof(struct dofi_slab_node);

	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static struct dofi_slab_node *slab_node_of(const struct dofi_slab *slab, void *obj)
{
	return (struct dofi_slab_node *)((char *)obj + slab_stride(slab) -
					 sizeof(struct dofi_slab_node));
}

static void slab_append(struct dofi_slab *slab, void *obj, bool internal)
{
	struct dofi_slab_node *node = slab_node_of(slab, obj);
	struct dofi_slab_queue *q = &slab->unused[internal];

	node->next = NULL;
	if (q->tail)
		q->tail->next = node;
	else
		q->head = node;
	q->tail = node;
}

static bool slab_grow(struct dofi_slab *slab, bool internal)
{
	size_t step = slab_stride(slab), bytes = step * slab->per_chunk;
	struct dofi_slab_chunk *chunk = malloc(sizeof(*chunk));
	char *mem;

	if (!chunk)
		return false;
	mem = aligned_alloc(ALIGN, bytes);
	if (!mem) {
		free(chunk);
		return false;
	}
	memset(mem, 0, bytes);
	chunk->first = mem;
	chunk->end = mem + bytes;
	chunk->internal = internal;
	for (char *obj = mem; obj < chunk->end; obj += step) {
		if (slab->setup)
			slab->setup(obj);
		slab_append(slab, obj, internal);
	}
	chunk->next = slab->chunks;
	slab->chunks = chunk;
	return true;
}

void *dofi_slab_get(struct dofi_slab *slab, bool internal)
{
	struct dofi_slab_queue *q = &slab->unused[internal];
	struct dofi_slab_node *node;
	void *obj = NULL;

	pthread_mutex_lock(&slab_lock);
	if (q->head || slab_grow(slab, internal)) {
		node = q->head;
		q->head = node->next;
		if (!q->head)
			q->tail = NULL;
		obj = (char *)node + sizeof(*node) - slab_stride(slab);
	}
	pthread_mutex_unlock(&slab_lock);
	return obj;
}

void dofi_slab_put(struct dofi_slab *slab, void *obj, bool internal)
{
	pthread_mutex_lock(&slab_lock);
	slab_append(slab, obj, internal);
	pthread_mutex_unlock(&slab_lock);
}

/* The chunk that has an object at `p`, or NULL. */
static const struct dofi_slab_chunk *slab_chunk_of(const struct dofi_slab *slab, const char *p)
{
	const struct dofi_slab_chunk *c = slab->chunks;

	while (c && (p < c->first || p >= c->end || (size_t)(p - c->first) % slab_stride(slab)))
		c = c->next;
	return c;
}

bool dofi_slab_owns(struct dofi_slab *slab, const void *ptr)
{
	bool found;

	pthread_mutex_lock(&slab_lock);
	found = slab_chunk_of(slab, ptr);
	pthread_mutex_unlock(&slab_lock);
	return found;
}

bool dofi_slab_number(struct dofi_slab *slab, const void *ptr, unsigned int *number)
{
	const struct dofi_slab_chunk *in;
	const char *p = ptr;
	size_t before;

	pthread_mutex_lock(&slab_lock);
	in = slab_chunk_of(slab, p);
	if (in) {
		before = (size_t)(p - in->first) / slab_stride(slab);
		for (const struct dofi_slab_chunk *c = in->next; c; c = c->next)
			before += c->internal == in->internal ? slab->per_chunk : 0;
		*number = (in->internal ? DOFI_SLAB_INTERNAL : 1) + (unsigned int)before;
	}
	pthread_mutex_unlock(&slab_lock);
	return in;
}

void dofi_slab_each(struct dofi_slab *slab, void (*fn)(void *obj))
{
	for (struct dofi_slab_chunk *c = slab->chunks; c; c = c->next)
		for (char *obj = c->first; obj < c->end; obj += slab_stride(slab))
			fn(obj);
}
