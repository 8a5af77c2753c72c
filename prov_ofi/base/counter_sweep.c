/* SPDX-License-Identifier: BSD-2-Clause */
/* Removes the counter files of this user's processes that were killed before they could do it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/counter_file.h"

/* True if the file is a complete one of `pid`, in our namespace, which no longer runs. */
static bool sweep_is_dead(int fd, pid_t pid, const struct dofi_counter_header *own)
{
	struct dofi_counter_header h;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) ||
	    memcmp(h.magic, DOFI_COUNTER_MAGIC, sizeof(h.magic)) ||
	    h.version != DOFI_COUNTER_VERSION || h.pid != (uint32_t)pid || !h.pid_ns ||
	    h.pid_ns != own->pid_ns)
		return false;
	/* The number of the former process may be ours now. The other version's library in this
	 * process has a file, too. */
	return pid != getpid() || (h.start_time && h.start_time != own->start_time);
}

void dofi_counter_sweep(const char *dir, const struct dofi_counter_header *own)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	pid_t pid;
	int fd;

	while (d && (e = readdir(d))) {
		if (strncmp(e->d_name, DOFI_COUNTER_PREFIX, strlen(DOFI_COUNTER_PREFIX)))
			continue;
		pid = (pid_t)strtol(e->d_name + strlen(DOFI_COUNTER_PREFIX), NULL, 10);
		if (pid <= 0 || (pid != getpid() && (!kill(pid, 0) || errno != ESRCH)))
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0)
			continue;
		if (sweep_is_dead(fd, pid, own))
			unlinkat(dirfd(d), e->d_name, 0);
		close(fd);
	}
	if (d)
		closedir(d);
}
