/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests private data: all lengths, both directions, lifetime, rejected lengths. */
#include "srq_rig.h"

static DAT_RETURN connect_with(struct pair *p, DAT_COUNT size, const void *data)
{
	return dat_ep_connect(p->a.ep, p->node.attr.ia_address_ptr, p->qual, US_CONNECT, size,
			      (DAT_PVOID)(uintptr_t)data, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG);
}

/* One attempt with size bytes in both directions. */
static void both_ways(struct pair *p, DAT_COUNT size)
{
	DAT_CONNECTION_EVENT_DATA d;
	unsigned char data[256];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	fill(data, sizeof(data), (unsigned int)size + 1);
	OK(connect_with(p, size, data));
	/* The data was copied before the call returned. */
	memset(data, 0, sizeof(data));
	cr = EV_CR(p->cr_evd, p->psp, p->qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT_EQ(param.private_data_size, size);
	CHECK_FILL(param.private_data, (size_t)size, (unsigned int)size + 1);
	fill(data, sizeof(data), (unsigned int)size + 500);
	OK(dat_cr_accept(cr, p->b.ep, size, data));
	memset(data, 0, sizeof(data));
	d = EV_CONN(p->b.conn, ESTABLISHED, p->b.ep);
	ASSERT_EQ(d.private_data_size, 0);
	d = EV_CONN(p->a.conn, ESTABLISHED, p->a.ep);
	ASSERT_EQ(d.private_data_size, size);
	CHECK_FILL(d.private_data, (size_t)size, (unsigned int)size + 500);
}

TEST_LIMIT(private, every_length_arrives_exactly_both_ways, 60)
{
	struct pair p;
	DAT_COUNT size;

	pair_open(&p);
	for (size = 0; size <= p.node.prov.max_private_data_size; size++) {
		/* All around the ends, every seventh between. */
		if (size > 9 && size < p.node.prov.max_private_data_size - 9 && size % 7)
			continue;
		both_ways(&p, size);
		pair_disconnect(&p);
		OK(dat_ep_reset(p.a.ep));
		OK(dat_ep_reset(p.b.ep));
	}
	pair_close(&p);
}

/* Receives that were posted before the connection, on both sides, also where a connection of the
 * fabric carries a part of the private data only. */
TEST(private, longest_leaves_receives_that_are_posted_already_in_order)
{
	unsigned char data[256];
	struct pair p;
	DAT_COUNT most;
	uint64_t i;

	pair_open(&p);
	most = p.node.prov.max_private_data_size;
	fill(data, sizeof(data), 1);
	for (i = 0; i < 4; i++) {
		OK(post_recv(&p.a, i * 100, 100, i));
		OK(post_recv(&p.b, i * 100, 100, i));
	}
	OK(connect_with(&p, most, data));
	OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), p.b.ep, most, data));
	for (; i < 6; i++)
		OK(post_recv(&p.b, i * 100, 100, i));
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	for (i = 0; i < 6; i++) {
		OK(post_send(&p.a, 1000, 10 + i, i));
		EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, 10 + i);
	}
	for (i = 0; i < 4; i++) {
		OK(post_send(&p.b, 1000, 20 + i, i));
		EV_DTO(p.a.recv, p.a.ep, i, OP_RECV, 20 + i);
	}
	pair_close(&p);
}

TEST(private, longest_over_endpoints_with_shared_receive_queues)
{
	DAT_CONNECTION_EVENT_DATA d;
	unsigned char data[256];
	DAT_CR_PARAM param;
	struct side a, b;
	DAT_CR_HANDLE cr;
	DAT_COUNT most;
	struct hub h;

	hub_open(&h, 1, 16, 0);
	side_make_srq(&a, &h.node, h.srq, NULL, NULL);
	side_make_srq(&b, &h.node, h.srq, NULL, NULL);
	most = h.node.prov.max_private_data_size;
	fill(data, sizeof(data), 1);
	OK(dat_ep_connect(a.ep, h.node.attr.ia_address_ptr, h.qual, US_CONNECT, most, data,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr = EV_CR(h.cr_evd, h.psp, h.qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT_EQ(param.private_data_size, most);
	CHECK_FILL(param.private_data, (size_t)most, 1);
	fill(data, sizeof(data), 2);
	OK(dat_cr_accept(cr, b.ep, most, data));
	EV_CONN(b.conn, ESTABLISHED, b.ep);
	d = EV_CONN(a.conn, ESTABLISHED, a.ep);
	ASSERT_EQ(d.private_data_size, most);
	CHECK_FILL(d.private_data, (size_t)most, 2);
	for (int i = 0; i < 3; i++)
		OK(hub_post(&h, i, 100, (uint64_t)i));
	/* The messages of both directions carry the right ids. */
	OK(post_send(&a, 0, 40, 7));
	EV_DTO(b.recv, b.ep, 0, OP_RECV, 40);
	OK(post_send(&b, 0, 50, 8));
	EV_DTO(a.recv, a.ep, 1, OP_RECV, 50);
	hub_send(&h, 0, 60, 4);
	HUB_GOT(&h, 0, 2, 2, 60, 4);
	side_free(&a);
	side_free(&b);
	hub_close(&h);
}

TEST(private, longest_fits_a_request_for_the_widest_qualifier)
{
	unsigned char data[256];
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct pair p;
	DAT_COUNT most;

	pair_open(&p);
	most = p.node.prov.max_private_data_size;
	qual = free_qual(&p.node, p.cr_evd) | 0xfedcba9800000000ull;
	OK(dat_psp_create(p.node.ia, qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	for (DAT_COUNT size = 40; size <= most; size = size == 50 ? most : size + 1) {
		fill(data, sizeof(data), (unsigned int)size);
		OK(dat_ep_connect(p.a.ep, p.node.attr.ia_address_ptr, qual, US_CONNECT, size, data,
				  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
		cr = EV_CR(p.cr_evd, psp, qual);
		OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		ASSERT_EQ(param.private_data_size, size);
		CHECK_FILL(param.private_data, (size_t)size, (unsigned int)size);
		OK(api_cr_reject(cr));
		EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
		OK(dat_ep_reset(p.a.ep));
	}
	OK(dat_psp_free(psp));
	pair_close(&p);
}

/* Many at once: each request and each answer has its own bytes. */
TEST(private, longest_of_many_attempts_at_once_is_not_mixed_up)
{
	enum { N = 8 };
	unsigned char data[256];
	DAT_CONNECTION_EVENT_DATA d;
	DAT_CR_PARAM param;
	struct side c[N];
	struct side s[N];
	DAT_COUNT most;
	struct pair p;
	int i;

	pair_open(&p);
	most = p.node.prov.max_private_data_size;
	for (i = 0; i < N; i++) {
		side_make(&c[i], &p.node, NULL);
		side_make(&s[i], &p.node, NULL);
		fill(data, sizeof(data), (unsigned int)i);
		data[0] = (unsigned char)i;
		OK(dat_ep_connect(c[i].ep, p.node.attr.ia_address_ptr, p.qual, US_CONNECT, most,
				  data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	}
	for (int k = 0; k < N; k++) {
		DAT_CR_HANDLE cr = EV_CR(p.cr_evd, p.psp, p.qual);

		OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		ASSERT_EQ(param.private_data_size, most);
		i = *(unsigned char *)param.private_data;
		ASSERT(i < N);
		fill(data, sizeof(data), (unsigned int)i);
		ASSERT_MEM((unsigned char *)param.private_data + 1, data + 1, (size_t)most - 1);
		fill(data, sizeof(data), (unsigned int)(100 + i));
		OK(dat_cr_accept(cr, s[i].ep, most, data));
	}
	for (i = 0; i < N; i++) {
		EV_CONN(s[i].conn, ESTABLISHED, s[i].ep);
		d = EV_CONN(c[i].conn, ESTABLISHED, c[i].ep);
		ASSERT_EQ(d.private_data_size, most);
		CHECK_FILL(d.private_data, (size_t)most, (unsigned int)(100 + i));
		side_free(&c[i]);
		EV_CONN(s[i].conn, DISCONNECTED, s[i].ep);
		side_free(&s[i]);
	}
	pair_close(&p);
}

TEST(private, longest_of_a_request_that_is_not_answered_is_TIMED_OUT)
{
	unsigned char data[256];
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	fill(data, sizeof(data), 1);
	/* Long enough for the request to arrive. */
	OK(dat_ep_connect(p.a.ep, p.node.attr.ia_address_ptr, p.qual, 2000000,
			  p.node.prov.max_private_data_size, data, DAT_QOS_BEST_EFFORT,
			  DAT_CONNECT_DEFAULT_FLAG));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	EV_CONN(p.a.conn, TIMED_OUT, p.a.ep);
	OK(api_cr_reject(cr));
	OK(dat_ep_reset(p.a.ep));
	pair_connect(&p);
	pair_close(&p);
}

TEST(private, of_the_acceptance_lives_until_the_endpoint_is_reset)
{
	DAT_CONNECTION_EVENT_DATA d;
	struct pair p;

	pair_open(&p);
	OK(connect_with(&p, 0, NULL));
	OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), p.b.ep, 6, "answer"));
	d = EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	OK(post_recv(&p.b, 0, 100, 1));
	OK(post_send(&p.a, 0, 100, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 100);
	pair_disconnect(&p);
	ASSERT_EQ(d.private_data_size, 6);
	ASSERT_MEM(d.private_data, "answer", 6);
	pair_close(&p);
}

TEST(private, of_the_request_lives_as_long_as_it)
{
	DAT_CR_PARAM first, again;
	DAT_CR_HANDLE cr;
	struct side c;
	struct pair p;

	pair_open(&p);
	side_make(&c, &p.node, NULL);
	OK(connect_with(&p, 5, "first"));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &first));
	OK(dat_ep_connect(c.ep, p.node.attr.ia_address_ptr, p.qual, US_CONNECT, 6, "second",
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	OK(api_cr_reject(EV_CR(p.cr_evd, p.psp, p.qual)));
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &again));
	ASSERT_PTR(again.private_data, first.private_data);
	ASSERT_MEM(first.private_data, "first", 5);
	OK(api_cr_reject(cr));
	side_free(&c);
	pair_close(&p);
}

TEST(private, connect_longer_than_the_maximum_is_ARG5)
{
	unsigned char data[1024] = { 0 };
	struct pair p;

	pair_open(&p);
	BAD_ARG(connect_with(&p, p.node.prov.max_private_data_size + 1, data), 5);
	BAD_ARG(connect_with(&p, 1024, data), 5);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
	pair_connect(&p);
	pair_close(&p);
}

TEST(private, connect_negative_length_is_ARG5)
{
	unsigned char data[4] = { 0 };
	struct pair p;

	pair_open(&p);
	BAD_ARG(connect_with(&p, -1, data), 5);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
	pair_close(&p);
}

TEST(private, connect_length_with_NULL_is_ARG6)
{
	struct pair p;

	pair_open(&p);
	BAD_ARG(connect_with(&p, 5, NULL), 6);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
	pair_close(&p);
}

TEST(private, accept_bad_lengths_are_ARG3_and_NULL_is_ARG4)
{
	unsigned char data[1024] = { 0 };
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	BAD_ARG(dat_cr_accept(cr, p.b.ep, p.node.prov.max_private_data_size + 1, data), 3);
	BAD_ARG(dat_cr_accept(cr, p.b.ep, -1, data), 3);
	BAD_ARG(dat_cr_accept(cr, p.b.ep, 5, NULL), 4);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_UNCONNECTED);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	pair_close(&p);
}

TEST(private, dup_connect_carries_it_and_checks_it)
{
	unsigned char data[1024] = { 0 };
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct side c;
	struct pair p;

	pair_up(&p);
	side_make(&c, &p.node, NULL);
	BAD_ARG(dat_ep_dup_connect(c.ep, p.a.ep, US_CONNECT, p.node.prov.max_private_data_size + 1,
				   data, DAT_QOS_BEST_EFFORT),
		4);
	BAD_ARG(dat_ep_dup_connect(c.ep, p.a.ep, US_CONNECT, -1, data, DAT_QOS_BEST_EFFORT), 4);
	BAD_ARG(dat_ep_dup_connect(c.ep, p.a.ep, US_CONNECT, 5, NULL, DAT_QOS_BEST_EFFORT), 5);
	OK(dat_ep_dup_connect(c.ep, p.a.ep, US_CONNECT, 4, "twin", DAT_QOS_BEST_EFFORT));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT_EQ(param.private_data_size, 4);
	ASSERT_MEM(param.private_data, "twin", 4);
	OK(api_cr_reject(cr));
	EV_CONN(c.conn, PEER_REJECTED, c.ep);
	side_free(&c);
	pair_close(&p);
}

#if DAT_TEST_API == 20

TEST(private, reject_carries_every_length_in_2_0)
{
	DAT_CONNECTION_EVENT_DATA d;
	unsigned char data[256];
	DAT_CR_HANDLE cr;
	DAT_COUNT size;
	struct pair p;

	pair_open(&p);
	for (size = 0; size <= p.node.prov.max_private_data_size; size++) {
		if (size > 4 && size < p.node.prov.max_private_data_size - 4 && size % 23)
			continue;
		cr = pair_request(&p);
		fill(data, sizeof(data), (unsigned int)size);
		OK(dat_cr_reject(cr, size, data));
		memset(data, 0, sizeof(data));
		d = EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
		ASSERT_EQ(d.private_data_size, size);
		CHECK_FILL(d.private_data, (size_t)size, (unsigned int)size);
		OK(dat_ep_reset(p.a.ep));
	}
	pair_close(&p);
}

/* The listener closes with its service point; the rest of the answer is still delivered. */
TEST(private, longest_of_a_rejection_outlives_the_service_point_in_2_0)
{
	DAT_CONNECTION_EVENT_DATA d;
	unsigned char data[256];
	DAT_CR_HANDLE cr;
	struct pair p;
	DAT_COUNT most;

	pair_open(&p);
	most = p.node.prov.max_private_data_size;
	cr = pair_request(&p);
	fill(data, sizeof(data), 5);
	OK(dat_cr_reject(cr, most, data));
	OK(dat_psp_free(p.psp));
	p.psp = DAT_HANDLE_NULL;
	d = EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	ASSERT_EQ(d.private_data_size, most);
	CHECK_FILL(d.private_data, (size_t)most, 5);
	pair_close(&p);
}

TEST(private, reject_bad_lengths_are_ARG2_and_NULL_is_ARG3_in_2_0)
{
	unsigned char data[1024] = { 0 };
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	BAD_ARG(dat_cr_reject(cr, p.node.prov.max_private_data_size + 1, data), 2);
	BAD_ARG(dat_cr_reject(cr, -1, data), 2);
	BAD_ARG(dat_cr_reject(cr, 5, NULL), 3);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	OK(dat_cr_reject(cr, 0, NULL));
	EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	pair_close(&p);
}

#endif
