/* SPDX-License-Identifier: BSD-2-Clause */
/* Notification objects: triggers, waiters, and their connection to EVDs. */
#include "rig.h"

struct rig {
	struct node n;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	int woken;
};

static void rig_open(struct rig *r)
{
	r->woken = 0;
	node_open(&r->n);
	OK(dat_cno_create(r->n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &r->cno));
	r->evd = evd_make_cno(&r->n, 8, DAT_EVD_SOFTWARE_FLAG, r->cno);
}

static void rig_close(struct rig *r)
{
	OK(dat_evd_free(r->evd));
	OK(dat_cno_free(r->cno));
	node_close(&r->n);
}

static void no_trigger(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = &evd;

	ASSERT_EQ(DAT_GET_TYPE(dat_cno_wait(cno, US_SHORT, &evd)), DAT_QUEUE_EMPTY);
	ASSERT_PTR(evd, NULL);
}

static void trigger_of(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE want)
{
	DAT_EVD_HANDLE evd = NULL;

	OK(dat_cno_wait(cno, US_EVENT * dt_slow(), &evd));
	ASSERT_PTR(evd, want);
}

TEST(cno, create_and_query)
{
	DAT_CNO_PARAM param;
	struct rig r;

	rig_open(&r);
	memset(&param, 0xa5, sizeof(param));
	OK(dat_cno_query(r.cno, DAT_CNO_FIELD_ALL, &param));
	ASSERT_PTR(param.ia_handle, r.n.ia);
#if DAT_TEST_API == 12
	ASSERT(param.agent.proxy_agent_func == NULL);
	ASSERT_PTR(param.agent.instance_data, NULL);
#else
	ASSERT_EQ(param.proxy_type, DAT_PROXY_TYPE_NONE);
#endif
	rig_close(&r);
}

TEST(cno, query_bad_arguments)
{
	DAT_CNO_PARAM param;
	struct rig r;

	rig_open(&r);
	BAD_ARG(dat_cno_query(r.cno, DAT_CNO_FIELD_ALL, NULL), 3);
	BAD_ARG(dat_cno_query(r.cno, (DAT_CNO_PARAM_MASK)0x40, &param), 2);
	rig_close(&r);
}

TEST(cno, create_pointer_NULL_is_ARG3)
{
	struct node n;

	node_open(&n);
	BAD_ARG(dat_cno_create(n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, NULL), 3);
	node_close(&n);
}

TEST(cno, wait_without_a_trigger_is_QUEUE_EMPTY_after_the_timeout)
{
	DAT_EVD_HANDLE evd = &evd;
	struct dt_start start;
	uint64_t took;
	struct rig r;

	rig_open(&r);
	start = dt_start();
	ASSERT_EQ(DAT_GET_TYPE(dat_cno_wait(r.cno, 200000, &evd)), DAT_QUEUE_EMPTY);
	took = dt_took_us(&start);
	ASSERT(took >= 200000 && dt_in_time(&start, 300000));
	ASSERT_PTR(evd, NULL);
	start = dt_start();
	ASSERT_EQ(DAT_GET_TYPE(dat_cno_wait(r.cno, 0, &evd)), DAT_QUEUE_EMPTY);
	ASSERT(dt_in_time(&start, 50000));
	rig_close(&r);
}

TEST(cno, wait_evd_NULL_is_ARG3)
{
	struct rig r;

	rig_open(&r);
	OK(post_se(r.evd, 1));
	BAD_ARG(dat_cno_wait(r.cno, 0, NULL), 3);
	trigger_of(r.cno, r.evd);
	rig_close(&r);
}

TEST(cno, pending_trigger_is_returned_at_once_and_consumed)
{
	struct rig r;

	rig_open(&r);
	OK(post_se(r.evd, 1));
	trigger_of(r.cno, r.evd);
	no_trigger(r.cno);
	/* The event itself is still to be dequeued. */
	EV_SE(r.evd, 1);
	rig_close(&r);
}

TEST(cno, triggers_merge_until_one_is_consumed)
{
	DAT_EVD_HANDLE other, evd = NULL;
	struct rig r;

	rig_open(&r);
	other = evd_make_cno(&r.n, 8, DAT_EVD_SOFTWARE_FLAG, r.cno);
	OK(post_se(r.evd, 1));
	OK(post_se(other, 2));
	OK(post_se(r.evd, 3));
	OK(dat_cno_wait(r.cno, US_EVENT, &evd));
	ASSERT(evd == r.evd || evd == other);
	no_trigger(r.cno);
	OK(post_se(other, 4));
	trigger_of(r.cno, other);
	OK(dat_evd_free(other));
	rig_close(&r);
}

static void wait_trigger(void *arg)
{
	struct rig *r = arg;
	DAT_EVD_HANDLE evd = NULL;

	OK(dat_cno_wait(r->cno, DAT_TIMEOUT_INFINITE, &evd));
	ASSERT_PTR(evd, r->evd);
	__atomic_add_fetch(&r->woken, 1, __ATOMIC_RELEASE);
}

static int woken(struct rig *r)
{
	return __atomic_load_n(&r->woken, __ATOMIC_ACQUIRE);
}

TEST(cno, blocked_waiter_is_woken)
{
	struct dt_thread t;
	struct rig r;

	rig_open(&r);
	dt_thread_start(&t, wait_trigger, &r);
	dt_thread_wait_blocked(&t);
	OK(post_se(r.evd, 1));
	dt_thread_join(&t);
	rig_close(&r);
}

TEST(cno, several_waiters_are_all_woken_by_enough_triggers)
{
	struct dt_thread t[3];
	struct rig r;
	int i;

	rig_open(&r);
	for (i = 0; i < 3; i++)
		dt_thread_start(&t[i], wait_trigger, &r);
	for (i = 0; i < 3; i++)
		dt_thread_wait_blocked(&t[i]);
	/* One trigger may release one waiter or all; pending triggers merge. */
	for (i = 0; i < 3; i++) {
		OK(post_se(r.evd, (uintptr_t)i));
		DT_UNTIL(woken(&r) > i, US_EVENT);
	}
	for (i = 0; i < 3; i++)
		dt_thread_join(&t[i]);
	rig_close(&r);
}

static void ignore_signal(int sig)
{
	(void)sig;
}

static void wait_interrupted(void *arg)
{
	struct rig *r = arg;
	DAT_EVD_HANDLE evd = NULL;

	ASSERT_EQ(DAT_GET_TYPE(dat_cno_wait(r->cno, DAT_TIMEOUT_INFINITE, &evd)),
		  DAT_INTERRUPTED_CALL);
}

TEST(cno, signal_ends_a_wait_with_INTERRUPTED_CALL)
{
	struct sigaction sa;
	struct dt_thread t;
	struct rig r;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = ignore_signal;
	/* As for poll(2), in vain. */
	sa.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &sa, NULL);
	rig_open(&r);
	dt_thread_start(&t, wait_interrupted, &r);
	dt_thread_wait_blocked(&t);
	pthread_kill(t.id, SIGUSR1);
	dt_thread_join(&t);
	rig_close(&r);
}

TEST(cno, disabled_evd_does_not_trigger)
{
	struct rig r;

	rig_open(&r);
	OK(dat_evd_disable(r.evd));
	OK(post_se(r.evd, 1));
	no_trigger(r.cno);
	OK(dat_evd_enable(r.evd));
	OK(post_se(r.evd, 2));
	trigger_of(r.cno, r.evd);
	EV_SE(r.evd, 1);
	EV_SE(r.evd, 2);
	rig_close(&r);
}

TEST(cno, unwaitable_evd_triggers)
{
	struct rig r;

	rig_open(&r);
	OK(dat_evd_set_unwaitable(r.evd));
	OK(post_se(r.evd, 1));
	trigger_of(r.cno, r.evd);
	rig_close(&r);
}

static void take_event(void *arg)
{
	EV_SE(arg, 9);
}

TEST(cno, direct_waiter_takes_the_notification)
{
	struct dt_thread t;
	struct rig r;

	rig_open(&r);
	dt_thread_start(&t, take_event, r.evd);
	dt_thread_wait_blocked(&t);
	OK(post_se(r.evd, 9));
	dt_thread_join(&t);
	no_trigger(r.cno);
	rig_close(&r);
}

TEST(cno, modify_cno_moves_and_detaches_an_evd)
{
	DAT_CNO_HANDLE other;
	DAT_EVD_PARAM param;
	struct rig r;

	rig_open(&r);
	OK(dat_cno_create(r.n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &other));
	OK(dat_evd_modify_cno(r.evd, other));
	OK(dat_evd_query(r.evd, DAT_EVD_FIELD_ALL, &param));
	ASSERT_PTR(param.cno_handle, other);
	OK(post_se(r.evd, 1));
	trigger_of(other, r.evd);
	no_trigger(r.cno);
	OK(dat_evd_modify_cno(r.evd, DAT_HANDLE_NULL));
	OK(dat_evd_query(r.evd, DAT_EVD_FIELD_ALL, &param));
	ASSERT_PTR(param.cno_handle, NULL);
	OK(post_se(r.evd, 2));
	no_trigger(other);
	OK(dat_cno_free(other));
	rig_close(&r);
}

TEST(cno, modify_cno_bad_cno_is_INVALID_HANDLE_CNO)
{
	DAT_CNO_HANDLE freed, foreign;
	struct node other;
	struct rig r;

	rig_open(&r);
	OK(dat_cno_create(r.n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &freed));
	OK(dat_cno_free(freed));
	BAD_HANDLE(dat_evd_modify_cno(r.evd, freed), CNO);
	BAD_HANDLE(dat_evd_modify_cno(r.evd, r.n.pz), CNO);
	node_open(&other);
	OK(dat_cno_create(other.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &foreign));
	BAD_HANDLE(dat_evd_modify_cno(r.evd, foreign), CNO);
	OK(dat_cno_free(foreign));
	node_close(&other);
	OK(post_se(r.evd, 1));
	trigger_of(r.cno, r.evd);
	rig_close(&r);
}

TEST(cno, async_evd_can_be_given_a_cno)
{
	DAT_EVD_PARAM param;
	struct rig r;

	rig_open(&r);
	OK(dat_evd_modify_cno(r.n.async, r.cno));
	OK(dat_evd_query(r.n.async, DAT_EVD_FIELD_ALL, &param));
	ASSERT_PTR(param.cno_handle, r.cno);
	OK(dat_evd_modify_cno(r.n.async, DAT_HANDLE_NULL));
	rig_close(&r);
}

TEST(cno, free_with_an_evd_is_CNO_IN_USE)
{
	struct rig r;

	rig_open(&r);
	BAD_STATE(dat_cno_free(r.cno), CNO_IN_USE);
	OK(post_se(r.evd, 1));
	trigger_of(r.cno, r.evd);
	rig_close(&r);
}

TEST(cno, free_with_a_waiter_is_CNO_IN_USE)
{
	struct dt_thread t;
	struct rig r;

	rig_open(&r);
	OK(dat_evd_modify_cno(r.evd, DAT_HANDLE_NULL));
	dt_thread_start(&t, wait_trigger, &r);
	dt_thread_wait_blocked(&t);
	BAD_STATE(dat_cno_free(r.cno), CNO_IN_USE);
	/* Wakes the waiter. */
	OK(dat_evd_modify_cno(r.evd, r.cno));
	OK(post_se(r.evd, 1));
	dt_thread_join(&t);
	rig_close(&r);
}

static void wait_for_nothing(void *arg)
{
	struct rig *r = arg;
	DAT_EVD_HANDLE evd = r->evd;

	OK(dat_cno_wait(r->cno, DAT_TIMEOUT_INFINITE, &evd));
	ASSERT_PTR(evd, DAT_HANDLE_NULL);
	__atomic_add_fetch(&r->woken, 1, __ATOMIC_RELEASE);
}

TEST(cno, last_evd_that_goes_releases_all_waiters_with_a_NULL_evd)
{
	struct dt_thread t[3];
	DAT_EVD_HANDLE other;
	struct rig r;
	int i;

	rig_open(&r);
	other = evd_make_cno(&r.n, 8, DAT_EVD_SOFTWARE_FLAG, r.cno);
	for (i = 0; i < 3; i++)
		dt_thread_start(&t[i], wait_for_nothing, &r);
	for (i = 0; i < 3; i++)
		dt_thread_wait_blocked(&t[i]);
	OK(dat_evd_free(other));
	for (i = 0; i < 3; i++)
		dt_thread_wait_blocked(&t[i]);
	ASSERT_EQ(woken(&r), 0);
	OK(dat_evd_free(r.evd));
	for (i = 0; i < 3; i++)
		dt_thread_join(&t[i]);
	ASSERT_EQ(woken(&r), 3);
	/* Nothing of it is left for the next wait, and the CNO works on. */
	no_trigger(r.cno);
	r.evd = evd_make_cno(&r.n, 8, DAT_EVD_SOFTWARE_FLAG, r.cno);
	no_trigger(r.cno);
	OK(post_se(r.evd, 1));
	trigger_of(r.cno, r.evd);
	rig_close(&r);
}

TEST(cno, trigger_of_an_evd_that_was_freed_names_another_one)
{
	DAT_EVD_HANDLE evd[4];
	struct rig r;
	int i;

	rig_open(&r);
	for (i = 0; i < 4; i++)
		evd[i] = evd_make_cno(&r.n, 8, DAT_EVD_SOFTWARE_FLAG, r.cno);
	/* The trigger of the freed ones stands for this one, too. */
	for (i = 0; i < 3; i++)
		OK(post_se(evd[i], 1));
	OK(dat_evd_free(evd[0]));
	OK(dat_evd_free(evd[2]));
	trigger_of(r.cno, evd[1]);
	no_trigger(r.cno);
	/* Nothing is left to report, but the handle is one that exists. */
	OK(post_se(evd[3], 2));
	OK(dat_evd_free(evd[3]));
	trigger_of(r.cno, evd[1]);
	/* An EVD that was detached before exists no more, either. */
	OK(post_se(evd[1], 2));
	OK(dat_evd_modify_cno(evd[1], DAT_HANDLE_NULL));
	OK(dat_evd_free(evd[1]));
	trigger_of(r.cno, r.evd);
	/* Another EVD in the memory of the one that has triggered has not. */
	OK(post_se(r.evd, 3));
	OK(dat_evd_free(r.evd));
	trigger_of(r.cno, DAT_HANDLE_NULL);
	r.evd = evd_make_cno(&r.n, 8, DAT_EVD_SOFTWARE_FLAG, r.cno);
	no_trigger(r.cno);
	rig_close(&r);
}

static void wait_for_evd(void *arg)
{
	struct rig *r = arg;
	DAT_EVD_HANDLE evd = NULL;

	OK(dat_cno_wait(r->cno, DAT_TIMEOUT_INFINITE, &evd));
	ASSERT_PTR(evd, r->evd);
}

TEST(cno, assigned_again_to_its_evd_leaves_the_waiter_alone)
{
	struct dt_thread t;
	struct rig r;

	rig_open(&r);
	dt_thread_start(&t, wait_for_evd, &r);
	dt_thread_wait_blocked(&t);
	OK(dat_evd_modify_cno(r.evd, r.cno));
	OK(post_se(r.evd, 1));
	dt_thread_join(&t);
	rig_close(&r);
}

/* ---- streams of a connection ---- */

static void add_cno(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno)
{
	OK(dat_evd_modify_cno(evd, cno));
}

TEST(cno, connection_and_transfer_events_trigger)
{
	DAT_CNO_HANDLE cr, conn, dto;
	DAT_CR_HANDLE req;
	struct pair p;

	pair_open(&p);
	OK(dat_cno_create(p.node.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cr));
	OK(dat_cno_create(p.node.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &conn));
	OK(dat_cno_create(p.node.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &dto));
	add_cno(p.cr_evd, cr);
	add_cno(p.a.conn, conn);
	add_cno(p.b.recv, dto);
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual));
	trigger_of(cr, p.cr_evd);
	req = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_accept(req, p.b.ep, 0, NULL));
	trigger_of(conn, p.a.conn);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	OK(post_recv(&p.b, 0, 10, 1));
	no_trigger(dto);
	OK(post_send(&p.a, 0, 10, 2));
	trigger_of(dto, p.b.recv);
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 10);
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	trigger_of(conn, p.a.conn);
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	OK(dat_ep_free(p.b.ep));
	p.b.ep = NULL;
	add_cno(p.cr_evd, NULL);
	add_cno(p.a.conn, NULL);
	add_cno(p.b.recv, NULL);
	OK(dat_cno_free(cr));
	OK(dat_cno_free(conn));
	OK(dat_cno_free(dto));
	pair_close(&p);
}

TEST(cno, many_transfers_never_lose_the_wake_up)
{
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	struct pair p;
	DAT_EVENT ev;
	int i;

	pair_up(&p);
	OK(dat_cno_create(p.node.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	add_cno(p.b.recv, cno);
	for (i = 0; i < 200; i++) {
		OK(post_recv(&p.b, 0, 10, (uint64_t)i));
		OK(post_send(&p.a, 0, 10, 7));
		while (dat_evd_dequeue(p.b.recv, &ev) != DAT_SUCCESS)
			OK(dat_cno_wait(cno, US_EVENT * dt_slow(), &evd));
		CHECK_DTO(&ev, p.b.recv, p.b.ep, (uint64_t)i, OP_RECV, 10);
		EV_DTO(p.a.req, p.a.ep, 7, OP_SEND, 10);
	}
	add_cno(p.b.recv, NULL);
	OK(dat_cno_free(cno));
	pair_close(&p);
}

/* The receive is posted while all threads sleep, and nothing is polled afterwards. The message is
 * longer than what a post copies. */
TEST(cno, receive_posted_for_a_long_message_that_waited_triggers)
{
	struct buf sink, big;
	DAT_CNO_HANDLE cno;
	DAT_LMR_TRIPLET t;
	struct pair p;

	pair_up(&p);
	buf_make(&sink, &p.node, BLOCK_LEN, PRIV_ALL);
	OK(dat_cno_create(p.node.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	add_cno(p.b.recv, cno);
	buf_make(&big, &p.node, BLOCK_LEN, PRIV_ALL);
	fill(big.mem, BLOCK_LEN, 5);
	t = seg(&big, 0, BLOCK_LEN);
	OK(dat_ep_post_send(p.a.ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
	no_trigger(cno);
	t = seg(&sink, 0, BLOCK_LEN);
	OK(dat_ep_post_recv(p.b.ep, 1, &t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	trigger_of(cno, p.b.recv);
	EV_DTO(p.b.recv, p.b.ep, 2, OP_RECV, BLOCK_LEN);
	CHECK_FILL(sink.mem, BLOCK_LEN, 5);
	EV_DTO(p.a.req, p.a.ep, 1, OP_SEND, BLOCK_LEN);
	add_cno(p.b.recv, NULL);
	OK(dat_cno_free(cno));
	buf_free(&big);
	buf_free(&sink);
	pair_close(&p);
}
