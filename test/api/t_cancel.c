/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that are cancelled (pthread_cancel) inside DAT calls. */
#include "rig.h"

/* ---- waits: the thread ends there and leaves nothing behind ---- */

struct waiter {
	pthread_t id;
	pid_t tid;
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	DAT_EVENT ev;
};

static void *wait_evd(void *arg)
{
	struct waiter *w = arg;
	DAT_COUNT more;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	OK(dat_evd_wait(w->evd, DAT_TIMEOUT_INFINITE, 1, &w->ev, &more));
	return NULL;
}

static void *wait_cno(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	OK(dat_cno_wait(w->cno, DAT_TIMEOUT_INFINITE, &w->evd));
	return NULL;
}

static void waiter_start(struct waiter *w, void *(*fn)(void *))
{
	struct dt_thread look = { 0 };

#ifdef __SANITIZE_THREAD__
	dt_skip("ThreadSanitizer does not see the locks that a cancelled thread takes");
#endif
	w->tid = 0;
	ASSERT_EQ(pthread_create(&w->id, NULL, fn, w), 0);
	DT_UNTIL(__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE), US_EVENT);
	look.tid = w->tid;
	dt_thread_wait_blocked(&look);
}

/* True: it was cancelled; false: its call had returned before. */
static bool waiter_join(struct waiter *w)
{
	void *result = NULL;

	ASSERT_EQ(pthread_join(w->id, &result), 0);
	return result == PTHREAD_CANCELED;
}

static void cancel_wait_evd(DAT_EVD_HANDLE evd)
{
	struct waiter w = { .evd = evd };

	waiter_start(&w, wait_evd);
	ASSERT_EQ(pthread_cancel(w.id), 0);
	ASSERT(waiter_join(&w));
	/* No thread waits on it: otherwise resizing is rejected. */
	OK(dat_evd_resize(evd, 32));
	EV_NONE(evd);
}

TEST(cancel, in_evd_wait_leaves_every_kind_of_queue_usable)
{
	struct pair p;

	pair_open(&p);
	cancel_wait_evd(p.cr_evd);
	cancel_wait_evd(p.a.conn);
	cancel_wait_evd(p.a.recv);
	pair_connect(&p);
	cancel_wait_evd(p.a.req);
	cancel_wait_evd(p.b.recv);
	OK(post_recv(&p.b, 0, 100, 1));
	OK(post_send(&p.a, 0, 100, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 100);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 100);
	pair_close(&p);
}

TEST(cancel, in_evd_wait_and_abrupt_close)
{
	struct waiter w = { 0 };
	struct pair p;

	pair_up(&p);
	w.evd = p.b.recv;
	waiter_start(&w, wait_evd);
	ASSERT_EQ(pthread_cancel(w.id), 0);
	ASSERT(waiter_join(&w));
	node_abort(&p.node);
}

#define RACES 200

/* Cancelled while an event comes: either the thread has it, or the queue, and then the CNO, which
 * the thread stood in for, has been triggered. */
TEST_LIMIT(cancel, in_evd_wait_loses_no_event, 60)
{
	int i, cancelled = 0;
	DAT_EVD_HANDLE seen;
	struct waiter w = { 0 };
	DAT_CNO_HANDLE cno;
	struct node n;

	node_open(&n);
	OK(dat_cno_create(n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	w.evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	for (i = 0; i < RACES; i++) {
		waiter_start(&w, wait_evd);
		OK(post_se(w.evd, (uintptr_t)i));
		ASSERT_EQ(pthread_cancel(w.id), 0);
		if (waiter_join(&w)) {
			cancelled++;
			seen = NULL;
			OK(dat_cno_wait(cno, 0, &seen));
			ASSERT_PTR(seen, w.evd);
			EV_SE(w.evd, (uintptr_t)i);
		} else {
			ASSERT_EQ(number_of(&w.ev), i);
			EV_EMPTY(w.evd);
		}
	}
	dt_note("%d of %d cancelled", cancelled, RACES);
	OK(dat_evd_free(w.evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

TEST_LIMIT(cancel, in_cno_wait_loses_no_trigger, 60)
{
	struct waiter w = { 0 };
	DAT_EVD_HANDLE evd, seen;
	struct node n;
	int i;

	node_open(&n);
	OK(dat_cno_create(n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &w.cno));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, w.cno);
	for (i = 0; i < RACES; i++) {
		waiter_start(&w, wait_cno);
		if (i % 2)
			OK(post_se(evd, (uintptr_t)i));
		ASSERT_EQ(pthread_cancel(w.id), 0);
		if (i % 2 && waiter_join(&w)) {
			OK(dat_cno_wait(w.cno, 0, &seen));
			ASSERT_PTR(seen, evd);
		} else if (i % 2 == 0) {
			ASSERT(waiter_join(&w));
		}
		if (i % 2)
			EV_SE(evd, (uintptr_t)i);
		ASSERT_EQ(DAT_GET_TYPE(dat_cno_wait(w.cno, 0, &seen)), DAT_QUEUE_EMPTY);
	}
	/* Refused while a thread waits. */
	OK(dat_evd_free(evd));
	OK(dat_cno_free(w.cno));
	node_close(&n);
}

/* ---- all other calls: they do their work, and the thread is cancelled later ---- */

struct step {
	const char *name;
	void (*fn)(struct pair *p);
};

struct runner {
	const struct step *step;
	struct pair *p;
	bool done;
};

static void *run_cancelled(void *arg)
{
	struct runner *r = arg;

	ASSERT_EQ(pthread_cancel(pthread_self()), 0);
	r->step->fn(r->p);
	r->done = true;
	pthread_testcancel();
	return NULL;
}

/* A thread with a cancellation pending makes the calls of a step. */
static void run_steps(struct pair *p, const struct step *steps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct runner r = { .step = &steps[i], .p = p };
		void *result = NULL;
		pthread_t t;

		ASSERT_EQ(pthread_create(&t, NULL, run_cancelled, &r), 0);
		ASSERT_EQ(pthread_join(t, &result), 0);
		if (!r.done)
			FAIL("a thread was cancelled inside: %s", steps[i].name);
		ASSERT_PTR(result, PTHREAD_CANCELED);
	}
}

#define RUN(p_, steps_) run_steps(p_, steps_, sizeof(steps_) / sizeof((steps_)[0]))

static void do_open_and_close(struct pair *p)
{
	struct node n;

	(void)p;
	node_open(&n);
	node_close(&n);
}

static void do_abort(struct pair *p)
{
	struct node n;

	(void)p;
	node_open(&n);
	evd_make(&n, 8, DAT_EVD_DTO_FLAG);
	OK(dat_ia_close(n.ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void do_list(struct pair *p)
{
	DAT_PROVIDER_INFO info, *list[1] = { &info };
	DAT_COUNT count = 0;

	(void)p;
	OK(dat_registry_list_providers(1, &count, list));
}

static void do_evd(struct pair *p)
{
	DAT_EVD_HANDLE evd = evd_make(&p->node, 8, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG);

	OK(dat_evd_resize(evd, 100));
	OK(post_se(evd, 1));
	OK(dat_evd_free(evd));
}

static void do_cno(struct pair *p)
{
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;

	OK(dat_cno_create(p->node.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	evd = evd_make_cno(&p->node, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	OK(post_se(evd, 1));
	OK(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	OK(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	OK(dat_cno_free(cno));
	OK(dat_evd_free(evd));
}

static void do_memory(struct pair *p)
{
	struct buf b;

	buf_make(&b, &p->node, 100000, PRIV_ALL);
	buf_free(&b);
}

static void do_service_point(struct pair *p)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	OK(dat_psp_create_any(p->node.ia, &qual, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(dat_psp_free(psp));
}

static void do_endpoint(struct pair *p)
{
	DAT_EP_HANDLE ep;
	DAT_EP_STATE state;
	DAT_BOOLEAN idle;

	OK(dat_ep_create(p->node.ia, p->node.pz, p->a.recv, p->a.req, p->a.conn, NULL, &ep));
	OK(dat_ep_get_status(ep, &state, &idle, &idle));
	OK(dat_ep_free(ep));
}

static void do_connect(struct pair *p)
{
	OK(connect_to(p->a.ep, p->node.attr.ia_address_ptr, p->qual));
}

static void do_accept(struct pair *p)
{
	DAT_EVENT ev;

	while (dat_evd_dequeue(p->cr_evd, &ev) != DAT_SUCCESS)
		sched_yield();
	OK(dat_cr_accept(cr_of(&ev), p->b.ep, 0, NULL));
}

static void do_establish(struct pair *p)
{
	DAT_EVENT ev;

	while (dat_evd_dequeue(p->a.conn, &ev) != DAT_SUCCESS)
		sched_yield();
	ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	while (dat_evd_dequeue(p->b.conn, &ev) != DAT_SUCCESS)
		sched_yield();
	ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void take_dto(struct side *s, DAT_EVD_HANDLE evd, uint64_t cookie, enum op op, size_t len)
{
	DAT_EVENT ev;

	while (dat_evd_dequeue(evd, &ev) != DAT_SUCCESS)
		sched_yield();
	CHECK_DTO(&ev, evd, s->ep, cookie, op, len);
}

static void do_messages(struct pair *p)
{
	for (uint64_t i = 0; i < 20; i++) {
		size_t len = i % 2 ? 100 : 50000;

		OK(post_recv(&p->b, 0, len, i));
		OK(post_send(&p->a, 0, len, i));
		take_dto(&p->b, p->b.recv, i, OP_RECV, len);
		take_dto(&p->a, p->a.req, i, OP_SEND, len);
	}
}

/* More than a message of the transport holds. */
static void do_bursts(struct pair *p)
{
	enum { N = 14, LEN = 8000 };

	for (int round = 0; round < 5; round++) {
		for (uint64_t i = 0; i < N; i++)
			OK(post_recv(&p->b, 0, LEN, i));
		for (uint64_t i = 0; i < N; i++)
			OK(post_send(&p->a, 0, LEN, i));
		for (uint64_t i = 0; i < N; i++)
			take_dto(&p->b, p->b.recv, i, OP_RECV, LEN);
		for (uint64_t i = 0; i < N; i++)
			take_dto(&p->a, p->a.req, i, OP_SEND, LEN);
	}
}

static void do_rdma(struct pair *p)
{
	OK(post_write(&p->a, 0, 20000, 3, &p->b, 1000));
	take_dto(&p->a, p->a.req, 3, OP_WRITE, 20000);
	OK(post_read(&p->a, 0, 20000, 4, &p->b, 1000));
	take_dto(&p->a, p->a.req, 4, OP_READ, 20000);
}

/* The receiver sleeps and has to be woken by the call that posts. */
static void do_wake(struct pair *p)
{
	struct waiter w = { .evd = p->b.recv };

	OK(post_recv(&p->b, 0, 100, 7));
	ASSERT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
	waiter_start(&w, wait_evd);
	ASSERT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL), 0);
	OK(post_send(&p->a, 0, 100, 8));
	ASSERT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
	ASSERT(!waiter_join(&w));
	ASSERT_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL), 0);
	CHECK_DTO(&w.ev, p->b.recv, p->b.ep, 7, OP_RECV, 100);
	take_dto(&p->a, p->a.req, 8, OP_SEND, 100);
}

static void do_disconnect(struct pair *p)
{
	OK(dat_ep_disconnect(p->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
}

static void do_reset(struct pair *p)
{
	DAT_EVENT ev;

	while (dat_evd_dequeue(p->a.conn, &ev) != DAT_SUCCESS)
		sched_yield();
	while (dat_evd_dequeue(p->b.conn, &ev) != DAT_SUCCESS)
		sched_yield();
	OK(dat_ep_reset(p->a.ep));
	OK(dat_ep_reset(p->b.ep));
}

static const struct step life[] = {
	{ "dat_ia_open, dat_ia_close", do_open_and_close },
	{ "dat_ia_close, abrupt", do_abort },
	{ "dat_registry_list_providers", do_list },
	{ "calls of EVDs", do_evd },
	{ "calls of CNOs", do_cno },
	{ "calls of LMRs", do_memory },
	{ "calls of PSPs", do_service_point },
	{ "calls of EPs", do_endpoint },
};

static const struct step connection[] = {
	{ "dat_ep_connect", do_connect },
	{ "dat_cr_accept", do_accept },
	{ "dat_evd_dequeue", do_establish },
	{ "dat_ep_post_send, dat_ep_post_recv", do_messages },
	{ "dat_ep_post_send, many", do_bursts },
	{ "dat_ep_post_rdma_write, dat_ep_post_rdma_read", do_rdma },
	{ "dat_ep_post_send to a sleeper", do_wake },
	{ "dat_ep_disconnect", do_disconnect },
	{ "dat_ep_reset", do_reset },
};

TEST(cancel, is_left_pending_by_calls_that_make_and_end_objects)
{
	struct pair p;

	pair_open(&p);
	RUN(&p, life);
	pair_close(&p);
}

TEST(cancel, is_left_pending_by_calls_about_connections_and_data)
{
	struct pair p;

	pair_open(&p);
	RUN(&p, connection);
	RUN(&p, connection);
	pair_close(&p);
}
