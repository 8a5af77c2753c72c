/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests errors of transfers: lengths, missing privileges at the target, invalid keys. */
#include "rig.h"

static DAT_RETURN write_to(struct pair *p, uint64_t addr, size_t len, DAT_RMR_CONTEXT ctx)
{
	DAT_LMR_TRIPLET t = seg(&p->a.buf, 0, len);
	DAT_RMR_TRIPLET r = rem_raw(addr, len, ctx);

	return dat_ep_post_rdma_write(p->a.ep, 1, &t, ck(5), &r, DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN read_from(struct pair *p, uint64_t addr, size_t len, DAT_RMR_CONTEXT ctx)
{
	DAT_LMR_TRIPLET t = seg(&p->a.buf, 0, len);
	DAT_RMR_TRIPLET r = rem_raw(addr, len, ctx);

	return dat_ep_post_rdma_read(p->a.ep, 1, &t, ck(5), &r, DAT_COMPLETION_DEFAULT_FLAG);
}

/* `together`: the message before it has not been taken yet. */
static void too_long(size_t sent, size_t room, bool together)
{
	struct pair p;
	DAT_EVENT ev;

	pair_up(&p);
	memset(p.b.buf.mem, 0x44, SIDE_BUF);
	OK(post_recv(&p.b, 0, 100, 1));
	OK(post_recv(&p.b, 0, room, 2));
	OK(post_recv(&p.b, 0, 100, 3));
	OK(post_send(&p.a, 0, 50, 11));
	if (together)
		OK(post_send(&p.a, 0, sent, 12));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 50);
	if (!together)
		OK(post_send(&p.a, 0, sent, 12));
	EV_DTO_STATUS(p.b.recv, p.b.ep, 2, OP_RECV, DAT_DTO_ERR_LOCAL_LENGTH);
	EV_FLUSH(p.b.recv, p.b.ep, 3, OP_RECV);
	EV_CONN(p.b.conn, BROKEN, p.b.ep);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_DISCONNECTED);
	/* Nothing was written after the buffer. */
	ASSERT_EQ(p.b.buf.mem[room > 100 ? room : 100], 0x44);
	EV_DTO(p.a.req, p.a.ep, 11, OP_SEND, 50);
	EV_NEXT(p.a.conn, &ev);
	ASSERT(ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
	       ev.event_number == DAT_CONNECTION_EVENT_BROKEN);
	EV_NONE(p.a.conn);
	EV_NONE(p.b.conn);
	pair_close(&p);
}

TEST(dto_error, message_longer_than_the_receive_is_LOCAL_LENGTH_and_BROKEN)
{
	/* The older name of the status. */
	ASSERT_EQ(DAT_DTO_LENGTH_ERROR, DAT_DTO_ERR_LOCAL_LENGTH);
	too_long(1000, 999, true);
	too_long(1000, 999, false);
}

TEST(dto_error, large_message_longer_than_the_receive_is_LOCAL_LENGTH_and_BROKEN)
{
	too_long(60000, 100, true);
	too_long(60000, 100, false);
}

/* After a while the sender knows which receives are posted, and sends without asking. */
TEST(dto_error, last_of_many_large_messages_is_longer_than_its_receive)
{
	struct pair p;
	uint64_t i;

	pair_up(&p);
	OK(post_recv(&p.b, 0, SIDE_BUF, 0));
	for (i = 0; i < 40; i++) {
		OK(post_recv(&p.b, 0, i < 39 ? SIDE_BUF : SIDE_BUF - 1, i + 1));
		OK(post_send(&p.a, 0, SIDE_BUF, 100 + i));
		EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, SIDE_BUF);
		EV_DTO(p.a.req, p.a.ep, 100 + i, OP_SEND, SIDE_BUF);
	}
	OK(post_send(&p.a, 0, SIDE_BUF, 100 + i));
	EV_DTO_STATUS(p.b.recv, p.b.ep, i, OP_RECV, DAT_DTO_ERR_LOCAL_LENGTH);
	EV_CONN(p.b.conn, BROKEN, p.b.ep);
	pair_close(&p);
}

TEST(dto_error, one_byte_into_an_empty_receive_is_LOCAL_LENGTH_and_BROKEN)
{
	too_long(1, 0, true);
	too_long(1, 0, false);
}

TEST(dto_error, connection_can_be_made_anew_after_LOCAL_LENGTH)
{
	DAT_EVENT ev;
	struct pair p;

	pair_up(&p);
	OK(post_recv(&p.b, 0, 10, 1));
	OK(post_send(&p.a, 0, 11, 2));
	EV_DTO_STATUS(p.b.recv, p.b.ep, 1, OP_RECV, DAT_DTO_ERR_LOCAL_LENGTH);
	EV_CONN(p.b.conn, BROKEN, p.b.ep);
	EV_NEXT(p.a.conn, &ev);
	EV_NEXT(p.a.req, &ev);
	OK(dat_ep_reset(p.a.ep));
	OK(dat_ep_reset(p.b.ep));
	pair_connect(&p);
	OK(post_recv(&p.b, 0, 10, 3));
	OK(post_send(&p.a, 0, 10, 4));
	EV_DTO(p.b.recv, p.b.ep, 3, OP_RECV, 10);
	EV_DTO(p.a.req, p.a.ep, 4, OP_SEND, 10);
	pair_close(&p);
}

/* ---- access that the target does not allow ---- */

/* The connection breaks at both ends; memory outside is untouched. */
static void access_refused(struct pair *p, enum op op)
{
	refusal(p, op);
	EV_NONE(p->a.conn);
	EV_NONE(p->b.conn);
	ASSERT_EQ(side_state(&p->a), DAT_EP_STATE_DISCONNECTED);
	ASSERT_EQ(side_state(&p->b), DAT_EP_STATE_DISCONNECTED);
}

struct row {
	const char *rule;
	enum op op;
	void (*check)(struct pair *p, const struct row *row);
};

static DAT_RETURN rdma(struct pair *p, enum op op, uint64_t addr, size_t len, DAT_RMR_CONTEXT ctx)
{
	return op == OP_WRITE ? write_to(p, addr, len, ctx) : read_from(p, addr, len, ctx);
}

static uint64_t target(const struct pair *p, size_t off)
{
	return (uintptr_t)p->b.buf.mem + off;
}

static void wrong_key(struct pair *p, const struct row *row)
{
	OK(rdma(p, row->op, target(p, 0), 64, p->b.buf.rmr ^ 0x33440000u));
	access_refused(p, row->op);
}

static void key_0(struct pair *p, const struct row *row)
{
	OK(rdma(p, row->op, target(p, 0), 64, 0));
	access_refused(p, row->op);
}

static void beyond(struct pair *p, const struct row *row)
{
	OK(rdma(p, row->op, target(p, SIDE_BUF - 63), 64, p->b.buf.rmr));
	access_refused(p, row->op);
}

static void before(struct pair *p, const struct row *row)
{
	OK(rdma(p, row->op, target(p, 0) - 1, 64, p->b.buf.rmr));
	access_refused(p, row->op);
}

static void no_right(struct pair *p, const struct row *row)
{
	struct buf b;

	/* All privileges except the required one. */
	buf_make(&b, &p->node, 4096, row->op == OP_WRITE ? PRIV_ALL & ~0x20 : PRIV_ALL & ~0x02);
	OK(rdma(p, row->op, (uintptr_t)b.mem, 64, b.rmr));
	access_refused(p, row->op);
	buf_free(&b);
}

static void other_pz(struct pair *p, const struct row *row, size_t len)
{
	/* Static: where the region is read the reader has it all before the call that sends it has
	 * returned, and a sanitizer looks at the memory then. */
	static char mem[SIDE_BUF];
	DAT_PZ_HANDLE pz;
	struct buf b;

	OK(dat_pz_create(p->node.ia, &pz));
	buf_register(&b, &p->node, pz, mem, len, PRIV_ALL);
	fill(p->a.buf.mem, len, 1);
	OK(rdma(p, row->op, (uintptr_t)mem, len, b.rmr));
	/* Zones that share the fabric's protection do not keep peers out; the attribute reports
	 * that. */
	if (p->node.prov.pz_support == DAT_PZ_UNIQUE) {
		access_refused(p, row->op);
		CHECK_FILL(p->a.buf.mem, len, 1);
		for (size_t i = 0; i < len; i++)
			ASSERT_EQ(mem[i], 0);
	} else {
		EV_DTO(p->a.req, p->a.ep, 5, row->op, len);
	}
	buf_unregister(&b);
	OK(dat_pz_free(pz));
}

static void short_other_pz(struct pair *p, const struct row *row)
{
	other_pz(p, row, 64);
}

/* So much may be taken out of the other process's memory. */
static void long_other_pz(struct pair *p, const struct row *row)
{
	other_pz(p, row, SIDE_BUF);
}

static void freed(struct pair *p, const struct row *row)
{
	DAT_RMR_CONTEXT rmr = p->b.buf.rmr;

	buf_unregister(&p->b.buf);
	OK(rdma(p, row->op, target(p, 0), 64, rmr));
	access_refused(p, row->op);
}

static void run(const void *arg)
{
	const struct row *row = arg;
	struct pair p;

	pair_up(&p);
	row->check(&p, row);
	pair_close(&p);
}

/* clang-format off */
#define BOTH(rule_, fn_) { "write_" rule_, OP_WRITE, fn_ }, { "read_" rule_, OP_READ, fn_ }
/* clang-format on */

static const struct row rows[] = {
	BOTH("with_a_wrong_key_is_REMOTE_ACCESS_and_BROKEN", wrong_key),
	BOTH("with_key_0_is_REMOTE_ACCESS_and_BROKEN", key_0),
	BOTH("beyond_the_region_is_REMOTE_ACCESS_and_BROKEN", beyond),
	BOTH("before_the_region_is_REMOTE_ACCESS_and_BROKEN", before),
	BOTH("without_the_right_is_REMOTE_ACCESS_and_BROKEN", no_right),
	BOTH("into_another_pz_is_as_pz_support_says", short_other_pz),
	BOTH("into_another_pz_of_64_KiB_is_as_pz_support_says", long_other_pz),
	BOTH("of_a_freed_region_is_REMOTE_ACCESS_and_BROKEN", freed),
};

TEST_ROWS(dto_error, rows, run)

TEST(dto_error, refused_access_flushes_what_was_posted_behind_it)
{
	struct pair p;
	uint64_t i;

	pair_up(&p);
	OK(post_recv(&p.a, 0, 10, 1));
	OK(write_to(&p, target(&p, 0), 64, p.b.buf.rmr ^ 0x10000));
	for (i = 0; i < 3; i++)
		(void)post_write(&p.a, 0, 64, 20 + i, &p.b, 0);
	EV_DTO_STATUS(p.a.req, p.a.ep, 5, OP_WRITE, DAT_DTO_ERR_REMOTE_ACCESS);
	for (i = 0; i < 3; i++)
		EV_FLUSH(p.a.req, p.a.ep, 20 + i, OP_WRITE);
	EV_FLUSH(p.a.recv, p.a.ep, 1, OP_RECV);
	EV_CONN(p.a.conn, BROKEN, p.a.ep);
	pair_close(&p);
}

/* Over tcp long data travels on an endpoint of its own, and later requests are processed meanwhile.
 * The first writes wait for that endpoint. */
static void long_pair_up(struct pair *p)
{
	uint64_t i;

	pair_up(p);
	for (i = 0; i < 40; i++) {
		OK(post_write(&p->a, 0, SIDE_BUF, 100 + i, &p->b, 0));
		EV_DTO(p->a.req, p->a.ep, 100 + i, OP_WRITE, SIDE_BUF);
	}
}

static void refused_after_long_writes(uint64_t writes, bool read, size_t len)
{
	struct pair p;
	uint64_t i;

	long_pair_up(&p);
	for (i = 0; i < writes; i++)
		OK(post_write(&p.a, 0, SIDE_BUF, 10 + i, &p.b, 0));
	OK((read ? read_from : write_to)(&p, target(&p, 0), len, p.b.buf.rmr ^ 0x10000));
	for (i = 0; i < writes; i++)
		EV_DTO(p.a.req, p.a.ep, 10 + i, OP_WRITE, SIDE_BUF);
	EV_DTO_STATUS(p.a.req, p.a.ep, 5, read ? OP_READ : OP_WRITE, DAT_DTO_ERR_REMOTE_ACCESS);
	EV_CONN(p.a.conn, BROKEN, p.a.ep);
	pair_close(&p);
}

/* With few writes in progress, the data of the one that is refused has been sent already. */
TEST(dto_error, refused_access_leaves_long_writes_before_it_successful)
{
	static const uint64_t writes[] = { 0, 2, 4 };
	int rounds = dt_slow() > 3 ? 3 : 12;

	for (int i = 0; i < rounds; i++) {
		refused_after_long_writes(writes[i % 3], false, SIDE_BUF);
		refused_after_long_writes(writes[i % 3], false, 64);
		refused_after_long_writes(writes[i % 3], true, SIDE_BUF);
		refused_after_long_writes(writes[i % 3], true, 64);
	}
}

#define LONG ((size_t)1 << 20)

TEST(dto_error, long_writes_before_a_message_that_is_too_long_are_successful)
{
	DAT_LMR_TRIPLET l;
	DAT_RMR_TRIPLET r;
	struct buf from, to;
	struct pair p;
	uint64_t i;

	long_pair_up(&p);
	buf_make(&from, &p.node, LONG, PRIV_ALL);
	buf_make(&to, &p.node, LONG, PRIV_ALL);
	l = seg(&from, 0, LONG);
	r = rem(&to, 0, LONG);
	OK(post_recv(&p.b, 0, 1000, 1));
	for (i = 0; i < 4; i++)
		OK(dat_ep_post_rdma_write(p.a.ep, 1, &l, ck(10 + i), &r,
					  DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat_ep_post_send(p.a.ep, 1, &l, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	for (i = 0; i < 4; i++)
		EV_DTO(p.a.req, p.a.ep, 10 + i, OP_WRITE, LONG);
	EV_DTO_STATUS(p.b.recv, p.b.ep, 1, OP_RECV, DAT_DTO_ERR_LOCAL_LENGTH);
	EV_CONN(p.b.conn, BROKEN, p.b.ep);
	OK(dat_ep_free(p.a.ep));
	OK(dat_ep_free(p.b.ep));
	p.a.ep = p.b.ep = NULL;
	buf_free(&from);
	buf_free(&to);
	pair_close(&p);
}

TEST(dto_error, refused_access_harms_no_other_connection)
{
	struct side c, d;
	struct pair p;

	pair_up(&p);
	side_make(&c, &p.node, NULL);
	side_make(&d, &p.node, NULL);
	OK(connect_to(c.ep, p.node.attr.ia_address_ptr, p.qual));
	OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), d.ep, 0, NULL));
	EV_CONN(c.conn, ESTABLISHED, c.ep);
	EV_CONN(d.conn, ESTABLISHED, d.ep);
	OK(write_to(&p, target(&p, 0), 64, 0x12345678));
	access_refused(&p, OP_WRITE);
	OK(post_recv(&d, 0, 100, 1));
	OK(post_send(&c, 0, 100, 2));
	EV_DTO(d.recv, d.ep, 1, OP_RECV, 100);
	EV_DTO(c.req, c.ep, 2, OP_SEND, 100);
	EV_EMPTY(c.conn);
	side_free(&c);
	side_free(&d);
	pair_close(&p);
}

/* ---- what a post refuses itself ---- */

TEST(dto_error, rdma_lengths_that_do_not_fit_are_LENGTH_ERROR)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET r;
	struct pair p;

	pair_up(&p);
	/* A write needs as much room at the target as it brings. */
	t = seg(&p.a.buf, 0, 101);
	r = rem(&p.b.buf, 0, 100);
	ASSERT_RET(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck(1), &r, DAT_COMPLETION_DEFAULT_FLAG),
		   DAT_LENGTH_ERROR, 0);
	/* A read needs as much room here as it fetches. */
	t = seg(&p.a.buf, 0, 99);
	ASSERT_RET(dat_ep_post_rdma_read(p.a.ep, 1, &t, ck(1), &r, DAT_COMPLETION_DEFAULT_FLAG),
		   DAT_LENGTH_ERROR, 0);
	EV_EMPTY(p.a.req);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_CONNECTED);
	pair_close(&p);
}

#define LONG_SEGMENTS 4

/* A send, a write and a read of this many bytes, whose segments may overlap. */
static void post_long(struct pair *p, const struct buf *b, uint64_t bytes, DAT_COUNT n,
		      DAT_RETURN got[3])
{
	const DAT_COMPLETION_FLAGS none = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_RMR_TRIPLET r = rem_raw((uintptr_t)b->mem, bytes, b->rmr);
	DAT_LMR_TRIPLET t[LONG_SEGMENTS];

	for (DAT_COUNT i = 0; i < n; i++)
		t[i] = seg(b, 0, bytes / (uint64_t)n);
	t[n - 1].segment_length += (seg_len_t)(bytes % (uint64_t)n);
	got[0] = dat_ep_post_send(p->a.ep, n, t, ck(1), none);
	got[1] = dat_ep_post_rdma_write(p->a.ep, n, t, ck(2), &r, none);
	got[2] = dat_ep_post_rdma_read(p->a.ep, n, t, ck(3), &r, none);
}

static void refuses_long(struct pair *p, const struct buf *b, DAT_COUNT n)
{
	DAT_RETURN got[3];

	post_long(p, b, (uint64_t)p->node.attr.max_message_size + 1, n, got);
	for (int i = 0; i < 3; i++)
		ASSERT_RET(got[i], DAT_LENGTH_ERROR, 0);
	EV_EMPTY(p->a.req);
	OK(post_recv(&p->b, 0, 100, 4));
	OK(post_send(&p->a, 0, 100, 5));
	EV_DTO(p->b.recv, p->b.ep, 4, OP_RECV, 100);
	EV_DTO(p->a.req, p->a.ep, 5, OP_SEND, 100);
}

TEST(dto_error, requests_longer_than_the_ia_carries_are_LENGTH_ERROR)
{
	DAT_RETURN got[3];
	struct pair p;
	struct buf b;

	pair_up(&p);
	ASSERT_EQ(p.node.attr.max_message_size, p.node.attr.max_rdma_size);
	buf_make(&b, &p.node, p.node.attr.max_message_size / LONG_SEGMENTS + LONG_SEGMENTS,
		 PRIV_ALL);
	refuses_long(&p, &b, LONG_SEGMENTS);
	/* As long as it carries; on a disconnected endpoint nothing moves. */
	pair_disconnect(&p);
	post_long(&p, &b, p.node.attr.max_message_size, LONG_SEGMENTS, got);
	for (int i = 0; i < 3; i++)
		OK(got[i]);
	EV_FLUSH(p.a.req, p.a.ep, 1, OP_SEND);
	EV_FLUSH(p.a.req, p.a.ep, 2, OP_WRITE);
	EV_FLUSH(p.a.req, p.a.ep, 3, OP_READ);
	buf_free(&b);
	pair_close(&p);
}

TEST(dto_error, requests_of_one_segment_longer_than_the_ia_carries_are_LENGTH_ERROR)
{
	struct pair p;
	struct buf b;
	size_t len;
	void *mem;

	if (fabric_is("verbs") || fabric_is("iwarp"))
		dt_skip("a device would lock more than 2 GiB of memory");
	pair_up(&p);
	len = (size_t)p.node.attr.max_message_size + 1;
	mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	ASSERT(mem != MAP_FAILED);
	buf_register(&b, &p.node, p.node.pz, mem, len, PRIV_ALL);
	refuses_long(&p, &b, 1);
	buf_free(&b);
	pair_close(&p);
}

TEST(dto_error, a_receive_may_have_more_room_than_the_ia_carries)
{
	DAT_LMR_TRIPLET t[LONG_SEGMENTS];
	struct pair p;
	struct buf b;

	if (fabric_is("verbs") || fabric_is("iwarp"))
		dt_skip("the device decides");
	pair_up(&p);
	buf_make(&b, &p.node, p.node.attr.max_message_size / LONG_SEGMENTS + LONG_SEGMENTS,
		 PRIV_ALL);
	for (int i = 0; i < LONG_SEGMENTS; i++)
		t[i] = seg(&b, 0, b.len);
	OK(dat_ep_post_recv(p.b.ep, LONG_SEGMENTS, t, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
	fill(p.a.buf.mem, 300, 7);
	OK(post_send(&p.a, 0, 300, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 300);
	CHECK_FILL(b.mem, 300, 7);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 300);
	buf_free(&b);
	pair_close(&p);
}

TEST(dto_error, rdma_without_a_remote_triplet_is_ARG5)
{
	DAT_LMR_TRIPLET t;
	struct pair p;

	pair_up(&p);
	t = seg(&p.a.buf, 0, 10);
	BAD_ARG(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck(1), NULL, DAT_COMPLETION_DEFAULT_FLAG), 5);
	BAD_ARG(dat_ep_post_rdma_read(p.a.ep, 1, &t, ck(1), NULL, DAT_COMPLETION_DEFAULT_FLAG), 5);
	pair_close(&p);
}

TEST(dto_error, unconnected_endpoint_refuses_requests_and_takes_receives)
{
	struct pair p;

	pair_open(&p);
	BAD_STATE(post_send(&p.a, 0, 10, 1), EP_UNCONNECTED);
	BAD_STATE(post_write(&p.a, 0, 10, 1, &p.b, 0), EP_UNCONNECTED);
	BAD_STATE(post_read(&p.a, 0, 10, 1, &p.b, 0), EP_UNCONNECTED);
	OK(post_recv(&p.a, 0, 10, 1));
	pair_close(&p);
}
