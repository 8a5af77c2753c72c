/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests connections between processes with a shared secret. */
#include "secret_files.h"
#include "srq_rig.h"

struct card {
	DAT_CONN_QUAL qual;
	struct sockaddr_storage addr;
};

struct row {
	const char *rule;
	const char *listener, *client; /* their secrets */
	const char *listener_says, *client_says;
};

/* clang-format off */
static const struct row rows[] = {
	{ "the_other_has_another", "good", "other", "secret", "another secret" },
	{ "only_the_listener_has_one", "good", NULL, "it has no secret",
	  "secret" },
	{ "only_the_client_has_one", NULL, "good", "it expects a secret",
	  "secret" },
};
/* clang-format on */

/* ---- two processes ---- */

static DAT_RETURN connect_with(DAT_EP_HANDLE ep, const struct card *to, DAT_COUNT size,
			       const void *data)
{
	return dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)(uintptr_t)&to->addr, to->qual, US_CONNECT,
			      size, (DAT_PVOID)(uintptr_t)data, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

static void listen_for(struct node *n, int fd, DAT_EVD_HANDLE *cr_evd, DAT_PSP_HANDLE *psp,
		       struct card *card)
{
	const struct sockaddr *sa = n->attr.ia_address_ptr;

	memset(card, 0, sizeof(*card));
	*cr_evd = evd_make(n, 64, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(n->ia, &card->qual, *cr_evd, DAT_PSP_CONSUMER_FLAG, psp));
	memcpy(&card->addr, sa,
	       sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
	dt_put(fd, card, sizeof(*card));
}

static void refused_client(int fd, const void *arg)
{
	const struct row *row = arg;
	struct card to;
	struct side s;
	struct node n;

	secret_choose(row->client, "client");
	node_open(&n);
	side_make(&s, &n, NULL);
	OK(post_recv(&s, 0, 64, 1));
	dt_get(fd, &to, sizeof(to));
	OK(connect_with(s.ep, &to, 9, "not yours"));
	EV_CONN(s.conn, NON_PEER_REJECTED, s.ep);
	EV_FLUSH(s.recv, s.ep, 1, OP_RECV);
	DT_UNTIL(secret_log_says("client", row->client_says), US_EVENT);
	dt_put_byte(fd, 'r');
	side_free(&s);
	node_close(&n);
}

static void refused(const void *arg)
{
	const struct row *row = arg;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	struct dt_peer peer;
	struct card card;
	struct node n;

	secret_files();
	dt_peer_start(&peer, refused_client, row);
	secret_choose(row->listener, "listener");
	/* The time after which the listener reports clients that have not proved to know it. */
	setenv("DAPL_OFI_HALF_OPEN_MS", "300", 1);
	node_open(&n);
	listen_for(&n, peer.fd, &cr_evd, &psp, &card);
	dt_expect_byte(peer.fd, 'r');
	/* The program gets no event. */
	EV_NONE(cr_evd);
	DT_UNTIL(secret_log_says("listener", row->listener_says), US_EVENT);
	OK(dat_psp_free(psp));
	OK(dat_evd_free(cr_evd));
	dt_peer_finish(&peer);
	node_close(&n);
}

TEST_ROWS(secret_refuses, rows, refused)

static void welcome_client(int fd, const void *arg)
{
	DAT_CONNECTION_EVENT_DATA d;
	unsigned char data[256];
	struct card to;
	struct side s;
	struct node n;
	DAT_COUNT most;

	(void)arg;
	secret_choose("same", "client");
	node_open(&n);
	most = n.prov.max_private_data_size;
	side_make(&s, &n, NULL);
	OK(post_recv(&s, 0, 1000, 1));
	dt_get(fd, &to, sizeof(to));
	fill(data, sizeof(data), 1);
	OK(connect_with(s.ep, &to, most, data));
	d = EV_CONN(s.conn, ESTABLISHED, s.ep);
	ASSERT_EQ(d.private_data_size, most);
	CHECK_FILL(d.private_data, (size_t)most, 2);
	EV_DTO(s.recv, s.ep, 1, OP_RECV, 1000);
	CHECK_FILL(s.buf.mem, 1000, 3);
	fill(s.buf.mem + 2000, 1000, 4);
	OK(post_send(&s, 2000, 1000, 2));
	EV_DTO(s.req, s.ep, 2, OP_SEND, 1000);
	EV_CONN(s.conn, DISCONNECTED, s.ep);
	side_free(&s);
	node_close(&n);
}

TEST(secret, same_connects_with_the_longest_private_data)
{
	unsigned char data[256];
	DAT_EVD_HANDLE cr_evd;
	DAT_CR_PARAM param;
	DAT_PSP_HANDLE psp;
	struct dt_peer peer;
	struct card card;
	DAT_CR_HANDLE cr;
	DAT_COUNT most;
	struct side s;
	struct node n;

	secret_files();
	dt_peer_start(&peer, welcome_client, NULL);
	secret_choose("good", "listener");
	node_open(&n);
	most = n.prov.max_private_data_size;
	side_make(&s, &n, NULL);
	OK(post_recv(&s, 0, 1000, 1));
	listen_for(&n, peer.fd, &cr_evd, &psp, &card);
	cr = EV_CR(cr_evd, psp, card.qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT_EQ(param.private_data_size, most);
	CHECK_FILL(param.private_data, (size_t)most, 1);
	fill(data, sizeof(data), 2);
	OK(dat_cr_accept(cr, s.ep, most, data));
	EV_CONN(s.conn, ESTABLISHED, s.ep);
	fill(s.buf.mem + 2000, 1000, 3);
	OK(post_send(&s, 2000, 1000, 2));
	EV_DTO(s.recv, s.ep, 1, OP_RECV, 1000);
	CHECK_FILL(s.buf.mem, 1000, 4);
	EV_DTO(s.req, s.ep, 2, OP_SEND, 1000);
	OK(dat_ep_disconnect(s.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(s.conn, DISCONNECTED, s.ep);
	OK(dat_psp_free(psp));
	OK(dat_evd_free(cr_evd));
	side_free(&s);
	dt_peer_finish(&peer);
	node_close(&n);
}

/* ---- one process: both sides have the secret ---- */

TEST(secret, rejection_by_the_program_is_PEER_REJECTED)
{
	struct pair p;

	secret_files();
	secret_choose("good", "log");
	pair_open(&p);
#if DAT_TEST_API == 12
	OK(dat_cr_reject(pair_request(&p)));
	EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
#else
	DAT_CONNECTION_EVENT_DATA d;

	OK(dat_cr_reject(pair_request(&p), 9, "not today"));
	d = EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	ASSERT_EQ(d.private_data_size, 9);
	ASSERT_MEM(d.private_data, "not today", 9);
#endif
	OK(dat_ep_reset(p.a.ep));
	pair_connect(&p);
	pair_close(&p);
}

/* Programs reuse the private data of the request as a buffer for their reply. */
TEST(secret, private_data_of_the_request_may_be_edited_and_handed_back)
{
	DAT_CONNECTION_EVENT_DATA d;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct pair p;

	secret_files();
	secret_choose("good", "log");
	pair_open(&p);
	OK(dat_ep_connect(p.a.ep, p.node.attr.ia_address_ptr, p.qual, US_CONNECT, 9,
			  (DAT_PVOID)(uintptr_t) "a request", DAT_QOS_BEST_EFFORT,
			  DAT_CONNECT_DEFAULT_FLAG));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	memcpy(param.private_data, "an answer", 9);
	OK(dat_cr_accept(cr, p.b.ep, 9, param.private_data));
	d = EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	ASSERT_EQ(d.private_data_size, 9);
	ASSERT_MEM(d.private_data, "an answer", 9);
	pair_close(&p);
}

TEST(secret, no_listener_is_NON_PEER_REJECTED)
{
	DAT_CONN_QUAL qual;
	struct pair p;

	secret_files();
	secret_choose("good", "log");
	setenv("DAPL_OFI_CONNECT_RETRY_MS", "0", 1);
	pair_open(&p);
	qual = free_qual(&p.node, p.cr_evd);
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, qual));
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	/* The same port, another qualifier. */
	OK(dat_ep_reset(p.a.ep));
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual + 0x30000));
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	OK(dat_ep_reset(p.a.ep));
	pair_connect(&p);
	pair_close(&p);
}

/* Listens again, with room for that many requests. */
static void make_room(struct pair *p, DAT_COUNT requests)
{
	OK(dat_psp_free(p->psp));
	OK(dat_evd_free(p->cr_evd));
	p->cr_evd = evd_make(&p->node, requests, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(p->node.ia, &p->qual, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &p->psp));
}

/* The request with private data; those before it are of attempts that were given up. */
static DAT_CR_HANDLE the_last(struct pair *p)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	for (;;) {
		cr = EV_CR(p->cr_evd, p->psp, p->qual);
		OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		if (param.private_data_size)
			return cr;
#if DAT_TEST_API == 12
		OK(dat_cr_reject(cr));
#else
		OK(dat_cr_reject(cr, 0, NULL));
#endif
	}
}

TEST(secret, disconnect_and_free_in_the_middle_of_a_handshake)
{
	/* Soft-iWARP takes some ten seconds to end an attempt. */
	int attempts = fabric_is("iwarp") ? 1 : 20;
	struct pair p;

	secret_files();
	secret_choose("good", "log");
	pair_open(&p);
	make_room(&p, 32);
	for (int i = 0; i < attempts; i++) {
		OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual));
		dt_sleep_us((uint64_t)i * 50);
		OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
		OK(dat_ep_reset(p.a.ep));
	}
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual));
	OK(dat_ep_free(p.a.ep));
	OK(dat_ep_create(p.node.ia, p.node.pz, p.a.recv, p.a.req, p.a.conn, NULL, &p.a.ep));
	OK(dat_ep_connect(p.a.ep, p.node.attr.ia_address_ptr, p.qual, US_CONNECT, 4,
			  (DAT_PVOID)(uintptr_t) "last", DAT_QOS_BEST_EFFORT,
			  DAT_CONNECT_DEFAULT_FLAG));
	OK(dat_cr_accept(the_last(&p), p.b.ep, 0, NULL));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	pair_close(&p);
}

/* The client's messages and the listener's find their endpoints. */
static void shared_queues(int flags)
{
	struct hub h;

	hub_open(&h, 3, 32, flags);
	for (int i = 0; i < 9; i++)
		OK(hub_post(&h, i, 1000, (uint64_t)i));
	for (int i = 0; i < 9; i++) {
		hub_send(&h, i % 3, 100 + (size_t)i, (unsigned int)i);
		HUB_GOT(&h, i % 3, (uint64_t)i, i, 100 + (size_t)i, (unsigned int)i);
	}
	hub_close(&h);
}

TEST(secret, shared_receive_queues_at_both_ends)
{
	secret_files();
	secret_choose("good", "log");
	shared_queues(HUB_BOTH);
	shared_queues(HUB_BOTH | HUB_ACTIVE);
}

#define MANY 300

TEST_LIMIT(secret, many_handshakes_at_once, 60)
{
	int many = fabric_has("hosts") && !fabric_has("atomics") ? MANY : 40;
	DAT_EVD_HANDLE conn, conn_b, recv, req;
	DAT_EP_HANDLE *a, *b;
	struct pair p;
	DAT_EVENT ev;

	secret_files();
	secret_choose("good", "log");
	pair_open(&p);
	make_room(&p, MANY);
	conn = evd_make(&p.node, 2 * MANY, DAT_EVD_CONNECTION_FLAG);
	conn_b = evd_make(&p.node, 2 * MANY, DAT_EVD_CONNECTION_FLAG);
	recv = evd_make(&p.node, MANY, DAT_EVD_DTO_FLAG);
	req = evd_make(&p.node, MANY, DAT_EVD_DTO_FLAG);
	a = calloc((size_t)many, sizeof(*a));
	b = calloc((size_t)many, sizeof(*b));
	ASSERT(a && b);
	for (int i = 0; i < many; i++) {
		OK(dat_ep_create(p.node.ia, p.node.pz, recv, req, conn, NULL, &a[i]));
		OK(dat_ep_create(p.node.ia, p.node.pz, recv, req, conn_b, NULL, &b[i]));
	}
	fill(p.b.buf.mem, 16, 1);
	for (int i = 0; i < many; i++) {
		DAT_LMR_TRIPLET t = seg(&p.a.buf, (size_t)i * 16, 16);

		OK(dat_ep_post_recv(a[i], 1, &t, ck((uint64_t)i), DAT_COMPLETION_DEFAULT_FLAG));
		OK(connect_to(a[i], p.node.attr.ia_address_ptr, p.qual));
	}
	for (int i = 0; i < many; i++)
		OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), b[i], 0, NULL));
	for (int i = 0; i < many; i++) {
		EV_NEXT(conn, &ev);
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
		EV_NEXT(conn_b, &ev);
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	/* What was posted before is at the second connection of each. */
	EV_NONE(recv);
	for (int i = 0; i < many; i++) {
		DAT_LMR_TRIPLET t = seg(&p.b.buf, 0, 16);

		OK(dat_ep_post_send(b[i], 1, &t, ck((uint64_t)i), DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (int i = 0; i < many; i++) {
		const DAT_DTO_COMPLETION_EVENT_DATA *d;

		EV_NEXT(recv, &ev);
		d = &ev.event_data.dto_completion_event_data;
		ASSERT_EQ(d->status, DAT_DTO_SUCCESS);
		ASSERT_EQ(d->transfered_length, 16);
		CHECK_FILL(p.a.buf.mem + 16 * d->user_cookie.as_64, 16, 1);
	}
	for (int i = 0; i < many; i++) {
		OK(dat_ep_free(a[i]));
		OK(dat_ep_free(b[i]));
	}
	OK(dat_evd_free(conn));
	OK(dat_evd_free(conn_b));
	OK(dat_evd_free(recv));
	OK(dat_evd_free(req));
	free(a);
	free(b);
	pair_close(&p);
}
