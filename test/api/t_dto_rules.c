/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of the posting calls that the cases about sizes, errors, flags and flushes leave open. */
#include "rig.h"

TEST(rules, front_segments_are_filled_first)
{
	static const size_t lens[] = { 1, 99, 100, 101, 250, 300, 301, 599 };
	DAT_LMR_TRIPLET t[3];
	struct pair p;
	unsigned int i;

	pair_up(&p);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = lens[i], left = len, first = len < 100 ? len : 100, n;

		memset(p.b.buf.mem, 0x3c, 4096);
		/* Last in memory comes first in the list. */
		t[0] = seg(&p.b.buf, 2000, 100);
		t[1] = seg(&p.b.buf, 1000, 200);
		t[2] = seg(&p.b.buf, 0, 300);
		OK(dat_ep_post_recv(p.b.ep, 3, t, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
		fill(p.a.buf.mem, len, i);
		OK(post_send(&p.a, 0, len, 2));
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, len);
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, len);
		ASSERT_MEM(p.b.buf.mem + 2000, p.a.buf.mem, first);
		left -= first;
		n = left < 200 ? left : 200;
		ASSERT_MEM(p.b.buf.mem + 1000, p.a.buf.mem + first, n);
		left -= n;
		ASSERT_MEM(p.b.buf.mem, p.a.buf.mem + first + n, left);
		/* What is not needed stays as it was. */
		ASSERT_EQ(p.b.buf.mem[2000 + first], 0x3c);
		ASSERT_EQ(p.b.buf.mem[1000 + n], 0x3c);
		ASSERT_EQ(p.b.buf.mem[left], 0x3c);
	}
	pair_close(&p);
}

TEST(rules, read_fills_front_segments_first)
{
	DAT_RMR_TRIPLET from;
	DAT_LMR_TRIPLET t[2];
	struct pair p;

	pair_up(&p);
	memset(p.a.buf.mem, 0x3c, 4096);
	fill(p.b.buf.mem, 150, 7);
	t[0] = seg(&p.a.buf, 1000, 100);
	t[1] = seg(&p.a.buf, 0, 100);
	from = rem(&p.b.buf, 0, 150);
	OK(dat_ep_post_rdma_read(p.a.ep, 2, t, ck(1), &from, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 1, OP_READ, 150);
	ASSERT_MEM(p.a.buf.mem + 1000, p.b.buf.mem, 100);
	ASSERT_MEM(p.a.buf.mem, p.b.buf.mem + 100, 50);
	ASSERT_EQ(p.a.buf.mem[50], 0x3c);
	ASSERT_EQ(p.a.buf.mem[1100], 0x3c);
	pair_close(&p);
}

/* iov_ownership_on_return is CONSUMER. */
TEST(rules, triplets_may_be_changed_as_soon_as_a_post_returns)
{
	DAT_RMR_TRIPLET r;
	DAT_LMR_TRIPLET t;
	struct buf big;
	struct pair p;
	int i;

	pair_up(&p);
	ASSERT_EQ(p.node.prov.iov_ownership_on_return, DAT_IOV_CONSUMER);
	/* Posted behind sends that wait, the operations are not executed at once. */
	block_sends(&p.a, &big);
	fill(p.a.buf.mem, 4000, 8);
	t = seg(&p.a.buf, 0, 500);
	OK(dat_ep_post_send(p.a.ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
	memset(&t, 0xff, sizeof(t));
	t = seg(&p.a.buf, 1000, 500);
	r = rem(&p.b.buf, 20000, 500);
	OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck(2), &r, DAT_COMPLETION_DEFAULT_FLAG));
	memset(&t, 0xff, sizeof(t));
	memset(&r, 0xff, sizeof(r));
	fill(p.b.buf.mem + 30000, 500, 9);
	t = seg(&p.a.buf, 6000, 500);
	r = rem(&p.b.buf, 30000, 500);
	OK(dat_ep_post_rdma_read(p.a.ep, 1, &t, ck(3), &r, DAT_COMPLETION_DEFAULT_FLAG));
	memset(&t, 0xff, sizeof(t));
	memset(&r, 0xff, sizeof(r));
	for (i = 0; i < BLOCK_COUNT; i++) {
		struct buf sink;

		buf_make(&sink, &p.node, BLOCK_LEN, PRIV_ALL);
		t = seg(&sink, 0, BLOCK_LEN);
		OK(dat_ep_post_recv(p.b.ep, 1, &t, ck(7), DAT_COMPLETION_DEFAULT_FLAG));
		memset(&t, 0xff, sizeof(t));
		EV_DTO(p.b.recv, p.b.ep, 7, OP_RECV, BLOCK_LEN);
		EV_DTO(p.a.req, p.a.ep, 9000u + (unsigned int)i, OP_SEND, BLOCK_LEN);
		buf_free(&sink);
	}
	t = seg(&p.b.buf, 0, 500);
	OK(dat_ep_post_recv(p.b.ep, 1, &t, ck(4), DAT_COMPLETION_DEFAULT_FLAG));
	memset(&t, 0xff, sizeof(t));
	EV_DTO(p.b.recv, p.b.ep, 4, OP_RECV, 500);
	EV_DTO(p.a.req, p.a.ep, 1, OP_SEND, 500);
	EV_DTO(p.a.req, p.a.ep, 2, OP_WRITE, 500);
	EV_DTO(p.a.req, p.a.ep, 3, OP_READ, 500);
	ASSERT_MEM(p.b.buf.mem, p.a.buf.mem, 500);
	ASSERT_MEM(p.b.buf.mem + 20000, p.a.buf.mem + 1000, 500);
	CHECK_FILL(p.a.buf.mem + 6000, 500, 9);
	OK(dat_ep_free(p.a.ep));
	p.a.ep = NULL;
	buf_free(&big);
	pair_close(&p);
}

TEST(rules, cookies_of_every_kind_come_back_bit_for_bit)
{
	static const uint64_t cookies[] = { 0, UINT64_MAX, 0x8000000000000001u,
					    0x0123456789abcdefu };
	struct pair p;
	int i;

	pair_up(&p);
	for (i = 0; i < 4; i++) {
		uint64_t c = cookies[i];

		OK(post_recv(&p.b, 0, 10, c));
		OK(post_send(&p.a, 0, 10, c));
		OK(post_write(&p.a, 0, 10, ~c, &p.b, 100));
		OK(post_read(&p.a, 0, 10, c ^ 0xff00ff00ff00ff00u, &p.b, 100));
		EV_DTO(p.b.recv, p.b.ep, c, OP_RECV, 10);
		EV_DTO(p.a.req, p.a.ep, c, OP_SEND, 10);
		EV_DTO(p.a.req, p.a.ep, ~c, OP_WRITE, 10);
		EV_DTO(p.a.req, p.a.ep, c ^ 0xff00ff00ff00ff00u, OP_READ, 10);
	}
	pair_close(&p);
}

TEST(rules, each_message_takes_one_receive_and_RDMA_takes_none)
{
	static const size_t lens[] = { 100, 0, 5, 0, 100 };
	struct pair p;
	unsigned int i;

	pair_up(&p);
	for (i = 0; i < 6; i++)
		OK(post_recv(&p.b, i * 100, 100, i));
	for (i = 0; i < 5; i++) {
		OK(post_write(&p.a, 0, 1000, 50, &p.b, 5000));
		OK(post_send(&p.a, 0, lens[i], i));
		OK(post_read(&p.a, 0, 1000, 51, &p.b, 5000));
	}
	for (i = 0; i < 5; i++) {
		EV_DTO(p.a.req, p.a.ep, 50, OP_WRITE, 1000);
		EV_DTO(p.a.req, p.a.ep, i, OP_SEND, lens[i]);
		EV_DTO(p.a.req, p.a.ep, 51, OP_READ, 1000);
		EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, lens[i]);
	}
	EV_NONE(p.b.recv);
	EV_EMPTY(p.b.req);
	OK(post_send(&p.a, 0, 7, 8));
	EV_DTO(p.b.recv, p.b.ep, 5, OP_RECV, 7);
	pair_close(&p);
}

/* Programs may not rely on it; here the connection survives and nothing is lost. */
TEST(rules, more_reads_than_the_peer_takes_at_once_all_complete_in_order)
{
	DAT_EP_ATTR attr;
	struct node n;
	struct pair p;
	uint64_t i;
	int round;

	node_open(&n);
	attr = default_attr(&n);
	node_close(&n);
	attr.max_rdma_read_in = attr.max_rdma_read_out = 1;
	attr.max_request_dtos = 32;
	pair_open_attr(&p, &attr, &attr);
	pair_connect(&p);
	for (round = 0; round < 5; round++) {
		fill(p.b.buf.mem, SIDE_BUF, (unsigned int)round);
		for (i = 0; i < 32; i++)
			OK(post_read(&p.a, (size_t)i * 2048, 2048, i, &p.b, (size_t)i * 2048));
		for (i = 0; i < 32; i++)
			EV_DTO(p.a.req, p.a.ep, i, OP_READ, 2048);
		CHECK_FILL(p.a.buf.mem, SIDE_BUF, (unsigned int)round);
	}
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_CONNECTED);
	pair_close(&p);
}

/* Without the fence the write would carry the old contents of the destination. */
TEST(rules, fenced_write_carries_what_the_read_before_it_brought)
{
	DAT_RMR_TRIPLET from, to;
	DAT_LMR_TRIPLET t;
	struct pair p;
	int i;

	pair_up(&p);
	for (i = 0; i < 20; i++) {
		fill(p.b.buf.mem, 20000, (unsigned int)i);
		from = rem(&p.b.buf, 0, 20000);
		to = rem(&p.b.buf, 30000, 20000);
		t = seg(&p.a.buf, 0, 20000);
		OK(dat_ep_post_rdma_read(p.a.ep, 1, &t, ck(1), &from, DAT_COMPLETION_DEFAULT_FLAG));
		OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck(2), &to,
					  DAT_COMPLETION_BARRIER_FENCE_FLAG));
		EV_DTO(p.a.req, p.a.ep, 1, OP_READ, 20000);
		EV_DTO(p.a.req, p.a.ep, 2, OP_WRITE, 20000);
		CHECK_WRITTEN(p.b.buf.mem + 30000, 20000, (unsigned int)i);
	}
	pair_close(&p);
}
