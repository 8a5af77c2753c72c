/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables and rings that start small and double when they are full, so that nothing is allocated in
 * the steady state.
 *
 * The functions return false, and change nothing, if there is no memory. They are inline, so that
 * test/faults can fail those of each caller.
 */
#ifndef DOFI_GROW_H
#define DOFI_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `n` entries of a table: from `first` entries on, until there are `most`. */
#define DOFI_TABLE_RESERVE(table, capacity, n, first, most) \
	((n) <= (capacity) || \
	 dofi_table_reserve(&(table), sizeof(*(table)), &(capacity), n, first, most))
/* Doubles a ring that holds entries head to tail; its capacity is a power of two. */
#define DOFI_RING_GROW(ring, capacity, head, tail, first, most) \
	dofi_ring_grow(&(ring), sizeof(*(ring)), &(capacity), head, tail, first, most)

/* The next capacity; 0: none. */
static inline uint32_t dofi_grow_next(uint32_t capacity, uint32_t first, uint32_t most)
{
	if (capacity >= most || capacity > UINT32_MAX / 2)
		return 0;
	return capacity ? 2 * capacity : first;
}

/* `table` is the address of a pointer to entries of `size` bytes. */
static inline bool dofi_table_reserve(void *table, size_t size, uint32_t *capacity, size_t n,
				      uint32_t first, uint32_t most)
{
	uint32_t to = *capacity;
	void *entries;
	size_t bytes;

	while (to < n)
		if (!(to = dofi_grow_next(to, first, most)))
			return false;
	memcpy(&entries, table, sizeof(entries));
	entries = __builtin_mul_overflow(size, to, &bytes) ? NULL : realloc(entries, bytes);
	if (!entries)
		return false;
	memcpy(table, &entries, sizeof(entries));
	*capacity = to;
	return true;
}

/* Gives a ring `to` entries, a power of two and at least the number of those in use; `ring` is the
 * address of a pointer to entries of `size` bytes. */
static inline bool dofi_ring_resize(void *ring, size_t size, uint32_t *capacity, uint32_t to,
				    uint32_t head, uint32_t tail)
{
	size_t bytes;
	char *from, *entries = __builtin_mul_overflow(size, to, &bytes) ? NULL : malloc(bytes);

	if (!entries)
		return false;
	memcpy(&from, ring, sizeof(from));
	for (uint32_t i = head; i != tail; i++)
		memcpy(entries + (i & (to - 1)) * size, from + (i & (*capacity - 1)) * size, size);
	free(from);
	memcpy(ring, &entries, sizeof(entries));
	*capacity = to;
	return true;
}

static inline bool dofi_ring_grow(void *ring, size_t size, uint32_t *capacity, uint32_t head,
				  uint32_t tail, uint32_t first, uint32_t most)
{
	uint32_t to = dofi_grow_next(*capacity, first, most);

	return to && dofi_ring_resize(ring, size, capacity, to, head, tail);
}

#endif
