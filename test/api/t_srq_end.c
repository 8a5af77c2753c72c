/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues when connections fail and end, and when endpoints go. */
#include "srq_rig.h"

static void post_slots(struct hub *h, int first, int count, size_t len)
{
	int i;

	for (i = first; i < first + count; i++)
		OK(hub_post(h, i, len, 100 + (uint64_t)i));
}

static void long_message(int flags)
{
	struct hub h;
	DAT_EVENT ev;

	hub_open(&h, 3, 16, flags);
	post_slots(&h, 0, 8, 100);
	OK(post_send(&h.peer[1], 0, 101, 1));
	EV_NEXT(h.on[1].recv, &ev);
	check_dto(__FILE__, __LINE__, &ev, h.on[1].recv, h.on[1].ep, 100, OP_RECV,
		  DAT_DTO_ERR_LOCAL_LENGTH, 0);
	EV_CONN(h.on[1].conn, BROKEN, h.on[1].ep);
	EV_ASYNC(&h.node, h.on[1].ep, DAT_EP_TRANSFER_TO_ERROR);
	SRQ_COUNTS(h.srq, 7, 7);
	hub_send(&h, 0, 100, 5);
	HUB_GOT(&h, 0, 101, 1, 100, 5);
	hub_send(&h, 2, 99, 6);
	HUB_GOT(&h, 2, 102, 2, 99, 6);
	SRQ_COUNTS(h.srq, 5, 5);
	ASSERT_EQ(side_state(&h.on[0]), DAT_EP_STATE_CONNECTED);
	ASSERT_EQ(side_state(&h.on[1]), DAT_EP_STATE_DISCONNECTED);
	EV_NONE(h.node.async);
	hub_close(&h);
}

TEST(srq_end, a_message_longer_than_its_buffer_breaks_that_connection_only)
{
	long_message(0);
}

TEST(srq_end, a_message_longer_than_its_buffer_with_one_EVD)
{
	long_message(HUB_ONE_EVD);
}

/* Also where the failed receive does not say whose it was. */
TEST(srq_end, a_message_that_is_too_long_harms_no_other_connection)
{
	DAT_EVENT ev;
	struct hub h;

	hub_open(&h, 3, 16, 0);
	post_slots(&h, 0, 8, 100);
	OK(post_send(&h.peer[1], 0, 101, 1));
	EV_NEXT(h.peer[1].conn, &ev);
	ASSERT(ev.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	       ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	hub_send(&h, 0, 100, 5);
	HUB_GOT(&h, 0, 101, 1, 100, 5);
	hub_send(&h, 2, 99, 6);
	HUB_GOT(&h, 2, 102, 2, 99, 6);
	ASSERT_EQ(side_state(&h.on[0]), DAT_EP_STATE_CONNECTED);
	hub_close(&h);
}

TEST(srq_end, a_message_for_a_buffer_without_room_is_too_long)
{
	struct hub h;

	hub_open(&h, 1, 4, 0);
	OK(dat_srq_post_recv(h.srq, 0, NULL, ck(3)));
	OK(post_send(&h.peer[0], 0, 1, 1));
	EV_DTO_STATUS(h.on[0].recv, h.on[0].ep, 3, OP_RECV, DAT_DTO_ERR_LOCAL_LENGTH);
	EV_CONN(h.on[0].conn, BROKEN, h.on[0].ep);
	SRQ_COUNTS(h.srq, 0, 0);
	hub_close(&h);
}

TEST(srq_end, a_disconnect_leaves_the_buffers_to_the_others)
{
	struct hub h;

	hub_open(&h, 2, 8, 0);
	post_slots(&h, 0, 4, 100);
	hub_disconnect(&h, 0);
	EV_NONE(h.on[0].recv);
	EV_NONE(h.node.async);
	SRQ_COUNTS(h.srq, 4, 4);
	hub_send(&h, 1, 50, 2);
	HUB_GOT(&h, 1, 100, 0, 50, 2);
	hub_close(&h);
}

TEST(srq_end, the_disconnecting_side_is_told_too)
{
	struct hub h;

	hub_open(&h, 1, 8, 0);
	post_slots(&h, 0, 4, 100);
	OK(dat_ep_disconnect(h.on[0].ep, DAT_CLOSE_GRACEFUL_FLAG));
	EV_CONN(h.on[0].conn, DISCONNECTED, h.on[0].ep);
	EV_ASYNC(&h.node, h.on[0].ep, DAT_EP_TRANSFER_TO_ERROR);
	EV_CONN(h.peer[0].conn, DISCONNECTED, h.peer[0].ep);
	EV_NONE(h.node.async);
	SRQ_COUNTS(h.srq, 4, 4);
	hub_close(&h);
}

/* Until its own sends are complete the endpoint takes buffers like a connected one. */
TEST(srq_end, an_endpoint_in_DISCONNECT_PENDING_takes_buffers)
{
	struct buf big, sink;
	DAT_LMR_TRIPLET t;
	struct hub h;
	int i;

	hub_open(&h, 1, 8, 0);
	buf_make(&sink, &h.node, BLOCK_LEN, PRIV_ALL);
	post_slots(&h, 0, 2, 100);
	block_sends(&h.on[0], &big);
	OK(dat_ep_disconnect(h.on[0].ep, DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_EQ(side_state(&h.on[0]), DAT_EP_STATE_DISCONNECT_PENDING);
	fill(h.peer[0].buf.mem, 50, 3);
	OK(post_send(&h.peer[0], 0, 50, 3));
	HUB_GOT(&h, 0, 100, 0, 50, 3);
	ASSERT_EQ(side_state(&h.on[0]), DAT_EP_STATE_DISCONNECT_PENDING);
	SRQ_COUNTS(h.srq, 1, 1);
	OK(hub_post(&h, 2, 100, 102));
	t = seg(&sink, 0, BLOCK_LEN);
	for (i = 0; i < BLOCK_COUNT; i++)
		OK(dat_ep_post_recv(h.peer[0].ep, 1, &t, ck((uint64_t)i),
				    DAT_COMPLETION_DEFAULT_FLAG));
	EV_CONN(h.on[0].conn, DISCONNECTED, h.on[0].ep);
	EV_NONE(h.on[0].recv);
	SRQ_COUNTS(h.srq, 2, 2);
	OK(dat_ep_free(h.on[0].ep));
	OK(dat_ep_free(h.peer[0].ep));
	h.on[0].ep = h.peer[0].ep = NULL;
	buf_free(&big);
	buf_free(&sink);
	hub_close(&h);
}

/* Flushed, or filled in time; or never taken, and then it is still in the queue. */
static void end_at_work(void)
{
	struct buf big, sink;
	DAT_LMR_TRIPLET t;
	DAT_SRQ_PARAM p;
	struct hub h;

	hub_open(&h, 2, 8, 0);
	buf_make(&sink, &h.node, BLOCK_LEN, PRIV_ALL);
	block_sends(&h.peer[0], &big);
	t = seg(&sink, 0, BLOCK_LEN);
	OK(dat_srq_post_recv(h.srq, 1, &t, ck(1)));
	EV_DTO(h.on[0].recv, h.on[0].ep, 1, OP_RECV, BLOCK_LEN);
	OK(dat_srq_post_recv(h.srq, 1, &t, ck(2)));
	dt_sleep_us(300);
	OK(dat_ep_disconnect(h.on[0].ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(h.on[0].conn, DISCONNECTED, h.on[0].ep);
	OK(dat_srq_query(h.srq, DAT_SRQ_FIELD_ALL, &p));
	ASSERT_EQ(p.outstanding_dto_count, 1);
	if (!p.available_dto_count) {
		DAT_EVENT ev;

		EV_NEXT(h.on[0].recv, &ev);
		ASSERT_EQ(dto_of(&ev)->user_cookie.as_64, 2);
		ASSERT_PTR(dto_of(&ev)->ep_handle, h.on[0].ep);
		ASSERT(dto_of(&ev)->status == DAT_DTO_SUCCESS ||
		       dto_of(&ev)->status == DAT_DTO_ERR_FLUSHED);
		dt_note("the buffer's status is %d", (int)dto_of(&ev)->status);
		SRQ_COUNTS(h.srq, 0, 0);
	} else {
		hub_send(&h, 1, 50, 4);
		EV_DTO(h.on[1].recv, h.on[1].ep, 2, OP_RECV, 50);
	}
	EV_NONE(h.on[0].recv);
	EV_CONN(h.peer[0].conn, DISCONNECTED, h.peer[0].ep);
	OK(hub_post(&h, 0, 100, 3));
	hub_send(&h, 1, 60, 5);
	HUB_GOT(&h, 1, 3, 0, 60, 5);
	buf_free(&sink);
	buf_free(&big);
	hub_close(&h);
}

/* Several times: whether the end comes while the buffer is being filled is chance. */
TEST_LIMIT(srq_end, a_buffer_that_was_not_filled_is_accounted_for, 60)
{
	for (int i = 0; i < 8; i++)
		end_at_work();
}

TEST(srq_end, reset_and_connect_again)
{
	struct hub h;
	int round;

	hub_open(&h, 2, 32, 0);
	post_slots(&h, 0, 32, 100);
	for (round = 0; round < 6; round++) {
		hub_send(&h, 0, 60, (unsigned int)round);
		HUB_GOT(&h, 0, 100 + (uint64_t)round * 2, round * 2, 60, (unsigned int)round);
		hub_send(&h, 1, 70, (unsigned int)round);
		HUB_GOT(&h, 1, 101 + (uint64_t)round * 2, round * 2 + 1, 70, (unsigned int)round);
		hub_disconnect(&h, 0);
		OK(dat_ep_reset(h.on[0].ep));
		OK(dat_ep_reset(h.peer[0].ep));
		hub_connect(&h, 0);
	}
	SRQ_COUNTS(h.srq, 20, 20);
	hub_close(&h);
}

TEST(srq_end, freeing_an_endpoint_gives_up_completions_not_dequeued)
{
	struct hub h;

	hub_open(&h, 2, 8, HUB_ONE_EVD);
	post_slots(&h, 0, 4, 100);
	hub_send(&h, 1, 10, 1);
	hub_send(&h, 0, 10, 1);
	srq_until_available(h.srq, 2);
	SRQ_COUNTS(h.srq, 2, 4);
	OK(dat_ep_free(h.on[1].ep));
	h.on[1].ep = NULL;
	SRQ_COUNTS(h.srq, 2, 3);
	OK(dat_ep_free(h.on[0].ep));
	h.on[0].ep = NULL;
	SRQ_COUNTS(h.srq, 2, 2);
	hub_close(&h);
}

TEST(srq_end, events_of_freed_endpoints_are_harmless)
{
	struct hub h;
	DAT_EVENT ev;

	hub_open(&h, 1, 8, 0);
	post_slots(&h, 0, 4, 100);
	hub_send(&h, 0, 10, 1);
	hub_send(&h, 0, 10, 1);
	srq_until_available(h.srq, 2);
	OK(dat_ep_free(h.on[0].ep));
	h.on[0].ep = NULL;
	while (dat_evd_dequeue(h.on[0].recv, &ev) == DAT_SUCCESS)
		SRQ_COUNTS(h.srq, 2, 2);
	SRQ_COUNTS(h.srq, 2, 2);
	OK(dat_srq_free(h.srq));
	h.srq = NULL;
	hub_close(&h);
}

TEST(srq_end, the_SRQ_is_free_once_its_endpoints_are)
{
	struct hub h;
	DAT_EVENT ev;
	int i;

	hub_open(&h, 3, 16, HUB_ONE_EVD);
	post_slots(&h, 0, 6, 100);
	for (i = 0; i < 3; i++)
		hub_send(&h, i, 10, 1);
	srq_until_available(h.srq, 3);
	for (i = 0; i < 3; i++) {
		BAD_STATE(dat_srq_free(h.srq), SRQ_IN_USE);
		OK(dat_ep_free(h.on[i].ep));
		h.on[i].ep = NULL;
	}
	OK(dat_srq_free(h.srq));
	h.srq = NULL;
	/* What was never dequeued outlives the queue. */
	while (dat_evd_dequeue(h.on[0].recv, &ev) == DAT_SUCCESS)
		ASSERT_EQ(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	hub_close(&h);
}

TEST(srq_end, an_abrupt_close_with_everything_in_use)
{
	struct buf big;
	struct dt_fds fds;
	struct node warm;
	struct hub h;
	int i;

	node_open(&warm);
	node_close(&warm);
	dt_fds_get(&fds);
	hub_open(&h, 4, 16, 0);
	OK(dat_srq_set_lw(h.srq, 2));
	post_slots(&h, 0, 6, 100);
	for (i = 0; i < 3; i++)
		OK(post_send(&h.peer[i], 0, 100, 1));
	block_sends(&h.peer[3], &big);
	SRQ_COUNTS(srq_make(&h.node, 5, 1), 0, 0);
	node_abort(&h.node);
	dt_fds_check(&fds, __FILE__, __LINE__);
}

/* The peer has gone, what it sent waits for buffers, and the consumer posts them slowly. */
TEST(srq_end, what_a_peer_sent_before_it_went_is_received_at_leisure)
{
	struct hub h;
	int i;

	setenv("DAPL_OFI_GRACE_MS", "300", 1);
	hub_open(&h, 1, 16, 0);
	for (i = 0; i < 8; i++) {
		fill(h.peer[0].buf.mem + i * 100, 100, (unsigned int)i);
		OK(post_send(&h.peer[0], (size_t)i * 100, 100, 1));
	}
	OK(dat_ep_disconnect(h.peer[0].ep, DAT_CLOSE_GRACEFUL_FLAG));
	EV_CONN(h.peer[0].conn, DISCONNECTED, h.peer[0].ep);
	for (i = 0; i < 8; i++) {
		dt_sleep_us(150000);
		OK(hub_post(&h, i, 100, (uint64_t)i));
		HUB_GOT(&h, 0, (uint64_t)i, i, 100, (unsigned int)i);
	}
	EV_CONN(h.on[0].conn, DISCONNECTED, h.on[0].ep);
	hub_close(&h);
}
