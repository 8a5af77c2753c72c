/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that polls of any queue of an adapter serve its groups: counts polls. */
#include <stdlib.h>

#include "coll_rig.h"

#define TRIALS 25
/* In this time of polls the progress thread leaves the queues to the consumer. */
#define US_POLLS 3000
/* Until a group is served, in most trials: the consumer, or the progress thread of the second
 * member, may lose the processor. */
#define POLLS_MOST 100u
#define MOST_TRIALS (TRIALS * 4 / 5)

struct looker {
	struct crew c;
	DAT_EVD_HANDLE other; /* of the first member's adapter; no group reports to it */
	bool waits;           /* it is polled by dat_evd_wait */
};

static int compare_counts(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return (x > y) - (x < y);
}

static void look_at_other(const struct looker *l)
{
	DAT_COUNT more;
	DAT_EVENT event;
	DAT_RETURN ret;

	if (l->waits) {
		ret = dat_evd_wait(l->other, 0, 1, &event, &more);
		ASSERT_EQ(DAT_GET_TYPE(ret), DAT_TIMEOUT_EXPIRED);
	} else {
		ASSERT_EQ(dat_evd_dequeue(l->other, &event), DAT_QUEUE_EMPTY);
	}
}

static void look_post(const struct mate *m, uint64_t k)
{
	OK(dat_ib_collective_barrier(m->group, ctx(k), DAT_COMPLETION_DEFAULT_FLAG));
}

/* The first member polls the queue of its group, and then another one, while the second waits for
 * an answer that the first can send only when it has processed a message. Returns the polls of the
 * other queue. */
static unsigned int look_once(const struct looker *l)
{
	const struct mate *first = &l->c.mate[0], *second = &l->c.mate[1];
	uint64_t end = dt_now_us() + US_POLLS;
	unsigned int polls = 0, events = 0;
	DAT_EVENT event;

	while (dt_now_us() < end)
		ASSERT_EQ(dat_evd_dequeue(first->evd, &event), DAT_QUEUE_EMPTY);
	for (uint64_t k = 0; k < 2; k++)
		look_post(first, k);
	for (uint64_t k = 0; k < 2; k++)
		look_post(second, k);
	end = dt_now_us() + (uint64_t)US_GROUP * dt_slow();
	for (; events < 2; polls++) {
		look_at_other(l);
		events += !dat_evd_dequeue(second->evd, &event);
		ASSERT(dt_now_us() < end);
	}
	for (uint64_t k = 0; k < 2; k++)
		EV_COLL(first->evd, BARRIER_STATUS, k);
	return polls;
}

static void look_run(bool waits)
{
	struct looker l = { .waits = waits };
	unsigned int polls[TRIALS];

	crew_up(&l.c, 2, 2);
	l.other = evd_make(&l.c.node[0], 8, DAT_EVD_DTO_FLAG);
	for (int i = 0; i < TRIALS; i++)
		polls[i] = look_once(&l);
	qsort(polls, TRIALS, sizeof(*polls), compare_counts);
	dt_note("%u polls, in most trials %u", polls[TRIALS / 2], polls[MOST_TRIALS]);
	ASSERT(polls[MOST_TRIALS] <= POLLS_MOST);
	OK(dat_evd_free(l.other));
	crew_down(&l.c);
}

TEST(coll_look, a_poll_of_another_queue_serves_groups)
{
	look_run(false);
}

TEST(coll_look, a_wait_without_time_for_another_queue_serves_groups)
{
	look_run(true);
}
