/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests many threads that wait: an event wakes the thread that waits for it, and not the others. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "rig.h"

#define SHORT 64
/* Connections with messages, and without. A thread waits for the messages of each. */
#define BUSY 4
#define CONNS 36
#define MESSAGES 100u /* of a busy one */
/* Between two messages: the library's thread takes the queues over. */
#define PAUSE_US 3000

struct conn {
	struct side near, far;
	struct dt_thread thread;
	unsigned int messages;
	long sleeps; /* of the thread */
};

struct conns {
	struct node near, far;
	struct conn conn[CONNS];
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
};

static struct conns *conns_open(void)
{
	struct conns *c = calloc(1, sizeof(*c));
	DAT_CONN_QUAL qual;

	ASSERT(c);
	node_open(&c->near);
	node_open(&c->far);
	c->cr_evd = evd_make(&c->far, 8, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(c->far.ia, &qual, c->cr_evd, DAT_PSP_CONSUMER_FLAG, &c->psp));
	for (int i = 0; i < CONNS; i++) {
		struct side *a = &c->conn[i].near, *b = &c->conn[i].far;

		side_make(a, &c->near, NULL);
		side_make(b, &c->far, NULL);
		OK(connect_to(a->ep, c->far.attr.ia_address_ptr, qual));
		OK(dat_cr_accept(EV_CR(c->cr_evd, c->psp, qual), b->ep, 0, NULL));
		EV_CONN(b->conn, ESTABLISHED, b->ep);
		EV_CONN(a->conn, ESTABLISHED, a->ep);
	}
	return c;
}

static void conns_close(struct conns *c)
{
	OK(dat_psp_free(c->psp));
	for (int i = 0; i < CONNS; i++) {
		side_free(&c->conn[i].near);
		side_free(&c->conn[i].far);
	}
	OK(dat_evd_free(c->cr_evd));
	node_close(&c->near);
	node_close(&c->far);
	free(c);
}

/* How often the calling thread has given the processor up. */
static long my_sleeps(void)
{
	struct rusage usage;

	ASSERT(!getrusage(RUSAGE_THREAD, &usage));
	return usage.ru_nvcsw;
}

static void reply(void *arg)
{
	struct conn *c = arg;
	struct side *s = &c->far;
	long before = my_sleeps();
	DAT_COUNT more;
	DAT_EVENT ev;

	for (unsigned int i = 0; i < c->messages; i++) {
		OK(dat_evd_wait(s->recv, DAT_TIMEOUT_INFINITE, 1, &ev, &more));
		CHECK_DTO(&ev, s->recv, s->ep, i, OP_RECV, SHORT);
		OK(post_recv(s, 0, SHORT, i + 1));
		OK(post_send_flags(s, SHORT, SHORT, i, DAT_COMPLETION_SUPPRESS_FLAG));
	}
	c->sleeps = my_sleeps() - before;
}

static void round_trip(struct conn *c, uint64_t cookie)
{
	struct side *s = &c->near;

	OK(post_recv(s, 0, SHORT, cookie));
	OK(post_send_flags(s, SHORT, SHORT, cookie, DAT_COMPLETION_SUPPRESS_FLAG));
	EV_DTO(s->recv, s->ep, cookie, OP_RECV, SHORT);
}

/* A thread that gets a message leaves its credit to the next poll, which the library makes if the
 * program does not. The idle threads sleep once each, and again every four seconds. */
TEST_LIMIT(waiters, of_other_queues_sleep_while_messages_pass, 60)
{
	struct conns *c = conns_open();
	long sleeps = 0;

	for (int i = 0; i < CONNS; i++) {
		c->conn[i].messages = i < BUSY ? MESSAGES : 1;
		OK(post_recv(&c->conn[i].far, 0, SHORT, 0));
		dt_thread_start(&c->conn[i].thread, reply, &c->conn[i]);
	}
	for (unsigned int i = 0; i < BUSY * MESSAGES; i++) {
		dt_sleep_us(PAUSE_US);
		round_trip(&c->conn[i % BUSY], i / BUSY);
	}
	for (int i = 0; i < CONNS; i++) {
		if (i >= BUSY)
			round_trip(&c->conn[i], 0);
		dt_thread_join(&c->conn[i].thread);
		sleeps += i < BUSY ? 0 : c->conn[i].sleeps;
	}
	dt_note("%ld sleeps of %d idle threads in %u round trips", sleeps, CONNS - BUSY,
		BUSY * MESSAGES);
	ASSERT(sleeps <= (long)(BUSY * MESSAGES));
	conns_close(c);
}

/* ---- many threads that wait on one CNO ---- */

#define THREADS 64
#define EVENTS 500u

struct crowd {
	struct pair p;
	DAT_CNO_HANDLE cno;
	struct dt_thread thread[THREADS];
	_Atomic uint64_t taken;
	_Atomic long sleeps;
	_Atomic bool over;
};

static void take_messages(void *arg)
{
	struct crowd *c = arg;
	struct side *s = &c->p.b;
	long before = my_sleeps();
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;

	while (!c->over) {
		OK(dat_cno_wait(c->cno, DAT_TIMEOUT_INFINITE, &evd));
		while (evd && dat_evd_dequeue(evd, &ev) == DAT_SUCCESS) {
			CHECK_DTO(&ev, s->recv, s->ep, c->taken, OP_RECV, SHORT);
			OK(post_recv(s, 0, SHORT, c->taken + 1));
			c->taken++;
		}
	}
	c->sleeps += my_sleeps() - before;
}

/* A message wakes one of them, which may also sleep on a lock. Each sleeps once at the beginning,
 * and again every four seconds. */
TEST_LIMIT(waiters, on_one_cno_wake_one_at_a_time, 60)
{
	struct crowd *c = calloc(1, sizeof(*c));

	ASSERT(c);
	pair_up(&c->p);
	OK(dat_cno_create(c->p.node.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &c->cno));
	OK(dat_evd_modify_cno(c->p.b.recv, c->cno));
	OK(post_recv(&c->p.b, 0, SHORT, 0));
	for (int i = 0; i < THREADS; i++)
		dt_thread_start(&c->thread[i], take_messages, c);
	for (int i = 0; i < THREADS; i++)
		dt_thread_wait_blocked(&c->thread[i]);
	for (uint64_t i = 0; i < EVENTS; i++) {
		OK(post_send_flags(&c->p.a, 0, SHORT, i, DAT_COMPLETION_SUPPRESS_FLAG));
		DT_UNTIL(c->taken > i, US_EVENT);
	}
	c->over = true;
	/* Releases all of them. */
	OK(dat_evd_modify_cno(c->p.b.recv, DAT_HANDLE_NULL));
	for (int i = 0; i < THREADS; i++)
		dt_thread_join(&c->thread[i]);
	dt_note("%ld sleeps of %d threads for %u messages", c->sleeps, THREADS, EVENTS);
	ASSERT(c->sleeps <= (long)(3 * EVENTS + 4 * THREADS));
	OK(dat_cno_free(c->cno));
	pair_close(&c->p);
	free(c);
}

/* ---- one of two threads leaves while a trigger comes ---- */

#define RACES 500
/* Less than the period in which a sleeping thread looks by itself. */
#define US_WAKE 2000000u

enum leave { BY_TIMEOUT, BY_SIGNAL, BY_CANCEL };

struct racer {
	pthread_t id;
	DAT_CNO_HANDLE cno;
	DAT_TIMEOUT timeout;
	_Atomic bool begun;
	bool gone;
	void *end;
	DAT_RETURN ret;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	DAT_EVD_HANDLE evd;

	r->begun = true;
	r->ret = dat_cno_wait(r->cno, r->timeout, &evd);
	return NULL;
}

static void racer_start(struct racer *r, DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout)
{
	memset(r, 0, sizeof(*r));
	r->cno = cno;
	r->timeout = timeout;
	ASSERT(!pthread_create(&r->id, NULL, race, r));
	DT_UNTIL(r->begun, US_EVENT);
}

static bool racer_gone(struct racer *r)
{
	if (!r->gone)
		r->gone = !pthread_tryjoin_np(r->id, &r->end);
	return r->gone;
}

/* Left without a trigger. */
static bool racer_left(struct racer *r)
{
	return racer_gone(r) && (r->end == PTHREAD_CANCELED || r->ret != DAT_SUCCESS);
}

static void racer_leave(struct racer *r, enum leave by)
{
	if (by == BY_SIGNAL)
		(void)pthread_kill(r->id, SIGUSR1);
	if (by == BY_CANCEL)
		(void)pthread_cancel(r->id);
}

static void compute_until(uint64_t us)
{
	while (dt_now_us() < us)
		;
}

/* Of two that wait, the one that came first leaves as a trigger comes: it has the trigger, or the
 * other one gets it. True: it left without. */
static bool race_once(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd, enum leave by, unsigned int round)
{
	/* A signal that comes first lets both happen before the thread runs. */
	bool leave_first = by == BY_SIGNAL || round % 2;
	uint64_t end = dt_now_us() + 1000;
	struct racer first, second;
	struct dt_start start;
	DAT_EVD_HANDLE seen;
	DAT_EVENT ev;
	bool left;

	racer_start(&first, cno, by == BY_TIMEOUT ? 1000 : DAT_TIMEOUT_INFINITE);
	dt_sleep_us(300);
	racer_start(&second, cno, DAT_TIMEOUT_INFINITE);
	compute_until(end + round % 128);
	start = dt_start();
	if (leave_first)
		racer_leave(&first, by);
	OK(post_se(evd, round));
	if (!leave_first)
		racer_leave(&first, by);
	DT_UNTIL(racer_gone(&first) || racer_gone(&second), US_EVENT);
	left = racer_left(&first);
	DT_UNTIL(!left || racer_gone(&second), US_EVENT);
	ASSERT(dt_in_time(&start, US_WAKE));
	if (!racer_gone(&first) || !racer_gone(&second))
		OK(post_se(evd, round));
	DT_UNTIL(racer_gone(&first) && racer_gone(&second), US_EVENT);
	ASSERT_EQ(second.ret, DAT_SUCCESS);
	while (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS)
		;
	(void)dat_cno_wait(cno, 0, &seen);
	return left;
}

static void race_often(enum leave by)
{
	unsigned int left = 0;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	OK(dat_cno_create(n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	evd = evd_make_cno(&n, 8, DAT_EVD_SOFTWARE_FLAG, cno);
	for (unsigned int i = 0; i < RACES; i++)
		left += race_once(cno, evd, by, i);
	dt_note("%u of %d left without the trigger", left, RACES);
	OK(dat_evd_free(evd));
	OK(dat_cno_free(cno));
	node_close(&n);
}

TEST_LIMIT(waiters, that_time_out_leave_the_trigger_to_another, 60)
{
	race_often(BY_TIMEOUT);
}

static void ignore_signal(int sig)
{
	(void)sig;
}

TEST_LIMIT(waiters, that_are_interrupted_leave_the_trigger_to_another, 60)
{
	const struct sigaction sa = { .sa_handler = ignore_signal, .sa_flags = SA_RESTART };

	ASSERT(!sigaction(SIGUSR1, &sa, NULL));
	race_often(BY_SIGNAL);
}

TEST_LIMIT(waiters, that_are_cancelled_leave_the_trigger_to_another, 60)
{
#ifdef __SANITIZE_THREAD__
	dt_skip("ThreadSanitizer does not see the locks that a cancelled thread takes");
#endif
	race_often(BY_CANCEL);
}
