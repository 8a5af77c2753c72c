/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the cost of polling an event queue in system calls: the kernel counts read and write calls
 * of a thread; libfabric's tcp provider uses other calls for data.
 */
#include <stdio.h>

#include "rig.h"

#define MESSAGES 200

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
	unsigned long before, after, own;
	struct pair p;

	if (!fabric_has("unsignalled"))
		dt_skip("here libfabric makes system calls to report a completion");
	if (!count_calls(&before) || !count_calls(&after))
		dt_skip("this kernel does not count system calls");
	own = after - before;
	pair_up(&p);
	for (int i = 0; i < MESSAGES; i++)
		one_message(&p);
	ASSERT(count_calls(&before));
	for (int i = 0; i < MESSAGES; i++)
		one_message(&p);
	ASSERT(count_calls(&after));
	dt_note("%lu calls of read and write for %d messages", after - before - own, MESSAGES);
	ASSERT(after - before - own < MESSAGES / 4);
	pair_close(&p);
}
