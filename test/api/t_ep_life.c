/* SPDX-License-Identifier: BSD-2-Clause */
/* Status of an endpoint, its reuse, its end. */
#include "rig.h"

/* ---- status ---- */

TEST(ep, get_status_tells_state_and_idleness)
{
	DAT_BOOLEAN recv_idle, req_idle;
	DAT_EP_STATE state;
	struct pair p;

	pair_open(&p);
	OK(dat_ep_get_status(p.a.ep, &state, &recv_idle, &req_idle));
	ASSERT_EQ(state, DAT_EP_STATE_UNCONNECTED);
	ASSERT_EQ(recv_idle, DAT_TRUE);
	ASSERT_EQ(req_idle, DAT_TRUE);
	OK(post_recv(&p.a, 0, 10, 1));
	OK(dat_ep_get_status(p.a.ep, &state, &recv_idle, &req_idle));
	ASSERT_EQ(recv_idle, DAT_FALSE);
	ASSERT_EQ(req_idle, DAT_TRUE);
	pair_connect(&p);
	OK(post_send(&p.b, 0, 10, 2));
	EV_DTO(p.a.recv, p.a.ep, 1, OP_RECV, 10);
	EV_DTO(p.b.req, p.b.ep, 2, OP_SEND, 10);
	OK(dat_ep_get_status(p.a.ep, &state, &recv_idle, &req_idle));
	ASSERT_EQ(state, DAT_EP_STATE_CONNECTED);
	ASSERT_EQ(recv_idle, DAT_TRUE);
	pair_close(&p);
}

TEST(ep, get_status_sees_an_outstanding_request)
{
	DAT_BOOLEAN recv_idle, req_idle;
	struct buf big;
	struct pair p;

	pair_up(&p);
	block_sends(&p.a, &big);
	OK(dat_ep_get_status(p.a.ep, NULL, &recv_idle, &req_idle));
	ASSERT_EQ(recv_idle, DAT_TRUE);
	ASSERT_EQ(req_idle, DAT_FALSE);
	OK(dat_ep_free(p.a.ep));
	p.a.ep = NULL;
	buf_free(&big);
	pair_close(&p);
}

TEST(ep, get_status_tolerates_NULL_pointers)
{
	DAT_EP_STATE state;
	struct pair p;

	pair_open(&p);
	OK(dat_ep_get_status(p.a.ep, NULL, NULL, NULL));
	OK(dat_ep_get_status(p.a.ep, &state, NULL, NULL));
	ASSERT_EQ(state, DAT_EP_STATE_UNCONNECTED);
	pair_close(&p);
}

/* ---- reset and free ---- */

TEST(ep, reset_in_UNCONNECTED_keeps_the_receives)
{
	struct pair p;

	pair_open(&p);
	OK(post_recv(&p.b, 0, 10, 1));
	OK(dat_ep_reset(p.b.ep));
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_UNCONNECTED);
	pair_connect(&p);
	OK(post_send(&p.a, 0, 10, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 10);
	pair_close(&p);
}

TEST(ep, reset_makes_a_disconnected_endpoint_usable_again)
{
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < 5; i++) {
		pair_connect(&p);
		OK(post_recv(&p.b, 0, 10, 1));
		OK(post_send(&p.a, 0, 10, 2));
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 10);
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 10);
		pair_disconnect(&p);
		OK(dat_ep_reset(p.a.ep));
		OK(dat_ep_reset(p.b.ep));
		ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
		ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_UNCONNECTED);
	}
	pair_close(&p);
}

TEST(ep, reset_endpoint_can_change_sides)
{
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_up(&p);
	pair_disconnect(&p);
	OK(dat_ep_reset(p.a.ep));
	OK(dat_ep_reset(p.b.ep));
	OK(connect_to(p.b.ep, p.node.attr.ia_address_ptr, p.qual));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_accept(cr, p.a.ep, 0, NULL));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	pair_close(&p);
}

TEST(ep, free_with_receives_posted)
{
	struct pair p;

	pair_open(&p);
	OK(post_recv(&p.a, 0, 10, 1));
	pair_close(&p);
}

TEST(ep, free_when_connected_tells_the_peer)
{
	struct pair p;

	pair_up(&p);
	OK(dat_ep_free(p.a.ep));
	p.a.ep = NULL;
	EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_DISCONNECTED);
	pair_close(&p);
}
