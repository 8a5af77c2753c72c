/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the TCP socket below a libfabric endpoint by its addresses, for what libfabric's tcp lacks:
 * keep-alive, which detects a vanished host, the DSCP of its packets, and closing it in child
 * processes, which must not hold the connections of a process that is killed. */
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/param.h"
#include "msgep/cm/cm.h"
#include "msgep/pair/pair_int.h"
#include "msgep/tcp_socks.h"

/* A libfabric request is one segment: its first bytes arrive with all others. */
#define REQUEST_US 2000

static bool same_end(const union dofi_addr *a, const union dofi_addr *b)
{
	return dofi_addr_port(&a->sa) == dofi_addr_port(&b->sa) &&
	       dofi_addr_same_host(&a->sa, &b->sa);
}

static bool is_between(int fd, const union dofi_addr *local, const union dofi_addr *peer)
{
	union dofi_addr addr;
	socklen_t len = sizeof(addr);

	if (dofi_forkfd_is(fd) || getsockname(fd, &addr.sa, &len) ||
	    (addr.sa.sa_family != AF_INET && addr.sa.sa_family != AF_INET6) ||
	    !same_end(&addr, local))
		return false;
	len = sizeof(addr);
	return !getpeername(fd, &addr.sa, &len) && same_end(&addr, peer);
}

static int find(const union dofi_addr *local, const union dofi_addr *peer)
{
	DIR *dir = opendir("/proc/self/fd");
	int fd;

	do {
		fd = msgep_tcp_next_fd(dir);
	} while (fd >= 0 && !is_between(fd, local, peer));
	if (dir)
		closedir(dir);
	return fd;
}

bool pair_sock_limit_listener(const struct pair_listener *l)
{
	struct timeval limit = { .tv_usec = REQUEST_US };
	DIR *dir = opendir("/proc/self/fd");
	bool limited = false;
	int fd;

	while ((fd = msgep_tcp_next(dir, &l->addr, true)) >= 0)
		limited |= !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return limited;
}

bool pair_sock_is_stray(const struct pair_stray *stray)
{
	struct stat st;

	return !fstat(stray->fd, &st) && S_ISSOCK(st.st_mode) && st.st_ino == stray->inode &&
	       !dofi_forkfd_is(stray->fd);
}

void pair_sock_find_strays(const struct pair_listener *l, struct pair_strays *out)
{
	DIR *dir = opendir("/proc/self/fd");
	struct stat st;
	int fd;

	while ((fd = msgep_tcp_next(dir, &l->addr, false)) >= 0)
		if (!fstat(fd, &st) &&
		    DOFI_TABLE_RESERVE(out->at, out->capacity, out->n + 1, 64, UINT32_MAX))
			out->at[out->n++] = (struct pair_stray){ fd, st.st_ino, false };
}

int pair_sock_claim(struct fid_ep *ep, uint8_t dscp)
{
	union dofi_addr local, peer;
	size_t local_len = sizeof(local), peer_len = sizeof(peer);
	int fd = -1;

	memset(&local, 0, sizeof(local));
	memset(&peer, 0, sizeof(peer));
	if (!fi_getname(&ep->fid, &local, &local_len) && !fi_getpeer(ep, &peer, &peer_len))
		fd = find(&local, &peer);
	if (fd < 0 || !dofi_forkfd_claim(fd)) {
		dofi_log(DOFI_LOG_DEBUG, "the socket of an endpoint was not found");
		return -1;
	}
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	msgep_cm_keep_alive(fd);
	if (dscp)
		dofi_sock_set_dscp(fd, dscp);
	return fd;
}

/* Keep-alive is suspended while data is outstanding, and the kernel retransmits for a quarter of an
 * hour. The kernel of a process that is stopped or reads nothing still responds. */
bool pair_sock_is_dead(int fd)
{
	long limit = 2000 * dofi_param(DOFI_NUM_KEEPALIVE_S);
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (fd < 0 || !limit || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return false;
	return (info.tcpi_retransmits || info.tcpi_probes > 1) &&
	       (long)info.tcpi_last_ack_recv > limit;
}

void pair_sock_release(int *fd)
{
	dofi_forkfd_forget(*fd);
	*fd = -1;
}
