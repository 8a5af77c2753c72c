/* SPDX-License-Identifier: BSD-2-Clause */
/* A library that creates the file named by HOSTILE_MARK when a process loads it. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void leave_mark(void)
{
	const char *path = getenv("HOSTILE_MARK");
	int fd = path ? open(path, O_WRONLY | O_CREAT, 0600) : -1;

	if (fd >= 0)
		close(fd);
}
