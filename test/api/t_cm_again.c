/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests further connections between two connected adapters. */
#include "rig.h"

#include <dirent.h>

/* One more endpoint on either side of p. */
struct more {
	struct side a, b;
};

static void more_make(struct more *m, struct pair *p)
{
	side_make(&m->a, &p->node, NULL);
	side_make(&m->b, &p->node, NULL);
}

static void more_free(struct more *m)
{
	side_free(&m->a);
	side_free(&m->b);
}

static DAT_CR_HANDLE more_request(struct more *m, struct pair *p)
{
	OK(connect_to(m->a.ep, p->node.attr.ia_address_ptr, p->qual));
	return EV_CR(p->cr_evd, p->psp, p->qual);
}

static void more_connect(struct more *m, struct pair *p)
{
	OK(dat_cr_accept(more_request(m, p), m->b.ep, 0, NULL));
	EV_CONN(m->b.conn, ESTABLISHED, m->b.ep);
	EV_CONN(m->a.conn, ESTABLISHED, m->a.ep);
}

static void exchange(struct side *from, struct side *to)
{
	fill(from->buf.mem, 100, 7);
	OK(post_recv(to, 200, 100, 1));
	OK(post_send(from, 0, 100, 2));
	EV_DTO(from->req, from->ep, 2, OP_SEND, 100);
	EV_DTO(to->recv, to->ep, 1, OP_RECV, 100);
	CHECK_FILL(to->buf.mem + 200, 100, 7);
}

TEST(again, connections_carry_data_and_end_one_by_one)
{
	struct more m[8];
	struct pair p;

	pair_up(&p);
	for (int i = 0; i < 8; i++) {
		more_make(&m[i], &p);
		more_connect(&m[i], &p);
	}
	for (int i = 0; i < 8; i++) {
		exchange(&m[i].a, &m[i].b);
		exchange(&m[i].b, &m[i].a);
	}
	for (int i = 0; i < 8; i++) {
		struct side *first = i % 2 ? &m[i].a : &m[i].b;
		struct side *other = i % 2 ? &m[i].b : &m[i].a;

		OK(dat_ep_disconnect(first->ep, DAT_CLOSE_ABRUPT_FLAG));
		EV_CONN(first->conn, DISCONNECTED, first->ep);
		EV_CONN(other->conn, DISCONNECTED, other->ep);
		EV_EMPTY(p.a.conn);
		EV_EMPTY(p.b.conn);
		more_free(&m[i]);
	}
	exchange(&p.a, &p.b);
	pair_close(&p);
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	ASSERT(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* An EVD gets a descriptor at its first wait. */
static void wait_once(DAT_EVD_HANDLE evd)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	ASSERT_EQ(DAT_GET_TYPE(dat_evd_wait(evd, 1000, 1, &ev, &more)), DAT_TIMEOUT_EXPIRED);
}

TEST(again, a_connection_needs_no_descriptor_where_connections_are_shared)
{
	struct more m[32];
	struct pair p;
	int before;

	if (!fabric_has("shared"))
		dt_skip("each connection has a socket");
	pair_up(&p);
	exchange(&p.a, &p.b);
	wait_once(p.cr_evd);
	for (int i = 0; i < 32; i++) {
		more_make(&m[i], &p);
		wait_once(m[i].a.conn);
		wait_once(m[i].b.conn);
	}
	before = descriptors();
	for (int i = 0; i < 32; i++)
		more_connect(&m[i], &p);
	/* The descriptor of the handshake of the first connection is closed eventually. */
	ASSERT(descriptors() <= before);
	for (int i = 0; i < 32; i++)
		more_free(&m[i]);
	pair_close(&p);
}

TEST(again, a_service_point_that_is_gone_is_NON_PEER_REJECTED)
{
	struct more m;
	struct pair p;

	set_no_connect_retry();
	pair_up(&p);
	more_make(&m, &p);
	more_connect(&m, &p);
	more_free(&m);
	OK(dat_psp_free(p.psp));
	p.psp = NULL;
	more_make(&m, &p);
	OK(connect_to(m.a.ep, p.node.attr.ia_address_ptr, p.qual));
	EV_CONN(m.a.conn, NON_PEER_REJECTED, m.a.ep);
	EV_NONE(m.a.conn);
	more_free(&m);
	exchange(&p.a, &p.b);
	pair_close(&p);
}

TEST(again, a_rejection_is_PEER_REJECTED)
{
	struct more m;
	struct pair p;

	pair_up(&p);
	more_make(&m, &p);
	OK(api_cr_reject(more_request(&m, &p)));
	EV_CONN(m.a.conn, PEER_REJECTED, m.a.ep);
	EV_NONE(m.a.conn);
	more_free(&m);
	more_make(&m, &p);
	more_connect(&m, &p);
	more_free(&m);
	pair_close(&p);
}

TEST(again, private_data_goes_both_ways)
{
	char ask[] = "who is there", answer[] = "it is me";
	DAT_CONNECTION_EVENT_DATA d;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct more m;
	struct pair p;

	pair_up(&p);
	more_make(&m, &p);
	OK(dat_ep_connect(m.a.ep, p.node.attr.ia_address_ptr, p.qual, US_CONNECT, sizeof(ask), ask,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT(param.private_data_size >= (DAT_COUNT)sizeof(ask));
	ASSERT_MEM(param.private_data, ask, sizeof(ask));
	OK(dat_cr_accept(cr, m.b.ep, sizeof(answer), answer));
	EV_CONN(m.b.conn, ESTABLISHED, m.b.ep);
	d = EV_CONN(m.a.conn, ESTABLISHED, m.a.ep);
	ASSERT(d.private_data_size >= (DAT_COUNT)sizeof(answer));
	ASSERT_MEM(d.private_data, answer, sizeof(answer));
	more_free(&m);
	pair_close(&p);
}

/* The client has gone when its request is accepted. */
TEST(again, a_request_that_was_given_up_is_no_connection)
{
	DAT_EVENT ev;
	DAT_CR_HANDLE cr;
	struct more m;
	struct pair p;

	pair_up(&p);
	more_make(&m, &p);
	cr = more_request(&m, &p);
	OK(dat_ep_disconnect(m.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(m.a.conn, DISCONNECTED, m.a.ep);
	if (dat_cr_accept(cr, m.b.ep, 0, NULL) == DAT_SUCCESS) {
		EV_NEXT(m.b.conn, &ev);
		/* The acceptance may have been sent before the cancellation arrived. */
		if (ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			EV_NEXT(m.b.conn, &ev);
		ASSERT(ev.event_number != DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	more_free(&m);
	exchange(&p.a, &p.b);
	pair_close(&p);
}

/* Nothing is left there that a consumer or the library would poll for data. */
TEST(again, a_request_comes_to_an_IA_without_endpoints)
{
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct node n, to;
	struct side a, b;

	node_open(&n);
	node_open(&to);
	cr_evd = evd_make(&to, 8, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(to.ia, &qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	for (int i = 0; i < 3; i++) {
		DAT_CR_HANDLE cr;

		side_make(&a, &n, NULL);
		OK(connect_to(a.ep, to.attr.ia_address_ptr, qual));
		cr = EV_CR(cr_evd, psp, qual);
		side_make(&b, &to, NULL);
		OK(dat_cr_accept(cr, b.ep, 0, NULL));
		EV_CONN(b.conn, ESTABLISHED, b.ep);
		EV_CONN(a.conn, ESTABLISHED, a.ep);
		exchange(&a, &b);
		side_free(&b);
		EV_CONN(a.conn, DISCONNECTED, a.ep);
		side_free(&a);
	}
	OK(dat_psp_free(psp));
	OK(dat_evd_free(cr_evd));
	node_close(&to);
	node_close(&n);
}

/* The client's next messages, and over tcp its first connection to the adapter, find it closing. */
TEST(again, an_adapter_is_closed_right_after_it_has_accepted)
{
	struct node n, to;

	node_open(&n);
	for (int i = 0; i < 8; i++) {
		struct side a, b;
		DAT_CONN_QUAL qual;
		DAT_PSP_HANDLE psp;
		DAT_EVD_HANDLE evd;
		DAT_CR_HANDLE cr;
		DAT_EVENT ev;

		node_open(&to);
		evd = evd_make(&to, 8, DAT_EVD_CR_FLAG);
		OK(dat_psp_create_any(to.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
		side_make(&a, &n, NULL);
		side_make(&b, &to, NULL);
		OK(connect_to(a.ep, to.attr.ia_address_ptr, qual));
		cr = EV_CR(evd, psp, qual);
		OK(dat_cr_accept(cr, b.ep, 0, NULL));
		node_abort(&to);
		EV_NEXT(a.conn, &ev);
		if (ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
			EV_NEXT(a.conn, &ev);
		ASSERT(ev.event_number != DAT_CONNECTION_EVENT_ESTABLISHED);
		ASSERT_EQ(side_state(&a), DAT_EP_STATE_DISCONNECTED);
		side_free(&a);
	}
	node_close(&n);
}

/* ---------------------------------------------------------------- bursts */

#define BURST 100

/*
 * Endpoints of two adapters without connections to each other; those of one side share a queue of
 * connection events.
 */
struct burst {
	struct node a, b; /* a connects, b accepts */
	DAT_EVD_HANDLE conn_a, conn_b, cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_HANDLE ep_a[BURST], ep_b[BURST];
};

static void burst_make(struct burst *u)
{
	node_open(&u->a);
	node_open(&u->b);
	u->conn_a = evd_make(&u->a, 2 * BURST, DAT_EVD_CONNECTION_FLAG);
	u->conn_b = evd_make(&u->b, 2 * BURST, DAT_EVD_CONNECTION_FLAG);
	u->cr_evd = evd_make(&u->b, BURST, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(u->b.ia, &u->qual, u->cr_evd, DAT_PSP_CONSUMER_FLAG, &u->psp));
	for (int i = 0; i < BURST; i++) {
		OK(dat_ep_create(u->a.ia, u->a.pz, NULL, NULL, u->conn_a, NULL, &u->ep_a[i]));
		OK(dat_ep_create(u->b.ia, u->b.pz, NULL, NULL, u->conn_b, NULL, &u->ep_b[i]));
	}
}

static void burst_free(struct burst *u)
{
	for (int i = 0; i < BURST; i++) {
		OK(dat_ep_free(u->ep_a[i]));
		OK(dat_ep_free(u->ep_b[i]));
	}
	OK(dat_psp_free(u->psp));
	OK(dat_evd_free(u->cr_evd));
	OK(dat_evd_free(u->conn_b));
	OK(dat_evd_free(u->conn_a));
	node_close(&u->b);
	node_close(&u->a);
}

/* Many endpoints of a connect at once, then b accepts them. The driver of soft-iWARP gives up a
 * request that is not accepted within 10 s, and a slow machine needs longer for all of them. */
static void burst_accept(struct burst *u)
{
	int at_once = fabric_is("iwarp") ? BURST / 10 : BURST;

	for (int from = 0; from < BURST; from += at_once) {
		for (int i = from; i < from + at_once; i++)
			OK(connect_to(u->ep_a[i], u->b.attr.ia_address_ptr, u->qual));
		for (int i = from; i < from + at_once; i++)
			OK(dat_cr_accept(EV_CR(u->cr_evd, u->psp, u->qual), u->ep_b[i], 0, NULL));
	}
}

/* One event of that number for each of the endpoints, and no other event before the last. */
static void burst_events(DAT_EVD_HANDLE evd, const DAT_EP_HANDLE *ep, DAT_EVENT_NUMBER number)
{
	bool seen[BURST] = { false };
	DAT_EVENT ev;

	for (int i = 0; i < BURST; i++) {
		int k = 0;

		EV_NEXT(evd, &ev);
		ASSERT_EQ(ev.event_number, number);
		while (k < BURST && ep[k] != ev.event_data.connect_event_data.ep_handle)
			k++;
		ASSERT(k < BURST && !seen[k]);
		seen[k] = true;
	}
}

static void disconnect_all(const DAT_EP_HANDLE *ep)
{
	for (int i = 0; i < BURST; i++)
		OK(dat_ep_disconnect(ep[i], DAT_CLOSE_ABRUPT_FLAG));
}

/* What one side does once all its connections are up reaches the other after the last of them is
 * up there. */
static void one_side_disconnects(bool client)
{
	DAT_EVD_HANDLE first, second;
	struct burst u;

	burst_make(&u);
	first = client ? u.conn_a : u.conn_b;
	second = client ? u.conn_b : u.conn_a;
	burst_accept(&u);
	burst_events(first, client ? u.ep_a : u.ep_b, DAT_CONNECTION_EVENT_ESTABLISHED);
	disconnect_all(client ? u.ep_a : u.ep_b);
	burst_events(second, client ? u.ep_b : u.ep_a, DAT_CONNECTION_EVENT_ESTABLISHED);
	burst_events(second, client ? u.ep_b : u.ep_a, DAT_CONNECTION_EVENT_DISCONNECTED);
	burst_events(first, client ? u.ep_a : u.ep_b, DAT_CONNECTION_EVENT_DISCONNECTED);
	burst_free(&u);
}

TEST(again, a_burst_is_ESTABLISHED_before_its_client_disconnects)
{
	if (!fabric_has("shared"))
		dt_skip("each handshake has a socket of its own");
	one_side_disconnects(true);
}

TEST(again, a_burst_is_ESTABLISHED_before_its_server_disconnects)
{
	one_side_disconnects(false);
}
