/* SPDX-License-Identifier: BSD-2-Clause */
/* The provider's only clock: monotonic nanoseconds. */
#ifndef DOFI_CLOCK_H
#define DOFI_CLOCK_H

#include <stdint.h>
#include <time.h>

#define DOFI_NEVER UINT64_MAX
#define DOFI_MS(n) ((uint64_t)(n)*1000000u)
#define DOFI_US(n) ((uint64_t)(n)*1000u)

static inline uint64_t dofi_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void dofi_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

#endif
