/* SPDX-License-Identifier: BSD-2-Clause */
/* Proxy agents of notification objects, and (2.0) their file descriptors. */
#include "rig.h"

struct agent {
	int calls;
	DAT_EVD_HANDLE evd;
	struct pair *pair;
	DAT_SRQ_HANDLE srq;
};

static void on_trigger(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	struct agent *a = instance;

	a->evd = evd;
	__atomic_add_fetch(&a->calls, 1, __ATOMIC_RELEASE);
}

static int calls(struct agent *a)
{
	return __atomic_load_n(&a->calls, __ATOMIC_ACQUIRE);
}

static DAT_OS_WAIT_PROXY_AGENT agent_of(struct agent *a)
{
	DAT_OS_WAIT_PROXY_AGENT proxy;

	proxy.instance_data = a;
	proxy.proxy_agent_func = on_trigger;
	return proxy;
}

static void check_query(DAT_CNO_HANDLE cno, const struct agent *a)
{
	DAT_OS_WAIT_PROXY_AGENT *proxy;
	DAT_CNO_PARAM param;

	OK(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
#if DAT_TEST_API == 12
	proxy = &param.agent;
	ASSERT_PTR(proxy->instance_data, a);
	ASSERT((a != NULL) == (proxy->proxy_agent_func == on_trigger));
#else
	ASSERT_EQ(param.proxy_type, a ? DAT_PROXY_TYPE_AGENT : DAT_PROXY_TYPE_NONE);
	proxy = &param.proxy.agent;
	if (a) {
		ASSERT_PTR(proxy->instance_data, a);
		ASSERT(proxy->proxy_agent_func == on_trigger);
	}
#endif
}

TEST(cno_agent, is_called_once_with_its_data_and_the_evd)
{
	struct agent a = { 0 };
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	OK(dat_cno_create(n.ia, agent_of(&a), &cno));
	check_query(cno, &a);
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	ASSERT_EQ(calls(&a), 0);
	OK(post_se(evd, 1));
	DT_UNTIL(calls(&a) == 1, US_EVENT);
	ASSERT_PTR(a.evd, evd);
	/* One shot: it is dissociated now. */
	check_query(cno, NULL);
	OK(post_se(evd, 2));
	dt_sleep_us(US_SHORT);
	ASSERT_EQ(calls(&a), 1);
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

TEST(cno_agent, modify_agent_arms_again)
{
	struct agent a = { 0 }, b = { 0 };
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd, seen;
	struct node n;
	int i;

	node_open(&n);
	OK(dat_cno_create(n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	for (i = 1; i < 4; i++) {
		OK(dat_cno_modify_agent(cno, agent_of(&a)));
		check_query(cno, &a);
		(void)dat_cno_wait(cno, 0, &seen);
		OK(dat_cno_modify_agent(cno, agent_of(&a)));
		OK(post_se(evd, 1));
		DT_UNTIL(calls(&a) >= i, US_EVENT);
		EV_SE(evd, 1);
		(void)dat_cno_wait(cno, 0, &seen);
	}
	/* Replacing it before it fires. */
	OK(dat_cno_modify_agent(cno, agent_of(&a)));
	OK(dat_cno_modify_agent(cno, agent_of(&b)));
	i = calls(&a);
	OK(post_se(evd, 1));
	DT_UNTIL(calls(&b) == 1, US_EVENT);
	ASSERT_EQ(calls(&a), i);
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

TEST(cno_agent, removed_agent_is_not_called)
{
	struct agent a = { 0 };
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	OK(dat_cno_create(n.ia, agent_of(&a), &cno));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	OK(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	check_query(cno, NULL);
	OK(post_se(evd, 1));
	dt_sleep_us(US_SHORT);
	ASSERT_EQ(calls(&a), 0);
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

static void wait_trigger(void *arg)
{
	DAT_EVD_HANDLE evd = NULL;

	OK(dat_cno_wait(arg, US_EVENT * dt_slow(), &evd));
}

TEST(cno_agent, works_beside_a_waiter)
{
	struct agent a = { 0 };
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	struct dt_thread t;
	struct node n;

	node_open(&n);
	OK(dat_cno_create(n.ia, agent_of(&a), &cno));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	dt_thread_start(&t, wait_trigger, cno);
	dt_thread_wait_blocked(&t);
	OK(post_se(evd, 1));
	dt_thread_join(&t);
	DT_UNTIL(calls(&a) == 1, US_EVENT);
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

/* An agent that answers each message with another one. */
static void answer(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	DAT_OS_WAIT_PROXY_AGENT proxy;
	struct agent *a = instance;
	struct pair *p = a->pair;
	DAT_EVD_PARAM param;
	DAT_EVENT ev;
	int n = 0;

	OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
	proxy.instance_data = a;
	proxy.proxy_agent_func = answer;
	OK(dat_cno_modify_agent(param.cno_handle, proxy));
	while (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS) {
		CHECK_DTO(&ev, p->b.recv, p->b.ep, 1, OP_RECV, 50);
		OK(post_recv(&p->b, 0, 50, 1));
		OK(post_send(&p->b, 0, 50, 2));
		n++;
	}
	/* The last that the agent does: it has to be out of the way when the pair is closed. */
	__atomic_add_fetch(&a->calls, n, __ATOMIC_RELEASE);
}

TEST(cno_agent, may_call_dat_itself)
{
	DAT_OS_WAIT_PROXY_AGENT proxy;
	struct agent a = { 0 };
	DAT_CNO_HANDLE cno;
	struct pair p;
	int i;

	pair_up(&p);
	a.pair = &p;
	proxy.instance_data = &a;
	proxy.proxy_agent_func = answer;
	OK(post_recv(&p.b, 0, 50, 1));
	OK(dat_cno_create(p.node.ia, proxy, &cno));
	OK(dat_evd_modify_cno(p.b.recv, cno));
	for (i = 0; i < 20; i++) {
		OK(post_recv(&p.a, 0, 50, 3));
		OK(post_send(&p.a, 100, 50, 4));
		EV_DTO(p.a.recv, p.a.ep, 3, OP_RECV, 50);
		EV_DTO(p.a.req, p.a.ep, 4, OP_SEND, 50);
		EV_DTO(p.b.req, p.b.ep, 2, OP_SEND, 50);
	}
	DT_UNTIL(calls(&a) == 20, US_EVENT);
	OK(dat_evd_modify_cno(p.b.recv, DAT_HANDLE_NULL));
	OK(dat_cno_free(cno));
	pair_close(&p);
}

TEST(cno_agent, data_without_a_function_is_ARG2_and_changes_nothing)
{
	struct agent a = { 0 };
	DAT_OS_WAIT_PROXY_AGENT bad = { .instance_data = &a };
	DAT_CNO_HANDLE cno, none;
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	BAD_ARG(dat_cno_create(n.ia, bad, &none), 2);
	OK(dat_cno_create(n.ia, agent_of(&a), &cno));
	BAD_ARG(dat_cno_modify_agent(cno, bad), 2);
	check_query(cno, &a);
	evd = evd_make_cno(&n, 4, DAT_EVD_SOFTWARE_FLAG, cno);
	OK(post_se(evd, 1));
	DT_UNTIL(calls(&a) == 1, US_EVENT);
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

/* An agent that posts an operation of every kind, and takes its own completions. */
static void post_each_kind(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	struct agent *a = instance;
	struct pair *p = a->pair;
	DAT_EVENT ev;

	ASSERT_EQ(dat_evd_dequeue(evd, &ev), DAT_SUCCESS);
	OK(post_recv(&p->b, 200, 50, 5));
	OK(dat_srq_post_recv(a->srq, 0, NULL, ck(6)));
	OK(post_read(&p->b, 0, 50, 7, &p->a, 0));
	OK(post_write(&p->b, 0, 50, 8, &p->a, 1000));
	OK(post_send(&p->b, 0, 50, 9));
	__atomic_add_fetch(&a->calls, 1, __ATOMIC_RELEASE);
}

TEST(cno_agent, may_post_operations_of_every_kind)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 2, .max_recv_iov = 1 };
	DAT_OS_WAIT_PROXY_AGENT proxy;
	struct agent a = { 0 };
	DAT_SRQ_PARAM param;
	DAT_CNO_HANDLE cno;
	struct pair p;

	pair_up(&p);
	a.pair = &p;
	OK(dat_srq_create(p.node.ia, p.node.pz, &attr, &a.srq));
	proxy.instance_data = &a;
	proxy.proxy_agent_func = post_each_kind;
	OK(dat_cno_create(p.node.ia, proxy, &cno));
	OK(dat_evd_modify_cno(p.b.recv, cno));
	fill(p.a.buf.mem, 50, 4);
	OK(post_recv(&p.a, 100, 50, 3));
	OK(post_recv(&p.b, 100, 50, 1));
	OK(post_send(&p.a, 0, 50, 2));
	DT_UNTIL(calls(&a) == 1, US_EVENT);
	EV_DTO(p.b.req, p.b.ep, 7, OP_READ, 50);
	EV_DTO(p.b.req, p.b.ep, 8, OP_WRITE, 50);
	EV_DTO(p.b.req, p.b.ep, 9, OP_SEND, 50);
	EV_DTO(p.a.recv, p.a.ep, 3, OP_RECV, 50);
	CHECK_FILL(p.b.buf.mem, 50, 4);
	OK(dat_srq_query(a.srq, DAT_SRQ_FIELD_ALL, &param));
	ASSERT_EQ(param.available_dto_count, 1);
	OK(dat_evd_modify_cno(p.b.recv, DAT_HANDLE_NULL));
	OK(dat_cno_free(cno));
	OK(dat_srq_free(a.srq));
	OK(post_send(&p.a, 0, 50, 2));
	EV_DTO(p.b.recv, p.b.ep, 5, OP_RECV, 50);
	pair_close(&p);
}

TEST(cno_agent, of_a_closed_ia_is_released_with_a_NULL_evd)
{
	struct agent a = { 0 };
	DAT_CNO_HANDLE cno;
	struct node n;

	node_open(&n);
	a.evd = &n;
	OK(dat_cno_create(n.ia, agent_of(&a), &cno));
	evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	node_abort(&n);
	ASSERT_EQ(calls(&a), 1);
	ASSERT_PTR(a.evd, NULL);
}

/* An agent that stays in its call until it is let go. */
struct gate {
	bool inside, go, left;
	DAT_CNO_HANDLE free_cno, disarm_cno; /* what the agent does to its own CNO meanwhile */
};

static bool is_set(bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void set(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

static void stay(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	struct gate *g = instance;

	(void)evd;
	set(&g->inside);
	DT_UNTIL(is_set(&g->go), 2 * US_EVENT);
	set(&g->left);
}

static DAT_OS_WAIT_PROXY_AGENT gate_agent(struct gate *g)
{
	DAT_OS_WAIT_PROXY_AGENT proxy;

	proxy.instance_data = g;
	proxy.proxy_agent_func = stay;
	return proxy;
}

/* A CNO with one EVD, whose agent is inside its call. */
struct busy {
	struct gate gate;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
};

static void busy_start(struct busy *b, struct node *n)
{
	memset(&b->gate, 0, sizeof(b->gate));
	OK(dat_cno_create(n->ia, gate_agent(&b->gate), &b->cno));
	b->evd = evd_make_cno(n, 8, DAT_EVD_SOFTWARE_FLAG, b->cno);
	OK(post_se(b->evd, 1));
	DT_UNTIL(is_set(&b->gate.inside), US_EVENT);
}

static void busy_end(struct busy *b)
{
	set(&b->gate.go);
	OK(dat_evd_free(b->evd));
	OK(dat_cno_free(b->cno));
	ASSERT(is_set(&b->gate.left));
}

static void close_abruptly(void *arg)
{
	struct node *n = arg;

	node_abort(n);
}

/* Otherwise threads that post without pause would compete with the close. */
TEST(cno_agent, while_a_close_waits_for_its_call_endpoints_are_invalid_and_evds_are_not)
{
	struct dt_thread t;
	struct busy b;
	struct pair p;
	DAT_EVENT ev;

	pair_up(&p);
	busy_start(&b, &p.node);
	OK(post_recv(&p.a, 0, 8, 1));
	dt_thread_start(&t, close_abruptly, &p.node);
	DT_UNTIL(DAT_GET_TYPE(post_recv(&p.a, 0, 8, 1)) == DAT_INVALID_HANDLE, US_EVENT);
	BAD_HANDLE(post_send(&p.b, 0, 8, 1), EP);
	EV_EMPTY(p.a.conn);
	ASSERT(!is_set(&b.gate.left));
	set(&b.gate.go);
	dt_thread_join(&t);
	BAD_HANDLE(dat_evd_dequeue(p.a.conn, &ev), EVD_REQUEST);
}

TEST(cno_agent, replaced_while_calls_are_queued_loses_none)
{
	struct agent a[5] = { { 0 } };
	DAT_EVD_HANDLE evd, seen = NULL;
	DAT_CNO_HANDLE cno;
	struct busy b;
	struct node n;
	int i;

	node_open(&n);
	busy_start(&b, &n);
	OK(dat_cno_create(n.ia, agent_of(&a[0]), &cno));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	OK(post_se(evd, 0));
	for (i = 1; i < 4; i++) {
		OK(dat_cno_modify_agent(cno, agent_of(&a[i])));
		OK(post_se(evd, (uintptr_t)i));
	}
	OK(dat_cno_modify_agent(cno, agent_of(&a[4])));
	check_query(cno, &a[4]);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(calls(&a[i]), 0);
	busy_end(&b);
	for (i = 0; i < 4; i++) {
		DT_UNTIL(calls(&a[i]) == 1, US_EVENT);
		ASSERT_PTR(a[i].evd, evd);
		EV_SE(evd, (uintptr_t)i);
	}
	/* The last association has not been triggered yet. */
	ASSERT_EQ(calls(&a[4]), 0);
	OK(dat_cno_wait(cno, 0, &seen));
	OK(post_se(evd, 9));
	DT_UNTIL(calls(&a[4]) == 1, US_EVENT);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(calls(&a[i]), 1);
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

TEST(cno_agent, removed_while_its_call_is_queued_is_not_called)
{
	struct agent a = { 0 }, later = { 0 };
	DAT_CNO_HANDLE cno, freed;
	DAT_EVD_HANDLE evd;
	struct busy b;
	struct node n;

	node_open(&n);
	busy_start(&b, &n);
	OK(dat_cno_create(n.ia, agent_of(&a), &cno));
	OK(dat_cno_create(n.ia, agent_of(&a), &freed));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	OK(post_se(evd, 1));
	OK(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	OK(dat_evd_modify_cno(evd, freed));
	OK(post_se(evd, 2));
	OK(dat_evd_modify_cno(evd, cno));
	OK(dat_cno_free(freed));
	OK(dat_cno_modify_agent(cno, agent_of(&later)));
	OK(post_se(evd, 3));
	busy_end(&b);
	/* Calls are made in the order of the triggers. */
	DT_UNTIL(calls(&later) == 1, US_EVENT);
	ASSERT_EQ(calls(&a), 0);
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

TEST(cno_agent, queued_call_for_an_evd_that_was_freed_names_another_one)
{
	struct agent a = { 0 }, alone = { 0 };
	DAT_EVD_HANDLE evd[3];
	DAT_CNO_HANDLE cno[2];
	struct busy b;
	struct node n;

	node_open(&n);
	busy_start(&b, &n);
	OK(dat_cno_create(n.ia, agent_of(&a), &cno[0]));
	evd[0] = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno[0]);
	evd[1] = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno[0]);
	OK(post_se(evd[0], 1));
	OK(post_se(evd[1], 2));
	OK(dat_evd_free(evd[0]));
	OK(dat_cno_create(n.ia, agent_of(&alone), &cno[1]));
	evd[2] = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno[1]);
	OK(post_se(evd[2], 3));
	OK(dat_evd_free(evd[2]));
	alone.evd = evd[2];
	busy_end(&b);
	DT_UNTIL(calls(&alone) == 1, US_EVENT);
	ASSERT_PTR(alone.evd, DAT_HANDLE_NULL);
	ASSERT_EQ(calls(&a), 1);
	ASSERT_PTR(a.evd, evd[1]);
	OK(dat_evd_free(evd[1]));
	OK(dat_cno_free(cno[0]));
	OK(dat_cno_free(cno[1]));
	node_close(&n);
}

static void remove_agent(void *arg)
{
	struct busy *b = arg;

	OK(dat_cno_modify_agent(b->cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	ASSERT(is_set(&b->gate.left));
}

static void free_cno(void *arg)
{
	struct busy *b = arg;

	OK(dat_cno_free(b->cno));
	ASSERT(is_set(&b->gate.left));
}

TEST(cno_agent, removing_it_waits_for_its_call)
{
	struct dt_thread t;
	struct busy b;
	struct node n;

	node_open(&n);
	busy_start(&b, &n);
	dt_thread_start(&t, remove_agent, &b);
	dt_thread_wait_blocked(&t);
	set(&b.gate.go);
	dt_thread_join(&t);
	busy_end(&b);
	node_close(&n);
}

TEST(cno_agent, freeing_the_cno_waits_for_its_call)
{
	struct dt_thread t;
	struct busy b;
	struct node n;

	node_open(&n);
	busy_start(&b, &n);
	OK(dat_evd_free(b.evd));
	dt_thread_start(&t, free_cno, &b);
	dt_thread_wait_blocked(&t);
	set(&b.gate.go);
	dt_thread_join(&t);
	node_close(&n);
}

static void free_own(DAT_PVOID instance, DAT_EVD_HANDLE evd)
{
	struct gate *g = instance;

	OK(dat_cno_modify_agent(g->disarm_cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	OK(dat_evd_free(evd));
	OK(dat_cno_free(g->free_cno));
	set(&g->left);
}

TEST(cno_agent, may_remove_itself_and_free_its_cno)
{
	DAT_OS_WAIT_PROXY_AGENT proxy;
	struct agent a = { 0 };
	struct gate g = { 0 };
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	OK(dat_cno_create(n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	g.free_cno = g.disarm_cno = cno;
	proxy.instance_data = &g;
	proxy.proxy_agent_func = free_own;
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	OK(dat_cno_modify_agent(cno, proxy));
	OK(post_se(evd, 1));
	DT_UNTIL(is_set(&g.left), US_EVENT);
	BAD_HANDLE(dat_cno_free(cno), CNO);
	/* The thread that made the call continues to work. */
	OK(dat_cno_create(n.ia, agent_of(&a), &cno));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	OK(post_se(evd, 1));
	DT_UNTIL(calls(&a) == 1, US_EVENT);
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

TEST(cno_agent, leaves_the_trigger_to_a_later_wait)
{
	DAT_EVD_HANDLE evd, seen = NULL;
	struct agent a = { 0 };
	DAT_CNO_HANDLE cno;
	struct node n;

	node_open(&n);
	OK(dat_cno_create(n.ia, agent_of(&a), &cno));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	OK(post_se(evd, 1));
	DT_UNTIL(calls(&a) == 1, US_EVENT);
	/* Returns when the call has: the trigger is judged afterwards. */
	OK(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	OK(dat_cno_wait(cno, 0, &seen));
	ASSERT_PTR(seen, evd);
	ASSERT_EQ(DAT_GET_TYPE(dat_cno_wait(cno, 0, &seen)), DAT_QUEUE_EMPTY);
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

#if DAT_TEST_API == 20

static bool readable(DAT_FD fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

TEST(cno_fd, becomes_readable_with_a_trigger_until_it_is_consumed_in_2_0)
{
	DAT_EVD_HANDLE evd, seen = NULL;
	DAT_CNO_PARAM param;
	DAT_CNO_HANDLE cno;
	struct node n;
	DAT_FD fd = -1;
	int i;

	node_open(&n);
	OK(dat_cno_fd_create(n.ia, &fd, &cno));
	ASSERT(fd >= 0);
	OK(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	ASSERT_PTR(param.ia_handle, n.ia);
	ASSERT_EQ(param.proxy_type, DAT_PROXY_TYPE_FD);
	ASSERT_EQ(param.proxy.fd, fd);
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	ASSERT(!readable(fd, 0));
	for (i = 0; i < 3; i++) {
		OK(post_se(evd, 1));
		ASSERT(readable(fd, 5000));
		OK(dat_cno_trigger(cno, &seen));
		ASSERT_PTR(seen, evd);
		ASSERT(!readable(fd, 20));
		EV_SE(evd, 1);
	}
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

TEST(cno_fd, wakes_for_messages_without_any_call_in_2_0)
{
	DAT_EVD_HANDLE seen = NULL;
	DAT_CNO_HANDLE cno;
	struct pair p;
	DAT_FD fd;
	int i;

	pair_up(&p);
	OK(dat_cno_fd_create(p.node.ia, &fd, &cno));
	OK(dat_evd_modify_cno(p.b.recv, cno));
	for (i = 0; i < 20; i++) {
		OK(post_recv(&p.b, 0, 10, 1));
		OK(post_send(&p.a, 0, 10, 2));
		ASSERT(readable(fd, 5000 * (int)dt_slow()));
		OK(dat_cno_trigger(cno, &seen));
		ASSERT_PTR(seen, p.b.recv);
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 10);
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 10);
	}
	OK(dat_evd_modify_cno(p.b.recv, DAT_HANDLE_NULL));
	OK(dat_cno_free(cno));
	pair_close(&p);
}

TEST(cno_fd, stays_readable_when_an_agent_is_called_too_in_2_0)
{
	DAT_EVD_HANDLE evd, seen = NULL;
	struct agent a = { 0 };
	DAT_CNO_HANDLE cno;
	struct node n;
	DAT_FD fd;

	node_open(&n);
	OK(dat_cno_fd_create(n.ia, &fd, &cno));
	OK(dat_cno_modify_agent(cno, agent_of(&a)));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	OK(post_se(evd, 1));
	DT_UNTIL(calls(&a) == 1, US_EVENT);
	OK(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	ASSERT(readable(fd, 0));
	OK(dat_cno_trigger(cno, &seen));
	ASSERT_PTR(seen, evd);
	ASSERT(!readable(fd, 0));
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

static void wait_for_one(void *arg)
{
	DAT_EVD_HANDLE seen;

	OK(dat_cno_wait(arg, DAT_TIMEOUT_INFINITE, &seen));
}

/* Threads that wait take triggers, and threads that the last EVD releases take none. */
TEST(cno_fd, shows_only_triggers_that_no_thread_has_taken_in_2_0)
{
	struct dt_thread t[3];
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	struct node n;
	DAT_FD fd = -1;

	node_open(&n);
	OK(dat_cno_fd_create(n.ia, &fd, &cno));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	for (int i = 0; i < 3; i++)
		dt_thread_start(&t[i], wait_for_one, cno);
	for (int i = 0; i < 3; i++)
		dt_thread_wait_blocked(&t[i]);
	OK(post_se(evd, 1));
	DT_UNTIL(!readable(fd, 0), US_EVENT);
	EV_SE(evd, 1);
	OK(dat_evd_free(evd));
	for (int i = 0; i < 3; i++)
		dt_thread_join(&t[i]);
	ASSERT(!readable(fd, 20));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	OK(post_se(evd, 2));
	ASSERT(readable(fd, 5000));
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

TEST(cno_fd, bad_arguments_in_2_0)
{
	DAT_CNO_HANDLE cno;
	struct node n;
	DAT_FD fd;

	node_open(&n);
	BAD_ARG(dat_cno_fd_create(n.ia, NULL, &cno), 2);
	BAD_ARG(dat_cno_fd_create(n.ia, &fd, NULL), 3);
	OK(dat_cno_fd_create(n.ia, &fd, &cno));
	BAD_ARG(dat_cno_trigger(cno, NULL), 2);
	OK(dat_cno_free(cno));
	node_close(&n);
}

TEST(cno_fd, trigger_without_one_pending_is_QUEUE_EMPTY_in_2_0)
{
	DAT_EVD_HANDLE evd = &evd;
	DAT_CNO_HANDLE cno;
	struct node n;
	DAT_FD fd;

	node_open(&n);
	OK(dat_cno_fd_create(n.ia, &fd, &cno));
	ASSERT_EQ(DAT_GET_TYPE(dat_cno_trigger(cno, &evd)), DAT_QUEUE_EMPTY);
	ASSERT_PTR(evd, NULL);
	OK(dat_cno_free(cno));
	node_close(&n);
}

#endif
