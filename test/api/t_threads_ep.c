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
