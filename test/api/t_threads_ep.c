/* SPDX-License-Identifier: BSD-2-Clause */
/* One endpoint that several threads use while it is reset or freed. */
#include "rig.h"

#define RESETS 3000
#define FREES 500

static void change_until_it_is_freed(void *arg)
{
	const struct side *s = arg;
	DAT_EP_PARAM param = { .recv_evd_handle = s->recv, .request_evd_handle = s->req };
	DAT_RETURN ret;

	do {
		ret = dat_ep_reset(s->ep);
		if (ret == DAT_SUCCESS)
			ret = dat_ep_modify(s->ep,
					    DAT_EP_FIELD_RECV_EVD_HANDLE |
						    DAT_EP_FIELD_REQUEST_EVD_HANDLE,
					    &param);
	} while (ret == DAT_SUCCESS);
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_HANDLE);
}

/* It is freed at any point of the other's calls, and no EVD is left in use. */
TEST_LIMIT(threads_ep, is_freed_while_another_resets_and_modifies_it, 60)
{
	struct dt_thread t;
	struct side s;
	struct node n;

	node_open(&n);
	for (int i = 0; i < FREES; i++) {
		side_make(&s, &n, NULL);
		dt_thread_start(&t, change_until_it_is_freed, &s);
		dt_sleep_us(100);
		OK(dat_ep_free(s.ep));
		dt_thread_join(&t);
		s.ep = DAT_HANDLE_NULL;
		side_free(&s);
	}
	node_close(&n);
}

struct poster {
	struct side *side;
	_Atomic bool stop;
};

static void post_receives_until_stopped(void *arg)
{
	struct poster *p = arg;
	DAT_EVENT ev;
	DAT_RETURN ret;

	while (!p->stop) {
		ret = post_recv(p->side, 0, 64, 1);
		ASSERT(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES);
		while (dat_evd_dequeue(p->side->recv, &ev) == DAT_SUCCESS)
			;
	}
}

/* The library rejects the attempt if the queue of requests is full. */
static void attempt_in_vain(struct pair *p)
{
	DAT_EVENT ev;

	OK(connect_to(p->a.ep, p->node.attr.ia_address_ptr, p->qual));
	OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_NEXT(p->a.conn, &ev);
	ASSERT_EQ(side_state(&p->a), DAT_EP_STATE_DISCONNECTED);
}

/* A receive that is posted during the reset completes, or is forgotten. It does not remain in the
 * queue, where it would keep those behind it from completing: so few instructions would have to
 * coincide that this case notices it with ThreadSanitizer only. */
TEST_LIMIT(threads_ep, receives_posted_while_another_resets_do_not_stay_in_the_queue, 60)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;
	struct dt_thread t;
	struct poster poster;
	struct pair p;

	pair_open(&p);
	poster.side = &p.a;
	poster.stop = false;
	dt_thread_start(&t, post_receives_until_stopped, &poster);
	for (int i = 0; i < RESETS; i++) {
		attempt_in_vain(&p);
		OK(dat_ep_reset(p.a.ep));
	}
	attempt_in_vain(&p);
	poster.stop = true;
	dt_thread_join(&t);
	OK(dat_ep_get_status(p.a.ep, &state, &recv_idle, &request_idle));
	ASSERT_EQ(recv_idle, DAT_TRUE);
	pair_close(&p);
}

struct parts {
	struct pair p;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	DAT_SRQ_HANDLE srq;
};

static void make_endpoints_until_a_part_is_freed(void *arg)
{
	struct parts *s = arg;
	DAT_EP_ATTR attr = default_attr(&s->p.node);
	unsigned int made = 0;
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	attr.max_recv_dtos = attr.srq_soft_hw = DAT_HW_DEFAULT;
	do {
		ret = dat_ep_create_with_srq(s->p.node.ia, s->pz, s->evd, s->evd, s->p.a.conn,
					     s->srq, &attr, &ep);
		if (ret == DAT_SUCCESS) {
			/* Most of the time the objects must be unused. */
			if (++made % 8 == 0)
				connect_to(ep, s->p.node.attr.ia_address_ptr, s->p.qual);
			OK(dat_ep_free(ep));
		}
	} while (ret == DAT_SUCCESS);
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_HANDLE);
}

/* Frees a handle when no endpoint uses it at the moment. */
static void free_between(DAT_RETURN (*function)(DAT_HANDLE), DAT_HANDLE handle)
{
	DAT_RETURN ret;

	while ((ret = function(handle)) != DAT_SUCCESS)
		ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_STATE);
}

static DAT_RETURN free_evd(DAT_HANDLE h)
{
	return dat_evd_free(h);
}

static DAT_RETURN free_srq(DAT_HANDLE h)
{
	return dat_srq_free(h);
}

static DAT_RETURN free_pz(DAT_HANDLE h)
{
	return dat_pz_free(h);
}

/* No endpoint is created with an object that is freed at that time. */
TEST_LIMIT(threads_ep, parts_are_freed_while_another_creates_endpoints_with_them, 60)
{
	const DAT_SRQ_ATTR attr = { .max_recv_dtos = 4,
				    .max_recv_iov = 1,
				    .low_watermark = DAT_SRQ_LW_DEFAULT };
	struct dt_thread t;
	struct parts s;

	pair_open(&s.p);
	for (int i = 0; i < 150; i++) {
		OK(dat_pz_create(s.p.node.ia, &s.pz));
		s.evd = evd_make(&s.p.node, 64, DAT_EVD_DTO_FLAG);
		OK(dat_srq_create(s.p.node.ia, s.p.node.pz, (DAT_SRQ_ATTR *)&attr, &s.srq));
		dt_thread_start(&t, make_endpoints_until_a_part_is_freed, &s);
		dt_sleep_us(50);
		if (i % 3 == 0)
			free_between(free_evd, s.evd);
		else if (i % 3 == 1)
			free_between(free_srq, s.srq);
		else
			free_between(free_pz, s.pz);
		dt_thread_join(&t);
		if (i % 3 != 0)
			OK(dat_evd_free(s.evd));
		if (i % 3 != 1)
			OK(dat_srq_free(s.srq));
		if (i % 3 != 2)
			OK(dat_pz_free(s.pz));
	}
	pair_close(&s.p);
}
