/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints without an EVD for receives, for requests, or for either: DAT_HANDLE_NULL says that the
 * consumer is not interested in their completions, and everything works as with one. */
#include "rmr.h"
#include "srq_rig.h"

/* Sides whose endpoints lack these EVDs; they stay in the sides and must stay empty. */
enum { NO_RECV = 1, NO_REQ = 2 };

static void without(struct side *s, int evds, const DAT_EP_ATTR *attr)
{
	OK(dat_ep_free(s->ep));
	OK(dat_ep_create(s->node->ia, s->node->pz, evds & NO_RECV ? NULL : s->recv,
			 evds & NO_REQ ? NULL : s->req, s->conn, attr, &s->ep));
}

static void open_without(struct pair *p, int a, int b)
{
	pair_open(p);
	without(&p->a, a, NULL);
	without(&p->b, b, NULL);
}

static bool is_idle(struct side *s)
{
	DAT_BOOLEAN recv, request;

	OK(dat_ep_get_status(s->ep, NULL, &recv, &request));
	return recv && request;
}

/* A post that a full queue puts off. */
static bool taken(DAT_RETURN ret)
{
	if (ret)
		ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	return !ret;
}

#define MESSAGES 100

TEST(no_evd, receives_without_a_receive_EVD_take_messages)
{
	struct pair p;
	size_t i;

	open_without(&p, 0, NO_RECV);
	OK(post_recv(&p.b, 0, 64, 1));
	RECV_COUNT(p.b.ep, 1);
	pair_connect(&p);
	fill(p.a.buf.mem, MESSAGES * 64, 5);
	for (i = 0; i < MESSAGES; i++) {
		if (i)
			DT_UNTIL(taken(post_recv(&p.b, i * 64, 64, 1)), US_EVENT);
		OK(post_send(&p.a, i * 64, 64, 2));
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 64);
	}
	DT_UNTIL(is_filled(p.b.buf.mem, MESSAGES * 64, 5), US_EVENT);
	DT_UNTIL(is_idle(&p.b), US_EVENT);
	RECV_COUNT(p.b.ep, 0);
	/* The other direction of the endpoint has its EVD. */
	OK(post_recv(&p.a, 0, 64, 3));
	OK(post_send(&p.b, 0, 64, 4));
	EV_DTO(p.a.recv, p.a.ep, 3, OP_RECV, 64);
	EV_DTO(p.b.req, p.b.ep, 4, OP_SEND, 64);
	EV_EMPTY(p.b.recv);
	pair_disconnect(&p);
	pair_close(&p);
}

TEST(no_evd, requests_without_a_request_EVD_are_carried_out)
{
	DAT_RMR_CONTEXT key;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_TRIPLET r;
	DAT_LMR_TRIPLET t;
	struct pair p;
	size_t i;

	open_without(&p, NO_REQ, NO_REQ);
	pair_connect(&p);
	fill(p.a.buf.mem, MESSAGES * 64, 6);
	for (i = 0; i < MESSAGES; i++) {
		OK(post_recv(&p.b, i * 64, 64, i));
		DT_UNTIL(taken(post_send(&p.a, i * 64, 64, 1)), US_EVENT);
		EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, 64);
	}
	CHECK_FILL(p.b.buf.mem, MESSAGES * 64, 6);
	for (i = 0; i < MESSAGES; i++)
		DT_UNTIL(taken(post_write(&p.a, i * 64, 64, 1, &p.b, 20000 + i * 64)), US_EVENT);
	DT_UNTIL(is_filled(p.b.buf.mem + 20000, MESSAGES * 64, 6), US_EVENT);
	for (i = 0; i < MESSAGES; i++)
		DT_UNTIL(taken(post_read(&p.a, 40000 + i * 64, 64, 1, &p.b, 20000 + i * 64)),
			 US_EVENT);
	DT_UNTIL(is_filled(p.a.buf.mem + 40000, MESSAGES * 64, 6), US_EVENT);
	DT_UNTIL(is_idle(&p.a), US_EVENT);
	/* A window of b's, which a writes by. */
	OK(dat_rmr_create(p.node.pz, &rmr));
	OK(post_bind(&p.b, rmr, &p.b.buf, 50000, 64, WRITES, 1, &key));
	DT_UNTIL(is_idle(&p.b), US_EVENT);
	t = seg(&p.a.buf, 0, 64);
	r = rem_raw((uintptr_t)p.b.buf.mem + 50000, 64, key);
	OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck(2), &r, DAT_COMPLETION_DEFAULT_FLAG));
	DT_UNTIL(is_filled(p.b.buf.mem + 50000, 64, 6), US_EVENT);
	DT_UNTIL(is_idle(&p.a), US_EVENT);
	EV_EMPTY(p.a.req);
	EV_EMPTY(p.b.req);
	EV_EMPTY(p.a.conn);
	OK(dat_rmr_free(rmr));
	pair_close(&p);
}

TEST(no_evd, endpoints_without_any_EVD_for_transfers)
{
	struct pair p;
	size_t i;

	open_without(&p, NO_RECV | NO_REQ, NO_RECV | NO_REQ);
	pair_connect(&p);
	fill(p.a.buf.mem, MESSAGES * 64, 7);
	for (i = 0; i < MESSAGES; i++) {
		DT_UNTIL(taken(post_recv(&p.b, i * 64, 64, 1)), US_EVENT);
		DT_UNTIL(taken(post_send(&p.a, i * 64, 64, 1)), US_EVENT);
	}
	DT_UNTIL(is_filled(p.b.buf.mem, MESSAGES * 64, 7), US_EVENT);
	DT_UNTIL(is_idle(&p.a) && is_idle(&p.b), US_EVENT);
	/* Requests that are on their way end before a graceful disconnect does. */
	for (i = 0; i < 8; i++)
		OK(post_write(&p.a, 0, 4096, 1, &p.b, 10000 + i * 4096));
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
	for (i = 0; i < 8; i++)
		CHECK_WRITTEN(p.b.buf.mem + 10000 + i * 4096, 4096, 7);
	pair_close(&p);
}

TEST(no_evd, what_is_outstanding_at_the_end_makes_room_again)
{
	struct pair p;
	int round, i;

	open_without(&p, NO_RECV | NO_REQ, NO_RECV | NO_REQ);
	for (round = 0; round < 3; round++) {
		for (i = 0; taken(post_recv(&p.b, 64 * (size_t)i, 64, 1)); i++)
			;
		ASSERT_EQ(i, 16);
		pair_connect(&p);
		fill(p.a.buf.mem, 64, 8 + (unsigned int)round);
		OK(post_send(&p.a, 0, 64, 1));
		DT_UNTIL(is_filled(p.b.buf.mem, 64, 8 + (unsigned int)round), US_EVENT);
		pair_disconnect(&p);
		ASSERT(is_idle(&p.a) && is_idle(&p.b));
		/* Flushed at once, and no place is kept. */
		for (i = 0; i < 50; i++) {
			OK(post_recv(&p.b, 0, 64, 2));
			OK(post_send(&p.b, 0, 64, 2));
		}
		OK(dat_ep_reset(p.a.ep));
		OK(dat_ep_reset(p.b.ep));
	}
	EV_EMPTY(p.b.recv);
	EV_EMPTY(p.b.req);
	pair_close(&p);
}

TEST(no_evd, a_refused_write_breaks_the_connection)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET r;
	struct pair p;
	DAT_EVENT ev;

	open_without(&p, NO_REQ, NO_RECV | NO_REQ);
	OK(post_recv(&p.a, 0, 64, 1));
	pair_connect(&p);
	t = seg(&p.a.buf, 0, 64);
	r = rem_raw((uintptr_t)p.b.buf.mem + SIDE_BUF - 32, 64, p.b.buf.rmr);
	OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck(5), &r, DAT_COMPLETION_DEFAULT_FLAG));
	EV_NEXT(p.a.conn, &ev);
	if (!fabric_is("iwarp"))
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_BROKEN);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	EV_NEXT(p.b.conn, &ev);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_DISCONNECTED);
	EV_FLUSH(p.a.recv, p.a.ep, 1, OP_RECV);
	EV_EMPTY(p.a.req);
	pair_close(&p);
}

TEST(no_evd, a_message_too_long_breaks_the_connection)
{
	struct pair p;

	open_without(&p, NO_REQ, NO_RECV);
	OK(post_recv(&p.b, 0, 64, 1));
	pair_connect(&p);
	OK(post_send(&p.a, 0, 65, 2));
	EV_CONN(p.b.conn, BROKEN, p.b.ep);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_DISCONNECTED);
	DT_UNTIL(side_state(&p.a) == DAT_EP_STATE_DISCONNECTED, US_EVENT);
	EV_EMPTY(p.b.recv);
	EV_EMPTY(p.a.req);
	pair_close(&p);
}

TEST(no_evd, an_SRQ_gets_its_buffers_back)
{
	DAT_EP_ATTR attr;
	struct hub h;
	size_t i;

	hub_open(&h, 0, 4, 0);
	attr = srq_ep_attr(&h.node);
	side_make_srq(&h.on[0], &h.node, h.srq, NULL, &attr);
	OK(dat_ep_free(h.on[0].ep));
	OK(dat_ep_create_with_srq(h.node.ia, h.node.pz, NULL, h.on[0].req, h.on[0].conn, h.srq,
				  &attr, &h.on[0].ep));
	side_make(&h.peer[0], &h.node, NULL);
	h.n = 1;
	hub_connect(&h, 0);
	for (i = 0; i < 20; i++) {
		DT_UNTIL(taken(hub_post(&h, (int)i, 64, 1)), US_EVENT);
		hub_send(&h, 0, 64, 20 + (unsigned int)i);
	}
	for (i = 0; i < 20; i++)
		DT_UNTIL(is_filled(h.mem.mem + i * HUB_SLOT, 64, 20 + (unsigned int)i), US_EVENT);
	srq_until_available(h.srq, 0);
	SRQ_COUNTS(h.srq, 0, 0);
	EV_EMPTY(h.on[0].recv);
	hub_close(&h);
}

TEST(no_evd, attributes_may_ask_for_room_without_an_EVD)
{
	DAT_EP_PARAM param;
	DAT_EP_ATTR attr;
	struct pair p;
	int i;

	pair_open(&p);
	attr = default_attr(&p.node);
	attr.max_recv_dtos = 3;
	attr.max_request_dtos = 5;
	without(&p.b, NO_RECV | NO_REQ, &attr);
	OK(dat_ep_query(p.b.ep, DAT_EP_FIELD_ALL, &param));
	ASSERT_EQ(param.ep_attr.max_recv_dtos, 3);
	ASSERT_EQ(param.ep_attr.max_request_dtos, 5);
	ASSERT_PTR(param.recv_evd_handle, NULL);
	ASSERT_PTR(param.request_evd_handle, NULL);
	for (i = 0; taken(post_recv(&p.b, 0, 64, 1)); i++)
		;
	ASSERT_EQ(i, 3);
	pair_close(&p);
}

TEST(no_evd, a_queue_asked_for_without_room_takes_nothing)
{
	DAT_EP_ATTR attr;
	struct pair p;

	pair_open(&p);
	attr = default_attr(&p.node);
	attr.max_recv_dtos = attr.max_request_dtos = attr.max_request_iov = 0;
	without(&p.b, NO_RECV | NO_REQ, &attr);
	pair_connect(&p);
	ASSERT_RET(post_recv(&p.b, 0, 64, 1), DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
	ASSERT_RET(dat_ep_post_send(p.b.ep, 0, NULL, ck(1), DAT_COMPLETION_DEFAULT_FLAG),
		   DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
	pair_close(&p);
}

/* No EVD at all: a connection needs one for its events, and gets it later. */
TEST(no_evd, EVDs_are_set_and_taken_away_by_modify)
{
	DAT_EP_PARAM param;
	struct pair p;

	pair_open(&p);
	OK(dat_ep_free(p.b.ep));
	OK(dat_ep_create(p.node.ia, p.node.pz, NULL, NULL, NULL, NULL, &p.b.ep));
	OK(post_recv(&p.b, 0, 64, 1));
	BAD_HANDLE(connect_to(p.b.ep, p.node.attr.ia_address_ptr, p.qual), EVD_CONN);
	memset(&param, 0, sizeof(param));
	param.connect_evd_handle = p.b.conn;
	OK(dat_ep_modify(p.b.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	/* The receive that was posted without an EVD completes on the one that there is then. */
	param.recv_evd_handle = p.b.recv;
	OK(dat_ep_modify(p.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	/* The other endpoint loses its own. */
	param.recv_evd_handle = param.request_evd_handle = NULL;
	OK(dat_ep_modify(p.a.ep, DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE,
			 &param));
	OK(post_recv(&p.a, 0, 64, 1));
	pair_connect(&p);
	fill(p.b.buf.mem + 1000, 64, 9);
	OK(post_send(&p.a, 0, 10, 2));
	OK(post_send(&p.b, 1000, 64, 3));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 10);
	DT_UNTIL(is_filled(p.a.buf.mem, 64, 9), US_EVENT);
	EV_EMPTY(p.a.recv);
	EV_EMPTY(p.a.req);
	EV_EMPTY(p.b.req);
	pair_close(&p);
}
