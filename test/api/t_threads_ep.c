/* SPDX-License-Identifier: BSD-2-Clause */
/* One endpoint that several threads use while it is reset or freed. */
#include "rig.h"

#define RESETS 3000
#define RESETS_US 40000000
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
 * coincide that this case notices it with ThreadSanitizer only. Over soft-iWARP, the kernel
 * takes seconds to destroy a queue pair whose connection is being established. */
TEST_LIMIT(threads_ep, receives_posted_while_another_resets_do_not_stay_in_the_queue, 60)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;
	struct dt_thread t;
	struct poster poster;
	uint64_t end;
	struct pair p;

	pair_open(&p);
	poster.side = &p.a;
	poster.stop = false;
	dt_thread_start(&t, post_receives_until_stopped, &poster);
	end = dt_now_us() + RESETS_US;
	for (int i = 0; i < RESETS && dt_now_us() < end; i++) {
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

#define MOVES 20000

/* Memory that is an endpoint of one adapter and then of the other. */
struct moving {
	struct node n[2];
	_Atomic(DAT_EP_HANDLE) ep;
	_Atomic bool stop;
};

static DAT_EP_HANDLE moving_create(struct node *n)
{
	DAT_EP_HANDLE ep;

	OK(dat_ep_create(n->ia, n->pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL,
			 &ep));
	return ep;
}

/* Endpoints that have been freed are used again in turn. This one will be the only one. */
static DAT_EP_HANDLE moving_first(struct node *n)
{
	DAT_EP_HANDLE freed, ep = DAT_HANDLE_NULL;

	do {
		freed = moving_create(n);
		OK(dat_ep_free(freed));
		ep = moving_create(n);
	} while (ep != freed);
	return ep;
}

static void connect_until_stopped(void *arg)
{
	struct moving *m = arg;

	while (!m->stop) {
		DAT_RETURN ret = connect_to(m->ep, m->n[0].attr.ia_address_ptr, 1);

		/* It has no EVD for the connection, or is freed. */
		ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_HANDLE);
		ret = dat_ep_reset(m->ep);
		ASSERT(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE);
	}
}

/* A call that waits for the lock of one adapter does not touch an endpoint of the other; builds
 * with --enable-debug notice it. */
TEST_LIMIT(threads_ep, becomes_one_of_another_adapter_while_it_is_used, 60)
{
	DAT_EP_HANDLE ep;
	struct dt_thread t[3];
	struct moving m = { .stop = false };

	for (int i = 0; i < 2; i++)
		node_open(&m.n[i]);
	m.ep = ep = moving_first(&m.n[0]);
	for (int i = 0; i < 3; i++)
		dt_thread_start(&t[i], connect_until_stopped, &m);
	for (int i = 1; i <= MOVES / (int)dt_slow(); i++) {
		OK(dat_ep_free(ep));
		m.ep = ep = moving_create(&m.n[i % 2]);
	}
	m.stop = true;
	for (int i = 0; i < 3; i++)
		dt_thread_join(&t[i]);
	node_abort(&m.n[0]);
	node_abort(&m.n[1]);
}

#define NEAR 64
#define FAR 65536
#define REGISTRATIONS 20000

/* One region of the table, which is registered again and again with other memory. */
struct reused {
	struct side *side;
	struct buf near; /* short; what is posted begins there */
	_Atomic(DAT_LMR_CONTEXT) context;
	_Atomic bool stop;
};

static void post_to_the_region_until_stopped(void *arg)
{
	struct reused *r = arg;
	struct buf b = r->near;

	while (!r->stop) {
		DAT_LMR_TRIPLET fits, too_long;

		b.ctx = r->context;
		fits = seg(&b, 0, NEAR);
		too_long = seg(&b, 0, 2 * (size_t)NEAR);
		/* Until the queue is full, or the region is another one. */
		dat_ep_post_recv(r->side->ep, 1, &fits, ck(1), DAT_COMPLETION_DEFAULT_FLAG);
		ASSERT(dat_ep_post_send(r->side->ep, 1, &too_long, ck(2),
					DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS);
	}
}

/* A post never finds the address of one registration together with the length of another one. So
 * few instructions would have to coincide that this case notices it with ThreadSanitizer only. */
TEST_LIMIT(threads_ep, posts_while_another_registers_other_memory_in_the_same_region, 60)
{
	static char near[NEAR], far[FAR];
	struct reused r = { .near = { .mem = near, .len = NEAR }, .stop = false };
	struct dt_thread t;
	struct pair p;
	struct buf b;

	pair_up(&p);
	r.side = &p.a;
	r.context = 0;
	dt_thread_start(&t, post_to_the_region_until_stopped, &r);
	for (int i = 0; i < REGISTRATIONS / (int)dt_slow(); i++) {
		buf_register(&b, &p.node, p.node.pz, i % 2 ? far : near, i % 2 ? FAR : NEAR,
			     PRIV_ALL);
		r.context = b.ctx;
		buf_unregister(&b);
	}
	r.stop = true;
	dt_thread_join(&t);
	pair_close(&p);
}
