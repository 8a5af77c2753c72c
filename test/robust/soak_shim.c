/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces functions of the C library in the soak test: allocations by libdat and the provider fail
 * while the chaos says so, and the time of day jumps for the whole process.
 *
 * The dynamic linker finds the program's functions before those of the C library and of sanitizers.
 * Allocations of libfabric never fail, because libfabric 1.17 does not survive that
 * (test/faults/README.md). CLOCK_MONOTONIC is left alone: it does not jump on any system.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include "soak.h"
#include "../lib/caller.h"

/* Sanitizers call these functions before their memory exists. */
#define PLAIN __attribute__((no_sanitize("address", "undefined", "thread")))
#define EXPORT PLAIN __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

/* The next definition, as `real`: the sanitizer's or the C library's. */
#define REAL(fn_) \
	static _Atomic(__typeof__(&(fn_))) kept_; \
	__typeof__(&(fn_)) real = atomic_load_explicit(&kept_, memory_order_relaxed); \
	if (!real) { \
		*(void **)&real = dlsym(RTLD_NEXT, #fn_); \
		atomic_store_explicit(&kept_, real, memory_order_relaxed); \
	}

static struct callers callers;
static _Atomic int side = -1; /* of this process; -1: nothing is disturbed */

void soak_shim_begin(bool active)
{
	callers_find(&callers);
	side = active;
}

void soak_shim_end(void)
{
	side = -1;
}

/* Time of day */

static PLAIN int64_t clock_offset(void)
{
	int me = atomic_load_explicit(&side, memory_order_relaxed);
	int64_t offset = me < 0 ? 0 : soak_shared->clock_offset[me];

	if (offset)
		soak_shared->clock_read[me]++;
	return offset;
}

EXPORT int clock_gettime(clockid_t id, struct timespec *now)
{
	REAL(clock_gettime)
	int ret = real(id, now);

	if (!ret && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_TAI))
		now->tv_sec += clock_offset();
	return ret;
}

EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	REAL(gettimeofday)
	int ret = real(now, zone);

	if (!ret)
		now->tv_sec += clock_offset();
	return ret;
}

EXPORT time_t time(time_t *to)
{
	REAL(time)
	time_t now = real(NULL) + clock_offset();

	if (to)
		*to = now;
	return now;
}

/* Allocations. ThreadSanitizer calls the program's allocator before it can work. */
#ifdef __SANITIZE_THREAD__

const char *soak_shim_lacks(void)
{
	return "ThreadSanitizer has an allocator of its own";
}

#else

const char *soak_shim_lacks(void)
{
	return NULL;
}

static PLAIN bool is_refused(uintptr_t caller)
{
	static atomic_uint calls;
	int me = atomic_load_explicit(&side, memory_order_relaxed);
	uint32_t one_of = me < 0 ? 0 : soak_shared->refuse[me];

	if (!one_of || caller_at(&callers, caller) != CALLER_OURS ||
	    atomic_fetch_add(&calls, 1) % one_of)
		return false;
	soak_shared->refused[me]++;
	errno = ENOMEM;
	return true;
}

EXPORT void *malloc(size_t size)
{
	REAL(malloc)

	return is_refused(CALLER) ? NULL : real(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	REAL(calloc)

	return is_refused(CALLER) ? NULL : real(n, size);
}

EXPORT void *realloc(void *p, size_t size)
{
	REAL(realloc)

	return is_refused(CALLER) ? NULL : real(p, size);
}

EXPORT void *aligned_alloc(size_t align, size_t size)
{
	REAL(aligned_alloc)

	return is_refused(CALLER) ? NULL : real(align, size);
}

EXPORT int posix_memalign(void **to, size_t align, size_t size)
{
	REAL(posix_memalign)

	return is_refused(CALLER) ? ENOMEM : real(to, align, size);
}

EXPORT char *strdup(const char *text)
{
	REAL(strdup)

	return is_refused(CALLER) ? NULL : real(text);
}

EXPORT void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	REAL(mmap)

	return is_refused(CALLER) ? MAP_FAILED : real(at, len, prot, flags, fd, off);
}

#endif
