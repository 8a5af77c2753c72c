/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that a connect to something other than a service point gets exactly one event, in time: a
 * misbehaving TCP server listens on the port of the qualifier.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../fabrics/fabrics.h"
#include "attack.h"
#include "rdat.h"

enum step { ST_ADDR, ST_LISTEN, ST_EVENT };

#define TIMEOUT_MS 700

struct bad_listener {
	const char *name;
	void (*answer)(int fd);
	const char *conn_events; /* connection events that the client may get */
	bool timed;              /* ... not before its timeout */
};

static void wait_for_close(int fd)
{
	/* The client must close the connection by itself. */
	RL_CHECK(attack_closed(fd, 6000), "the client keeps the connection open");
	close(fd);
}

static void send_data(int fd, const void *data, size_t len)
{
	RL_CHECK(send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len, "send: %s", strerror(errno));
}

static void stays_silent(int fd)
{
	wait_for_close(fd);
}

static void sends_garbage(int fd)
{
	char text[100];

	memset(text, '?', sizeof(text));
	send_data(fd, text, sizeof(text));
	wait_for_close(fd);
}

static void closes(int fd)
{
	close(fd);
}

static void resets(int fd)
{
	attack_reset(fd);
}

static void closes_after_request(int fd)
{
	char buf[300];

	RL_CHECK(recv(fd, buf, sizeof(buf), 0) > 0, "no request received");
	close(fd);
}

static void half_header(int fd)
{
	uint8_t buf[ATTACK_CM_HDR];

	attack_cm_header(buf, ATTACK_RESPONSE, 0);
	send_data(fd, buf, 11);
	wait_for_close(fd);
}

static void half_header_then_closes(int fd)
{
	uint8_t buf[ATTACK_CM_HDR];

	attack_cm_header(buf, ATTACK_RESPONSE, 0);
	send_data(fd, buf, 11);
	close(fd);
}

static void header_without_data(int fd)
{
	uint8_t buf[ATTACK_CM_HDR];

	attack_cm_header(buf, ATTACK_RESPONSE, 200);
	send_data(fd, buf, sizeof(buf));
	wait_for_close(fd);
}

static void too_much_data(int fd)
{
	static uint8_t buf[ATTACK_CM_HDR + 60000];

	attack_cm_header(buf, ATTACK_RESPONSE, 60000);
	send_data(fd, buf, sizeof(buf));
	wait_for_close(fd);
}

static void refuses_bare(int fd)
{
	uint8_t buf[ATTACK_CM_HDR];

	attack_cm_header(buf, ATTACK_NACK, 0);
	send_data(fd, buf, sizeof(buf));
	wait_for_close(fd);
}

static const struct bad_listener listeners[] = {
	{ "silent", stays_silent, "T", true },
	{ "rubbish", sends_garbage, "N", false },
	{ "closes", closes, "N|U", false },
	{ "resets", resets, "N|U", false },
	{ "closes-after-request", closes_after_request, "N|U", false },
	{ "half-header", half_header, "N|T", false },
	{ "half-header-then-closes", half_header_then_closes, "N|U", false },
	{ "header-without-data", header_without_data, "N|T", false },
	{ "too-much-data", too_much_data, "N", false },
	{ "refuses", refuses_bare, "N", false },
};

/* Players */

static void client(void *arg)
{
	const struct bad_listener *s = arg;
	struct rd_ledger l;
	struct rl_limit limit, soon;
	struct rd_mem mem;
	uint64_t began;
	char buf[64];
	struct rd rd;
	unsigned int ms;
	int fds;

	memset(&l, 0, sizeof(l));
	rd_warm_up();
	fds = rl_fds(0);
	rd_open(&rd, 0, 16);
	memcpy(rl_board->addr, &rd.addr, sizeof(rl_board->addr));
	rl_step(ST_ADDR, 1);
	rl_await(ST_LISTEN, 1, 10000);
	rd_reg(&rd, &mem, buf, sizeof(buf));
	rd.ep = l.ep = rd_ep_create(&rd, 4);
	for (int i = 0; i < 2; i++)
		rd_post(&l, RD_RECV, &mem, 0, 64, 0, 0);
	limit = rl_limit(TIMEOUT_MS + 1000);
	soon = rl_limit(TIMEOUT_MS - 100);
	began = rl_now();
	rd_connect(&rd, rd.ep, TIMEOUT_MS, "hello", 5);
	rl_activity("waiting for the event");
	while (!rd_complete(&l, s->conn_events)) {
		ms = (unsigned int)((rl_now() - began) / 1000);
		RL_CHECK(!rl_passed(&limit), "after %u ms: %s", ms, rd_ledger_text(&l));
		rd_drain(&rd, &l);
		rl_sleep_ms(1);
	}
	ms = (unsigned int)((rl_now() - began) / 1000);
	RL_CHECK(!s->timed || ms >= TIMEOUT_MS - 5, "timed out after %u ms already", ms);
	RL_CHECK(s->timed || strchr(s->conn_events, 'T') || !rl_passed(&soon),
		 "only noticed after %u ms", ms);
	rl_step(ST_EVENT, 1);
	rl_sleep_ms(100);
	rd_drain(&rd, &l);
	RL_CHECK(rd_complete(&l, s->conn_events), "additional events: %s", rd_ledger_text(&l));
	RL_CHECK(rd_state(rd.ep) == DAT_EP_STATE_DISCONNECTED, "the EP is in state %d",
		 (int)rd_state(rd.ep));
	RD_OK(dat_ep_reset(rd.ep));
	rd_unreg(&mem);
	rd_close(&rd);
	RL_CHECK(rl_fds(0) == fds, "%d descriptors, %d before it", rl_fds(0), fds);
}

static void bad_listener(void *arg)
{
	const struct bad_listener *s = arg;
	int listener, fd;

	rl_await(ST_ADDR, 1, 10000);
	listener = attack_listen();
	rl_step(ST_LISTEN, 1);
	fd = accept(listener, NULL, NULL);
	RL_CHECK(fd >= 0, "accept: %s", strerror(errno));
	s->answer(fd);
	rl_exit_success();
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 0);
	if (!test_fabric_has(test_fabric(), "sockets")) {
		rl_skip("bad-listener", "a service point is not a TCP port");
		return;
	}
	for (size_t i = 0; i < sizeof(listeners) / sizeof(listeners[0]); i++) {
		if (!rl_begin(listeners[i].name, 15000))
			continue;
		rl_start("client", client, (void *)(uintptr_t)&listeners[i]);
		rl_start("listener", bad_listener, (void *)(uintptr_t)&listeners[i]);
		rl_end();
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 90, run);
}
