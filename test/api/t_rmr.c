/* SPDX-License-Identifier: BSD-2-Clause */
/* RMRs as objects: what creating, binding, querying and freeing them take and refuse. */
#include "rmr.h"

struct rig {
	struct pair p;
	struct buf buf; /* for local use only */
	DAT_RMR_HANDLE rmr;
};

static void rig_open(struct rig *r)
{
	pair_up(&r->p);
	buf_make(&r->buf, &r->p.node, 8192, PRIV_LOCAL);
	OK(dat_rmr_create(r->p.node.pz, &r->rmr));
}

static void rig_close(struct rig *r)
{
	rmr_close(&r->p, r->rmr, &r->buf);
}

/* ---- creating ---- */

TEST(rmr, create_bad_pz_is_INVALID_HANDLE_PZ)
{
	DAT_RMR_HANDLE rmr = NULL;
	DAT_PZ_HANDLE pz;
	struct node n;

	node_open(&n);
	OK(dat_pz_create(n.ia, &pz));
	OK(dat_pz_free(pz));
	BAD_HANDLE(dat_rmr_create(NULL, &rmr), PZ);
	BAD_HANDLE(dat_rmr_create(pz, &rmr), PZ);
	BAD_HANDLE(dat_rmr_create(n.async, &rmr), PZ);
	ASSERT_PTR(rmr, NULL);
	node_close(&n);
}

TEST(rmr, create_NULL_is_ARG2)
{
	struct node n;

	node_open(&n);
	BAD_ARG(dat_rmr_create(n.pz, NULL), 2);
	node_close(&n);
}

TEST(rmr, many_are_created_and_freed)
{
	DAT_RMR_HANDLE rmr[500];
	DAT_HANDLE_TYPE type;
	struct node n;
	int i;

	node_open(&n);
	for (i = 0; i < 500; i++) {
		OK(dat_rmr_create(n.pz, &rmr[i]));
		OK(dat_get_handle_type(rmr[i], &type));
		ASSERT_EQ(type, DAT_HANDLE_TYPE_RMR);
	}
	for (i = 0; i < 500; i++)
		OK(dat_rmr_free(rmr[i]));
	node_close(&n);
}

/* ---- querying ---- */

TEST(rmr, query_of_an_unbound_one)
{
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	struct node n;

	node_open(&n);
	OK(dat_rmr_create(n.pz, &rmr));
	memset(&param, 0xa5, sizeof(param));
	OK(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)(DAT_RMR_FIELD_ALL & ~DAT_RMR_FIELD_LMR_TRIPLET),
			 &param));
	ASSERT_PTR(param.ia_handle, n.ia);
	ASSERT_PTR(param.pz_handle, n.pz);
	ASSERT_EQ(param.mem_priv, 0);
	ASSERT_EQ(param.rmr_context, 0);
	BAD_ARG(dat_rmr_query(rmr, DAT_RMR_FIELD_LMR_TRIPLET, &param), 2);
	BAD_ARG(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), 2);
	OK(dat_rmr_free(rmr));
	node_close(&n);
}

TEST(rmr, query_of_a_bound_one)
{
	DAT_RMR_CONTEXT key;
	DAT_RMR_PARAM param;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, 100, 200, READS);
	memset(&param, 0xa5, sizeof(param));
	OK(dat_rmr_query(r.rmr, DAT_RMR_FIELD_ALL, &param));
	ASSERT_PTR(param.ia_handle, r.p.node.ia);
	ASSERT_PTR(param.pz_handle, r.p.node.pz);
	ASSERT_EQ(param.lmr_triplet.virtual_address, (uintptr_t)r.buf.mem + 100);
	ASSERT_EQ(param.lmr_triplet.segment_length, 200);
	ASSERT_EQ(param.lmr_triplet.lmr_context, r.buf.ctx);
	ASSERT_EQ(param.mem_priv, READS);
	ASSERT_EQ(param.rmr_context, key);
#if DAT_TEST_API == 20
	ASSERT_EQ(param.rmr_scope, DAT_RMR_SCOPE_PZ);
	ASSERT_EQ(param.va_type, DAT_VA_TYPE_VA);
#endif
	OK(post_unbind(&r.p.b, r.rmr, &r.buf, 3));
	EV_BIND(r.p.b.req, r.rmr, 3);
	BAD_ARG(dat_rmr_query(r.rmr, DAT_RMR_FIELD_LMR_TRIPLET, &param), 2);
	OK(dat_rmr_query(r.rmr, DAT_RMR_FIELD_RMR_CONTEXT, &param));
	ASSERT_EQ(param.rmr_context, 0);
	rig_close(&r);
}

TEST(rmr, query_bad_arguments)
{
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	struct node n;

	node_open(&n);
	OK(dat_rmr_create(n.pz, &rmr));
	BAD_HANDLE(dat_rmr_query(NULL, DAT_RMR_FIELD_PZ_HANDLE, &param), RMR);
	BAD_HANDLE(dat_rmr_query(n.pz, DAT_RMR_FIELD_PZ_HANDLE, &param), RMR);
	BAD_ARG(dat_rmr_query(rmr, DAT_RMR_FIELD_PZ_HANDLE, NULL), 3);
	BAD_ARG(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)0x400, &param), 2);
	OK(dat_rmr_free(rmr));
	BAD_HANDLE(dat_rmr_query(rmr, DAT_RMR_FIELD_PZ_HANDLE, &param), RMR);
	node_close(&n);
}

/* ---- freeing, and what an RMR keeps in use ---- */

TEST(rmr, free_bad_handle_and_twice)
{
	DAT_RMR_HANDLE rmr;
	struct node n;

	node_open(&n);
	OK(dat_rmr_create(n.pz, &rmr));
	BAD_HANDLE(dat_rmr_free(NULL), RMR);
	BAD_HANDLE(dat_rmr_free(n.pz), RMR);
	OK(dat_rmr_free(rmr));
	BAD_HANDLE(dat_rmr_free(rmr), RMR);
	node_close(&n);
}

TEST(rmr, free_of_a_bound_one_ends_its_key)
{
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, 0, 100, READS | WRITES);
	usable(&r.p.a, r.buf.mem, 100, key);
	OK(dat_rmr_free(r.rmr));
	refused(&r.p, OP_READ, (uintptr_t)r.buf.mem, 100, key);
	buf_free(&r.buf);
	pair_close(&r.p);
}

TEST(rmr, lmr_free_is_refused_while_one_is_bound)
{
	struct buf other;
	struct rig r;

	rig_open(&r);
	buf_make(&other, &r.p.node, 4096, PRIV_LOCAL);
	(void)window(&r.p.b, r.rmr, &r.buf, 0, 100, READS);
	BAD_STATE(dat_lmr_free(r.buf.lmr), LMR_IN_USE);
	/* Bound to another, unbound, freed: each lets go. */
	(void)window(&r.p.b, r.rmr, &other, 0, 100, READS);
	BAD_STATE(dat_lmr_free(other.lmr), LMR_IN_USE);
	buf_free(&r.buf);
	OK(post_unbind(&r.p.b, r.rmr, &other, 1));
	EV_BIND(r.p.b.req, r.rmr, 1);
	buf_free(&other);
	buf_make(&r.buf, &r.p.node, 4096, PRIV_LOCAL);
	(void)window(&r.p.b, r.rmr, &r.buf, 0, 100, READS);
	OK(dat_rmr_free(r.rmr));
	buf_free(&r.buf);
	pair_close(&r.p);
}

TEST(rmr, pz_free_and_graceful_close_are_refused_while_one_exists)
{
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;
	struct node n;

	node_open(&n);
	OK(dat_pz_create(n.ia, &pz));
	OK(dat_rmr_create(pz, &rmr));
	BAD_STATE(dat_pz_free(pz), PZ_IN_USE);
	BAD_STATE(dat_ia_close(n.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	OK(dat_rmr_free(rmr));
	OK(dat_pz_free(pz));
	node_close(&n);
}

/* ---- what a bind refuses ---- */

struct row {
	const char *rule;
	void (*check)(struct rig *r);
};

static DAT_RETURN bind_range(struct rig *r, uint64_t addr, uint64_t len, int priv, int flags)
{
	DAT_LMR_TRIPLET t = seg(&r->buf, 0, 0);
	DAT_RMR_CONTEXT key;

	t.virtual_address = addr;
	t.segment_length = (seg_len_t)len;
	return api_bind(r->rmr, r->buf.lmr, &t, priv, r->p.b.ep, 1, flags, &key);
}

static void bad_rmr(struct rig *r)
{
	DAT_LMR_TRIPLET t = seg(&r->buf, 0, 10);
	DAT_RMR_CONTEXT key;
	DAT_RMR_HANDLE dead;

	OK(dat_rmr_create(r->p.node.pz, &dead));
	OK(dat_rmr_free(dead));
	BAD_HANDLE(api_bind(NULL, r->buf.lmr, &t, READS, r->p.b.ep, 1, 0, &key), RMR);
	BAD_HANDLE(api_bind(dead, r->buf.lmr, &t, READS, r->p.b.ep, 1, 0, &key), RMR);
	BAD_HANDLE(api_bind(r->buf.lmr, r->buf.lmr, &t, READS, r->p.b.ep, 1, 0, &key), RMR);
}

static void bad_ep(struct rig *r)
{
	DAT_LMR_TRIPLET t = seg(&r->buf, 0, 10);
	DAT_RMR_CONTEXT key;

	BAD_HANDLE(api_bind(r->rmr, r->buf.lmr, &t, READS, NULL, 1, 0, &key), EP);
	BAD_HANDLE(api_bind(r->rmr, r->buf.lmr, &t, READS, r->buf.lmr, 1, 0, &key), EP);
}

/* The endpoint and, in 2.0, the region are of another adapter. */
static void foreign(struct rig *r)
{
	DAT_LMR_TRIPLET t = seg(&r->buf, 0, 10);
	DAT_RMR_CONTEXT key;
	struct pair other;

	pair_open(&other);
	BAD_HANDLE(api_bind(r->rmr, r->buf.lmr, &t, READS, other.a.ep, 1, 0, &key), EP);
#if DAT_TEST_API == 20
	BAD_HANDLE(api_bind(r->rmr, other.a.buf.lmr, &t, READS, r->p.b.ep, 1, 0, &key), LMR);
#endif
	pair_close(&other);
}

static void bad_lmr(struct rig *r)
{
	DAT_LMR_TRIPLET t = seg(&r->buf, 0, 10);
	DAT_RMR_CONTEXT key;

#if DAT_TEST_API == 12
	t.lmr_context ^= 0x770000u;
	BAD_ARG(api_bind(r->rmr, NULL, &t, READS, r->p.b.ep, 1, 0, &key), 2);
	t.lmr_context = 0;
	BAD_ARG(api_bind(r->rmr, NULL, &t, READS, r->p.b.ep, 1, 0, &key), 2);
#else
	BAD_HANDLE(api_bind(r->rmr, NULL, &t, READS, r->p.b.ep, 1, 0, &key), LMR);
	BAD_HANDLE(api_bind(r->rmr, r->rmr, &t, READS, r->p.b.ep, 1, 0, &key), LMR);
#endif
}

static void no_triplet(struct rig *r)
{
	DAT_RMR_CONTEXT key;

	BAD_ARG(api_bind(r->rmr, r->buf.lmr, NULL, READS, r->p.b.ep, 1, 0, &key), 2);
}

static void outside(struct rig *r)
{
	uint64_t start = (uintptr_t)r->buf.mem;

	BAD_ARG(bind_range(r, start, 8193, READS, 0), 2);
	BAD_ARG(bind_range(r, start + 8192, 1, READS, 0), 2);
	BAD_ARG(bind_range(r, start - 1, 10, READS, 0), 2);
	BAD_ARG(bind_range(r, start + 1, 8192, READS, 0), 2);
	BAD_ARG(bind_range(r, start + 100, (seg_len_t)-50, READS, 0), 2);
	BAD_ARG(bind_range(r, UINT64_MAX - 5, 5, READS, 0), 2);
}

static void flags(struct rig *r)
{
	uint64_t start = (uintptr_t)r->buf.mem;

	BAD_ARG(bind_range(r, start, 10, READS, DAT_COMPLETION_SOLICITED_WAIT_FLAG), 4);
	BAD_ARG(bind_range(r, start, 10, READS, DAT_COMPLETION_UNSIGNALLED_FLAG), 4);
	BAD_ARG(bind_range(r, start, 10, READS, DAT_COMPLETION_EVD_THRESHOLD_FLAG), 4);
	BAD_ARG(bind_range(r, start, 10, READS, 0x4000), 4);
}

static void undefined_right(struct rig *r)
{
	uint64_t start = (uintptr_t)r->buf.mem;

#if DAT_TEST_API == 12
	BAD_ARG(bind_range(r, start, 10, 0x40, 0), 3);
	BAD_ARG(bind_range(r, start, 10, READS | 0x04, 0), 3);
#else
	/* 0x40 is the right to atomic operations. */
	BAD_ARG(bind_range(r, start, 10, 0x80, 0), 4);
	BAD_ARG(bind_range(r, start, 10, READS | 0x04, 0), 4);
#endif
}

static void unbind_flags(struct rig *r)
{
	BAD_ARG(bind_range(r, (uintptr_t)r->buf.mem, 0, 0, DAT_COMPLETION_SOLICITED_WAIT_FLAG), 2);
	BAD_ARG(bind_range(r, (uintptr_t)r->buf.mem, 0, 0, 0x4000), 2);
}

static void privileges(struct rig *r)
{
	DAT_RMR_CONTEXT key;
	struct buf ro, wo;

	buf_make(&ro, &r->p.node, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	buf_make(&wo, &r->p.node, 4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	ASSERT_RET(post_bind(&r->p.b, r->rmr, &ro, 0, 10, WRITES, 1, &key),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	ASSERT_RET(post_bind(&r->p.b, r->rmr, &ro, 0, 10, READS | WRITES, 1, &key),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	ASSERT_RET(post_bind(&r->p.b, r->rmr, &wo, 0, 10, READS, 1, &key), DAT_PRIVILEGES_VIOLATION,
		   DAT_PRIVILEGES_READ);
	buf_free(&ro);
	buf_free(&wo);
}

static void zones(struct rig *r)
{
	DAT_LMR_TRIPLET t = seg(&r->buf, 0, 10);
	DAT_RMR_CONTEXT key;
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;
	struct buf other;
	char mem[64];

	OK(dat_pz_create(r->p.node.ia, &pz));
	OK(dat_rmr_create(pz, &rmr));
	buf_register(&other, &r->p.node, pz, mem, sizeof(mem), PRIV_LOCAL);
	ASSERT_RET(api_bind(rmr, r->buf.lmr, &t, READS, r->p.b.ep, 1, 0, &key),
		   DAT_PROTECTION_VIOLATION, 0);
	ASSERT_RET(post_bind(&r->p.b, r->rmr, &other, 0, 10, READS, 1, &key),
		   DAT_PROTECTION_VIOLATION, 0);
	ASSERT_RET(post_bind(&r->p.b, rmr, &other, 0, 10, READS, 1, &key), DAT_PROTECTION_VIOLATION,
		   0);
	BAD_ARG(post_unbind(&r->p.b, rmr, &other, 1), 2);
	buf_unregister(&other);
	OK(dat_rmr_free(rmr));
	OK(dat_pz_free(pz));
}

static void unconnected(struct rig *r)
{
	DAT_RMR_CONTEXT key;
	struct side c;

	side_make(&c, &r->p.node, NULL);
	BAD_STATE(post_bind(&c, r->rmr, &r->buf, 0, 10, READS, 1, &key), EP_UNCONNECTED);
	BAD_STATE(post_unbind(&c, r->rmr, &r->buf, 1), EP_UNCONNECTED);
	side_free(&c);
}

#if DAT_TEST_API == 20
static void va_type(struct rig *r)
{
	DAT_LMR_TRIPLET t = seg(&r->buf, 0, 10);
	DAT_RMR_CONTEXT key;

	BAD_ARG(dat_rmr_bind(r->rmr, r->buf.lmr, &t, (DAT_MEM_PRIV_FLAGS)READS, (DAT_VA_TYPE)7,
			     r->p.b.ep, rck(1), DAT_COMPLETION_DEFAULT_FLAG, &key),
		5);
	/* Handles come first. */
	BAD_HANDLE(dat_rmr_bind(r->buf.lmr, r->buf.lmr, &t, (DAT_MEM_PRIV_FLAGS)READS,
				(DAT_VA_TYPE)7, r->p.b.ep, rck(1), DAT_COMPLETION_DEFAULT_FLAG,
				&key),
		   RMR);
	BAD_HANDLE(dat_rmr_bind(r->rmr, r->buf.lmr, &t, (DAT_MEM_PRIV_FLAGS)READS, (DAT_VA_TYPE)7,
				r->rmr, rck(1), DAT_COMPLETION_DEFAULT_FLAG, &key),
		   EP);
}
#endif

/* Each refusal leaves the RMR bound as it was, and nothing on the queue. */
static void run(const void *arg)
{
	const struct row *row = arg;
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, 0, 100, READS | WRITES);
	row->check(&r);
	EV_EMPTY(r.p.b.req);
	usable(&r.p.a, r.buf.mem, 100, key);
	rig_close(&r);
}

static const struct row rows[] = {
	{ "bind_bad_rmr_is_INVALID_HANDLE_RMR", bad_rmr },
	{ "bind_bad_ep_is_INVALID_HANDLE_EP", bad_ep },
	{ "bind_bad_lmr_is_refused", bad_lmr },
	{ "bind_objects_of_another_ia_are_INVALID_HANDLE", foreign },
	{ "bind_triplet_NULL_is_ARG2", no_triplet },
	{ "bind_range_outside_the_lmr_is_ARG2", outside },
	{ "bind_flag_that_is_not_allowed_is_ARG4", flags },
#if DAT_TEST_API == 12
	{ "bind_undefined_right_is_ARG3", undefined_right },
#else
	{ "bind_undefined_right_is_ARG4_in_2_0", undefined_right },
#endif
	{ "unbind_flag_that_is_not_allowed_is_ARG2", unbind_flags },
	{ "bind_right_that_the_lmr_lacks_is_PRIVILEGES_VIOLATION", privileges },
	{ "bind_across_zones_is_PROTECTION_VIOLATION", zones },
	{ "bind_on_an_unconnected_ep_is_INVALID_STATE", unconnected },
#if DAT_TEST_API == 20
	{ "bind_unknown_va_type_is_ARG5_in_2_0", va_type },
#endif
};

TEST_ROWS(rmr, rows, run)

TEST_LIMIT(rmr, bind_beyond_the_queue_is_INSUFFICIENT_RESOURCES, 60)
{
	DAT_RMR_CONTEXT key, bound;
	DAT_RMR_PARAM param;
	struct buf big;
	DAT_RETURN ret;
	struct rig r;
	int i;

	rig_open(&r);
	bound = window(&r.p.b, r.rmr, &r.buf, 0, 100, READS | WRITES);
	/* Completions of binds wait behind sends without receives. */
	block_sends(&r.p.b, &big);
	for (i = 0; i < 10000; i++) {
		ret = post_bind(&r.p.b, r.rmr, &r.buf, 0, 100, READS | WRITES, 1, &key);
		if (ret)
			break;
		bound = key;
	}
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	ASSERT_EQ(DAT_GET_TYPE(post_unbind(&r.p.b, r.rmr, &r.buf, 1)), DAT_INSUFFICIENT_RESOURCES);
	OK(dat_rmr_query(r.rmr, DAT_RMR_FIELD_ALL, &param));
	ASSERT_EQ(param.rmr_context, bound);
	OK(dat_ep_free(r.p.b.ep));
	r.p.b.ep = NULL;
	buf_free(&big);
	rig_close(&r);
}

#if DAT_TEST_API == 20

TEST(rmr, create_for_ep_bad_arguments_in_2_0)
{
	DAT_RMR_HANDLE rmr = NULL;
	struct node n;

	node_open(&n);
	BAD_HANDLE(dat_rmr_create_for_ep(NULL, &rmr), PZ);
	BAD_HANDLE(dat_rmr_create_for_ep(n.async, &rmr), PZ);
	BAD_ARG(dat_rmr_create_for_ep(n.pz, NULL), 2);
	ASSERT_PTR(rmr, NULL);
	node_close(&n);
}

#endif
