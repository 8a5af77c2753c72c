/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the InfiniBand extension: attributes, and writes with immediate data. */
#include "ext.h"

#define LARGEST ((size_t)4 << 20)

static const char *named(const struct node *n, const char *name)
{
	for (DAT_COUNT i = 0; i < n->prov.num_provider_specific_attr; i++)
		if (!strcmp(n->prov.provider_specific_attr[i].name, name))
			return n->prov.provider_specific_attr[i].value;
	return "absent";
}

static bool has_atomics(void)
{
	return fabric_is("iwarp") || fabric_has("atomics");
}

/* These expectations per fabric are documented in dat_extension_op(3). */
TEST(ext, an_ia_says_what_it_has)
{
	bool atomics = has_atomics();
	struct node n;

	node_open(&n);
	ASSERT_EQ(n.attr.extension_supported, DAT_EXTENSION_IB);
	ASSERT_EQ(n.attr.extension_version, DAT_IB_EXTENSION_VERSION);
	ASSERT(!strcmp(named(&n, "DAT_EXTENSION_INTERFACE"), "TRUE"));
	ASSERT(!strcmp(named(&n, DAT_IB_ATTR_IMMED_DATA), "TRUE"));
	ASSERT(!strcmp(named(&n, DAT_IB_ATTR_FETCH_AND_ADD), atomics ? "TRUE" : "FALSE"));
	ASSERT(!strcmp(named(&n, DAT_IB_ATTR_CMP_AND_SWAP), atomics ? "TRUE" : "FALSE"));
	ASSERT(!strcmp(named(&n, DAT_IB_ATTR_UD), "TRUE"));
	ASSERT(!strcmp(named(&n, DAT_IB_ATTR_COUNTERS), "TRUE"));
	node_close(&n);
}

#define ABSENT(call_) ASSERT_RET(call_, DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE)

TEST(ext, what_it_has_not_is_NOT_IMPLEMENTED)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET r;
	struct pair p;

	pair_up(&p);
	t = seg(&p.a.buf, 0, 8);
	r = rem(&p.b.buf, 0, 8);
	ABSENT(dat_extension_op(p.a.ep, 0x7ff));
	if (!has_atomics()) {
		ABSENT(dat_ib_post_fetch_and_add(p.a.ep, 1, &t, ck(1), &r, 0));
		ABSENT(dat_ib_post_cmp_and_swap(p.a.ep, 1, 2, &t, ck(1), &r, 0));
	}
	EV_EMPTY(p.a.req);
	pair_close(&p);
}

TEST(ext, an_evd_may_have_the_streams_flag)
{
	struct node n;

	node_open(&n);
	OK(dat_evd_free(evd_make(&n, 8, DAT_EVD_DTO_FLAG | DAT_IB_EVD_EXTENSION_FLAG)));
	node_close(&n);
}

/* ---- success ---- */

static void of_size(struct side *from, struct side *to, struct buf *local, struct buf *remote,
		    size_t len)
{
	uint32_t data = 0x80000001u + (uint32_t)len;

	fill(local->mem, len, (unsigned int)len);
	memset(remote->mem, 0x77, len + 1);
	memset(to->buf.mem, 0x55, 100);
	OK(post_recv(to, 0, 100, 7));
	OK(immed_to(from->ep, seg(local, 0, len), 8, rem(remote, 0, len), data, 0));
	EV_IMMED(to->recv, to->ep, 7, len, data);
	CHECK_FILL(remote->mem, len, (unsigned int)len);
	ASSERT_EQ(remote->mem[len], 0x77);
	/* The receive's own buffer is not used. */
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(to->buf.mem[i], 0x55);
	EV_EXT(from->req, from->ep, 8, RDMA_WRITE_IMMED, len);
}

TEST(ext, immed_with_writes_of_many_sizes_by_both_sides)
{
	static const size_t sizes[] = { 0, 1, 8, 64, 100, 101, 4096, 16384, 65537, LARGEST };
	struct buf local, remote;
	struct pair p;

	pair_up(&p);
	buf_make(&local, &p.node, LARGEST + 1, PRIV_ALL);
	buf_make(&remote, &p.node, LARGEST + 1, PRIV_ALL);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		of_size(&p.a, &p.b, &local, &remote, sizes[i]);
		of_size(&p.b, &p.a, &local, &remote, sizes[i]);
	}
	EV_EMPTY(p.a.recv);
	EV_EMPTY(p.b.recv);
	pair_disconnect(&p);
	buf_free(&local);
	buf_free(&remote);
	pair_close(&p);
}

TEST(ext, immed_data_survives_bit_for_bit)
{
	static const uint32_t others[] = { 0, 0xffffffff, 0x12345678, 0x87654321, 0x04000000 };
	struct pair p;

	pair_up(&p);
	for (unsigned int i = 0; i < 32 + sizeof(others) / sizeof(*others); i++) {
		uint32_t data = i < 32 ? 1u << i : others[i - 32];

		OK(post_recv(&p.b, 0, 0, i));
		OK(immed(&p.a, &p.b, 8, 100 + i, data));
		EV_IMMED(p.b.recv, p.b.ep, i, 8, data);
		EV_EXT(p.a.req, p.a.ep, 100 + i, RDMA_WRITE_IMMED, 8);
	}
	pair_close(&p);
}

TEST(ext, immed_from_several_segments)
{
	DAT_LMR_TRIPLET t[4];
	DAT_RMR_TRIPLET to;
	struct pair p;

	pair_up(&p);
	fill(p.a.buf.mem, 4000, 3);
	for (size_t i = 0; i < 4; i++)
		t[i] = seg(&p.a.buf, i * 1000, 1000);
	to = rem(&p.b.buf, 100, 4000);
	OK(post_recv(&p.b, 0, 0, 1));
	OK(dat_ib_post_rdma_write_immed(p.a.ep, 4, t, ck(2), &to, 99, 0));
	EV_IMMED(p.b.recv, p.b.ep, 1, 4000, 99);
	CHECK_FILL(p.b.buf.mem + 100, 4000, 3);
	EV_EXT(p.a.req, p.a.ep, 2, RDMA_WRITE_IMMED, 4000);
	pair_close(&p);
}

/* A device may need several requests for each operation, and has room for fewer than these. */
TEST(ext, immed_of_many_segments_fills_the_queue)
{
	enum { DEPTH = 8, ROUNDS = 20, PART = 48, MOST = 64 };
	DAT_LMR_TRIPLET t[MOST];
	DAT_EP_ATTR attr;
	struct node n;
	struct pair p;
	size_t most;

	node_open(&n);
	attr = default_attr(&n);
	attr.max_rdma_write_iov = n.attr.max_iov_segments_per_rdma_write;
	attr.max_request_dtos = attr.max_recv_dtos = DEPTH;
	most = (size_t)attr.max_rdma_write_iov;
	ASSERT(most >= 4 && most <= MOST);
	node_close(&n);
	pair_open_attr(&p, &attr, &attr);
	pair_connect(&p);
	fill(p.a.buf.mem, SIDE_BUF, 9);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		memset(p.b.buf.mem, 0, SIDE_BUF);
		for (unsigned int i = 0; i < DEPTH; i++)
			OK(post_recv(&p.b, 0, 0, i));
		for (unsigned int i = 0; i < DEPTH; i++) {
			DAT_RMR_TRIPLET to = rem(&p.b.buf, i * most * PART, most * PART);

			for (size_t k = 0; k < most; k++)
				t[most - 1 - k] = seg(&p.a.buf, i * most * PART + k * PART, PART);
			OK(dat_ib_post_rdma_write_immed(p.a.ep, (DAT_COUNT)most, t, ck(50 + i), &to,
							round * 100 + i, 0));
		}
		for (unsigned int i = 0; i < DEPTH; i++) {
			const char *from = p.a.buf.mem + i * most * PART;
			const char *to = p.b.buf.mem + i * most * PART;

			EV_IMMED(p.b.recv, p.b.ep, i, most * PART, round * 100 + i);
			for (size_t k = 0; k < most; k++)
				ASSERT(!memcmp(to + (most - 1 - k) * PART, from + k * PART, PART));
		}
		for (unsigned int i = 0; i < DEPTH; i++)
			EV_EXT(p.a.req, p.a.ep, 50 + i, RDMA_WRITE_IMMED, most * PART);
	}
	pair_close(&p);
}

/* Receives are taken in the order in which the peer posted, whatever took them. */
TEST(ext, immed_keeps_its_place_among_sends)
{
	struct pair p;

	pair_up(&p);
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < 12; i++)
			OK(post_recv(&p.b, i * 1000, 1000, i));
		for (unsigned int i = 0; i < 12; i++)
			if (i % 3 == 1)
				OK(post_send(&p.a, 0, 100 + i, 50 + i));
			else
				OK(immed_to(p.a.ep, seg(&p.a.buf, 0, 200 + i), 50 + i,
					    rem(&p.b.buf, 20000, 200 + i), round * 100 + i, 0));
		for (unsigned int i = 0; i < 12; i++)
			if (i % 3 == 1)
				EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, 100 + i);
			else
				EV_IMMED(p.b.recv, p.b.ep, i, 200 + i, round * 100 + i);
		for (unsigned int i = 0; i < 12; i++)
			if (i % 3 == 1)
				EV_DTO(p.a.req, p.a.ep, 50 + i, OP_SEND, 100 + i);
			else
				EV_EXT(p.a.req, p.a.ep, 50 + i, RDMA_WRITE_IMMED, 200 + i);
	}
	pair_close(&p);
}

TEST(ext, immed_waits_for_a_receive)
{
	struct pair p;

	pair_up(&p);
	fill(p.a.buf.mem, 500, 5);
	OK(immed(&p.a, &p.b, 500, 1, 0xabcd));
	OK(post_send(&p.a, 0, 20, 2));
	EV_NONE(p.b.recv);
	OK(post_recv(&p.b, 0, 10, 3));
	OK(post_recv(&p.b, 0, 20, 4));
	EV_IMMED(p.b.recv, p.b.ep, 3, 500, 0xabcd);
	CHECK_FILL(p.b.buf.mem + 4096, 500, 5);
	EV_DTO(p.b.recv, p.b.ep, 4, OP_RECV, 20);
	EV_EXT(p.a.req, p.a.ep, 1, RDMA_WRITE_IMMED, 500);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 20);
	pair_close(&p);
}

TEST(ext, immed_flags)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET r;
	struct pair p;

	pair_up(&p);
	t = seg(&p.a.buf, 0, 32);
	r = rem(&p.b.buf, 0, 32);
	for (unsigned int i = 0; i < 3; i++)
		OK(post_recv(&p.b, 100, 0, i));
	OK(immed_to(p.a.ep, t, 1, r, 11, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(immed_to(p.a.ep, t, 2, r, 12, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	OK(immed_to(p.a.ep, t, 3, r, 13, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	for (unsigned int i = 0; i < 3; i++)
		EV_IMMED(p.b.recv, p.b.ep, i, 32, 11 + i);
	EV_EXT(p.a.req, p.a.ep, 2, RDMA_WRITE_IMMED, 32);
	EV_EXT(p.a.req, p.a.ep, 3, RDMA_WRITE_IMMED, 32);
	EV_EMPTY(p.a.req);
	BAD_ARG(immed_to(p.a.ep, t, 4, r, 1, 0x100), 6);
	/* Not among those of a default endpoint. */
	BAD_ARG(immed_to(p.a.ep, t, 4, r, 1, DAT_COMPLETION_UNSIGNALLED_FLAG), 6);
	pair_close(&p);
}

/* A waiter for solicited events is woken by immediate data with the solicited flag. */
TEST(ext, immed_that_is_solicited_wakes)
{
	DAT_EP_ATTR attr;
	struct node n;
	struct pair p;

	node_open(&n);
	attr = default_attr(&n);
	node_close(&n);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	pair_open_attr(&p, NULL, &attr);
	pair_connect(&p);
	OK(post_recv(&p.b, 0, 0, 1));
	OK(immed_to(p.a.ep, seg(&p.a.buf, 0, 8), 2, rem(&p.b.buf, 0, 8), 77,
		    DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	EV_IMMED(p.b.recv, p.b.ep, 1, 8, 77);
	EV_EXT(p.a.req, p.a.ep, 2, RDMA_WRITE_IMMED, 8);
	pair_close(&p);
}

/* ---- failure ---- */

TEST(ext, immed_checks_its_arguments)
{
	DAT_LMR_TRIPLET t[5];
	DAT_RMR_TRIPLET r;
	struct pair p;
	struct buf b;

	pair_up(&p);
	for (size_t i = 0; i < 5; i++)
		t[i] = seg(&p.a.buf, 0, 8);
	r = rem(&p.b.buf, 0, 7);
	BAD_HANDLE(dat_ib_post_rdma_write_immed(p.node.pz, 1, t, ck(1), &r, 1, 0), EP);
	BAD_ARG(dat_ib_post_rdma_write_immed(p.a.ep, 1, t, ck(1), NULL, 1, 0), 5);
	BAD_ARG(dat_ib_post_rdma_write_immed(p.a.ep, 1, NULL, ck(1), &r, 1, 0), 3);
	BAD_ARG(dat_ib_post_rdma_write_immed(p.a.ep, 5, t, ck(1), &r, 1, 0), 2);
	BAD_ARG(dat_ib_post_rdma_write_immed(p.a.ep, -1, t, ck(1), &r, 1, 0), 2);
	ASSERT_RET(immed_to(p.a.ep, t[0], 1, r, 1, 0), DAT_LENGTH_ERROR, 0);
	t[0].lmr_context ^= 0x12340000;
	ASSERT_RET(immed_to(p.a.ep, t[0], 1, r, 1, 0), DAT_PRIVILEGES_VIOLATION,
		   DAT_PRIVILEGES_READ);
	buf_make(&b, &p.node, 4096, 0x02);
	ASSERT_RET(immed_to(p.a.ep, seg(&b, 0, 1), 1, r, 1, 0), DAT_PRIVILEGES_VIOLATION,
		   DAT_PRIVILEGES_READ);
	buf_free(&b);
	EV_EMPTY(p.a.req);
	pair_close(&p);
}

TEST(ext, immed_on_an_unconnected_endpoint_is_INVALID_STATE)
{
	struct pair p;

	pair_open(&p);
	BAD_STATE(immed(&p.a, &p.b, 8, 1, 1), EP_UNCONNECTED);
	pair_close(&p);
}

/* The receive does not tell of a write that has not taken place: it is flushed, or, by soft-RoCE,
 * said to have failed. */
static void refused(struct pair *p, DAT_RMR_TRIPLET to, size_t len)
{
	DAT_EVENT ev;

	OK(post_recv(&p->b, 0, 10, 1));
	OK(immed_to(p->a.ep, seg(&p->a.buf, 0, len), 5, to, 1, 0));
	EV_EXT_STATUS(p->a.req, p->a.ep, 5, RDMA_WRITE_IMMED, DAT_DTO_ERR_REMOTE_ACCESS);
	pair_both_ended(p);
	EV_NEXT(p->b.recv, &ev);
	ASSERT_EQ(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	ASSERT_EQ(dto_of(&ev)->user_cookie.as_64, 1);
	ASSERT(dto_of(&ev)->status == DAT_DTO_ERR_FLUSHED ||
	       (fabric_is("verbs") && dto_of(&ev)->status == DAT_DTO_ERR_REMOTE_ACCESS));
}

TEST(ext, immed_without_the_right_to_write_is_REMOTE_ACCESS)
{
	struct pair p;
	struct buf b;

	pair_up(&p);
	buf_make(&b, &p.node, 4096, (int)PRIV_ALL & ~DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
	memset(b.mem, 0x31, 4096);
	refused(&p, rem(&b, 0, 64), 64);
	ASSERT_EQ(b.mem[0], 0x31);
	buf_free(&b);
	pair_close(&p);
}

TEST(ext, immed_beyond_the_region_is_REMOTE_ACCESS)
{
	struct pair p;

	pair_up(&p);
	refused(&p, rem_raw((uintptr_t)p.b.buf.mem + SIDE_BUF - 7, 8, p.b.buf.rmr), 8);
	pair_close(&p);
}

TEST(ext, immed_is_flushed_at_the_end)
{
	DAT_EVENT ev;
	struct pair p;

	pair_up(&p);
	/* A message without a receive ends an iWARP connection, perhaps before this side does. */
	for (unsigned int i = 0; i < 4 && fabric_is("iwarp"); i++)
		OK(post_recv(&p.b, 0, 10, i));
	for (unsigned int i = 0; i < 4; i++)
		OK(immed(&p.a, &p.b, 100, i, i));
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	for (unsigned int i = 0; i < 4; i++) {
		EV_NEXT(p.a.req, &ev);
		ASSERT_EQ((int)ev.event_number, DAT_IB_DTO_EVENT);
		ASSERT_EQ(dto_of(&ev)->user_cookie.as_64, i);
		ASSERT_EQ((int)dto_of(&ev)->operation, DAT_IB_DTO_RDMA_WRITE_IMMED);
	}
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	/* Afterwards at once. */
	OK(immed(&p.a, &p.b, 100, 9, 9));
	EV_EXT_STATUS(p.a.req, p.a.ep, 9, RDMA_WRITE_IMMED, DAT_DTO_ERR_FLUSHED);
	pair_close(&p);
}
