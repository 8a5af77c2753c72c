/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests messages through a shared receive queue: their endpoint, order and counts. */
#include "srq_rig.h"

static void post_slots(struct hub *h, int first, int count, size_t len)
{
	int i;

	for (i = first; i < first + count; i++)
		OK(hub_post(h, i, len, 100 + (uint64_t)i));
}

TEST(srq_use, counts_follow_a_buffer_through_its_life)
{
	struct hub h;

	hub_open(&h, 1, 10, 0);
	post_slots(&h, 0, 3, 1000);
	SRQ_COUNTS(h.srq, 3, 3);
	hub_send(&h, 0, 500, 7);
	srq_until_available(h.srq, 2);
	SRQ_COUNTS(h.srq, 2, 3);
	HUB_GOT(&h, 0, 100, 0, 500, 7);
	SRQ_COUNTS(h.srq, 2, 2);
	hub_close(&h);
}

TEST(srq_use, counts_stay_when_the_endpoint_is_modified)
{
	DAT_EP_PARAM param;
	struct hub h;

	hub_open(&h, 1, 10, 0);
	post_slots(&h, 0, 3, 1000);
	hub_send(&h, 0, 500, 7);
	srq_until_available(h.srq, 2);
	hub_disconnect(&h, 0);
	OK(dat_ep_reset(h.on[0].ep));
	SRQ_COUNTS(h.srq, 2, 3);
	memset(&param, 0, sizeof(param));
	param.connect_evd_handle = h.on[0].conn;
	param.recv_evd_handle = h.on[0].recv;
	OK(dat_ep_modify(h.on[0].ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	SRQ_COUNTS(h.srq, 2, 3);
	OK(dat_ep_modify(h.on[0].ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	SRQ_COUNTS(h.srq, 2, 3);
	HUB_GOT(&h, 0, 100, 0, 500, 7);
	SRQ_COUNTS(h.srq, 2, 2);
	hub_close(&h);
}

static void several_endpoints(int flags)
{
	struct hub h;
	int i, at = 0, round;

	hub_open(&h, 4, 32, flags);
	post_slots(&h, 0, 32, HUB_SLOT);
	for (round = 0; round < 8; round++)
		for (i = 0; i < 4; i++, at++) {
			hub_send(&h, i, (size_t)(at * 100 + 1), (unsigned int)at);
			HUB_GOT(&h, i, 100 + (uint64_t)at, at, (size_t)(at * 100 + 1),
				(unsigned int)at);
		}
	SRQ_COUNTS(h.srq, 0, 0);
	hub_close(&h);
}

TEST(srq_use, endpoints_with_one_EVD)
{
	several_endpoints(HUB_ONE_EVD);
}

TEST(srq_use, endpoints_with_an_EVD_each)
{
	several_endpoints(0);
}

TEST(srq_use, as_the_side_that_connects)
{
	several_endpoints(HUB_ACTIVE);
}

TEST(srq_use, both_sides_receive_from_SRQs)
{
	several_endpoints(HUB_BOTH);
}

TEST(srq_use, both_sides_exchange_messages_through_one_SRQ)
{
	struct hub h;

	hub_open(&h, 1, 8, HUB_BOTH);
	post_slots(&h, 0, 8, 1000);
	hub_send(&h, 0, 300, 1);
	HUB_GOT(&h, 0, 100, 0, 300, 1);
	fill(h.on[0].buf.mem, 400, 2);
	OK(post_send(&h.on[0], 0, 400, 9));
	EV_DTO(h.on[0].req, h.on[0].ep, 9, OP_SEND, 400);
	EV_DTO(h.peer[0].recv, h.peer[0].ep, 101, OP_RECV, 400);
	CHECK_FILL(h.mem.mem + HUB_SLOT, 400, 2);
	SRQ_COUNTS(h.srq, 6, 6);
	hub_close(&h);
}

TEST(srq_use, answers_of_an_endpoint_with_an_SRQ_reach_a_plain_one)
{
	struct hub h;

	hub_open(&h, 1, 8, HUB_ACTIVE);
	OK(post_recv(&h.peer[0], 0, 1000, 3));
	fill(h.on[0].buf.mem, 900, 5);
	OK(post_send(&h.on[0], 0, 900, 4));
	EV_DTO(h.on[0].req, h.on[0].ep, 4, OP_SEND, 900);
	EV_DTO(h.peer[0].recv, h.peer[0].ep, 3, OP_RECV, 900);
	CHECK_FILL(h.peer[0].buf.mem, 900, 5);
	hub_close(&h);
}

/*
 * Each endpoint receives its peer's messages in order, whichever endpoints take buffers in
 * between.
 */
TEST(srq_use, order_per_connection)
{
	unsigned int next[4] = { 0 };
	struct hub h;
	DAT_EVENT ev;
	int i, round;

	hub_open(&h, 4, 64, HUB_ONE_EVD);
	post_slots(&h, 0, 64, 64);
	for (round = 0; round < 16; round++)
		for (i = 0; i < 4; i++) {
			uint32_t word[2] = { (uint32_t)i, (uint32_t)round };

			memcpy(h.peer[i].buf.mem + round * 64, word, sizeof(word));
			OK(post_send(&h.peer[i], (size_t)round * 64, 64, 1));
		}
	for (round = 0; round < 64; round++) {
		const DAT_DTO_COMPLETION_EVENT_DATA *d = dto_of(&ev);
		uint32_t word[2];

		EV_NEXT(h.on[0].recv, &ev);
		ASSERT_EQ(d->status, DAT_DTO_SUCCESS);
		memcpy(word, h.mem.mem + (d->user_cookie.as_64 - 100) * HUB_SLOT, sizeof(word));
		ASSERT(word[0] < 4);
		ASSERT_PTR(d->ep_handle, h.on[word[0]].ep);
		ASSERT_EQ(word[1], next[word[0]]);
		next[word[0]]++;
	}
	SRQ_COUNTS(h.srq, 0, 0);
	hub_close(&h);
}

TEST(srq_use, segments_are_filled_in_order)
{
	DAT_LMR_TRIPLET t[4];
	struct hub h;
	int i;

	hub_open(&h, 1, 4, 0);
	for (i = 0; i < 4; i++)
		t[i] = seg(&h.mem, (size_t)(3 - i) * 1000, 100);
	t[2].segment_length = 0;
	OK(dat_srq_post_recv(h.srq, 4, t, ck(5)));
	fill(h.peer[0].buf.mem, 250, 3);
	OK(post_send(&h.peer[0], 0, 250, 1));
	EV_DTO(h.on[0].recv, h.on[0].ep, 5, OP_RECV, 250);
	ASSERT_MEM(h.mem.mem + 3000, h.peer[0].buf.mem, 100);
	ASSERT_MEM(h.mem.mem + 2000, h.peer[0].buf.mem + 100, 100);
	ASSERT_MEM(h.mem.mem, h.peer[0].buf.mem + 200, 50);
	ASSERT_EQ(h.mem.mem[50], 0);
	hub_close(&h);
}

TEST(srq_use, empty_messages_and_empty_buffers)
{
	struct hub h;
	int i;

	hub_open(&h, 2, 8, 0);
	OK(dat_srq_post_recv(h.srq, 0, NULL, ck(UINT64_MAX)));
	OK(hub_post(&h, 1, 100, 0));
	for (i = 0; i < 2; i++) {
		OK(dat_ep_post_send(h.peer[i].ep, 0, NULL, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
		EV_DTO(h.on[i].recv, h.on[i].ep, i ? 0 : UINT64_MAX, OP_RECV, 0);
	}
	SRQ_COUNTS(h.srq, 0, 0);
	hub_close(&h);
}

/* ---- an empty queue delays, and nothing is lost ---- */

static void refill(size_t len, int flags)
{
	struct hub h;
	int i, k;

	hub_open(&h, 3, 32, flags);
	for (k = 0; k < 5; k++)
		for (i = 0; i < 3; i++) {
			fill(h.peer[i].buf.mem + k * 1000, len, (unsigned int)(i * 10 + k));
			OK(post_send(&h.peer[i], (size_t)k * 1000, len, 1));
		}
	for (i = 0; i < 3; i++)
		EV_NONE(h.on[i].recv);
	for (k = 0; k < 15; k++) {
		DAT_EVENT ev;
		int who = -1;

		/* One buffer at a time: one of the endpoints gets it. */
		OK(hub_post(&h, k, 1000, (uint64_t)k));
		DT_UNTIL(({
				 for (i = 0; who < 0 && i < 3; i++)
					 if (dat_evd_dequeue(h.on[i].recv, &ev) == DAT_SUCCESS)
						 who = i;
				 who >= 0;
			 }),
			 US_EVENT);
		ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_SUCCESS);
		ASSERT_EQ(dto_of(&ev)->user_cookie.as_64, k);
		ASSERT_EQ(dto_of(&ev)->transfered_length, len);
	}
	for (i = 0; i < 3; i++)
		EV_EMPTY(h.on[i].recv);
	SRQ_COUNTS(h.srq, 0, 0);
	hub_close(&h);
}

TEST(srq_use, an_empty_queue_delays_messages_until_it_is_refilled)
{
	refill(700, 0);
}

TEST(srq_use, an_empty_queue_delays_messages_of_one_EVD)
{
	refill(700, HUB_ONE_EVD);
}

TEST(srq_use, an_empty_queue_delays_empty_messages)
{
	refill(0, 0);
}

TEST(srq_use, a_refill_in_one_go_starves_nobody)
{
	struct hub h;
	int i, k;

	hub_open(&h, 4, 64, 0);
	for (k = 0; k < 8; k++)
		for (i = 0; i < 4; i++)
			OK(post_send(&h.peer[i], 0, 100, 1));
	EV_NONE(h.on[0].recv);
	post_slots(&h, 0, 32, 100);
	for (i = 3; i >= 0; i--)
		for (k = 0; k < 8; k++) {
			DAT_EVENT ev;

			EV_NEXT(h.on[i].recv, &ev);
			ASSERT_PTR(dto_of(&ev)->ep_handle, h.on[i].ep);
			ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_SUCCESS);
		}
	SRQ_COUNTS(h.srq, 0, 0);
	hub_close(&h);
}

/* ---- the low watermark ---- */

TEST(srq_use, the_low_watermark_fires_once_per_arming)
{
	struct hub h;
	int i;

	hub_open(&h, 1, 10, 0);
	post_slots(&h, 0, 5, 100);
	OK(dat_srq_set_lw(h.srq, 3));
	for (i = 0; i < 2; i++) {
		hub_send(&h, 0, 10, 1);
		HUB_GOT(&h, 0, 100 + (uint64_t)i, i, 10, 1);
	}
	EV_NONE(h.node.async);
	hub_send(&h, 0, 10, 1);
	EV_ASYNC(&h.node, h.srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	hub_send(&h, 0, 10, 1);
	HUB_GOT(&h, 0, 102, 2, 10, 1);
	HUB_GOT(&h, 0, 103, 3, 10, 1);
	post_slots(&h, 5, 5, 100);
	for (i = 4; i < 9; i++) {
		hub_send(&h, 0, 10, 1);
		HUB_GOT(&h, 0, 100 + (uint64_t)i, i, 10, 1);
	}
	EV_NONE(h.node.async);
	/* Again only when it is set again. */
	post_slots(&h, 10, 3, 100);
	OK(dat_srq_set_lw(h.srq, 3));
	EV_NONE(h.node.async);
	hub_send(&h, 0, 10, 1);
	hub_send(&h, 0, 10, 1);
	EV_ASYNC(&h.node, h.srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	EV_NONE(h.node.async);
	hub_close(&h);
}

/* More than one go of the protocol takes, and nothing arrives after them. */
TEST(srq_use, many_messages_that_wait_are_all_received)
{
	const int n = 200;
	DAT_EP_ATTR attr;
	DAT_LMR_TRIPLET t;
	struct hub h;
	int i;

	hub_open(&h, 0, n, 0);
	attr = default_attr(&h.node);
	attr.max_request_dtos = n;
	side_make_srq(&h.on[0], &h.node, h.srq, NULL, NULL);
	side_make(&h.peer[0], &h.node, &attr);
	h.n = 1;
	hub_connect(&h, 0);
	t = seg(&h.peer[0].buf, 0, 8);
	for (i = 0; i < n; i++)
		OK(dat_ep_post_send(h.peer[0].ep, 1, &t, ck(1000),
				    i < n - 1 ? DAT_COMPLETION_SUPPRESS_FLAG
					      : DAT_COMPLETION_DEFAULT_FLAG));
	EV_NONE(h.on[0].recv);
	for (i = 0; i < n; i++)
		OK(hub_post(&h, i % HUB_SLOTS, 8, (uint64_t)i));
	for (i = 0; i < n; i++)
		EV_DTO(h.on[0].recv, h.on[0].ep, (uint64_t)i, OP_RECV, 8);
	EV_DTO(h.peer[0].req, h.peer[0].ep, 1000, OP_SEND, 8);
	hub_close(&h);
}

TEST(srq_use, the_low_watermark_fires_at_once_if_it_is_passed)
{
	DAT_SRQ_PARAM param;
	struct hub h;

	hub_open(&h, 0, 10, 0);
	post_slots(&h, 0, 2, 100);
	OK(dat_srq_set_lw(h.srq, 2));
	EV_NONE(h.node.async);
	OK(dat_srq_set_lw(h.srq, 3));
	EV_ASYNC(&h.node, h.srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	EV_NONE(h.node.async);
	OK(dat_srq_query(h.srq, DAT_SRQ_FIELD_ALL, &param));
	ASSERT_EQ(param.low_watermark, 3);
	OK(dat_srq_set_lw(h.srq, 3));
	EV_ASYNC(&h.node, h.srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	hub_close(&h);
}

TEST(srq_use, the_low_watermark_can_be_taken_back)
{
	struct hub h;

	hub_open(&h, 1, 10, 0);
	post_slots(&h, 0, 3, 100);
	OK(dat_srq_set_lw(h.srq, 3));
	OK(dat_srq_set_lw(h.srq, 0));
	hub_send(&h, 0, 10, 1);
	HUB_GOT(&h, 0, 100, 0, 10, 1);
	EV_NONE(h.node.async);
	hub_close(&h);
}

TEST(srq_use, the_low_watermark_has_bounds)
{
	DAT_SRQ_PARAM param;
	struct hub h;

	hub_open(&h, 0, 10, 0);
	OK(dat_srq_query(h.srq, DAT_SRQ_FIELD_ALL, &param));
	BAD_ARG(dat_srq_set_lw(h.srq, -1), 2);
	BAD_ARG(dat_srq_set_lw(h.srq, param.max_recv_dtos + 1), 2);
	EV_NONE(h.node.async);
	OK(dat_srq_set_lw(h.srq, param.max_recv_dtos));
	EV_ASYNC(&h.node, h.srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	hub_close(&h);
}
