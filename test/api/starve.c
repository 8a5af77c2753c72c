/* SPDX-License-Identifier: BSD-2-Clause */
/* Interposes the allocator and send(), which fail for the library under test. */
#include "starve.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "../lib/caller.h"

static atomic_int bells;

void starve_wakeups(int count)
{
	atomic_store(&bells, count);
}

int starve_wakeups_left(void)
{
	return atomic_load(&bells);
}

__attribute__((visibility("default"))) ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	int left = atomic_load(&bells);

	while (len == 1 && left > 0)
		if (atomic_compare_exchange_weak(&bells, &left, left - 1)) {
			errno = ENOBUFS;
			return -1;
		}
	return syscall(SYS_sendto, fd, buf, len, flags, NULL, 0);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)

bool starve_works(void)
{
	return false;
}

void starve_from(int number, int more)
{
	(void)number;
	(void)more;
}

int starve_failed(void)
{
	return 0;
}

int starve_end(void)
{
	return 0;
}

#else

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

static struct callers callers;
static atomic_int skip, left, failed;
static atomic_bool armed;

bool starve_works(void)
{
	return true;
}

void starve_from(int number, int more)
{
	atomic_store(&armed, false);
	callers_find(&callers);
	atomic_store(&skip, number);
	atomic_store(&left, more < 0 ? INT32_MAX : more + 1);
	atomic_store(&failed, 0);
	atomic_store(&armed, true);
}

int starve_failed(void)
{
	return atomic_load(&failed);
}

int starve_end(void)
{
	atomic_store(&armed, false);
	return atomic_load(&failed);
}

static bool fails(uintptr_t caller)
{
	if (!atomic_load_explicit(&armed, memory_order_acquire) ||
	    caller_at(&callers, caller) != CALLER_OURS)
		return false;
	if (atomic_fetch_sub(&skip, 1) > 0)
		return false;
	if (atomic_fetch_sub(&left, 1) <= 0)
		return false;
	atomic_fetch_add(&failed, 1);
	errno = ENOMEM;
	return true;
}

EXPORT void *malloc(size_t size)
{
	return fails(CALLER) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return fails(CALLER) ? NULL : __libc_calloc(n, size);
}

EXPORT void *realloc(void *p, size_t size)
{
	return fails(CALLER) ? NULL : __libc_realloc(p, size);
}

EXPORT char *strdup(const char *text)
{
	size_t len = strlen(text) + 1;
	char *copy = fails(CALLER) ? NULL : __libc_malloc(len);

	return copy ? memcpy(copy, text, len) : NULL;
}

#endif
