/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings that start small and double when they are full, so that nothing is allocated in the steady
 * state. */
#ifndef DOFI_MSGEP_RING_H
#define DOFI_MSGEP_RING_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Doubles the capacity (a power of two) of a ring that holds entries head to tail of `size` bytes
 * each; an empty ring gets `first` entries. Returns the new ring and frees the old one; NULL: no
 * memory, nothing has changed. */
static inline void *msgep_ring_grow(void *ring, size_t size, uint32_t *capacity, uint32_t head,
				    uint32_t tail, uint32_t first)
{
	uint32_t now = *capacity ? 2 * *capacity : first;
	char *bigger = malloc(now * size);

	if (!bigger)
		return NULL;
	for (uint32_t i = head; i != tail; i++)
		memcpy(bigger + (i & (now - 1)) * size,
		       (const char *)ring + (i & (*capacity - 1)) * size, size);
	free(ring);
	*capacity = now;
	return bigger;
}

#endif
