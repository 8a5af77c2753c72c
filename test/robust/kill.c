/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that the death or hang of a peer, in any state of a connection, gives exactly one
 * connection event and one completion for each operation, in time, and leaks nothing.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kill.h"

static const char *const mode_names[] = { "evd-wait", "polling", "cno-wait", "no-call", "one-evd" };

/* How the survivor waits */

static uint64_t start_of_bound(struct kill_ctx *k)
{
	if (k->since)
		return k->since;
	return rl_board->step[KS_DONE] ? rl_board->t0 : 0;
}

static unsigned int bound_of(struct kill_ctx *k)
{
	return rl_bound(k->c->play->bound_ms ? k->c->play->bound_ms : 2000);
}

static void check_bound(struct kill_ctx *k, const char *what)
{
	uint64_t start = start_of_bound(k);

	if (!start)
		return;
	k->limit.end = start + (uint64_t)bound_of(k) * 1000;
	RL_CHECK(!rl_passed(&k->limit), "%s, after %llu ms: %s", what,
		 (unsigned long long)(rl_now() - start) / 1000, rd_ledger_text(&k->l));
}

static bool done(struct kill_ctx *k)
{
	if (k->c->play->flags & KF_LOOSE)
		return rd_conn_events_match(&k->l, k->c->play->conn_events);
	return rd_complete(&k->l, k->c->play->conn_events);
}

static void by_evd_wait(struct kill_ctx *k)
{
	DAT_EVD_HANDLE evds[3] = { k->rd.conn, k->rd.recv, k->rd.req };
	int n = k->c->mode == KM_MERGED ? 1 : 3;
	DAT_EVENT ev;

	/* Blocked for the connection event first, then for the completions that are due. */
	while (!rd_conn_events_match(&k->l, k->c->play->conn_events)) {
		if (rd_next(k->rd.conn, bound_of(k) + 3000, &ev))
			rd_ledger_add(&k->l, &ev);
		check_bound(k, "no connection event");
	}
	while (!done(k)) {
		for (int i = 0; i < n; i++)
			while (rd_next(evds[i], 1, &ev))
				rd_ledger_add(&k->l, &ev);
		check_bound(k, "incomplete");
	}
}

static void by_polling(struct kill_ctx *k)
{
	while (!done(k)) {
		rd_drain(&k->rd, &k->l);
		check_bound(k, "incomplete");
	}
}

static void by_cno_wait(struct kill_ctx *k)
{
	while (!done(k)) {
		DAT_EVD_HANDLE evd;
		DAT_RETURN ret;

		if (rd_drain(&k->rd, &k->l))
			continue;
		ret = dat_cno_wait(k->rd.cno, (bound_of(k) + 3000) * 1000, &evd);
		if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY &&
		    DAT_GET_TYPE(ret) != DAT_INTERRUPTED_CALL)
			RD_OK(ret);
		rd_drain(&k->rd, &k->l);
		check_bound(k, "incomplete");
	}
}

/* All events must be present before the program polls. */
static void by_polling_later(struct kill_ctx *k)
{
	uint64_t later = bound_of(k) - 500, start, now;
	struct rl_limit limit;

	if (!k->since)
		rl_await(KS_DONE, 1, 10000);
	start = start_of_bound(k) + later * 1000;
	now = rl_now();
	if (now < start)
		rl_sleep_ms((unsigned int)((start - now) / 1000));
	limit = rl_limit(100);
	while (!done(k)) {
		rd_drain(&k->rd, &k->l);
		RL_CHECK(!rl_passed(&limit), "%llu ms later not everything is there: %s",
			 (unsigned long long)later, rd_ledger_text(&k->l));
	}
}

/* The survivor's end: no more events, and all objects can be freed */

static void expect_no_more_events(struct kill_ctx *k)
{
	char before[sizeof(k->l.conn)];
	unsigned int completed = k->l.completed;

	memcpy(before, k->l.conn, sizeof(before));
	rl_activity("checking that nothing more comes");
	for (int i = 0; i < 12; i++) {
		rl_sleep_ms(10);
		rd_drain(&k->rd, &k->l);
	}
	RL_CHECK(!strcmp(before, k->l.conn), "more connection events: \"%s\" became \"%s\"", before,
		 k->l.conn);
	RL_CHECK((k->c->play->flags & KF_LOOSE) || completed == k->l.completed,
		 "completions after all had completed");
}

static void reuse_ep(struct kill_ctx *k)
{
	DAT_EVENT ev;

	rl_activity("posting on the disconnected EP");
	RL_CHECK(rd_state(k->l.ep) == DAT_EP_STATE_DISCONNECTED, "the EP is in state %d",
		 (int)rd_state(k->l.ep));
	RD_OK(rd_recv(k->l.ep, &k->mem, 0, 16, 77));
	RL_CHECK(rd_await(k->rd.recv, 500, &ev),
		 "no flush of a receive posted on a disconnected EP");
	RL_CHECK(ev.event_number == DAT_DTO_COMPLETION_EVENT &&
			 ev.event_data.dto_completion_event_data.user_cookie.as_64 == 77 &&
			 ev.event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED,
		 "the receive posted on a disconnected EP was not flushed");
	rl_activity("resetting the EP");
	RD_OK(dat_ep_reset(k->l.ep));
	RL_CHECK(rd_state(k->l.ep) == DAT_EP_STATE_UNCONNECTED, "state %d after reset",
		 (int)rd_state(k->l.ep));
}

static void close_all(struct kill_ctx *k)
{
	unsigned int flags = k->c->play->flags;
	struct rl_limit limit = rl_limit(3000);
	uint64_t began = rl_now();

	if (!(flags & (KF_LOOSE | KF_ANY_STATE)))
		reuse_ep(k);
	rl_activity("closing the IA");
	if (!(flags & KF_CLOSED)) {
		rd_unreg(&k->mem);
		rd_close(&k->rd);
	}
	RL_CHECK(!rl_passed(&limit), "reset, free and close took %llu ms",
		 (unsigned long long)(rl_now() - began) / 1000);
}

/*
 * Reads that the victim has granted continue without it, and on a busy machine may all complete
 * before the fault.
 */
static void must_have_flushed(struct kill_ctx *k)
{
	const volatile unsigned char *p = k->mem.p;

	if (!k->l.flushed && (k->c->play->flags & KF_STREAM) && k->l.completed == k->l.posted &&
	    p[0] && p[KILL_AREA - 1])
		rl_note("%s: everything was complete before the fault", k->c->play->name);
	else
		RL_CHECK(k->l.flushed, "nothing was flushed: %s", rd_ledger_text(&k->l));
}

/* Players */

static void set_up(struct kill_ctx *k, int side)
{
	unsigned int flags = 0;

	if (!side && k->c->mode == KM_MERGED)
		flags = RD_MERGED;
	if (!side && k->c->mode == KM_CNO)
		flags = RD_CNO;
	rd_open(&k->rd, flags, 128);
	k->rd.ep = k->l.ep = rd_ep_create(&k->rd, 32);
	rd_reg(&k->rd, &k->mem, k->c->memory[side], KILL_AREA);
	rd_show(side, &k->mem);
}

static void connect_both(struct kill_ctx *k, int side)
{
	bool passive = (side == 0) == k->c->passive;

	if (k->c->play->flags & KF_BEFORE)
		return;
	if (passive) {
		rd_listen(&k->rd);
		rl_step(KS_LISTEN, 1);
		rd_accept_up(&k->rd, k->l.ep);
	} else {
		rl_await(KS_LISTEN, 1, 10000);
		rd_connect_up(&k->rd, k->l.ep);
	}
	rl_step(side ? KS_VICTIM_UP : KS_SURVIVOR_UP, 1);
	rl_await(side ? KS_SURVIVOR_UP : KS_VICTIM_UP, 1, 10000);
}

static void survivor(void *arg)
{
	struct kill_ctx ctx, *k = &ctx;
	const struct kill_play *play;
	int fds;

	memset(k, 0, sizeof(*k));
	k->c = arg;
	play = k->c->play;
	rd_warm_up();
	fds = rl_fds(0);
	rl_activity("setting up");
	set_up(k, 0);
	connect_both(k, 0);
	rl_activity("reaching the state");
	play->survivor(k);
	k->limit = rl_limit(0);
	rl_step(KS_READY, 1);
	if (play->after) {
		rl_activity("waiting for the fault");
		rl_await(KS_DONE, 1, 15000);
		rl_activity("acting after the fault");
		play->after(k);
	}
	rl_activity("waiting for events");
	if (!(play->flags & KF_CLOSED)) {
		switch (k->c->mode) {
		case KM_POLL:
			by_polling(k);
			break;
		case KM_CNO:
			by_cno_wait(k);
			break;
		case KM_LATE:
			by_polling_later(k);
			break;
		default:
			by_evd_wait(k);
			break;
		}
		check_bound(k, "complete but late");
		if (k->at_least_ms)
			RL_CHECK(rl_now() - k->since >= (uint64_t)k->at_least_ms * 1000,
				 "timed out too early");
		expect_no_more_events(k);
		if (play->flags & KF_MUST_FLUSH)
			must_have_flushed(k);
		if (k->c->mode == KM_MERGED)
			RL_CHECK(!k->l.success_after_end,
				 "a success was reported after the end of the connection");
		rd_check_order(&k->l);
	}
	close_all(k);
	RL_CHECK(rl_fds(0) == fds, "%d descriptors, %d before it", rl_fds(0), fds);
}

static void victim(void *arg)
{
	struct kill_ctx ctx, *k = &ctx;

	memset(k, 0, sizeof(*k));
	k->c = arg;
	rl_activity("setting up");
	set_up(k, 1);
	connect_both(k, 1);
	rl_activity("reaching the state");
	k->c->play->victim(k);
	rl_step(KS_VICTIM, 1);
	for (;;)
		pause();
}

static void killer(void *arg)
{
	const struct kill_case *c = arg;
	const struct kill_play *play = c->play;
	pid_t v = rl_pid("victim"), s = rl_pid("survivor");
	volatile unsigned char *byte = &c->memory[play->watch_victim][play->watch];

	rl_activity("waiting for the state");
	if (play->survivor && !(play->flags & KF_STREAM))
		rl_await(KS_READY, 1, 20000);
	if (play->deed == FAULT_SELF && (play->flags & KF_BEFORE))
		return;
	if (!play->watch)
		rl_await(KS_VICTIM, 1, 20000);
	if (!play->after && (c->mode == KM_EVD || c->mode == KM_CNO || c->mode == KM_MERGED) &&
	    !(play->flags & KF_STREAM))
		rl_wait_state(s, 'S');
	rl_activity("watching the memory");
	for (struct rl_limit limit = rl_limit(10000); play->watch && !*byte;)
		RL_CHECK(!rl_passed(&limit), "no data arrives");
	if (play->deed == FAULT_SELF) {
		rl_step(KS_GO, 1);
		return;
	}
	if (play->deed == FAULT_STOP || play->deed == FAULT_STOP_KILL) {
		kill(v, SIGSTOP);
		rl_wait_state(v, 'T');
	}
	rl_board->t0 = rl_now();
	if (play->deed != FAULT_STOP)
		kill(v, SIGKILL);
	rl_step(KS_DONE, 1);
}

/* Driver */

static void run_case(const struct kill_play *play, enum kill_mode mode)
{
	struct kill_case c = { play, mode, false, { NULL, NULL } };
	char name[80];

	/* In connected states the sides alternate; before that, the play decides. */
	c.passive = play->flags & KF_BEFORE ? (play->flags & KF_PASSIVE) != 0
					    : mode == KM_POLL || mode == KM_LATE;
	/* Only there is the accepted connection never established. Elsewhere a process of a busy
	 * machine may not run for that long while it connects. */
	if (play->flags & KF_PASSIVE)
		setenv("DAPL_OFI_ACCEPT_MS", "1000", 1);
	else
		unsetenv("DAPL_OFI_ACCEPT_MS");
	snprintf(name, sizeof(name), "%s/%s", play->name, mode_names[mode]);
	if (!rl_begin(name, 20000))
		return;
	for (int i = 0; i < 2; i++)
		c.memory[i] = rl_shared(KILL_AREA);
	rl_start("survivor", survivor, &c);
	rl_start_victim("victim", victim, &c);
	rl_start("killer", killer, &c);
	rl_end();
	for (int i = 0; i < 2; i++)
		rl_unshare(c.memory[i], KILL_AREA);
}

static void run(void)
{
	/* The bound that the cases rely on. */
	setenv("DAPL_OFI_DRAIN_MS", "1000", 1);
	setenv("DAPL_OFI_LOG", "0", 0);
	for (unsigned int i = 0; i < kill_play_count; i++) {
		unsigned int modes = kill_plays[i].modes;

		if ((modes & KM_LONG) && rl_long() > 1)
			modes = KM_ALL;
		for (int mode = 0; mode < KM_COUNT; mode++)
			if (modes & KM(mode))
				run_case(&kill_plays[i], (enum kill_mode)mode);
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 280, run);
}
