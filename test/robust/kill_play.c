/* SPDX-License-Identifier: BSD-2-Clause */
/* Defines the states of a connection in which a peer dies or hangs.
 *
 * The numbers of the victim's and the survivor's memory on the board are 1 and 0.
 */
#include <signal.h>
#include <unistd.h>

#include "../fabrics/fabrics.h"
#include "kill.h"

#define MIB ((size_t)1 << 20)
#define THEIRS(k) ((k)->c->memory[0] == (k)->mem.p ? 1 : 0)

static void nothing(struct kill_ctx *k)
{
	(void)k;
}

static void post(struct kill_ctx *k, enum rd_kind kind, unsigned int count, size_t len)
{
	for (unsigned int i = 0; i < count; i++)
		rd_post(&k->l, kind, &k->mem, i * len, len, THEIRS(k), i * len);
}

/*
 * As many as an EP takes: memory is copied at 10 GB/s or more, and a dozen of these complete
 * before a busy machine schedules the killer.
 */
#define TIMES 32
#define UNREAD 6

/* Connected: what is outstanding */

static void eight_receives(struct kill_ctx *k)
{
	post(k, RD_RECV, 8, 4096);
}

static void big_sends(struct kill_ctx *k)
{
	post(k, RD_SEND, 8, 8 * MIB);
}

/*
 * Hidden from ThreadSanitizer, which would report each word that the threads of the fabric read as
 * a race.
 */
__attribute__((no_sanitize("thread"))) static void readable(struct kill_ctx *k)
{
	volatile uint64_t *p = k->mem.p;

	for (size_t i = 0; i < KILL_AREA / sizeof(*p); i++)
		p[i] = 0x5a5a5a5a5a5a5a5au;
}

static void big_writes(struct kill_ctx *k)
{
	readable(k);
	for (int i = 0; i < TIMES; i++)
		rd_post(&k->l, RD_WRITE, &k->mem, 0, KILL_AREA, THEIRS(k), 0);
}

static void big_read(struct kill_ctx *k)
{
	/* readable() must have written the data before. */
	rl_await(THEIRS(k) ? KS_VICTIM : KS_READY, 1, 10000);
	for (int i = 0; i < TIMES; i++)
		rd_post(&k->l, RD_READ, &k->mem, 0, KILL_AREA, THEIRS(k), 0);
}

static void some_of_all(struct kill_ctx *k)
{
	post(k, RD_RECV, 4, 4096);
	post(k, RD_SEND, 2, 8 * MIB);
	post(k, RD_READ, 1, 32 * MIB);
	post(k, RD_WRITE, 2, 8 * MIB);
}

/* Messages without a receive; complete on fabrics that complete them. */
static void unread_messages(struct kill_ctx *k)
{
	unsigned int complete = test_fabric_has(test_fabric(), "unread") ? UNREAD : 0;

	for (unsigned int i = 0; i < UNREAD; i++)
		rd_post(&k->l, RD_SEND, &k->mem, 0, 1024, 0, 0);
	for (unsigned int i = 0; i < complete; i++) {
		DAT_EVENT ev;

		rd_expect(k->rd.req, DAT_DTO_COMPLETION_EVENT, 5000, &ev);
		rd_ledger_add(&k->l, &ev);
	}
}

static void sends_then_graceful(struct kill_ctx *k)
{
	big_sends(k);
	RD_OK(dat_ep_disconnect(k->l.ep, DAT_CLOSE_GRACEFUL_FLAG));
	RL_CHECK(rd_state(k->l.ep) == DAT_EP_STATE_DISCONNECT_PENDING,
		 "state %d after a graceful disconnect with sends outstanding",
		 (int)rd_state(k->l.ep));
}

static void go(void)
{
	rl_step(KS_VICTIM, 1);
	rl_await(KS_GO, 1, 10000);
	rl_board->t0 = rl_now();
	rl_step(KS_DONE, 1);
}

static void disconnects_and_dies(struct kill_ctx *k)
{
	go();
	RD_OK(dat_ep_disconnect(k->l.ep, DAT_CLOSE_ABRUPT_FLAG));
	raise(SIGKILL);
}

static void exits(struct kill_ctx *k)
{
	(void)k;
	go();
	_exit(0);
}

static void closes_ia(struct kill_ctx *k)
{
	go();
	RD_OK(dat_ia_close(k->rd.ia, DAT_CLOSE_ABRUPT_FLAG));
	for (;;)
		pause();
}

/* Connected: what the survivor does after the peer hangs or is dead */

static void disconnect_abrupt(struct kill_ctx *k)
{
	k->since = rl_now();
	RD_OK(dat_ep_disconnect(k->l.ep, DAT_CLOSE_ABRUPT_FLAG));
}

static void disconnect_graceful(struct kill_ctx *k)
{
	k->since = rl_now();
	RD_OK(dat_ep_disconnect(k->l.ep, DAT_CLOSE_GRACEFUL_FLAG));
}

static void disconnect_both(struct kill_ctx *k)
{
	RD_OK(dat_ep_disconnect(k->l.ep, DAT_CLOSE_GRACEFUL_FLAG));
	disconnect_abrupt(k);
}

static void three_receives(struct kill_ctx *k)
{
	post(k, RD_RECV, 3, 4096);
}

static void free_ep(struct kill_ctx *k)
{
	k->since = rl_now();
	RD_OK(dat_ep_free(k->l.ep));
	k->rd.ep = DAT_HANDLE_NULL;
}

static void close_ia(struct kill_ctx *k)
{
	k->since = rl_now();
	RD_OK(dat_ia_close(k->rd.ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* Not yet connected: the survivor is the active side */

static void listens(struct kill_ctx *k)
{
	rd_listen(&k->rd);
	rl_step(KS_LISTEN, 1);
}

static void takes_request(struct kill_ctx *k)
{
	listens(k);
	k->cr = rd_request(&k->rd, 10000);
}

static void accepts_and_dies(struct kill_ctx *k)
{
	takes_request(k);
	rl_board->t0 = rl_now();
	rl_step(KS_DONE, 1);
	RD_OK(dat_cr_accept(k->cr, k->l.ep, 0, NULL));
	raise(SIGKILL);
}

static void connects(struct kill_ctx *k, unsigned int timeout_ms)
{
	post(k, RD_RECV, 2, 4096);
	rd_connect(&k->rd, k->l.ep, timeout_ms, "who?", 4);
}

static void waits_to_connect(struct kill_ctx *k)
{
	rl_await(KS_LISTEN, 1, 10000);
	(void)k;
}

static void connects_late(struct kill_ctx *k)
{
	k->since = rl_now();
	connects(k, 5000);
}

static void connects_late_short(struct kill_ctx *k)
{
	k->since = rl_now();
	k->at_least_ms = 795;
	connects(k, 800);
}

static void connects_long(struct kill_ctx *k)
{
	rl_await(KS_LISTEN, 1, 10000);
	connects(k, 20000);
}

static void connects_short(struct kill_ctx *k)
{
	rl_await(KS_LISTEN, 1, 10000);
	connects_late_short(k);
}

/* Not yet connected: the survivor is the passive side */

static void has_request(struct kill_ctx *k)
{
	rd_listen(&k->rd);
	rl_step(KS_LISTEN, 1);
	k->cr = rd_request(&k->rd, 10000);
}

static void has_request_and_receives(struct kill_ctx *k)
{
	post(k, RD_RECV, 2, 4096);
	has_request(k);
}

static void knocks(struct kill_ctx *k)
{
	rl_await(KS_LISTEN, 1, 10000);
	rd_connect(&k->rd, k->l.ep, 20000, "who?", 4);
}

static void accept_it(struct kill_ctx *k)
{
	k->since = rl_now();
	RD_OK(dat_cr_accept(k->cr, k->l.ep, 0, NULL));
}

static void reject_it(struct kill_ctx *k)
{
	k->since = rl_now();
	RD_OK(rd_reject(k->cr));
}

static void accept_then_kill(struct kill_ctx *k)
{
	pid_t victim = rl_pid("victim");

	RD_OK(dat_cr_accept(k->cr, k->l.ep, 0, NULL));
	k->since = rl_now();
	kill(victim, SIGKILL);
}

#define WAITS (KM(KM_EVD) | KM(KM_POLL))
#define DOWN "D|B"
#define SOME (KM(KM_EVD) | KM(KM_LATE) | KM_LONG)
#define OTHERS (KM(KM_POLL) | KM(KM_CNO) | KM(KM_MERGED) | KM_LONG)

const struct kill_play kill_plays[] = {
	/* connected, the peer is killed */
	{ "idle", nothing, nothing, FAULT_KILL, DOWN, KM_ALL, 0, NULL, 0, 0, false },
	{ "receives", eight_receives, nothing, FAULT_KILL, DOWN, KM_ALL, KF_MUST_FLUSH, NULL, 0, 0,
	  false },
	{ "sends", big_sends, nothing, FAULT_KILL, DOWN, KM_ALL, KF_MUST_FLUSH, NULL, 0, 0, false },
	{ "unread", nothing, unread_messages, FAULT_KILL, DOWN, KM_ALL, 0, NULL, 0, 0, false },
	{ "unread-then-receives", nothing, unread_messages, FAULT_KILL, DOWN, WAITS, 0,
	  three_receives, 0, 0, false },
	{ "writes-out", big_writes, nothing, FAULT_STOP_KILL, DOWN, OTHERS,
	  KF_MUST_FLUSH | KF_STREAM, NULL, 0, MIB, true },
	{ "writes-in", nothing, big_writes, FAULT_KILL, DOWN, SOME, KF_STREAM, NULL, 0, MIB,
	  false },
	{ "read-half-done", big_read, readable, FAULT_STOP_KILL, DOWN, KM_ALL,
	  KF_MUST_FLUSH | KF_STREAM, NULL, 0, 8 * MIB, false },
	{ "read-half-served", readable, big_read, FAULT_KILL, DOWN, SOME, KF_STREAM, NULL, 0,
	  8 * MIB, true },
	{ "everything-posted", some_of_all, nothing, FAULT_KILL, DOWN, KM_ALL, KF_MUST_FLUSH, NULL,
	  0, 0, false },
	{ "own-graceful", sends_then_graceful, nothing, FAULT_KILL, DOWN, OTHERS, KF_MUST_FLUSH,
	  NULL, 0, 0, false },
	{ "peer-graceful", nothing, sends_then_graceful, FAULT_KILL, DOWN, SOME, 0, NULL, 0, 0,
	  false },
	{ "peer-abrupt", eight_receives, disconnects_and_dies, FAULT_SELF, DOWN, OTHERS,
	  KF_MUST_FLUSH, NULL, 0, 0, false },
	{ "peer-exits", eight_receives, exits, FAULT_SELF, DOWN, WAITS, KF_MUST_FLUSH, NULL, 0, 0,
	  false },
	{ "peer-closes-ia", eight_receives, closes_ia, FAULT_SELF, DOWN, WAITS, KF_MUST_FLUSH, NULL,
	  0, 0, false },

	/* connected, the peer hangs */
	{ "hang-idle-abrupt", nothing, nothing, FAULT_STOP, "D", WAITS, 0, disconnect_abrupt, 0, 0,
	  false },
	{ "hang-idle-graceful", nothing, nothing, FAULT_STOP, "D", WAITS, 0, disconnect_graceful, 0,
	  0, false },
	{ "hang-receives-abrupt", eight_receives, nothing, FAULT_STOP, "D", WAITS, KF_MUST_FLUSH,
	  disconnect_abrupt, 0, 0, false },
	{ "hang-receives-graceful", eight_receives, nothing, FAULT_STOP, "D", WAITS, KF_MUST_FLUSH,
	  disconnect_graceful, 0, 0, false },
	{ "hang-sends-abrupt", big_sends, nothing, FAULT_STOP, "D", WAITS, KF_MUST_FLUSH,
	  disconnect_abrupt, 0, 0, false },
	{ "hang-sends-graceful", big_sends, nothing, FAULT_STOP, DOWN, WAITS, KF_MUST_FLUSH,
	  disconnect_graceful, 3000, 0, false },
	{ "hang-sends-graceful-abrupt", big_sends, nothing, FAULT_STOP, "D", WAITS, KF_MUST_FLUSH,
	  disconnect_both, 0, 0, false },
	{ "hang-unread-abrupt", nothing, unread_messages, FAULT_STOP, "D", WAITS, 0,
	  disconnect_abrupt, 0, 0, false },
	{ "hang-read-abrupt", big_read, readable, FAULT_STOP, "D", WAITS, KF_MUST_FLUSH | KF_STREAM,
	  disconnect_abrupt, 0, 8 * MIB, false },
	{ "hang-writes-abrupt", big_writes, nothing, FAULT_STOP, "D", WAITS,
	  KF_MUST_FLUSH | KF_STREAM, disconnect_abrupt, 0, MIB, true },
	{ "hang-everything-abrupt", some_of_all, nothing, FAULT_STOP, "D", WAITS, KF_MUST_FLUSH,
	  disconnect_abrupt, 0, 0, false },
	{ "hang-everything-free", some_of_all, nothing, FAULT_STOP, "", WAITS, KF_LOOSE, free_ep, 0,
	  0, false },
	{ "hang-read-free", big_read, readable, FAULT_STOP, "", WAITS, KF_LOOSE | KF_STREAM,
	  free_ep, 0, 8 * MIB, false },
	{ "hang-everything-close", some_of_all, nothing, FAULT_STOP, "", KM(KM_EVD),
	  KF_LOOSE | KF_CLOSED, close_ia, 0, 0, false },
	{ "hang-read-close", big_read, readable, FAULT_STOP, "", KM(KM_EVD),
	  KF_LOOSE | KF_CLOSED | KF_STREAM, close_ia, 0, 8 * MIB, false },

	/* the survivor connects */
	{ "listener-killed", waits_to_connect, listens, FAULT_KILL, "N|U",
	  WAITS | KM(KM_CNO) | KM(KM_LATE), KF_BEFORE | KF_MUST_FLUSH, connects_late, 0, 0, false },
	{ "listener-hangs", waits_to_connect, listens, FAULT_STOP, "T", WAITS | KM(KM_CNO),
	  KF_BEFORE | KF_MUST_FLUSH, connects_late_short, 1800, 0, false },
	{ "pending-killed", connects_long, takes_request, FAULT_KILL, "N|U", SOME,
	  KF_BEFORE | KF_MUST_FLUSH, NULL, 0, 0, false },
	{ "pending-hangs", connects_short, takes_request, FAULT_STOP, "T", WAITS | KM(KM_CNO),
	  KF_BEFORE | KF_MUST_FLUSH, NULL, 1800, 0, false },
	{ "pending-given-up", connects_long, takes_request, FAULT_STOP, "D", WAITS,
	  KF_BEFORE | KF_MUST_FLUSH, disconnect_abrupt, 0, 0, false },
	{ "pending-freed", connects_long, takes_request, FAULT_STOP, "", WAITS,
	  KF_BEFORE | KF_LOOSE, free_ep, 0, 0, false },
	{ "accepting-killed", connects_long, accepts_and_dies, FAULT_SELF, "N|U|ED|EB", OTHERS,
	  KF_BEFORE | KF_MUST_FLUSH | KF_STREAM, NULL, 0, 0, false },

	/* the survivor listens */
	{ "client-killed-accept", has_request_and_receives, knocks, FAULT_KILL, "A|ED|EB",
	  WAITS | KM(KM_CNO), KF_BEFORE | KF_PASSIVE | KF_MUST_FLUSH, accept_it, 0, 0, false },
	{ "client-killed-reject", has_request, knocks, FAULT_KILL, "", WAITS,
	  KF_BEFORE | KF_PASSIVE | KF_ANY_STATE, reject_it, 0, 0, false },
	{ "client-hangs-accept-killed", has_request_and_receives, knocks, FAULT_STOP, "A|ED|EB",
	  WAITS | KM(KM_CNO), KF_BEFORE | KF_PASSIVE | KF_MUST_FLUSH, accept_then_kill, 0, 0,
	  false },
	{ "client-hangs-accept", has_request_and_receives, knocks, FAULT_STOP, "A|E", WAITS,
	  KF_BEFORE | KF_PASSIVE | KF_LOOSE | KF_ANY_STATE, accept_it, 0, 0, false },
};

const unsigned int kill_play_count = sizeof(kill_plays) / sizeof(kill_plays[0]);
