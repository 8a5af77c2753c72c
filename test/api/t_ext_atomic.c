/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the InfiniBand extension: atomic operations on the peer's memory. */
#include "ext.h"

static uint64_t *word(struct rig *r, int i)
{
	return (uint64_t *)(void *)r->words.mem + i;
}

static uint64_t result(const struct side *s, int i)
{
	uint64_t value;

	memcpy(&value, s->buf.mem + (size_t)i * 8, sizeof(value));
	return value;
}

static DAT_RETURN add_at(struct side *s, int to, uint64_t cookie, DAT_RMR_TRIPLET at, uint64_t n,
			 int flags)
{
	DAT_LMR_TRIPLET t = seg(&s->buf, (size_t)to * 8, 8);

	return dat_ib_post_fetch_and_add(s->ep, n, &t, ck(cookie), &at,
					 (DAT_COMPLETION_FLAGS)flags);
}

static DAT_RETURN add(struct rig *r, struct side *s, int i, uint64_t n)
{
	return add_at(s, i, 100 + (uint64_t)i, rem(&r->words, (size_t)i * 8, 8), n, 0);
}

static DAT_RETURN swap(struct rig *r, struct side *s, int i, uint64_t compare, uint64_t with)
{
	DAT_LMR_TRIPLET t = seg(&s->buf, (size_t)i * 8, 8);
	DAT_RMR_TRIPLET at = rem(&r->words, (size_t)i * 8, 8);

	return dat_ib_post_cmp_and_swap(s->ep, compare, with, &t, ck(200 + (uint64_t)i), &at, 0);
}

static void added(struct rig *r, struct side *s, uint64_t n, uint64_t before)
{
	OK(add(r, s, 3, n));
	EV_EXT(s->req, s->ep, 103, FETCH_ADD, 8);
	ASSERT_EQ(result(s, 3), before);
	ASSERT_EQ(*word(r, 3), before + n);
}

TEST(ext, atomic_add_by_both_sides)
{
	struct rig r;

	rig_open(&r);
	added(&r, &r.p.a, 5, 0);
	added(&r, &r.p.b, 0x100000000ull, 5);
	added(&r, &r.p.a, 0, 0x100000005ull);
	added(&r, &r.p.b, UINT64_MAX, 0x100000005ull);
	added(&r, &r.p.a, UINT64_MAX - 0x100000004ull, 0x100000004ull);
	added(&r, &r.p.a, 1, UINT64_MAX);
	ASSERT_EQ(*word(&r, 2), 0);
	ASSERT_EQ(*word(&r, 4), 0);
	EV_EMPTY(r.p.a.recv);
	EV_EMPTY(r.p.b.recv);
	rig_close(&r);
}

TEST(ext, atomic_swap_swaps_what_it_compares)
{
	static const uint64_t values[] = { 0, 1, 0x12345, UINT64_MAX, 0x8000000000000000ull };
	struct rig r;

	rig_open(&r);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		uint64_t now = values[i], next = ~now * 3;

		*word(&r, 5) = now;
		/* Something else is there. */
		OK(swap(&r, &r.p.a, 5, now ^ 0x100000000ull, 7));
		EV_EXT(r.p.a.req, r.p.a.ep, 205, CMP_SWAP, 8);
		ASSERT_EQ(result(&r.p.a, 5), now);
		ASSERT_EQ(*word(&r, 5), now);
		OK(swap(&r, &r.p.b, 5, now, next));
		EV_EXT(r.p.b.req, r.p.b.ep, 205, CMP_SWAP, 8);
		ASSERT_EQ(result(&r.p.b, 5), now);
		ASSERT_EQ(*word(&r, 5), next);
	}
	ASSERT_EQ(*word(&r, 4), 0);
	ASSERT_EQ(*word(&r, 6), 0);
	rig_close(&r);
}

/* More than any endpoint has at once. */
TEST(ext, atomic_many_outstanding)
{
	struct rig r;
	DAT_EP_ATTR attr;
	int n;

	rig_open(&r);
	attr = default_attr(&r.p.node);
	n = (int)attr.max_request_dtos;
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < n; i++)
			OK(add_at(&r.p.a, i, (uint64_t)i, rem(&r.words, 0, 8), 1, 0));
		for (int i = 0; i < n; i++) {
			EV_EXT(r.p.a.req, r.p.a.ep, (uint64_t)i, FETCH_ADD, 8);
			ASSERT_EQ(result(&r.p.a, i), (uint64_t)(round * n + i));
		}
	}
	rig_close(&r);
}

/* A message that was posted later finds the change made; a fence waits for what was there. */
TEST(ext, atomic_keeps_its_place)
{
	struct rig r;

	rig_open(&r);
	for (uint64_t i = 0; i < 50; i++) {
		OK(post_recv(&r.p.b, 0, 100, 1));
		OK(add(&r, &r.p.a, 1, 1));
		/* What the former brings is sent. */
		OK(post_send_flags(&r.p.a, 8, 8, 2, DAT_COMPLETION_BARRIER_FENCE_FLAG));
		EV_DTO(r.p.b.recv, r.p.b.ep, 1, OP_RECV, 8);
		ASSERT_EQ(*word(&r, 1), i + 1);
		ASSERT_EQ(result(&r.p.b, 0), i);
		EV_EXT(r.p.a.req, r.p.a.ep, 101, FETCH_ADD, 8);
		EV_DTO(r.p.a.req, r.p.a.ep, 2, OP_SEND, 8);
	}
	rig_close(&r);
}

TEST(ext, atomic_among_reads_and_writes)
{
	struct rig r;

	rig_open(&r);
	for (uint64_t i = 0; i < 50; i++) {
		OK(post_write(&r.p.a, 4000, 3000, 1, &r.p.b, 9000));
		OK(add(&r, &r.p.a, 0, 2));
		OK(post_read(&r.p.a, 20000, 3000, 2, &r.p.b, 9000));
		OK(swap(&r, &r.p.a, 1, i, i + 1));
		EV_DTO(r.p.a.req, r.p.a.ep, 1, OP_WRITE, 3000);
		EV_EXT(r.p.a.req, r.p.a.ep, 100, FETCH_ADD, 8);
		EV_DTO(r.p.a.req, r.p.a.ep, 2, OP_READ, 3000);
		EV_EXT(r.p.a.req, r.p.a.ep, 201, CMP_SWAP, 8);
		ASSERT_EQ(result(&r.p.a, 0), i * 2);
		ASSERT_EQ(result(&r.p.a, 1), i);
	}
	rig_close(&r);
}

TEST(ext, atomic_flags)
{
	struct rig r;

	rig_open(&r);
	OK(add_at(&r.p.a, 0, 1, rem(&r.words, 0, 8), 1, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(add_at(&r.p.a, 1, 2, rem(&r.words, 0, 8), 1, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	EV_EXT(r.p.a.req, r.p.a.ep, 2, FETCH_ADD, 8);
	EV_EMPTY(r.p.a.req);
	ASSERT_EQ(result(&r.p.a, 0), 0);
	ASSERT_EQ(result(&r.p.a, 1), 1);
	BAD_ARG(add_at(&r.p.a, 0, 3, rem(&r.words, 0, 8), 1, DAT_COMPLETION_SOLICITED_WAIT_FLAG),
		6);
	BAD_ARG(add_at(&r.p.a, 0, 3, rem(&r.words, 0, 8), 1, 0x100), 6);
	rig_close(&r);
}

TEST(ext, atomic_checks_its_arguments)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET at;
	struct rig r;
	struct buf b;

	rig_open(&r);
	t = seg(&r.p.a.buf, 0, 8);
	at = rem(&r.words, 0, 8);
	BAD_HANDLE(dat_ib_post_fetch_and_add(r.p.node.pz, 1, &t, ck(1), &at, 0), EP);
	BAD_ARG(dat_ib_post_fetch_and_add(r.p.a.ep, 1, NULL, ck(1), &at, 0), 3);
	BAD_ARG(dat_ib_post_fetch_and_add(r.p.a.ep, 1, &t, ck(1), NULL, 0), 5);
	BAD_ARG(dat_ib_post_cmp_and_swap(r.p.a.ep, 1, 2, NULL, ck(1), &at, 0), 3);
	BAD_ARG(dat_ib_post_cmp_and_swap(r.p.a.ep, 1, 2, &t, ck(1), NULL, 0), 5);
	t.segment_length = 7;
	ASSERT_RET(dat_ib_post_fetch_and_add(r.p.a.ep, 1, &t, ck(1), &at, 0), DAT_LENGTH_ERROR, 0);
	t.segment_length = 8;
	at.segment_length = 7;
	ASSERT_RET(dat_ib_post_cmp_and_swap(r.p.a.ep, 1, 2, &t, ck(1), &at, 0), DAT_LENGTH_ERROR,
		   0);
	buf_make(&b, &r.p.node, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	t = seg(&b, 0, 8);
	at.segment_length = 8;
	ASSERT_RET(dat_ib_post_fetch_and_add(r.p.a.ep, 1, &t, ck(1), &at, 0),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	buf_free(&b);
	EV_EMPTY(r.p.a.req);
	ASSERT_EQ(*word(&r, 0), 0);
	rig_close(&r);
}

TEST(ext, atomic_on_an_unconnected_endpoint_is_INVALID_STATE)
{
	struct pair p;

	pair_open(&p);
	BAD_STATE(add_at(&p.a, 0, 1, rem(&p.b.buf, 0, 8), 1, 0), EP_UNCONNECTED);
	pair_close(&p);
}

/* Programs name more memory of the peer's than they operate on. */
TEST(ext, atomic_takes_eight_bytes_of_more)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET at;
	struct rig r;

	rig_open(&r);
	t = seg(&r.p.a.buf, 0, 100);
	at = rem(&r.words, 0, 256);
	memset(r.p.a.buf.mem, 0x21, 100);
	OK(dat_ib_post_fetch_and_add(r.p.a.ep, 9, &t, ck(1), &at, 0));
	EV_EXT(r.p.a.req, r.p.a.ep, 1, FETCH_ADD, 8);
	ASSERT_EQ(*word(&r, 0), 9);
	ASSERT_EQ(*word(&r, 1), 0);
	ASSERT_EQ(result(&r.p.a, 0), 0);
	ASSERT_EQ(result(&r.p.a, 1), 0x2121212121212121ull);
	rig_close(&r);
}

/* ---- what the target does not allow ---- */

static void refused(struct rig *r, DAT_RMR_TRIPLET at, DAT_DTO_COMPLETION_STATUS status)
{
	uint64_t before = *word(r, 0);

	OK(add_at(&r->p.a, 0, 5, at, 1, 0));
	OK(post_write(&r->p.a, 0, 8, 6, &r->p.b, 0));
	EV_EXT_STATUS(r->p.a.req, r->p.a.ep, 5, FETCH_ADD, status);
	EV_FLUSH(r->p.a.req, r->p.a.ep, 6, OP_WRITE);
	pair_both_ended(&r->p);
	ASSERT_EQ(*word(r, 0), before);
	rig_close(r);
}

TEST(ext, atomic_without_any_right_is_REMOTE_ACCESS)
{
	struct rig r;

	rig_open_priv(&r, (int)PRIV_LOCAL | DAT_MEM_PRIV_REMOTE_READ_FLAG);
	refused(&r, rem(&r.words, 0, 8), DAT_DTO_ERR_REMOTE_ACCESS);
}

TEST(ext, atomic_right_is_not_that_to_write)
{
	struct rig r;

	rig_open_priv(&r, PRIV_ALL);
	refused(&r, rem(&r.words, 0, 8), DAT_DTO_ERR_REMOTE_ACCESS);
}

TEST(ext, atomic_right_is_none_to_write)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET at;
	struct rig r;

	rig_open_priv(&r, (int)PRIV_LOCAL | DAT_IB_MEM_PRIV_REMOTE_ATOMIC);
	added(&r, &r.p.a, 4, 0);
	t = seg(&r.p.a.buf, 0, 8);
	at = rem(&r.words, 24, 8);
	OK(dat_ep_post_rdma_write(r.p.a.ep, 1, &t, ck(1), &at, 0));
	EV_DTO_STATUS(r.p.a.req, r.p.a.ep, 1, OP_WRITE, DAT_DTO_ERR_REMOTE_ACCESS);
	pair_both_ended(&r.p);
	ASSERT_EQ(*word(&r, 3), 4);
	rig_close(&r);
}

TEST(ext, atomic_beyond_the_region_is_REMOTE_ACCESS)
{
	struct rig r;

	rig_open(&r);
	refused(&r, rem_raw((uintptr_t)r.words.mem + 4096, 8, r.words.rmr),
		DAT_DTO_ERR_REMOTE_ACCESS);
}

TEST(ext, atomic_with_a_wrong_key_is_REMOTE_ACCESS)
{
	struct rig r;

	rig_open(&r);
	refused(&r, rem_raw((uintptr_t)r.words.mem, 8, r.words.rmr ^ 0x33440000u),
		DAT_DTO_ERR_REMOTE_ACCESS);
}

TEST(ext, atomic_into_another_pz_is_as_pz_support_says)
{
	DAT_PZ_HANDLE pz;
	struct buf b;
	struct rig r;

	rig_open(&r);
	OK(dat_pz_create(r.p.node.ia, &pz));
	buf_register(&b, &r.p.node, pz, r.words.mem, 4096, PRIV_ATOMIC);
	OK(add_at(&r.p.a, 0, 5, rem(&b, 0, 8), 1, 0));
	if (r.p.node.prov.pz_support == DAT_PZ_UNIQUE) {
		EV_EXT_STATUS(r.p.a.req, r.p.a.ep, 5, FETCH_ADD, DAT_DTO_ERR_REMOTE_ACCESS);
		pair_both_ended(&r.p);
		ASSERT_EQ(*word(&r, 0), 0);
	} else {
		EV_EXT(r.p.a.req, r.p.a.ep, 5, FETCH_ADD, 8);
		ASSERT_EQ(*word(&r, 0), 1);
	}
	buf_unregister(&b);
	OK(dat_pz_free(pz));
	rig_close(&r);
}

TEST(ext, atomic_at_an_address_not_divisible_by_8_is_refused_at_once)
{
	struct rig r;

	rig_open(&r);
	for (unsigned int off = 1; off < 8; off++)
		BAD_ARG(add_at(&r.p.a, 0, 5, rem(&r.words, off, 8), 1, 0), 5);
	added(&r, &r.p.a, 1, 0);
	rig_close(&r);
}

/* Only the target knows where its memory begins. */
TEST(ext, atomic_in_zero_based_memory_at_an_odd_address_is_REMOTE_RESPONDER)
{
	DAT_REGION_DESCRIPTION desc;
	DAT_RMR_CONTEXT key;
	DAT_LMR_HANDLE lmr;
	struct rig r;

	rig_open(&r);
	desc.for_va = r.words.mem + 4;
	OK(dat_lmr_create(r.p.node.ia, DAT_MEM_TYPE_VIRTUAL, desc, 1024, r.p.node.pz,
			  (DAT_MEM_PRIV_FLAGS)PRIV_ATOMIC, DAT_VA_TYPE_ZB, &lmr, NULL, &key, NULL,
			  NULL));
	OK(add_at(&r.p.a, 0, 5, rem_raw(0, 8, key), 1, 0));
	EV_EXT_STATUS(r.p.a.req, r.p.a.ep, 5, FETCH_ADD, DAT_DTO_ERR_REMOTE_RESPONDER);
	pair_both_ended(&r.p);
	ASSERT_EQ(*word(&r, 0), 0);
	ASSERT_EQ(*word(&r, 1), 0);
	OK(dat_lmr_free(lmr));
	rig_close(&r);
}

TEST(ext, atomic_on_memory_that_is_gone_is_REMOTE_ACCESS)
{
	DAT_RMR_TRIPLET at;
	struct rig r;
	struct buf b;

	rig_open(&r);
	buf_register(&b, &r.p.node, r.p.node.pz, r.words.mem, 4096, PRIV_ATOMIC);
	at = rem(&b, 0, 8);
	buf_unregister(&b);
	refused(&r, at, DAT_DTO_ERR_REMOTE_ACCESS);
}

TEST(ext, atomic_is_flushed_on_a_disconnected_endpoint)
{
	struct rig r;

	rig_open(&r);
	pair_disconnect(&r.p);
	OK(add(&r, &r.p.a, 0, 1));
	EV_EXT_STATUS(r.p.a.req, r.p.a.ep, 100, FETCH_ADD, DAT_DTO_ERR_FLUSHED);
	OK(swap(&r, &r.p.a, 0, 0, 1));
	EV_EXT_STATUS(r.p.a.req, r.p.a.ep, 200, CMP_SWAP, DAT_DTO_ERR_FLUSHED);
	ASSERT_EQ(*word(&r, 0), 0);
	rig_close(&r);
}

TEST(ext, atomic_through_a_window)
{
	DAT_RMR_COOKIE cookie = { .as_64 = 77 };
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET at;
	DAT_RMR_CONTEXT key;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT ev;
	struct rig r;

	rig_open(&r);
	t = seg(&r.words, 64, 64);
	OK(dat_rmr_create(r.p.node.pz, &rmr));
	OK(dat_rmr_bind(rmr, r.words.lmr, &t, (DAT_MEM_PRIV_FLAGS)PRIV_ATOMIC, DAT_VA_TYPE_VA,
			r.p.b.ep, cookie, DAT_COMPLETION_DEFAULT_FLAG, &key));
	EV_NEXT(r.p.b.req, &ev);
	ASSERT_EQ(ev.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	at = rem_raw((uintptr_t)r.words.mem + 64, 8, key);
	OK(add_at(&r.p.a, 0, 5, at, 6, 0));
	EV_EXT(r.p.a.req, r.p.a.ep, 5, FETCH_ADD, 8);
	ASSERT_EQ(*word(&r, 8), 6);
	/* Not beyond it. */
	at.virtual_address -= 8;
	OK(add_at(&r.p.a, 0, 6, at, 6, 0));
	EV_EXT_STATUS(r.p.a.req, r.p.a.ep, 6, FETCH_ADD, DAT_DTO_ERR_REMOTE_ACCESS);
	pair_both_ended(&r.p);
	ASSERT_EQ(*word(&r, 7), 0);
	OK(dat_rmr_free(rmr));
	rig_close(&r);
}

/* ---- atomicity ---- */

#define TIMES 2000

struct adder {
	struct rig *r;
	struct side *s;
	uint64_t swaps;
};

/* Adds 1 to one word, and to another by comparing and swapping, as often. */
static void keep_adding(void *arg)
{
	struct adder *me = arg;
	struct side *s = me->s;
	uint64_t last = 0, seen = 0;

	for (int i = 0; i < TIMES; i++) {
		OK(add(me->r, s, 0, 1));
		EV_EXT(s->req, s->ep, 100, FETCH_ADD, 8);
		/* Each value is returned once, and values only grow. */
		ASSERT(!i || result(s, 0) > last);
		last = result(s, 0);
		do {
			uint64_t expected = seen;

			OK(swap(me->r, s, 1, expected, expected + 1));
			EV_EXT(s->req, s->ep, 201, CMP_SWAP, 8);
			seen = result(s, 1);
			me->swaps++;
			if (seen == expected)
				break;
		} while (1);
		seen++;
	}
}

TEST_LIMIT(ext, atomic_operations_of_several_endpoints, 120)
{
	struct adder a = { .swaps = 0 }, b = { .swaps = 0 };
	struct dt_thread t[2];
	struct side c, d;
	struct rig r;

	rig_open(&r);
	side_make(&c, &r.p.node, NULL);
	side_make(&d, &r.p.node, NULL);
	OK(connect_to(c.ep, r.p.node.attr.ia_address_ptr, r.p.qual));
	OK(dat_cr_accept(EV_CR(r.p.cr_evd, r.p.psp, r.p.qual), d.ep, 0, NULL));
	EV_CONN(c.conn, ESTABLISHED, c.ep);
	EV_CONN(d.conn, ESTABLISHED, d.ep);
	a.r = b.r = &r;
	a.s = &r.p.a;
	b.s = &c;
	dt_thread_start(&t[0], keep_adding, &a);
	dt_thread_start(&t[1], keep_adding, &b);
	dt_thread_join(&t[0]);
	dt_thread_join(&t[1]);
	ASSERT_EQ(*word(&r, 0), 2 * TIMES);
	ASSERT_EQ(*word(&r, 1), 2 * TIMES);
	ASSERT(a.swaps >= TIMES && b.swaps >= TIMES);
	side_free(&c);
	side_free(&d);
	rig_close(&r);
}
