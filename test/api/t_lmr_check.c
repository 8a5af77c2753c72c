/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts refuse segments that are not what they should be.
 *
 * One row per kind of operation; each check runs for every row. After a refusal the endpoint is
 * as before: the case ends with a transfer that works.
 */
#include "rig.h"

struct row {
	const char *rule;
	void (*check)(struct pair *p, const struct row *row);
	enum op op;
};

/* Send and write read the local memory, receive and read write it. */
static int needed(enum op op)
{
	return op == OP_SEND || op == OP_WRITE ? DAT_MEM_PRIV_LOCAL_READ_FLAG
					       : DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
}

static int privileges_sub(enum op op)
{
	return op == OP_SEND || op == OP_WRITE ? DAT_PRIVILEGES_READ : DAT_PRIVILEGES_WRITE;
}

static int protection_sub(enum op op)
{
	return op == OP_SEND || op == OP_WRITE ? DAT_PROTECTION_READ : DAT_PROTECTION_WRITE;
}

static DAT_RETURN post(struct pair *p, enum op op, DAT_COUNT n, DAT_LMR_TRIPLET *iov)
{
	DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_RMR_TRIPLET r = rem(&p->b.buf, 0, op == OP_READ ? 16 : 4096);

	switch (op) {
	case OP_SEND:
		return dat_ep_post_send(p->a.ep, n, iov, ck(9), flags);
	case OP_RECV:
		return dat_ep_post_recv(p->a.ep, n, iov, ck(9), flags);
	case OP_READ:
		return dat_ep_post_rdma_read(p->a.ep, n, iov, ck(9), &r, flags);
	case OP_WRITE:
		return dat_ep_post_rdma_write(p->a.ep, n, iov, ck(9), &r, flags);
	}
	abort();
}

static void unknown_context(struct pair *p, const struct row *row)
{
	DAT_LMR_TRIPLET t = seg(&p->a.buf, 0, 16);

	t.lmr_context = 0;
	ASSERT_RET(post(p, row->op, 1, &t), DAT_PRIVILEGES_VIOLATION, privileges_sub(row->op));
	t.lmr_context = p->a.buf.ctx ^ 0x5a5a0000u;
	ASSERT_RET(post(p, row->op, 1, &t), DAT_PRIVILEGES_VIOLATION, privileges_sub(row->op));
	t.lmr_context = 0xffffffffu;
	ASSERT_RET(post(p, row->op, 1, &t), DAT_PRIVILEGES_VIOLATION, privileges_sub(row->op));
}

static void freed_region(struct pair *p, const struct row *row)
{
	DAT_LMR_TRIPLET t;
	struct buf b;

	buf_make(&b, &p->node, 4096, PRIV_ALL);
	t = seg(&b, 0, 16);
	buf_unregister(&b);
	ASSERT_RET(post(p, row->op, 1, &t), DAT_PRIVILEGES_VIOLATION, privileges_sub(row->op));
	buf_free(&b);
}

static void outside(struct pair *p, const struct row *row)
{
	DAT_LMR_TRIPLET t;

	t = seg(&p->a.buf, (size_t)-1, 16);
	BAD_ARG(post(p, row->op, 1, &t), 3);
	t = seg(&p->a.buf, SIDE_BUF - 15, 16);
	BAD_ARG(post(p, row->op, 1, &t), 3);
	t = seg(&p->a.buf, SIDE_BUF, 16);
	BAD_ARG(post(p, row->op, 1, &t), 3);
	/* Address plus length wraps around. */
	t = seg(&p->a.buf, 0, 16);
	t.segment_length = (seg_len_t)-1;
	BAD_ARG(post(p, row->op, 1, &t), 3);
	t = seg(&p->a.buf, 0, 16);
	t.virtual_address = ~(DAT_VADDR)0 - 7;
	BAD_ARG(post(p, row->op, 1, &t), 3);
}

static void second_segment_outside(struct pair *p, const struct row *row)
{
	DAT_LMR_TRIPLET t[2] = { seg(&p->a.buf, 0, 8), seg(&p->a.buf, SIDE_BUF - 7, 8) };

	BAD_ARG(post(p, row->op, 2, t), 3);
}

static void missing_right(struct pair *p, const struct row *row)
{
	int priv = PRIV_ALL & ~needed(row->op);
	DAT_LMR_TRIPLET t;
	struct buf b;

	/* A region with local write only serves as a source all the same (legacy programs). */
	if (needed(row->op) == DAT_MEM_PRIV_LOCAL_READ_FLAG)
		priv &= ~DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
	buf_make(&b, &p->node, 4096, priv);
	t = seg(&b, 0, 16);
	ASSERT_RET(post(p, row->op, 1, &t), DAT_PRIVILEGES_VIOLATION, privileges_sub(row->op));
	buf_free(&b);
}

static void other_pz(struct pair *p, const struct row *row)
{
	DAT_LMR_TRIPLET t;
	DAT_PZ_HANDLE pz;
	struct buf b;
	char mem[64];

	OK(dat_pz_create(p->node.ia, &pz));
	buf_register(&b, &p->node, pz, mem, sizeof(mem), PRIV_ALL);
	t = seg(&b, 0, 16);
	ASSERT_RET(post(p, row->op, 1, &t), DAT_PROTECTION_VIOLATION, protection_sub(row->op));
	buf_unregister(&b);
	OK(dat_pz_free(pz));
}

static void too_many(struct pair *p, const struct row *row)
{
	DAT_LMR_TRIPLET t[64];
	DAT_EP_PARAM param;
	DAT_COUNT max, i;

	OK(dat_ep_query(p->a.ep, DAT_EP_FIELD_ALL, &param));
	max = row->op == OP_RECV ? param.ep_attr.max_recv_iov : param.ep_attr.max_request_iov;
	ASSERT(max < 64);
	for (i = 0; i < 64; i++)
		t[i] = seg(&p->a.buf, 0, 1);
	BAD_ARG(post(p, row->op, max + 1, t), 2);
	BAD_ARG(post(p, row->op, 64, t), 2);
}

static void negative_count(struct pair *p, const struct row *row)
{
	DAT_LMR_TRIPLET t = seg(&p->a.buf, 0, 1);

	BAD_ARG(post(p, row->op, -1, &t), 2);
}

static void iov_NULL(struct pair *p, const struct row *row)
{
	BAD_ARG(post(p, row->op, 1, NULL), 3);
}

static void run(const void *arg)
{
	const struct row *row = arg;
	struct pair p;

	pair_up(&p);
	row->check(&p, row);
	OK(post_recv(&p.b, 0, 64, 1));
	OK(post_send(&p.a, 0, 64, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 64);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 64);
	EV_EMPTY(p.a.recv);
	EV_EMPTY(p.a.req);
	pair_close(&p);
}

/* clang-format off */
#define FOR_EACH_OP(rule_, fn_)                                                       \
	{ "send_" rule_, fn_, OP_SEND }, { "recv_" rule_, fn_, OP_RECV },               \
	{ "rdma_read_" rule_, fn_, OP_READ }, { "rdma_write_" rule_, fn_, OP_WRITE }
/* clang-format on */

static const struct row rows[] = {
	FOR_EACH_OP("unknown_context_is_PRIVILEGES_VIOLATION", unknown_context),
	FOR_EACH_OP("freed_region_is_PRIVILEGES_VIOLATION", freed_region),
	FOR_EACH_OP("segment_outside_its_region_is_ARG3", outside),
	FOR_EACH_OP("second_segment_outside_is_ARG3", second_segment_outside),
	FOR_EACH_OP("missing_right_is_PRIVILEGES_VIOLATION", missing_right),
	FOR_EACH_OP("other_pz_is_PROTECTION_VIOLATION", other_pz),
	FOR_EACH_OP("too_many_segments_is_ARG2", too_many),
	FOR_EACH_OP("negative_segment_count_is_ARG2", negative_count),
	FOR_EACH_OP("iov_NULL_is_ARG3", iov_NULL),
};

TEST_ROWS(lmr_check, rows, run)

TEST(lmr_check, segment_up_to_the_last_byte)
{
	DAT_LMR_TRIPLET t[2];
	struct pair p;

	pair_up(&p);
	OK(post_recv(&p.b, SIDE_BUF - 16, 16, 1));
	t[0] = seg(&p.a.buf, SIDE_BUF - 16, 16);
	/* A segment without bytes may stand at the end of its region. */
	t[1] = seg(&p.a.buf, SIDE_BUF, 0);
	OK(dat_ep_post_send(p.a.ep, 2, t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 16);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 16);
	pair_close(&p);
}

TEST(lmr_check, send_of_one_segment_where_none_is_allowed_is_ARG2)
{
	DAT_EP_ATTR attr;
	DAT_LMR_TRIPLET t;
	struct node n;
	struct pair p;

	node_open(&n);
	attr = default_attr(&n);
	node_close(&n);
	attr.max_request_iov = 0;
	pair_open_attr(&p, &attr, NULL);
	pair_connect(&p);
	OK(post_recv(&p.b, 0, 16, 1));
	t = seg(&p.a.buf, 0, 16);
	BAD_ARG(dat_ep_post_send(p.a.ep, 1, &t, ck(2), DAT_COMPLETION_DEFAULT_FLAG), 2);
	OK(dat_ep_post_send(p.a.ep, 0, NULL, ck(3), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 0);
	EV_DTO(p.a.req, p.a.ep, 3, OP_SEND, 0);
	pair_close(&p);
}

/* max_rdma_read_iov and max_rdma_write_iov count, and 0 stands for max_request_iov. */
static void check_limits(DAT_COUNT request, DAT_COUNT read, DAT_COUNT write)
{
	DAT_COUNT reads = read ? read : request, writes = write ? write : request, i;
	DAT_LMR_TRIPLET t[8];
	DAT_EP_ATTR attr;
	struct node n;
	struct pair p;

	node_open(&n);
	attr = default_attr(&n);
	node_close(&n);
	attr.max_request_iov = request;
	attr.max_rdma_read_iov = read;
	attr.max_rdma_write_iov = write;
	pair_open_attr(&p, &attr, NULL);
	pair_connect(&p);
	for (i = 0; i < 8; i++)
		t[i] = seg(&p.a.buf, 64 * (size_t)i, i < reads ? 16 : 0);
	BAD_ARG(post(&p, OP_SEND, request + 1, t), 2);
	BAD_ARG(post(&p, OP_READ, reads + 1, t), 2);
	BAD_ARG(post(&p, OP_WRITE, writes + 1, t), 2);
	if (reads) {
		OK(post(&p, OP_READ, reads, t));
		EV_DTO(p.a.req, p.a.ep, 9, OP_READ, 16);
	}
	if (writes) {
		OK(post(&p, OP_WRITE, writes, t));
		EV_DTO(p.a.req, p.a.ep, 9, OP_WRITE,
		       16 * (size_t)(writes < reads ? writes : reads));
	}
	EV_EMPTY(p.a.req);
	pair_close(&p);
}

TEST(lmr_check, rdma_of_more_segments_than_other_requests)
{
	check_limits(1, 3, 4);
}

TEST(lmr_check, rdma_of_fewer_segments_than_other_requests)
{
	check_limits(4, 1, 2);
}

TEST(lmr_check, rdma_limit_0_is_that_of_other_requests)
{
	check_limits(3, 0, 0);
	check_limits(2, 0, 4);
}

TEST(lmr_check, rdma_of_one_segment_where_requests_have_none)
{
	check_limits(0, 1, 1);
	check_limits(0, 0, 1);
}

TEST(lmr_check, rdma_limits_can_be_modified)
{
	DAT_EP_PARAM param;
	DAT_LMR_TRIPLET t[3];
	struct pair p;
	int i;

	pair_open(&p);
	memset(&param, 0, sizeof(param));
	param.ep_attr.max_rdma_read_iov = 1;
	param.ep_attr.max_rdma_write_iov = 2;
	OK(dat_ep_modify(p.a.ep,
			 DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV |
				 DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV,
			 &param));
	pair_connect(&p);
	for (i = 0; i < 3; i++)
		t[i] = seg(&p.a.buf, 64 * (size_t)i, 16);
	BAD_ARG(post(&p, OP_READ, 2, t), 2);
	BAD_ARG(post(&p, OP_WRITE, 3, t), 2);
	OK(post(&p, OP_READ, 1, t));
	EV_DTO(p.a.req, p.a.ep, 9, OP_READ, 16);
	OK(post(&p, OP_WRITE, 2, t));
	EV_DTO(p.a.req, p.a.ep, 9, OP_WRITE, 32);
	pair_close(&p);
}

TEST(lmr_check, recv_is_checked_before_the_connection_too)
{
	DAT_LMR_TRIPLET t;
	struct pair p;

	pair_open(&p);
	t = seg(&p.a.buf, SIDE_BUF - 15, 16);
	BAD_ARG(dat_ep_post_recv(p.a.ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG), 3);
	t.lmr_context = 0;
	ASSERT_RET(dat_ep_post_recv(p.a.ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	EV_EMPTY(p.a.recv);
	pair_close(&p);
}

TEST(lmr_check, context_of_another_ia_is_PRIVILEGES_VIOLATION)
{
	DAT_LMR_TRIPLET t;
	struct node other;
	struct buf many[8];
	struct pair p;
	int i;

	pair_up(&p);
	node_open(&other);
	/* More regions than the pair has, so that the last index does not exist there. */
	for (i = 0; i < 8; i++)
		buf_make(&many[i], &other, 4096, PRIV_ALL);
	t = seg(&many[7], 0, 16);
	ASSERT_RET(dat_ep_post_send(p.a.ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	for (i = 0; i < 8; i++)
		buf_free(&many[i]);
	node_close(&other);
	pair_close(&p);
}
