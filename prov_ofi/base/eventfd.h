/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets and clears event descriptors, without being a cancellation point.
 *
 * These are called with locks held on the data path. The system call is made directly, since the C
 * library's functions are cancellation points; ThreadSanitizer, which has to see that a write comes
 * before the read that it ends, gets those and a guard instead.
 */
#ifndef DOFI_EVENTFD_H
#define DOFI_EVENTFD_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cancel.h"

/* Full means readable, which is what is wanted. */
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

/* It may not have been set. */
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
