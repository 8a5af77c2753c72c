/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests datagram endpoints: creation, the exchange of addresses, its failures, address handles. */
#include "secret_files.h"
#include "srq_rig.h"
#include "ud.h"

#define MANY 20

TEST(ud, endpoint_has_its_attributes_and_stays_unconnected)
{
	DAT_EP_PARAM param;
	struct ud u;

	ud_up(&u);
	OK(dat_ep_query(u.p.a.ep, DAT_EP_FIELD_ALL, &param));
	ASSERT_EQ((int)param.ep_attr.service_type, DAT_IB_SERVICE_TYPE_UD);
	ASSERT_EQ(param.ep_attr.max_message_size, UD_MAX);
	ASSERT_EQ(param.comm.type, SOCK_DGRAM);
	ASSERT_EQ(param.ep_state, DAT_EP_STATE_UNCONNECTED);
	ASSERT_EQ(param.local_port_qual, u.a_of_b.to.qpn & 0xffff);
	param.ep_attr.service_type = DAT_SERVICE_TYPE_RC;
	BAD_ARG(dat_ep_modify(u.p.a.ep, DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, &param), 3);
	param.ep_attr.max_recv_dtos = 40;
	OK(dat_ep_modify(u.p.a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	for (unsigned int i = 0; i < 40; i++)
		OK(post_recv(&u.p.a, 0, 64, i));
	ud_close(&u);
}

TEST(ud, create_checks_its_arguments)
{
	DAT_EP_ATTR attr = ud_attr();
	struct srq_attr_pair {
		DAT_SRQ_ATTR attr;
		DAT_SRQ_HANDLE srq;
	} s = { .attr = { .max_recv_dtos = 8,
			  .max_recv_iov = 1,
			  .low_watermark = DAT_SRQ_LW_DEFAULT } };
	DAT_EVD_HANDLE dto;
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE ep;
	struct ud u;

	ud_open(&u);
	dto = u.p.a.recv;
	attr.max_message_size = UD_MAX + 1;
	BAD_ARG(dat_ep_create(u.p.node.ia, u.p.node.pz, dto, dto, u.p.a.conn, &attr, &ep), 6);
	attr.max_message_size = UD_MAX;
	OK(dat_ep_create(u.p.node.ia, u.p.node.pz, dto, dto, u.p.a.conn, &attr, &ep));
	OK(dat_ep_free(ep));
	OK(dat_srq_create(u.p.node.ia, u.p.node.pz, &s.attr, &s.srq));
	UNSUPPORTED(dat_ep_create_with_srq(u.p.node.ia, u.p.node.pz, dto, dto, u.p.a.conn, s.srq,
					   &attr, &ep));
	OK(dat_srq_free(s.srq));
	UNSUPPORTED(dat_rsp_create(u.p.node.ia, 4711, u.p.a.ep, u.p.cr_evd, &rsp));
	ASSERT_EQ(side_state(&u.p.a), DAT_EP_STATE_UNCONNECTED);
	ud_close(&u);
}

/* Datagrams carry no proof of the secret. */
TEST(ud, none_with_a_secret)
{
	DAT_EP_ATTR attr = ud_attr();
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	struct node n;

	secret_files();
	secret_choose("good", "log");
	node_open(&n);
	for (DAT_COUNT i = 0; i < n.prov.num_provider_specific_attr; i++)
		if (!strcmp(n.prov.provider_specific_attr[i].name, DAT_IB_ATTR_UD))
			ASSERT(!strcmp(n.prov.provider_specific_attr[i].value, "FALSE"));
	evd = evd_make(&n, 8, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	UNSUPPORTED(dat_ep_create(n.ia, n.pz, evd, evd, evd, &attr, &ep));
	OK(dat_evd_free(evd));
	node_close(&n);
}

/* ---- the exchange ---- */

static void check_address(const DAT_IB_ADDR_HANDLE *to, const struct node *n)
{
	const struct sockaddr_in *want = (const void *)n->attr.ia_address_ptr;
	struct sockaddr_in got;

	memcpy(&got, &to->ia_addr, sizeof(got));
	ASSERT(to->ah);
	ASSERT(to->qpn > 0 && to->qpn < 1u << 24);
	ASSERT_EQ(got.sin_family, AF_INET);
	ASSERT_EQ(got.sin_addr.s_addr, want->sin_addr.s_addr);
}

TEST(ud, exchange_yields_both_addresses_and_private_data)
{
	DAT_CONNECTION_EVENT_DATA d;
	DAT_IB_EXTENSION_EVENT_DATA x;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	char data[512];
	DAT_COUNT most;
	struct ud u;

	ud_open(&u);
	most = u.p.node.prov.max_private_data_size;
	ASSERT(most <= (DAT_COUNT)sizeof(data));
	fill(data, (size_t)most, 1);
	OK(ud_connect(&u, u.p.a.ep, most, data));
	cr = ud_cr(&u);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT_EQ(param.private_data_size, most);
	CHECK_FILL(param.private_data, (size_t)most, 1);
	fill(data, (size_t)most, 2);
	OK(dat_cr_accept(cr, u.p.b.ep, most, data));
	x = UD_EVENT(u.p.b.conn, u.p.b.ep, EVENT_ESTABLISHED, PASSIVE_REMOTE_AH);
	check_address(&x.remote_ah, &u.p.node);
	OK(dat_ib_ud_cm_free(u.p.b.ep, x.context));
	OK(dat_ib_ud_ah_free(u.p.b.ep, &x.remote_ah));
	x = ud_event(__FILE__, __LINE__, u.p.a.conn, u.p.a.ep,
		     DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_REMOTE_AH, &d);
	check_address(&x.remote_ah, &u.p.node);
	ASSERT_EQ(d.private_data_size, most);
	CHECK_FILL(d.private_data, (size_t)most, 2);
	ASSERT_EQ(side_state(&u.p.a), DAT_EP_STATE_UNCONNECTED);
	ASSERT_EQ(side_state(&u.p.b), DAT_EP_STATE_UNCONNECTED);
	EV_EMPTY(u.p.a.conn);
	EV_EMPTY(u.p.b.conn);
	BAD_HANDLE(dat_cr_accept(cr, u.p.b.ep, 0, NULL), CR);
	ud_close(&u);
}

/* Each of the concurrent answers has private data of its own. */
TEST(ud, one_endpoint_connects_many_times_at_once)
{
	DAT_CONNECTION_EVENT_DATA d;
	DAT_CR_HANDLE cr[8];
	struct ud u;
	char c;

	ud_open(&u);
	for (int i = 0; i < 8; i++)
		OK(ud_connect(&u, u.p.a.ep, 0, NULL));
	for (int i = 0; i < 8; i++)
		cr[i] = ud_cr(&u);
	for (int i = 0; i < 8; i++) {
		c = (char)('a' + i);
		OK(dat_cr_accept(cr[i], u.p.b.ep, 1, &c));
		UD_EVENT(u.p.b.conn, u.p.b.ep, EVENT_ESTABLISHED, PASSIVE_REMOTE_AH);
	}
	unsigned int seen = 0;

	for (int i = 0; i < 8; i++) {
		ud_event(__FILE__, __LINE__, u.p.a.conn, u.p.a.ep,
			 DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_REMOTE_AH, &d);
		ASSERT_EQ(d.private_data_size, 1);
		seen |= 1u << (*(const char *)d.private_data - 'a');
	}
	ASSERT_EQ(seen, 0xff);
	EV_EMPTY(u.p.a.conn);
	ud_close(&u);
}

TEST(ud, reject_is_reported_with_its_private_data)
{
	DAT_CONNECTION_EVENT_DATA d;
	DAT_IB_EXTENSION_EVENT_DATA x;
	struct ud u;

	ud_open(&u);
	OK(ud_connect(&u, u.p.a.ep, 0, NULL));
	OK(dat_cr_reject(ud_cr(&u), 3, (DAT_PVOID) "no!"));
	x = ud_event(__FILE__, __LINE__, u.p.a.conn, u.p.a.ep, DAT_IB_UD_CONNECTION_REJECT_EVENT,
		     DAT_IB_UD_CONNECT_REJECT, &d);
	ASSERT_EQ(d.private_data_size, 3);
	ASSERT_MEM(d.private_data, "no!", 3);
	ASSERT(!x.remote_ah.ah);
	OK(dat_ib_ud_cm_free(u.p.a.ep, x.context));
	/* It may try again. */
	ud_exchange(&u, &u.p.a, &u.b_of_a, &u.a_of_b);
	ud_close(&u);
}

static void expect_error(struct ud *u)
{
	DAT_IB_EXTENSION_EVENT_DATA x =
		UD_EVENT(u->p.a.conn, u->p.a.ep, ERROR_EVENT, CONNECT_ERROR);

	ASSERT(!x.remote_ah.ah);
	OK(dat_ib_ud_cm_free(u->p.a.ep, x.context));
	EV_EMPTY(u->p.a.conn);
	ASSERT_EQ(side_state(&u->p.a), DAT_EP_STATE_UNCONNECTED);
}

TEST(ud, without_a_listener_is_an_error_event)
{
	struct ud u;

	set_no_connect_retry();
	ud_open(&u);
	OK(connect_to(u.p.a.ep, u.p.node.attr.ia_address_ptr, free_qual(&u.p.node, u.p.cr_evd)));
	expect_error(&u);
	ud_close(&u);
}

TEST(ud, an_unanswered_request_ends_at_its_time_limit)
{
	DAT_CR_HANDLE cr;
	struct ud u;

	ud_open(&u);
	OK(dat_ep_connect(u.p.a.ep, u.p.node.attr.ia_address_ptr, u.p.qual, 200000, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr = ud_cr(&u);
	expect_error(&u);
	OK(dat_cr_reject(cr, 0, NULL));
	EV_NONE(u.p.a.conn);
	ud_close(&u);
}

TEST(ud, disconnect_ends_an_exchange_with_an_error_event)
{
	DAT_CR_HANDLE cr;
	struct ud u;

	ud_open(&u);
	OK(ud_connect(&u, u.p.a.ep, 0, NULL));
	cr = ud_cr(&u);
	OK(dat_ep_disconnect(u.p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_error(&u);
	OK(dat_cr_reject(cr, 0, NULL));
	EV_NONE(u.p.a.conn);
	ud_close(&u);
}

TEST(ud, free_ends_an_exchange_without_an_event)
{
	DAT_CR_HANDLE cr;
	struct ud u;

	ud_open(&u);
	OK(ud_connect(&u, u.p.a.ep, 0, NULL));
	cr = ud_cr(&u);
	OK(dat_ep_free(u.p.a.ep));
	u.p.a.ep = NULL;
	OK(dat_cr_accept(cr, u.p.b.ep, 0, NULL));
	UD_EVENT(u.p.b.conn, u.p.b.ep, EVENT_ESTABLISHED, PASSIVE_REMOTE_AH);
	EV_NONE(u.p.a.conn);
	ud_close(&u);
}

/* ---- the other type of service ---- */

TEST(ud, request_needs_a_datagram_endpoint)
{
	DAT_EP_HANDLE rc;
	DAT_CR_HANDLE cr;
	struct ud u;

	ud_open(&u);
	OK(dat_ep_create(u.p.node.ia, u.p.node.pz, u.p.b.recv, u.p.b.req, u.p.b.conn, NULL, &rc));
	OK(ud_connect(&u, u.p.a.ep, 0, NULL));
	cr = ud_cr(&u);
	BAD_ARG(dat_cr_accept(cr, rc, 0, NULL), 2);
	OK(dat_cr_reject(cr, 0, NULL));
	UD_EVENT(u.p.a.conn, u.p.a.ep, REJECT_EVENT, CONNECT_REJECT);
	EV_EMPTY(u.p.b.conn);
	OK(dat_ep_free(rc));
	ud_close(&u);
}

TEST(ud, a_connection_needs_an_endpoint_of_connections)
{
	DAT_EP_HANDLE rc;
	DAT_CR_HANDLE cr;
	struct ud u;

	ud_open(&u);
	OK(dat_ep_create(u.p.node.ia, u.p.node.pz, u.p.a.recv, u.p.a.req, u.p.a.conn, NULL, &rc));
	OK(connect_to(rc, u.p.node.attr.ia_address_ptr, u.p.qual));
	cr = EV_CR(u.p.cr_evd, u.p.psp, u.p.qual);
	BAD_ARG(dat_cr_accept(cr, u.p.b.ep, 0, NULL), 2);
	OK(dat_cr_reject(cr, 0, NULL));
	EV_CONN(u.p.a.conn, PEER_REJECTED, rc);
	EV_EMPTY(u.p.b.conn);
	OK(dat_ep_free(rc));
	ud_close(&u);
}

/* Their endpoints are for connections. */
TEST(ud, reserved_and_providing_service_points_refuse_the_request)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	struct ud u;

	ud_open(&u);
	OK(dat_psp_create_any(u.p.node.ia, &qual, u.p.cr_evd, DAT_PSP_PROVIDER_FLAG, &psp));
	OK(connect_to(u.p.a.ep, u.p.node.attr.ia_address_ptr, qual));
	expect_error(&u);
	OK(dat_psp_free(psp));
	qual = free_qual(&u.p.node, u.p.cr_evd);
	OK(dat_rsp_create(u.p.node.ia, qual, NULL, u.p.cr_evd, &rsp));
	OK(connect_to(u.p.a.ep, u.p.node.attr.ia_address_ptr, qual));
	expect_error(&u);
	EV_EMPTY(u.p.cr_evd);
	OK(dat_rsp_free(rsp));
	ud_close(&u);
}

/* ---- what the exchange leaves ---- */

TEST(ud, handles_and_contexts_are_freed_once)
{
	DAT_IB_ADDR_HANDLE none;
	DAT_CONTEXT other;
	struct ud u;

	ud_up(&u);
	memset(&none, 0, sizeof(none));
	BAD_ARG(dat_ib_ud_ah_free(u.p.a.ep, NULL), 2);
	BAD_ARG(dat_ib_ud_ah_free(u.p.a.ep, &none), 2);
	none.ah = (struct ibv_ah *)(void *)&u;
	BAD_ARG(dat_ib_ud_ah_free(u.p.a.ep, &none), 2);
	other.as_ptr = u.p.a.ep;
	BAD_ARG(dat_ib_ud_cm_free(u.p.a.ep, other), 2);
	OK(dat_ib_ud_ah_free(u.p.a.ep, &u.b_of_a.to));
	BAD_ARG(dat_ib_ud_ah_free(u.p.a.ep, &u.b_of_a.to), 2);
	OK(dat_ib_ud_cm_free(u.p.a.ep, u.b_of_a.cm));
	BAD_ARG(dat_ib_ud_cm_free(u.p.a.ep, u.b_of_a.cm), 2);
	/* In the other order, and by another endpoint of the IA. */
	OK(dat_ib_ud_cm_free(u.p.a.ep, u.a_of_b.cm));
	OK(dat_ib_ud_ah_free(u.p.a.ep, &u.a_of_b.to));
	ud_close(&u);
}

TEST(ud, a_handle_survives_its_endpoint)
{
	struct side c;
	DAT_EP_ATTR attr = ud_attr();
	struct found b_of_c, c_of_b;
	struct ud u;

	ud_up(&u);
	side_make(&c, &u.p.node, &attr);
	ud_exchange(&u, &c, &b_of_c, &c_of_b);
	side_free(&c);
	OK(post_recv(&u.p.b, 0, GRH + 8, 1));
	OK(ud_send(&u.p.a, &b_of_c.to, 0, 8, 2));
	UD_SENT(&u.p.a, 2, 8);
	UD_RECEIVED(&u.p.b, 1, 8);
	ud_close(&u);
}

TEST(ud, many_endpoints_send_to_one)
{
	DAT_EP_ATTR attr = ud_attr();
	struct found there[MANY], here[MANY];
	struct side side[MANY];
	unsigned int seen = 0;
	struct ud u;

	ud_open(&u);
	for (unsigned int i = 0; i < MANY; i++) {
		side_make(&side[i], &u.p.node, &attr);
		ud_exchange(&u, &side[i], &there[i], &here[i]);
	}
	for (unsigned int i = 0; i < MANY; i++) {
		OK(post_recv(&u.p.b, 0, GRH + 100, i));
		fill(side[i].buf.mem, 100, i);
		OK(ud_send(&side[i], &there[i].to, 0, 100, 50 + i));
		UD_SENT(&side[i], 50 + i, 100);

		DAT_IB_ADDR_HANDLE from = UD_RECEIVED(&u.p.b, i, 100);

		CHECK_FILL(u.p.b.buf.mem + GRH, 100, i);
		ASSERT_EQ(from.qpn, here[i].to.qpn);
		for (unsigned int j = 0; j < MANY; j++)
			seen |= (unsigned int)(here[j].to.qpn == from.qpn) << j;
	}
	ASSERT_EQ(seen, (1u << MANY) - 1);
	for (unsigned int i = 0; i < MANY; i++)
		side_free(&side[i]);
	ud_close(&u);
}
