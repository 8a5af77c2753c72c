/* SPDX-License-Identifier: BSD-2-Clause */
/* Event queues that are resized, and full ones. */
#include "rig.h"

static DAT_COUNT qlen(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM param;

	OK(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param));
	return param.evd_qlen;
}

TEST(evd_size, resize_larger_and_smaller_keeps_the_events_in_order)
{
	DAT_EVD_HANDLE evd;
	struct node n;
	uintptr_t i;

	node_open(&n);
	evd = evd_make(&n, 4, DAT_EVD_SOFTWARE_FLAG);
	/* Not starting at the first slot, so that the ring wraps. */
	OK(post_se(evd, 100));
	EV_SE(evd, 100);
	for (i = 0; i < 4; i++)
		OK(post_se(evd, i));
	OK(dat_evd_resize(evd, 100));
	ASSERT(qlen(evd) >= 100);
	for (; i < 100; i++)
		OK(post_se(evd, i));
	for (i = 0; i < 90; i++)
		EV_SE(evd, i);
	OK(dat_evd_resize(evd, 10));
	ASSERT(qlen(evd) >= 10);
	for (; i < 100; i++)
		EV_SE(evd, i);
	EV_EMPTY(evd);
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(evd_size, resize_to_the_same_size_is_nothing)
{
	DAT_EVD_HANDLE evd;
	struct node n;
	DAT_COUNT len;

	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_SOFTWARE_FLAG);
	len = qlen(evd);
	OK(post_se(evd, 1));
	OK(dat_evd_resize(evd, len));
	ASSERT_EQ(qlen(evd), len);
	EV_SE(evd, 1);
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(evd_size, resize_below_the_queued_events_is_INVALID_STATE)
{
	DAT_EVD_HANDLE evd;
	struct node n;
	uintptr_t i;

	node_open(&n);
	evd = evd_make(&n, 64, DAT_EVD_SOFTWARE_FLAG);
	for (i = 0; i < 40; i++)
		OK(post_se(evd, i));
	ASSERT_EQ(DAT_GET_TYPE(dat_evd_resize(evd, 2)), DAT_INVALID_STATE);
	for (i = 0; i < 40; i++)
		EV_SE(evd, i);
	OK(dat_evd_resize(evd, 2));
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(evd_size, resize_not_positive_or_above_the_maximum_is_ARG2)
{
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_SOFTWARE_FLAG);
	BAD_ARG(dat_evd_resize(evd, 0), 2);
	BAD_ARG(dat_evd_resize(evd, -1), 2);
	if (n.attr.max_evd_qlen < 0x7fffffff)
		BAD_ARG(dat_evd_resize(evd, n.attr.max_evd_qlen + 1), 2);
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(evd_size, resize_of_the_async_evd)
{
	struct node n;

	node_open(&n);
	OK(dat_evd_resize(n.async, 100));
	ASSERT(qlen(n.async) >= 100);
	node_close(&n);
}

TEST(evd_size, resize_of_a_dto_evd_in_use)
{
	struct pair p;
	int i;

	pair_up(&p);
	for (i = 0; i < 4; i++)
		OK(post_recv(&p.b, 0, 10, (uint64_t)i));
	for (i = 0; i < 2; i++)
		OK(post_send(&p.a, 0, 10, 50));
	OK(dat_evd_resize(p.b.recv, 500));
	for (i = 0; i < 2; i++)
		OK(post_send(&p.a, 0, 10, 50));
	for (i = 0; i < 4; i++)
		EV_DTO(p.b.recv, p.b.ep, (uint64_t)i, OP_RECV, 10);
	pair_close(&p);
}

static void one_event(void *arg)
{
	EV_SE(arg, 5);
}

TEST(evd_size, resize_under_a_waiter_loses_nothing)
{
	struct dt_thread t;
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_SOFTWARE_FLAG);
	dt_thread_start(&t, one_event, evd);
	dt_thread_wait_blocked(&t);
	/* Refusing it is allowed too. */
	ret = dat_evd_resize(evd, 100);
	if (ret != DAT_SUCCESS)
		ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_STATE);
	OK(post_se(evd, 5));
	dt_thread_join(&t);
	OK(dat_evd_free(evd));
	node_close(&n);
}

/* ---- overflow ---- */

/* Connects without a listener: one event each. */
static void lose_events(struct pair *p, DAT_COUNT n)
{
	while (n-- > 0) {
		OK(connect_to(p->a.ep, p->node.attr.ia_address_ptr, p->qual));
		DT_UNTIL(side_state(&p->a) == DAT_EP_STATE_DISCONNECTED, US_EVENT);
		OK(dat_ep_reset(p->a.ep));
	}
}

TEST(evd_size, overflow_by_connection_events_is_an_async_event)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *d;
	DAT_EVENT ev;
	struct pair p;
	DAT_COUNT i, len;

	set_no_connect_retry();
	pair_open(&p);
	len = qlen(p.a.conn);
	/* Each connect leaves one unread event; the qualifier has no listener. */
	OK(dat_psp_free(p.psp));
	p.psp = NULL;
	lose_events(&p, len + 1);
	EV_NEXT(p.node.async, &ev);
	ASSERT_EQ(ev.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	d = &ev.event_data.asynch_error_event_data;
	ASSERT_PTR(d->dat_handle, p.a.conn);
	ASSERT_EQ(d->reason, DAT_EVD_OVERFLOW_ERROR);
	/* What was queued before is still there. */
	for (i = 0; i < len; i++)
		EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	pair_close(&p);
}

static void overflow_of(struct pair *p)
{
	DAT_EVENT ev;

	EV_NEXT(p->node.async, &ev);
	ASSERT_EQ(ev.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	ASSERT_PTR(ev.event_data.asynch_error_event_data.dat_handle, p->a.conn);
}

/* A pair without a listener. The connection EVD of the first EP is full, and has lost an event.
 * Returns its length. */
static DAT_COUNT open_overflown(struct pair *p)
{
	DAT_COUNT len;

	set_no_connect_retry();
	pair_open(p);
	OK(dat_psp_free(p->psp));
	p->psp = NULL;
	len = qlen(p->a.conn);
	lose_events(p, len + 1);
	overflow_of(p);
	return len;
}

TEST(evd_size, overflow_can_happen_again_after_events_were_read)
{
	struct pair p;
	DAT_COUNT i, len = open_overflown(&p);

	for (i = 0; i < len; i++)
		EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	EV_EMPTY(p.a.conn);
	lose_events(&p, len + 1);
	overflow_of(&p);
	/* Larger, it takes more. */
	OK(dat_evd_resize(p.a.conn, len + 4));
	lose_events(&p, 3);
	for (i = 0; i < len + 3; i++)
		EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	EV_NONE(p.node.async);
	pair_close(&p);
}

TEST(evd_size, overflow_can_happen_again_after_the_evd_was_enlarged)
{
	struct pair p;
	DAT_COUNT i, len = open_overflown(&p);

	OK(dat_evd_resize(p.a.conn, 2 * len));
	lose_events(&p, qlen(p.a.conn) - len + 1);
	overflow_of(&p);
	for (i = qlen(p.a.conn); i > 0; i--)
		EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	EV_EMPTY(p.a.conn);
	pair_close(&p);
}

TEST(evd_size, overflow_of_the_async_evd_kills_it)
{
	DAT_EVD_PARAM param;
	DAT_COUNT i, len, more;
	DAT_EVENT ev;
	struct pair p;

	set_no_connect_retry();
	pair_open(&p);
	OK(dat_psp_free(p.psp));
	p.psp = NULL;
	OK(dat_evd_resize(p.node.async, 1));
	OK(dat_evd_query(p.node.async, DAT_EVD_FIELD_ALL, &param));
	len = qlen(p.a.conn);
	/* An overflow of the connection EVD for each place of the asynchronous one, and one. */
	lose_events(&p, len);
	for (i = 0; i < param.evd_qlen + 1; i++) {
		lose_events(&p, 1);
		EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
		lose_events(&p, 1);
	}
	ASSERT_EQ(DAT_GET_TYPE(dat_evd_wait(p.node.async, 0, 1, &ev, &more)), DAT_INVALID_STATE);
	ASSERT_EQ(DAT_GET_TYPE(dat_evd_dequeue(p.node.async, &ev)), DAT_INVALID_STATE);
	pair_close(&p);
}

/* The backlog of a service point is the free space of its EVD. */
TEST(evd_size, cr_that_finds_no_room_is_NON_PEER_REJECTED)
{
	DAT_EVD_HANDLE small, conn;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE *ep;
	DAT_EVENT ev;
	struct pair p;
	DAT_COUNT i, len;

	pair_open(&p);
	small = evd_make(&p.node, 1, DAT_EVD_CR_FLAG);
	len = qlen(small);
	conn = evd_make(&p.node, len + 1, DAT_EVD_CONNECTION_FLAG);
	OK(dat_psp_create_any(p.node.ia, &qual, small, DAT_PSP_CONSUMER_FLAG, &psp));
	ep = calloc((size_t)len + 1, sizeof(*ep));
	ASSERT(ep != NULL);
	for (i = 0; i <= len; i++) {
		OK(dat_ep_create(p.node.ia, p.node.pz, p.a.recv, p.a.req, conn, NULL, &ep[i]));
		OK(connect_to(ep[i], p.node.attr.ia_address_ptr, qual));
	}
	EV_NEXT(conn, &ev);
	ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	for (i = 0; i < len; i++)
		OK(api_cr_reject(EV_CR(small, psp, qual)));
	EV_EMPTY(small);
	for (i = 0; i < len; i++) {
		EV_NEXT(conn, &ev);
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_PEER_REJECTED);
	}
	for (i = 0; i <= len; i++)
		OK(dat_ep_free(ep[i]));
	free(ep);
	OK(dat_psp_free(psp));
	OK(dat_evd_free(small));
	OK(dat_evd_free(conn));
	pair_close(&p);
}

static bool all_are_queued(DAT_EP_HANDLE ep)
{
	DAT_COUNT buffers, span;

	OK(dat_ep_recv_query(ep, &buffers, &span));
	return buffers == 0;
}

/* DTO completions are never lost, however small the requested queue is. */
TEST(evd_size, dto_completions_beyond_the_length_are_kept)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_PARAM param;
	DAT_LMR_TRIPLET t;
	struct pair p;
	int i;

	pair_open(&p);
	evd = evd_make(&p.node, 1, DAT_EVD_DTO_FLAG);
	memset(&param, 0, sizeof(param));
	param.recv_evd_handle = evd;
	OK(dat_ep_modify(p.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	pair_connect(&p);
	t = seg(&p.b.buf, 0, 8);
	for (i = 0; i < 16; i++)
		OK(dat_ep_post_recv(p.b.ep, 1, &t, ck((uint64_t)i), DAT_COMPLETION_DEFAULT_FLAG));
	for (i = 0; i < 16; i++)
		OK(post_send(&p.a, 0, 8, 99));
	for (i = 0; i < 16; i++)
		EV_DTO(p.a.req, p.a.ep, 99, OP_SEND, 8);
	DT_UNTIL(all_are_queued(p.b.ep), US_EVENT);
	/* The size that it has is no change, although more are queued. */
	OK(dat_evd_resize(evd, qlen(evd)));
	ASSERT_EQ(DAT_GET_TYPE(dat_evd_resize(evd, qlen(evd) + 1)), DAT_INVALID_STATE);
	for (i = 0; i < 16; i++)
		EV_DTO(evd, p.b.ep, (uint64_t)i, OP_RECV, 8);
	EV_NONE(p.node.async);
	OK(dat_ep_free(p.b.ep));
	p.b.ep = NULL;
	OK(dat_evd_free(evd));
	pair_close(&p);
}
