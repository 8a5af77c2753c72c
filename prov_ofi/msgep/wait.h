/* SPDX-License-Identifier: BSD-2-Clause */
/* The epoll set on which a consumer of our queues blocks, with an eventfd by which the queue itself
 * wakes it. The queue decides what else is in the set; the data of the eventfd there is 0. */
#ifndef DOFI_MSGEP_WAIT_H
#define DOFI_MSGEP_WAIT_H

#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/eventfd.h"
#include "base/forkfd.h"

/* 0 or negative; in both cases the caller closes what has been opened. */
static inline int msgep_wait_open(int *epfd, int *signal)
{
	struct epoll_event ev = { .events = EPOLLIN };

	*signal = dofi_forkfd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	*epfd = dofi_forkfd(epoll_create1(EPOLL_CLOEXEC));
	if (*signal < 0 || *epfd < 0 || epoll_ctl(*epfd, EPOLL_CTL_ADD, *signal, &ev))
		return -errno;
	return 0;
}

static inline void msgep_wait_close(int epfd, int signal)
{
	if (epfd >= 0)
		dofi_forkfd_close(epfd);
	if (signal >= 0)
		dofi_forkfd_close(signal);
}

static inline void msgep_wait_signal(int signal)
{
	dofi_eventfd_set(signal);
}

#endif
