/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that every message arrives in bounded time while its receiver changes, at random moments,
 * between all ways of receiving: polling its queue or another one, waiting, sleeping without a
 * call, and spinning on memory. Each change takes the queues from a consumer, a waiting thread or
 * the progress thread, and gives them to another of these.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rdat.h"

enum step { ST_LISTEN, ST_UP, ST_DONE = 4 };

#define CHANGES 600u
#define BOUND_MS 1000
#define RECVS 4
#define LEN 64
/* Somewhat more than the thread waits until it takes the queues over (progress_wakeup.h). */
#define LONGEST_US 1500

/* What a side does: with the time limit 0, until the message has arrived. */
enum way { POLLS, POLLS_OTHER, POLLS_IN_TURN, WAITS, WAITS_SHORTLY, NAPS, SPINS, WAYS };

static const char *const way_names[] = { "polls",         "polls another", "polls in turn", "waits",
					 "waits shortly", "naps",          "spins" };

struct side {
	int index;
	struct rd rd;
	struct rd_mem mem; /* message to send, RECVS to receive, written by the peer */
	volatile unsigned char *memory;
	uint64_t common, own; /* random numbers */
	unsigned int n;       /* number of the message, from 1 */
	unsigned int taken;   /* sends */
	bool is_write;        /* the current message */
	uint64_t slowest;
	const char *slowest_way;
};

static unsigned char *memory[2];

static unsigned char number(const struct side *s)
{
	return (unsigned char)(s->n % 250 + 1);
}

static size_t place(const struct side *s)
{
	return s->is_write ? (size_t)(RECVS + 1) * LEN : (size_t)(1 + s->taken % RECVS) * LEN;
}

/* A data race by design. */
__attribute__((no_sanitize("thread"))) static bool in_memory(const struct side *s)
{
	return s->memory[place(s) + LEN - 1] == number(s);
}

static bool is_completion(const struct side *s, DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &ev->event_data.dto_completion_event_data;

	RL_CHECK(ev->event_number == DAT_DTO_COMPLETION_EVENT && !dto->status,
		 "message %u: %s with status %d", s->n, rd_event_text(ev->event_number),
		 ev->event_number == DAT_DTO_COMPLETION_EVENT ? (int)dto->status : 0);
	return true;
}

static bool wait_for(struct side *s, unsigned int us)
{
	DAT_COUNT more;
	DAT_EVENT ev;
	DAT_RETURN ret = dat_evd_wait(s->rd.recv, us, 1, &ev, &more);

	RL_CHECK(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED, "message %u: %s",
		 s->n, rd_text(ret));
	return ret == DAT_SUCCESS && is_completion(s, &ev);
}

/* One step of that way; true: a receive has completed. */
static bool step_of(struct side *s, enum way way, unsigned int i)
{
	struct timespec nap = { .tv_nsec = 30000 };
	DAT_EVENT ev;

	switch (way) {
	case POLLS_OTHER:
		RL_CHECK(!rd_poll(i % 2 ? s->rd.req : s->rd.conn, &ev), "an event too many");
		return false;
	case POLLS_IN_TURN:
		if (i % 2) {
			RL_CHECK(!rd_poll(s->rd.req, &ev), "an event too many");
			return false;
		}
		/* fall through */
	case POLLS:
		return rd_poll(s->rd.recv, &ev) && is_completion(s, &ev);
	case WAITS:
		return wait_for(s, BOUND_MS * 4000u);
	case WAITS_SHORTLY:
		return wait_for(s, 100);
	case NAPS:
		nanosleep(&nap, NULL);
		return false;
	default:
		return false;
	}
}

/* Does one of them for a while. True: a receive has completed. */
static bool idle(struct side *s)
{
	enum way way = (enum way)(rl_random(&s->own) % WAYS);
	uint64_t end = rl_now() + rl_random(&s->own) % LONGEST_US;

	if (way == WAITS)
		way = WAITS_SHORTLY;
	for (unsigned int i = 0; rl_now() < end; i++)
		if (step_of(s, way, i))
			return true;
	return false;
}

static void take(struct side *s, bool done)
{
	enum way way = (enum way)(rl_random(&s->own) % WAYS);
	bool by_memory = s->is_write || way == POLLS_OTHER || way >= NAPS;
	struct rl_limit limit = rl_limit(BOUND_MS);
	uint64_t took;

	if (done)
		by_memory = false;
	if (s->is_write && way == WAITS)
		way = WAITS_SHORTLY;
	rl_activity("message %u, %s, %s", s->n, s->is_write ? "a write" : "a send", way_names[way]);
	for (unsigned int i = 0; !done; i++) {
		if (step_of(s, way, i)) {
			RL_CHECK(!s->is_write, "a completion too many");
			by_memory = false;
			break;
		}
		done = by_memory && in_memory(s);
		RL_CHECK(i % 64 || !rl_passed(&limit),
			 "message %u, %s, does not arrive: it %s; peer: %s", s->n,
			 s->is_write ? "a write" : "a send", way_names[way],
			 rl_board->player[!s->index].activity);
	}
	RL_CHECK(!done || !s->is_write || by_memory, "a completion too many");
	RL_CHECK(!rl_passed(&limit), "message %u, %s, was late: it %s", s->n,
		 s->is_write ? "a write" : "a send", way_names[way]);
	took = rl_now() - rl_board->t0;
	if (took > s->slowest && took < 1000000) {
		s->slowest = took;
		s->slowest_way = way_names[way];
	}
	while (by_memory && !s->is_write && !step_of(s, POLLS, 0))
		RL_CHECK(!rl_passed(&limit), "message %u: no completion", s->n);
	if (s->is_write)
		return;
	RL_CHECK(in_memory(s), "message %u: wrong data", s->n);
	RD_OK(rd_recv(s->rd.ep, &s->mem, place(s), LEN, s->n));
	s->taken++;
}

static void give(struct side *s)
{
	struct rl_limit limit;
	DAT_COUNT more;
	DAT_EVENT ev;

	memset((void *)s->memory, number(s), LEN);
	rl_activity("sending message %u", s->n);
	rl_board->t0 = rl_now();
	limit = rl_limit(BOUND_MS);
	if (s->is_write)
		RD_OK(rd_write(s->rd.ep, &s->mem, 0, LEN, s->n, !s->index, place(s)));
	else
		RD_OK(rd_send(s->rd.ep, &s->mem, 0, LEN, s->n));
	if (rl_random(&s->own) % 2) {
		while (!rd_poll(s->rd.req, &ev))
			RL_CHECK(!rl_passed(&limit), "message %u does not complete", s->n);
	} else {
		RD_OK(dat_evd_wait(s->rd.req, BOUND_MS * 4000u, 1, &ev, &more));
	}
	is_completion(s, &ev);
	RL_CHECK(!rl_passed(&limit), "message %u completed late", s->n);
}

static void play(void *arg)
{
	struct side s = { .index = arg != NULL, .common = 4711 };
	bool early;

	s.own = (uint64_t)s.index + 42 + (uint64_t)rl_now();
	s.memory = memory[s.index];
	rd_open(&s.rd, 0, 64);
	rd_reg(&s.rd, &s.mem, memory[s.index], (RECVS + 2) * LEN);
	rd_show(s.index, &s.mem);
	s.rd.ep = rd_ep_create(&s.rd, 16);
	for (int i = 0; i < RECVS; i++)
		RD_OK(rd_recv(s.rd.ep, &s.mem, (size_t)(1 + i) * LEN, LEN, 0));
	rd_meet(&s.rd, s.rd.ep, s.index, ST_LISTEN);
	rl_step(ST_UP + s.index, 1);
	rl_await(ST_UP + !s.index, 1, 10000);
	for (s.n = 1; s.n <= CHANGES * rl_long(); s.n++) {
		s.is_write = rl_random(&s.common) % 2;
		early = idle(&s);
		RL_CHECK(!early || (int)(s.n % 2) != s.index, "a completion too many");
		if ((int)(s.n % 2) == s.index)
			give(&s);
		else
			take(&s, early);
	}
	rl_note("slowest of %u messages: %.3f ms (%s)", CHANGES / 2 * rl_long(),
		(double)s.slowest / 1000, s.slowest_way);
	rl_step(ST_DONE + s.index, 1);
	rl_await(ST_DONE + !s.index, 1, 10000);
	rd_unreg(&s.mem);
	rd_close(&s.rd);
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 0);
	if (!rl_begin("changes", 30000 * rl_long()))
		return;
	for (int side = 0; side < 2; side++)
		memory[side] = rl_shared((RECVS + 2) * LEN);
	rl_start("left", play, NULL);
	rl_start("right", play, memory);
	rl_end();
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 40, run);
}
