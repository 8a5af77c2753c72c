/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending and receiving: sizes, segments, order, queue limits, every field of the completions. */
#include "rig.h"

/* clang-format off */
static const size_t sizes[] = {
	1, 2, 3, 7, 63, 64, 65, 255, 1000, 1024, 4095, 4096, 4097, 16384, 65535, 65536,
	(size_t)1 << 20, ((size_t)1 << 20) + 1, (size_t)4 << 20,
};
/* clang-format on */

#define LARGEST ((size_t)4 << 20)

struct big {
	struct pair p;
	struct buf a, b;
};

static void big_open(struct big *g)
{
	pair_up(&g->p);
	buf_make(&g->a, &g->p.node, LARGEST, PRIV_ALL);
	buf_make(&g->b, &g->p.node, LARGEST, PRIV_ALL);
}

static void big_close(struct big *g)
{
	OK(dat_ep_free(g->p.a.ep));
	OK(dat_ep_free(g->p.b.ep));
	g->p.a.ep = g->p.b.ep = NULL;
	buf_free(&g->a);
	buf_free(&g->b);
	pair_close(&g->p);
}

static void transfer(struct big *g, size_t len)
{
	DAT_LMR_TRIPLET s = seg(&g->a, 0, len), r = seg(&g->b, 0, len);

	fill(g->a.mem, len, (unsigned int)len);
	memset(g->b.mem, 0, len);
	OK(dat_ep_post_recv(g->p.b.ep, 1, &r, ck(len), DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat_ep_post_send(g->p.a.ep, 1, &s, ck(~(uint64_t)len), DAT_COMPLETION_DEFAULT_FLAG));
	/* The IOV is the consumer's again. */
	memset(&s, 0xff, sizeof(s));
	memset(&r, 0xff, sizeof(r));
	EV_DTO(g->p.b.recv, g->p.b.ep, len, OP_RECV, len);
	EV_DTO(g->p.a.req, g->p.a.ep, ~(uint64_t)len, OP_SEND, len);
	CHECK_FILL(g->b.mem, len, (unsigned int)len);
}

TEST(dto, send_and_receive_of_many_sizes)
{
	struct big g;
	unsigned int i;

	big_open(&g);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		transfer(&g, sizes[i]);
	big_close(&g);
}

TEST(dto, message_shorter_than_the_buffer_leaves_the_rest_alone)
{
	struct pair p;

	pair_up(&p);
	memset(p.b.buf.mem, 0x77, 200);
	fill(p.a.buf.mem, 100, 1);
	OK(post_recv(&p.b, 0, 200, 1));
	OK(post_send(&p.a, 0, 100, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 100);
	CHECK_FILL(p.b.buf.mem, 100, 1);
	ASSERT_EQ(p.b.buf.mem[100], 0x77);
	ASSERT_EQ(p.b.buf.mem[199], 0x77);
	pair_close(&p);
}

/* Where a fabric copies short messages, it copies exactly those, and all of them. */
TEST(dto, short_messages_of_all_lengths_touch_nothing_else)
{
	static const size_t rooms[] = { 0, 1, 64, 119, 120, 121, 127, 128, 129, 300 };
	struct pair p;
	size_t i, len;

	pair_up(&p);
	for (i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		for (len = 0; len <= rooms[i]; len += rooms[i] - len > 20 ? 13 : 1) {
			const char *mem = p.b.buf.mem;

			memset(p.b.buf.mem, 0x77, 600);
			fill(p.a.buf.mem, len, (unsigned int)len);
			OK(post_recv(&p.b, 101, rooms[i], len));
			OK(post_send(&p.a, 0, len, ~(uint64_t)len));
			EV_DTO(p.b.recv, p.b.ep, len, OP_RECV, len);
			EV_DTO(p.a.req, p.a.ep, ~(uint64_t)len, OP_SEND, len);
			CHECK_FILL(mem + 101, len, (unsigned int)len);
			ASSERT_EQ(mem[100], 0x77);
			ASSERT_EQ(mem[101 + len], 0x77);
			ASSERT_EQ(mem[101 + rooms[i]], 0x77);
		}
	}
	pair_close(&p);
}

/* n segments of growing length out of a buffer; returns their sum. */
static size_t scatter(DAT_LMR_TRIPLET *iov, const struct buf *b, int n, size_t unit)
{
	size_t sum = 0, at = 0;
	int i;

	for (i = 0; i < n; i++) {
		iov[i] = seg(b, at, unit * (size_t)(i + 1));
		sum += unit * (size_t)(i + 1);
		at += unit * (size_t)(i + 2) + 5;
	}
	return sum;
}

static void gather(char *to, const DAT_LMR_TRIPLET *iov, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		size_t len = (size_t)iov[i].segment_length;

		memcpy(to, (void *)(uintptr_t)iov[i].virtual_address, len);
		to += len;
	}
}

static void segments(struct pair *p, int ns, int nr, size_t unit)
{
	DAT_LMR_TRIPLET s[4], r[4];
	size_t len, room;
	static char sent[SIDE_BUF], got[SIDE_BUF];

	fill(p->a.buf.mem, SIDE_BUF, (unsigned int)(ns * 16 + nr));
	memset(p->b.buf.mem, 0, SIDE_BUF);
	len = scatter(s, &p->a.buf, ns, unit);
	/* The receiver's segments hold at least as much. */
	room = scatter(r, &p->b.buf, nr, len / (size_t)(nr * (nr + 1) / 2) + 1);
	ASSERT(room >= len);
	gather(sent, s, ns);
	OK(dat_ep_post_recv(p->b.ep, nr, r, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat_ep_post_send(p->a.ep, ns, s, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p->b.recv, p->b.ep, 1, OP_RECV, len);
	EV_DTO(p->a.req, p->a.ep, 2, OP_SEND, len);
	gather(got, r, nr);
	ASSERT_MEM(got, sent, len);
}

TEST(dto, every_number_of_segments_on_both_sides)
{
	static const size_t units[] = { 1, 13, 1000 };
	struct pair p;
	int s, r, u;

	pair_up(&p);
	for (s = 1; s <= 4; s++)
		for (r = 1; r <= 4; r++)
			for (u = 0; u < 3; u++)
				segments(&p, s, r, units[u]);
	pair_close(&p);
}

TEST(dto, segments_of_different_regions)
{
	DAT_LMR_TRIPLET t[2];
	struct buf other;
	struct pair p;

	pair_up(&p);
	buf_make(&other, &p.node, 4096, PRIV_LOCAL);
	fill(p.a.buf.mem, 100, 1);
	fill(other.mem, 50, 2);
	t[0] = seg(&p.a.buf, 0, 100);
	t[1] = seg(&other, 0, 50);
	OK(post_recv(&p.b, 0, 200, 1));
	OK(dat_ep_post_send(p.a.ep, 2, t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 150);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 150);
	CHECK_FILL(p.b.buf.mem, 100, 1);
	CHECK_FILL(p.b.buf.mem + 100, 50, 2);
	buf_free(&other);
	pair_close(&p);
}

TEST(dto, segments_without_bytes_between_others)
{
	DAT_LMR_TRIPLET t[4];
	struct pair p;

	pair_up(&p);
	fill(p.a.buf.mem, 20, 9);
	t[0] = seg(&p.a.buf, 0, 0);
	t[1] = seg(&p.a.buf, 0, 10);
	t[2] = seg(&p.a.buf, 10, 0);
	t[3] = seg(&p.a.buf, 10, 10);
	OK(post_recv(&p.b, 0, 20, 1));
	OK(dat_ep_post_send(p.a.ep, 4, t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 20);
	CHECK_FILL(p.b.buf.mem, 20, 9);
	pair_close(&p);
}

TEST(dto, same_buffer_in_several_segments_of_a_send)
{
	DAT_LMR_TRIPLET t[3];
	struct pair p;
	int i;

	pair_up(&p);
	fill(p.a.buf.mem, 30, 3);
	for (i = 0; i < 3; i++)
		t[i] = seg(&p.a.buf, 0, 30);
	OK(post_recv(&p.b, 0, 90, 1));
	OK(dat_ep_post_send(p.a.ep, 3, t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 90);
	for (i = 0; i < 3; i++)
		CHECK_FILL(p.b.buf.mem + 30 * i, 30, 3);
	pair_close(&p);
}

TEST(dto, buffers_at_odd_addresses)
{
	struct pair p;
	size_t i;

	pair_up(&p);
	for (i = 0; i < 16; i++) {
		fill(p.a.buf.mem + i, 1001 + i, (unsigned int)i);
		OK(post_recv(&p.b, 15 - i, 1001 + i, 1));
		OK(post_send(&p.a, i, 1001 + i, 2));
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 1001 + i);
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 1001 + i);
		CHECK_FILL(p.b.buf.mem + 15 - i, 1001 + i, (unsigned int)i);
	}
	pair_close(&p);
}

/* ---- empty messages ---- */

TEST(dto, empty_message_without_segments)
{
	struct pair p;

	pair_up(&p);
	OK(dat_ep_post_recv(p.b.ep, 0, NULL, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat_ep_post_send(p.a.ep, 0, NULL, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 0);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 0);
	pair_close(&p);
}

TEST(dto, empty_message_of_one_empty_segment)
{
	struct pair p;

	pair_up(&p);
	OK(post_recv(&p.b, 0, 0, 1));
	OK(post_send(&p.a, 0, 0, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 0);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 0);
	pair_close(&p);
}

TEST(dto, empty_message_into_a_buffer_and_between_others)
{
	struct pair p;
	uint64_t i;

	pair_up(&p);
	for (i = 0; i < 9; i++)
		OK(post_recv(&p.b, 0, 100, i));
	for (i = 0; i < 9; i++)
		OK(post_send(&p.a, 0, i % 3 ? 50 : 0, 10 + i));
	for (i = 0; i < 9; i++) {
		EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, i % 3 ? 50 : 0);
		EV_DTO(p.a.req, p.a.ep, 10 + i, OP_SEND, i % 3 ? 50 : 0);
	}
	pair_close(&p);
}

/* ---- order and numbers ---- */

TEST(dto, messages_arrive_in_the_order_of_the_sends)
{
	struct pair p;
	uint64_t i, round;

	pair_up(&p);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 16; i++)
			OK(post_recv(&p.b, (size_t)i * 1024, 1024, i));
		for (i = 0; i < 16; i++) {
			fill(p.a.buf.mem + i * 1024, (size_t)(i * 61 + 1),
			     (unsigned int)(round + i));
			OK(post_send(&p.a, (size_t)i * 1024, (size_t)(i * 61 + 1), 100 + i));
		}
		for (i = 0; i < 16; i++) {
			EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, (size_t)(i * 61 + 1));
			CHECK_FILL(p.b.buf.mem + i * 1024, (size_t)(i * 61 + 1),
				   (unsigned int)(round + i));
			EV_DTO(p.a.req, p.a.ep, 100 + i, OP_SEND, (size_t)(i * 61 + 1));
		}
	}
	pair_close(&p);
}

TEST(dto, both_directions_at_once)
{
	struct pair p;
	uint64_t i;
	int round;

	pair_up(&p);
	for (round = 0; round < 30; round++) {
		for (i = 0; i < 8; i++) {
			OK(post_recv(&p.a, 32768 + (size_t)i * 4096, 4096, i));
			OK(post_recv(&p.b, 32768 + (size_t)i * 4096, 4096, i));
			OK(post_send(&p.a, (size_t)i * 4096, 4096, 50 + i));
			OK(post_send(&p.b, (size_t)i * 4096, 4096, 60 + i));
		}
		for (i = 0; i < 8; i++) {
			EV_DTO(p.a.recv, p.a.ep, i, OP_RECV, 4096);
			EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, 4096);
			EV_DTO(p.a.req, p.a.ep, 50 + i, OP_SEND, 4096);
			EV_DTO(p.b.req, p.b.ep, 60 + i, OP_SEND, 4096);
		}
	}
	pair_close(&p);
}

TEST(dto, send_waits_for_a_receive_that_is_posted_later)
{
	struct pair p;

	pair_up(&p);
	fill(p.a.buf.mem, 3000, 8);
	OK(post_send(&p.a, 0, 3000, 2));
	EV_NONE(p.b.recv);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_CONNECTED);
	OK(post_recv(&p.b, 0, 3000, 1));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 3000);
	CHECK_FILL(p.b.buf.mem, 3000, 8);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 3000);
	pair_close(&p);
}

TEST(dto, receives_posted_before_connecting_are_used)
{
	struct pair p;

	pair_open(&p);
	OK(post_recv(&p.b, 0, 100, 1));
	OK(post_recv(&p.a, 0, 100, 2));
	pair_connect(&p);
	OK(post_send(&p.a, 200, 100, 3));
	OK(post_send(&p.b, 200, 100, 4));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 100);
	EV_DTO(p.a.recv, p.a.ep, 2, OP_RECV, 100);
	pair_close(&p);
}

TEST(dto, cookies_are_64_opaque_bits_and_may_repeat)
{
	struct pair p;

	pair_up(&p);
	OK(post_recv(&p.b, 0, 10, ~(uint64_t)0));
	OK(post_recv(&p.b, 0, 10, ~(uint64_t)0));
	OK(post_send(&p.a, 0, 10, 0));
	OK(post_send(&p.a, 0, 10, 0));
	EV_DTO(p.b.recv, p.b.ep, ~(uint64_t)0, OP_RECV, 10);
	EV_DTO(p.b.recv, p.b.ep, ~(uint64_t)0, OP_RECV, 10);
	EV_DTO(p.a.req, p.a.ep, 0, OP_SEND, 10);
	EV_DTO(p.a.req, p.a.ep, 0, OP_SEND, 10);
	pair_close(&p);
}

TEST(dto, receives_and_requests_on_one_evd)
{
	DAT_EVD_HANDLE evd;
	DAT_LMR_TRIPLET to, from;
	DAT_EP_HANDLE ep;
	DAT_EVENT ev;
	struct pair p;
	int i, recvs = 0, sends = 0;

	pair_open(&p);
	evd = evd_make(&p.node, 64, DAT_EVD_DTO_FLAG);
	OK(dat_ep_create(p.node.ia, p.node.pz, evd, evd, p.b.conn, NULL, &ep));
	OK(dat_cr_accept(pair_request(&p), ep, 0, NULL));
	EV_CONN(p.b.conn, ESTABLISHED, ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	to = seg(&p.b.buf, 0, 10);
	from = seg(&p.b.buf, 20, 10);
	for (i = 0; i < 5; i++) {
		OK(post_recv(&p.a, 0, 10, 1));
		OK(dat_ep_post_recv(ep, 1, &to, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
		OK(post_send(&p.a, 20, 10, 3));
		OK(dat_ep_post_send(ep, 1, &from, ck(4), DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (i = 0; i < 10; i++) {
		EV_NEXT(evd, &ev);
		if (dto_of(&ev)->user_cookie.as_64 == 2) {
			CHECK_DTO(&ev, evd, ep, 2, OP_RECV, 10);
			recvs++;
		} else {
			CHECK_DTO(&ev, evd, ep, 4, OP_SEND, 10);
			sends++;
		}
	}
	ASSERT_EQ(recvs, 5);
	ASSERT_EQ(sends, 5);
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	pair_close(&p);
}
