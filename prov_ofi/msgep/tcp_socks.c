/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the sockets of a listener of libfabric's tcp by their addresses. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "msgep/tcp_socks.h"

int msgep_tcp_next_fd(DIR *dir)
{
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(dir))
			return atoi(entry->d_name);
	return -1;
}

static bool tcp_sock_is_of(int fd, const union dofi_addr *listener, bool listening)
{
	union dofi_addr addr;
	socklen_t len = sizeof(addr);
	int listens = 1, protocol = 0;

	if (dofi_forkfd_is(fd) || getsockname(fd, &addr.sa, &len) ||
	    (addr.sa.sa_family != AF_INET && addr.sa.sa_family != AF_INET6) ||
	    dofi_addr_port(&addr.sa) != dofi_addr_port(&listener->sa) ||
	    !(dofi_addr_is_any(listener) || dofi_addr_same_host(&addr.sa, &listener->sa)))
		return false;
	/* Not a socket of the program that has the same port of UDP. */
	len = sizeof(protocol);
	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) || protocol != IPPROTO_TCP)
		return false;
	len = sizeof(listens);
	return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) && listening == !!listens;
}

int msgep_tcp_next(DIR *dir, const union dofi_addr *listener, bool listening)
{
	int fd;

	do {
		fd = msgep_tcp_next_fd(dir);
	} while (fd >= 0 && !tcp_sock_is_of(fd, listener, listening));
	if (fd < 0 && dir)
		closedir(dir);
	return fd;
}

/* Kernels before 4.6 do not count. */
static bool tcp_sock_has_sent(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) ||
	       len < offsetof(struct tcp_info, tcpi_data_segs_out) +
			       sizeof(info.tcpi_data_segs_out) ||
	       info.tcpi_data_segs_out;
}

unsigned int msgep_tcp_end_accepted(const union dofi_addr *listener, bool unanswered)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;
	int fd;

	while ((fd = msgep_tcp_next(dir, listener, false)) >= 0) {
		if (unanswered && tcp_sock_has_sent(fd))
			continue;
		shutdown(fd, SHUT_RDWR);
		n++;
	}
	return n;
}

void msgep_tcp_close_accepted(const union dofi_addr *listener)
{
	DIR *dir = opendir("/proc/self/fd");
	int fd;

	/* Accepted, and not taken over. */
	while ((fd = msgep_tcp_next(dir, listener, false)) >= 0)
		close(fd);
}
