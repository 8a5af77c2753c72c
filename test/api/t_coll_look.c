/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that polls of any queue of an adapter serve its groups (counts polls), and that events of a
 * group are processed whichever call has read them. */
#include <stdlib.h>

#include "coll_rig.h"

#define TRIALS 25
/* In this time of polls the progress thread leaves the queues to the consumer. */
#define US_POLLS 3000
/* Until a group is served, in most trials, beyond what polls of its own queue need, in which the
 * fabric transmits: the consumer, or the progress thread of the second member, may lose the
 * processor. */
#define POLLS_MOST 100u
#define MOST_TRIALS (TRIALS * 4 / 5)

struct looker {
	struct crew c;
	DAT_EVD_HANDLE other; /* of the first member's adapter; no group reports to it */
	DAT_EVD_HANDLE looks; /* at which the first member looks: that one, or its group's */
	bool waits;           /* it is polled by dat_evd_wait */
};

static int compare_counts(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return (x > y) - (x < y);
}

/* Returns the number of events. */
static unsigned int look(const struct looker *l)
{
	DAT_COUNT more;
	DAT_EVENT event;
	DAT_RETURN ret;

	if (l->waits) {
		ret = dat_evd_wait(l->looks, 0, 1, &event, &more);
		ASSERT(!ret || DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED);
	} else {
		ret = dat_evd_dequeue(l->looks, &event);
		ASSERT(!ret || DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY);
	}
	ASSERT(ret || l->looks != l->other);
	return !ret;
}

static void look_post(const struct mate *m, uint64_t k)
{
	OK(dat_ib_collective_barrier(m->group, ctx(k), DAT_COMPLETION_DEFAULT_FLAG));
}

/* The first member polls the queue of its group, and then l->looks, while the second waits for an
 * answer that the first can send only when it has processed a message. Returns the polls of
 * l->looks. */
static unsigned int look_once(const struct looker *l)
{
	const struct mate *first = &l->c.mate[0], *second = &l->c.mate[1];
	uint64_t end = dt_now_us() + US_POLLS;
	unsigned int polls = 0, events = 0, own = 0;
	DAT_EVENT event;

	while (dt_now_us() < end)
		ASSERT_EQ(dat_evd_dequeue(first->evd, &event), DAT_QUEUE_EMPTY);
	for (uint64_t k = 0; k < 2; k++)
		look_post(first, k);
	for (uint64_t k = 0; k < 2; k++)
		look_post(second, k);
	end = dt_now_us() + (uint64_t)US_GROUP * dt_slow();
	for (; events < 2; polls++) {
		own += look(l);
		events += !dat_evd_dequeue(second->evd, &event);
		ASSERT(dt_now_us() < end);
	}
	for (uint64_t k = own; k < 2; k++)
		EV_COLL(first->evd, BARRIER_STATUS, k);
	return polls;
}

/* The polls of that queue in most trials. */
static unsigned int look_most(struct looker *l, DAT_EVD_HANDLE looks, const char *name)
{
	unsigned int polls[TRIALS];

	l->looks = looks;
	for (int i = 0; i < TRIALS; i++)
		polls[i] = look_once(l);
	qsort(polls, TRIALS, sizeof(*polls), compare_counts);
	dt_note("%s: %u polls, in most trials %u", name, polls[TRIALS / 2], polls[MOST_TRIALS]);
	return polls[MOST_TRIALS];
}

static void look_run(bool waits)
{
	struct looker l = { .waits = waits };
	unsigned int own, other;

	crew_up(&l.c, 2, 2);
	l.other = evd_make(&l.c.node[0], 8, DAT_EVD_DTO_FLAG);
	own = look_most(&l, l.c.mate[0].evd, "its own queue");
	other = look_most(&l, l.other, "another queue");
	ASSERT(other <= own + POLLS_MOST);
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

/* ---- events ---- */

/* Less than the time after which the adapter looks at the connection for other reasons. */
#define US_AT_ONCE 250000u
/* At least one of them is undisturbed by the load of the machine. */
#define REQUESTS 12u

struct blocker {
	_Atomic bool blocks, inside;
};

/* In the progress thread, which handles no events meanwhile. */
static void block(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	struct blocker *b = instance;

	(void)evd;
	b->inside = true;
	while (b->blocks)
		dt_sleep_us(1000);
}

/* The progress thread of the second member's adapter is busy until a consumer, which looks for
 * requests of its own, has read that of the first member. Returns how long the first member then
 * waits for its group. */
static uint64_t request_once(void)
{
	struct blocker b = { .blocks = true };
	DAT_OS_WAIT_PROXY_AGENT agent = { &b, block };
	DAT_EVD_HANDLE requests, trigger;
	uint64_t end, took;
	DAT_CNO_HANDLE cno;
	struct crew c;

	crew_open(&c, 2, 2);
	requests = evd_make(&c.node[1], 8, DAT_EVD_CR_FLAG);
	OK(crew_create(&c, 1, 1, 101));
	OK(dat_cno_create(c.node[1].ia, agent, &cno));
	trigger = evd_make_cno(&c.node[1], 8, DAT_EVD_SOFTWARE_FLAG, cno);
	OK(post_se(trigger, 1));
	DT_UNTIL(b.inside, US_EVENT);
	OK(crew_create(&c, 0, 1, 100));
	for (end = dt_now_us() + US_SHORT; dt_now_us() < end;)
		EV_EMPTY(requests);
	took = dt_now_us();
	b.blocks = false;
	/* The adapter of the second member is not polled. */
	c.mate[0].group = EV_COLL(c.mate[0].evd, CREATE_DATA, 100);
	took = dt_now_us() - took;
	c.mate[1].group = EV_COLL(c.mate[1].evd, CREATE_DATA, 101);
	EV_SE(trigger, 1);
	OK(dat_evd_free(trigger));
	OK(dat_cno_free(cno));
	OK(dat_evd_free(requests));
	crew_down(&c);
	return took;
}

TEST(coll_look, a_request_that_another_call_has_read_is_processed_at_once)
{
	uint64_t took, least = US_GROUP;

	for (unsigned int i = 0; i < REQUESTS && least > US_AT_ONCE; i++) {
		took = request_once();
		least = took < least ? took : least;
	}
	dt_note("the group exists after %llu us", (unsigned long long)least);
	ASSERT(least <= US_AT_ONCE);
}
