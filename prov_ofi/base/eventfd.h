/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets and clears eventfd descriptors without being a cancellation point.
 *
 * The data path calls these functions with locks held. They make the system call directly, since
 * the C library's functions are cancellation points. Builds for ThreadSanitizer, which must see
 * that a write happens before the read that it releases, use those functions and a guard instead.
 */
#ifndef DOFI_EVENTFD_H
#define DOFI_EVENTFD_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cancel.h"

/* A full counter fails the write but leaves the descriptor readable, as intended. */
static inline void dofi_eventfd_set(int fd)
{
	const uint64_t one = 1;
	int kept = errno;
#if defined(__SANITIZE_THREAD__)
	DOFI_NO_CANCEL();
	ssize_t n = write(fd, &one, sizeof(one));

	(void)n;
#else
	syscall(SYS_write, fd, &one, sizeof(one));
#endif
	errno = kept;
}

/* The descriptor need not be set. */
static inline void dofi_eventfd_clear(int fd)
{
	uint64_t count;
	int kept = errno;
#if defined(__SANITIZE_THREAD__)
	DOFI_NO_CANCEL();
	ssize_t n = read(fd, &count, sizeof(count));

	(void)n;
#else
	syscall(SYS_read, fd, &count, sizeof(count));
#endif
	errno = kept;
}

#endif
