/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what a window allows a peer, and when its key becomes valid and invalid. */
#include "window_rig.h"

/* ---- range and rights ---- */

TEST(rmr_use, inside_the_window_the_key_works)
{
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	usable(&r.p.a, at(&r, FROM), 1, key);
	usable(&r.p.a, at(&r, FROM + LEN - 1), 1, key);
	/* The region's own keys are others. */
	ASSERT_EQ(r.buf.rmr, 0);
	ASSERT(key != r.buf.ctx);
	rig_close(&r);
}

TEST(rmr_use, window_of_a_whole_region)
{
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, 0, 8192, READS | WRITES);
	usable(&r.p.a, at(&r, 0), 8192, key);
	rig_close(&r);
}

struct row {
	const char *rule;
	enum op op;
	int priv;
	int off, len; /* against the window */
};

static void run(const void *arg)
{
	const struct row *row = arg;
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	memset(r.buf.mem, 0x55, 8192);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, row->priv);
	memset(r.p.a.buf.mem, 0x66, 8192);
	refused(&r.p, row->op, (uintptr_t)at(&r, 0) + FROM + (uint64_t)(int64_t)row->off,
		(size_t)row->len, key);
	/* What lies in the window may have been written, if it may be. */
	for (int i = 0; i < 8192; i++)
		if (i < FROM || i >= FROM + LEN || !(row->priv & WRITES))
			ASSERT_EQ(r.buf.mem[i], 0x55);
	/* The refusal cost the connection, not the window. */
	if (row->priv & READS)
		allowed(&r.p.a, OP_READ, at(&r, FROM), (uintptr_t)at(&r, FROM), LEN, key);
	if (row->priv & WRITES)
		allowed(&r.p.a, OP_WRITE, at(&r, FROM), (uintptr_t)at(&r, FROM), LEN, key);
	rig_close(&r);
}

/* clang-format off */
#define BOTH(rule_, off_, len_) \
	{ "write_" rule_, OP_WRITE, READS | WRITES, off_, len_ }, \
	{ "read_" rule_, OP_READ, READS | WRITES, off_, len_ }
/* clang-format on */

static const struct row rows[] = {
	BOTH("one_byte_before_the_window_is_REMOTE_ACCESS", -1, 100),
	BOTH("one_byte_behind_the_window_is_REMOTE_ACCESS", LEN - 99, 100),
	BOTH("only_the_byte_before_the_window_is_REMOTE_ACCESS", -1, 1),
	BOTH("only_the_byte_behind_the_window_is_REMOTE_ACCESS", LEN, 1),
	{ "write_into_a_read_only_window_is_REMOTE_ACCESS", OP_WRITE, READS, 0, 100 },
	{ "read_of_a_write_only_window_is_REMOTE_ACCESS", OP_READ, WRITES, 0, 100 },
	{ "write_into_a_window_without_rights_is_REMOTE_ACCESS", OP_WRITE, 0, 0, 100 },
	{ "read_of_a_window_without_rights_is_REMOTE_ACCESS", OP_READ, 0, 0, 100 },
};

TEST_ROWS(rmr_use, rows, run)

TEST(rmr_use, local_rights_of_a_bind_mean_nothing)
{
	DAT_RMR_CONTEXT key;
	DAT_RMR_PARAM param;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | 0x11);
	allowed(&r.p.a, OP_READ, at(&r, FROM), (uintptr_t)at(&r, FROM), LEN, key);
	OK(dat_rmr_query(r.rmr, DAT_RMR_FIELD_MEM_PRIV, &param));
	ASSERT_EQ(param.mem_priv & (READS | WRITES), READS);
	refused(&r.p, OP_WRITE, (uintptr_t)at(&r, FROM), 10, key);
	rig_close(&r);
}

TEST(rmr_use, key_is_no_local_context)
{
	DAT_RMR_CONTEXT key;
	DAT_LMR_TRIPLET t;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	t = seg(&r.buf, FROM, 10);
	t.lmr_context = key;
	ASSERT_RET(dat_ep_post_send(r.p.b.ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	rig_close(&r);
}

TEST(rmr_use, several_windows_on_one_region)
{
	DAT_RMR_CONTEXT low, high;
	DAT_RMR_HANDLE second;
	struct rig r;

	rig_open(&r);
	OK(dat_rmr_create(r.p.node.pz, &second));
	low = window(&r.p.b, r.rmr, &r.buf, 0, 3000, READS | WRITES);
	high = window(&r.p.b, second, &r.buf, 2000, 3000, READS);
	ASSERT(low != high);
	usable(&r.p.a, at(&r, 0), 3000, low);
	allowed(&r.p.a, OP_READ, at(&r, 2000), (uintptr_t)at(&r, 2000), 3000, high);
	OK(dat_rmr_free(second));
	usable(&r.p.a, at(&r, 0), 3000, low);
	refused(&r.p, OP_READ, (uintptr_t)at(&r, 2000), 3000, high);
	usable(&r.p.a, at(&r, 0), 3000, low);
	rig_close(&r);
}

/* A window outlives the connection that it was bound on: its scope is the zone. */
TEST(rmr_use, key_works_for_every_peer_of_the_zone_and_after_a_disconnect)
{
	DAT_RMR_CONTEXT key;
	struct side c, d;
	struct rig r;

	rig_open(&r);
	side_make(&c, &r.p.node, NULL);
	side_make(&d, &r.p.node, NULL);
	OK(connect_to(c.ep, r.p.node.attr.ia_address_ptr, r.p.qual));
	OK(dat_cr_accept(EV_CR(r.p.cr_evd, r.p.psp, r.p.qual), d.ep, 0, NULL));
	EV_CONN(c.conn, ESTABLISHED, c.ep);
	EV_CONN(d.conn, ESTABLISHED, d.ep);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	usable(&c, at(&r, FROM), LEN, key);
	pair_disconnect(&r.p);
	usable(&c, at(&r, FROM), LEN, key);
	side_free(&c);
	side_free(&d);
	rig_close(&r);
}

/* a's access ends in an endpoint of another zone than the window's. */
TEST(rmr_use, key_through_another_zone_is_as_pz_support_says)
{
	DAT_PZ_HANDLE pz;
	DAT_EP_PARAM param;
	DAT_RMR_CONTEXT key;
	struct rig r;

	pair_open(&r.p);
	buf_make(&r.buf, &r.p.node, 8192, PRIV_LOCAL);
	OK(dat_rmr_create(r.p.node.pz, &r.rmr));
	OK(dat_pz_create(r.p.node.ia, &pz));
	memset(&param, 0, sizeof(param));
	param.pz_handle = pz;
	OK(dat_ep_modify(r.p.b.ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	pair_connect(&r.p);
	key = window(&r.p.a, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	if (r.p.node.prov.pz_support == DAT_PZ_UNIQUE) {
		refused(&r.p, OP_READ, (uintptr_t)at(&r, FROM), 10, key);
		refused(&r.p, OP_WRITE, (uintptr_t)at(&r, FROM), 10, key);
	} else {
		usable(&r.p.a, at(&r, FROM), LEN, key);
	}
	OK(dat_ep_free(r.p.b.ep));
	r.p.b.ep = NULL;
	EV_CONN(r.p.a.conn, DISCONNECTED, r.p.a.ep);
	OK(dat_pz_free(pz));
	rig_close(&r);
}

/* ---- rebinding and unbinding ---- */

TEST(rmr_use, rebind_gives_a_new_key_and_ends_the_old_one)
{
	DAT_RMR_CONTEXT old, key;
	struct rig r;

	rig_open(&r);
	old = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	usable(&r.p.a, at(&r, FROM), LEN, old);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	ASSERT(key != old);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	refused(&r.p, OP_READ, (uintptr_t)at(&r, FROM), LEN, old);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	rig_close(&r);
}

TEST(rmr_use, unbind_ends_the_key)
{
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	OK(post_unbind(&r.p.b, r.rmr, &r.buf, 8));
	EV_BIND(r.p.b.req, r.rmr, 8);
	refused(&r.p, OP_WRITE, (uintptr_t)at(&r, FROM), LEN, key);
	/* Unbinding an unbound window is not an error; binding again works. */
	OK(post_unbind(&r.p.b, r.rmr, &r.buf, 9));
	EV_BIND(r.p.b.req, r.rmr, 9);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	rig_close(&r);
}

TEST(rmr_use, thousand_binds_in_a_row)
{
	DAT_RMR_CONTEXT key = 0, last = 0;
	struct rig r;
	uint64_t i;

	rig_open(&r);
	for (i = 0; i < 1000; i++) {
		OK(post_bind(&r.p.b, r.rmr, &r.buf, i, 1000, READS | WRITES, i, &key));
		EV_BIND(r.p.b.req, r.rmr, i);
		ASSERT(key != last);
		last = key;
	}
	usable(&r.p.a, at(&r, 999), 1000, key);
	rig_close(&r);
}

/* ---- two threads ---- */

struct binder {
	struct rig *r;
	struct side *side;
	DAT_RMR_HANDLE rmr;
	size_t off;
	DAT_RMR_CONTEXT key;
};

static void bind_many(void *arg)
{
	struct binder *b = arg;
	uint64_t i;

	for (i = 0; i < 300; i++) {
		OK(post_bind(b->side, b->rmr, &b->r->buf, b->off, 100 + i, READS | WRITES, i,
			     &b->key));
		EV_BIND(b->side->req, b->rmr, i);
		if (i % 10 == 3) {
			OK(post_unbind(b->side, b->rmr, &b->r->buf, 7));
			EV_BIND(b->side->req, b->rmr, 7);
		}
	}
}

TEST_LIMIT(rmr_use, threads_bind_different_windows, 60)
{
	struct binder b[2];
	struct dt_thread t[2];
	struct rig r;
	int i;

	rig_open(&r);
	for (i = 0; i < 2; i++) {
		b[i] = (struct binder){ .r = &r,
					.side = i ? &r.p.a : &r.p.b,
					.off = (size_t)i * 4096 };
		OK(dat_rmr_create(r.p.node.pz, &b[i].rmr));
		dt_thread_start(&t[i], bind_many, &b[i]);
	}
	/* Meanwhile others come and go. */
	for (i = 0; i < 50; i++) {
		struct buf other;

		buf_make(&other, &r.p.node, 4096, PRIV_LOCAL);
		buf_free(&other);
	}
	for (i = 0; i < 2; i++)
		dt_thread_join(&t[i]);
	usable(&r.p.a, at(&r, 0), 399, b[0].key);
	usable(&r.p.b, at(&r, 4096), 399, b[1].key);
	for (i = 0; i < 2; i++)
		OK(dat_rmr_free(b[i].rmr));
	rig_close(&r);
}

static void free_many(void *arg)
{
	struct rig *r = arg;
	int i;

	for (i = 0; i < 8000; i++) {
		struct buf other;

		buf_register(&other, &r->p.node, r->p.node.pz, r->p.a.buf.mem, 64, PRIV_LOCAL);
		buf_unregister(&other);
	}
}

TEST_LIMIT(rmr_use, regions_are_freed_while_endpoints_and_connections_end, 60)
{
	DAT_RMR_HANDLE rmr[100];
	struct dt_thread t;
	DAT_EP_HANDLE ep;
	struct rig r;
	int i;

	rig_open(&r);
	for (i = 0; i < 100; i++)
		OK(dat_rmr_create(r.p.node.pz, &rmr[i]));
	dt_thread_start(&t, free_many, &r);
	for (i = 0; i < 2500; i++) {
		OK(dat_ep_create(r.p.node.ia, r.p.node.pz, r.p.a.recv, r.p.a.req, r.p.a.conn, NULL,
				 &ep));
		OK(dat_ep_free(ep));
	}
	for (i = 0; i < 5; i++) {
		(void)window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS);
		pair_disconnect(&r.p);
		OK(dat_ep_reset(r.p.a.ep));
		OK(dat_ep_reset(r.p.b.ep));
		pair_connect(&r.p);
	}
	dt_thread_join(&t);
	for (i = 0; i < 100; i++)
		OK(dat_rmr_free(rmr[i]));
	rig_close(&r);
}

/* ---- the end of everything ---- */

TEST(rmr_use, abrupt_close_with_bound_windows_and_queued_binds)
{
	DAT_RMR_HANDLE rmr[8];
	DAT_RMR_CONTEXT key;
	struct dt_fds fds;
	struct buf big;
	struct rig r;
	uint64_t i;

	dt_fds_get(&fds);
	rig_open(&r);
	(void)window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	block_sends(&r.p.b, &big);
	for (i = 0; i < 8; i++) {
		OK(dat_rmr_create(r.p.node.pz, &rmr[i]));
		OK(post_bind(&r.p.b, rmr[i], &r.buf, i * 10, 100, READS, i, &key));
	}
	OK(dat_rmr_free(rmr[0]));
	node_abort(&r.p.node);
	dt_fds_check(&fds, __FILE__, __LINE__);
}

#if DAT_TEST_API == 20

TEST(rmr_use, zero_based_window_is_addressed_by_offset_in_2_0)
{
	DAT_RMR_CONTEXT key = 0;
	DAT_RMR_PARAM param;
	DAT_LMR_TRIPLET t;
	DAT_RETURN ret;
	struct rig r;

	rig_open(&r);
	t = seg(&r.buf, FROM, LEN);
	ret = dat_rmr_bind(r.rmr, r.buf.lmr, &t, (DAT_MEM_PRIV_FLAGS)(READS | WRITES),
			   DAT_VA_TYPE_ZB, r.p.b.ep, rck(1), DAT_COMPLETION_DEFAULT_FLAG, &key);
	if (!r.p.node.attr.zb_supported) {
		ASSERT_EQ(ret, API_ERR(DAT_MODEL_NOT_SUPPORTED, 0));
		EV_EMPTY(r.p.b.req);
		rig_close(&r);
		return;
	}
	OK(ret);
	EV_BIND(r.p.b.req, r.rmr, 1);
	OK(dat_rmr_query(r.rmr, DAT_RMR_FIELD_ALL, &param));
	ASSERT_EQ(param.va_type, DAT_VA_TYPE_ZB);
	allowed(&r.p.a, OP_WRITE, at(&r, FROM), 0, LEN, key);
	allowed(&r.p.a, OP_READ, at(&r, FROM + 5), 5, LEN - 5, key);
	refused(&r.p, OP_WRITE, (uintptr_t)at(&r, FROM), 10, key);
	refused(&r.p, OP_READ, LEN - 9, 10, key);
	refused(&r.p, OP_READ, UINT64_MAX, 1, key);
	allowed(&r.p.a, OP_WRITE, at(&r, FROM), 0, LEN, key);
	rig_close(&r);
}

TEST(rmr_use, for_ep_key_ends_with_the_connection_in_2_0)
{
	DAT_RMR_CONTEXT key;
	DAT_RMR_PARAM param;
	struct rig r;

	rig_open(&r);
	OK(dat_rmr_free(r.rmr));
	OK(dat_rmr_create_for_ep(r.p.node.pz, &r.rmr));
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	OK(dat_rmr_query(r.rmr, DAT_RMR_FIELD_ALL, &param));
	ASSERT_EQ(param.rmr_scope, DAT_RMR_SCOPE_EP);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	pair_disconnect(&r.p);
	BAD_ARG(dat_rmr_query(r.rmr, DAT_RMR_FIELD_LMR_TRIPLET, &param), 2);
	OK(dat_ep_reset(r.p.a.ep));
	OK(dat_ep_reset(r.p.b.ep));
	pair_connect(&r.p);
	refused(&r.p, OP_READ, (uintptr_t)at(&r, FROM), 10, key);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	OK(dat_ep_free(r.p.b.ep));
	r.p.b.ep = NULL;
	EV_CONN(r.p.a.conn, DISCONNECTED, r.p.a.ep);
	/* Nothing is bound any more. */
	buf_free(&r.buf);
	rmr_close(&r.p, r.rmr, NULL);
}

/* a's access ends in b, and the window serves a's own peer. */
TEST(rmr_use, for_ep_key_through_another_endpoint_is_as_pz_support_says_in_2_0)
{
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	OK(dat_rmr_free(r.rmr));
	OK(dat_rmr_create_for_ep(r.p.node.pz, &r.rmr));
	key = window(&r.p.a, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	usable(&r.p.b, at(&r, FROM), LEN, key);
	if (r.p.node.prov.pz_support == DAT_PZ_UNIQUE)
		refused(&r.p, OP_WRITE, (uintptr_t)at(&r, FROM), 10, key);
	else
		usable(&r.p.a, at(&r, FROM), LEN, key);
	rig_close(&r);
}

TEST(rmr_use, for_ep_serves_one_endpoint_at_a_time_in_2_0)
{
	DAT_RMR_CONTEXT key, other;
	struct rig r;

	rig_open(&r);
	OK(dat_rmr_free(r.rmr));
	OK(dat_rmr_create_for_ep(r.p.node.pz, &r.rmr));
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	ASSERT_RET(post_bind(&r.p.a, r.rmr, &r.buf, 0, 10, READS, 1, &other),
		   DAT_PROTECTION_VIOLATION, 0);
	EV_EMPTY(r.p.a.req);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	OK(post_unbind(&r.p.b, r.rmr, &r.buf, 2));
	EV_BIND(r.p.b.req, r.rmr, 2);
	key = window(&r.p.a, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	usable(&r.p.b, at(&r, FROM), LEN, key);
	rig_close(&r);
}

#endif
