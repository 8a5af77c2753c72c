/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests frames that no valid peer sends.
 *
 * Each hostile peer has its own connection and knows the key of a region. The bytes around the
 * memory that it may access, and a connection between two valid ends, must remain intact.
 */
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shm_rig.h"

#define KEY 5
#define ROOM 8192
#define AROUND 4096
#define GUARD 'g'

struct scene {
	struct side s;
	struct fid_ep *pair[2];
	struct fid_mr *mr;
	struct foe f;
	char *shared, *to; /* ROOM each, with AROUND before and after */
};

static char *guarded(void)
{
	char *p = malloc(ROOM + 2 * AROUND);

	ASSERT(p);
	memset(p, GUARD, ROOM + 2 * AROUND);
	memset(p + AROUND, 0, ROOM);
	return p + AROUND;
}

static void check_guards(const char *p)
{
	for (size_t i = 0; i < AROUND; i++)
		ASSERT(p[ROOM + i] == GUARD && p[-1 - (ptrdiff_t)i] == GUARD);
}

static void open_scene(struct scene *c)
{
	side_open(&c->s);
	pair_open(&c->s, c->pair);
	c->shared = guarded();
	c->to = guarded();
	c->mr = region(&c->s, c->shared, ROOM, KEY, FI_REMOTE_READ | FI_REMOTE_WRITE);
	ASSERT_EQ(foe_open(&c->f, &c->s, NULL), 0);
}

static void close_scene(struct scene *c)
{
	foe_close(&c->f);
	pair_check(&c->s, c->pair);
	ASSERT_EQ(fi_close(&c->mr->fid), 0);
	check_guards(c->shared);
	check_guards(c->to);
	pair_close(&c->s, c->pair);
	side_close(&c->s);
	free(c->shared - AROUND);
	free(c->to - AROUND);
}

/* ---------------------------------------------------------------- what ends the connection */

static char payload[16384];

static void put(struct scene *c, int channel, struct msgep_frame f)
{
	foe_put(&c->f, channel, &f, payload, f.len < sizeof(payload) ? f.len : 64);
}

#define WHOLE (MSGEP_FIRST | MSGEP_LAST)

static void kind_of_request(struct scene *c)
{
	put(c, MSGEP_REQ, (struct msgep_frame){ .kind = 9, .flags = WHOLE });
}

static void kind_zero(struct scene *c)
{
	put(c, MSGEP_REQ, (struct msgep_frame){ .flags = WHOLE });
}

static void answer_among_requests(struct scene *c)
{
	put(c, MSGEP_REQ, (struct msgep_frame){ .kind = MSGEP_ACK, .flags = WHOLE });
}

static void kind_of_answer(struct scene *c)
{
	put(c, MSGEP_ANS, (struct msgep_frame){ .kind = 200, .flags = WHOLE });
}

static void request_among_answers(struct scene *c)
{
	put(c, MSGEP_ANS, (struct msgep_frame){ .kind = MSGEP_MSG, .flags = WHOLE });
}

static void length_of_all_ones(struct scene *c)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){
		    .kind = MSGEP_MSG, .flags = WHOLE, .len = UINT32_MAX, .total = UINT32_MAX });
}

static void length_beyond_the_ring(struct scene *c)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){
		    .kind = MSGEP_MSG, .flags = WHOLE, .len = RING - 39, .total = RING - 39 });
}

static void answer_beyond_the_ring(struct scene *c)
{
	put(c, MSGEP_ANS,
	    (struct msgep_frame){ .kind = MSGEP_DATA, .flags = WHOLE, .len = RING - 39 });
}

static void write_to(struct scene *c, uint8_t flags, uint32_t len, uint64_t total)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_WRITE,
				  .flags = flags,
				  .len = len,
				  .total = total,
				  .key = KEY,
				  .value = (uintptr_t)c->shared });
}

static void skip_of_a_whole_round(struct scene *c)
{
	put(c, MSGEP_REQ, (struct msgep_frame){ .kind = SKIP, .len = RING - 40 });
}

static void skip_to_the_middle(struct scene *c)
{
	write_to(c, WHOLE, 8, 8);
	put(c, MSGEP_REQ, (struct msgep_frame){ .kind = SKIP, .len = RING / 2 - 40 });
}

static void middle_without_beginning(struct scene *c)
{
	put(c, MSGEP_REQ, (struct msgep_frame){ .kind = MSGEP_MSG, .len = 100, .total = 200 });
}

static void write_without_beginning(struct scene *c)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_WRITE,
				  .flags = MSGEP_LAST,
				  .len = 100,
				  .total = 100,
				  .key = KEY });
}

static void two_beginnings(struct scene *c)
{
	for (int i = 0; i < 2; i++)
		put(c, MSGEP_REQ,
		    (struct msgep_frame){
			    .kind = MSGEP_MSG, .flags = MSGEP_FIRST, .len = 100, .total = 300 });
}

static void write_within_a_message(struct scene *c)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){
		    .kind = MSGEP_MSG, .flags = MSGEP_FIRST, .len = 100, .total = 300 });
	put(c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_WRITE,
				  .flags = WHOLE,
				  .len = 100,
				  .total = 100,
				  .key = KEY,
				  .value = (uintptr_t)c->shared });
}

static void read_within_a_write(struct scene *c)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_WRITE,
				  .flags = MSGEP_FIRST,
				  .len = 100,
				  .total = 300,
				  .key = KEY,
				  .value = (uintptr_t)c->shared });
	put(c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_READ,
				  .flags = WHOLE,
				  .total = 8,
				  .key = KEY,
				  .value = (uintptr_t)c->shared });
}

static void message_longer_than_announced(struct scene *c)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_MSG, .flags = WHOLE, .len = 200, .total = 100 });
}

static void message_shorter_than_announced(struct scene *c)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_MSG, .flags = WHOLE, .len = 100, .total = 200 });
}

static void write_longer_than_announced(struct scene *c)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_WRITE,
				  .flags = WHOLE,
				  .len = 16000,
				  .total = 8,
				  .key = KEY,
				  .value = (uintptr_t)c->shared });
}

static void read_with_payload(struct scene *c)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_READ,
				  .flags = WHOLE,
				  .len = 8,
				  .total = 8,
				  .key = KEY,
				  .value = (uintptr_t)c->shared });
}

static void ack_of_nothing(struct scene *c)
{
	put(c, MSGEP_ANS, (struct msgep_frame){ .kind = MSGEP_ACK, .flags = WHOLE, .value = 1 });
}

static void count_of_nothing(struct scene *c)
{
	atomic_store(&c->f.control[1].done, 1);
}

static void ack_from_the_past(struct scene *c)
{
	put(c, MSGEP_ANS,
	    (struct msgep_frame){ .kind = MSGEP_ACK, .flags = WHOLE, .value = ~0ull });
}

static void refusal_of_nothing(struct scene *c)
{
	put(c, MSGEP_ANS, (struct msgep_frame){ .kind = MSGEP_ACK, .flags = WHOLE, .key = 13 });
}

static void refusal_that_is_no_number(struct scene *c)
{
	put(c, MSGEP_ANS,
	    (struct msgep_frame){ .kind = MSGEP_ACK, .flags = WHOLE, .key = UINT_MAX });
}

static void data_unasked(struct scene *c)
{
	put(c, MSGEP_ANS,
	    (struct msgep_frame){ .kind = MSGEP_DATA, .flags = WHOLE, .len = 100, .total = 100 });
}

/* Sends a list of segments, of which the frame announces `announced`. */
static void pull(struct scene *c, uint8_t kind, unsigned int announced, uint64_t addr, uint64_t len,
		 uint64_t total)
{
	struct msgep_segment list[4];
	struct msgep_frame f = { .kind = kind,
				 .flags = WHOLE | MSGEP_PULL | MSGEP_WANTS_ACK,
				 .total = total,
				 .segments = (uint8_t)announced,
				 .len = sizeof(list),
				 .key = kind == MSGEP_WRITE ? KEY : 0,
				 .value = kind == MSGEP_WRITE ? (uintptr_t)c->shared : 0 };

	for (int i = 0; i < 4; i++)
		list[i] = (struct msgep_segment){ addr, len };
	foe_put(&c->f, MSGEP_REQ, &f, list, sizeof(list));
}

static void list_of_none(struct scene *c)
{
	pull(c, MSGEP_MSG, 0, (uintptr_t)payload, 16, 64);
}

static void list_of_too_many(struct scene *c)
{
	pull(c, MSGEP_MSG, 5, (uintptr_t)payload, 16, 80);
}

static void list_of_255(struct scene *c)
{
	pull(c, MSGEP_WRITE, 255, (uintptr_t)payload, 16, 255 * 16);
}

static void segments_that_wrap(struct scene *c)
{
	pull(c, MSGEP_MSG, 4, (uintptr_t)payload, 1ull << 62, 0);
}

static void segments_longer_than_announced(struct scene *c)
{
	pull(c, MSGEP_WRITE, 4, (uintptr_t)payload, 4000, 64);
}

static void segments_nowhere(struct scene *c)
{
	pull(c, MSGEP_MSG, 4, 16, 1000, 4000);
}

static void segments_of_the_kernel(struct scene *c)
{
	pull(c, MSGEP_WRITE, 4, 0xffff888000000000, 1000, 4000);
}

static void list_beyond_its_frame(struct scene *c)
{
	struct msgep_frame f = {
		.kind = MSGEP_MSG, .flags = WHOLE | MSGEP_PULL, .total = 16, .segments = 4, .len = 8
	};

	foe_put(&c->f, MSGEP_REQ, &f, payload, 8);
}

static void note_of_nothing(struct scene *c)
{
	put(c, MSGEP_REQ, (struct msgep_frame){ .kind = MSGEP_IMM, .flags = WHOLE });
}

static void note_of_a_longer_write(struct scene *c)
{
	write_to(c, WHOLE, 100, 100);
	put(c, MSGEP_REQ, (struct msgep_frame){ .kind = MSGEP_IMM, .flags = WHOLE, .total = 101 });
}

static void note_within_its_write(struct scene *c)
{
	write_to(c, MSGEP_FIRST, 100, 200);
	put(c, MSGEP_REQ, (struct msgep_frame){ .kind = MSGEP_IMM, .flags = WHOLE, .total = 200 });
}

static void operand_too_short(struct scene *c)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_ADD,
				  .flags = WHOLE,
				  .len = 7,
				  .total = 8,
				  .key = KEY,
				  .value = (uintptr_t)c->shared });
}

static void swap_of_one_operand(struct scene *c)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_SWAP,
				  .flags = WHOLE,
				  .len = 8,
				  .total = 8,
				  .key = KEY,
				  .value = (uintptr_t)c->shared });
}

static void addition_of_much(struct scene *c)
{
	put(c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_ADD,
				  .flags = WHOLE,
				  .len = 8,
				  .total = 64,
				  .key = KEY,
				  .value = (uintptr_t)c->shared });
}

struct breach {
	const char *name;
	void (*commit)(struct scene *c);
};

/* clang-format off */
#define BREACH(fn_) { #fn_, fn_ }
static const struct breach breaches[] = {
	BREACH(kind_of_request), BREACH(kind_zero), BREACH(answer_among_requests),
	BREACH(kind_of_answer), BREACH(request_among_answers), BREACH(length_of_all_ones),
	BREACH(length_beyond_the_ring), BREACH(answer_beyond_the_ring),
	BREACH(skip_of_a_whole_round), BREACH(skip_to_the_middle),
	BREACH(middle_without_beginning), BREACH(write_without_beginning),
	BREACH(two_beginnings), BREACH(write_within_a_message), BREACH(read_within_a_write),
	BREACH(message_longer_than_announced), BREACH(message_shorter_than_announced),
	BREACH(write_longer_than_announced), BREACH(read_with_payload), BREACH(ack_of_nothing),
	BREACH(count_of_nothing),
	BREACH(ack_from_the_past), BREACH(refusal_of_nothing), BREACH(refusal_that_is_no_number),
	BREACH(data_unasked), BREACH(list_of_none), BREACH(list_of_too_many),
	BREACH(list_of_255), BREACH(segments_that_wrap), BREACH(segments_longer_than_announced),
	BREACH(segments_nowhere), BREACH(segments_of_the_kernel), BREACH(list_beyond_its_frame),
	BREACH(note_of_nothing), BREACH(note_of_a_longer_write), BREACH(note_within_its_write),
	BREACH(operand_too_short), BREACH(swap_of_one_operand), BREACH(addition_of_much),
};
/* clang-format on */

/* The connection of the hostile peer ends, and nothing else happens. */
static void breach(const void *arg)
{
	const struct breach *how = arg;
	struct scene c;

	open_scene(&c);
	ASSERT_EQ(post_recv(c.f.ep, c.to, ROOM, c.to), 0);
	how->commit(&c);
	side_await_end(&c.s, c.f.ep);
	close_scene(&c);
}

TEST_ROWS(shm_breach, breaches, breach)

/* ---------------------------------------------------------------- what is refused */

struct access {
	const char *name;
	uint8_t kind;
	uint32_t key;
	int64_t at; /* from the region's beginning */
	uint64_t total;
	uint32_t err;
};

static const struct access accesses[] = {
	{ "write_unknown_key", MSGEP_WRITE, KEY + 1, 0, 8, FI_ENOKEY },
	{ "write_key_out_of_all_tables", MSGEP_WRITE, UINT32_MAX, 0, 8, FI_ENOKEY },
	{ "write_key_of_another_time", MSGEP_WRITE, KEY | 1u << 20, 0, 8, FI_ENOKEY },
	{ "write_before", MSGEP_WRITE, KEY, -1, 8, FI_EACCES },
	{ "write_behind", MSGEP_WRITE, KEY, ROOM - 7, 8, FI_EACCES },
	{ "write_length_that_wraps", MSGEP_WRITE, KEY, 8, UINT64_MAX - 4, FI_EACCES },
	{ "read_unknown_key", MSGEP_READ, KEY + 1, 0, 8, FI_ENOKEY },
	{ "read_key_out_of_all_tables", MSGEP_READ, UINT32_MAX, 0, 8, FI_ENOKEY },
	{ "read_before", MSGEP_READ, KEY, -1, 8, FI_EACCES },
	{ "read_behind", MSGEP_READ, KEY, ROOM - 7, 8, FI_EACCES },
	{ "read_all_there_is", MSGEP_READ, KEY, 0, UINT64_MAX, FI_EACCES },
	{ "read_large_behind", MSGEP_READ, KEY, 0, ROOM + 1, FI_EACCES },
};

/* The status gives the reason; whatever follows has no effect. */
static void refused_access(const void *arg)
{
	const struct access *a = arg;
	const struct msgep_frame *f;
	struct scene c;

	open_scene(&c);
	memset(payload, 'w', sizeof(payload));
	for (int with = 0; with < 2; with++) {
		put(&c, MSGEP_REQ,
		    (struct msgep_frame){
			    .kind = a->kind,
			    .flags = (uint8_t)(WHOLE | MSGEP_WANTS_ACK |
					       (a->kind == MSGEP_READ ? MSGEP_PULL : 0)),
			    .key = a->key,
			    .value = (uintptr_t)c.shared + (uint64_t)a->at,
			    .total = a->total,
			    .len = a->kind == MSGEP_READ ? 0 : 8 });
		if (with)
			break;
		f = foe_await(&c.f, MSGEP_ANS);
		ASSERT_EQ(f->kind, a->kind == MSGEP_READ ? MSGEP_DATA : MSGEP_ACK);
		ASSERT_EQ(f->key, a->err);
		ASSERT_EQ(f->len, 0);
		/* And a valid one. */
		put(&c, MSGEP_REQ,
		    (struct msgep_frame){ .kind = MSGEP_WRITE,
					  .flags = WHOLE,
					  .len = 8,
					  .total = 8,
					  .key = KEY,
					  .value = (uintptr_t)c.shared });
	}
	side_work(&c.s);
	for (size_t i = 0; i < ROOM; i++)
		ASSERT(!c.shared[i]);
	close_scene(&c);
}

TEST_ROWS(shm_access, accesses, refused_access)

/* ---------------------------------------------------------------- what has no effect */

/* Undefined flags and bytes are ignored. */
TEST(shm_unknown, flags_and_bytes_do_nothing)
{
	struct scene c;

	open_scene(&c);
	memset(payload, 'm', 100);
	ASSERT_EQ(post_recv(c.f.ep, c.to, ROOM, c.to), 0);
	put(&c, MSGEP_REQ,
	    (struct msgep_frame){ .kind = MSGEP_MSG,
				  .flags = WHOLE | 0xe0,
				  .len = 100,
				  .total = 100,
				  .segments = 77,
				  .counts = { 1, 2, 3, 4, 5 } });
	ASSERT_EQ(side_await(&c.s, c.to), 0);
	ASSERT_MEM(c.to, payload, 100);
	close_scene(&c);
}

/* The shared positions have impossible values: this end writes no more than fits. */
TEST(shm_control, that_lies_harms_nobody)
{
	struct scene c;
	int sent = 0;

	open_scene(&c);
	atomic_store(&c.f.control[1].head[MSGEP_REQ], UINT64_MAX / 2);
	atomic_store(&c.f.control[1].head[MSGEP_ANS], 1);
	atomic_store(&c.f.control[1].notify, UINT32_MAX);
	atomic_store(&c.f.control[1].pulls, UINT32_MAX);
	atomic_store(&c.f.control[1].revoked, UINT64_MAX);
	atomic_store(&c.f.control[0].revoked, UINT64_MAX);
	atomic_store(&c.f.control[0].wants, UINT32_MAX);
	atomic_store(&c.f.control[0].head[MSGEP_REQ], UINT64_MAX);
	while (sent < 1000 && !post_send(c.f.ep, c.shared, 4000, c.shared))
		sent++;
	ASSERT(sent > 0 && sent < 1000);
	foe_close(&c.f);
	for (void *p = c.shared; sent > 0 && p; sent--) {
		struct fi_cq_data_entry entry;

		if (fi_cq_read(c.s.cq, &entry, 1) != 1)
			break;
		ASSERT_PTR(entry.op_context, p);
	}
	ASSERT_EQ(foe_open(&c.f, &c.s, NULL), 0);
	close_scene(&c);
}

/* Many doorbells, followed by an invalid byte. */
TEST(shm_socket, may_say_what_it_likes)
{
	static const char bells[1000], words[] = "RDMC is what I say";
	struct scene c;

	open_scene(&c);
	ASSERT_EQ(send(c.f.sock, bells, sizeof(bells), MSG_NOSIGNAL), sizeof(bells));
	pair_check(&c.s, c.pair);
	ASSERT_EQ(send(c.f.sock, words, sizeof(words), MSG_NOSIGNAL), sizeof(words));
	shutdown(c.f.sock, SHUT_WR);
	side_await_end(&c.s, c.f.ep);
	close_scene(&c);
}

/* ---------------------------------------------------------------- concurrent changes */

struct flipper {
	struct dt_thread thread;
	_Atomic uint32_t *word;
	uint32_t a, b;
	_Atomic bool turning, stop;
};

static void flip(void *arg)
{
	struct flipper *f = arg;

	while (!atomic_load_explicit(&f->stop, memory_order_relaxed)) {
		atomic_store_explicit(f->word, f->a, memory_order_relaxed);
		atomic_store_explicit(f->word, f->b, memory_order_relaxed);
		atomic_store_explicit(&f->turning, true, memory_order_relaxed);
	}
}

struct change {
	const char *name;
	size_t offset; /* of the word, from the frame's beginning */
	uint32_t a, b;
	uint8_t kind;
	bool pull;
};

#define LIST sizeof(struct msgep_frame)
static const struct change changes[] = {
	{ "length_of_a_message", offsetof(struct msgep_frame, len), 64, RING, MSGEP_MSG, false },
	{ "length_of_a_write", offsetof(struct msgep_frame, len), 64, RING, MSGEP_WRITE, false },
	{ "total_of_a_message", offsetof(struct msgep_frame, total), 64, 16000, MSGEP_MSG, false },
	{ "key_of_a_write", offsetof(struct msgep_frame, key), KEY, 0x7fffffff, MSGEP_WRITE,
	  false },
	{ "segment_of_a_message", LIST + 8, ROOM, 2 * ROOM, MSGEP_MSG, true },
	{ "segment_of_a_write", LIST + 8, ROOM, 2 * ROOM, MSGEP_WRITE, true },
	{ "number_of_segments", offsetof(struct msgep_frame, segments) - 2,
	  MSGEP_MSG | (WHOLE | MSGEP_PULL) << 8 | 1 << 16,
	  MSGEP_MSG | (WHOLE | MSGEP_PULL) << 8 | 4 << 16, MSGEP_MSG, true },
};

static void send_changing(struct scene *c, const struct change *how)
{
	struct msgep_segment list[4] = { { (uintptr_t)payload, ROOM },
					 { (uintptr_t)payload, ROOM },
					 { (uintptr_t)payload, ROOM },
					 { (uintptr_t)payload, ROOM } };
	struct msgep_frame f = { .kind = how->kind, .flags = WHOLE, .len = 64, .total = 64 };
	struct flipper flipper = { .a = how->a, .b = how->b };
	uint64_t end;
	struct msgep_frame *at;

	if (how->kind == MSGEP_WRITE) {
		f.key = KEY;
		f.value = (uintptr_t)c->shared;
	}
	if (how->pull) {
		f.flags |= MSGEP_PULL;
		f.segments = 1;
		f.len = sizeof(*list);
		f.total = ROOM;
	}
	/* Its address is known before it is written. */
	at = (void *)(c->f.map + 4096 + c->f.pos[MSGEP_REQ] % RING);
	flipper.word = (_Atomic uint32_t *)(void *)((char *)at + how->offset);
	foe_put(&c->f, MSGEP_REQ, &f, list, sizeof(list));
	dt_thread_start(&flipper.thread, flip, &flipper);
	/* No thread has polled the frame yet: this thread does, below. */
	while (!atomic_load(&flipper.turning))
		sched_yield();
	end = dt_now_us() + 300;
	do {
		struct fi_cq_data_entry entry;
		struct fi_cq_err_entry error;

		if (fi_cq_read(c->s.cq, &entry, 1) == -FI_EAVAIL)
			ASSERT_EQ(fi_cq_readerr(c->s.cq, &error, 0), 1);
	} while (dt_now_us() < end);
	atomic_store(&flipper.stop, true);
	dt_thread_join(&flipper.thread);
}

static void changing(const void *arg)
{
	const struct change *how = arg;
	struct scene c;

	open_scene(&c);
	for (int i = 0; i < 200; i++) {
		ASSERT_EQ(post_recv(c.f.ep, c.to, ROOM, c.to), 0);
		send_changing(&c, how);
		check_guards(c.to);
		check_guards(c.shared);
		/* However it was interpreted, the next one uses a new connection. */
		foe_close(&c.f);
		ASSERT_EQ(foe_open(&c.f, &c.s, NULL), 0);
	}
	close_scene(&c);
}

TEST_ROWS(shm_change, changes, changing)
