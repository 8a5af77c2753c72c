/* SPDX-License-Identifier: BSD-2-Clause */
/* Which event comes before which, and what is visible then? */
#include "rig.h"

/* A pair whose passive endpoint has one EVD for everything. */
static DAT_EP_HANDLE merged_ep(struct pair *p, DAT_EVD_HANDLE *evd)
{
	DAT_EP_HANDLE ep;

	*evd = evd_make(&p->node, 64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	OK(dat_ep_create(p->node.ia, p->node.pz, *evd, *evd, *evd, NULL, &ep));
	return ep;
}

TEST(order, ESTABLISHED_comes_before_the_first_receive_on_a_shared_evd)
{
	DAT_LMR_TRIPLET t;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	struct pair p;
	int i;

	pair_open(&p);
	ep = merged_ep(&p, &evd);
	t = seg(&p.b.buf, 0, 100);
	for (i = 0; i < 20; i++) {
		OK(dat_ep_post_recv(ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
		OK(dat_cr_accept(pair_request(&p), ep, 0, NULL));
		EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
		OK(post_send(&p.a, 0, 100, 2));
		EV_CONN(evd, ESTABLISHED, ep);
		EV_DTO(evd, ep, 1, OP_RECV, 100);
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 100);
		OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
		EV_CONN(evd, DISCONNECTED, ep);
		OK(dat_ep_reset(p.a.ep));
		OK(dat_ep_reset(ep));
	}
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	pair_close(&p);
}

TEST(order, active_side_can_be_answered_before_it_reads_ESTABLISHED)
{
	DAT_LMR_TRIPLET t;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;
	struct pair p;
	int i;

	pair_open(&p);
	ep = merged_ep(&p, &evd);
	t = seg(&p.a.buf, 0, 100);
	for (i = 0; i < 10; i++) {
		OK(dat_ep_post_recv(ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
		OK(connect_to(ep, p.node.attr.ia_address_ptr, p.qual));
		cr = EV_CR(p.cr_evd, p.psp, p.qual);
		OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
		EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
		OK(post_send(&p.b, 0, 100, 2));
		EV_DTO(p.b.req, p.b.ep, 2, OP_SEND, 100);
		/* Both are waiting by now. */
		EV_CONN(evd, ESTABLISHED, ep);
		EV_DTO(evd, ep, 1, OP_RECV, 100);
		OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
		EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
		EV_CONN(evd, DISCONNECTED, ep);
		OK(dat_ep_reset(ep));
		OK(dat_ep_reset(p.b.ep));
	}
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	pair_close(&p);
}

TEST(order, successes_come_before_the_end_and_flushes_are_complete_on_a_shared_evd)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	uint64_t next = 0;
	bool ended = false;
	DAT_LMR_TRIPLET t;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_EVENT ev;
	struct pair p;
	int i;

	pair_open(&p);
	ep = merged_ep(&p, &evd);
	OK(dat_cr_accept(pair_request(&p), ep, 0, NULL));
	EV_CONN(evd, ESTABLISHED, ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	t = seg(&p.b.buf, 0, 100);
	for (i = 0; i < 12; i++)
		OK(dat_ep_post_recv(ep, 1, &t, ck((uint64_t)i), DAT_COMPLETION_DEFAULT_FLAG));
	for (i = 0; i < 5; i++)
		OK(post_send(&p.a, 0, 100, 50));
	for (i = 0; i < 5; i++)
		EV_DTO(p.a.req, p.a.ep, 50, OP_SEND, 100);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 13; i++) {
		EV_NEXT(evd, &ev);
		if (ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED) {
			ASSERT(!ended);
			ended = true;
			continue;
		}
		ASSERT_EQ(ev.event_number, DAT_DTO_COMPLETION_EVENT);
		d = &ev.event_data.dto_completion_event_data;
		ASSERT_EQ(d->user_cookie.as_64, next);
		ASSERT_EQ(d->status, next < 5 ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED);
		ASSERT(d->status != DAT_DTO_SUCCESS || !ended);
		next++;
	}
	ASSERT(ended);
	EV_NONE(evd);
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	pair_close(&p);
}

TEST(order, software_and_transfer_events_of_one_evd_are_all_there)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_PARAM param;
	DAT_EVENT ev;
	struct pair p;
	uint64_t soft = 0, dto = 0, i;

	pair_open(&p);
	evd = evd_make(&p.node, 64, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	memset(&param, 0, sizeof(param));
	param.recv_evd_handle = evd;
	OK(dat_ep_modify(p.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	pair_connect(&p);
	for (i = 0; i < 16; i++) {
		OK(post_recv(&p.b, 0, 10, i));
		OK(post_send(&p.a, 0, 10, 99));
		OK(post_se(evd, (uintptr_t)i));
	}
	for (i = 0; i < 32; i++) {
		EV_NEXT(evd, &ev);
		if (ev.event_number == DAT_SOFTWARE_EVENT)
			ASSERT_EQ(number_of(&ev), soft++);
		else
			CHECK_DTO(&ev, evd, p.b.ep, dto++, OP_RECV, 10);
	}
	OK(dat_ep_free(p.b.ep));
	p.b.ep = NULL;
	OK(dat_evd_free(evd));
	pair_close(&p);
}

/* Deadlines that were set in another order expire in their own. */
TEST(order, connect_timeouts_expire_each_at_its_time)
{
	static const DAT_TIMEOUT times[] = { 500000, 100000, 300000, 200000, 400000 };
	uint64_t start, took;
	DAT_EP_HANDLE ep[5];
	DAT_EVENT ev;
	struct pair p;
	int i, j;

	pair_open(&p);
	start = dt_now_us();
	for (i = 0; i < 5; i++) {
		OK(dat_ep_create(p.node.ia, p.node.pz, p.a.recv, p.a.req, p.a.conn, NULL, &ep[i]));
		OK(dat_ep_connect(ep[i], p.node.attr.ia_address_ptr, p.qual, times[i], 0, NULL,
				  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	}
	for (i = 1; i <= 5; i++) {
		EV_NEXT(p.a.conn, &ev);
		took = dt_now_us() - start;
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_TIMED_OUT);
		for (j = 0; ep[j] != ev.event_data.connect_event_data.ep_handle; j++)
			ASSERT(j < 4);
		ASSERT_EQ(times[j], 100000 * i);
		ASSERT(took >= times[j] && took < times[j] + 300000u * dt_slow());
	}
	for (i = 0; i < 5; i++)
		OK(dat_ep_free(ep[i]));
	pair_close(&p);
}
