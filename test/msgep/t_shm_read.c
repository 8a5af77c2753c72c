/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that reads by CMA deliver no memory whose access has been revoked. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shm_rig.h"

#define KEY 5
#define LARGE (300u << 10)
#define WHOLE (MSGEP_FIRST | MSGEP_LAST)

struct scene {
	struct side s;
	struct foe f;
	struct fid_mr *mr;
	char *data, *to;
};

static void open_scene(struct scene *c)
{
	side_open(&c->s);
	c->data = malloc(LARGE);
	c->to = calloc(1, LARGE);
	ASSERT(c->data && c->to);
	memset(c->data, 'd', LARGE);
	c->mr = region(&c->s, c->data, LARGE, KEY, FI_REMOTE_READ);
	ASSERT_EQ(foe_open(&c->f, &c->s, NULL), 0);
	if (!atomic_load(&c->f.control[0].pulls))
		dt_skip("the kernel does not permit CMA, or is slow at it");
}

static void close_scene(struct scene *c)
{
	foe_close(&c->f);
	if (c->mr)
		ASSERT_EQ(fi_close(&c->mr->fid), 0);
	side_close(&c->s);
	free(c->data);
	free(c->to);
}

static void ask_for(struct scene *c, uint64_t len, uint8_t flags)
{
	struct msgep_frame f = { .kind = MSGEP_READ,
				 .flags = (uint8_t)(WHOLE | flags),
				 .key = KEY,
				 .value = (uintptr_t)c->data,
				 .total = len };

	foe_put(&c->f, MSGEP_REQ, &f, NULL, 0);
}

static bool revoked(struct scene *c, unsigned int read)
{
	return atomic_load(&c->f.control[1].revoked) >> read & 1;
}

/* ---------------------------------------------------------------- memory of this side */

TEST(shm_grant, names_the_memory_and_is_revoked_when_the_region_is_closed)
{
	const struct msgep_frame *f;
	struct msgep_segment where;
	struct scene c;

	open_scene(&c);
	ask_for(&c, LARGE, MSGEP_PULL);
	f = foe_await(&c.f, MSGEP_ANS);
	ASSERT_EQ(f->kind, MSGEP_DATA);
	ASSERT_EQ(f->flags, WHOLE | MSGEP_PULL);
	ASSERT_EQ(f->segments, 1);
	ASSERT_EQ(f->len, sizeof(where));
	memcpy(&where, f + 1, sizeof(where));
	ASSERT_EQ(where.addr, (uintptr_t)c.data);
	ASSERT_EQ(where.len, LARGE);
	ASSERT(!revoked(&c, 0));
	ASSERT_EQ(fi_close(&c.mr->fid), 0);
	c.mr = NULL;
	ASSERT(revoked(&c, 0));
	ASSERT(!atomic_load(&c.f.control[1].gone));
	/* That key gives access to nothing else. */
	ask_for(&c, LARGE, MSGEP_PULL);
	f = foe_await(&c.f, MSGEP_ANS);
	ASSERT_EQ(f->key, FI_ENOKEY);
	ASSERT_EQ(f->len, 0);
	close_scene(&c);
}

/* A reader that cannot use CMA receives the data in frames. */
TEST(shm_grant, is_for_those_who_ask_for_it)
{
	const struct msgep_frame *f;
	uint64_t got = 0;
	struct scene c;

	open_scene(&c);
	ask_for(&c, LARGE, 0);
	do {
		f = foe_await(&c.f, MSGEP_ANS);
		ASSERT_EQ(f->kind, MSGEP_DATA);
		ASSERT(!(f->flags & MSGEP_PULL) && f->len);
		ASSERT_MEM(f + 1, c.data + got, f->len);
		got += f->len;
	} while (!(f->flags & MSGEP_LAST));
	ASSERT_EQ(got, LARGE);
	close_scene(&c);
}

TEST(shm_grant, of_another_region_stays)
{
	const struct msgep_frame *f;
	struct fid_mr *other;
	struct scene c;
	char more[64];

	open_scene(&c);
	other = region(&c.s, more, sizeof(more), KEY + 1, FI_REMOTE_READ);
	ask_for(&c, LARGE, MSGEP_PULL);
	f = foe_await(&c.f, MSGEP_ANS);
	ASSERT(f->flags & MSGEP_PULL);
	ASSERT_EQ(fi_close(&other->fid), 0);
	ASSERT(!revoked(&c, 0));
	/* Slots are reused: the 65th read is granted although its slot was revoked. */
	atomic_store(&c.f.control[1].revoked, 1);
	for (int i = 0; i < 64; i++) {
		ask_for(&c, 16384, MSGEP_PULL);
		f = foe_await(&c.f, MSGEP_ANS);
		ASSERT(f->flags & MSGEP_PULL);
		if (i < 63)
			ASSERT(revoked(&c, 0));
	}
	ASSERT(!revoked(&c, 0));
	close_scene(&c);
}

/* The end of a connection revokes all grants. */
TEST(shm_grant, is_void_when_the_connection_ends)
{
	struct scene c;

	open_scene(&c);
	ask_for(&c, LARGE, MSGEP_PULL);
	foe_await(&c.f, MSGEP_ANS);
	ASSERT_EQ(fi_shutdown(c.f.ep, 0), 0);
	ASSERT(atomic_load(&c.f.control[1].gone));
	side_await_end(&c.s, c.f.ep);
	close_scene(&c);
}

/* The peer violates the protocol while it has a grant. */
TEST(shm_grant, is_void_when_the_peer_cheats)
{
	struct msgep_frame bad = { .kind = 99 };
	struct scene c;

	open_scene(&c);
	ask_for(&c, LARGE, MSGEP_PULL);
	foe_await(&c.f, MSGEP_ANS);
	foe_put(&c.f, MSGEP_REQ, &bad, NULL, 0);
	side_await_end(&c.s, c.f.ep);
	ASSERT(atomic_load(&c.f.control[1].gone));
	close_scene(&c);
}

/* ---------------------------------------------------------------- memory of the peer */

/* Our read as the hostile peer receives it. */
static void read_of_ours(struct scene *c)
{
	const struct msgep_frame *f;

	ASSERT_EQ(post_rma(c->f.ep, false, c->to, LARGE, (void *)8, 9, c->to), 0);
	f = foe_await(&c->f, MSGEP_REQ);
	ASSERT_EQ(f->kind, MSGEP_READ);
	ASSERT_EQ(f->flags, WHOLE | MSGEP_PULL);
	ASSERT_EQ(f->value, 8);
	ASSERT_EQ(f->key, 9);
	ASSERT_EQ(f->total, LARGE);
}

static void give(struct scene *c, const char *from, size_t len, uint8_t flags, uint32_t key)
{
	struct msgep_segment where = { (uintptr_t)from, len };
	struct msgep_frame f = { .kind = MSGEP_DATA,
				 .flags = flags,
				 .segments = 1,
				 .total = LARGE,
				 .len = sizeof(where),
				 .key = key };

	foe_put(&c->f, MSGEP_ANS, &f, &where, sizeof(where));
}

TEST(shm_granted, is_taken_piece_by_piece)
{
	struct scene c;

	open_scene(&c);
	for (int i = 0; i < 70; i++) {
		memset(c.to, 0, LARGE);
		read_of_ours(&c);
		give(&c, c.data, 1000, MSGEP_FIRST | MSGEP_PULL, 0);
		give(&c, c.data + 1000, LARGE - 1000, MSGEP_LAST | MSGEP_PULL, 0);
		ASSERT_EQ(side_await(&c.s, c.to), 0);
		ASSERT_MEM(c.to, c.data, LARGE);
	}
	close_scene(&c);
}

/* Revoked before all data has been read: refused with the status of an unknown region; the
 * connection continues. */
TEST(shm_granted, is_refused_if_revoked_meanwhile)
{
	struct scene c;

	open_scene(&c);
	read_of_ours(&c);
	give(&c, c.data, 1000, MSGEP_FIRST | MSGEP_PULL, 0);
	side_work(&c.s);
	atomic_store(&c.f.control[0].revoked, 1);
	/* The memory is gone, too. */
	give(&c, (char *)16, LARGE - 1000, MSGEP_LAST | MSGEP_PULL, 0);
	ASSERT_EQ(side_await(&c.s, c.to), FI_ENOKEY);
	read_of_ours(&c);
	give(&c, c.data, LARGE, WHOLE | MSGEP_PULL, 0);
	ASSERT_EQ(side_await(&c.s, c.to), 0);
	ASSERT_MEM(c.to, c.data, LARGE);
	close_scene(&c);
}

struct bad {
	const char *name;
	uintptr_t from; /* 0: all available */
	size_t len;
	uint8_t flags;
	uint32_t key;
};

static const struct bad bads[] = {
	{ "memory_that_is_not_there", 16, LARGE, WHOLE | MSGEP_PULL, 0 },
	{ "more_than_asked_for", 0, LARGE + 1, WHOLE | MSGEP_PULL, 0 },
	{ "less_than_asked_for", 0, LARGE - 1, WHOLE | MSGEP_PULL, 0 },
	{ "more_than_there_can_be", 0, SIZE_MAX, WHOLE | MSGEP_PULL, 0 },
	{ "end_without_last", 0, LARGE, MSGEP_FIRST | MSGEP_PULL, 0 },
	{ "refusal_with_a_list", 0, LARGE, WHOLE | MSGEP_PULL, 13 },
	{ "refusal_that_is_no_number", 0, LARGE, WHOLE, UINT32_MAX },
	{ "refusal_without_end", 0, LARGE, MSGEP_FIRST, 13 },
};

static void bad_grant(const void *arg)
{
	const struct bad *b = arg;
	struct scene c;

	open_scene(&c);
	read_of_ours(&c);
	give(&c, b->from ? (const char *)b->from : c.data, b->len, b->flags, b->key);
	side_await_end(&c.s, c.f.ep);
	close_scene(&c);
}

TEST_ROWS(shm_granted, bads, bad_grant)

/* A small read must not be answered that way. */
TEST(shm_granted, must_have_been_wanted)
{
	struct scene c;

	open_scene(&c);
	ASSERT_EQ(post_rma(c.f.ep, false, c.to, 64, (void *)8, 9, c.to), 0);
	ASSERT_EQ(foe_await(&c.f, MSGEP_REQ)->flags, WHOLE);
	give(&c, c.data, 64, WHOLE | MSGEP_PULL, 0);
	side_await_end(&c.s, c.f.ep);
	close_scene(&c);
}

/* ---------------------------------------------------------------- both sides */

struct owner {
	struct side s;
	struct dt_thread thread;
	struct fid_ep *ep[2];
	char *data;
	_Atomic int rounds, good;
	_Atomic bool stop;
};

/* Closes the region, overwrites the memory, restores it and opens the region again. Sometimes it
 * stays open until something has been read, however long that takes. */
static void owner(void *arg)
{
	struct owner *o = arg;
	struct fid_mr *mr;

	while (!atomic_load(&o->stop)) {
		int round = atomic_load(&o->rounds) % 8, seen = atomic_load(&o->good);

		memset(o->data, 'd', LARGE);
		mr = region(&o->s, o->data, LARGE, KEY, FI_REMOTE_READ);
		while (!round && atomic_load(&o->good) == seen && !atomic_load(&o->stop))
			sched_yield();
		for (int i = 0; i < round; i++)
			sched_yield();
		ASSERT_EQ(fi_close(&mr->fid), 0);
		memset(o->data, 'x', LARGE);
		atomic_fetch_add(&o->rounds, 1);
	}
}

/* A successful read took place while the region was open. */
TEST_LIMIT(shm_race, reads_that_succeed_come_before_the_close, 60)
{
	uint64_t end = dt_now_us() + 2000000;
	int refused = 0, err;
	char *to = calloc(1, LARGE), *want = malloc(LARGE);
	struct owner o = { .rounds = 0 };

	ASSERT(to && want);
	memset(want, 'd', LARGE);
	o.data = malloc(LARGE);
	ASSERT(o.data);
	side_open(&o.s);
	pair_open(&o.s, o.ep);
	dt_thread_start(&o.thread, owner, &o);
	while (dt_now_us() < end || (!o.good && dt_now_us() < end + 20000000)) {
		ASSERT_EQ(post_rma(o.ep[0], false, to, LARGE, o.data, KEY, to), 0);
		err = side_await(&o.s, to);
		if (!err) {
			ASSERT_MEM(to, want, LARGE);
			atomic_fetch_add(&o.good, 1);
			continue;
		}
		ASSERT_EQ(err, FI_ENOKEY);
		refused++;
		pair_close(&o.s, o.ep);
		pair_open(&o.s, o.ep);
	}
	atomic_store(&o.stop, true);
	dt_thread_join(&o.thread);
	dt_note("%d reads, %d refused, %d closes", o.good, refused, o.rounds);
	ASSERT(o.good > 0);
	pair_close(&o.s, o.ep);
	side_close(&o.s);
	free(to);
	free(want);
	free(o.data);
}
