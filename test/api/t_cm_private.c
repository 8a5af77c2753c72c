/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests private data: all lengths, both directions, lifetime, rejected lengths. */
#include "rig.h"

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
