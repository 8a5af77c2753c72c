/* SPDX-License-Identifier: BSD-2-Clause */
/* Which socket carries an endpoint, and what has to be done to it? */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "base/log.h"
#include "tcpfd.h"

/* How far from the last socket found the next one is looked for before all are. */
#define NEAR 64

static _Atomic int last_found = 3;

/* Marked descriptors belong to a connection already, or are our own. One that has been kept after
 * its connection died still shows addresses that a new connection may have got again. libfabric
 * does not have them closed by a program that a child executes. */
static bool claim(int fd)
{
	if (!dofi_forkfd_claim(fd))
		return false;
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return true;
}

void dofi_tcpfd_disclaim(int fd)
{
	dofi_forkfd_forget(fd);
}

int dofi_tcpfd_keep(int fd)
{
	int keep = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (keep >= 0 && !claim(keep)) {
		close(keep);
		return -1;
	}
	return keep;
}

void dofi_tcpfd_close(int fd)
{
	dofi_forkfd_close(fd);
}

struct ends {
	union dofi_addr local, peer;
	bool listener, own_port;
};

static bool same(const union dofi_addr *a, const union dofi_addr *b)
{
	return dofi_addr_port(&a->sa) == dofi_addr_port(&b->sa) &&
	       dofi_addr_same_host(&a->sa, &b->sa);
}

static bool inet_name(int (*name)(int, struct sockaddr *, socklen_t *), int fd,
		      union dofi_addr *addr)
{
	socklen_t len = sizeof(*addr);

	memset(addr, 0, sizeof(*addr));
	return !name(fd, &addr->sa, &len) &&
	       (addr->sa.sa_family == AF_INET || addr->sa.sa_family == AF_INET6);
}

static bool matches(int fd, const struct ends *ends)
{
	union dofi_addr addr;
	int on = 0;
	socklen_t len = sizeof(on);

	if (dofi_forkfd_is(fd) || !inet_name(getsockname, fd, &addr) || !same(&addr, &ends->local))
		return false;
	if (ends->listener)
		return !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) && on;
	if (inet_name(getpeername, fd, &addr))
		return same(&addr, &ends->peer);
	return ends->own_port;
}

/* Calls fn for every descriptor of this process until it says that it is done. */
static void each_fd(bool (*fn)(void *arg, int fd), void *arg)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && fd != dirfd(dir) && fn(arg, fd))
			break;
	}
	closedir(dir);
}

struct search {
	const struct ends *ends;
	int found;
};

static bool search_one(void *arg, int fd)
{
	struct search *s = arg;

	if (!matches(fd, s->ends))
		return false;
	s->found = fd;
	return true;
}

static int find(const struct ends *ends)
{
	struct search s = { ends, -1 };
	int start = last_found;

	/* Descriptors are handed out in order, so the next one is mostly nearby. */
	for (int fd = start; fd <= start + NEAR && s.found < 0; fd++)
		search_one(&s, fd);
	for (int fd = start - 1; fd >= 3 && fd >= start - NEAR && s.found < 0; fd--)
		search_one(&s, fd);
	if (s.found < 0)
		each_fd(search_one, &s);
	if (s.found >= 0)
		last_found = s.found;
	return s.found;
}

int dofi_tcpfd_of_ep(struct fid_ep *ep, const union dofi_addr *peer, bool own_port)
{
	size_t len = sizeof(union dofi_addr);
	struct ends ends;
	int fd;

	memset(&ends, 0, sizeof(ends));
	ends.peer = *peer;
	ends.own_port = own_port;
	if (fi_getname(&ep->fid, &ends.local, &len))
		return -1;
	fd = find(&ends);
	return fd >= 0 && claim(fd) ? fd : -1;
}

int dofi_tcpfd_tame_listener(struct fid_pep *pep)
{
	struct timeval patience = { .tv_usec = 20000 };
	size_t len = sizeof(union dofi_addr);
	struct ends ends;
	int fd;

	memset(&ends, 0, sizeof(ends));
	ends.listener = true;
	if (fi_getname(&pep->fid, &ends.local, &len))
		return -1;
	fd = find(&ends);
	if (fd >= 0 && !claim(fd))
		fd = -1;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		dofi_log(DOFI_LOG_WARN, "the listener's socket cannot be guarded against "
			 "stalling strangers");
	return fd;
}

void dofi_tcpfd_keepalive(int fd, int seconds, bool data)
{
	int on = 1, probes = 3, interval = seconds / 3 > 0 ? seconds / 3 : 1;
	unsigned int give_up = (unsigned int)seconds * 2000u;

	if (!seconds)
		return;
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	/* Not for a connection: it would end one whose peer answers, but takes nothing for so long
	 * because its program posts no receive or is stopped. */
	if (!data)
		setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &give_up, sizeof(give_up));
}

/* A descriptor that is at its end: reading gives 0 bytes. */
static int make_dummy(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
		return -1;
	close(pair[1]);
	return pair[0];
}

int dofi_tcpfd_take(int fd, const int *epfds, size_t n, void *tag)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = tag };
	int keep = dofi_tcpfd_keep(fd), dummy = make_dummy();

	if (keep < 0 || dummy < 0) {
		if (keep >= 0)
			dofi_tcpfd_close(keep);
		if (dummy >= 0)
			close(dummy);
		return -1;
	}
	/* The sets know the socket, not the number: it must leave them before. */
	for (size_t i = 0; i < n; i++)
		epoll_ctl(epfds[i], EPOLL_CTL_DEL, fd, NULL);
	dup2(dummy, fd);
	close(dummy);
	for (size_t i = 0; i < n; i++)
		epoll_ctl(epfds[i], EPOLL_CTL_ADD, fd, &ev);
	shutdown(keep, SHUT_WR);
	return keep;
}

bool dofi_tcpfd_discard(int fd)
{
	char bin[16384];
	ssize_t n;

	for (int i = 0; i < 64; i++) {
		n = recv(fd, bin, sizeof(bin), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		if (n < 0)
			break;
	}
	return true;
}

bool dofi_tcpfd_peer_gone(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLRDHUP };

	return poll(&pfd, 1, 0) > 0 && (pfd.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

size_t dofi_tcpfd_unsent(int fd)
{
	int bytes = 0;

	return ioctl(fd, TIOCOUTQ, &bytes) ? 0 : (size_t)bytes;
}

struct expulsion {
	struct dofi_tcpfd_strangers *last, now;
	bool (*known)(void *arg, int fd, const union dofi_addr *, const union dofi_addr *);
	void *arg;
};

static bool seen_before(const struct dofi_tcpfd_strangers *last, int fd, uint16_t port)
{
	for (size_t i = 0; i < last->count; i++)
		if (last->marks[i].fd == fd && last->marks[i].peer_port == port)
			return true;
	return false;
}

static bool expel_one(void *arg, int fd)
{
	struct expulsion *e = arg;
	union dofi_addr local, peer;
	uint16_t port;

	if (!inet_name(getsockname, fd, &local) || !inet_name(getpeername, fd, &peer) ||
	    e->known(e->arg, fd, &local, &peer))
		return false;
	port = dofi_addr_port(&peer.sa);
	if (seen_before(e->last, fd, port)) {
		dofi_log(DOFI_LOG_WARN, "a stranger from port %u said nothing and is thrown out",
			 port);
		shutdown(fd, SHUT_RDWR);
	}
	if (e->now.count < sizeof(e->now.marks) / sizeof(*e->now.marks)) {
		e->now.marks[e->now.count].fd = fd;
		e->now.marks[e->now.count++].peer_port = port;
	}
	return false;
}

size_t dofi_tcpfd_expel(struct dofi_tcpfd_strangers *last,
			bool (*known)(void *arg, int fd, const union dofi_addr *local,
				      const union dofi_addr *peer), void *arg)
{
	struct expulsion e = { .last = last, .known = known, .arg = arg };

	each_fd(expel_one, &e);
	*last = e.now;
	return last->count;
}
