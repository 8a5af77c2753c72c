/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that sockets of the program and connections of others do not disturb its service points.
 *
 * Cases that are known to fail over a fabric are marked (rl_known_to_fail); docs/security.md lists
 * them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../fabrics/fabrics.h"
#include "rdat.h"

enum step { ST_LISTEN, ST_READY, ST_ATTACKED, ST_OVER, ST_FLOOD };

#define HALF_OPEN_MS 200

/* ---- the program's own sockets ---- */

/* The port of the service point, at another address. */
static struct sockaddr_in other_address(void)
{
	struct sockaddr_in sin;

	memcpy(&sin, rl_board->addr, sizeof(sin));
	RL_CHECK(sin.sin_family == AF_INET, "the case is for IPv4");
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	sin.sin_port = htons((uint16_t)rl_board->qual);
	return sin;
}

static void program_with_sockets(void *arg)
{
	struct sockaddr_in sin;
	struct rd rd;
	char byte = 0;
	int on = 1, fd, conn;

	(void)arg;
	rd_open(&rd, 0, 16);
	rd_listen(&rd);
	sin = other_address();
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	RL_CHECK(!bind(fd, (struct sockaddr *)&sin, sizeof(sin)) && !listen(fd, 4), "listen: %s",
		 strerror(errno));
	rl_step(ST_LISTEN, 1);
	conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	RL_CHECK(conn >= 0, "accept: %s", strerror(errno));
	/* Long enough for several passes of the reaper of idle connections. */
	rl_await(ST_READY, 1, 10000);
	rl_sleep_ms(5 * HALF_OPEN_MS);
	RL_CHECK(send(conn, "x", 1, MSG_NOSIGNAL) == 1,
		 "the program's own socket was shut down: %s", strerror(errno));
	RL_CHECK(recv(conn, &byte, 1, 0) == 1 && byte == 'y',
		 "the program's own socket was shut down");
	close(conn);
	close(fd);
	rd_close(&rd);
}

static void client_of_the_program(void *arg)
{
	struct sockaddr_in sin;
	char byte = 0;
	int fd;

	(void)arg;
	rl_await(ST_LISTEN, 1, 10000);
	sin = other_address();
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	RL_CHECK(!connect(fd, (struct sockaddr *)&sin, sizeof(sin)), "connect: %s",
		 strerror(errno));
	rl_step(ST_READY, 1);
	RL_CHECK(recv(fd, &byte, 1, 0) == 1 && byte == 'x', "the program's socket was shut down");
	RL_CHECK(send(fd, "y", 1, MSG_NOSIGNAL) == 1, "send: %s", strerror(errno));
	close(fd);
	rl_exit_success();
}

/* ---- descriptors ---- */

#define FLOODERS 4
#define FLOOD_EACH 500
#define DESCRIPTORS 1024

static void flooder(void *arg)
{
	struct sockaddr_storage ss;
	socklen_t len;

	(void)arg;
	rl_await(ST_LISTEN, 1, 10000);
	memset(&ss, 0, sizeof(ss));
	memcpy(&ss, rl_board->addr, sizeof(rl_board->addr));
	len = ss.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	((struct sockaddr_in *)&ss)->sin_port = htons((uint16_t)rl_board->qual);
	for (int n = 0; n < FLOOD_EACH; n++) {
		int fd = socket(ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		struct pollfd p = { .fd = fd, .events = POLLOUT };

		RL_CHECK(fd >= 0, "socket: %s", strerror(errno));
		/* Kept until the process ends. Without an accept, some stay in the backlog. */
		(void)!connect(fd, (struct sockaddr *)&ss, len);
		poll(&p, 1, 20);
	}
	atomic_fetch_add(&rl_board->step[ST_FLOOD], 1);
	rl_await(ST_OVER, 1, 20000);
	rl_exit_success();
}

static void flooded_server(void *arg)
{
	struct rlimit limit = { DESCRIPTORS, DESCRIPTORS };
	struct rd rd;
	int fd;

	(void)arg;
	RL_CHECK(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit: %s", strerror(errno));
	rd_open(&rd, 0, 16);
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	rl_await(ST_FLOOD, FLOODERS, 20000);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	RL_CHECK(fd >= 0, "the program has no descriptor left: %s", strerror(errno));
	close(fd);
	rl_step(ST_ATTACKED, 1);
	rd.ep = rd_ep_create(&rd, 4);
	rd_accept_up(&rd, rd.ep);
	rl_await(ST_OVER, 1, 10000);
	rd_close(&rd);
}

static void flooded_client(void *arg)
{
	struct rd rd;
	uint64_t began;
	DAT_EVENT ev;

	(void)arg;
	test_fabric_network_only();
	rl_await(ST_ATTACKED, 1, 30000);
	rd_open(&rd, 0, 16);
	rd.ep = rd_ep_create(&rd, 4);
	began = rl_now();
	rd_connect(&rd, rd.ep, 5000, NULL, 0);
	rd_expect(rd.conn, DAT_CONNECTION_EVENT_ESTABLISHED, 6000, &ev);
	rl_note("%d silent connections, %d descriptors: connected after %.1f ms",
		FLOODERS * FLOOD_EACH, DESCRIPTORS, (double)(rl_now() - began) / 1000);
	rl_step(ST_OVER, 1);
	rd_close(&rd);
}

static void set_half_open_timeout(int ms)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", ms);
	setenv("DAPL_OFI_HALF_OPEN_MS", text, 1);
}

static void on_sockets(void)
{
	if (rl_begin("own-socket-on-the-port", 20000)) {
		rl_start("program", program_with_sockets, NULL);
		rl_start("client", client_of_the_program, NULL);
		rl_end();
	}
	if (rl_begin("silent-connections-and-1024-descriptors", 40000)) {
		set_half_open_timeout(20000);
		rl_start("server", flooded_server, NULL);
		for (int i = 0; i < FLOODERS; i++)
			rl_start("flooder", flooder, NULL);
		rl_start("client", flooded_client, NULL);
		rl_end();
		set_half_open_timeout(HALF_OPEN_MS);
	}
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 1);
	set_half_open_timeout(HALF_OPEN_MS);
	setenv("DAPL_OFI_GRACE_MS", "200", 1);
	if (test_fabric_has(test_fabric(), "sockets"))
		on_sockets();
	else
		rl_skip("sockets", "a service point is not a TCP port");
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 120, run);
}
