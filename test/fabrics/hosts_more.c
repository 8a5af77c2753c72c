/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests two hosts: connecting over a cut link, two links of which one is cut, two addresses. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "hosts.h"

enum { WORD_QUAL };

static const struct plan over_wires = {
	"one-of-two-wires-cut", 0, LOAD_RECEIVES, DEED_CUT, "EB|ED",
};
static const struct plan addresses = { "two-addresses", 0, LOAD_NONE, DEED_NONE, "E" };
static const struct plan connecting = { "cut-connecting", 0, LOAD_NONE, DEED_CUT, "T|U" };

static void connect_to(struct side *s, const char *address, DAT_CONN_QUAL qual, unsigned int ms)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	inet_pton(AF_INET, address, &sin.sin_addr);
	RD_OK(dat_ep_connect(s->rd.ep, (DAT_IA_ADDRESS_PTR)&sin, qual, ms * 1000, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* No reply, not even to ARP requests. */
static void connects_in_vain(void *arg)
{
	uint64_t began;
	struct side s;

	hosts_open(&s, arg);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < ALWAYS_INLINE; i++)
			rd_post(&s.l, RD_RECV, &s.mem, hosts_at(1, i), PIECE, 0, 0);
		began = rl_now();
		connect_to(&s, net_address(1, 0), 4321, round ? 6000 : 700);
		/*
		 * The time until the kernel reports that a host is unreachable depends on its
		 * neighbour cache.
		 */
		hosts_wait_until(&s, round ? "U|T" : "T", 9000, "giving up");
		RL_CHECK(round || rl_now() - began >= 690000, "too early");
		RL_CHECK(s.l.flushed == ALWAYS_INLINE, "%u of %d flushed", s.l.flushed,
			 ALWAYS_INLINE);
		RD_OK(dat_ep_reset(s.rd.ep));
		memset(&s.l, 0, sizeof(s.l));
		s.l.ep = s.rd.ep;
	}
	hosts_close(&s);
}

static void cut_connecting(void)
{
	struct role role = { &connecting, 0, 0, net_wire(0) };

	if (!rl_begin(connecting.name, 40000))
		return;
	hosts_set_timeout(true);
	net_lose(0, 1000);
	net_carry();
	rl_start("host-0", connects_in_vain, &role);
	rl_end();
}

/* The pair on the second link continues while that on the first detects the cut. */
static void one_of_two(void *arg)
{
	const struct role *role = arg;
	struct side s;

	hosts_open(&s, role);
	/* One pair after the other: they share the board. */
	if (role->pair)
		rl_await(ST_DEED, 3, 30000);
	hosts_connect(&s);
	hosts_exchange(&s);
	if (!role->pair) {
		for (int i = 0; i < ALWAYS_INLINE; i++)
			rd_post(&s.l, RD_RECV, &s.mem, hosts_at(1, i), PIECE, 0, 0);
		hosts_sync(&s);
		rl_step(ST_DEED, 3);
		hosts_detect_end(&s);
		rl_step(ST_MEET + 4 + s.host, 1);
		hosts_close(&s);
		return;
	}
	hosts_sync(&s);
	if (!s.host) {
		rl_board->t0 = rl_now();
		net_lose(0, 1000);
		rl_step(ST_DONE, 1);
	}
	for (int round = 0; round < 200; round++) {
		bool noticed = rl_board->step[ST_MEET + 4] && rl_board->step[ST_MEET + 5];

		/* The ledger has room for a few exchanges. */
		s.l.posted = s.l.completed = 0;
		memset(s.l.op, 0, sizeof(s.l.op));
		hosts_exchange(&s);
		rl_step(ST_MEET + 6 + s.host, noticed ? 1 : 0);
		hosts_sync(&s);
		if (rl_board->step[ST_MEET + 6] && rl_board->step[ST_MEET + 7])
			break;
		rl_sleep_ms(20);
	}
	hosts_sync(&s);
	RL_CHECK(rl_board->step[ST_MEET + 6], "the pair on the cut link does not detect it");
	if (!s.host)
		RD_OK(dat_ep_disconnect(s.rd.ep, DAT_CLOSE_GRACEFUL_FLAG));
	hosts_wait_until(&s, "ED", 20000, "disconnecting");
	hosts_close(&s);
}

static void one_of_two_wires(void)
{
	struct role roles[4] = {
		{ &over_wires, 1, 0, net_wire(0) },
		{ &over_wires, 0, 0, net_wire(0) },
		{ &over_wires, 1, 1, net_wire(1) },
		{ &over_wires, 0, 1, net_wire(1) },
	};
	static const char *const names[] = { "cut-host-1", "cut-host-0", "host-1", "host-0" };

	if (!rl_begin(over_wires.name, 90000))
		return;
	hosts_set_timeout(false);
	net_lose(0, 0);
	net_lose(1, 0);
	net_carry();
	for (int i = 0; i < 4; i++)
		rl_start(names[i], one_of_two, &roles[i]);
	rl_end();
}

/* Two adapters of one host, each bound to an address, listen on the same qualifier. */
static void listens_on_address(void *arg)
{
	const struct role *role = arg;
	struct sockaddr_in from;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct side s;

	hosts_open(&s, role);
	if (role->pair) {
		rl_await(ST_LISTEN, 1, 20000);
		RD_OK(dat_psp_create(s.rd.ia, rl_board->value[WORD_QUAL], s.rd.cr,
				     DAT_PSP_CONSUMER_FLAG, &s.rd.psp));
		rl_step(ST_LISTEN, 2);
	} else {
		rd_listen(&s.rd);
		rl_board->value[WORD_QUAL] = rl_board->qual;
		rl_step(ST_LISTEN, 1);
	}
	cr = rd_request(&s.rd, 30000);
	RD_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	memcpy(&from, param.remote_ia_address_ptr, sizeof(from));
	RL_CHECK(from.sin_addr.s_addr == inet_addr(net_address(0, role->pair)),
		 "the request comes from %s", inet_ntoa(from.sin_addr));
	RD_OK(dat_cr_accept(cr, s.rd.ep, 0, NULL));
	hosts_wait_until(&s, "E", 10000, "accepting");
	hosts_sync(&s);
	hosts_exchange(&s);
	hosts_wait_until(&s, "ED", 20000, "being disconnected");
	hosts_close(&s);
}

static void connects_to_address(void *arg)
{
	const struct role *role = arg;
	struct side s;

	hosts_open(&s, role);
	rl_await(ST_LISTEN, 2, 30000);
	connect_to(&s, net_address(1, role->pair), rl_board->value[WORD_QUAL], 15000);
	hosts_wait_until(&s, "E", 16000, "connecting");
	hosts_sync(&s);
	hosts_exchange(&s);
	RD_OK(dat_ep_disconnect(s.rd.ep, DAT_CLOSE_GRACEFUL_FLAG));
	hosts_wait_until(&s, "ED", 20000, "disconnecting");
	hosts_close(&s);
}

static void two_addresses(void)
{
	struct role roles[4] = {
		{ &addresses, 1, 0, net_address(1, 0) },
		{ &addresses, 1, 1, net_address(1, 1) },
		{ &addresses, 0, 0, net_address(0, 0) },
		{ &addresses, 0, 1, net_address(0, 1) },
	};
	static const char *const names[] = { "first", "second", "to-first", "to-second" };

	if (!rl_begin(addresses.name, 60000))
		return;
	hosts_set_timeout(true);
	net_lose(0, 0);
	net_lose(1, 0);
	net_carry();
	for (int i = 0; i < 4; i++)
		rl_start(names[i], i < 2 ? listens_on_address : connects_to_address, &roles[i]);
	rl_end();
}

void hosts_more(void)
{
	cut_connecting();
	one_of_two_wires();
	two_addresses();
}
