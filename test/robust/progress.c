/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that a process without DAT calls serves RDMA reads and sees RDMA writes in bounded time,
 * and that the progress thread does not disturb a process that polls.
 *
 * The memory of both sides is shared between the players, so the initiator can check whether the
 * data has arrived.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdat.h"

enum step { ST_LISTEN, ST_SHOWN, ST_QUIET, ST_END };

#define AREA ((size_t)32 << 20)
#define BOUND_MS 300 /* of one small operation */

enum quiet { SPINS, SLEEPS, OTHER_EVD, SAME_EVD, IN_CNO };

struct scene {
	const char *name;
	enum quiet how; /* what the target does instead of making calls */
	unsigned int seconds;
	void (*act)(struct rd *rd, const struct scene *scene, struct rd_mem *mem);
};

static unsigned char *memory[2]; /* target's, initiator's */

/* Target */

static void *wait_on(void *evd)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more);
	return NULL;
}

static void *wait_on_cno(void *cno)
{
	DAT_EVD_HANDLE evd;

	dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &evd);
	return NULL;
}

static void thread(void *(*fn)(void *), void *arg)
{
	pthread_t id;

	RL_CHECK(!pthread_create(&id, NULL, fn, arg), "no thread");
	pthread_detach(id);
}

static void make_no_calls(struct rd *rd, enum quiet how)
{
	if (how == OTHER_EVD)
		thread(wait_on, rd->cr);
	if (how == SAME_EVD)
		thread(wait_on, rd->recv);
	if (how == IN_CNO)
		thread(wait_on_cno, rd->cno);
	rl_activity("making no DAT call");
	rl_step(ST_QUIET, 1);
	if (how == SPINS) {
		volatile unsigned char *last = memory[0] + AREA - 1;
		unsigned long spins = 0;

		while (!rl_board->step[ST_END])
			spins += *last;
		rl_board->value[0] = spins;
		return;
	}
	while (!rl_board->step[ST_END])
		rl_sleep_ms(5);
}

static void target(void *arg)
{
	const struct scene *scene = arg;
	struct rd_mem mem;
	struct rd rd;

	rd_open(&rd, scene->how == IN_CNO ? RD_CNO : 0, 64);
	rd_reg(&rd, &mem, memory[0], AREA);
	rd_show(0, &mem);
	rd.ep = rd_ep_create(&rd, 32);
	rl_fill(memory[0], AREA / 2, 5);
	for (int i = 0; i < 8; i++)
		RD_OK(rd_recv(rd.ep, &mem, AREA / 2 + (size_t)i * (1 << 20), 1 << 20, 1));
	rd_listen(&rd);
	rl_step(ST_LISTEN, 1);
	rd_accept_up(&rd, rd.ep);
	if (scene->how == IN_CNO) {
		DAT_EVD_HANDLE evd;

		while (dat_cno_wait(rd.cno, 0, &evd) == DAT_SUCCESS)
			;
	}
	make_no_calls(&rd, scene->how);
	rl_exit_success();
}

/* Initiator */

static unsigned int ms_since(uint64_t began)
{
	return (unsigned int)((rl_now() - began) / 1000);
}

/* Small writes and larger reads, with pauses in which the target's threads fall asleep. */
static void ping(struct rd *rd, const struct scene *scene, struct rd_mem *mem)
{
	uint64_t end = rl_now() + (uint64_t)scene->seconds * rl_long() * 1000000;
	unsigned int worst_write = 0, worst_read = 0, n = 0, ms;

	while (rl_now() < end || n < 5) {
		size_t at = AREA - 64;
		struct rl_limit limit = rl_limit(BOUND_MS);
		uint64_t began;

		rl_fill(memory[1], 64, ++n);
		rl_activity("write %u", n);
		began = rl_now();
		RD_OK(rd_write(rd->ep, mem, 0, 64, n, 0, at));
		rd_expect_dto(rd->req, n, 5000);
		/* Completion of a write means that the target can see it. */
		RL_CHECK(rl_differs(memory[0] + at, 64, n) < 0,
			 "write %u has completed but is not in the target's memory", n);
		ms = ms_since(began);
		RL_CHECK(!rl_passed(&limit), "write %u took %u ms", n, ms);
		worst_write = ms > worst_write ? ms : worst_write;
		rl_sleep_ms(n % 4 * 10);

		rl_activity("read %u", n);
		memset(memory[1], 0, 1 << 20);
		limit = rl_limit(2 * BOUND_MS);
		began = rl_now();
		RD_OK(rd_read(rd->ep, mem, 0, 1 << 20, n, 0, 0));
		rd_expect_dto(rd->req, n, 5000);
		ms = ms_since(began);
		RL_CHECK(rl_differs(memory[1], 1 << 20, 5) < 0, "read %u: wrong data", n);
		RL_CHECK(!rl_passed(&limit), "read %u took %u ms", n, ms);
		worst_read = ms > worst_read ? ms : worst_read;
		rl_sleep_ms(n % 3 * 10);
	}
	rl_note("%s: %u writes and reads, slowest %u ms and %u ms", scene->name, n, worst_write,
		worst_read);
}

static void wait_for_byte(volatile unsigned char *p, unsigned char value, const char *what)
{
	struct rl_limit limit = rl_limit(2000);
	uint64_t began = rl_now();

	while (*p != value) {
		RL_CHECK(!rl_passed(&limit), "%s does not arrive", what);
		rl_sleep_ms(1);
	}
	rl_note("%s arrived after %u ms", what, ms_since(began));
}

/* Neither process makes a call during the transfer. */
static void silent_write(struct rd *rd, const struct scene *scene, struct rd_mem *mem)
{
	size_t len = AREA / 2;

	(void)scene;
	memset(memory[1], 0xa5, len);
	memory[0][AREA - 1] = 0;
	RD_OK(rd_write(rd->ep, mem, 0, len, 1, 0, AREA - len));
	rl_activity("waiting without a call for a write");
	wait_for_byte(memory[0] + AREA - 1, 0xa5, "a 16 MiB write between silent processes");
	rd_expect_dto(rd->req, 1, 5000);
}

static void silent_read(struct rd *rd, const struct scene *scene, struct rd_mem *mem)
{
	size_t len = AREA / 2;

	(void)scene;
	memset(memory[0], 0xa5, len);
	RD_OK(rd_read(rd->ep, mem, 0, len, 1, 0, 0));
	rl_activity("waiting without a call for a read");
	wait_for_byte(memory[1] + len - 1, 0xa5, "a 16 MiB read between silent processes");
	rd_expect_dto(rd->req, 1, 5000);
}

static void silent_sends(struct rd *rd, const struct scene *scene, struct rd_mem *mem)
{
	size_t len = 1 << 20;

	(void)scene;
	memset(memory[1], 0xa5, 8 * len);
	for (unsigned int i = 0; i < 8; i++)
		RD_OK(rd_send(rd->ep, mem, i * len, len, i));
	rl_activity("waiting without a call for sends");
	wait_for_byte(memory[0] + AREA / 2 + 8 * len - 1, 0xa5,
		      "8 sends of 1 MiB between silent "
		      "processes");
	for (unsigned int i = 0; i < 8; i++)
		rd_expect_dto(rd->req, i, 5000);
}

/* Writes 1 MiB, eight at a time, for `span_ms`; returns the number of writes. */
static unsigned int stream_for(struct rd *rd, struct rd_mem *mem, unsigned int span_ms)
{
	enum { WINDOW = 8 };
	unsigned int posted = 0, taken = 0, ms;
	struct rl_limit limit = rl_limit(8000);
	uint64_t began = rl_now();
	DAT_EVENT ev;

	while ((ms = ms_since(began)) < span_ms || taken < posted) {
		while (ms < span_ms && posted < taken + WINDOW) {
			RD_OK(rd_write(rd->ep, mem, (size_t)(posted % WINDOW) << 20, 1 << 20,
				       posted, 0, 0));
			posted++;
		}
		if (rd_poll(rd->req, &ev)) {
			RL_CHECK(!ev.event_data.dto_completion_event_data.status, "write %u",
				 taken);
			taken++;
		}
		RL_CHECK(!rl_passed(&limit), "the writes do not end");
	}
	return taken;
}

/*
 * A polling process spends most of its time copying in its posts; the progress thread must not
 * treat it as idle. On a busy machine it may be preempted at times.
 */
static void stream(struct rd *rd, const struct scene *scene, struct rd_mem *mem)
{
	unsigned int span_ms = rl_bound(100), least = ~0u, n = 0;

	(void)scene;
	for (int i = 0; i < 10 && least > 2 * span_ms; i++) {
		unsigned long before = rl_progress_sleeps(), woken;

		n += stream_for(rd, mem, span_ms);
		woken = rl_progress_sleeps() - before;
		if (woken < least)
			least = (unsigned int)woken;
	}
	rl_note("%u MiB written; in one of the spans of %u ms the thread woke %u times only", n,
		span_ms, least);
	RL_CHECK(least <= 2 * span_ms, "the thread woke %u times in %u ms or more", least, span_ms);
}

static const struct scene scenes[] = {
	{ "target-spins", SPINS, 1, ping },
	{ "target-sleeps", SLEEPS, 3, ping },
	{ "target-waits-on-another-evd", OTHER_EVD, 1, ping },
	{ "target-waits-on-this-evd", SAME_EVD, 1, ping },
	{ "target-waits-on-cno", IN_CNO, 1, ping },
	{ "both-silent-write", SLEEPS, 0, silent_write },
	{ "both-silent-write-other-evd", OTHER_EVD, 0, silent_write },
	{ "both-silent-read", SLEEPS, 0, silent_read },
	{ "both-silent-sends", SLEEPS, 0, silent_sends },
	{ "busy-is-left-alone", SLEEPS, 0, stream },
};

static void initiator(void *arg)
{
	const struct scene *scene = arg;
	struct rd_mem mem;
	struct rd rd;

	rd_open(&rd, 0, 64);
	rd_reg(&rd, &mem, memory[1], AREA);
	rd.ep = rd_ep_create(&rd, 32);
	rl_await(ST_LISTEN, 1, 10000);
	rd_connect_up(&rd, rd.ep);
	rl_await(ST_QUIET, 1, 10000);
	scene->act(&rd, scene, &mem);
	rl_step(ST_END, 1);
	rl_activity("closing");
	rd_unreg(&mem);
	rd_close(&rd);
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 0);
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		if (!rl_begin(scenes[i].name, 15000 * rl_long()))
			continue;
		for (int side = 0; side < 2; side++)
			memory[side] = rl_shared(AREA);
		rl_start("target", target, (void *)(uintptr_t)&scenes[i]);
		rl_start("initiator", initiator, (void *)(uintptr_t)&scenes[i]);
		rl_end();
		for (int side = 0; side < 2; side++)
			rl_unshare(memory[side], AREA);
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 80, run);
}
