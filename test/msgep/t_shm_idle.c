/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests how often the idle connections of a queue are polled that have no ready ring, as those to
 * many processes. */
#include <stdlib.h>
#include <string.h>

#include "shm_rig.h"

#define PAIRS 150
#define ENDS (2 * PAIRS)
/* As in cq_poll.c: polls until an endpoint is idle, endpoints that never are, idle ones per
 * poll. */
#define UNTIL_IDLE (4096 + ENDS + 1)
#define NEVER 16
#define ALWAYS_INLINE 4

struct scene {
	struct side s;
	struct fid_ep *ep[PAIRS][2];
	char from[64], to[64];
};

static struct msgep_transport counting;
static uint64_t polls;

static bool count_ready(struct msgep_ep *ep)
{
	polls++;
	return msgep_watch_shows(ep) || msgep_transport_shm.ready(ep);
}

/* The connection is up: each poll asks count_ready. */
static void unwatch(struct msgep_ep *ep)
{
	atomic_store(&ep->watch.used, false);
}

/* Without numbers of queues in the parameters there are no ready rings. */
static int no_queues(struct msgep_ep *ep, bool active, struct msgep_params *out)
{
	int ret = msgep_transport_shm.get_params(ep, active, out);

	if (!ret)
		memset(out->data + 48, 0, 16);
	return ret;
}

static void open_scene(struct scene *c)
{
	memset(c, 0, sizeof(*c));
	counting = msgep_transport_shm;
	counting.ready = count_ready;
	counting.touch = unwatch;
	counting.get_params = no_queues;
	side_open_with(&c->s, &counting);
	for (int i = 0; i < PAIRS; i++)
		pair_open(&c->s, c->ep[i]);
}

/* The busy ones go between the idle ones. */
static void close_scene(struct scene *c)
{
	for (int i = 0; i < PAIRS; i++)
		pair_close(&c->s, c->ep[i * 7 % PAIRS]);
	side_close(&c->s);
}

static void start_message(struct scene *c, int pair)
{
	ASSERT_EQ(post_recv(c->ep[pair][1], c->to, 64, c->to), 0);
	ASSERT_EQ(post_send(c->ep[pair][0], c->from, 64, c->from), 0);
}

/* Returns the number of reads of the queue until both completions had been reported. */
static unsigned int message(struct scene *c, int pair)
{
	unsigned int reads = 0, n = 0;

	memset(c->to, 0, sizeof(c->to));
	memset(c->from, pair + 1, sizeof(c->from));
	start_message(c, pair);
	for (; n < 2; reads++) {
		n += side_completions(&c->s);
		ASSERT(reads < 10 * ENDS);
	}
	ASSERT_EQ(n, 2);
	ASSERT_MEM(c->from, c->to, sizeof(c->to));
	return reads;
}

static void let_idle(struct scene *c)
{
	for (int i = 0; i < UNTIL_IDLE; i++)
		ASSERT_EQ(side_completions(&c->s), 0);
}

TEST(shm_idle, a_look_asks_the_busy_and_a_few_of_the_others)
{
	struct scene c;

	open_scene(&c);
	let_idle(&c);
	polls = 0;
	for (int i = 0; i < 1000; i++)
		ASSERT_EQ(side_completions(&c.s), 0);
	ASSERT(polls <= 1000 * (NEVER + ALWAYS_INLINE));
	/* A message makes its two ends busy. */
	message(&c, 77);
	polls = 0;
	for (int i = 0; i < 200; i++)
		ASSERT(message(&c, 77) <= 3);
	ASSERT(polls <= 600 * (NEVER + ALWAYS_INLINE + 2));
	close_scene(&c);
}

TEST(shm_idle, what_comes_for_any_of_them_is_found)
{
	struct scene c;

	open_scene(&c);
	let_idle(&c);
	/* Once round for the message, once for the sender that awaits its arrival. */
	for (int i = 0; i < PAIRS; i++)
		ASSERT(message(&c, i * 7 % PAIRS) <= 2 * (ENDS / ALWAYS_INLINE + 2));
	close_scene(&c);
}

TEST(shm_idle, connections_in_turn_stay_busy)
{
	struct scene c;

	open_scene(&c);
	for (int round = 0; round < 20; round++)
		for (int i = 0; i < PAIRS; i++)
			ASSERT(message(&c, i) <= 3);
	close_scene(&c);
}

/* A caller that is about to block finds what has arrived on idle connections. */
TEST(shm_idle, sleepers_have_all_of_them_looked_at)
{
	struct scene c;
	struct fid *fid;

	open_scene(&c);
	fid = &c.s.cq->fid;
	for (int i = 0; i < PAIRS; i += 29) {
		unsigned int n;

		let_idle(&c);
		ASSERT_EQ(fi_trywait(c.s.fabric, &fid, 1), 0);
		start_message(&c, i);
		polls = 0;
		ASSERT_EQ(fi_trywait(c.s.fabric, &fid, 1), -FI_EAGAIN);
		ASSERT(polls <= ENDS);
		n = side_completions(&c.s);
		ASSERT(n);
		while (n < 2)
			n += side_completions(&c.s);
	}
	close_scene(&c);
}
