/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes the size of a file, of a memfd too, within the limit of the process: beyond it the kernel
 * sends SIGXFSZ, which ends a program that has no handler. */
#ifndef DOFI_FILE_SIZE_H
#define DOFI_FILE_SIZE_H

#include <errno.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

/* 0 or negative. A sandbox may hide the limit. */
static inline int dofi_file_resize(int fd, off_t size)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    limit.rlim_cur < (rlim_t)size)
		return -EFBIG;
	return ftruncate(fd, size) ? -errno : 0;
}

#endif
