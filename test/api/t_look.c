/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests polling of event queues: its cost in system calls, where the kernel counts read and write
 * calls of a thread (libfabric's tcp provider uses other calls for data), and that polling one
 * queue serves the other queues of the adapter.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "rig.h"

#define MESSAGES 200
#define ROUNDS 10

/* Calls of read and write that this thread has made; false: the kernel does not count them. */
static bool count_calls(unsigned long *calls)
{
	unsigned long reads = 0, writes = 0;
	FILE *f = fopen("/proc/thread-self/io", "re");
	char line[80];
	int found = 0;

	while (f && fgets(line, sizeof(line), f)) {
		found += sscanf(line, "syscr: %lu", &reads) == 1;
		found += sscanf(line, "syscw: %lu", &writes) == 1;
	}
	if (f)
		fclose(f);
	*calls = reads + writes;
	return found == 2;
}

static void poll_dto(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	uint64_t end = dt_now_us() + (uint64_t)US_EVENT * dt_slow();

	/* Without a pause, in which the progress thread would take over. */
	while (dat_evd_dequeue(evd, event) != DAT_SUCCESS)
		ASSERT(dt_now_us() < end);
	ASSERT_EQ(event->event_number, DAT_DTO_COMPLETION_EVENT);
	ASSERT_EQ(event->event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

static void one_message(struct pair *p)
{
	DAT_EVENT event;

	OK(post_recv(&p->b, 0, 64, 1));
	OK(post_send(&p->a, 0, 64, 2));
	poll_dto(p->b.recv, &event);
	poll_dto(p->a.req, &event);
}

TEST(look, of_a_consumer_that_polls_signals_no_one)
{
	unsigned long before, after, own, least = ULONG_MAX;
	struct pair p;

	if (!fabric_has("unsignalled"))
		dt_skip("here libfabric makes system calls to report a completion");
	if (!count_calls(&before) || !count_calls(&after))
		dt_skip("this kernel does not count system calls");
	own = after - before;
	pair_up(&p);
	for (int i = 0; i < MESSAGES; i++)
		one_message(&p);
	/* On a busy machine the consumer pauses, and the progress thread takes over meanwhile. */
	for (int i = 0; i < ROUNDS && least >= MESSAGES / 4; i++) {
		ASSERT(count_calls(&before));
		for (int k = 0; k < MESSAGES; k++)
			one_message(&p);
		ASSERT(count_calls(&after));
		if (after - before - own < least)
			least = after - before - own;
	}
	dt_note("%lu calls of read and write for %d messages", least, MESSAGES);
	ASSERT(least < MESSAGES / 4);
	pair_close(&p);
}

#define WRITES 51
#define WRITTEN 8

static int compare_counts(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return (x > y) - (x < y);
}

/* Polls `evd`, which stays empty, until the write is in memory. Returns how often. */
static unsigned int poll_until(DAT_EVD_HANDLE evd, const char *mem, unsigned int seed)
{
	uint64_t end = dt_now_us() + (uint64_t)US_EVENT * dt_slow();
	unsigned int polls = 0;
	DAT_EVENT event;

	for (; !is_filled(mem, WRITTEN, seed); polls++) {
		ASSERT_EQ(DAT_GET_TYPE(dat_evd_dequeue(evd, &event)), DAT_QUEUE_EMPTY);
		ASSERT(dt_now_us() < end);
	}
	return polls;
}

/* After 2,000 polls the progress thread leaves the queues of b to their consumer, which then polls
 * another queue while it waits for a write to the memory of b. */
TEST(look, at_one_queue_serves_the_others)
{
	unsigned int polls[WRITES];
	DAT_EVENT event;
	struct pair p;

	if (!fabric_is("shm"))
		dt_skip("polls need not process what arrives here");
	pair_up(&p);
	for (int i = 0; i < WRITES; i++) {
		for (int k = 0; k < 2000; k++) {
			ASSERT_EQ(dat_evd_dequeue(p.b.recv, &event), DAT_QUEUE_EMPTY);
			ASSERT_EQ(dat_evd_dequeue(p.b.req, &event), DAT_QUEUE_EMPTY);
		}
		fill(p.a.buf.mem, WRITTEN, (unsigned int)i);
		OK(post_write(&p.a, 0, WRITTEN, (uint64_t)i, &p.b, 0));
		polls[i] = poll_until(p.a.recv, p.b.buf.mem, (unsigned int)i);
		poll_dto(p.a.req, &event);
	}
	qsort(polls, WRITES, sizeof(*polls), compare_counts);
	dt_note("%u polls, at most %u", polls[WRITES / 2], polls[WRITES - 1]);
	ASSERT(polls[WRITES / 2] <= 64);
	pair_close(&p);
}
