/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests when a message to a queue of several endpoints is complete. */
#include <poll.h>
#include <string.h>

#include "shm_rig.h"

#define WHOLE (MSGEP_FIRST | MSGEP_LAST)
#define FLIGHTS 256

struct scene {
	struct side s;
	struct foe f;
	char from[64], to[64];
};

static void open_scene(struct scene *c, bool several)
{
	memset(c, 0, sizeof(*c));
	side_open(&c->s);
	ASSERT_EQ(foe_open(&c->f, &c->s, NULL), 0);
	atomic_store(&c->f.control[1].several, several);
}

static void close_scene(struct scene *c)
{
	foe_close(&c->f);
	side_close(&c->s);
}

static unsigned int completions(struct scene *c)
{
	struct fi_cq_data_entry entry;
	unsigned int n = 0;

	while (fi_cq_read(c->s.cq, &entry, 1) == 1)
		n++;
	return n;
}

static int may_sleep(struct scene *c)
{
	struct fid *fid = &c->s.cq->fid;

	return fi_trywait(c->s.fabric, &fid, 1);
}

TEST(shm_several, to_a_queue_of_one_endpoint_it_is_complete_at_once)
{
	struct scene c;

	open_scene(&c, false);
	ASSERT_EQ(post_send(c.f.ep, c.from, 64, &c), 0);
	ASSERT_EQ(completions(&c), 1);
	close_scene(&c);
}

TEST(shm_several, it_is_complete_when_the_peer_has_consumed_it)
{
	struct scene c;

	open_scene(&c, true);
	ASSERT_EQ(post_send(c.f.ep, c.from, 64, &c), 0);
	ASSERT_EQ(post_send(c.f.ep, c.from, 64, &c), 0);
	ASSERT_EQ(completions(&c), 0);
	ASSERT(foe_get(&c.f, MSGEP_REQ));
	ASSERT_EQ(completions(&c), 0);
	atomic_store(&c.f.control[1].taken, 1);
	ASSERT_EQ(completions(&c), 1);
	atomic_store(&c.f.control[1].taken, 2);
	ASSERT_EQ(completions(&c), 1);
	close_scene(&c);
}

/* Each answer acknowledges one message, and both arrive in one poll. */
TEST(shm_several, it_is_complete_before_what_answers_it)
{
	struct fi_cq_data_entry entry[4];
	struct msgep_frame f = { .kind = MSGEP_MSG, .flags = WHOLE, .len = 8, .total = 8 };
	struct scene c;
	int n = 0;

	open_scene(&c, true);
	for (uint8_t i = 1; i <= 2; i++) {
		ASSERT_EQ(post_recv(c.f.ep, c.to, 8, c.to), 0);
		ASSERT_EQ(post_send(c.f.ep, c.from, 8, c.from), 0);
		f.counts[0] = i;
		foe_put(&c.f, MSGEP_REQ, &f, "payload", 8);
	}
	while (n < 4)
		if (fi_cq_read(c.s.cq, &entry[n], 1) == 1)
			n++;
	for (int i = 0; i < 4; i++)
		ASSERT_PTR(entry[i].op_context, i % 2 ? c.to : c.from);
	close_scene(&c);
}

TEST(shm_several, no_more_are_on_their_way_than_can_be_remembered)
{
	unsigned int n = 0;
	struct scene c;

	open_scene(&c, true);
	for (int i = 0; i < FLIGHTS + 10; i++)
		ASSERT_EQ(post_send(c.f.ep, c.from, 8, &c), 0);
	while (foe_get(&c.f, MSGEP_REQ))
		n++;
	ASSERT_EQ(n, FLIGHTS);
	atomic_store(&c.f.control[1].taken, FLIGHTS);
	ASSERT_EQ(completions(&c), FLIGHTS);
	while (foe_get(&c.f, MSGEP_REQ))
		n++;
	ASSERT_EQ(n, FLIGHTS + 10);
	atomic_store(&c.f.control[1].taken, n);
	ASSERT_EQ(completions(&c), 10);
	close_scene(&c);
}

TEST(shm_several, who_sleeps_asks_to_be_told)
{
	struct pollfd pfd = { .events = POLLIN };
	struct scene c;

	open_scene(&c, true);
	ASSERT_EQ(fi_control(&c.s.cq->fid, FI_GETWAIT, &pfd.fd), 0);
	ASSERT_EQ(may_sleep(&c), 0);
	ASSERT_EQ(atomic_load(&c.f.control[1].wants), 0);
	ASSERT_EQ(poll(&pfd, 1, 0), 0);
	/* Posted while the thread is blocked: it has to poll again. */
	ASSERT_EQ(post_send(c.f.ep, c.from, 8, &c), 0);
	ASSERT_EQ(poll(&pfd, 1, 0), 1);
	ASSERT_EQ(may_sleep(&c), 0);
	ASSERT_EQ(atomic_load(&c.f.control[1].wants), 1);
	atomic_store(&c.f.control[1].taken, 1);
	ASSERT_EQ(may_sleep(&c), -FI_EAGAIN);
	ASSERT_EQ(completions(&c), 1);
	close_scene(&c);
}

/* A count beyond what was sent completes messages early and has no other effect. */
TEST(shm_several, counts_that_lie_harm_nobody)
{
	static const uint32_t lies[] = { 1000, UINT32_MAX, INT32_MAX, 1u << 31 };
	unsigned int done = 0;
	struct scene c;

	open_scene(&c, true);
	for (int i = 0; i < 4; i++) {
		atomic_store(&c.f.control[1].taken, lies[i]);
		ASSERT_EQ(post_send(c.f.ep, c.from, 8, &c), 0);
		done += completions(&c);
		ASSERT(done <= (unsigned int)i + 1);
	}
	foe_close(&c.f);
	ASSERT_EQ(foe_open(&c.f, &c.s, NULL), 0);
	close_scene(&c);
}
