/* SPDX-License-Identifier: BSD-2-Clause */
/* Event dispatchers: creation, streams, query, size, state, and when they may go. */
#include "rig.h"

TEST(evd, create_and_query)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	OK(dat_cno_create(n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	evd = evd_make_cno(&n, 13, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG, cno);
	memset(&param, 0xa5, sizeof(param));
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	ASSERT_PTR(param.ia_handle, n.ia);
	ASSERT(param.evd_qlen >= 13);
	ASSERT_EQ(param.evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	ASSERT_PTR(param.cno_handle, cno);
	ASSERT_EQ(param.evd_flags, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG);
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

struct stream {
	const char *rule;
	int flag;
};

static void one_stream(const void *arg)
{
	const struct stream *s = arg;
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 4, s->flag);
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	ASSERT_EQ(param.evd_flags, s->flag);
	OK(dat_evd_free(evd));
	node_close(&n);
}

static const struct stream streams[] = {
	{ "stream_software_alone", DAT_EVD_SOFTWARE_FLAG },
	{ "stream_connection_request_alone", DAT_EVD_CR_FLAG },
	{ "stream_dto_alone", DAT_EVD_DTO_FLAG },
	{ "stream_connection_alone", DAT_EVD_CONNECTION_FLAG },
	{ "stream_rmr_bind_alone", DAT_EVD_RMR_BIND_FLAG },
	{ "stream_async_alone", DAT_EVD_ASYNC_FLAG },
	{ "streams_default", DAT_EVD_DEFAULT_FLAG },
	{ "streams_all", DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG },
};

TEST_ROWS(evd, streams, one_stream)

TEST(evd, every_pair_of_streams_can_be_merged)
{
	static const int flags[] = {
		DAT_EVD_SOFTWARE_FLAG,   DAT_EVD_CR_FLAG,       DAT_EVD_DTO_FLAG,
		DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
	};
	struct node n;
	int i, j;

	node_open(&n);
	for (i = 0; i < 6; i++)
		for (j = 0; j < i; j++)
			OK(dat_evd_free(evd_make(&n, 4, flags[i] | flags[j])));
	node_close(&n);
}

/* One queue for everything that two endpoints and a service point tell. */
TEST(evd, all_streams_of_a_connection_on_one_evd)
{
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE a, b;
	DAT_PSP_HANDLE psp;
	DAT_EVD_HANDLE evd;
	DAT_CR_HANDLE cr;
	DAT_LMR_TRIPLET t;
	struct node n;
	struct buf buf;
	int seen, i;
	DAT_EVENT ev;

	node_open(&n);
	buf_make(&buf, &n, 4096, PRIV_ALL);
	evd = evd_make(&n, 64, DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG);
	OK(dat_ep_create(n.ia, n.pz, evd, evd, evd, NULL, &a));
	OK(dat_ep_create(n.ia, n.pz, evd, evd, evd, NULL, &b));
	OK(dat_psp_create_any(n.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(connect_to(a, n.attr.ia_address_ptr, qual));
	cr = EV_CR(evd, psp, qual);
	OK(dat_cr_accept(cr, b, 0, NULL));
	for (seen = 0, i = 0; i < 2; i++) {
		EV_NEXT(evd, &ev);
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
		seen |= ev.event_data.connect_event_data.ep_handle == a ? 1 : 2;
	}
	ASSERT_EQ(seen, 3);
	OK(post_se(evd, 77));
	EV_SE(evd, 77);
	t = seg(&buf, 1024, 100);
	OK(dat_ep_post_recv(b, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
	t = seg(&buf, 0, 100);
	OK(dat_ep_post_send(a, 1, &t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	for (seen = 0, i = 0; i < 2; i++) {
		EV_NEXT(evd, &ev);
		ASSERT_EQ(ev.event_number, DAT_DTO_COMPLETION_EVENT);
		seen |= (int)dto_of(&ev)->user_cookie.as_64;
	}
	ASSERT_EQ(seen, 3);
	OK(dat_ep_disconnect(a, DAT_CLOSE_ABRUPT_FLAG));
	for (seen = 0, i = 0; i < 2; i++) {
		EV_NEXT(evd, &ev);
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
		seen |= ev.event_data.connect_event_data.ep_handle == a ? 1 : 2;
	}
	ASSERT_EQ(seen, 3);
	OK(dat_ep_free(a));
	OK(dat_ep_free(b));
	OK(dat_psp_free(psp));
	OK(dat_evd_free(evd));
	buf_free(&buf);
	node_close(&n);
}

TEST(evd, create_qlen_not_positive_is_ARG2)
{
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	BAD_ARG(dat_evd_create(n.ia, 0, NULL, DAT_EVD_SOFTWARE_FLAG, &evd), 2);
	BAD_ARG(dat_evd_create(n.ia, -5, NULL, DAT_EVD_SOFTWARE_FLAG, &evd), 2);
	node_close(&n);
}

TEST(evd, create_qlen_above_the_maximum_is_INSUFFICIENT_RESOURCES_TEVD)
{
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	if (n.attr.max_evd_qlen < 0x7fffffff)
		ASSERT_RET(dat_evd_create(n.ia, n.attr.max_evd_qlen + 1, NULL,
					  DAT_EVD_SOFTWARE_FLAG, &evd),
			   DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	node_close(&n);
}

TEST(evd, create_bad_cno_is_INVALID_HANDLE_CNO)
{
	DAT_CNO_HANDLE cno, foreign;
	DAT_EVD_HANDLE evd;
	struct node n, m;

	node_open(&n);
	node_open(&m);
	OK(dat_cno_create(n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	OK(dat_cno_create(m.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &foreign));
	OK(dat_cno_free(cno));
	BAD_HANDLE(dat_evd_create(n.ia, 4, cno, DAT_EVD_SOFTWARE_FLAG, &evd), CNO);
	BAD_HANDLE(dat_evd_create(n.ia, 4, n.pz, DAT_EVD_SOFTWARE_FLAG, &evd), CNO);
	BAD_HANDLE(dat_evd_create(n.ia, 4, foreign, DAT_EVD_SOFTWARE_FLAG, &evd), CNO);
	OK(dat_cno_free(foreign));
	node_close(&m);
	node_close(&n);
}

TEST(evd, create_unknown_stream_is_ARG4)
{
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	BAD_ARG(dat_evd_create(n.ia, 4, NULL, (DAT_EVD_FLAGS)0x4000, &evd), 4);
	BAD_ARG(dat_evd_create(n.ia, 4, NULL, (DAT_EVD_FLAGS)0, &evd), 4);
	node_close(&n);
}

TEST(evd, create_pointer_NULL_is_ARG5)
{
	struct node n;

	node_open(&n);
	BAD_ARG(dat_evd_create(n.ia, 4, NULL, DAT_EVD_SOFTWARE_FLAG, NULL), 5);
	node_close(&n);
}

TEST(evd, query_bad_arguments)
{
	DAT_EVD_PARAM param;
	struct node n;

	node_open(&n);
	BAD_ARG(dat_evd_query(n.async, DAT_EVD_FIELD_ALL, NULL), 3);
	BAD_ARG(dat_evd_query(n.async, (DAT_EVD_PARAM_MASK)0x20, &param), 2);
	node_close(&n);
}

TEST(evd, enable_and_disable_change_the_state_bits_and_repeat)
{
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	struct node n;
	int i;

	node_open(&n);
	evd = evd_make(&n, 4, DAT_EVD_SOFTWARE_FLAG);
	for (i = 0; i < 2; i++) {
		OK(dat_evd_disable(evd));
		OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		ASSERT_EQ(param.evd_state, DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_WAITABLE);
	}
	for (i = 0; i < 2; i++) {
		OK(dat_evd_enable(evd));
		OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		ASSERT_EQ(param.evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	}
	for (i = 0; i < 2; i++) {
		OK(dat_evd_set_unwaitable(evd));
		OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		ASSERT_EQ(param.evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_UNWAITABLE);
	}
	for (i = 0; i < 2; i++) {
		OK(dat_evd_clear_unwaitable(evd));
		OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		ASSERT_EQ(param.evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	}
	OK(dat_evd_free(evd));
	node_close(&n);
}

/* ---- software events ---- */

TEST(evd, post_se_carries_the_pointer)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 4, DAT_EVD_SOFTWARE_FLAG);
	memset(&ev, 0, sizeof(ev));
	ev.event_number = DAT_SOFTWARE_EVENT;
	ev.event_data.software_event_data.pointer = &n;
	OK(dat_evd_post_se(evd, &ev));
	/* The event itself was copied. */
	memset(&ev, 0, sizeof(ev));
	EV_SE(evd, (uintptr_t)&n);
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(evd, post_se_bad_arguments)
{
	DAT_EVD_HANDLE evd, other;
	DAT_EVENT ev;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 4, DAT_EVD_SOFTWARE_FLAG);
	other = evd_make(&n, 4, DAT_EVD_CONNECTION_FLAG);
	memset(&ev, 0, sizeof(ev));
	ev.event_number = DAT_SOFTWARE_EVENT;
	BAD_ARG(dat_evd_post_se(other, &ev), 1);
	BAD_ARG(dat_evd_post_se(evd, NULL), 2);
	ev.event_number = DAT_DTO_COMPLETION_EVENT;
	BAD_ARG(dat_evd_post_se(evd, &ev), 2);
	EV_EMPTY(evd);
	EV_EMPTY(other);
	OK(dat_evd_free(other));
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(evd, post_se_on_a_full_evd_is_QUEUE_FULL_and_no_overflow)
{
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	struct node n;
	DAT_COUNT i;

	node_open(&n);
	evd = evd_make(&n, 5, DAT_EVD_SOFTWARE_FLAG);
	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	for (i = 0; i < param.evd_qlen; i++)
		OK(post_se(evd, (uintptr_t)i));
	ASSERT_RET(post_se(evd, 4711), DAT_QUEUE_FULL, 0);
	EV_NONE(n.async);
	for (i = 0; i < param.evd_qlen; i++)
		EV_SE(evd, (uintptr_t)i);
	EV_EMPTY(evd);
	OK(post_se(evd, 1));
	EV_SE(evd, 1);
	OK(dat_evd_free(evd));
	node_close(&n);
}

/* ---- dequeue ---- */

TEST(evd, dequeue_takes_events_in_order)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;
	struct node n;
	uintptr_t i;

	node_open(&n);
	evd = evd_make(&n, 16, DAT_EVD_SOFTWARE_FLAG);
	for (i = 0; i < 10; i++)
		OK(post_se(evd, i));
	for (i = 0; i < 10; i++) {
		memset(&ev, 0xa5, sizeof(ev));
		OK(dat_evd_dequeue(evd, &ev));
		ASSERT_EQ(ev.event_number, DAT_SOFTWARE_EVENT);
		ASSERT_PTR(ev.evd_handle, evd);
		ASSERT_PTR(ev.event_data.software_event_data.pointer, (void *)i);
	}
	ASSERT_EQ(DAT_GET_TYPE(dat_evd_dequeue(evd, &ev)), DAT_QUEUE_EMPTY);
	BAD_ARG(dat_evd_dequeue(evd, NULL), 2);
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(evd, dequeue_works_on_unwaitable_and_disabled_evds)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 16, DAT_EVD_SOFTWARE_FLAG);
	OK(dat_evd_set_unwaitable(evd));
	OK(dat_evd_disable(evd));
	OK(post_se(evd, 1));
	OK(dat_evd_dequeue(evd, &ev));
	ASSERT_PTR(ev.event_data.software_event_data.pointer, (void *)1);
	OK(dat_evd_free(evd));
	node_close(&n);
}

struct taker {
	DAT_EVD_HANDLE evd;
	unsigned char *seen;
	int taken;
};

static void take(void *arg)
{
	struct taker *t = arg;
	DAT_EVENT ev;

	while (dat_evd_dequeue(t->evd, &ev) == DAT_SUCCESS) {
		__atomic_add_fetch(&t->seen[number_of(&ev)], 1, __ATOMIC_RELAXED);
		t->taken++;
	}
}

TEST(evd, concurrent_dequeues_get_distinct_events)
{
	static unsigned char seen[2000];
	struct dt_thread th[4];
	struct taker t[4];
	DAT_EVD_HANDLE evd;
	struct node n;
	int i, all = 0;

	node_open(&n);
	evd = evd_make(&n, 2000, DAT_EVD_SOFTWARE_FLAG);
	for (i = 0; i < 2000; i++)
		OK(post_se(evd, (uintptr_t)i));
	for (i = 0; i < 4; i++) {
		t[i] = (struct taker){ evd, seen, 0 };
		dt_thread_start(&th[i], take, &t[i]);
	}
	for (i = 0; i < 4; i++) {
		dt_thread_join(&th[i]);
		all += t[i].taken;
	}
	ASSERT_EQ(all, 2000);
	for (i = 0; i < 2000; i++)
		ASSERT_EQ(seen[i], 1);
	OK(dat_evd_free(evd));
	node_close(&n);
}

/* ---- free ---- */

TEST(evd, free_loses_queued_events)
{
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 4, DAT_EVD_SOFTWARE_FLAG);
	OK(post_se(evd, 1));
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(evd, free_while_a_stream_feeds_it_is_EVD_IN_USE)
{
	struct pair p;

	pair_open(&p);
	BAD_STATE(dat_evd_free(p.a.recv), EVD_IN_USE);
	BAD_STATE(dat_evd_free(p.a.req), EVD_IN_USE);
	BAD_STATE(dat_evd_free(p.a.conn), EVD_IN_USE);
	BAD_STATE(dat_evd_free(p.cr_evd), EVD_IN_USE);
	BAD_STATE(dat_evd_free(p.node.async), EVD_IN_USE);
	/* They still work. */
	pair_connect(&p);
	pair_close(&p);
}

TEST(evd, free_of_an_rsp_evd_is_EVD_IN_USE)
{
	DAT_RSP_HANDLE rsp;
	DAT_EVD_HANDLE evd;
	struct pair p;

	pair_open(&p);
	evd = evd_make(&p.node, 4, DAT_EVD_CR_FLAG);
	OK(dat_rsp_create(p.node.ia, free_qual(&p.node, p.cr_evd), p.b.ep, evd, &rsp));
	BAD_STATE(dat_evd_free(evd), EVD_IN_USE);
	OK(dat_rsp_free(rsp));
	OK(dat_evd_free(evd));
	pair_close(&p);
}

TEST(evd, free_after_ep_modify_took_its_stream_away)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_PARAM param;
	struct pair p;

	pair_open(&p);
	evd = evd_make(&p.node, 8, DAT_EVD_CONNECTION_FLAG);
	memset(&param, 0, sizeof(param));
	param.connect_evd_handle = evd;
	OK(dat_ep_modify(p.a.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	OK(dat_evd_free(p.a.conn));
	p.a.conn = evd;
	pair_connect(&p);
	pair_close(&p);
}

static void wait_abort(void *arg)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	ASSERT_RET(dat_evd_wait(arg, DAT_TIMEOUT_INFINITE, 1, &ev, &more), DAT_ABORT, 0);
}

TEST(evd, free_releases_a_waiter_with_ABORT)
{
	struct dt_thread t;
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 4, DAT_EVD_SOFTWARE_FLAG);
	dt_thread_start(&t, wait_abort, evd);
	dt_thread_wait_blocked(&t);
	OK(dat_evd_free(evd));
	dt_thread_join(&t);
	node_close(&n);
}
