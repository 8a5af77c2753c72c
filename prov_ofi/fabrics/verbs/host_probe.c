/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes whether a host is reachable before a connect call that blocks. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/forkfd.h"
#include "fabrics/verbs/host_probe.h"

static bool probe_bind(int fd, const union dofi_addr *addr)
{
	union dofi_addr any_port = *addr;

	dofi_addr_set_port(&any_port.sa, 0);
	return !bind(fd, &any_port.sa, (socklen_t)dofi_addr_len(&any_port.sa));
}

/* The kernel refuses to bind to an address of another host. */
static bool probe_is_local(const union dofi_addr *addr)
{
	int fd = socket(addr->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool own = fd >= 0 && probe_bind(fd, addr);

	if (fd >= 0)
		close(fd);
	return own;
}

/* A refusal proves the host; an error on this side proves nothing. */
static int probe_result(int err)
{
	switch (err) {
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENETUNREACH:
	case ENETDOWN:
		return -err;
	default:
		return 0;
	}
}

static int probe_socket_error(int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) ? 0 : probe_result(err);
}

static int probe_await(int fd, int ms)
{
	uint64_t now = dofi_now(), end = now + DOFI_MS(ms);
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	for (; now < end; now = dofi_now()) {
		int n = poll(&pfd, 1, (int)((end - now) / DOFI_MS(1)) + 1);

		if (n > 0)
			return probe_socket_error(fd);
		if (n < 0 && errno != EINTR)
			return 0;
	}
	return -ETIMEDOUT;
}

int dofi_host_probe(const union dofi_addr *from, const union dofi_addr *to, int ms)
{
	/* A reset shows a listener that accepts it that no request follows. */
	const struct linger none = { .l_onoff = 1, .l_linger = 0 };
	int fd, ret = 0;

	if (probe_is_local(to))
		return 0;
	fd = dofi_forkfd(socket(to->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return 0; /* the fabric will report it */
	if (from)
		(void)probe_bind(fd, from);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	if (connect(fd, &to->sa, (socklen_t)dofi_addr_len(&to->sa)))
		ret = errno == EINPROGRESS ? probe_await(fd, ms) : probe_result(errno);
	dofi_forkfd_close(fd);
	return ret;
}
