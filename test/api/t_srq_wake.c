/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests wakeups by receives: posts from another thread, and completion flags, with and without a
 * shared receive queue.
 */
#include "srq_rig.h"

/* ---- a waiter sleeps while the main thread posts ---- */

/* A message that finds no buffer has been sent nevertheless, or its sender waits for one, too. */
static void sent(struct side *s, size_t len, bool early)
{
	if (early != fabric_has("waits"))
		EV_DTO(s->req, s->ep, 1, OP_SEND, len);
}

/* `len` bytes arrive before there is a buffer, the waiter is asleep, then one is posted. */
static void early_on_srq(size_t len, int flags)
{
	struct srq_waiter w = { .threshold = 1 };
	struct dt_thread t;
	struct hub h;
	int round;

	hub_open(&h, 2, 8, flags);
	w.evd = h.on[1].recv;
	for (round = 0; round < 10; round++) {
		OK(post_send(&h.peer[1], 0, len, 1));
		sent(&h.peer[1], len, true);
		dt_thread_start(&t, srq_wait_once, &w);
		dt_thread_wait_blocked(&t);
		if (round % 2)
			dt_sleep_us(30000); /* the progress thread is in a long sleep */
		ASSERT(!w.back);
		OK(hub_post(&h, round, 1000, (uint64_t)round));
		dt_thread_join(&t);
		w.back = false;
		CHECK_DTO(&w.ev, w.evd, h.on[1].ep, (uint64_t)round, OP_RECV, len);
		sent(&h.peer[1], len, false);
	}
	SRQ_COUNTS(h.srq, 0, 0);
	hub_close(&h);
}

TEST(srq_wake, an_early_message_wakes_the_sleeper_when_a_buffer_is_posted)
{
	early_on_srq(700, 0);
}

TEST(srq_wake, an_early_empty_message_wakes_the_sleeper_when_a_buffer_is_posted)
{
	early_on_srq(0, 0);
}

TEST(srq_wake, an_early_empty_message_wakes_the_sleeper_on_a_shared_EVD)
{
	early_on_srq(0, HUB_ONE_EVD);
}

static void early_on_plain(size_t len)
{
	struct srq_waiter w = { .threshold = 1 };
	struct dt_thread t;
	struct pair p;
	int round;

	pair_up(&p);
	w.evd = p.b.recv;
	for (round = 0; round < 10; round++) {
		OK(post_send(&p.a, 0, len, 1));
		sent(&p.a, len, true);
		dt_thread_start(&t, srq_wait_once, &w);
		dt_thread_wait_blocked(&t);
		if (round % 2)
			dt_sleep_us(30000);
		ASSERT(!w.back);
		OK(post_recv(&p.b, 0, 1000, (uint64_t)round));
		dt_thread_join(&t);
		w.back = false;
		CHECK_DTO(&w.ev, w.evd, p.b.ep, (uint64_t)round, OP_RECV, len);
		sent(&p.a, len, false);
	}
	pair_close(&p);
}

TEST(srq_wake, without_SRQ_an_early_message_wakes_the_sleeper)
{
	early_on_plain(700);
}

TEST(srq_wake, without_SRQ_an_early_empty_message_wakes_the_sleeper)
{
	early_on_plain(0);
}

/* Two connections wait for buffers, two buffers are posted, no thread polls. */
TEST(srq_wake, two_waiting_connections_and_two_posts)
{
	struct srq_waiter w[2];
	struct dt_thread t[2];
	struct hub h;
	int i, round;

	memset(w, 0, sizeof(w));
	hub_open(&h, 2, 64, 0);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < 2; i++) {
			OK(dat_ep_post_send(h.peer[i].ep, 0, NULL, ck(1),
					    DAT_COMPLETION_DEFAULT_FLAG));
			sent(&h.peer[i], 0, true);
			w[i].evd = h.on[i].recv;
			w[i].threshold = 1;
			dt_thread_start(&t[i], srq_wait_once, &w[i]);
		}
		for (i = 0; i < 2; i++)
			dt_thread_wait_blocked(&t[i]);
		for (i = 0; i < 2; i++)
			OK(hub_post(&h, i, 100, 7));
		for (i = 0; i < 2; i++) {
			dt_thread_join(&t[i]);
			CHECK_DTO(&w[i].ev, w[i].evd, h.on[i].ep, 7, OP_RECV, 0);
			sent(&h.peer[i], 0, false);
		}
	}
	SRQ_COUNTS(h.srq, 0, 0);
	hub_close(&h);
}

/* The buffer that wakes one connection breaks another: the next post is for the one left. */
TEST(srq_wake, a_connection_that_breaks_does_not_keep_others_waiting)
{
	struct srq_waiter w = { .threshold = 1 };
	struct dt_thread t;
	struct hub h;

	hub_open(&h, 2, 8, 0);
	OK(post_send(&h.peer[0], 0, 2000, 1));
	if (!fabric_has("waits"))
		DT_UNTIL(ev_queued(h.peer[0].req) == 1, US_EVENT);
	OK(hub_post(&h, 0, 1000, 3));
	EV_DTO_STATUS(h.on[0].recv, h.on[0].ep, 3, OP_RECV, DAT_DTO_ERR_LOCAL_LENGTH);
	EV_CONN(h.on[0].conn, BROKEN, h.on[0].ep);
	OK(dat_ep_post_send(h.peer[1].ep, 0, NULL, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
	w.evd = h.on[1].recv;
	dt_thread_start(&t, srq_wait_once, &w);
	dt_thread_wait_blocked(&t);
	OK(hub_post(&h, 1, 1000, 4));
	dt_thread_join(&t);
	CHECK_DTO(&w.ev, w.evd, h.on[1].ep, 4, OP_RECV, 0);
	hub_close(&h);
}

/* ---- completion flags of the endpoint ---- */

static void hub_flags(struct hub *h, DAT_COMPLETION_FLAGS flags)
{
	DAT_EP_ATTR attr;
	struct node n;

	node_open(&n);
	attr = srq_ep_attr(&n);
	node_close(&n);
	attr.recv_completion_flags = flags;
	hub_open_attr(h, 1, 16, 0, &attr);
}

TEST(srq_wake, solicited_wait_is_the_senders_choice)
{
	struct srq_waiter w = { .threshold = 1 };
	struct dt_thread t;
	struct hub h;
	int i;

	hub_flags(&h, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	for (i = 0; i < 4; i++)
		OK(hub_post(&h, i, 100, (uint64_t)i));
	w.evd = h.on[0].recv;
	dt_thread_start(&t, srq_wait_once, &w);
	dt_thread_wait_blocked(&t);
	for (i = 0; i < 3; i++)
		hub_send(&h, 0, 10, 1);
	srq_until_available(h.srq, 1);
	dt_sleep_us(US_SHORT);
	ASSERT(!w.back);
	OK(post_send_flags(&h.peer[0], 0, 20, 2, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	dt_thread_join(&t);
	CHECK_DTO(&w.ev, w.evd, h.on[0].ep, 0, OP_RECV, 10);
	ASSERT_EQ(w.more, 3);
	for (i = 1; i < 4; i++)
		EV_DTO(h.on[0].recv, h.on[0].ep, (uint64_t)i, OP_RECV, i < 3 ? 10 : 20);
	hub_close(&h);
}

/* There are no flags on a post to an SRQ: its completions are always signalled. */
TEST(srq_wake, receives_are_signalled_on_an_unsignalled_endpoint)
{
	struct srq_waiter w = { .threshold = 1 };
	struct dt_thread t;
	struct hub h;

	hub_flags(&h, DAT_COMPLETION_UNSIGNALLED_FLAG);
	OK(hub_post(&h, 0, 100, 5));
	w.evd = h.on[0].recv;
	dt_thread_start(&t, srq_wait_once, &w);
	dt_thread_wait_blocked(&t);
	hub_send(&h, 0, 10, 1);
	dt_thread_join(&t);
	CHECK_DTO(&w.ev, w.evd, h.on[0].ep, 5, OP_RECV, 10);
	hub_close(&h);
}

TEST(srq_wake, a_threshold_waits_for_that_many_receives)
{
	struct srq_waiter w = { .threshold = 4 };
	struct dt_thread t;
	struct hub h;
	int i;

	hub_open(&h, 2, 16, HUB_ONE_EVD);
	for (i = 0; i < 8; i++)
		OK(hub_post(&h, i, 100, (uint64_t)i));
	w.evd = h.on[0].recv;
	dt_thread_start(&t, srq_wait_once, &w);
	dt_thread_wait_blocked(&t);
	for (i = 0; i < 3; i++)
		hub_send(&h, i % 2, 10, 1);
	srq_until_available(h.srq, 5);
	dt_sleep_us(US_SHORT);
	ASSERT(!w.back);
	hub_send(&h, 1, 10, 1);
	dt_thread_join(&t);
	ASSERT_EQ(w.more, 3);
	for (i = 0; i < 3; i++) {
		DAT_EVENT ev;

		EV_NEXT(w.evd, &ev);
		ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_SUCCESS);
	}
	EV_EMPTY(w.evd);
	hub_close(&h);
}
