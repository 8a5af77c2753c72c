/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that take a key away, and reads into memory named by one: 2.0 has both. */
#include "window_rig.h"

#if DAT_TEST_API == 20

static DAT_RETURN send_inv(struct side *s, size_t len, uint64_t cookie, int flags,
			   DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT key)
{
	DAT_LMR_TRIPLET t = seg(&s->buf, 0, len);

	return dat_ep_post_send_with_invalidate(s->ep, 1, &t, ck(cookie),
						(DAT_COMPLETION_FLAGS)flags, invalidate, key);
}

/* The receive that brought an invalidation; returns its cookie. */
static uint64_t ev_some_invalidated(struct side *s, size_t len, DAT_RMR_CONTEXT key)
{
	DAT_EVENT ev;

	EV_NEXT(s->recv, &ev);
	ASSERT_EQ(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	ASSERT_PTR(dto_of(&ev)->ep_handle, s->ep);
	ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_SUCCESS);
	ASSERT_EQ(dto_of(&ev)->transfered_length, len);
	ASSERT_EQ(dto_of(&ev)->operation, DAT_DTO_RECEIVE_WITH_INVALIDATE);
	ASSERT_EQ(dto_of(&ev)->rmr_context, key);
	return dto_of(&ev)->user_cookie.as_64;
}

static void ev_invalidated(struct side *s, uint64_t cookie, size_t len, DAT_RMR_CONTEXT key)
{
	ASSERT_EQ(ev_some_invalidated(s, len, key), cookie);
}

TEST(rmr_invalidate, key_is_dead_when_the_message_has_arrived_in_2_0)
{
	DAT_RMR_CONTEXT key;
	DAT_RMR_PARAM param;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	fill(r.p.a.buf.mem, 300, 9);
	OK(post_recv(&r.p.b, 0, 500, 1));
	OK(send_inv(&r.p.a, 300, 2, 0, DAT_TRUE, key));
	ev_invalidated(&r.p.b, 1, 300, key);
	CHECK_FILL(r.p.b.buf.mem, 300, 9);
	EV_DTO(r.p.a.req, r.p.a.ep, 2, OP_SEND, 300);
	BAD_ARG(dat_rmr_query(r.rmr, DAT_RMR_FIELD_LMR_TRIPLET, &param), 2);
	refused(&r.p, OP_READ, (uintptr_t)at(&r, FROM), 10, key);
	/* The RMR itself remains usable; the next message on the same buffer is an ordinary one. */
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	OK(post_recv(&r.p.b, 0, 500, 3));
	OK(post_send(&r.p.a, 0, 300, 4));
	EV_DTO(r.p.b.recv, r.p.b.ep, 3, OP_RECV, 300);
	rig_close(&r);
}

TEST(rmr_invalidate, many_messages_and_bindings_in_2_0)
{
	DAT_RMR_CONTEXT key;
	struct rig r;
	uint64_t i;

	rig_open(&r);
	for (i = 0; i < 100; i++) {
		key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
		OK(post_recv(&r.p.b, 0, 500, i));
		OK(post_recv(&r.p.b, 0, 500, 1000 + i));
		OK(send_inv(&r.p.a, i, 2, DAT_COMPLETION_SUPPRESS_FLAG, DAT_TRUE, key));
		OK(post_send(&r.p.a, 0, 10, 3));
		ev_invalidated(&r.p.b, i, i, key);
		EV_DTO(r.p.b.recv, r.p.b.ep, 1000 + i, OP_RECV, 10);
		EV_DTO(r.p.a.req, r.p.a.ep, 3, OP_SEND, 10);
	}
	rig_close(&r);
}

/* The flag of the message does not change what it invalidates, nor the reverse. */
TEST(rmr_invalidate, solicited_and_plain_messages_in_turn_in_2_0)
{
	static const int solicited = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	DAT_RMR_CONTEXT key;
	struct rig r;
	uint64_t i;

	rig_open(&r);
	for (i = 0; i < 12; i++) {
		int flags = i % 2 ? solicited : 0;

		OK(post_recv(&r.p.b, 0, 500, i));
		if (i % 3) {
			OK(send_inv(&r.p.a, 10 + i, i, flags, DAT_FALSE, 0));
			EV_DTO(r.p.b.recv, r.p.b.ep, i, OP_RECV, 10 + i);
		} else {
			key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
			OK(send_inv(&r.p.a, 10 + i, i, flags, DAT_TRUE, key));
			ev_invalidated(&r.p.b, i, 10 + i, key);
		}
		EV_DTO(r.p.a.req, r.p.a.ep, i, OP_SEND, 10 + i);
	}
	rig_close(&r);
}

TEST(rmr_invalidate, FALSE_makes_it_a_plain_send_in_2_0)
{
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	OK(post_recv(&r.p.b, 0, 500, 1));
	OK(post_recv(&r.p.b, 0, 500, 2));
	OK(send_inv(&r.p.a, 100, 3, 0, DAT_FALSE, key));
	OK(send_inv(&r.p.a, 100, 4, 0, DAT_FALSE, 0));
	EV_DTO(r.p.b.recv, r.p.b.ep, 1, OP_RECV, 100);
	EV_DTO(r.p.b.recv, r.p.b.ep, 2, OP_RECV, 100);
	EV_DTO(r.p.a.req, r.p.a.ep, 3, OP_SEND, 100);
	EV_DTO(r.p.a.req, r.p.a.ep, 4, OP_SEND, 100);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	rig_close(&r);
}

/* Memory of another protection zone. */
struct foreign {
	DAT_PZ_HANDLE pz;
	struct buf buf;
	char mem[64];
};

static void foreign_make(struct node *n, struct foreign *f)
{
	OK(dat_pz_create(n->ia, &f->pz));
	buf_register(&f->buf, n, f->pz, f->mem, sizeof(f->mem), PRIV_ALL);
}

static void foreign_free(struct foreign *f)
{
	buf_unregister(&f->buf);
	OK(dat_pz_free(f->pz));
}

TEST(rmr_invalidate, bad_arguments_in_2_0)
{
	DAT_LMR_TRIPLET t;
	struct foreign f;
	struct side c;
	struct rig r;

	rig_open(&r);
	t = seg(&r.p.a.buf, 0, 10);
	BAD_HANDLE(dat_ep_post_send_with_invalidate(NULL, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG,
						    DAT_TRUE, 5),
		   EP);
	BAD_ARG(send_inv(&r.p.a, 10, 1, 0, DAT_TRUE, 0), 7);
	BAD_ARG(send_inv(&r.p.a, 10, 1, 0x4000, DAT_TRUE, 5), 5);
	BAD_ARG(dat_ep_post_send_with_invalidate(r.p.a.ep, -1, &t, ck(1),
						 DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, 5),
		2);
	side_make(&c, &r.p.node, NULL);
	BAD_STATE(send_inv(&c, 10, 1, 0, DAT_TRUE, 5), EP_UNCONNECTED);
	BAD_HANDLE(dat_ep_post_send_with_invalidate(c.recv, 1, &t, ck(1),
						    DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, 5),
		   EP);
	side_free(&c);
	BAD_ARG(dat_ep_post_send_with_invalidate(r.p.a.ep, 1, NULL, ck(1),
						 DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, 5),
		3);
	t = seg(&r.p.a.buf, SIDE_BUF - 9, 10);
	BAD_ARG(dat_ep_post_send_with_invalidate(r.p.a.ep, 1, &t, ck(1),
						 DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, 5),
		3);
	t.lmr_context = 0;
	ASSERT_RET(dat_ep_post_send_with_invalidate(r.p.a.ep, 1, &t, ck(1),
						    DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, 5),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	foreign_make(&r.p.node, &f);
	t = seg(&f.buf, 0, 10);
	ASSERT_RET(dat_ep_post_send_with_invalidate(r.p.a.ep, 1, &t, ck(1),
						    DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, 5),
		   DAT_PROTECTION_VIOLATION, DAT_PROTECTION_READ);
	foreign_free(&f);
	EV_EMPTY(r.p.a.req);
	ASSERT_EQ(side_state(&r.p.a), DAT_EP_STATE_CONNECTED);
	rig_close(&r);
}

static void fails_at_the_peer(struct rig *r, DAT_RMR_CONTEXT key)
{
	DAT_EVENT ev;

	OK(post_recv(&r->p.b, 0, 500, 1));
	OK(post_recv(&r->p.b, 0, 500, 2));
	OK(send_inv(&r->p.a, 10, 3, 0, DAT_TRUE, key));
	EV_NEXT(r->p.b.recv, &ev);
	ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_ERR_LOCAL_PROTECTION);
	ASSERT_EQ(dto_of(&ev)->user_cookie.as_64, 1);
	EV_FLUSH(r->p.b.recv, r->p.b.ep, 2, OP_RECV);
	EV_CONN(r->p.b.conn, BROKEN, r->p.b.ep);
	EV_NEXT(r->p.a.conn, &ev);
	OK(dat_ep_reset(r->p.a.ep));
	OK(dat_ep_reset(r->p.b.ep));
	while (dat_evd_dequeue(r->p.a.req, &ev) == DAT_SUCCESS)
		;
	pair_connect(&r->p);
}

TEST(rmr_invalidate, unknown_key_fails_the_receive_and_breaks_the_connection_in_2_0)
{
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	fails_at_the_peer(&r, key ^ 0x7700000);
	fails_at_the_peer(&r, UINT32_MAX);
	/* A region that no peer may use has no key to take away. */
	fails_at_the_peer(&r, r.buf.ctx);
	usable(&r.p.a, at(&r, FROM), LEN, key);
	rig_close(&r);
}

TEST(rmr_invalidate, key_of_another_zone_stays_in_2_0)
{
	DAT_PZ_HANDLE pz;
	struct buf other;
	DAT_LMR_PARAM param;
	char mem[256];
	struct rig r;

	rig_open(&r);
	OK(dat_pz_create(r.p.node.ia, &pz));
	buf_register(&other, &r.p.node, pz, mem, sizeof(mem), PRIV_ALL);
	fails_at_the_peer(&r, other.rmr);
	OK(dat_lmr_query(other.lmr, DAT_LMR_FIELD_ALL, &param));
	ASSERT_EQ(param.rmr_context, other.rmr);
	buf_unregister(&other);
	OK(dat_pz_free(pz));
	rig_close(&r);
}

TEST(rmr_invalidate, key_of_a_window_that_serves_another_endpoint_stays_in_2_0)
{
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	OK(dat_rmr_free(r.rmr));
	OK(dat_rmr_create_for_ep(r.p.node.pz, &r.rmr));
	/* Bound for a's peer, which is b; a's message to b may not take it away. */
	key = window(&r.p.a, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
	usable(&r.p.b, at(&r, FROM), LEN, key);
	OK(post_recv(&r.p.b, 0, 500, 1));
	OK(send_inv(&r.p.a, 10, 3, 0, DAT_TRUE, key));
	EV_DTO(r.p.a.req, r.p.a.ep, 3, OP_SEND, 10);
	{
		DAT_EVENT ev;

		EV_NEXT(r.p.b.recv, &ev);
		ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_ERR_LOCAL_PROTECTION);
	}
	EV_CONN(r.p.b.conn, BROKEN, r.p.b.ep);
	rig_close(&r);
}

TEST(rmr_invalidate, key_of_a_region_loses_its_remote_rights_in_2_0)
{
	DAT_LMR_PARAM param;
	struct buf open;
	struct rig r;

	rig_open(&r);
	buf_make(&open, &r.p.node, 4096, PRIV_ALL);
	usable(&r.p.a, open.mem, 100, open.rmr);
	OK(post_recv(&r.p.b, 0, 500, 1));
	OK(send_inv(&r.p.a, 10, 2, 0, DAT_TRUE, open.rmr));
	ev_invalidated(&r.p.b, 1, 10, open.rmr);
	EV_DTO(r.p.a.req, r.p.a.ep, 2, OP_SEND, 10);
	OK(dat_lmr_query(open.lmr, DAT_LMR_FIELD_ALL, &param));
	ASSERT_EQ(param.mem_priv, PRIV_LOCAL);
	ASSERT_EQ(param.rmr_context, 0);
	refused(&r.p, OP_WRITE, (uintptr_t)open.mem, 10, open.rmr);
	buf_free(&open);
	rig_close(&r);
}

/* b has an SRQ. */
static DAT_SRQ_HANDLE rig_open_srq(struct rig *r)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 16,
			      .max_recv_iov = 2,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_SRQ_HANDLE srq;

	pair_open(&r->p);
	OK(dat_srq_create(r->p.node.ia, r->p.node.pz, &attr, &srq));
	OK(dat_ep_free(r->p.b.ep));
	OK(dat_ep_create_with_srq(r->p.node.ia, r->p.node.pz, r->p.b.recv, r->p.b.req, r->p.b.conn,
				  srq, NULL, &r->p.b.ep));
	rig_fill(r);
	return srq;
}

static void rig_close_srq(struct rig *r, DAT_SRQ_HANDLE srq)
{
	OK(dat_ep_free(r->p.b.ep));
	r->p.b.ep = NULL;
	OK(dat_srq_free(srq));
	rig_close(r);
}

/* Which buffer a message takes is not defined. */
TEST(rmr_invalidate, through_a_shared_receive_queue_in_2_0)
{
	DAT_RMR_CONTEXT key;
	DAT_LMR_TRIPLET t;
	DAT_SRQ_HANDLE srq;
	struct rig r;
	uint64_t i, first;

	srq = rig_open_srq(&r);
	t = seg(&r.p.b.buf, 0, 500);
	for (i = 0; i < 40; i++) {
		key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS | WRITES);
		usable(&r.p.a, at(&r, FROM), LEN, key);
		OK(dat_srq_post_recv(srq, 1, &t, ck(i)));
		OK(dat_srq_post_recv(srq, 1, &t, ck(100 + i)));
		OK(send_inv(&r.p.a, 10, 2, 0, DAT_TRUE, key));
		first = ev_some_invalidated(&r.p.b, 10, key);
		ASSERT(first == i || first == 100 + i);
		EV_DTO(r.p.a.req, r.p.a.ep, 2, OP_SEND, 10);
		OK(post_send(&r.p.a, 0, 20, 3));
		EV_DTO(r.p.b.recv, r.p.b.ep, 100 + 2 * i - first, OP_RECV, 20);
		EV_DTO(r.p.a.req, r.p.a.ep, 3, OP_SEND, 20);
	}
	rig_close_srq(&r, srq);
}

/* ---- dat_ep_post_rdma_read_to_rmr ---- */

static DAT_RETURN read_to_rmr(struct rig *r, uint64_t addr, size_t len, DAT_RMR_CONTEXT key,
			      size_t remote_len, int flags)
{
	DAT_RMR_TRIPLET sink = rem_raw(addr, len, key), from = rem(&r->p.a.buf, 0, remote_len);

	return dat_ep_post_rdma_read_to_rmr(r->p.b.ep, &sink, ck(6), &from,
					    (DAT_COMPLETION_FLAGS)flags);
}

TEST(rmr_invalidate, read_to_rmr_fills_the_window_in_2_0)
{
	DAT_RMR_CONTEXT key;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, WRITES);
	fill(r.p.a.buf.mem, LEN, 4);
	OK(read_to_rmr(&r, (uintptr_t)at(&r, FROM), LEN, key, LEN, 0));
	EV_DTO(r.p.b.req, r.p.b.ep, 6, OP_READ, LEN);
	CHECK_FILL(at(&r, FROM), LEN, 4);
	fill(r.p.a.buf.mem, LEN, 5);
	OK(read_to_rmr(&r, (uintptr_t)r.p.b.buf.mem, LEN, r.p.b.buf.rmr, LEN, 0));
	EV_DTO(r.p.b.req, r.p.b.ep, 6, OP_READ, LEN);
	CHECK_FILL(r.p.b.buf.mem, LEN, 5);
	rig_close(&r);
}

TEST(rmr_invalidate, read_to_rmr_bad_arguments_in_2_0)
{
	DAT_RMR_TRIPLET t;
	DAT_RMR_CONTEXT key;
	struct foreign f;
	struct side c;
	struct rig r;

	rig_open(&r);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, WRITES);
	t = rem_raw((uintptr_t)at(&r, FROM), 10, key);
	BAD_HANDLE(dat_ep_post_rdma_read_to_rmr(NULL, &t, ck(1), &t, DAT_COMPLETION_DEFAULT_FLAG),
		   EP);
	BAD_HANDLE(dat_ep_post_rdma_read_to_rmr(r.p.b.recv, NULL, ck(1), NULL,
						DAT_COMPLETION_DEFAULT_FLAG),
		   EP);
	side_make(&c, &r.p.node, NULL);
	BAD_STATE(dat_ep_post_rdma_read_to_rmr(c.ep, &t, ck(1), &t, DAT_COMPLETION_DEFAULT_FLAG),
		  EP_UNCONNECTED);
	side_free(&c);
	BAD_ARG(dat_ep_post_rdma_read_to_rmr(r.p.b.ep, NULL, ck(1), &t,
					     DAT_COMPLETION_DEFAULT_FLAG),
		2);
	BAD_ARG(dat_ep_post_rdma_read_to_rmr(r.p.b.ep, &t, ck(1), NULL,
					     DAT_COMPLETION_DEFAULT_FLAG),
		4);
	BAD_ARG(read_to_rmr(&r, (uintptr_t)at(&r, FROM), 10, key, 10, 0x4000), 5);
	ASSERT_RET(read_to_rmr(&r, (uintptr_t)at(&r, FROM), 9, key, 10, 0), DAT_LENGTH_ERROR, 0);
	BAD_ARG(read_to_rmr(&r, (uintptr_t)at(&r, FROM) + 1, LEN, key, LEN, 0), 2);
	ASSERT_RET(read_to_rmr(&r, (uintptr_t)at(&r, FROM), 10, key ^ 0x770000, 10, 0),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	/* Of a region that no peer may use. */
	ASSERT_RET(read_to_rmr(&r, (uintptr_t)at(&r, FROM), 10, r.buf.ctx, 10, 0),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	key = window(&r.p.b, r.rmr, &r.buf, FROM, LEN, READS);
	ASSERT_RET(read_to_rmr(&r, (uintptr_t)at(&r, FROM), 10, key, 10, 0),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	foreign_make(&r.p.node, &f);
	ASSERT_RET(read_to_rmr(&r, (uintptr_t)f.mem, 10, f.buf.rmr, 10, 0),
		   DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
	foreign_free(&f);
	EV_EMPTY(r.p.b.req);
	rig_close(&r);
}

#endif
