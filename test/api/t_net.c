/* SPDX-License-Identifier: BSD-2-Clause */
/* A host that is not there, in a network of the case's own (so that no packet leaves it). */
#include "rig.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* Without an answer to the search for the host, the kernel gives up after some three seconds. */
TEST_LIMIT(connect, absent_host_is_UNREACHABLE, 40)
{
	struct sockaddr_in sin;
	struct node n;
	struct side s;
	DAT_EVENT ev;
	int tap;

	if (!fabric_has("hosts"))
		dt_skip("only IP networks have such hosts");
	tap = deaf_network("dattap", "198.51.100.1");
	conf_for_domain("dattap");
	node_open(&n);
	side_make(&s, &n, NULL);
	OK(post_recv(&s, 0, 10, 1));
	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	ASSERT_EQ(inet_pton(AF_INET, "198.51.100.9", &sin.sin_addr), 1);
	OK(dat_ep_connect(s.ep, (DAT_IA_ADDRESS_PTR)&sin, 5000, 20000000, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	OK(dat_evd_wait(s.conn, 15000000, 1, &ev, &(DAT_COUNT){ 0 }));
	ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_UNREACHABLE);
	ASSERT_PTR(ev.event_data.connect_event_data.ep_handle, s.ep);
	ASSERT_EQ(ev.event_data.connect_event_data.private_data_size, 0);
	ASSERT_EQ(side_state(&s), DAT_EP_STATE_DISCONNECTED);
	EV_FLUSH(s.recv, s.ep, 1, OP_RECV);
	EV_NONE(s.conn);
	side_free(&s);
	node_close(&n);
	close(tap);
}

/* The same, with a timeout shorter than that of the kernel. */
TEST(connect, absent_host_is_TIMED_OUT_when_the_time_is_short)
{
	struct sockaddr_in sin;
	struct dt_start start;
	struct node n;
	struct side s;
	int tap;

	if (!fabric_has("hosts"))
		dt_skip("only IP networks have such hosts");
	tap = deaf_network("dattap", "198.51.100.1");
	conf_for_domain("dattap");
	node_open(&n);
	side_make(&s, &n, NULL);
	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	ASSERT_EQ(inet_pton(AF_INET, "198.51.100.9", &sin.sin_addr), 1);
	start = dt_start();
	OK(dat_ep_connect(s.ep, (DAT_IA_ADDRESS_PTR)&sin, 5000, 500000, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	EV_CONN(s.conn, TIMED_OUT, s.ep);
	ASSERT(dt_took_us(&start) >= 500000);
	ASSERT(dt_in_time(&start, 1500000));
	side_free(&s);
	node_close(&n);
	close(tap);
}

TEST(connect, address_that_no_host_can_have_is_INVALID_ADDRESS)
{
	static const char *const texts[] = { "224.0.0.1", "255.255.255.255", "240.0.0.1" };
	unsigned int i, n = sizeof(texts) / sizeof(texts[0]);
	struct sockaddr_in sin;
	struct pair p;

	/* The last is the kernel's to refuse; that of devices looks for a route, and tells
	 * later. */
	if (fabric_is("verbs") || fabric_is("iwarp"))
		n--;
	pair_open(&p);
	for (i = 0; i < n; i++) {
		memset(&sin, 0, sizeof(sin));
		sin.sin_family = AF_INET;
		ASSERT_EQ(inet_pton(AF_INET, texts[i], &sin.sin_addr), 1);
		ASSERT_EQ(DAT_GET_TYPE(connect_to(p.a.ep, (DAT_IA_ADDRESS_PTR)&sin, p.qual)),
			  DAT_INVALID_ADDRESS);
		ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
	}
	pair_connect(&p);
	pair_close(&p);
}

/* A host of which not even the network says that it is absent: DAT_TEST_SILENT, an address where
 * packets vanish (test/vm has one). */
struct silent {
	struct side s;
	struct sockaddr_in sin;
	struct dt_thread thread;
	DAT_RETURN ret;
	uint64_t took_us;
};

static void connect_to_silence(void *arg)
{
	struct silent *q = arg;
	uint64_t start = dt_now_us();

	q->ret = dat_ep_connect(q->s.ep, (DAT_IA_ADDRESS_PTR)&q->sin, 5000, 1000000, 0, NULL,
				DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	q->took_us = dt_now_us() - start;
}

static void silent_make(struct silent *q, struct node *n)
{
	memset(q, 0, sizeof(*q));
	side_make(&q->s, n, NULL);
	q->sin.sin_family = AF_INET;
	ASSERT_EQ(inet_pton(AF_INET, getenv("DAT_TEST_SILENT"), &q->sin.sin_addr), 1);
	dt_thread_start(&q->thread, connect_to_silence, q);
}

/* One that is silent for good must hold up neither the call nor other connections. */
TEST_LIMIT(connect, silent_host_is_given_up_in_time, 20)
{
	struct silent q;
	DAT_EVENT ev;
	struct pair p;

	if (!getenv("DAT_TEST_SILENT"))
		dt_skip("DAT_TEST_SILENT is not set");
	pair_open(&p);
	silent_make(&q, &p.node);
	OK(dat_cr_accept(pair_request(&p), p.b.ep, 0, NULL));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	dt_thread_join(&q.thread);
	ASSERT(q.took_us < 3000000 * dt_slow());
	if (q.ret == DAT_SUCCESS) {
		EV_NEXT(q.s.conn, &ev);
		ASSERT(ev.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
		       ev.event_number == DAT_CONNECTION_EVENT_TIMED_OUT);
		ASSERT_EQ(side_state(&q.s), DAT_EP_STATE_DISCONNECTED);
	} else {
		ASSERT_EQ(DAT_GET_TYPE(q.ret), DAT_INVALID_ADDRESS);
		ASSERT_EQ(side_state(&q.s), DAT_EP_STATE_UNCONNECTED);
	}
	EV_NONE(q.s.conn);
	side_free(&q.s);
	pair_close(&p);
}

/*
 * While the host does not answer, the EP cannot be connected again, and the IA can be closed.
 * Soft-iWARP blocks in the call, others return at once.
 */
TEST_LIMIT(connect, silent_host_does_not_outlive_the_adapter, 20)
{
	bool asks = fabric_is("iwarp");
	struct silent q;
	struct node n;

	if (!getenv("DAT_TEST_SILENT"))
		dt_skip("DAT_TEST_SILENT is not set");
	node_open(&n);
	silent_make(&q, &n);
	if (asks)
		dt_thread_wait_blocked(&q.thread);
	else
		dt_thread_join(&q.thread);
	BAD_STATE(connect_to(q.s.ep, (DAT_IA_ADDRESS_PTR)&q.sin, 5000), EP_ACTCONNPENDING);
	node_abort(&n);
	if (asks)
		dt_thread_join(&q.thread);
	ASSERT(q.took_us < 3000000 * dt_slow());
	if (asks)
		BAD_HANDLE(q.ret, EP);
	else
		OK(q.ret);
}
