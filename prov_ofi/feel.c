/* SPDX-License-Identifier: BSD-2-Clause */
/* How does one find out whether a host is there without being stuck if it is not? */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/forkfd.h"
#include "feel.h"

static bool bind_to(int fd, const union dofi_addr *addr)
{
	union dofi_addr any_port = *addr;

	dofi_addr_set_port(&any_port.sa, 0);
	return !bind(fd, &any_port.sa, (socklen_t)dofi_addr_len(&any_port.sa));
}

/* The kernel lets nobody bind to an address that is not the host's. */
static bool is_own(const union dofi_addr *addr)
{
	int fd = socket(addr->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool own = fd >= 0 && bind_to(fd, addr);

	if (fd >= 0)
		close(fd);
	return own;
}

/* To be refused is an answer; what fails on this side says nothing of the host. */
static int verdict(int err)
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

static int outcome(int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) ? 0 : verdict(err);
}

static int await(int fd, int ms)
{
	uint64_t now = dofi_now(), end = now + DOFI_MS(ms);
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	for (; now < end; now = dofi_now()) {
		int n = poll(&pfd, 1, (int)((end - now) / DOFI_MS(1)) + 1);

		if (n > 0)
			return outcome(fd);
		if (n < 0 && errno != EINTR)
			return 0;
	}
	return -ETIMEDOUT;
}

int dofi_feel(const union dofi_addr *from, const union dofi_addr *to, int ms)
{
	/* Who accepted it learns at once that nothing comes. */
	const struct linger none = { .l_onoff = 1, .l_linger = 0 };
	int fd, ret = 0;

	if (is_own(to))
		return 0;
	fd = dofi_forkfd(socket(to->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return 0;	/* the fabric will tell */
	if (from)
		(void)bind_to(fd, from);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	if (connect(fd, &to->sa, (socklen_t)dofi_addr_len(&to->sa)))
		ret = errno == EINPROGRESS ? await(fd, ms) : verdict(errno);
	dofi_forkfd_close(fd);
	return ret;
}
