/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA reads and writes: sizes, segments, order, and targets that make no call. */
#include "rig.h"

static const size_t sizes[] = {
	1, 3, 8, 64, 100, 4095, 4096, 4097, 65536, (size_t)1 << 20, (size_t)4 << 20,
};

#define LARGEST ((size_t)4 << 20)

struct rig {
	struct pair p;
	struct buf local, remote;
};

static void rig_open(struct rig *r)
{
	pair_up(&r->p);
	buf_make(&r->local, &r->p.node, LARGEST, PRIV_ALL);
	buf_make(&r->remote, &r->p.node, LARGEST, PRIV_ALL);
}

static void rig_close(struct rig *r)
{
	OK(dat_ep_free(r->p.a.ep));
	OK(dat_ep_free(r->p.b.ep));
	r->p.a.ep = r->p.b.ep = NULL;
	buf_free(&r->local);
	buf_free(&r->remote);
	pair_close(&r->p);
}

static void write_len(struct rig *r, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd, size_t len)
{
	DAT_LMR_TRIPLET t = seg(&r->local, 0, len);
	DAT_RMR_TRIPLET to = rem(&r->remote, 0, len);

	fill(r->local.mem, len, (unsigned int)len);
	memset(r->remote.mem, 0, len);
	OK(dat_ep_post_rdma_write(ep, 1, &t, ck(len), &to, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(evd, ep, len, OP_WRITE, len);
	CHECK_WRITTEN(r->remote.mem, len, (unsigned int)len);
}

static void read_len(struct rig *r, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd, size_t len)
{
	DAT_LMR_TRIPLET t = seg(&r->local, 0, len);
	DAT_RMR_TRIPLET from = rem(&r->remote, 0, len);

	fill(r->remote.mem, len, (unsigned int)len + 3);
	memset(r->local.mem, 0, len);
	OK(dat_ep_post_rdma_read(ep, 1, &t, ck(len), &from, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(evd, ep, len, OP_READ, len);
	CHECK_FILL(r->local.mem, len, (unsigned int)len + 3);
}

TEST(rdma, write_of_many_sizes_by_both_sides)
{
	struct rig r;
	unsigned int i;

	rig_open(&r);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_len(&r, r.p.a.ep, r.p.a.req, sizes[i]);
		write_len(&r, r.p.b.ep, r.p.b.req, sizes[i]);
	}
	EV_EMPTY(r.p.b.recv);
	rig_close(&r);
}

TEST(rdma, read_of_many_sizes_by_both_sides)
{
	struct rig r;
	unsigned int i;

	rig_open(&r);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		read_len(&r, r.p.a.ep, r.p.a.req, sizes[i]);
		read_len(&r, r.p.b.ep, r.p.b.req, sizes[i]);
	}
	rig_close(&r);
}

/* n segments with gaps; returns the bytes in all. */
static size_t spread(DAT_LMR_TRIPLET *iov, const struct buf *b, int n)
{
	size_t sum = 0;
	int i;

	for (i = 0; i < n; i++) {
		iov[i] = seg(b, (size_t)i * 1000, 100u + (size_t)i * 37);
		sum += 100u + (size_t)i * 37;
	}
	return sum;
}

static void joined(char *to, const DAT_LMR_TRIPLET *iov, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		size_t len = (size_t)iov[i].segment_length;

		memcpy(to, (void *)(uintptr_t)iov[i].virtual_address, len);
		to += len;
	}
}

TEST(rdma, write_from_1_to_4_segments)
{
	DAT_LMR_TRIPLET t[4];
	DAT_RMR_TRIPLET to;
	char want[4096];
	struct pair p;
	size_t len;
	int n;

	pair_up(&p);
	for (n = 1; n <= 4; n++) {
		fill(p.a.buf.mem, 8192, (unsigned int)n);
		len = spread(t, &p.a.buf, n);
		joined(want, t, n);
		to = rem(&p.b.buf, 77, len);
		OK(dat_ep_post_rdma_write(p.a.ep, n, t, ck(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
		EV_DTO(p.a.req, p.a.ep, 1, OP_WRITE, len);
		if (fabric_is("iwarp")) /* see CHECK_WRITTEN */
			DT_UNTIL(!memcmp(p.b.buf.mem + 77, want, len), US_EVENT);
		ASSERT_MEM(p.b.buf.mem + 77, want, len);
	}
	pair_close(&p);
}

TEST(rdma, read_into_1_to_4_segments)
{
	DAT_LMR_TRIPLET t[4];
	DAT_RMR_TRIPLET from;
	char got[4096];
	struct pair p;
	size_t len;
	int n;

	pair_up(&p);
	if (p.node.attr.max_iov_segments_per_rdma_read < 4)
		dt_skip("reads take %d segments", p.node.attr.max_iov_segments_per_rdma_read);
	for (n = 1; n <= 4; n++) {
		fill(p.b.buf.mem, 8192, (unsigned int)n + 40);
		memset(p.a.buf.mem, 0, 8192);
		len = spread(t, &p.a.buf, n);
		from = rem(&p.b.buf, 0, len);
		OK(dat_ep_post_rdma_read(p.a.ep, n, t, ck(1), &from, DAT_COMPLETION_DEFAULT_FLAG));
		EV_DTO(p.a.req, p.a.ep, 1, OP_READ, len);
		joined(got, t, n);
		CHECK_FILL(got, len, (unsigned int)n + 40);
	}
	pair_close(&p);
}

TEST(rdma, write_shorter_than_the_remote_length)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET to;
	struct pair p;

	pair_up(&p);
	memset(p.b.buf.mem, 0x11, 200);
	t = seg(&p.a.buf, 0, 100);
	to = rem(&p.b.buf, 0, 200);
	fill(p.a.buf.mem, 100, 6);
	OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck(1), &to, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 1, OP_WRITE, 100);
	CHECK_WRITTEN(p.b.buf.mem, 100, 6);
	ASSERT_EQ(p.b.buf.mem[100], 0x11);
	pair_close(&p);
}

TEST(rdma, read_into_more_room_than_the_remote_length)
{
	DAT_LMR_TRIPLET t[2];
	DAT_RMR_TRIPLET from;
	struct pair p;

	pair_up(&p);
	memset(p.a.buf.mem, 0x11, 400);
	fill(p.b.buf.mem, 150, 6);
	t[0] = seg(&p.a.buf, 0, 100);
	t[1] = seg(&p.a.buf, 100, 100);
	from = rem(&p.b.buf, 0, 150);
	OK(dat_ep_post_rdma_read(p.a.ep, 2, t, ck(1), &from, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 1, OP_READ, 150);
	CHECK_FILL(p.a.buf.mem, 150, 6);
	ASSERT_EQ(p.a.buf.mem[150], 0x11);
	pair_close(&p);
}

TEST(rdma, empty_write_and_read)
{
	struct pair p;

	pair_up(&p);
	OK(post_write(&p.a, 0, 0, 1, &p.b, 0));
	EV_DTO(p.a.req, p.a.ep, 1, OP_WRITE, 0);
	OK(post_read(&p.a, 0, 0, 2, &p.b, 0));
	EV_DTO(p.a.req, p.a.ep, 2, OP_READ, 0);
	OK(post_recv(&p.b, 0, 10, 3));
	OK(post_send(&p.a, 0, 10, 4));
	EV_DTO(p.b.recv, p.b.ep, 3, OP_RECV, 10);
	pair_close(&p);
}

TEST(rdma, write_and_read_without_segments)
{
	DAT_RMR_TRIPLET r;
	struct pair p;

	pair_up(&p);
	r = rem(&p.b.buf, 0, 0);
	OK(dat_ep_post_rdma_write(p.a.ep, 0, NULL, ck(1), &r, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 1, OP_WRITE, 0);
	OK(dat_ep_post_rdma_read(p.a.ep, 0, NULL, ck(2), &r, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 2, OP_READ, 0);
	pair_close(&p);
}

TEST(rdma, to_the_last_byte_of_the_region)
{
	struct pair p;

	pair_up(&p);
	fill(p.a.buf.mem, 100, 2);
	OK(post_write(&p.a, 0, 100, 1, &p.b, SIDE_BUF - 100));
	EV_DTO(p.a.req, p.a.ep, 1, OP_WRITE, 100);
	CHECK_WRITTEN(p.b.buf.mem + SIDE_BUF - 100, 100, 2);
	OK(post_read(&p.a, 200, 100, 2, &p.b, SIDE_BUF - 100));
	EV_DTO(p.a.req, p.a.ep, 2, OP_READ, 100);
	CHECK_FILL(p.a.buf.mem + 200, 100, 2);
	pair_close(&p);
}

TEST(rdma, write_then_send_shows_the_data_with_the_receive)
{
	struct pair p;
	int i;

	pair_up(&p);
	for (i = 0; i < 50; i++) {
		OK(post_recv(&p.b, 60000, 8, 1));
		fill(p.a.buf.mem, 30000, (unsigned int)i);
		OK(post_write(&p.a, 0, 30000, 2, &p.b, 0));
		OK(post_send(&p.a, 0, 8, 3));
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 8);
		CHECK_FILL(p.b.buf.mem, 30000, (unsigned int)i);
		EV_DTO(p.a.req, p.a.ep, 2, OP_WRITE, 30000);
		EV_DTO(p.a.req, p.a.ep, 3, OP_SEND, 8);
	}
	pair_close(&p);
}

static void read_after_write(size_t len)
{
	struct rig r;
	unsigned int i;

	rig_open(&r);
	for (i = 0; i < 100; i++) {
		DAT_LMR_TRIPLET from = seg(&r.local, 0, len), to = seg(&r.local, len, len);
		DAT_RMR_TRIPLET target = rem(&r.remote, 0, len);

		fill(r.local.mem, len, i);
		OK(dat_ep_post_rdma_write(r.p.a.ep, 1, &from, ck(2), &target,
					  DAT_COMPLETION_DEFAULT_FLAG));
		OK(dat_ep_post_rdma_read(r.p.a.ep, 1, &to, ck(3), &target,
					 DAT_COMPLETION_DEFAULT_FLAG));
		EV_DTO(r.p.a.req, r.p.a.ep, 2, OP_WRITE, len);
		EV_DTO(r.p.a.req, r.p.a.ep, 3, OP_READ, len);
		CHECK_FILL(r.local.mem + len, len, i);
	}
	rig_close(&r);
}

/* Over tcp both may travel on an endpoint of their own. The first rounds wait for that endpoint. */
TEST(rdma, read_after_a_write_gets_what_it_wrote)
{
	read_after_write(64);
	read_after_write(SIDE_BUF);
	read_after_write((size_t)1 << 20);
	read_after_write((size_t)2 << 20);
}

TEST(rdma, completions_of_mixed_requests_come_in_the_order_of_posting)
{
	struct pair p;
	uint64_t i;
	int round;

	pair_up(&p);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 5; i++)
			OK(post_recv(&p.b, 50000, 100, i));
		for (i = 0; i < 5; i++) {
			OK(post_read(&p.a, 0, 5000, 10 + i, &p.b, 0));
			OK(post_write(&p.a, 5000, 5000, 20 + i, &p.b, 5000));
			OK(post_send(&p.a, 10000, 100, 30 + i));
		}
		for (i = 0; i < 5; i++) {
			EV_DTO(p.a.req, p.a.ep, 10 + i, OP_READ, 5000);
			EV_DTO(p.a.req, p.a.ep, 20 + i, OP_WRITE, 5000);
			EV_DTO(p.a.req, p.a.ep, 30 + i, OP_SEND, 100);
		}
		for (i = 0; i < 5; i++)
			EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, 100);
	}
	pair_close(&p);
}

TEST(rdma, many_reads_at_once)
{
	struct pair p;
	uint64_t i;

	pair_up(&p);
	fill(p.b.buf.mem, SIDE_BUF, 3);
	for (i = 0; i < 16; i++)
		OK(post_read(&p.a, (size_t)i * 4096, 4096, i, &p.b, (size_t)i * 4096));
	for (i = 0; i < 16; i++)
		EV_DTO(p.a.req, p.a.ep, i, OP_READ, 4096);
	CHECK_FILL(p.a.buf.mem, SIDE_BUF, 3);
	pair_close(&p);
}

TEST(rdma, reads_in_both_directions_at_once)
{
	struct pair p;
	uint64_t i;

	pair_up(&p);
	fill(p.a.buf.mem, 32768, 1);
	fill(p.b.buf.mem, 32768, 2);
	for (i = 0; i < 8; i++) {
		OK(post_read(&p.a, 32768 + (size_t)i * 4096, 4096, i, &p.b, (size_t)i * 4096));
		OK(post_read(&p.b, 32768 + (size_t)i * 4096, 4096, i, &p.a, (size_t)i * 4096));
	}
	for (i = 0; i < 8; i++) {
		EV_DTO(p.a.req, p.a.ep, i, OP_READ, 4096);
		EV_DTO(p.b.req, p.b.ep, i, OP_READ, 4096);
	}
	CHECK_FILL(p.a.buf.mem + 32768, 32768, 2);
	CHECK_FILL(p.b.buf.mem + 32768, 32768, 1);
	pair_close(&p);
}

TEST(rdma, remote_read_only_memory_can_be_read)
{
	DAT_RMR_TRIPLET from;
	DAT_LMR_TRIPLET t;
	struct pair p;
	struct buf b;
	void *mem;

	pair_up(&p);
	mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(mem != MAP_FAILED);
	fill(mem, 4096, 12);
	ASSERT_EQ(mprotect(mem, 4096, PROT_READ), 0);
	buf_register(&b, &p.node, p.node.pz, mem, 4096,
		     DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG);
	t = seg(&p.a.buf, 0, 4096);
	from = rem(&b, 0, 4096);
	OK(dat_ep_post_rdma_read(p.a.ep, 1, &t, ck(1), &from, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 1, OP_READ, 4096);
	CHECK_FILL(p.a.buf.mem, 4096, 12);
	buf_free(&b);
	pair_close(&p);
}

#if DAT_TEST_API == 20

/* Zero-based regions: peers address them by offset. */
TEST(rdma, zero_based_region_is_addressed_by_offset_in_2_0)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_PARAM param;
	DAT_RMR_TRIPLET r;
	DAT_LMR_TRIPLET t;
	struct pair p;
	struct buf b;
	DAT_RETURN ret;
	char mem[4096];

	pair_up(&p);
	memset(&region, 0, sizeof(region));
	region.for_va = mem;
	ret = dat_lmr_create(p.node.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(mem), p.node.pz,
			     PRIV_ALL, DAT_VA_TYPE_ZB, &b.lmr, &b.ctx, &b.rmr, NULL, NULL);
	if (!p.node.attr.zb_supported) {
		ASSERT_EQ(ret, API_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
		pair_close(&p);
		return;
	}
	OK(ret);
	OK(dat_lmr_query(b.lmr, DAT_LMR_FIELD_ALL, &param));
	ASSERT_EQ(param.va_type, DAT_VA_TYPE_ZB);
	fill(p.a.buf.mem, 1000, 9);
	t = seg(&p.a.buf, 0, 1000);
	r = rem_raw(96, 1000, b.rmr);
	OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck(1), &r, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 1, OP_WRITE, 1000);
	CHECK_FILL(mem + 96, 1000, 9);
	t = seg(&p.a.buf, 2000, 1000);
	OK(dat_ep_post_rdma_read(p.a.ep, 1, &t, ck(2), &r, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 2, OP_READ, 1000);
	CHECK_FILL(p.a.buf.mem + 2000, 1000, 9);
	/* The virtual address is no address of it. */
	r = rem_raw((uintptr_t)mem, 1000, b.rmr);
	OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck(3), &r, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO_STATUS(p.a.req, p.a.ep, 3, OP_WRITE, DAT_DTO_ERR_REMOTE_ACCESS);
	EV_CONN(p.a.conn, BROKEN, p.a.ep);
	OK(dat_lmr_free(b.lmr));
	pair_close(&p);
}

TEST(rdma, zero_based_region_is_local_source_and_sink_by_offset_in_2_0)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_TRIPLET t;
	struct pair p;
	struct buf b;
	char mem[4096];

	pair_up(&p);
	memset(&region, 0, sizeof(region));
	region.for_va = mem;
	/* Where peers cannot use it, the process itself still can. */
	OK(dat_lmr_create(p.node.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(mem), p.node.pz,
			  p.node.attr.zb_supported ? PRIV_ALL : PRIV_LOCAL, DAT_VA_TYPE_ZB, &b.lmr,
			  &b.ctx, &b.rmr, NULL, NULL));
	memset(&t, 0, sizeof(t));
	t.lmr_context = b.ctx;
	t.virtual_address = 100;
	t.segment_length = 200;
	fill(mem, sizeof(mem), 21);
	OK(post_recv(&p.b, 0, 200, 1));
	OK(dat_ep_post_send(p.a.ep, 1, &t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 200);
	ASSERT_MEM(p.b.buf.mem, mem + 100, 200);
	OK(dat_lmr_free(b.lmr));
	pair_close(&p);
}

#endif
