/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters that are incremented by one thread at a time, under a lock, and read without it. */
#ifndef DOFI_COUNT_H
#define DOFI_COUNT_H

#include <stdint.h>

#include "base/inline.h"

#ifdef __SANITIZE_THREAD__
#define DOFI_COUNT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DOFI_COUNT_SANITIZED 1
#endif
#endif

/* A plain addition to memory is one instruction; the relaxed load and store of C11 are three. An
 * aligned word of the processor is read and written as a whole in both cases. */
#ifdef DOFI_COUNT_SANITIZED
#define DOFI_COUNT(counter, n) \
	__atomic_store_n(&(counter), __atomic_load_n(&(counter), __ATOMIC_RELAXED) + (n), \
			 __ATOMIC_RELAXED)
#else
#define DOFI_COUNT(counter, n) ((counter) += (n))
#endif

/* The same without a lock, for rare events. */
#define DOFI_COUNT_SHARED(counter, n) __atomic_fetch_add(&(counter), (n), __ATOMIC_RELAXED)

#define DOFI_COUNT_READ(counter) __atomic_load_n(&(counter), __ATOMIC_RELAXED)

#endif
