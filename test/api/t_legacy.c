/* SPDX-License-Identifier: BSD-2-Clause */
/* What existing programs rely on beyond the calls' descriptions: connections, arguments. */
#include "rig.h"

#include <stddef.h>

/* ---- connections ---- */

TEST(legacy, conn_to_itself_within_one_ia_and_thread)
{
	struct pair p;

	pair_up(&p);
	OK(post_recv(&p.b, 0, 10, 1));
	OK(post_send(&p.a, 0, 10, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 10);
	pair_disconnect(&p);
	pair_close(&p);
}

TEST(legacy, conn_address_with_a_port_is_accepted_and_the_qualifier_counts)
{
	struct sockaddr_in sin;
	struct pair p;

	pair_open(&p);
	memcpy(&sin, p.node.attr.ia_address_ptr, sizeof(sin));
	sin.sin_port = htons(9);
	OK(connect_to(p.a.ep, (DAT_IA_ADDRESS_PTR)&sin, p.qual));
	OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), p.b.ep, 0, NULL));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	pair_close(&p);
}

static void use_qualifier(DAT_CONN_QUAL qual)
{
	DAT_PSP_HANDLE psp, again;
	DAT_PSP_PARAM param;
	DAT_RETURN ret;
	struct pair p;
	int i;

	pair_open(&p);
	/* The port may be in use: programs retry with higher ones. */
	for (i = 0; i < 50; i++) {
		ret = dat_psp_create(p.node.ia, qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);
		if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
			break;
		qual++;
	}
	OK(ret);
	OK(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	ASSERT_EQ(param.conn_qual, qual);
	ASSERT_RET(dat_psp_create(p.node.ia, qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &again),
		   DAT_CONN_QUAL_IN_USE, 0);
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, qual));
	OK(dat_cr_accept(EV_CR(p.cr_evd, psp, qual), p.b.ep, 0, NULL));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	OK(dat_psp_free(psp));
	pair_close(&p);
}

TEST(legacy, conn_qualifier_of_more_than_32_bits)
{
	use_qualifier(0x1234567800000000ull + 20000 + (DAT_CONN_QUAL)(getpid() % 20000));
}

TEST(legacy, conn_qualifier_is_the_pid_or_1024_plus_it)
{
	use_qualifier((DAT_CONN_QUAL)getpid() < 1024 ? 1024 : (DAT_CONN_QUAL)getpid());
	use_qualifier(1024 + (DAT_CONN_QUAL)getpid());
}

TEST(legacy, conn_qualifiers_that_differ_only_in_high_bits_are_different)
{
	DAT_CONN_QUAL one, two;
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;
	struct pair p;

	pair_open(&p);
	one = p.qual;
	two = p.qual | 0x7700000000ull;
	ret = dat_psp_create(p.node.ia, two, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);
	OK(ret);
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, two));
	OK(api_cr_reject(EV_CR(p.cr_evd, psp, two)));
	EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	OK(dat_ep_reset(p.a.ep));
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, one));
	OK(api_cr_reject(EV_CR(p.cr_evd, p.psp, one)));
	EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	OK(dat_ep_reset(p.a.ep));
	/* A third one has no listener. */
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, one | 0x9900000000ull));
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	EV_EMPTY(p.cr_evd);
	OK(dat_psp_free(psp));
	pair_close(&p);
}

TEST(legacy, conn_ia_address_is_AF_INET_with_zero_padding_and_the_same_for_all_opens)
{
	struct sockaddr_in *sin;
	struct node a, b;
	int i;

	node_open(&a);
	node_open(&b);
	sin = (struct sockaddr_in *)(void *)a.attr.ia_address_ptr;
	ASSERT_EQ(sin->sin_family, AF_INET);
	for (i = 0; i < 8; i++)
		ASSERT_EQ(sin->sin_zero[i], 0);
	ASSERT_MEM(b.attr.ia_address_ptr, sin, 16);
	node_close(&b);
	node_close(&a);
}

TEST(legacy, conn_private_data_of_48_bytes_is_edited_in_place_and_handed_back)
{
	DAT_CONNECTION_EVENT_DATA d;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct pair p;
	char data[48], want[48];

	pair_open(&p);
	fill(data, sizeof(data), 1);
	OK(dat_ep_connect(p.a.ep, p.node.attr.ia_address_ptr, p.qual, US_CONNECT, sizeof(data),
			  data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT_EQ(param.private_data_size, 48);
	fill(want, sizeof(want), 2);
	memcpy(param.private_data, want, sizeof(want));
	OK(dat_cr_accept(cr, p.b.ep, 48, param.private_data));
	d = EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	ASSERT_EQ(d.private_data_size, 48);
	ASSERT_MEM(d.private_data, want, 48);
	pair_close(&p);
}

TEST(legacy, conn_disconnect_of_a_disconnected_endpoint_succeeds_without_an_event)
{
	struct pair p;

	pair_up(&p);
	pair_disconnect(&p);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_NONE(p.a.conn);
	EV_NONE(p.b.conn);
	pair_close(&p);
}

TEST(legacy, conn_graceful_close_with_endpoints_is_an_error_and_no_crash)
{
	struct pair p;

	pair_up(&p);
	BAD_STATE(dat_ia_close(p.node.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	OK(post_recv(&p.b, 0, 10, 1));
	OK(post_send(&p.a, 0, 10, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 10);
	pair_close(&p);
}

/* dapltest keeps the connection events of all its threads in one EVD of another open. */
TEST(legacy, conn_events_go_to_an_evd_of_another_ia)
{
	DAT_EP_PARAM param;
	DAT_EVD_HANDLE evd;
	struct node other;
	DAT_EP_HANDLE ep;
	struct pair p;

	pair_open(&p);
	node_open(&other);
	evd = evd_make(&other, 8, DAT_EVD_CONNECTION_FLAG);
	OK(dat_ep_create(p.node.ia, p.node.pz, p.b.recv, p.b.req, evd, NULL, &ep));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	ASSERT_PTR(param.connect_evd_handle, evd);
	OK(dat_cr_accept(pair_request(&p), ep, 0, NULL));
	EV_CONN(evd, ESTABLISHED, ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	BAD_STATE(dat_evd_free(evd), EVD_IN_USE);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(evd, DISCONNECTED, ep);
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	node_close(&other);
	pair_close(&p);
}

TEST(legacy, conn_evd_of_another_ia_may_go_with_its_ia)
{
	DAT_EVD_HANDLE evd;
	struct node other;
	DAT_EP_HANDLE ep;
	struct pair p;

	pair_open(&p);
	node_open(&other);
	evd = evd_make(&other, 8, DAT_EVD_CONNECTION_FLAG);
	OK(dat_ep_create(p.node.ia, p.node.pz, p.b.recv, p.b.req, evd, NULL, &ep));
	OK(dat_cr_accept(pair_request(&p), ep, 0, NULL));
	EV_CONN(evd, ESTABLISHED, ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	node_abort(&other);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	DT_UNTIL(side_state(&(struct side){ .ep = ep }) == DAT_EP_STATE_DISCONNECTED, US_EVENT);
	OK(dat_ep_free(ep));
	pair_close(&p);
}

TEST(legacy, conn_ep_handle_is_the_first_member_of_both_kinds_of_event_data)
{
	ASSERT_EQ(offsetof(DAT_DTO_COMPLETION_EVENT_DATA, ep_handle), 0);
	ASSERT_EQ(offsetof(DAT_CONNECTION_EVENT_DATA, ep_handle), 0);
}

/* ---- arguments ---- */

TEST(legacy, args_lmr_create_with_NULL_size_address_and_rmr_context)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_CONTEXT ctx = 0;
	DAT_LMR_HANDLE lmr;
	struct node n;
	char mem[64];

	node_open(&n);
	memset(&region, 0, sizeof(region));
	region.for_va = mem;
	OK(api_lmr_create(n.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(mem), n.pz, PRIV_ALL, &lmr,
			  &ctx, NULL, NULL, NULL));
	ASSERT(ctx != 0);
	OK(dat_lmr_free(lmr));
	node_close(&n);
}

TEST(legacy, args_ia_query_with_NULL_async_evd)
{
	struct node n;

	node_open(&n);
	OK(dat_ia_query(n.ia, NULL, DAT_IA_FIELD_ALL, &n.attr, DAT_PROVIDER_FIELD_ALL, &n.prov));
	node_close(&n);
}

TEST(legacy, args_contexts_are_never_0)
{
	struct node n;
	struct buf b;
	char mem[64];
	int i;

	node_open(&n);
	for (i = 0; i < 2000; i++) {
		buf_register(&b, &n, n.pz, mem, sizeof(mem), PRIV_ALL);
		ASSERT(b.ctx != 0 && b.rmr != 0);
		buf_unregister(&b);
	}
	node_close(&n);
}

static const char *named(const struct node *n, const char *name)
{
	DAT_COUNT i;

	for (i = 0; i < n->prov.num_provider_specific_attr; i++)
		if (!strcmp(n->prov.provider_specific_attr[i].name, name))
			return n->prov.provider_specific_attr[i].value;
	return NULL;
}

TEST(legacy, args_named_attributes_that_stock_programs_read)
{
	struct node n;

	node_open(&n);
	ASSERT(named(&n, "DAT_IB_RDMA_READ") && !strcmp(named(&n, "DAT_IB_RDMA_READ"), "TRUE"));
	ASSERT(named(&n, "DAT_IB_TRANSPORT_MTU") && atoi(named(&n, "DAT_IB_TRANSPORT_MTU")) > 0);
	ASSERT(named(&n, "DAT_EXTENSION_INTERFACE"));
	node_close(&n);
}

TEST(legacy, args_functional_tests_of_the_original)
{
	DAT_PZ_HANDLE freed;
	DAT_PZ_PARAM param;
	struct pair p;

	pair_open(&p);
	OK(dat_pz_create(p.node.ia, &freed));
	OK(dat_pz_free(freed));
	ASSERT_EQ(DAT_GET_TYPE(dat_pz_free(freed)), DAT_INVALID_HANDLE);
	ASSERT_EQ(DAT_GET_TYPE(dat_pz_query(freed, DAT_PZ_FIELD_ALL, &param)), DAT_INVALID_HANDLE);
	ASSERT_EQ(DAT_GET_TYPE(dat_pz_query(p.node.pz, DAT_PZ_FIELD_ALL, NULL)),
		  DAT_INVALID_PARAMETER);
	ASSERT_EQ(DAT_GET_TYPE(dat_pz_free(p.node.pz)), DAT_INVALID_STATE);
	pair_close(&p);
}
