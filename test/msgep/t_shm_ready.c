/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests ready rings: what a poll of a queue with many connections visits, and that nothing is
 * missed. */
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "msgep/ready.h"
#include "shm_rig.h"

/* 1,000 ends, all of one queue. The first four connections have no ready ring (shm_ready.c). */
#define PAIRS 500
#define POLLED 8

struct scene {
	struct side s;
	unsigned int pairs;
	struct fid_ep *ep[PAIRS][2];
	char from[64], to[64];
};

static struct msgep_transport counting;
static uint64_t readies, visits, arms;

static bool count_ready(struct msgep_ep *ep)
{
	readies++;
	return msgep_watch_shows(ep) || msgep_transport_shm.ready(ep);
}

/* The connection is up: each poll asks count_ready. */
static void unwatch(struct msgep_ep *ep)
{
	atomic_store(&ep->watch.used, false);
}

static const struct msgep_frame *count_peek(struct msgep_ep *ep, int channel, const void **payload)
{
	visits += channel == MSGEP_ANS;
	return msgep_transport_shm.peek(ep, channel, payload);
}

static void count_arm(struct msgep_ep *ep, bool room)
{
	arms++;
	msgep_transport_shm.arm(ep, room);
}

static void open_scene(struct scene *c, unsigned int pairs)
{
	struct rlimit files;

	ASSERT(!getrlimit(RLIMIT_NOFILE, &files));
	if (files.rlim_cur < 2 * PAIRS + 100 && files.rlim_max >= 2 * PAIRS + 100) {
		files.rlim_cur = 2 * PAIRS + 100;
		ASSERT(!setrlimit(RLIMIT_NOFILE, &files));
	}
	memset(c, 0, sizeof(*c));
	counting = msgep_transport_shm;
	counting.ready = count_ready;
	counting.touch = unwatch;
	counting.peek = count_peek;
	counting.arm = count_arm;
	side_open_with(&c->s, &counting);
	for (c->pairs = 0; c->pairs < pairs; c->pairs++)
		pair_open(&c->s, c->ep[c->pairs]);
}

static void close_scene(struct scene *c)
{
	for (unsigned int i = 0; i < c->pairs; i++)
		pair_close(&c->s, c->ep[i * 7 % c->pairs]);
	side_close(&c->s);
}

/* Each is visited when its connection is established, and once more until it is known that nothing
 * is there. */
static void settle(struct scene *c)
{
	ASSERT_EQ(side_completions(&c->s), 0);
	ASSERT_EQ(side_completions(&c->s), 0);
	readies = visits = arms = 0;
}

static void start_message(struct scene *c, unsigned int pair)
{
	ASSERT_EQ(post_recv(c->ep[pair][1], c->to, 64, c->to), 0);
	ASSERT_EQ(post_send(c->ep[pair][0], c->from, 64, c->from), 0);
}

/* Returns the number of reads until both completions have been reported. */
static unsigned int message(struct scene *c, unsigned int pair)
{
	unsigned int reads = 0, n = 0;

	memset(c->to, 0, sizeof(c->to));
	memset(c->from, (int)pair + 1, sizeof(c->from));
	start_message(c, pair);
	for (; n < 2; reads++) {
		n += side_completions(&c->s);
		ASSERT(reads < 10);
	}
	ASSERT_EQ(n, 2);
	ASSERT_MEM(c->from, c->to, sizeof(c->to));
	return reads;
}

TEST(shm_ready, a_poll_visits_none_of_a_thousand_idle_connections)
{
	struct scene c;

	open_scene(&c, PAIRS);
	settle(&c);
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(side_completions(&c.s), 0);
	ASSERT_EQ(readies, 100 * POLLED);
	ASSERT_EQ(visits, 0);
	close_scene(&c);
}

/* One visit for the message and one until nothing is there, at the receiver; the sender's for the
 * acknowledgement. */
TEST(shm_ready, a_message_costs_the_same_visits_whatever_is_idle)
{
	struct scene c;

	open_scene(&c, PAIRS);
	settle(&c);
	for (unsigned int i = 100; i < PAIRS; i++) {
		readies = visits = 0;
		ASSERT(message(&c, i) <= 3);
		ASSERT(visits <= 4);
		ASSERT(readies <= 4 * (POLLED + 2));
	}
	close_scene(&c);
}

/* Before a thread blocks, neither is armed nor read. */
TEST(shm_ready, a_thread_blocks_without_a_visit_of_the_idle)
{
	struct pollfd pfd = { .events = POLLIN };
	struct scene c;
	struct fid *fid;

	open_scene(&c, PAIRS);
	fid = &c.s.cq->fid;
	ASSERT_EQ(fi_control(fid, FI_GETWAIT, &pfd.fd), 0);
	for (unsigned int i = 0; i < PAIRS; i += 29) {
		unsigned int n = 0;

		settle(&c);
		ASSERT_EQ(fi_trywait(c.s.fabric, &fid, 1), 0);
		ASSERT(arms <= 2 * POLLED);
		ASSERT_EQ(visits, 0);
		ASSERT_EQ(poll(&pfd, 1, 0), 0);
		start_message(&c, i);
		ASSERT_EQ(poll(&pfd, 1, 0), 1);
		ASSERT_EQ(fi_trywait(c.s.fabric, &fid, 1), -FI_EAGAIN);
		ASSERT(visits <= 4 + POLLED);
		while (n < 2)
			n += side_completions(&c.s);
	}
	close_scene(&c);
}

/* More announcements than the ring has room for: none is read before the last is written. */
TEST(shm_ready, announcements_that_overtake_the_reader_lose_nothing)
{
	enum { EACH = 200, BUSY = 30 };
	static char to[BUSY][EACH][8];
	struct scene c;
	uint64_t value;
	unsigned int n = 0;

	_Static_assert(EACH * BUSY > MSGEP_READY_ROOM, "the ring is too large for this case");
	open_scene(&c, BUSY + 10);
	settle(&c);
	for (unsigned int i = 0; i < BUSY; i++)
		for (unsigned int j = 0; j < EACH; j++)
			ASSERT_EQ(post_recv(c.ep[i + 10][1], to[i][j], 8, to), 0);
	for (unsigned int j = 0; j < EACH; j++) {
		for (unsigned int i = 0; i < BUSY; i++) {
			value = j * BUSY + i + 1;
			ASSERT_EQ(post_send(c.ep[i + 10][0], &value, 8, to), 0);
		}
	}
	for (int reads = 0; n < 2 * EACH * BUSY; reads++) {
		n += side_completions(&c.s);
		ASSERT(reads < 3 * EACH * BUSY);
	}
	for (unsigned int i = 0; i < BUSY; i++) {
		for (unsigned int j = 0; j < EACH; j++) {
			memcpy(&value, to[i][j], 8);
			ASSERT_EQ(value, j * BUSY + i + 1);
		}
	}
	close_scene(&c);
}

/* A message that waits for a receive, long data in parts, and writes that wait for room. */
TEST(shm_ready, what_one_visit_does_not_finish_is_finished_later)
{
	struct scene c;
	int recv, sent;

	open_scene(&c, 12);
	settle(&c);
	for (unsigned int i = 4; i < 12; i++) {
		ASSERT_EQ(post_send(c.ep[i][0], c.from, 64, &sent), 0);
		ASSERT_EQ(side_completions(&c.s), 0);
		ASSERT_EQ(side_completions(&c.s), 0);
		ASSERT_EQ(post_recv(c.ep[i][1], c.to, 64, &recv), 0);
		ASSERT_EQ(side_await(&c.s, &recv), 0);
		ASSERT_EQ(side_await(&c.s, &sent), 0);
		pair_check(&c.s, c.ep[i]);
	}
	close_scene(&c);
}

/* The client has closed all its connections, and unmapped the rings, which the listener still has:
 * both sides continue at the newest entries. */
TEST(shm_ready, rings_that_are_mapped_again_are_continued)
{
	struct fid_ep *old[8];
	struct scene c;

	open_scene(&c, 8);
	for (unsigned int i = 0; i < 100; i++)
		message(&c, i % 8);
	for (unsigned int i = 0; i < 8; i++) {
		old[i] = c.ep[i][1];
		ASSERT_EQ(fi_close(&c.ep[i][0]->fid), 0);
		side_await_end(&c.s, old[i]);
	}
	for (unsigned int i = 0; i < 8; i++)
		pair_open(&c.s, c.ep[i]);
	settle(&c);
	for (unsigned int i = 0; i < 8; i++) {
		message(&c, i);
		/* In the other direction, too. */
		ASSERT_EQ(post_recv(c.ep[i][0], c.to, 64, c.to), 0);
		ASSERT_EQ(post_send(c.ep[i][1], c.from, 64, c.from), 0);
		for (unsigned int n = 0, reads = 0; n < 2; n += side_completions(&c.s))
			ASSERT(reads++ < 10);
	}
	for (unsigned int i = 0; i < 8; i++)
		ASSERT_EQ(fi_close(&old[i]->fid), 0);
	close_scene(&c);
}

#define THREADS 3
#define SENT 2000u /* by each thread */
#define PER_THREAD 12

struct sender {
	struct scene *c;
	unsigned int first; /* of its pairs */
	pthread_t thread;
};

static void *send_all(void *arg)
{
	const struct sender *t = arg;

	for (unsigned int i = 0; i < SENT; i++) {
		struct fid_ep *ep = t->c->ep[t->first + i * 5 % PER_THREAD][0];

		while (post_send(ep, t->c->from, 64, t->c->from))
			sched_yield();
		/* Lets the reader run empty and block, which is what the case is about. */
		if (i % 100 == 99)
			usleep(100);
	}
	return NULL;
}

/* Blocks until there is something to read; a wakeup that is lost fails the case. */
static void block(struct scene *c)
{
	struct pollfd pfd = { .events = POLLIN };
	struct fid *fid = &c->s.cq->fid;

	if (fi_trywait(c->s.fabric, &fid, 1))
		return;
	ASSERT_EQ(fi_control(fid, FI_GETWAIT, &pfd.fd), 0);
	ASSERT_EQ(poll(&pfd, 1, 5000 * (int)dt_slow()), 1);
}

/* Several threads announce connections in one ring, whose reader blocks when it is empty. */
TEST(shm_ready, no_message_and_no_wakeup_is_lost_between_threads)
{
	struct sender t[THREADS];
	struct scene c;

	open_scene(&c, THREADS * PER_THREAD);
	for (unsigned int i = 0; i < c.pairs; i++)
		for (int j = 0; j < 16; j++)
			ASSERT_EQ(post_recv(c.ep[i][1], c.to, 64, &c.ep[i]), 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		t[i] = (struct sender){ .c = &c, .first = i * PER_THREAD };
		ASSERT(!pthread_create(&t[i].thread, NULL, send_all, &t[i]));
	}
	for (unsigned int n = 0; n < 2 * THREADS * SENT; n++) {
		struct fi_cq_data_entry entry;
		ssize_t got;

		while ((got = fi_cq_read(c.s.cq, &entry, 1)) == -FI_EAGAIN)
			block(&c);
		ASSERT_EQ(got, 1);
		if (entry.op_context != c.from) {
			struct fid_ep **pair = entry.op_context;

			ASSERT_EQ(post_recv(pair[1], c.to, 64, pair), 0);
		}
	}
	for (unsigned int i = 0; i < THREADS; i++)
		ASSERT(!pthread_join(t[i].thread, NULL));
	close_scene(&c);
}

/* Numbers of closed connections are used again. */
TEST(shm_ready, connections_come_and_go)
{
	struct scene c;

	open_scene(&c, 20);
	for (unsigned int i = 0; i < 200; i++) {
		unsigned int old = i * 7 % 20;

		message(&c, (i + 3) % 20);
		pair_close(&c.s, c.ep[old]);
		message(&c, (old + 1) % 20);
		pair_open(&c.s, c.ep[old]);
		message(&c, old);
	}
	ASSERT(dofi_container(c.s.cq, struct msgep_cq, fid)->ready[0]->n_eps <= 40);
	close_scene(&c);
}
