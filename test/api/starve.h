/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocations and doorbells of the library under test that fail on demand.
 *
 * The program's own malloc, calloc, realloc, strdup and send stand before the C library's. Only
 * calls out of libdat and the provider fail, not those of libfabric.
 */
#ifndef TEST_STARVE_H
#define TEST_STARVE_H

#include <stdbool.h>

/* False: the build has an allocator of its own (sanitizers). */
bool starve_works(void);
/* From now on, of the library's allocations, the one of that number (from 0) fails and `more`
 * behind it; -1: all behind it. */
void starve_from(int number, int more);
/* No more failures. Returns how many there were. */
int starve_end(void);
/* So many sends of one byte find no memory in the kernel. Returns how many of the last order have
 * not been used up. */
int starve_bells(int count);

#endif
