/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests service points: qualifiers, ports, lifetime and reserved service points. */
#include "rig.h"

#include <poll.h>
#include <sys/socket.h>

TEST(psp, create_and_query)
{
	DAT_PSP_HANDLE psp;
	DAT_PSP_PARAM param;
	DAT_CONN_QUAL qual;
	struct pair p;

	pair_open(&p);
	qual = free_qual(&p.node, p.cr_evd);
	OK(dat_psp_create(p.node.ia, qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	memset(&param, 0xa5, sizeof(param));
	OK(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	ASSERT_PTR(param.ia_handle, p.node.ia);
	ASSERT_EQ(param.conn_qual, qual);
	ASSERT_PTR(param.evd_handle, p.cr_evd);
	ASSERT_EQ(param.psp_flags, DAT_PSP_CONSUMER_FLAG);
	OK(dat_psp_free(psp));
	pair_close(&p);
}

TEST(psp, query_of_a_provider_psp_tells_its_flag)
{
	DAT_PSP_HANDLE psp;
	DAT_PSP_PARAM param;
	DAT_CONN_QUAL qual;
	struct pair p;

	pair_open(&p);
	OK(dat_psp_create_any(p.node.ia, &qual, p.cr_evd, DAT_PSP_PROVIDER_FLAG, &psp));
	OK(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	ASSERT_EQ(param.psp_flags, DAT_PSP_PROVIDER_FLAG);
	ASSERT_EQ(param.conn_qual, qual);
	OK(dat_psp_free(psp));
	pair_close(&p);
}

TEST(psp, query_bad_arguments)
{
	DAT_PSP_PARAM param;
	struct pair p;

	pair_open(&p);
	BAD_ARG(dat_psp_query(p.psp, DAT_PSP_FIELD_ALL, NULL), 3);
	BAD_ARG(dat_psp_query(p.psp, (DAT_PSP_PARAM_MASK)0x10, &param), 2);
	pair_close(&p);
}

TEST(psp, qualifier_in_use_is_CONN_QUAL_IN_USE)
{
	DAT_PSP_HANDLE psp;
	struct pair p;

	pair_open(&p);
	ASSERT_RET(dat_psp_create(p.node.ia, p.qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   DAT_CONN_QUAL_IN_USE, 0);
	/* After it is freed it can be had. */
	OK(dat_psp_free(p.psp));
	OK(dat_psp_create(p.node.ia, p.qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &p.psp));
	pair_connect(&p);
	pair_close(&p);
}

/* The system refuses the port: programs compare with the bare code, as the original returns it. */
TEST(psp, qualifier_in_use_by_another_ia_is_the_bare_CONN_QUAL_IN_USE)
{
	DAT_RSP_HANDLE rsp;
	struct side s;
	DAT_PSP_HANDLE psp;
	DAT_EVD_HANDLE evd;
	struct node other;
	struct pair p;

	pair_open(&p);
	node_open(&other);
	evd = evd_make(&other, 4, DAT_EVD_CR_FLAG);
	side_make(&s, &other, NULL);
	ASSERT_EQ(dat_psp_create(other.ia, p.qual, evd, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_CONN_QUAL_IN_USE);
	ASSERT_EQ(dat_rsp_create(other.ia, p.qual, s.ep, evd, &rsp), DAT_CONN_QUAL_IN_USE);
	ASSERT_EQ(side_state(&s), DAT_EP_STATE_UNCONNECTED);
	side_free(&s);
	OK(dat_evd_free(evd));
	node_close(&other);
	pair_close(&p);
}

static void expect_request_at(struct pair *p, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			      DAT_PSP_HANDLE psp)
{
	OK(connect_to(p->a.ep, p->node.attr.ia_address_ptr, qual));
	OK(api_cr_reject(EV_CR(evd, psp, qual)));
	EV_CONN(p->a.conn, PEER_REJECTED, p->a.ep);
	OK(dat_ep_reset(p->a.ep));
}

/* Two instances, qualifiers that differ beyond what a port holds. */
static void listen_twice(struct pair *p, DAT_CONN_QUAL one, DAT_CONN_QUAL two)
{
	DAT_PSP_HANDLE first, second;
	DAT_EVD_HANDLE evd;
	struct node other;
	DAT_RETURN ret;

	node_open(&other);
	evd = evd_make(&other, 4, DAT_EVD_CR_FLAG);
	OK(dat_psp_create(p->node.ia, one, p->cr_evd, DAT_PSP_CONSUMER_FLAG, &first));
	ret = dat_psp_create(other.ia, two, evd, DAT_PSP_CONSUMER_FLAG, &second);
	if (fabric_is("shm")) {
		OK(ret);
		expect_request_at(p, one, p->cr_evd, first);
		expect_request_at(p, two, evd, second);
		expect_request_at(p, one, p->cr_evd, first);
		OK(dat_psp_free(second));
	} else {
		ASSERT_EQ(ret, DAT_CONN_QUAL_IN_USE);
	}
	OK(dat_psp_free(first));
	OK(dat_evd_free(evd));
	node_close(&other);
}

TEST(psp, qualifiers_collide_only_where_the_fabric_has_nothing_but_ports)
{
	DAT_CONN_QUAL base;
	struct pair p;

	pair_open(&p);
	base = free_qual(&p.node, p.cr_evd);
	listen_twice(&p, base, base | 0x7700000000ull);
	listen_twice(&p, base | 0x10000, base);
	listen_twice(&p, base | 0x10000, base | 0x7700000000ull);
	pair_close(&p);
}

TEST(psp, low_qualifiers_share_no_name_with_those_of_their_ports)
{
	DAT_PSP_HANDLE low, high;
	struct pair p;

	pair_open(&p);
	if (fabric_is("shm"))
		listen_twice(&p, 3, 61443);
	/* One instance has both, whatever the fabric. */
	if (dat_psp_create(p.node.ia, 0, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &low))
		dt_skip("port 61440 is taken");
	OK(dat_psp_create(p.node.ia, 61440, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &high));
	expect_request_at(&p, 0, p.cr_evd, low);
	expect_request_at(&p, 61440, p.cr_evd, high);
	OK(dat_psp_free(low));
	expect_request_at(&p, 61440, p.cr_evd, high);
	OK(dat_psp_free(high));
	pair_close(&p);
}

/* Such a listener has one port, and one name, for all qualifiers of the port. */
TEST(psp, wide_qualifier_of_an_adapter_with_a_network_is_found_over_shm)
{
	char text[2048];
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	struct node both;
	struct pair p;

	if (!fabric_is("shm"))
		dt_skip("concerns the selection of a listener over shm");
	conf_line(text, sizeof(text), "both", provider_path(), "provider=rxm+shm domain=lo");
	conf_line(text + strlen(text), sizeof(text) - strlen(text), ia_name(), provider_path(),
		  fabric_params());
	conf_text(text);
	pair_open(&p);
	node_open_name(&both, "both");
	evd = evd_make(&both, 4, DAT_EVD_CR_FLAG);
	qual = free_qual(&both, evd) | 0x500000000ull;
	OK(dat_psp_create(both.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	expect_request_at(&p, qual, evd, psp);
	OK(dat_psp_free(psp));
	OK(dat_evd_free(evd));
	node_close(&both);
	pair_close(&p);
}

TEST(psp, create_bad_evd_is_INVALID_HANDLE_EVD_CR)
{
	DAT_EVD_HANDLE freed;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual, any;
	struct pair p, other;

	pair_open(&p);
	qual = free_qual(&p.node, p.cr_evd);
	freed = evd_make(&p.node, 4, DAT_EVD_CR_FLAG);
	OK(dat_evd_free(freed));
	BAD_HANDLE(dat_psp_create(p.node.ia, qual, freed, DAT_PSP_CONSUMER_FLAG, &psp), EVD_CR);
	BAD_HANDLE(dat_psp_create(p.node.ia, qual, NULL, DAT_PSP_CONSUMER_FLAG, &psp), EVD_CR);
	BAD_HANDLE(dat_psp_create(p.node.ia, qual, p.a.conn, DAT_PSP_CONSUMER_FLAG, &psp), EVD_CR);
	BAD_HANDLE(dat_psp_create(p.node.ia, qual, p.node.pz, DAT_PSP_CONSUMER_FLAG, &psp), EVD_CR);
	pair_open(&other);
	BAD_HANDLE(dat_psp_create(p.node.ia, qual, other.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   EVD_CR);
	BAD_HANDLE(dat_psp_create_any(p.node.ia, &any, other.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   EVD_CR);
	pair_close(&other);
	pair_close(&p);
}

TEST(psp, create_unknown_flag_is_ARG4)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct pair p;

	pair_open(&p);
	BAD_ARG(dat_psp_create(p.node.ia, 3000, p.cr_evd, (DAT_PSP_FLAGS)6, &psp), 4);
	BAD_ARG(dat_psp_create_any(p.node.ia, &qual, p.cr_evd, (DAT_PSP_FLAGS)6, &psp), 4);
	pair_close(&p);
}

TEST(psp, create_pointer_NULL_is_ARG5)
{
	DAT_CONN_QUAL qual;
	struct pair p;

	pair_open(&p);
	BAD_ARG(dat_psp_create(p.node.ia, p.qual + 1, p.cr_evd, DAT_PSP_CONSUMER_FLAG, NULL), 5);
	BAD_ARG(dat_psp_create_any(p.node.ia, &qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, NULL), 5);
	pair_close(&p);
}

TEST(psp, create_any_qualifier_NULL_is_ARG2)
{
	DAT_PSP_HANDLE psp;
	struct pair p;

	pair_open(&p);
	BAD_ARG(dat_psp_create_any(p.node.ia, NULL, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp), 2);
	pair_close(&p);
}

TEST(psp, create_any_gives_different_unprivileged_qualifiers)
{
	DAT_PSP_HANDLE psp[8];
	DAT_CONN_QUAL qual[8];
	struct pair p;
	int i, j;

	pair_open(&p);
	for (i = 0; i < 8; i++) {
		OK(dat_psp_create_any(p.node.ia, &qual[i], p.cr_evd, DAT_PSP_CONSUMER_FLAG,
				      &psp[i]));
		ASSERT(qual[i] >= 1024 && qual[i] < 65536);
		for (j = 0; j < i; j++)
			ASSERT(qual[i] != qual[j]);
	}
	for (i = 0; i < 8; i++)
		OK(dat_psp_free(psp[i]));
	pair_close(&p);
}

TEST(psp, serves_many_requests)
{
	struct side s[10];
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < 10; i++) {
		side_make(&s[i], &p.node, NULL);
		OK(connect_to(s[i].ep, p.node.attr.ia_address_ptr, p.qual));
		OK(api_cr_reject(EV_CR(p.cr_evd, p.psp, p.qual)));
		EV_CONN(s[i].conn, PEER_REJECTED, s[i].ep);
	}
	for (i = 0; i < 10; i++)
		side_free(&s[i]);
	pair_close(&p);
}

TEST(psp, requests_arrive_in_order)
{
	struct side s[6];
	DAT_CR_PARAM param;
	struct pair p;
	char text;
	int i;

	pair_open(&p);
	for (i = 0; i < 6; i++) {
		side_make(&s[i], &p.node, NULL);
		text = (char)i;
		OK(dat_ep_connect(s[i].ep, p.node.attr.ia_address_ptr, p.qual, US_CONNECT, 1, &text,
				  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
		/* The next one starts when this one has arrived. */
		DT_UNTIL(ev_queued(p.cr_evd) == i + 1, US_EVENT);
	}
	for (i = 0; i < 6; i++) {
		DAT_CR_HANDLE cr = EV_CR(p.cr_evd, p.psp, p.qual);

		OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		ASSERT_EQ(param.private_data_size, 1);
		ASSERT_EQ(*(char *)param.private_data, i);
		OK(api_cr_reject(cr));
	}
	for (i = 0; i < 6; i++)
		side_free(&s[i]);
	pair_close(&p);
}

TEST(psp, free_refuses_later_requests)
{
	struct pair p;

	set_no_connect_retry();
	pair_open(&p);
	OK(dat_psp_free(p.psp));
	p.psp = NULL;
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual));
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	EV_EMPTY(p.cr_evd);
	pair_close(&p);
}

/* Where a service point is a TCP port, a connection exists before its request has arrived. */
TEST(psp, free_leaves_connections_to_others_alone_whose_request_is_on_the_way)
{
	struct sockaddr_storage addr;
	DAT_PSP_HANDLE other;
	DAT_CONN_QUAL qual;
	struct pollfd pfd;
	struct pair p;
	int i;

	if (!fabric_has("sockets"))
		dt_skip("a service point is no TCP port here");
	pair_open(&p);
	memcpy(&addr, p.node.attr.ia_address_ptr, sizeof(struct sockaddr_in));
	((struct sockaddr_in *)&addr)->sin_port = htons((uint16_t)p.qual);
	pfd.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pfd.events = POLLIN | POLLRDHUP;
	ASSERT(pfd.fd >= 0);
	ASSERT_EQ(connect(pfd.fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)), 0);
	for (i = 0; i < 20; i++) {
		OK(dat_psp_create_any(p.node.ia, &qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &other));
		OK(dat_psp_free(other));
		ASSERT_EQ(poll(&pfd, 1, 10), 0);
	}
	close(pfd.fd);
	pair_connect(&p);
	pair_close(&p);
}

TEST(psp, free_leaves_reported_requests_valid)
{
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	OK(dat_psp_free(p.psp));
	p.psp = NULL;
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	pair_close(&p);
}

TEST(psp, freed_with_requests_pending_is_INVALID_HANDLE_PSP)
{
	DAT_PSP_PARAM param;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	OK(dat_psp_free(p.psp));
	BAD_HANDLE(dat_psp_query(p.psp, DAT_PSP_FIELD_ALL, &param), PSP);
	BAD_HANDLE(dat_psp_free(p.psp), PSP);
	p.psp = NULL;
	OK(api_cr_reject(cr));
	EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	pair_close(&p);
}

/* ---- reserved service points ---- */

struct rsp_rig {
	struct pair p;
	DAT_CONN_QUAL qual;
	DAT_RSP_HANDLE rsp;
};

static void rsp_open(struct rsp_rig *r)
{
	pair_open(&r->p);
	r->qual = free_qual(&r->p.node, r->p.cr_evd);
	OK(dat_rsp_create(r->p.node.ia, r->qual, r->p.b.ep, r->p.cr_evd, &r->rsp));
}

static void rsp_close(struct rsp_rig *r)
{
	if (r->rsp)
		OK(dat_rsp_free(r->rsp));
	pair_close(&r->p);
}

TEST(rsp, create_reserves_the_endpoint_and_query)
{
	DAT_RSP_PARAM param;
	struct rsp_rig r;

	rsp_open(&r);
	ASSERT_EQ(side_state(&r.p.b), DAT_EP_STATE_RESERVED);
	memset(&param, 0xa5, sizeof(param));
	OK(dat_rsp_query(r.rsp, DAT_RSP_FIELD_ALL, &param));
	ASSERT_PTR(param.ia_handle, r.p.node.ia);
	ASSERT_EQ(param.conn_qual, r.qual);
	ASSERT_PTR(param.evd_handle, r.p.cr_evd);
	ASSERT_PTR(param.ep_handle, r.p.b.ep);
	rsp_close(&r);
}

TEST(rsp, query_bad_arguments)
{
	DAT_RSP_PARAM param;
	struct rsp_rig r;

	rsp_open(&r);
	BAD_ARG(dat_rsp_query(r.rsp, DAT_RSP_FIELD_ALL, NULL), 3);
	BAD_ARG(dat_rsp_query(r.rsp, (DAT_RSP_PARAM_MASK)0x10, &param), 2);
	rsp_close(&r);
}

TEST(rsp, create_errors)
{
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE freed;
	struct pair p, other;

	pair_open(&p);
	OK(dat_ep_create(p.node.ia, p.node.pz, p.a.recv, p.a.req, p.a.conn, NULL, &freed));
	OK(dat_ep_free(freed));
	BAD_HANDLE(dat_rsp_create(p.node.ia, p.qual + 1, freed, p.cr_evd, &rsp), EP);
	BAD_HANDLE(dat_rsp_create(p.node.ia, p.qual + 1, p.b.ep, p.a.conn, &rsp), EVD_CR);
	BAD_HANDLE(dat_rsp_create(p.node.ia, p.qual + 1, p.b.ep, NULL, &rsp), EVD_CR);
	pair_open(&other);
	BAD_HANDLE(dat_rsp_create(p.node.ia, p.qual + 1, other.b.ep, p.cr_evd, &rsp), EP);
	BAD_HANDLE(dat_rsp_create(p.node.ia, p.qual + 1, p.b.ep, other.cr_evd, &rsp), EVD_CR);
	pair_close(&other);
	BAD_ARG(dat_rsp_create(p.node.ia, p.qual + 1, p.b.ep, p.cr_evd, NULL), 5);
	ASSERT_RET(dat_rsp_create(p.node.ia, p.qual, p.b.ep, p.cr_evd, &rsp), DAT_CONN_QUAL_IN_USE,
		   0);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_UNCONNECTED);
	pair_close(&p);
}

/* Without an endpoint the provider makes one when the request comes. */
TEST(rsp, without_an_endpoint_one_is_made_for_the_request)
{
	DAT_RSP_HANDLE rsp;
	DAT_RSP_PARAM rp;
	DAT_EP_PARAM ep;
	DAT_CR_PARAM cp;
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	qual = free_qual(&p.node, p.cr_evd);
	OK(dat_rsp_create(p.node.ia, qual, DAT_HANDLE_NULL, p.cr_evd, &rsp));
	OK(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &rp));
	ASSERT_PTR(rp.ep_handle, DAT_HANDLE_NULL);
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, qual));
	cr = EV_CR(p.cr_evd, rsp, qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cp));
	ASSERT(cp.local_ep_handle != DAT_HANDLE_NULL);
	OK(dat_ep_query(cp.local_ep_handle, DAT_EP_FIELD_ALL, &ep));
	ASSERT_EQ(ep.ep_state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	ep.pz_handle = p.node.pz;
	ep.recv_evd_handle = p.b.recv;
	ep.request_evd_handle = p.b.req;
	ep.connect_evd_handle = p.b.conn;
	OK(dat_ep_modify(cp.local_ep_handle,
			 DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
				 DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			 &ep));
	OK(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	EV_CONN(p.b.conn, ESTABLISHED, cp.local_ep_handle);
	OK(dat_rsp_free(rsp));
	OK(dat_ep_free(cp.local_ep_handle));
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	pair_close(&p);
}

TEST(rsp, endpoint_made_for_a_request_goes_with_its_rejection)
{
	DAT_EP_STATE state;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual;
	DAT_CR_PARAM cp;
	DAT_CR_HANDLE cr;
	struct pair p;

	set_no_connect_retry();
	pair_open(&p);
	qual = free_qual(&p.node, p.cr_evd);
	OK(dat_rsp_create(p.node.ia, qual, DAT_HANDLE_NULL, p.cr_evd, &rsp));
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, qual));
	cr = EV_CR(p.cr_evd, rsp, qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cp));
	OK(api_cr_reject(cr));
	EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	BAD_HANDLE(dat_ep_get_status(cp.local_ep_handle, &state, NULL, NULL), EP);
	/* Its one request has come. */
	OK(dat_ep_reset(p.a.ep));
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, qual));
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	OK(dat_rsp_free(rsp));
	pair_close(&p);
}

TEST(rsp, without_an_endpoint_can_be_freed_unused)
{
	DAT_RSP_HANDLE rsp;
	struct pair p;

	pair_open(&p);
	OK(dat_rsp_create(p.node.ia, free_qual(&p.node, p.cr_evd), DAT_HANDLE_NULL, p.cr_evd,
			  &rsp));
	OK(dat_rsp_free(rsp));
	OK(dat_rsp_create(p.node.ia, free_qual(&p.node, p.cr_evd), DAT_HANDLE_NULL, p.cr_evd,
			  &rsp));
	node_abort(&p.node);
}

TEST(rsp, free_returns_the_endpoint_to_UNCONNECTED)
{
	struct rsp_rig r;

	rsp_open(&r);
	OK(dat_rsp_free(r.rsp));
	r.rsp = NULL;
	ASSERT_EQ(side_state(&r.p.b), DAT_EP_STATE_UNCONNECTED);
	pair_connect(&r.p);
	rsp_close(&r);
}

TEST(rsp, request_makes_the_endpoint_pending_and_it_can_be_accepted)
{
	DAT_CR_PARAM param;
	struct rsp_rig r;
	DAT_CR_HANDLE cr;

	rsp_open(&r);
	OK(connect_to(r.p.a.ep, r.p.node.attr.ia_address_ptr, r.qual));
	cr = EV_CR(r.p.cr_evd, r.rsp, r.qual);
	ASSERT_EQ(side_state(&r.p.b), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT_PTR(param.local_ep_handle, r.p.b.ep);
	OK(dat_cr_accept(cr, NULL, 0, NULL));
	EV_CONN(r.p.b.conn, ESTABLISHED, r.p.b.ep);
	EV_CONN(r.p.a.conn, ESTABLISHED, r.p.a.ep);
	rsp_close(&r);
}

TEST(rsp, request_rejected_returns_the_endpoint_to_UNCONNECTED)
{
	struct rsp_rig r;

	rsp_open(&r);
	OK(connect_to(r.p.a.ep, r.p.node.attr.ia_address_ptr, r.qual));
	OK(api_cr_reject(EV_CR(r.p.cr_evd, r.rsp, r.qual)));
	EV_CONN(r.p.a.conn, PEER_REJECTED, r.p.a.ep);
	ASSERT_EQ(side_state(&r.p.b), DAT_EP_STATE_UNCONNECTED);
	rsp_close(&r);
}

TEST(rsp, listens_for_one_request_only)
{
	struct rsp_rig r;
	struct side c;

	rsp_open(&r);
	side_make(&c, &r.p.node, NULL);
	OK(connect_to(r.p.a.ep, r.p.node.attr.ia_address_ptr, r.qual));
	EV_CR(r.p.cr_evd, r.rsp, r.qual);
	OK(connect_to(c.ep, r.p.node.attr.ia_address_ptr, r.qual));
	EV_CONN(c.conn, NON_PEER_REJECTED, c.ep);
	EV_EMPTY(r.p.cr_evd);
	node_abort(&r.p.node);
}

TEST(rsp, free_leaves_a_reported_request_valid)
{
	struct rsp_rig r;
	DAT_CR_HANDLE cr;

	rsp_open(&r);
	OK(connect_to(r.p.a.ep, r.p.node.attr.ia_address_ptr, r.qual));
	cr = EV_CR(r.p.cr_evd, r.rsp, r.qual);
	OK(dat_rsp_free(r.rsp));
	r.rsp = NULL;
	ASSERT_EQ(side_state(&r.p.b), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	OK(dat_cr_accept(cr, NULL, 0, NULL));
	EV_CONN(r.p.b.conn, ESTABLISHED, r.p.b.ep);
	EV_CONN(r.p.a.conn, ESTABLISHED, r.p.a.ep);
	rsp_close(&r);
}

TEST(rsp, can_be_freed_after_its_connection)
{
	struct rsp_rig r;

	rsp_open(&r);
	OK(connect_to(r.p.a.ep, r.p.node.attr.ia_address_ptr, r.qual));
	OK(dat_cr_accept(EV_CR(r.p.cr_evd, r.rsp, r.qual), NULL, 0, NULL));
	EV_CONN(r.p.b.conn, ESTABLISHED, r.p.b.ep);
	EV_CONN(r.p.a.conn, ESTABLISHED, r.p.a.ep);
	OK(dat_rsp_free(r.rsp));
	r.rsp = NULL;
	OK(post_recv(&r.p.b, 0, 10, 1));
	OK(post_send(&r.p.a, 0, 10, 2));
	EV_DTO(r.p.b.recv, r.p.b.ep, 1, OP_RECV, 10);
	rsp_close(&r);
}

TEST(rsp, names_its_endpoint_until_that_is_freed)
{
	DAT_RSP_PARAM param;
	struct rsp_rig r;

	rsp_open(&r);
	OK(connect_to(r.p.a.ep, r.p.node.attr.ia_address_ptr, r.qual));
	OK(api_cr_reject(EV_CR(r.p.cr_evd, r.rsp, r.qual)));
	EV_CONN(r.p.a.conn, PEER_REJECTED, r.p.a.ep);
	OK(dat_rsp_query(r.rsp, DAT_RSP_FIELD_ALL, &param));
	ASSERT_PTR(param.ep_handle, r.p.b.ep);
	OK(dat_ep_free(r.p.b.ep));
	r.p.b.ep = NULL;
	OK(dat_rsp_query(r.rsp, DAT_RSP_FIELD_ALL, &param));
	ASSERT_PTR(param.ep_handle, DAT_HANDLE_NULL);
	rsp_close(&r);
}

TEST(rsp, qualifier_of_a_freed_one_can_be_used_again)
{
	struct rsp_rig r;
	int i;

	rsp_open(&r);
	for (i = 0; i < 10; i++) {
		OK(dat_rsp_free(r.rsp));
		OK(dat_rsp_create(r.p.node.ia, r.qual, r.p.b.ep, r.p.cr_evd, &r.rsp));
	}
	rsp_close(&r);
}
