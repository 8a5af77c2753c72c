/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a request which waits for room keeps no queue of the adapter from being served, and is
 * sent once there is room, whichever queue is polled. The peers do nothing by themselves, and no
 * other thread polls: the number of polls does not depend on time. */
#include <string.h>

#include "shm_rig.h"

#define KEY 5
#define ROOM 4096
#define REQUESTS 300
#define WHOLE (MSGEP_FIRST | MSGEP_LAST)
/* Between two visits of other queues are 63 polls at most (cq_poll.c). */
#define POLLS_MOST 64u

/* What the request waits for. */
struct kind {
	const char *name;
	bool several; /* for the peer to consume messages; false: for space in the ring */
	size_t len;
};

static const struct kind kinds[] = {
	{ "in_a_ring", false, ROOM },
	{ "among_messages_in_flight", true, 8 },
};

/* Two queues, with a connection each. */
struct scene {
	struct side s;
	struct fid_cq *cq[2];
	struct foe f[2];
	struct fid_mr *mr;
	const struct kind *kind;
	char from[ROOM], shared[ROOM];
};

static void open_scene(struct scene *c, const struct kind *kind)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD };

	memset(c, 0, sizeof(*c));
	c->kind = kind;
	side_open(&c->s);
	c->mr = region(&c->s, c->shared, ROOM, KEY, FI_REMOTE_WRITE);
	c->cq[0] = c->s.cq;
	ASSERT_EQ(fi_cq_open(c->s.domain, &attr, &c->cq[1], NULL), 0);
	for (int i = 0; i < 2; i++) {
		c->s.cq = c->cq[i];
		ASSERT_EQ(foe_open(&c->f[i], &c->s, NULL), 0);
		atomic_store(&c->f[i].control[1].several, kind->several);
	}
}

static void take_completions(struct scene *c, int queue)
{
	struct fi_cq_data_entry entry[4];

	while (fi_cq_read(c->cq[queue], entry, 4) > 0)
		;
}

static void close_scene(struct scene *c)
{
	for (int i = 0; i < 2; i++)
		foe_close(&c->f[i]);
	for (int i = 0; i < 2; i++)
		take_completions(c, i);
	ASSERT_EQ(fi_close(&c->cq[0]->fid), 0);
	ASSERT_EQ(fi_close(&c->mr->fid), 0);
	side_close(&c->s);
}

static bool waits(const struct foe *f)
{
	return atomic_load(&dofi_container(f->ep, struct msgep_ep, fid)->pending);
}

/* Posts until requests of that connection wait for room. */
static void fill(struct scene *c, int i)
{
	for (int n = 0; n < REQUESTS; n++)
		if (post_send(c->f[i].ep, c->from, c->kind->len, c))
			break;
	take_completions(c, i);
	ASSERT(waits(&c->f[i]));
}

/* The peer has consumed what was sent. */
static void make_room(struct scene *c, int i)
{
	uint32_t taken = 0;

	while (foe_get(&c->f[i], MSGEP_REQ))
		taken++;
	ASSERT(taken);
	atomic_store(&c->f[i].control[1].taken, taken);
}

static void poll_once(struct scene *c, int queue)
{
	struct fi_cq_data_entry entry;
	ssize_t n = fi_cq_read(c->cq[queue], &entry, 1);

	ASSERT(n == 1 || n == -FI_EAGAIN);
}

/* The peer writes to memory. Returns the polls of the queue until the data is there. */
static unsigned int polls_until_written(struct scene *c, int queue, int i)
{
	static const char payload[8] = "payload";
	struct msgep_frame f = { .kind = MSGEP_WRITE,
				 .flags = WHOLE | MSGEP_WANTS_ACK,
				 .len = sizeof(payload),
				 .total = sizeof(payload),
				 .key = KEY,
				 .value = (uintptr_t)c->shared };
	unsigned int polls = 0;

	memset(c->shared, 0, sizeof(payload));
	foe_put(&c->f[i], MSGEP_REQ, &f, payload, sizeof(payload));
	for (; memcmp(c->shared, payload, sizeof(payload)); polls++) {
		ASSERT(polls < POLLS_MOST);
		poll_once(c, queue);
	}
	return polls;
}

/* Returns the polls of the queue until the connection has sent another request. */
static unsigned int polls_until_sent(struct scene *c, int queue, int i)
{
	unsigned int polls = 0;

	for (; !foe_get(&c->f[i], MSGEP_REQ); polls++) {
		ASSERT(polls < POLLS_MOST);
		poll_once(c, queue);
	}
	return polls;
}

static void others_are_served(const void *arg)
{
	struct scene c;

	open_scene(&c, arg);
	fill(&c, 0);
	for (int i = 0; i < 3; i++)
		polls_until_written(&c, 0, 1);
	ASSERT(waits(&c.f[0]));
	close_scene(&c);
}
TEST_ROWS(shm_room_lets_others_be_served, kinds, others_are_served)

static void own_queue(const void *arg)
{
	struct scene c;

	open_scene(&c, arg);
	fill(&c, 0);
	make_room(&c, 0);
	ASSERT_EQ(polls_until_sent(&c, 0, 0), 1);
	close_scene(&c);
}
TEST_ROWS(shm_room_is_used_by_a_poll_of_the_queue, kinds, own_queue)

static void another_queue(const void *arg)
{
	struct scene c;

	open_scene(&c, arg);
	fill(&c, 0);
	make_room(&c, 0);
	polls_until_sent(&c, 1, 0);
	close_scene(&c);
}
TEST_ROWS(shm_room_is_used_by_polls_of_another_queue, kinds, another_queue)

/* Requests wait on both queues. */
static void both_wait(const void *arg)
{
	struct scene c;

	open_scene(&c, arg);
	fill(&c, 0);
	fill(&c, 1);
	polls_until_written(&c, 0, 1);
	make_room(&c, 1);
	polls_until_sent(&c, 0, 1);
	ASSERT(waits(&c.f[0]));
	make_room(&c, 0);
	ASSERT_EQ(polls_until_sent(&c, 0, 0), 1);
	close_scene(&c);
}
TEST_ROWS(shm_room_is_used_where_two_queues_wait, kinds, both_wait)
