/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements the control connection between client and server on different machines. */
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"
#include "exchange.h"

/* Time limits of the request and of its answer, before which the server opens the fabric. */
#define HELLO_MS 5000
#define ANSWER_MS 30000

static void set_socket_options(int fd)
{
	int on = 1;
	unsigned int dead_ms = 30000;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof(dead_ms));
}

static int listen_on(const struct addrinfo *ai)
{
	int off = 0, on = 1;
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, ai->ai_addr, ai->ai_addrlen) && !listen(fd, 4))
		return fd;
	off = errno;
	close(fd);
	return -off;
}

/* Returns a listening socket; without an address, it listens on all addresses of both families. */
int perf_control_listen(const char *bind, const char *port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *list, *ai;
	int fd = -EADDRNOTAVAIL, pass, ret;

	ret = getaddrinfo(bind, port, &hints, &list);
	if (ret)
		return perf_error(-EADDRNOTAVAIL, NULL, "listen", "%s, port %s: %s",
				  bind ? bind : "any address", port, gai_strerror(ret));
	for (pass = 0; fd < 0 && pass < 2; pass++)
		for (ai = list; fd < 0 && ai; ai = ai->ai_next)
			if ((ai->ai_family == AF_INET6) == !pass)
				fd = listen_on(ai);
	freeaddrinfo(list);
	return fd >= 0 ? fd
		       : perf_error(fd, NULL, "listen", "%s, port %s: %s",
				    bind ? bind : "any address", port, strerror(-fd));
}

static int connect_in_time(int fd, const struct addrinfo *ai, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0;

	if (connect(fd, ai->ai_addr, ai->ai_addrlen) && errno != EINPROGRESS)
		return -errno;
	if (poll(&pfd, 1, timeout_ms) <= 0)
		return -ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return -err;
}

static int dial(const char *host, const char *port, int timeout_ms, char *reason, size_t reason_len)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *ai;
	int fd = -1, ret = getaddrinfo(host, port, &hints, &list);

	if (ret) {
		snprintf(reason, reason_len, "%s: %s", host, gai_strerror(ret));
		return -EADDRNOTAVAIL;
	}
	ret = -EADDRNOTAVAIL;
	for (ai = list; ret && ai; ai = ai->ai_next) {
		fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		ret = fd < 0 ? -errno : connect_in_time(fd, ai, timeout_ms);
		if (ret && fd >= 0)
			close(fd);
	}
	freeaddrinfo(list);
	if (!ret)
		return fd;
	snprintf(reason, reason_len, "no dat_perf --server answers at %s, port %s: %s", host, port,
		 strerror(-ret));
	return ret;
}

/* Reads up to and including an empty line, and no further. */
static int read_text(int fd, char *text, size_t size, int timeout_ms)
{
	uint64_t end = perf_now() + (uint64_t)timeout_ms * 1000000u;
	size_t n = 0;

	while (n + 1 < size) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		uint64_t now = perf_now();
		ssize_t got;

		if (now >= end || poll(&pfd, 1, (int)((end - now) / 1000000u) + 1) <= 0)
			return -ETIMEDOUT;
		got = recv(fd, text + n, 1, MSG_DONTWAIT);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EPIPE;
		n++;
		text[n] = '\0';
		if (n > 1 && text[n - 1] == '\n' && text[n - 2] == '\n')
			return 0;
	}
	return -E2BIG;
}

/* Replaces control characters: the text of the peer is printed on a terminal. */
static void sanitize(char *text)
{
	size_t i, len = strlen(text);

	for (i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] == 0x7f)
			text[i] = ' ';
	while (len && text[len - 1] == ' ')
		text[--len] = '\0';
}

/* Returns the connection to a server that has accepted the plan; on failure `reason` is set. */
int perf_control_dial(const char *host, const char *port, const struct perf_plan *p, char *reason,
		      size_t reason_len)
{
	char text[PERF_PLAN_MAX];
	int len = perf_plan_write(p, text, sizeof(text));
	int fd = len < 0 ? len : dial(host, port, (int)p->timeout_ms, reason, reason_len);
	int ret;

	if (fd < 0)
		return fd;
	set_socket_options(fd);
	ret = send(fd, text, (size_t)len, MSG_NOSIGNAL) == len ? 0 : -EPIPE;
	if (!ret)
		ret = read_text(fd, text, sizeof(text), ANSWER_MS);
	if (ret) {
		snprintf(reason, reason_len, "no answer from the server: %s", strerror(-ret));
	} else if (strcmp(text, "ok\n\n")) {
		sanitize(text);
		snprintf(reason, reason_len, "the server refuses: %.400s", text);
		ret = -EPROTO;
	}
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int perf_control_hello(int fd, struct perf_plan *p, char *reason, size_t reason_len)
{
	char text[PERF_PLAN_MAX];
	int ret;

	set_socket_options(fd);
	ret = read_text(fd, text, sizeof(text), HELLO_MS);
	if (ret)
		snprintf(reason, reason_len, "no plan received: %s", strerror(-ret));
	else
		ret = perf_plan_read(p, text, reason, reason_len);
	sanitize(reason);
	return ret;
}

int perf_control_answer(int fd, const char *refusal)
{
	char text[600];
	int len = snprintf(text, sizeof(text), "%.590s\n\n", refusal ? refusal : "ok");

	return send(fd, text, (size_t)len, MSG_NOSIGNAL) == len ? 0 : -EPIPE;
}

/* The local address of the connection to the peer. */
void perf_control_local_addr(int fd, char *addr, size_t len)
{
	struct sockaddr_storage ss;
	socklen_t ss_len = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &ss_len) ||
	    getnameinfo((struct sockaddr *)&ss, ss_len, addr, (socklen_t)len, NULL, 0,
			NI_NUMERICHOST))
		snprintf(addr, len, "127.0.0.1");
	/* an IPv4 peer of a dual-stack socket */
	if (!strncmp(addr, "::ffff:", 7) && strchr(addr, '.'))
		memmove(addr, addr + 7, strlen(addr + 7) + 1);
}

/* The side channel of two children has no IP address; on one host, both addresses are equal. */
bool perf_same_host(int fd)
{
	struct sockaddr_storage ss = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(ss);
	char here[64], there[64];

	if (getpeername(fd, (struct sockaddr *)&ss, &len) || ss.ss_family == AF_UNIX)
		return true;
	if (getnameinfo((struct sockaddr *)&ss, len, there, sizeof(there), NULL, 0, NI_NUMERICHOST))
		return false;
	perf_control_local_addr(fd, here, sizeof(here));
	if (!strncmp(there, "::ffff:", 7) && strchr(there, '.'))
		return !strcmp(here, there + 7);
	return !strcmp(here, there);
}
