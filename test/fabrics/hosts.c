/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests connections between two hosts: over a link that loses frames, over one that is cut in any
 * state of a connection, with two links, and with a peer that is stopped. Option: -v shows the
 * number of frames. Needs root and /dev/net/tun, and is skipped without.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fabrics.h"
#include "hosts.h"

static const struct plan plans[] = {
	{ "clean", 0, LOAD_NONE, DEED_NONE, "E" },
	{ "loss-1-percent", 10, LOAD_NONE, DEED_NONE, "E" },
	{ "loss-5-percent", 50, LOAD_NONE, DEED_NONE, "E" },
	{ "blink-idle", 0, LOAD_RECEIVES, DEED_BLINK, "E" },
	{ "blink-sending", 0, LOAD_SENDS, DEED_BLINK, "E" },
	{ "blink-reading", 0, LOAD_READS, DEED_BLINK, "E" },
	{ "cut-idle", 0, LOAD_RECEIVES, DEED_CUT, "EB|ED" },
	{ "cut-sending", 0, LOAD_SENDS, DEED_CUT, "EB|ED" },
	{ "cut-writing", 0, LOAD_WRITES, DEED_CUT, "EB|ED" },
	{ "cut-reading", 0, LOAD_READS, DEED_CUT, "EB|ED" },
	{ "interface-down-idle", 0, LOAD_RECEIVES, DEED_DOWN, "EB|ED" },
	{ "interface-down-sending", 0, LOAD_SENDS, DEED_DOWN, "EB|ED" },
	{ "stopped-idle", 0, LOAD_RECEIVES, DEED_STOP, "E" },
	{ "stopped-sending", 0, LOAD_SENDS, DEED_STOP, "E" },
	{ "stopped-writing", 0, LOAD_WRITES, DEED_STOP, "E" },
	{ "stopped-reading", 0, LOAD_READS, DEED_STOP, "E" },
	{ "stopped-then-cut", 0, LOAD_SENDS, DEED_STOP_CUT, "EB|ED" },
	{ "receives-come-late", 0, LOAD_SENDS, DEED_WAIT, "E" },
};

/* Outstanding at the time of the fault: more than the socket buffers of both kernels hold. */
static void begin_load(struct side *s)
{
	int late = s->plan->deed == DEED_WAIT;

	hosts_fill(s, 0, s->host, CHUNKS);
	if (s->plan->load == LOAD_RECEIVES)
		for (int i = 0; i < ALWAYS_INLINE; i++)
			rd_post(&s->l, RD_RECV, &s->mem, hosts_at(1, i), PIECE, 0, 0);
	if (s->host && s->plan->load == LOAD_SENDS && !late)
		for (int i = 0; i < CHUNKS; i++)
			rd_post(&s->l, RD_RECV, &s->mem, hosts_at(1, i), CHUNK, 0, 0);
	hosts_sync(s);
	if (s->host)
		return;
	for (int i = 0; i < CHUNKS; i++) {
		if (s->plan->load == LOAD_SENDS)
			rd_post(&s->l, RD_SEND, &s->mem, hosts_at(0, i), CHUNK, 0, 0);
		if (s->plan->load == LOAD_WRITES)
			rd_post(&s->l, RD_WRITE, &s->mem, hosts_at(0, i), CHUNK, 1, hosts_at(2, i));
		if (s->plan->load == LOAD_READS)
			rd_post(&s->l, RD_READ, &s->mem, hosts_at(1, i), CHUNK, 1, hosts_at(0, i));
	}
	if (s->plan->deed == DEED_CUT) {
		rl_board->t0 = rl_now();
		net_lose(0, 1000);
	}
}

static void end_load(struct side *s)
{
	if (s->host && s->plan->deed == DEED_WAIT) {
		rl_await(ST_DONE, 1, 30000);
		for (int i = 0; i < CHUNKS; i++)
			rd_post(&s->l, RD_RECV, &s->mem, hosts_at(1, i), CHUNK, 0, 0);
	}
	/* Receives wait for the exchange, and are its first. */
	if (s->plan->load == LOAD_RECEIVES) {
		rl_await(ST_DONE, 1, 30000);
		for (int i = 0; i < ALWAYS_INLINE; i++)
			rd_post(&s->l, RD_SEND, &s->mem, hosts_at(0, i), PIECE, 0, 0);
	}
	hosts_wait_until(s, "E", 60000, "what was under way");
	RL_CHECK(!s->l.flushed, "something was flushed");
	hosts_sync(s);
	if (s->plan->load == LOAD_RECEIVES)
		hosts_verify(s, 1, 0, 0, ALWAYS_INLINE, PIECE, "messages");
	if (s->host && s->plan->load == LOAD_SENDS)
		hosts_verify(s, 1, 0, 0, CHUNKS, CHUNK, "messages");
	if (s->host && s->plan->load == LOAD_WRITES)
		hosts_verify(s, 2, 0, 0, CHUNKS, CHUNK, "writes");
	if (!s->host && s->plan->load == LOAD_READS)
		hosts_verify(s, 1, 0, 0, CHUNKS, CHUNK, "reads");
	hosts_sync(s);
}

static void play(void *arg)
{
	const struct role *role = arg;
	struct side s;

	hosts_open(&s, role);
	hosts_connect(&s);
	hosts_exchange(&s);
	if (role->plan->deed != DEED_NONE) {
		begin_load(&s);
		atomic_fetch_or(&rl_board->step[ST_DEED], 1 << s.host);
		if (!strcmp(role->plan->words, "E"))
			end_load(&s);
		else
			hosts_detect_end(&s);
	}
	if (!strcmp(role->plan->words, "E")) {
		hosts_exchange(&s);
		if (s.host)
			RD_OK(dat_ep_disconnect(s.rd.ep, DAT_CLOSE_GRACEFUL_FLAG));
		hosts_wait_until(&s, "ED", 20000, "disconnecting");
	}
	hosts_close(&s);
}

static void hangman(void *arg)
{
	const struct plan *plan = arg;
	pid_t pid;

	rl_activity("waiting for its hour");
	rl_await(ST_DEED, 3, 90000);
	pid = rl_pid("host-1");
	if (plan->deed != DEED_CUT)
		rl_board->t0 = rl_now();
	switch (plan->deed) {
	case DEED_DOWN:
		net_link(0, 0, false);
		break;
	case DEED_BLINK:
		net_lose(0, 1000);
		rl_sleep_ms(KEEPALIVE_S * 600);
		net_lose(0, 0);
		break;
	case DEED_STOP_CUT:
		kill(pid, SIGSTOP);
		rl_wait_state(pid, 'T');
		net_lose(0, 1000);
		/*
		 * The survivor must detect the fault while the other one is stopped, the other one
		 * when it continues.
		 */
		rl_step(ST_DONE, 1);
		rl_sleep_ms(GONE_MS);
		kill(pid, SIGCONT);
		return;
	case DEED_STOP:
		kill(pid, SIGSTOP);
		rl_wait_state(pid, 'T');
		rl_sleep_ms(KEEPALIVE_S * 3500);
		kill(pid, SIGCONT);
		break;
	case DEED_WAIT:
		rl_sleep_ms(KEEPALIVE_S * 3500);
		break;
	case DEED_CUT: /* the first host has applied the fault */
	case DEED_NONE:
		break;
	}
	rl_step(ST_DONE, 1);
}

static void run_plan(const struct plan *plan)
{
	struct role roles[2] = { { plan, 0, 0, net_wire(0) }, { plan, 1, 0, net_wire(0) } };

	if (!rl_begin(plan->name, 120000))
		return;
	hosts_set_timeout(plan->deed == DEED_NONE || plan->deed == DEED_BLINK);
	/*
	 * A peer that is stopped, or receives nothing, is not disconnected, however long it takes.
	 */
	if (plan->deed == DEED_STOP || plan->deed == DEED_WAIT)
		setenv("DAPL_OFI_STALL_MS", "800", 1);
	net_lose(0, plan->loss);
	net_lose(1, 0);
	net_carry();
	rl_start("host-1", play, &roles[1]);
	rl_start("host-0", play, &roles[0]);
	if (plan->deed != DEED_NONE)
		rl_start("hangman", hangman, (void *)(uintptr_t)plan);
	if (rl_end() && rl_option("-v", NULL))
		rl_note("%s: %llu frames carried, %llu lost", plan->name,
			(unsigned long long)net_carried(), (unsigned long long)net_lost());
	unsetenv("DAPL_OFI_STALL_MS");
	if (plan->deed == DEED_DOWN)
		net_link(0, 0, true);
}

static void run(void)
{
	const struct test_fabric *fabric = test_fabric();
	char why[120] = "the fabric does not reach other hosts through IP interfaces";

	setenv("DAPL_OFI_LOG", "0", 0);
	if (!fabric || !test_fabric_has(fabric, "hosts") || !net_make(why, sizeof(why))) {
		rl_skip("hosts", why);
		return;
	}
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
		run_plan(&plans[i]);
	hosts_more();
	hosts_firewall();
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 400, run);
}
