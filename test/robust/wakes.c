/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts how often the progress threads wake next to consumers that poll, or wait for, each
 * message.
 *
 * Threads of a busy machine lose the processor, and the progress thread takes the queues over
 * meanwhile. So the players have real-time priority, and a processor each, on which the progress
 * thread preempts them; where that is not permitted, one of many tries must be undisturbed.
 */
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdat.h"

enum step { ST_LISTEN, ST_UP, ST_READY = 4, ST_COUNTED = 6 };

#define SHORT 64
#define WINDOW 64u
#define LONG 65536
#define LONG_WINDOW 16u
#define RECVS 128u
#define TRIES 20
/* Polls of a consumer in quick succession, and then with pauses, before it replies. */
#define BURST 200u
#define SLOW_POLLS 25u
/* Messages for which a side spins on memory before a stream. */
#define SPINS 3000u

enum pattern { STREAM, AFTER_SPINNING, POLLED, BURSTS, WAITED, ASLEEP };

struct scene {
	const char *name;
	enum pattern pattern;
	size_t len;
	unsigned int messages;
	unsigned int most;      /* wakes per 100,000 messages, or per second */
	unsigned int disturbed; /* the same without real-time priority */
	unsigned int first;     /* and those of the beginning */
	unsigned int pause;     /* us for which the program computes between two polls */
};

struct side {
	int index;
	struct rd rd;
	struct rd_mem mem; /* message to send, RECVS to receive */
	unsigned int received, sent;
};

static const struct scene *scene;
static unsigned char *memory[2];

/* False: not permitted, or the other player needs the processor. */
static bool take_processor(int index)
{
	cpu_set_t all, one;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2)
		return false;
	while (!CPU_ISSET(cpu, &all) || index-- > 0)
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return !sched_setaffinity(0, sizeof(one), &one);
}

/* New threads inherit it. */
static bool set_priority(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	return !sched_setscheduler(0, SCHED_FIFO, &param);
}

static void check_completion(const struct side *s, const DAT_EVENT *ev)
{
	RL_CHECK(ev->event_number == DAT_DTO_COMPLETION_EVENT &&
			 !ev->event_data.dto_completion_event_data.status,
		 "%s after %u receives and %u sends", rd_event_text(ev->event_number), s->received,
		 s->sent);
}

static bool take(struct side *s, DAT_EVD_HANDLE evd, bool wait)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	if (wait)
		RD_OK(dat_evd_wait(evd, 10000000, 1, &ev, &more));
	else if (!rd_poll(evd, &ev))
		return false;
	check_completion(s, &ev);
	return true;
}

static bool receive(struct side *s, bool wait)
{
	if (!take(s, s->rd.recv, wait))
		return false;
	RD_OK(rd_recv(s->rd.ep, &s->mem, (size_t)(1 + s->received % RECVS) * scene->len, scene->len,
		      0));
	s->received++;
	return true;
}

static void send_one(struct side *s, unsigned int n)
{
	RD_OK(rd_send(s->rd.ep, &s->mem, 0, scene->len, n));
}

/* A consumer that fills a window and takes all its completions seldom reads the completion queue if
 * the thread does, which wakes for each message then. */
static void send_stream(struct side *s, unsigned int messages)
{
	unsigned int posted = 0, taken = 0, window = scene->len == LONG ? LONG_WINDOW : WINDOW;

	while (taken < messages) {
		while (posted < messages && posted - taken < window)
			send_one(s, posted++);
		while (take(s, s->rd.req, false))
			taken++;
	}
}

static void receive_stream(struct side *s, unsigned int messages)
{
	while (messages)
		messages -= receive(s, false);
}

static void compute(void)
{
	uint64_t end = scene->pause ? rl_now() + scene->pause : 0;

	while (rl_now() < end)
		;
}

/* Nothing arrives before the reply. */
static void poll_before_reply(struct side *s)
{
	for (unsigned int i = 0; i < BURST + SLOW_POLLS; i++) {
		if (i >= BURST)
			compute();
		RL_CHECK(!receive(s, false), "a message after %u that no other has requested",
			 s->received);
	}
}

static void round_trips(struct side *s, unsigned int messages, bool wait)
{
	for (unsigned int i = 0; i < messages; i++) {
		if (!s->index)
			send_one(s, i);
		while (!receive(s, wait))
			compute();
		if (scene->pattern == BURSTS)
			poll_before_reply(s);
		if (s->index)
			send_one(s, i);
		while (!take(s, s->rd.req, false))
			compute();
	}
}

/* A data race by design. */
__attribute__((no_sanitize("thread"))) static bool in_memory(const struct side *s, unsigned char n)
{
	size_t end = (2 + s->received % RECVS) * scene->len;
	const volatile unsigned char *last = &memory[s->index][end - 1];

	return *last == n;
}

/* The right side finds each message by its memory before it dequeues. */
static void spin(struct side *s)
{
	for (unsigned int i = 0; i < SPINS; i++) {
		unsigned char n = (unsigned char)(i % 251 + 1);

		if (!s->index) {
			memset(memory[0], n, scene->len);
			send_one(s, i);
		}
		while (s->index && !in_memory(s, n))
			;
		while (!receive(s, false))
			;
		if (s->index)
			send_one(s, i);
		while (!take(s, s->rd.req, false))
			;
	}
}

/* With a sanitizer, where wakes are not judged, these take tens of seconds on a busy machine. */
static unsigned int messages(void)
{
	return scene->messages / (RL_SANITIZED ? 10 : 1);
}

/* Returns how many wakes were too many. */
static unsigned int count_once(struct side *s, unsigned int ceiling)
{
	unsigned long before, woken, most;
	uint64_t began;

	if (scene->pattern == AFTER_SPINNING)
		spin(s);
	before = rl_progress_sleeps();
	began = rl_now();
	if (scene->pattern >= POLLED)
		round_trips(s, messages(), scene->pattern == WAITED || scene->pattern == ASLEEP);
	else if (s->index)
		send_stream(s, messages());
	else
		receive_stream(s, messages());
	woken = rl_progress_sleeps() - before;
	began = rl_now() - began;
	most = scene->first + (unsigned long)ceiling * messages() / 100000;
	if (began > (uint64_t)messages() * 10)
		most = scene->first + (unsigned long)(ceiling * began / 1000000);
	rl_note("%s: %u in %.3f s: the thread woke %lu times, of %lu that are permitted",
		s->index ? "right" : "left", messages(), (double)began / 1e6, woken, most);
	return woken > most ? (unsigned int)(woken - most) : 0;
}

static void count(struct side *s, bool realtime)
{
	unsigned int least = UINT_MAX, over;

	for (int i = 0; i < (realtime || RL_SANITIZED ? 1 : TRIES) && least; i++) {
		rl_step(ST_READY + s->index, 1 + i);
		if (!rl_reached(ST_READY + !s->index, 1 + i, 10000))
			break;
		over = count_once(s, realtime ? scene->most : scene->disturbed);
		if (over < least)
			least = over;
		rl_board->value[s->index] = least;
		rl_step(ST_COUNTED + s->index, 1 + i);
		rl_await(ST_COUNTED + !s->index, 1 + i, 10000);
		/* Both must stop at the same time. */
		least |= (unsigned int)rl_board->value[!s->index];
	}
	/* With a sanitizer the polls are too far apart. */
	RL_CHECK(!least || RL_SANITIZED, "the progress threads woke %u times too many", least);
}

static void play(void *arg)
{
	struct side s = { .index = arg != NULL };
	/* TSan spins on locks of its own, which a thread of lower priority may hold. */
	bool realtime = !RL_SANITIZED && take_processor(s.index) && set_priority(2);

	rd_open(&s.rd, 0, 2 * RECVS);
	if (realtime)
		set_priority(1);
	rd_reg(&s.rd, &s.mem, memory[s.index], (RECVS + 1) * scene->len);
	s.rd.ep = rd_ep_create(&s.rd, RECVS);
	for (unsigned int i = 0; i < RECVS; i++)
		RD_OK(rd_recv(s.rd.ep, &s.mem, (size_t)(1 + i) * scene->len, scene->len, 0));
	rd_meet(&s.rd, s.rd.ep, s.index, ST_LISTEN);
	count(&s, realtime);
	rd_unreg(&s.mem);
	rd_close(&s.rd);
}

/* While consumers poll, the thread wakes some 60 times a second (progress_cq.c). */
static const struct scene scenes[] = {
	{ "stream", STREAM, SHORT, 100000, 100, 1000, 0, 0 },
	{ "stream-after-spinning", AFTER_SPINNING, SHORT, 100000, 100, 1000, 0, 0 },
	{ "stream-of-copies", STREAM, LONG, 5000, 100, 1500, 100, 0 },
	{ "polled", POLLED, SHORT, 50000, 100, 200, 30, 0 },
	{ "polled-seldom", POLLED, SHORT, 10000, 100, 150, 30, 30 },
	{ "polled-rarely", POLLED, SHORT, 2000, 1500, 2000, 30, 240 },
	{ "polled-in-bursts", BURSTS, SHORT, 300, 600, 1200, 30, 60 },
	{ "waited", WAITED, SHORT, 50000, 100, 600, 30, 0 },
	{ "waited-asleep", ASLEEP, SHORT, 20000, 200, 600, 30, 0 },
};

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 0);
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		if (!rl_begin(scenes[i].name, 30000 * rl_long()))
			continue;
		scene = &scenes[i];
		if (scene->pattern == ASLEEP)
			setenv("DAPL_OFI_SPIN_US", "0", 1);
		for (int side = 0; side < 2; side++)
			memory[side] = rl_shared((RECVS + 1) * scene->len);
		rl_start("left", play, NULL);
		rl_start("right", play, memory);
		rl_end();
		for (int side = 0; side < 2; side++)
			rl_unshare(memory[side], (RECVS + 1) * scene->len);
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 70, run);
}
