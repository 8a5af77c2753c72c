/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests two hosts with a firewall that passes only the port of the qualifier and silently drops
 * the data ports of all fabrics. A connection is established only if data passes, and ends when
 * data no longer passes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "hosts.h"

#define LIMIT_MS 4000
#define ACCEPT_MS "4000"
#define STALL_MS "3000"
#define SIZE 64

static const struct plan from_the_start = { "firewall", 0, LOAD_NONE, DEED_NONE, NULL };
static const struct plan later = { "firewall-later", 0, LOAD_NONE, DEED_NONE, NULL };

/* The valid outcomes; established without data is not among them. */
static void from_start(void *arg)
{
	const struct role *role = arg;
	const char *words = role->host ? "A" : "T|U|N";
	uint64_t began;
	struct side s;

	hosts_open(&s, role);
	if (role->host) {
		rd_listen(&s.rd);
		net_only_port((uint16_t)rl_board->qual);
		rl_step(ST_LISTEN, 1);
		RD_OK(dat_cr_accept(rd_request(&s.rd, 20000), s.rd.ep, 0, NULL));
	} else {
		rl_await(ST_LISTEN, 1, 20000);
		rd_connect(&s.rd, s.rd.ep, LIMIT_MS, NULL, 0);
	}
	began = rl_now();
	hosts_wait_until(&s, words, rl_bound(LIMIT_MS + 4000), "connecting");
	rl_note("%s after %llu ms", s.l.conn, (unsigned long long)(rl_now() - began) / 1000);
	hosts_sync(&s);
	hosts_close(&s);
}

/* Data passes, then no longer: posted operations end with the connection, on both hosts. */
static void goes_up_later(void *arg)
{
	const struct role *role = arg;
	uint64_t began;
	struct side s;

	hosts_open(&s, role);
	hosts_connect(&s);
	hosts_exchange(&s);
	hosts_sync(&s);
	if (!role->host)
		net_only_port((uint16_t)rl_board->qual);
	hosts_sync(&s);
	began = rl_now();
	if (role->host)
		rd_post(&s.l, RD_RECV, &s.mem, hosts_at(1, 0), SIZE, 0, 0);
	else
		rd_post(&s.l, RD_SEND, &s.mem, hosts_at(0, 0), SIZE, 0, 0);
	hosts_wait_until(&s, "EB|ED", rl_bound(3 * (unsigned int)atoi(STALL_MS)),
			 "the end of a connection over which nothing moves");
	RL_CHECK(s.l.flushed, "nothing was flushed");
	rl_note("%s after %llu ms", s.l.conn, (unsigned long long)(rl_now() - began) / 1000);
	hosts_close(&s);
}

static void run_pair(const struct plan *plan, void (*play)(void *))
{
	struct role roles[2] = { { plan, 0, 0, net_wire(0) }, { plan, 1, 0, net_wire(0) } };

	if (!rl_begin(plan->name, 60000))
		return;
	/* Over tcp the silence of the host ends the connection, over rxm DAPL_OFI_STALL_MS. */
	hosts_set_timeout(false);
	setenv("DAPL_OFI_ACCEPT_MS", ACCEPT_MS, 1);
	setenv("DAPL_OFI_STALL_MS", STALL_MS, 1);
	net_lose(0, 0);
	net_only_port(0);
	net_carry();
	rl_start("host-1", play, &roles[1]);
	rl_start("host-0", play, &roles[0]);
	rl_end();
	unsetenv("DAPL_OFI_ACCEPT_MS");
	unsetenv("DAPL_OFI_STALL_MS");
	net_only_port(0);
}

void hosts_firewall(void)
{
	run_pair(&from_the_start, from_start);
	run_pair(&later, goes_up_later);
}
