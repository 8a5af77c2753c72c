/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements the attacks of unknown hosts on a port. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <unistd.h>

#include "attack.h"
#include "rlib.h"

#define MANY 64

static socklen_t board_addr(struct sockaddr_storage *ss, uint16_t port)
{
	memset(ss, 0, sizeof(*ss));
	memcpy(ss, rl_board->addr, sizeof(rl_board->addr));
	if (ss->ss_family == AF_INET6) {
		((struct sockaddr_in6 *)ss)->sin6_port = htons(port);
		return sizeof(struct sockaddr_in6);
	}
	((struct sockaddr_in *)ss)->sin_port = htons(port);
	return sizeof(struct sockaddr_in);
}

int attack_connect(void)
{
	uint64_t port = rl_board->value[ATTACK_PORT];
	struct sockaddr_storage ss;
	socklen_t len = board_addr(&ss, (uint16_t)(port ? port : rl_board->qual));
	int fd = socket(ss.ss_family, SOCK_STREAM, 0);

	RL_CHECK(fd >= 0, "socket: %s", strerror(errno));
	RL_CHECK(!connect(fd, (struct sockaddr *)&ss, len), "connect: %s", strerror(errno));
	return fd;
}

/* True if the process has a descriptor of the socket with that inode. */
static bool has_socket(int pid, unsigned long inode)
{
	char dir[32], path[320], link[64], wanted[64];
	bool found = false;
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/fd", pid);
	snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	d = opendir(dir);
	while (d && !found && (e = readdir(d))) {
		ssize_t n;

		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		n = readlink(path, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = 0;
		found = !strcmp(link, wanted);
	}
	if (d)
		closedir(d);
	return found;
}

uint16_t attack_other_port(int pid, uint16_t port)
{
	static const char *const tables[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	unsigned int local, state;
	unsigned long inode;
	uint16_t found = 0;
	char line[256];

	for (int i = 0; i < 2 && !found; i++) {
		FILE *f = fopen(tables[i], "r");

		while (f && !found && fgets(line, sizeof(line), f))
			if (sscanf(line, " %*d: %*[^:]:%x %*[^:]:%*x %x %*s %*s %*s %*s %*s %lu",
				   &local, &state, &inode) == 3 &&
			    state == 10 && local != port && has_socket(pid, inode))
				found = (uint16_t)local;
		if (f)
			fclose(f);
	}
	return found;
}

int attack_listen(void)
{
	struct sockaddr_storage ss;
	socklen_t len = board_addr(&ss, 0);
	int fd = socket(ss.ss_family, SOCK_STREAM, 0);

	RL_CHECK(fd >= 0, "socket: %s", strerror(errno));
	RL_CHECK(!bind(fd, (struct sockaddr *)&ss, len) && !listen(fd, 16), "listen: %s",
		 strerror(errno));
	RL_CHECK(!getsockname(fd, (struct sockaddr *)&ss, &len), "getsockname: %s",
		 strerror(errno));
	rl_board->qual = ntohs(ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&ss)->sin6_port
							: ((struct sockaddr_in *)&ss)->sin_port);
	return fd;
}

bool attack_closed(int fd, unsigned int ms)
{
	uint64_t deadline = rl_now() + (uint64_t)rl_bound(ms) * 1000;
	char buf[4096];

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = rl_now();

		if (now >= deadline)
			return false;
		if (poll(&p, 1, (int)((deadline - now) / 1000) + 1) <= 0)
			continue;
		if (recv(fd, buf, sizeof(buf), 0) <= 0)
			return true;
	}
}

void attack_reset(int fd)
{
	struct linger l = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

void attack_cm_header(uint8_t *buf, int type, size_t len)
{
	uint64_t one = 1;

	memset(buf, 0, ATTACK_CM_HDR);
	buf[0] = 3;
	buf[1] = (uint8_t)type;
	buf[2] = (uint8_t)(len >> 8);
	buf[3] = (uint8_t)len;
	memcpy(buf + 24, &one, sizeof(one));
}

/* The listener may close the connection at any time, as it should. */
static void attack_send(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			struct pollfd pf = { .fd = fd, .events = POLLOUT };

			if (poll(&pf, 1, 200) <= 0)
				return;
			continue;
		}
		if (n <= 0)
			return;
		p += n;
		len -= (size_t)n;
	}
}

/* All connections must be closed by the listener, without sending more. */
static void expect_closed(int *fds, int count, unsigned int ms)
{
	uint64_t began = rl_now();

	rl_activity("waiting for the listener to close");
	for (int i = 0; i < count; i++) {
		unsigned int spent = (unsigned int)((rl_now() - began) / 1000);

		RL_CHECK(attack_closed(fds[i], spent < ms ? ms - spent : 1),
			 "connection %d of %d was not closed within %u ms", i, count, ms);
		close(fds[i]);
	}
}

static void random_bytes(void)
{
	static const size_t lens[] = { 1,   2,   3,    4,    5,    7,    8,     15,    16,
				       17,  31,  32,   33,   63,   64,   100,   256,   288,
				       289, 512, 1000, 1448, 4096, 9000, 65536, 300000 };
	static uint8_t junk[300000];
	uint64_t seed = 20240611;

	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (uint8_t)rl_random(&seed);
	for (int round = 0; round < 6; round++)
		for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			size_t off = rl_random(&seed) % (sizeof(junk) - lens[i] + 1);
			int fd = attack_connect();

			attack_send(fd, junk + off, lens[i]);
			if (round & 1)
				close(fd);
			else
				attack_reset(fd);
		}
}

static void other_protocols(void)
{
	static const char *const texts[] = {
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"SSH-2.0-OpenSSH_9.2\r\n",
		"\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"EHLO there\r\n",
		"\n",
		"DOFI",
	};

	for (int round = 0; round < 8; round++)
		for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
			int fd = attack_connect();

			attack_send(fd, texts[i], strlen(texts[i]));
			attack_closed(fd, 5);
			close(fd);
		}
}

static void truncated_headers(void)
{
	uint8_t buf[ATTACK_CM_HDR + 200];
	int fds[ATTACK_CM_HDR + 8], n = 0;

	memset(buf, 'x', sizeof(buf));
	for (int hold = 0; hold < 2; hold++)
		for (size_t len = 1; len <= ATTACK_CM_HDR + 7; len++) {
			int fd = attack_connect();

			attack_cm_header(buf, ATTACK_REQUEST, 200);
			attack_send(fd, buf, len);
			if (hold)
				fds[n++] = fd;
			else
				close(fd);
		}
	expect_closed(fds, n, ATTACK_SILENT_MS + 1500);
}

static void stalls_before_data(void)
{
	uint8_t buf[ATTACK_CM_HDR];
	int fds[10];

	attack_cm_header(buf, ATTACK_REQUEST, 200);
	for (int i = 0; i < 10; i++) {
		fds[i] = attack_connect();
		attack_send(fds[i], buf, sizeof(buf));
	}
	expect_closed(fds, 10, ATTACK_SILENT_MS + 1500);
}

static void stalls_then_resets(void)
{
	uint8_t buf[ATTACK_CM_HDR + 3];

	memset(buf, 'x', sizeof(buf));
	attack_cm_header(buf, ATTACK_REQUEST, 200);
	for (int i = 0; i < 60; i++) {
		int fd = attack_connect();

		attack_send(fd, buf, ATTACK_CM_HDR + (size_t)i % 4);
		rl_sleep_ms((unsigned int)i % 7);
		attack_reset(fd);
	}
}

static void slow_bytes(void)
{
	uint8_t buf[ATTACK_CM_HDR + 36];
	int fds[4];

	memset(buf, 'x', sizeof(buf));
	attack_cm_header(buf, ATTACK_REQUEST, 36);
	for (int i = 0; i < 4; i++)
		fds[i] = attack_connect();
	for (size_t at = 0; at < sizeof(buf); at++) {
		for (int i = 0; i < 4; i++)
			attack_send(fds[i], buf + at, 1);
		rl_sleep_ms(20);
	}
	expect_closed(fds, 4, ATTACK_SILENT_MS + 1500);
}

static void wrong_headers(void)
{
	uint8_t buf[70000];
	int fds[40], n = 0;

	memset(buf, 'x', sizeof(buf));
	for (int type = 1; type < 12; type++) { /* not a request */
		attack_cm_header(buf, type, 40);
		fds[n] = attack_connect();
		attack_send(fds[n++], buf, ATTACK_CM_HDR + 40);
	}
	for (int version = 0; version < 8; version++) {
		attack_cm_header(buf, ATTACK_REQUEST, 40);
		buf[0] = (uint8_t)version;
		if (version == 3)
			continue;
		fds[n] = attack_connect();
		attack_send(fds[n++], buf, ATTACK_CM_HDR + 40);
	}
	for (size_t len = 256; len <= 65535; len = len * 2 + 1) { /* more than the limit */
		attack_cm_header(buf, ATTACK_REQUEST, len > 65535 ? 65535 : len);
		fds[n] = attack_connect();
		attack_send(fds[n++], buf, sizeof(buf));
	}
	expect_closed(fds, n, ATTACK_SILENT_MS + 1500);
}

static void idle_connections(void)
{
	int fds[MANY];

	for (int i = 0; i < MANY; i++)
		fds[i] = attack_connect();
	expect_closed(fds, MANY, ATTACK_SILENT_MS + 1500);
}

static void half_closed(void)
{
	uint8_t buf[ATTACK_CM_HDR];
	int fds[MANY];

	attack_cm_header(buf, ATTACK_REQUEST, 200);
	for (int i = 0; i < MANY; i++) {
		fds[i] = attack_connect();
		attack_send(fds[i], buf, (size_t)i % ATTACK_CM_HDR);
		shutdown(fds[i], SHUT_WR);
	}
	expect_closed(fds, MANY, ATTACK_SILENT_MS + 1500);
}

static void port_scan(void)
{
	for (int i = 0; i < 2000; i++)
		close(attack_connect());
}

static void resets(void)
{
	for (int i = 0; i < 600; i++) {
		int fd = attack_connect();

		if (i & 1)
			attack_send(fd, "\3", 1);
		attack_reset(fd);
	}
}

const struct attack attacks[] = {
	{ "random-bytes", random_bytes },
	{ "other-protocols", other_protocols },
	{ "truncated-headers", truncated_headers },
	{ "stalls-before-data", stalls_before_data },
	{ "stalls-then-resets", stalls_then_resets },
	{ "slow-bytes", slow_bytes },
	{ "wrong-headers", wrong_headers },
	{ "silence", idle_connections },
	{ "half-closed", half_closed },
	{ "port-scan", port_scan },
	{ "resets", resets },
};

const unsigned int attack_count = sizeof(attacks) / sizeof(attacks[0]);
