/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests dat_evd_wait: timeout, threshold, remaining events, concurrent waiters, and wakeups. */
#include "rig.h"

struct rig {
	struct node n;
	DAT_EVD_HANDLE evd;
};

static void rig_open(struct rig *r, DAT_COUNT qlen)
{
	node_open(&r->n);
	r->evd = evd_make(&r->n, qlen, DAT_EVD_SOFTWARE_FLAG);
}

static void rig_close(struct rig *r)
{
	OK(dat_evd_free(r->evd));
	node_close(&r->n);
}

TEST(evd_wait, timeout_0_polls)
{
	DAT_COUNT more = -1;
	struct dt_start start;
	DAT_EVENT ev;
	struct rig r;

	rig_open(&r, 8);
	start = dt_start();
	ASSERT_RET(dat_evd_wait(r.evd, 0, 1, &ev, &more), DAT_TIMEOUT_EXPIRED, 0);
	ASSERT(dt_in_time(&start, 20000));
	ASSERT_EQ(more, 0);
	OK(post_se(r.evd, 1));
	OK(dat_evd_wait(r.evd, 0, 1, &ev, &more));
	ASSERT_PTR(ev.event_data.software_event_data.pointer, (void *)1);
	ASSERT_EQ(more, 0);
	rig_close(&r);
}

/* The library must not delay the return; that the machine does is not its fault. */
static void timed_wait(const struct rig *r, DAT_TIMEOUT us)
{
	struct dt_start start = dt_start();
	uint64_t took;
	DAT_COUNT more = -1;
	DAT_EVENT ev;

	ASSERT_RET(dat_evd_wait(r->evd, us, 1, &ev, &more), DAT_TIMEOUT_EXPIRED, 0);
	took = dt_took_us(&start);
	if (took < us || !dt_in_time(&start, us + 60000u))
		FAIL("a wait of %u us took %llu", us, (unsigned long long)took);
	ASSERT_EQ(more, 0);
}

TEST(evd_wait, timeouts_are_kept)
{
	static const DAT_TIMEOUT times[] = { 1, 100, 999, 1000, 5000, 50000, 300000, 1000000 };
	struct rig r;
	unsigned int i;

	rig_open(&r, 8);
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		timed_wait(&r, times[i]);
	rig_close(&r);
}

TEST(evd_wait, timeouts_are_kept_with_a_connection_open)
{
	struct pair p;
	struct rig r;

	pair_up(&p);
	r.evd = p.b.recv;
	timed_wait(&r, 1000);
	timed_wait(&r, 200000);
	pair_close(&p);
}

TEST(evd_wait, returns_the_first_event_and_what_is_left)
{
	DAT_COUNT more = -1;
	DAT_EVENT ev;
	struct rig r;
	uintptr_t i;

	rig_open(&r, 8);
	for (i = 0; i < 5; i++)
		OK(post_se(r.evd, i));
	for (i = 0; i < 5; i++) {
		OK(dat_evd_wait(r.evd, US_EVENT, 1, &ev, &more));
		ASSERT_PTR(ev.event_data.software_event_data.pointer, (void *)i);
		ASSERT_EQ(more, 4 - (int)i);
	}
	rig_close(&r);
}

TEST(evd_wait, threshold_met_returns_one_event_and_at_least_threshold_minus_1_are_left)
{
	DAT_COUNT more = -1;
	DAT_EVENT ev;
	struct rig r;
	uintptr_t i;

	rig_open(&r, 8);
	for (i = 0; i < 4; i++)
		OK(post_se(r.evd, i));
	OK(dat_evd_wait(r.evd, 0, 4, &ev, &more));
	ASSERT_PTR(ev.event_data.software_event_data.pointer, (void *)0);
	ASSERT_EQ(more, 3);
	rig_close(&r);
}

TEST(evd_wait, threshold_not_met_takes_nothing_and_tells_how_many_there_are)
{
	DAT_COUNT more = -1;
	DAT_EVENT ev;
	struct rig r;
	uintptr_t i;

	rig_open(&r, 8);
	for (i = 0; i < 3; i++)
		OK(post_se(r.evd, i));
	ASSERT_RET(dat_evd_wait(r.evd, 20000, 4, &ev, &more), DAT_TIMEOUT_EXPIRED, 0);
	ASSERT_EQ(more, 3);
	for (i = 0; i < 3; i++)
		EV_SE(r.evd, i);
	rig_close(&r);
}

static void wait_for_three(void *arg)
{
	struct rig *r = arg;
	DAT_COUNT more = -1;
	DAT_EVENT ev;

	OK(dat_evd_wait(r->evd, US_EVENT * dt_slow(), 3, &ev, &more));
	ASSERT_PTR(ev.event_data.software_event_data.pointer, (void *)10);
	ASSERT(more >= 2);
}

TEST(evd_wait, threshold_holds_a_waiter_until_it_is_met)
{
	struct dt_thread t;
	struct rig r;

	rig_open(&r, 8);
	dt_thread_start(&t, wait_for_three, &r);
	dt_thread_wait_blocked(&t);
	OK(post_se(r.evd, 10));
	OK(post_se(r.evd, 11));
	dt_thread_wait_blocked(&t);
	OK(post_se(r.evd, 12));
	dt_thread_join(&t);
	EV_SE(r.evd, 11);
	EV_SE(r.evd, 12);
	rig_close(&r);
}

TEST(evd_wait, threshold_not_positive_is_ARG3)
{
	DAT_COUNT more;
	DAT_EVENT ev;
	struct rig r;

	rig_open(&r, 8);
	BAD_ARG(dat_evd_wait(r.evd, 0, 0, &ev, &more), 3);
	BAD_ARG(dat_evd_wait(r.evd, 0, -1, &ev, &more), 3);
	rig_close(&r);
}

TEST(evd_wait, threshold_above_qlen_is_ARG3)
{
	DAT_EVD_PARAM param;
	DAT_COUNT more;
	DAT_EVENT ev;
	struct rig r;

	rig_open(&r, 8);
	OK(dat_evd_query(r.evd, DAT_EVD_FIELD_ALL, &param));
	ASSERT_RET(dat_evd_wait(r.evd, 0, param.evd_qlen, &ev, &more), DAT_TIMEOUT_EXPIRED, 0);
	BAD_ARG(dat_evd_wait(r.evd, 0, param.evd_qlen + 1, &ev, &more), 3);
	rig_close(&r);
}

static void threshold_with(DAT_COMPLETION_FLAGS recv, DAT_COMPLETION_FLAGS request)
{
	DAT_EP_ATTR attr;
	DAT_COUNT more;
	DAT_EVENT ev;
	struct node n;
	struct side s;

	node_open(&n);
	attr = default_attr(&n);
	attr.recv_completion_flags = recv;
	attr.request_completion_flags = request;
	side_make(&s, &n, &attr);
	if (recv != DAT_COMPLETION_EVD_THRESHOLD_FLAG)
		BAD_STATE(dat_evd_wait(s.recv, 0, 2, &ev, &more), EVD_CONFIG_NOTIFY);
	else
		ASSERT_RET(dat_evd_wait(s.recv, 0, 2, &ev, &more), DAT_TIMEOUT_EXPIRED, 0);
	if (request != DAT_COMPLETION_EVD_THRESHOLD_FLAG)
		BAD_STATE(dat_evd_wait(s.req, 0, 2, &ev, &more), EVD_CONFIG_NOTIFY);
	else
		ASSERT_RET(dat_evd_wait(s.req, 0, 2, &ev, &more), DAT_TIMEOUT_EXPIRED, 0);
	ASSERT_RET(dat_evd_wait(s.recv, 0, 1, &ev, &more), DAT_TIMEOUT_EXPIRED, 0);
	ASSERT_RET(dat_evd_wait(s.req, 0, 1, &ev, &more), DAT_TIMEOUT_EXPIRED, 0);
	side_free(&s);
	node_close(&n);
}

TEST(evd_wait, threshold_above_1_with_an_unsignalled_receive_stream_is_INVALID_STATE)
{
	threshold_with(DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
}

TEST(evd_wait, threshold_above_1_with_a_solicited_receive_stream_is_INVALID_STATE)
{
	threshold_with(DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
}

TEST(evd_wait, threshold_above_1_with_an_unsignalled_request_stream_is_INVALID_STATE)
{
	threshold_with(DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG);
}

TEST(evd_wait, threshold_on_dto_completions)
{
	DAT_COUNT more = -1;
	struct pair p;
	DAT_EVENT ev;
	int i;

	pair_up(&p);
	for (i = 0; i < 6; i++)
		OK(post_recv(&p.b, 0, 16, (uint64_t)i));
	for (i = 0; i < 6; i++)
		OK(post_send(&p.a, 0, 16, 50));
	OK(dat_evd_wait(p.b.recv, US_EVENT * dt_slow(), 6, &ev, &more));
	CHECK_DTO(&ev, p.b.recv, p.b.ep, 0, OP_RECV, 16);
	ASSERT_EQ(more, 5);
	pair_close(&p);
}

TEST(evd_wait, event_or_nmore_NULL_is_ARG4_and_ARG5)
{
	DAT_COUNT more;
	DAT_EVENT ev;
	struct rig r;

	rig_open(&r, 8);
	OK(post_se(r.evd, 1));
	BAD_ARG(dat_evd_wait(r.evd, 0, 1, NULL, &more), 4);
	BAD_ARG(dat_evd_wait(r.evd, 0, 1, &ev, NULL), 5);
	EV_SE(r.evd, 1);
	rig_close(&r);
}

/* ---- one waiter at a time ---- */

static void wait_for_7(void *arg)
{
	struct rig *r = arg;

	EV_SE(r->evd, 7);
}

TEST(evd_wait, second_waiter_is_INVALID_STATE)
{
	struct dt_thread t;
	DAT_COUNT more;
	DAT_EVENT ev;
	struct rig r;

	rig_open(&r, 8);
	dt_thread_start(&t, wait_for_7, &r);
	dt_thread_wait_blocked(&t);
	BAD_STATE(dat_evd_wait(r.evd, 0, 1, &ev, &more), EVD_WAITER);
	BAD_STATE(dat_evd_wait(r.evd, 1000, 1, &ev, &more), EVD_WAITER);
	OK(post_se(r.evd, 7));
	dt_thread_join(&t);
	rig_close(&r);
}

TEST(evd_wait, dequeue_beside_a_waiter_is_INVALID_STATE)
{
	struct dt_thread t;
	DAT_EVENT ev;
	struct rig r;

	rig_open(&r, 8);
	dt_thread_start(&t, wait_for_7, &r);
	dt_thread_wait_blocked(&t);
	BAD_STATE(dat_evd_dequeue(r.evd, &ev), EVD_WAITER);
	OK(post_se(r.evd, 7));
	dt_thread_join(&t);
	ASSERT_EQ(DAT_GET_TYPE(dat_evd_dequeue(r.evd, &ev)), DAT_QUEUE_EMPTY);
	rig_close(&r);
}

/* ---- unwaitable ---- */

TEST(evd_wait, unwaitable_is_INVALID_STATE_even_with_events)
{
	DAT_COUNT more;
	DAT_EVENT ev;
	struct rig r;

	rig_open(&r, 8);
	OK(dat_evd_set_unwaitable(r.evd));
	BAD_STATE(dat_evd_wait(r.evd, 0, 1, &ev, &more), EVD_UNWAITABLE);
	OK(post_se(r.evd, 1));
	BAD_STATE(dat_evd_wait(r.evd, 0, 1, &ev, &more), EVD_UNWAITABLE);
	OK(dat_evd_clear_unwaitable(r.evd));
	EV_SE(r.evd, 1);
	rig_close(&r);
}

static void wait_unwaitable(void *arg)
{
	struct rig *r = arg;
	DAT_COUNT more;
	DAT_EVENT ev;

	BAD_STATE(dat_evd_wait(r->evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more), EVD_UNWAITABLE);
}

TEST(evd_wait, set_unwaitable_releases_a_blocked_waiter)
{
	struct dt_thread t;
	struct rig r;

	rig_open(&r, 8);
	dt_thread_start(&t, wait_unwaitable, &r);
	dt_thread_wait_blocked(&t);
	OK(dat_evd_set_unwaitable(r.evd));
	dt_thread_join(&t);
	rig_close(&r);
}

/* ---- what wakes, and what does not ---- */

TEST(evd_wait, infinite_wait_is_woken_by_an_event)
{
	struct dt_thread t;
	struct rig r;

	rig_open(&r, 8);
	dt_thread_start(&t, wait_for_7, &r);
	dt_thread_wait_blocked(&t);
	OK(post_se(r.evd, 7));
	dt_thread_join(&t);
	rig_close(&r);
}

TEST(evd_wait, disabled_evd_can_be_waited_on)
{
	struct dt_thread t;
	struct rig r;

	rig_open(&r, 8);
	OK(dat_evd_disable(r.evd));
	dt_thread_start(&t, wait_for_7, &r);
	dt_thread_wait_blocked(&t);
	OK(post_se(r.evd, 7));
	dt_thread_join(&t);
	rig_close(&r);
}

static void ignore_signal(int sig)
{
	(void)sig;
}

static void wait_interrupted(void *arg)
{
	struct rig *r = arg;
	DAT_COUNT more = -1;
	DAT_EVENT ev;
	DAT_RETURN ret;

	ret = dat_evd_wait(r->evd, DAT_TIMEOUT_INFINITE, 3, &ev, &more);
	ASSERT_EQ(ret & ~(DAT_RETURN)DAT_SUBTYPE_MASK, API_ERR(DAT_INTERRUPTED_CALL, 0));
	ASSERT_EQ(more, 1);
}

TEST(evd_wait, signal_ends_it_with_INTERRUPTED_CALL_and_nmore)
{
	struct sigaction sa;
	struct dt_thread t;
	struct rig r;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = ignore_signal;
	sigaction(SIGUSR1, &sa, NULL);
	rig_open(&r, 8);
	OK(post_se(r.evd, 1));
	dt_thread_start(&t, wait_interrupted, &r);
	dt_thread_wait_blocked(&t);
	pthread_kill(t.id, SIGUSR1);
	dt_thread_join(&t);
	EV_SE(r.evd, 1);
	rig_close(&r);
}

static void keep_posting(void *arg)
{
	struct rig *r = arg;
	uintptr_t i;

	for (i = 0; i < 2000; i++)
		while (post_se(r->evd, i) != DAT_SUCCESS)
			dt_sleep_us(50);
}

TEST(evd_wait, every_event_of_another_thread_is_seen_once_and_in_order)
{
	struct dt_thread t;
	struct rig r;
	uintptr_t i;

	rig_open(&r, 16);
	dt_thread_start(&t, keep_posting, &r);
	for (i = 0; i < 2000; i++)
		EV_SE(r.evd, i);
	dt_thread_join(&t);
	EV_EMPTY(r.evd);
	rig_close(&r);
}

struct waiter {
	DAT_EVD_HANDLE evd;
	uint64_t woken;
};

static void stamp(void *arg)
{
	struct waiter *w = arg;

	EV_SE(w->evd, 1);
	w->woken = dt_now_us();
}

TEST(evd_wait, waiters_on_different_evds_do_not_disturb_each_other)
{
	struct dt_thread t[4];
	struct waiter w[4];
	struct node n;
	int i;

	node_open(&n);
	for (i = 0; i < 4; i++) {
		w[i] = (struct waiter){ evd_make(&n, 4, DAT_EVD_SOFTWARE_FLAG), 0 };
		dt_thread_start(&t[i], stamp, &w[i]);
		dt_thread_wait_blocked(&t[i]);
	}
	for (i = 3; i >= 0; i--) {
		OK(post_se(w[i].evd, 1));
		dt_thread_join(&t[i]);
		OK(dat_evd_free(w[i].evd));
	}
	node_close(&n);
}
