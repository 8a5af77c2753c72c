/* SPDX-License-Identifier: BSD-2-Clause */
/* Binds among data transfers: events, order, flags, flushes, and keys that messages take away. */
#include "window_rig.h"

static DAT_RETURN bind_flags(struct rig *r, uint64_t cookie, int flags, DAT_RMR_CONTEXT *key)
{
	DAT_LMR_TRIPLET t = seg(&r->buf, FROM, LEN);

	return api_bind(r->rmr, r->buf.lmr, &t, READS | WRITES, r->p.b.ep, cookie, flags, key);
}

/* ---- events ---- */

TEST(rmr_dto, cookie_of_a_bind_comes_back_bit_for_bit)
{
	static const uint64_t cookies[] = { 0, 1, UINT64_MAX, 0x8000000000000000u,
					    0x0123456789abcdefu };
	DAT_RMR_CONTEXT key;
	struct rig r;
	int i;

	rig_open(&r);
	for (i = 0; i < 5; i++) {
		OK(bind_flags(&r, cookies[i], 0, &key));
		EV_BIND(r.p.b.req, r.rmr, cookies[i]);
	}
	EV_NONE(r.p.b.req);
	EV_EMPTY(r.p.b.recv);
	rig_close(&r);
}

TEST(rmr_dto, bind_without_a_pointer_for_the_key)
{
	struct rig r;

	rig_open(&r);
	OK(bind_flags(&r, 1, 0, NULL));
	EV_BIND(r.p.b.req, r.rmr, 1);
	rig_close(&r);
}

TEST(rmr_dto, binds_complete_among_requests_in_the_order_of_posting)
{
	DAT_RMR_CONTEXT key;
	DAT_EVENT ev;
	struct rig r;
	int round, i;

	rig_open(&r);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < 2; i++)
			OK(post_recv(&r.p.a, 0, 30000, 1));
		OK(post_send(&r.p.b, 0, 30000, 10));
		OK(bind_flags(&r, 11, 0, &key));
		OK(post_read(&r.p.b, 0, 30000, 12, &r.p.a, 30000));
		OK(post_unbind(&r.p.b, r.rmr, &r.buf, 13));
		OK(post_write(&r.p.b, 0, 30000, 14, &r.p.a, 30000));
		OK(bind_flags(&r, 15, 0, &key));
		OK(post_send(&r.p.b, 0, 100, 16));
		EV_DTO(r.p.b.req, r.p.b.ep, 10, OP_SEND, 30000);
		EV_BIND(r.p.b.req, r.rmr, 11);
		EV_DTO(r.p.b.req, r.p.b.ep, 12, OP_READ, 30000);
		EV_BIND(r.p.b.req, r.rmr, 13);
		EV_DTO(r.p.b.req, r.p.b.ep, 14, OP_WRITE, 30000);
		EV_BIND(r.p.b.req, r.rmr, 15);
		EV_DTO(r.p.b.req, r.p.b.ep, 16, OP_SEND, 100);
		for (i = 0; i < 2; i++)
			EV_NEXT(r.p.a.recv, &ev);
	}
	rig_close(&r);
}

TEST(rmr_dto, binds_and_receives_share_an_evd)
{
	DAT_RMR_CONTEXT key;
	DAT_EP_PARAM param;
	DAT_EVENT ev;
	struct rig r;
	uint64_t binds = 0, recvs = 0, i;

	pair_open(&r.p);
	memset(&param, 0, sizeof(param));
	param.recv_evd_handle = r.p.b.req;
	OK(dat_ep_modify(r.p.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	rig_fill(&r);
	for (i = 0; i < 8; i++) {
		OK(post_recv(&r.p.b, 0, 10, i));
		OK(bind_flags(&r, i, 0, &key));
		OK(post_send(&r.p.a, 0, 10, 9));
	}
	for (i = 0; i < 16; i++) {
		EV_NEXT(r.p.b.req, &ev);
		if (ev.event_number == DAT_RMR_BIND_COMPLETION_EVENT)
			check_bind(__FILE__, __LINE__, &ev, r.rmr, binds++, DAT_RMR_BIND_SUCCESS);
		else
			CHECK_DTO(&ev, r.p.b.req, r.p.b.ep, recvs++, OP_RECV, 10);
	}
	OK(dat_ep_free(r.p.b.ep));
	r.p.b.ep = NULL;
	rig_close(&r);
}

/* ---- a key is usable as soon as the peer can know it ---- */

TEST(rmr_dto, key_sent_behind_its_bind_is_usable_at_once)
{
	DAT_RMR_CONTEXT key, got;
	struct rig r;
	int i;

	rig_open(&r);
	for (i = 0; i < 50; i++) {
		OK(post_recv(&r.p.a, 50000, sizeof(key), 1));
		OK(bind_flags(&r, 2, DAT_COMPLETION_SUPPRESS_FLAG, &key));
		memcpy(r.p.b.buf.mem, &key, sizeof(key));
		OK(post_send(&r.p.b, 0, sizeof(key), 3));
		EV_DTO(r.p.a.recv, r.p.a.ep, 1, OP_RECV, sizeof(key));
		memcpy(&got, r.p.a.buf.mem + 50000, sizeof(got));
		usable(&r.p.a, at(&r, FROM), LEN, got);
		EV_DTO(r.p.b.req, r.p.b.ep, 3, OP_SEND, sizeof(key));
	}
	rig_close(&r);
}

/* ---- flags ---- */

TEST(rmr_dto, suppressed_bind_shows_no_event)
{
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	OK(bind_flags(&r, 1, DAT_COMPLETION_SUPPRESS_FLAG, &key));
	EV_NONE(r.p.b.req);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	OK(bind_flags(&r, 2, 0, &key));
	EV_BIND(r.p.b.req, r.rmr, 2);
	rig_close(&r);
}

TEST(rmr_dto, unsignalled_bind_releases_no_waiter)
{
	DAT_RMR_CONTEXT key;
	DAT_EP_ATTR attr;
	DAT_EVENT ev;
	struct node n;
	struct rig r;

	node_open(&n);
	attr = default_attr(&n);
	node_close(&n);
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	pair_open_attr(&r.p, &attr, &attr);
	rig_fill(&r);
	OK(bind_flags(&r, 1, DAT_COMPLETION_UNSIGNALLED_FLAG, &key));
	DT_UNTIL(dat_evd_dequeue(r.p.b.req, &ev) == DAT_SUCCESS, US_EVENT);
	check_bind(__FILE__, __LINE__, &ev, r.rmr, 1, DAT_RMR_BIND_SUCCESS);
	rig_close(&r);
}

/* a receives what block_sends of b sent. */
static void unblock(struct rig *r, struct buf *sink)
{
	DAT_LMR_TRIPLET t = seg(sink, 0, BLOCK_LEN);
	uint64_t i;

	for (i = 0; i < BLOCK_COUNT; i++) {
		OK(dat_ep_post_recv(r->p.a.ep, 1, &t, ck(i), DAT_COMPLETION_DEFAULT_FLAG));
		EV_DTO(r->p.a.recv, r->p.a.ep, i, OP_RECV, BLOCK_LEN);
		EV_DTO(r->p.b.req, r->p.b.ep, 9000 + i, OP_SEND, BLOCK_LEN);
	}
}

/* The window must not open, nor the old one close, before the read is over. */
TEST(rmr_dto, fenced_bind_waits_for_the_reads_before_it)
{
	DAT_RMR_CONTEXT old, key;
	struct buf big, sink;
	DAT_RMR_PARAM param;
	struct rig r;

	rig_open(&r);
	buf_make(&sink, &r.p.node, BLOCK_LEN, PRIV_ALL);
	old = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	/* The read cannot end while the sends before it wait. */
	block_sends(&r.p.b, &big);
	OK(post_read(&r.p.b, 0, 5000, 1, &r.p.a, 5000));
	OK(bind_flags(&r, 2, DAT_COMPLETION_BARRIER_FENCE_FLAG, &key));
	ASSERT(key != old);
	OK(dat_rmr_query(r.rmr, DAT_RMR_FIELD_ALL, &param));
	ASSERT_EQ(param.rmr_context, old);
	unblock(&r, &sink);
	EV_DTO(r.p.b.req, r.p.b.ep, 1, OP_READ, 5000);
	EV_BIND(r.p.b.req, r.rmr, 2);
	OK(dat_rmr_query(r.rmr, DAT_RMR_FIELD_ALL, &param));
	ASSERT_EQ(param.rmr_context, key);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	refused(&r.p, OP_READ, (uintptr_t)at(&r, FROM), LEN, old);
	buf_free(&big);
	buf_free(&sink);
	rig_close(&r);
}

/* ---- flushes ---- */

TEST(rmr_dto, bind_on_a_disconnected_ep_is_flushed_and_changes_nothing)
{
	DAT_RMR_CONTEXT key, never;
	DAT_RMR_PARAM param;
	struct buf other;
	struct rig r;

	rig_open(&r);
	buf_make(&other, &r.p.node, 4096, PRIV_LOCAL);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	pair_disconnect(&r.p);
	OK(post_bind(&r.p.b, r.rmr, &other, 0, 100, READS, 0xabcdef0123456789u, &never));
	EV_BIND_FLUSHED(r.p.b.req, r.rmr, 0xabcdef0123456789u);
	OK(post_unbind(&r.p.b, r.rmr, &r.buf, 4));
	EV_BIND_FLUSHED(r.p.b.req, r.rmr, 4);
	EV_NONE(r.p.b.req);
	OK(dat_rmr_query(r.rmr, DAT_RMR_FIELD_ALL, &param));
	ASSERT_EQ(param.rmr_context, key);
	/* The window that was never opened holds nothing. */
	buf_free(&other);
	OK(dat_ep_reset(r.p.a.ep));
	OK(dat_ep_reset(r.p.b.ep));
	pair_connect(&r.p);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	refused(&r.p, OP_READ, (uintptr_t)at(&r, FROM), 100, never);
	rig_close(&r);
}

TEST(rmr_dto, suppressed_bind_that_is_flushed_is_reported)
{
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	pair_disconnect(&r.p);
	OK(bind_flags(&r, 6, DAT_COMPLETION_SUPPRESS_FLAG, &key));
	EV_BIND_FLUSHED(r.p.b.req, r.rmr, 6);
	rig_close(&r);
}

TEST(rmr_dto, rmr_is_freed_while_its_bind_waits)
{
	DAT_RMR_CONTEXT key;
	DAT_EVENT ev;
	struct buf big;
	struct rig r;
	int i;

	rig_open(&r);
	block_sends(&r.p.b, &big);
	OK(bind_flags(&r, 6, 0, &key));
	OK(dat_rmr_free(r.rmr));
	pair_disconnect(&r.p);
	for (i = 0; i < BLOCK_COUNT; i++)
		EV_NEXT(r.p.b.req, &ev);
	EV_NEXT(r.p.b.req, &ev);
	ASSERT_EQ(ev.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	EV_NONE(r.p.b.req);
	buf_free(&r.buf);
	OK(dat_ep_free(r.p.b.ep));
	r.p.b.ep = NULL;
	buf_free(&big);
	pair_close(&r.p);
}
