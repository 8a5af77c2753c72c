/* SPDX-License-Identifier: BSD-2-Clause */
/* Many threads on the same and on different objects. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "srq_rig.h"

#define THREADS 4

/* ---- one IA, one connection per thread ---- */

struct worker {
	struct pair *p;
	struct side a, b;
	int rounds;
};

static void ping(void *arg)
{
	struct worker *w = arg;
	int i;

	for (i = 0; i < w->rounds; i++) {
		OK(post_recv(&w->b, 0, 200, 1));
		OK(post_send(&w->a, 0, 200, 2));
		EV_DTO(w->b.recv, w->b.ep, 1, OP_RECV, 200);
		EV_DTO(w->a.req, w->a.ep, 2, OP_SEND, 200);
		OK(post_write(&w->a, 0, 3000, 3, &w->b, 1000));
		OK(post_read(&w->a, 4000, 3000, 4, &w->b, 1000));
		EV_DTO(w->a.req, w->a.ep, 3, OP_WRITE, 3000);
		EV_DTO(w->a.req, w->a.ep, 4, OP_READ, 3000);
	}
}

TEST_LIMIT(threads, one_connection_each_in_one_ia, 60)
{
	struct dt_thread t[THREADS];
	static struct worker w[THREADS];
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < THREADS; i++) {
		w[i].p = &p;
		w[i].rounds = 200;
		side_make(&w[i].a, &p.node, NULL);
		side_make(&w[i].b, &p.node, NULL);
		OK(connect_to(w[i].a.ep, p.node.attr.ia_address_ptr, p.qual));
		OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), w[i].b.ep, 0, NULL));
		EV_CONN(w[i].a.conn, ESTABLISHED, w[i].a.ep);
	}
	for (i = 0; i < THREADS; i++)
		dt_thread_start(&t[i], ping, &w[i]);
	for (i = 0; i < THREADS; i++)
		dt_thread_join(&t[i]);
	for (i = 0; i < THREADS; i++) {
		side_free(&w[i].a);
		side_free(&w[i].b);
	}
	pair_close(&p);
}

static void ping_own_ia(void *arg)
{
	struct worker w;
	struct pair p;

	(void)arg;
	pair_up(&p);
	w.a = p.a;
	w.b = p.b;
	w.rounds = 100;
	ping(&w);
	pair_close(&p);
}

TEST_LIMIT(threads, one_ia_each, 60)
{
	struct dt_thread t[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		dt_thread_start(&t[i], ping_own_ia, NULL);
	for (i = 0; i < THREADS; i++)
		dt_thread_join(&t[i]);
}

/* ---- several threads post on one endpoint ---- */

struct poster {
	struct side *s;
	int count;
	uint64_t base;
};

static void post_many(void *arg)
{
	struct poster *w = arg;
	DAT_RETURN ret;
	int i;

	for (i = 0; i < w->count; i++) {
		/* The queue may be full: the reader makes room. */
		while ((ret = post_send(w->s, 0, 64, w->base + (unsigned int)i)) != DAT_SUCCESS) {
			ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
			dt_sleep_us(100);
		}
	}
}

TEST_LIMIT(threads, several_post_sends_on_one_endpoint, 60)
{
	struct dt_thread t[THREADS];
	struct poster w[THREADS];
	int i, got = 0, next[THREADS] = { 0 };
	struct pair p;
	DAT_EVENT ev;

	pair_up(&p);
	for (i = 0; i < 16; i++)
		OK(post_recv(&p.b, 0, 64, 1));
	for (i = 0; i < THREADS; i++) {
		w[i] = (struct poster){ &p.a, 200, (uint64_t)i << 32 };
		dt_thread_start(&t[i], post_many, &w[i]);
	}
	while (got < THREADS * 200) {
		uint64_t cookie;

		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 64);
		OK(post_recv(&p.b, 0, 64, 1));
		EV_NEXT(p.a.req, &ev);
		cookie = dto_of(&ev)->user_cookie.as_64;
		ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_SUCCESS);
		/* The order of each thread's posts is kept. */
		ASSERT_EQ(cookie & 0xffffffffu, next[cookie >> 32]);
		next[cookie >> 32]++;
		got++;
	}
	for (i = 0; i < THREADS; i++)
		dt_thread_join(&t[i]);
	pair_close(&p);
}

#define SRQ_POSTS 100

struct srq_poster {
	struct hub *hub;
	uint64_t first;
};

static void post_to_srq(void *arg)
{
	const struct srq_poster *w = arg;

	for (uint64_t i = w->first; i < w->first + SRQ_POSTS; i++) {
		DAT_RETURN ret = hub_post(w->hub, (int)(i % HUB_SLOTS), 64, i);

		while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES) {
			dt_sleep_us(100);
			ret = hub_post(w->hub, (int)(i % HUB_SLOTS), 64, i);
		}
		OK(ret);
	}
}

static DAT_COUNT srq_available(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM param;

	OK(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	ASSERT(param.available_dto_count >= 0 && param.available_dto_count <= 8);
	return param.available_dto_count;
}

TEST_LIMIT(threads, several_post_to_one_shared_receive_queue, 60)
{
	bool seen[THREADS * SRQ_POSTS] = { false };
	struct srq_poster w[THREADS];
	struct dt_thread t[THREADS];
	struct hub h;
	int i;

	hub_open(&h, 1, 8, 0);
	for (i = 0; i < THREADS; i++) {
		w[i] = (struct srq_poster){ &h, (uint64_t)i * SRQ_POSTS };
		dt_thread_start(&t[i], post_to_srq, &w[i]);
	}
	for (i = 0; i < THREADS * SRQ_POSTS; i++) {
		uint64_t cookie;
		DAT_EVENT ev;

		DT_UNTIL(srq_available(h.srq) > 0, US_EVENT);
		hub_send(&h, 0, 64, 7);
		EV_NEXT(h.on[0].recv, &ev);
		ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_SUCCESS);
		ASSERT_EQ(dto_of(&ev)->transfered_length, 64);
		cookie = dto_of(&ev)->user_cookie.as_64;
		ASSERT(cookie < THREADS * SRQ_POSTS && !seen[cookie]);
		seen[cookie] = true;
	}
	for (i = 0; i < THREADS; i++)
		dt_thread_join(&t[i]);
	SRQ_COUNTS(h.srq, 0, 0);
	hub_close(&h);
}

/* ---- objects come and go ---- */

static void churn(void *arg)
{
	struct node *n = arg;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	struct buf b;
	char mem[512];
	int i;

	for (i = 0; i < 100; i++) {
		OK(dat_pz_create(n->ia, &pz));
		OK(dat_cno_create(n->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
		evd = evd_make_cno(n, 8, DAT_EVD_DEFAULT_FLAG, cno);
		OK(dat_ep_create(n->ia, pz, evd, evd, evd, NULL, &ep));
		buf_register(&b, n, pz, mem, sizeof(mem), PRIV_ALL);
		buf_unregister(&b);
		OK(dat_ep_free(ep));
		OK(dat_evd_free(evd));
		OK(dat_cno_free(cno));
		OK(dat_pz_free(pz));
	}
}

TEST_LIMIT(threads, create_and_free_objects_of_one_ia, 60)
{
	struct dt_thread t[THREADS];
	struct node n;
	int i;

	node_open(&n);
	for (i = 0; i < THREADS; i++)
		dt_thread_start(&t[i], churn, &n);
	for (i = 0; i < THREADS; i++)
		dt_thread_join(&t[i]);
	node_close(&n);
}

static void connect_loop(void *arg)
{
	struct pair *p = arg;
	struct side a;
	int i;

	for (i = 0; i < 15; i++) {
		side_make(&a, &p->node, NULL);
		OK(connect_to(a.ep, p->node.attr.ia_address_ptr, p->qual));
		EV_CONN(a.conn, ESTABLISHED, a.ep);
		if (i & 1) {
			OK(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
			EV_CONN(a.conn, DISCONNECTED, a.ep);
		}
		side_free(&a);
	}
}

TEST_LIMIT(threads, several_connect_and_disconnect_to_one_service_point, 60)
{
	struct side b[THREADS * 15];
	struct dt_thread t[THREADS];
	struct pair p;
	DAT_EVENT ev;
	int i;

	pair_open(&p);
	for (i = 0; i < THREADS; i++)
		dt_thread_start(&t[i], connect_loop, &p);
	for (i = 0; i < THREADS * 15; i++) {
		side_make(&b[i], &p.node, NULL);
		EV_NEXT(p.cr_evd, &ev);
		OK(dat_cr_accept(cr_of(&ev), b[i].ep, 0, NULL));
	}
	for (i = 0; i < THREADS; i++)
		dt_thread_join(&t[i]);
	for (i = 0; i < THREADS * 15; i++) {
		EV_CONN(b[i].conn, ESTABLISHED, b[i].ep);
		EV_CONN(b[i].conn, DISCONNECTED, b[i].ep);
		side_free(&b[i]);
	}
	pair_close(&p);
}

/* ---- one waits, another posts ---- */

static void receive_many(void *arg)
{
	struct pair *p = arg;
	int i;

	for (i = 0; i < 1000; i++) {
		EV_DTO(p->b.recv, p->b.ep, 1, OP_RECV, 32);
		OK(post_recv(&p->b, 0, 32, 1));
	}
}

TEST_LIMIT(threads, one_waits_for_what_another_sends, 60)
{
	struct dt_thread t;
	struct pair p;
	int i;

	pair_up(&p);
	for (i = 0; i < 16; i++)
		OK(post_recv(&p.b, 0, 32, 1));
	dt_thread_start(&t, receive_many, &p);
	for (i = 0; i < 1000; i++) {
		OK(post_send(&p.a, 0, 32, 2));
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 32);
	}
	dt_thread_join(&t);
	pair_close(&p);
}

static void disconnect_later(void *arg)
{
	struct pair *p = arg;

	dt_sleep_us(3000);
	OK(dat_ep_disconnect(p->b.ep, DAT_CLOSE_ABRUPT_FLAG));
}

/* Posts race with the end of the connection: each one that was taken completes once. */
TEST_LIMIT(threads, posts_race_with_a_disconnect, 60)
{
	struct dt_thread t;
	uint64_t posted, seen;
	struct pair p;
	DAT_RETURN ret;
	DAT_EVENT ev;
	int round;

	pair_open(&p);
	for (round = 0; round < 10; round++) {
		pair_connect(&p);
		dt_thread_start(&t, disconnect_later, &p);
		for (posted = seen = 0; posted < 3000;) {
			ret = post_write(&p.a, 0, 64, posted, &p.b, 0);
			if (ret == DAT_SUCCESS)
				posted++;
			else
				ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
			while (dat_evd_dequeue(p.a.req, &ev) == DAT_SUCCESS) {
				ASSERT_EQ(dto_of(&ev)->user_cookie.as_64, seen);
				seen++;
			}
		}
		while (seen < posted) {
			EV_NEXT(p.a.req, &ev);
			ASSERT_EQ(dto_of(&ev)->user_cookie.as_64, seen);
			seen++;
		}
		dt_thread_join(&t);
		EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
		EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
		EV_EMPTY(p.a.req);
		OK(dat_ep_reset(p.a.ep));
		OK(dat_ep_reset(p.b.ep));
	}
	pair_close(&p);
}

static void free_evd_while_posting(void *arg)
{
	DAT_EVD_HANDLE evd = arg;
	DAT_RETURN ret;

	do {
		ret = post_se(evd, 1);
		ASSERT(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_QUEUE_FULL ||
		       DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE);
	} while (DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE);
}

TEST(threads, evd_is_freed_while_another_posts_events)
{
	struct dt_thread t;
	DAT_EVD_HANDLE evd;
	struct node n;
	int i;

	node_open(&n);
	for (i = 0; i < 20; i++) {
		evd = evd_make(&n, 8, DAT_EVD_SOFTWARE_FLAG);
		dt_thread_start(&t, free_evd_while_posting, evd);
		dt_sleep_us(1000);
		OK(dat_evd_free(evd));
		dt_thread_join(&t);
	}
	node_close(&n);
}

static void dequeue_until_it_is_freed(void *arg)
{
	_Atomic(DAT_EVD_HANDLE) *shared = arg;
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret;
	DAT_EVENT ev;

	while ((evd = atomic_load(shared))) {
		ret = dat_evd_dequeue(evd, &ev);
		ASSERT(ret == DAT_QUEUE_EMPTY || DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE);
	}
}

/* It is freed at any point of the other's calls: none of them keeps the EVD's lock. */
TEST_LIMIT(threads, evd_is_freed_while_another_dequeues, 60)
{
	_Atomic(DAT_EVD_HANDLE) shared;
	struct dt_thread t;
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_SOFTWARE_FLAG);
	atomic_store(&shared, evd);
	dt_thread_start(&t, dequeue_until_it_is_freed, &shared);
	for (int i = 0; i < 20000; i++) {
		DAT_EVD_HANDLE next = evd_make(&n, 8, DAT_EVD_SOFTWARE_FLAG);

		OK(dat_evd_free(evd));
		evd = next;
		atomic_store(&shared, evd);
	}
	atomic_store(&shared, NULL);
	dt_thread_join(&t);
	OK(dat_evd_free(evd));
	node_close(&n);
}

struct assigned {
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
};

static void assign_until_it_is_freed(void *arg)
{
	struct assigned *a = arg;
	DAT_RETURN ret;

	do {
		ret = dat_evd_modify_cno(a->evd, a->cno);
		if (ret == DAT_SUCCESS)
			ret = dat_evd_modify_cno(a->evd, DAT_HANDLE_NULL);
		if (ret == DAT_SUCCESS)
			ret = dat_evd_resize(a->evd, 20);
		if (ret == DAT_SUCCESS)
			ret = dat_evd_resize(a->evd, 8);
	} while (ret == DAT_SUCCESS);
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_HANDLE);
}

TEST_LIMIT(threads, evd_is_freed_while_another_assigns_a_cno, 60)
{
	struct assigned a;
	struct dt_thread t;
	struct node n;
	int i;

	node_open(&n);
	for (i = 0; i < 500; i++) {
		OK(dat_cno_create(n.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &a.cno));
		a.evd = evd_make(&n, 8, DAT_EVD_SOFTWARE_FLAG);
		dt_thread_start(&t, assign_until_it_is_freed, &a);
		dt_sleep_us(100);
		OK(dat_evd_free(a.evd));
		dt_thread_join(&t);
		/* No reference of an EVD that does not exist is left. */
		OK(dat_cno_free(a.cno));
	}
	node_close(&n);
}

/* ---- the environment ---- */

#define READERS 2
#define OPENERS 16

static _Atomic bool opened;

static void *read_environment(void *arg)
{
	(void)arg;
	while (!opened)
		ASSERT(!getenv("DAT_TEST_NO_SUCH_VARIABLE"));
	return NULL;
}

/* A child process that opens its first adapter. */
static void open_among_readers(void)
{
	pthread_t reader[READERS];
	struct node n;
	int i;

	for (i = 0; i < READERS; i++)
		ASSERT_EQ(pthread_create(&reader[i], NULL, read_environment, NULL), 0);
	node_open(&n);
	node_close(&n);
	opened = true;
	for (i = 0; i < READERS; i++)
		pthread_join(reader[i], NULL);
	_exit(0);
}

TEST_LIMIT(threads, read_the_environment_while_the_first_ia_is_opened, 60)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < OPENERS; i++) {
		pid = fork();
		ASSERT(pid >= 0);
		if (!pid)
			open_among_readers();
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		ASSERT_EQ(status, 0);
	}
}
