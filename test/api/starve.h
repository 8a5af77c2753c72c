/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares failures of allocations and wakeups of the library under test. The program interposes
 * malloc, calloc, realloc, strdup and send. Only calls of libdat and the provider fail, not those
 * of libfabric.
 */
#ifndef TEST_STARVE_H
#define TEST_STARVE_H

#include <stdbool.h>

/* False if the build has its own allocator (sanitizers). */
bool starve_works(void);
/* Makes the allocation with this number (from 0) fail, and `more` after it; -1: all after it. */
void starve_from(int number, int more);
/* The number of failures so far. */
int starve_failed(void);
/* Ends the failures; returns their number. */
int starve_end(void);
/* Makes this number of one-byte sends fail with ENOBUFS. */
void starve_wakeups(int count);
/* How many of them have not been tried yet. */
int starve_wakeups_left(void);

#endif
