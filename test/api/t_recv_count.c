/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_recv_query and dat_ep_set_watermark: how many receive buffers an endpoint has and may
 * have. */
#include "srq_rig.h"

static void post_slots(struct hub *h, int first, int count)
{
	int i;

	for (i = first; i < first + count; i++)
		OK(hub_post(h, i, 100, 100 + (uint64_t)i));
}

static void take(struct hub *h, int i, int messages)
{
	DAT_SRQ_PARAM p;

	OK(dat_srq_query(h->srq, DAT_SRQ_FIELD_ALL, &p));
	for (int k = 0; k < messages; k++)
		hub_send(h, i, 10, 1);
	srq_until_available(h->srq, p.available_dto_count - messages);
}

/* ---- dat_ep_recv_query ---- */

TEST(recv_count, query_checks_its_handle_and_takes_NULL)
{
	DAT_COUNT n = -7, span = -7;
	struct pair p;

	pair_open(&p);
	BAD_HANDLE(dat_ep_recv_query(NULL, &n, &span), EP);
	BAD_HANDLE(dat_ep_recv_query(p.a.recv, &n, &span), EP);
	OK(dat_ep_recv_query(p.a.ep, NULL, NULL));
	OK(dat_ep_recv_query(p.a.ep, &n, NULL));
	OK(dat_ep_recv_query(p.a.ep, NULL, &span));
	ASSERT_EQ(n, 0);
	ASSERT_EQ(span, 0);
	pair_close(&p);
}

static DAT_COUNT buffers(DAT_EP_HANDLE ep)
{
	DAT_COUNT n = -7;

	OK(dat_ep_recv_query(ep, &n, NULL));
	return n;
}

TEST(recv_count, a_plain_endpoint_counts_from_the_post_to_the_completion)
{
	struct pair p;

	pair_open(&p);
	OK(post_recv(&p.b, 0, 100, 1));
	RECV_COUNT(p.b.ep, 1);
	OK(post_recv(&p.b, 100, 100, 2));
	RECV_COUNT(p.b.ep, 2);
	pair_connect(&p);
	OK(post_recv(&p.b, 200, 100, 3));
	RECV_COUNT(p.b.ep, 3);
	OK(post_send(&p.a, 0, 50, 4));
	/* Its event waits in the EVD. */
	DT_UNTIL(buffers(p.b.ep) == 2, US_EVENT);
	RECV_COUNT(p.b.ep, 2);
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 50);
	RECV_COUNT(p.b.ep, 2);
	RECV_COUNT(p.a.ep, 0);
	pair_disconnect(&p);
	RECV_COUNT(p.b.ep, 0);
	EV_FLUSH(p.b.recv, p.b.ep, 2, OP_RECV);
	EV_FLUSH(p.b.recv, p.b.ep, 3, OP_RECV);
	RECV_COUNT(p.b.ep, 0);
	pair_close(&p);
}

TEST(recv_count, a_new_endpoint_has_no_buffers_of_a_former_one)
{
	struct pair p;
	DAT_EP_HANDLE more[64];
	int i;

	pair_up(&p);
	OK(post_recv(&p.b, 0, 100, 1));
	OK(post_recv(&p.b, 0, 100, 2));
	pair_disconnect(&p);
	OK(dat_ep_free(p.b.ep));
	p.b.ep = NULL;
	for (i = 0; i < 64; i++) {
		OK(dat_ep_create(p.node.ia, p.node.pz, p.b.recv, p.b.req, p.b.conn, NULL,
				 &more[i]));
		RECV_COUNT(more[i], 0);
	}
	for (i = 0; i < 64; i++)
		OK(dat_ep_free(more[i]));
	pair_close(&p);
}

TEST(recv_count, an_endpoint_with_an_SRQ_has_no_buffer_whose_completion_waits)
{
	struct hub h;

	hub_open(&h, 2, 16, HUB_ONE_EVD);
	post_slots(&h, 0, 8);
	RECV_COUNT(h.on[0].ep, 0);
	take(&h, 0, 2);
	RECV_COUNT(h.on[0].ep, 0);
	take(&h, 1, 1);
	RECV_COUNT(h.on[1].ep, 0);
	SRQ_COUNTS(h.srq, 5, 8);
	EV_DTO(h.on[0].recv, h.on[0].ep, 100, OP_RECV, 10);
	EV_DTO(h.on[0].recv, h.on[0].ep, 101, OP_RECV, 10);
	RECV_COUNT(h.on[0].ep, 0);
	SRQ_COUNTS(h.srq, 5, 6);
	hub_disconnect(&h, 1);
	RECV_COUNT(h.on[1].ep, 0);
	EV_DTO(h.on[0].recv, h.on[1].ep, 102, OP_RECV, 10);
	RECV_COUNT(h.on[1].ep, 0);
	hub_close(&h);
}

/* ---- under load ---- */

struct watcher {
	DAT_EP_HANDLE ep;
	DAT_COUNT most;
	_Atomic bool stop;
	_Atomic uint64_t looks;
};

static void watch(void *arg)
{
	struct watcher *w = arg;

	while (!w->stop) {
		DAT_COUNT n = -7, span = -7;

		OK(dat_ep_recv_query(w->ep, &n, &span));
		if (n < 0 || span < n || n > w->most)
			FAIL("%d buffers, span %d, at most %d", n, span, w->most);
		w->looks++;
	}
}

TEST_LIMIT(recv_count, a_plain_endpoint_under_load, 60)
{
	struct watcher w;
	struct dt_thread t;
	struct pair p;
	int i;

	memset(&w, 0, sizeof(w));
	pair_up(&p);
	w.ep = p.b.ep;
	w.most = 8;
	for (i = 0; i < 7; i++)
		OK(post_recv(&p.b, 0, 100, 1));
	dt_thread_start(&t, watch, &w);
	for (i = 0; i < 3000 || w.looks < 1000; i++) {
		OK(post_recv(&p.b, 0, 100, 1));
		OK(post_send(&p.a, 0, 64, 1));
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 64);
		EV_DTO(p.a.req, p.a.ep, 1, OP_SEND, 64);
	}
	w.stop = true;
	dt_thread_join(&t);
	ASSERT(w.looks > 0);
	RECV_COUNT(p.b.ep, 7);
	pair_close(&p);
}

TEST_LIMIT(recv_count, an_endpoint_with_an_SRQ_under_load, 60)
{
	struct watcher w;
	struct dt_thread t;
	struct hub h;
	int i, k;

	memset(&w, 0, sizeof(w));
	hub_open(&h, 2, 32, HUB_ONE_EVD);
	w.ep = h.on[0].ep;
	w.most = 4;
	dt_thread_start(&t, watch, &w);
	for (i = 0; i < 1000 || w.looks < 1000; i++) {
		post_slots(&h, 0, 4);
		for (k = 0; k < 4; k++)
			OK(post_send(&h.peer[k & 1], 0, 64, 1));
		for (k = 0; k < 4; k++) {
			DAT_EVENT ev;

			EV_NEXT(h.on[0].recv, &ev);
			ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_SUCCESS);
			EV_DTO(h.peer[k & 1].req, h.peer[k & 1].ep, 1, OP_SEND, 64);
		}
	}
	w.stop = true;
	dt_thread_join(&t);
	ASSERT(w.looks > 0);
	RECV_COUNT(h.on[0].ep, 0);
	SRQ_COUNTS(h.srq, 0, 0);
	hub_close(&h);
}

/* ---- dat_ep_set_watermark ---- */

TEST(recv_count, watermarks_check_their_arguments)
{
	DAT_SRQ_PARAM p;
	struct hub h;

	hub_open(&h, 1, 10, 0);
	OK(dat_srq_query(h.srq, DAT_SRQ_FIELD_ALL, &p));
	BAD_HANDLE(dat_ep_set_watermark(NULL, 1, 1), EP);
	BAD_ARG(dat_ep_set_watermark(h.on[0].ep, -2, 1), 2);
	BAD_ARG(dat_ep_set_watermark(h.on[0].ep, p.max_recv_dtos + 1, 1), 2);
	BAD_ARG(dat_ep_set_watermark(h.on[0].ep, 1, -2), 3);
	BAD_ARG(dat_ep_set_watermark(h.on[0].ep, 1, p.max_recv_dtos + 1), 3);
	OK(dat_ep_set_watermark(h.on[0].ep, p.max_recv_dtos, p.max_recv_dtos));
	OK(dat_ep_set_watermark(h.on[0].ep, DAT_HW_DEFAULT, DAT_HW_DEFAULT));
	EV_NONE(h.node.async);
	hub_close(&h);
}

TEST(recv_count, the_soft_watermark_fires_once_until_set_again)
{
	struct hub h;

	hub_open(&h, 1, 32, 0);
	post_slots(&h, 0, 20);
	OK(dat_ep_set_watermark(h.on[0].ep, 2, DAT_HW_DEFAULT));
	take(&h, 0, 2);
	EV_NONE(h.node.async);
	take(&h, 0, 1);
	EV_ASYNC(&h.node, h.on[0].ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	take(&h, 0, 3);
	EV_NONE(h.node.async);
	OK(dat_ep_set_watermark(h.on[0].ep, 7, DAT_HW_DEFAULT));
	take(&h, 0, 1);
	EV_NONE(h.node.async);
	take(&h, 0, 1);
	EV_ASYNC(&h.node, h.on[0].ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	ASSERT_EQ(side_state(&h.on[0]), DAT_EP_STATE_CONNECTED);
	hub_close(&h);
}

TEST(recv_count, a_soft_watermark_passed_already_fires_at_once)
{
	struct hub h;

	hub_open(&h, 1, 16, 0);
	post_slots(&h, 0, 8);
	take(&h, 0, 3);
	OK(dat_ep_set_watermark(h.on[0].ep, 3, DAT_HW_DEFAULT));
	EV_NONE(h.node.async);
	OK(dat_ep_set_watermark(h.on[0].ep, 2, DAT_HW_DEFAULT));
	EV_ASYNC(&h.node, h.on[0].ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	EV_NONE(h.node.async);
	hub_close(&h);
}

TEST(recv_count, the_hard_watermark_breaks_the_connection)
{
	struct hub h;

	hub_open(&h, 2, 16, 0);
	post_slots(&h, 0, 8);
	OK(dat_ep_set_watermark(h.on[0].ep, DAT_HW_DEFAULT, 2));
	take(&h, 0, 2);
	EV_NONE(h.on[0].conn);
	OK(post_send(&h.peer[0], 0, 10, 1));
	EV_CONN(h.on[0].conn, BROKEN, h.on[0].ep);
	EV_ASYNC(&h.node, h.on[0].ep, DAT_EP_TRANSFER_TO_ERROR);
	EV_DTO(h.on[0].recv, h.on[0].ep, 100, OP_RECV, 10);
	EV_DTO(h.on[0].recv, h.on[0].ep, 101, OP_RECV, 10);
	take(&h, 1, 3);
	ASSERT_EQ(side_state(&h.on[1]), DAT_EP_STATE_CONNECTED);
	hub_close(&h);
}

TEST(recv_count, a_hard_watermark_passed_already_breaks_at_once)
{
	struct hub h;

	hub_open(&h, 1, 16, 0);
	post_slots(&h, 0, 8);
	take(&h, 0, 3);
	OK(dat_ep_set_watermark(h.on[0].ep, DAT_HW_DEFAULT, 3));
	EV_NONE(h.on[0].conn);
	OK(dat_ep_set_watermark(h.on[0].ep, DAT_HW_DEFAULT, 2));
	EV_CONN(h.on[0].conn, BROKEN, h.on[0].ep);
	hub_close(&h);
}

TEST(recv_count, a_hard_watermark_set_without_connection_waits_for_one)
{
	struct hub h;

	hub_open(&h, 1, 16, 0);
	post_slots(&h, 0, 8);
	take(&h, 0, 2);
	hub_disconnect(&h, 0);
	OK(dat_ep_reset(h.on[0].ep));
	OK(dat_ep_reset(h.peer[0].ep));
	EV_DTO(h.on[0].recv, h.on[0].ep, 100, OP_RECV, 10);
	OK(dat_ep_set_watermark(h.on[0].ep, DAT_HW_DEFAULT, 0));
	EV_DTO(h.on[0].recv, h.on[0].ep, 101, OP_RECV, 10);
	hub_connect(&h, 0);
	EV_NONE(h.on[0].conn);
	OK(post_send(&h.peer[0], 0, 10, 1));
	EV_CONN(h.on[0].conn, BROKEN, h.on[0].ep);
	hub_close(&h);
}

TEST(recv_count, watermarks_are_attributes_at_creation)
{
	DAT_EP_ATTR attr;
	struct node n;
	struct hub h;

	node_open(&n);
	attr = srq_ep_attr(&n);
	node_close(&n);
	attr.srq_soft_hw = 1;
	attr.max_recv_dtos = 3;
	hub_open_attr(&h, 1, 16, 0, &attr);
	post_slots(&h, 0, 8);
	take(&h, 0, 1);
	EV_NONE(h.node.async);
	take(&h, 0, 1);
	EV_ASYNC(&h.node, h.on[0].ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	take(&h, 0, 1);
	EV_NONE(h.on[0].conn);
	OK(post_send(&h.peer[0], 0, 10, 1));
	EV_CONN(h.on[0].conn, BROKEN, h.on[0].ep);
	hub_close(&h);
}

/* ---- watermarks of endpoints without SRQ: receives completed but not dequeued ---- */

static void plain_open(struct pair *p, int receives)
{
	pair_up(p);
	for (int i = 0; i < receives; i++)
		OK(post_recv(&p->b, (size_t)i * 100, 100, 100 + (uint64_t)i));
}

static void plain_send(struct pair *p, int n)
{
	while (n--) {
		OK(post_send(&p->a, 0, 10, 1));
		EV_DTO(p->a.req, p->a.ep, 1, OP_SEND, 10);
	}
}

TEST(recv_count, watermarks_of_a_plain_endpoint_check_their_arguments)
{
	DAT_EP_PARAM param;
	struct pair p;

	pair_open(&p);
	OK(dat_ep_query(p.b.ep, DAT_EP_FIELD_ALL, &param));
	BAD_ARG(dat_ep_set_watermark(p.b.ep, -2, 1), 2);
	BAD_ARG(dat_ep_set_watermark(p.b.ep, param.ep_attr.max_recv_dtos + 1, 1), 2);
	BAD_ARG(dat_ep_set_watermark(p.b.ep, 1, -2), 3);
	BAD_ARG(dat_ep_set_watermark(p.b.ep, 1, param.ep_attr.max_recv_dtos + 1), 3);
	OK(dat_ep_set_watermark(p.b.ep, 1, param.ep_attr.max_recv_dtos));
	OK(dat_ep_set_watermark(p.b.ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE));
	/* The length of the queue is another thing. */
	OK(dat_ep_query(p.b.ep, DAT_EP_FIELD_ALL, &param));
	ASSERT(param.ep_attr.max_recv_dtos > 1);
	pair_close(&p);
}

TEST(recv_count, the_soft_watermark_of_a_plain_endpoint_fires_once_until_set_again)
{
	struct pair p;

	plain_open(&p, 8);
	OK(dat_ep_set_watermark(p.b.ep, 2, DAT_WATERMARK_INFINITE));
	plain_send(&p, 2);
	EV_NONE(p.node.async);
	plain_send(&p, 1);
	EV_ASYNC(&p.node, p.b.ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	plain_send(&p, 1);
	EV_NONE(p.node.async);
	EV_DTO(p.b.recv, p.b.ep, 100, OP_RECV, 10);
	EV_DTO(p.b.recv, p.b.ep, 101, OP_RECV, 10);
	/* Two are left. */
	OK(dat_ep_set_watermark(p.b.ep, 2, DAT_WATERMARK_INFINITE));
	EV_NONE(p.node.async);
	plain_send(&p, 1);
	EV_ASYNC(&p.node, p.b.ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_CONNECTED);
	pair_close(&p);
}

TEST(recv_count, a_soft_watermark_of_a_plain_endpoint_passed_already_fires_at_once)
{
	struct pair p;

	plain_open(&p, 8);
	plain_send(&p, 3);
	DT_UNTIL(buffers(p.b.ep) == 5, US_EVENT);
	OK(dat_ep_set_watermark(p.b.ep, 3, DAT_WATERMARK_INFINITE));
	EV_NONE(p.node.async);
	OK(dat_ep_set_watermark(p.b.ep, 2, DAT_WATERMARK_INFINITE));
	EV_ASYNC(&p.node, p.b.ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	EV_NONE(p.node.async);
	/* Taken away and set again: the same three are counted, once. */
	OK(dat_ep_set_watermark(p.b.ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE));
	OK(dat_ep_set_watermark(p.b.ep, 3, DAT_WATERMARK_INFINITE));
	EV_NONE(p.node.async);
	pair_close(&p);
}

TEST(recv_count, the_hard_watermark_of_a_plain_endpoint_breaks_the_connection)
{
	struct pair p;

	plain_open(&p, 8);
	OK(dat_ep_set_watermark(p.b.ep, DAT_WATERMARK_INFINITE, 2));
	plain_send(&p, 2);
	EV_NONE(p.b.conn);
	OK(post_send(&p.a, 0, 10, 1));
	EV_CONN(p.b.conn, BROKEN, p.b.ep);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_DISCONNECTED);
	EV_DTO(p.b.recv, p.b.ep, 100, OP_RECV, 10);
	EV_DTO(p.b.recv, p.b.ep, 101, OP_RECV, 10);
	pair_close(&p);
}

TEST(recv_count, receives_of_a_plain_endpoint_that_are_dequeued_count_no_more)
{
	struct pair p;
	int i;

	pair_up(&p);
	OK(dat_ep_set_watermark(p.b.ep, 1, 1));
	for (i = 0; i < 20; i++) {
		OK(post_recv(&p.b, 0, 100, 5));
		plain_send(&p, 1);
		EV_DTO(p.b.recv, p.b.ep, 5, OP_RECV, 10);
	}
	EV_NONE(p.node.async);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_CONNECTED);
	/* Dequeued at once, or later: it was taken. */
	for (i = 0; i < 10; i++) {
		OK(dat_ep_set_watermark(p.b.ep, 0, DAT_WATERMARK_INFINITE));
		OK(post_recv(&p.b, 0, 100, 6));
		poll_idle(p.b.recv);
		OK(post_send(&p.a, 0, 10, 1));
		EV_DTO(p.b.recv, p.b.ep, 6, OP_RECV, 10);
		EV_DTO(p.a.req, p.a.ep, 1, OP_SEND, 10);
		EV_ASYNC(&p.node, p.b.ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	}
	/* Flushed ones were taken by no message. */
	OK(dat_ep_set_watermark(p.b.ep, 0, DAT_WATERMARK_INFINITE));
	OK(post_recv(&p.b, 0, 100, 7));
	pair_disconnect(&p);
	EV_FLUSH(p.b.recv, p.b.ep, 7, OP_RECV);
	EV_NONE(p.node.async);
	pair_close(&p);
}

TEST(recv_count, watermarks_of_a_plain_endpoint_hold_from_before_its_connection_and_after_a_reset)
{
	DAT_EVENT ev;
	struct pair p;

	pair_open(&p);
	OK(dat_ep_set_watermark(p.b.ep, 0, 1));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++)
			OK(post_recv(&p.b, (size_t)i * 100, 100, 100 + (uint64_t)i));
		pair_connect(&p);
		EV_NONE(p.node.async);
		plain_send(&p, 1);
		/* The soft one is set by the call only. */
		if (round == 0)
			EV_ASYNC(&p.node, p.b.ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
		else
			EV_NONE(p.node.async);
		OK(post_send(&p.a, 0, 10, 1));
		EV_CONN(p.b.conn, BROKEN, p.b.ep);
		EV_NEXT(p.a.conn, &ev);
		EV_DTO(p.b.recv, p.b.ep, 100, OP_RECV, 10);
		EV_DTO(p.b.recv, p.b.ep, 101, OP_RECV, 10);
		EV_FLUSH(p.b.recv, p.b.ep, 102, OP_RECV);
		/* The second send has been completed, or flushed. */
		OK(dat_evd_wait(p.a.req, US_EVENT, 1, &ev, &(DAT_COUNT){ 0 }));
		OK(dat_ep_reset(p.b.ep));
		OK(dat_ep_reset(p.a.ep));
	}
	pair_close(&p);
}

TEST(recv_count, buffers_given_back_count_no_more)
{
	struct hub h;
	int i;

	hub_open(&h, 1, 16, 0);
	OK(dat_ep_set_watermark(h.on[0].ep, 1, 1));
	for (i = 0; i < 20; i++) {
		OK(hub_post(&h, 0, 100, 5));
		hub_send(&h, 0, 10, 1);
		EV_DTO(h.on[0].recv, h.on[0].ep, 5, OP_RECV, 10);
	}
	EV_NONE(h.node.async);
	ASSERT_EQ(side_state(&h.on[0]), DAT_EP_STATE_CONNECTED);
	hub_close(&h);
}
