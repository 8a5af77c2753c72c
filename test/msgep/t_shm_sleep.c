/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests when a consumer may sleep while the peer consumes nothing, for any content of the rings. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "shm_rig.h"

#define KEY 5
#define ROOM 4096
#define WHOLE (MSGEP_FIRST | MSGEP_LAST)

struct scene {
	struct side s;
	struct foe f;
	struct fid_mr *mr;
	char shared[ROOM];
};

static void open_scene(struct scene *c)
{
	memset(c, 0, sizeof(*c));
	side_open(&c->s);
	c->mr = region(&c->s, c->shared, ROOM, KEY, FI_REMOTE_READ | FI_REMOTE_WRITE);
	ASSERT_EQ(foe_open(&c->f, &c->s, NULL), 0);
}

static void close_scene(struct scene *c)
{
	foe_close(&c->f);
	ASSERT_EQ(fi_close(&c->mr->fid), 0);
	side_close(&c->s);
}

static void put_rdma(struct scene *c, uint8_t kind)
{
	static const char payload[8] = "payload";
	struct msgep_frame f = { .kind = kind,
				 .flags = WHOLE | MSGEP_WANTS_ACK,
				 .len = kind == MSGEP_WRITE ? 8 : 0,
				 .total = 8,
				 .key = KEY,
				 .value = (uintptr_t)c->shared };

	foe_put(&c->f, MSGEP_REQ, &f, payload, f.len);
}

static int may_sleep(struct scene *c)
{
	struct fid *fid = &c->s.cq->fid;

	return fi_trywait(c->s.fabric, &fid, 1);
}

static void take_completions(struct scene *c)
{
	struct fi_cq_data_entry entry;

	while (fi_cq_read(c->s.cq, &entry, 1) == 1)
		;
}

/* The ring of requests is full, because the peer consumes none. */
static void fill_ring(struct scene *c, char *from)
{
	int sent = 0;

	while (!post_send(c->f.ep, from, ROOM, c))
		sent++;
	ASSERT(sent > 8);
	take_completions(c);
}

/* The read position of the answers adds no space for requests, and must wake no thread. */
TEST(shm_sleep, room_among_answers_is_no_reason_to_look_again)
{
	struct scene c;
	char *from = calloc(1, ROOM);

	ASSERT(from);
	open_scene(&c);
	put_rdma(&c, MSGEP_READ);
	ASSERT_EQ(foe_await(&c.f, MSGEP_ANS)->kind, MSGEP_DATA);
	fill_ring(&c, from);
	ASSERT_EQ(may_sleep(&c), 0);
	close_scene(&c);
	free(from);
}

/* Nor must a reader that reports an impossible position. */
TEST(shm_sleep, room_that_cannot_be_is_no_reason_to_look_again)
{
	static const int64_t heads[] = { -1, -64, 2 * RING, INT64_MAX, INT64_MIN };
	char *from = calloc(1, ROOM);
	struct scene c;

	ASSERT(from);
	open_scene(&c);
	fill_ring(&c, from);
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		atomic_store(&c.f.control[1].head[MSGEP_REQ], (uint64_t)heads[i]);
		ASSERT_EQ(may_sleep(&c), 0);
	}
	close_scene(&c);
	free(from);
}

/* Space that the reader frees is detected, and waiting frames are sent. */
TEST(shm_sleep, room_is_used)
{
	struct scene c;
	char *from = calloc(1, ROOM);
	uint64_t taken;

	ASSERT(from);
	open_scene(&c);
	fill_ring(&c, from);
	while (foe_get(&c.f, MSGEP_REQ))
		;
	taken = c.f.at[MSGEP_REQ];
	ASSERT_EQ(may_sleep(&c), -FI_EAGAIN); /* completions are there */
	ASSERT(foe_get(&c.f, MSGEP_REQ));
	ASSERT(c.f.at[MSGEP_REQ] > taken);
	take_completions(&c);
	close_scene(&c);
	free(from);
}

static bool woken(struct scene *c)
{
	struct pollfd pfd = { .events = POLLIN };

	ASSERT_EQ(fi_control(&c->s.cq->fid, FI_GETWAIT, &pfd.fd), 0);
	return poll(&pfd, 1, 0) > 0;
}

/* A write that does not fit is posted while a thread is blocked: that thread has to request room,
 * because the poster may never poll again. */
TEST(shm_sleep, a_sleeper_learns_that_room_is_wanted)
{
	char *from = calloc(4, RING);
	struct scene c;

	ASSERT(from);
	open_scene(&c);
	ASSERT_EQ(may_sleep(&c), 0);
	ASSERT(!woken(&c));
	ASSERT_EQ(atomic_load(&c.f.control[1].wants), 0);
	ASSERT_EQ(post_rma(c.f.ep, true, from, 4 * RING, c.shared, KEY, &c), 0);
	ASSERT(woken(&c));
	ASSERT_EQ(may_sleep(&c), 0);
	ASSERT_EQ(atomic_load(&c.f.control[1].wants), 1);
	close_scene(&c);
	free(from);
}

/* The peer sleeps, and has requested to be woken by frames only. */
TEST(shm_sleep, an_acknowledgement_wakes_the_sleeper)
{
	struct scene c;
	char byte;

	open_scene(&c);
	atomic_store(&c.f.control[1].notify, 1u << 31);
	put_rdma(&c, MSGEP_WRITE);
	side_work(&c.s);
	ASSERT_EQ(atomic_load(&c.f.control[0].done), 1);
	ASSERT_EQ(recv(c.f.sock, &byte, 1, MSG_DONTWAIT), 1);
	ASSERT_EQ(atomic_load(&c.f.control[1].notify), 0);
	close_scene(&c);
}

TEST(shm_sleep, an_acknowledgement_is_a_reason_to_look_again)
{
	struct scene c;

	open_scene(&c);
	ASSERT_EQ(post_rma(c.f.ep, true, c.shared, 8, c.shared, KEY, &c), 0);
	side_work(&c.s);
	ASSERT_EQ(may_sleep(&c), 0);
	atomic_store(&c.f.control[1].done, 1);
	ASSERT_EQ(may_sleep(&c), -FI_EAGAIN);
	ASSERT_EQ(side_await(&c.s, &c), 0);
	close_scene(&c);
}

/* A write that is longer than the ring is refused when its first frame arrives. */
TEST(shm_sleep, a_write_that_is_refused_while_it_is_sent_fails_with_the_reason)
{
	struct msgep_frame nak = { .kind = MSGEP_ACK, .flags = WHOLE, .key = FI_EACCES };
	char *from = calloc(4, RING);
	struct scene c;

	ASSERT(from);
	open_scene(&c);
	ASSERT_EQ(post_rma(c.f.ep, true, from, 4 * RING, c.shared, KEY, &c), 0);
	foe_put(&c.f, MSGEP_ANS, &nak, NULL, 0);
	ASSERT_EQ(side_await(&c.s, &c), FI_EACCES);
	close_scene(&c);
	free(from);
}

/* A reader takes completions directly from the transport. A thread that is blocked meanwhile has to
 * poll again: only it arms the queue again, and the next arrival must wake it. */
TEST(shm_sleep, a_message_taken_at_once_wakes_the_sleeper)
{
	static const char payload[8] = "payload";
	struct msgep_frame f = { .kind = MSGEP_MSG, .flags = WHOLE, .len = 8, .total = 8 };
	struct fi_cq_data_entry entry;
	struct scene c;
	char into[8];

	open_scene(&c);
	ASSERT_EQ(post_recv(c.f.ep, into, sizeof(into), &c), 0);
	ASSERT_EQ(may_sleep(&c), 0);
	foe_put(&c.f, MSGEP_REQ, &f, payload, sizeof(payload));
	ASSERT_EQ(fi_cq_read(c.s.cq, &entry, 1), 1);
	ASSERT(entry.op_context == &c);
	ASSERT(!memcmp(into, payload, sizeof(into)));
	ASSERT(woken(&c));
	close_scene(&c);
}
