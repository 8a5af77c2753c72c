/* SPDX-License-Identifier: BSD-2-Clause */
/* Removes the signal of a libfabric completion queue from the epoll set that each poll reads. */
#include <stdio.h>
#include <sys/epoll.h>

#include "msgep/cq_signal.h"

/* A queue of rxm waits on its signal and the sets of the completion and event queues of tcp. */
#define MEMBERS 8

/* Reads the members of an epoll set, as many as fd[] holds. Returns their number; 0: not such a
 * set. */
static int epoll_members(int epfd, int *fd, int room)
{
	char path[48], line[160];
	int n = 0, member;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", epfd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "tfd: %d", &member) != 1)
			continue;
		if (n < room)
			fd[n] = member;
		n++;
	}
	if (f)
		fclose(f);
	return n;
}

int msgep_cq_signal_take(int cq_fd)
{
	int fd = -1;

	if (epoll_members(cq_fd, &fd, 1) != 1 || epoll_ctl(cq_fd, EPOLL_CTL_DEL, fd, NULL))
		return -1;
	return fd;
}

int msgep_cq_signal_take_inner(int cq_fd)
{
	int fd[MEMBERS], inner = -1, member;
	int n = epoll_members(cq_fd, fd, MEMBERS);

	if (n > MEMBERS)
		return -1;
	for (int i = 0; i < n; i++) {
		/* The set of the event queue has a listener, too. */
		if (epoll_members(fd[i], &member, 1) != 1)
			continue;
		if (inner >= 0)
			return -1;
		inner = fd[i];
	}
	return inner < 0 ? -1 : msgep_cq_signal_take(inner);
}
