/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the active side of a connection: arguments, outcomes, addresses. */
#include "rig.h"

#include <arpa/inet.h>
#include <sys/socket.h>

static struct sockaddr_in ipv4(const char *text)
{
	struct sockaddr_in sin;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	ASSERT_EQ(inet_pton(AF_INET, text, &sin.sin_addr), 1);
	return sin;
}

static DAT_RETURN connect_full(struct pair *p, DAT_TIMEOUT timeout, DAT_QOS qos, int flags)
{
	return dat_ep_connect(p->a.ep, p->node.attr.ia_address_ptr, p->qual, timeout, 0, NULL, qos,
			      (DAT_CONNECT_FLAGS)flags);
}

TEST(connect, established_on_both_sides)
{
	DAT_CONNECTION_EVENT_DATA d;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_UNCONNECTED);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	d = EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	ASSERT_EQ(d.private_data_size, 0);
	d = EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	ASSERT_EQ(d.private_data_size, 0);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_CONNECTED);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_CONNECTED);
	pair_close(&p);
}

TEST(connect, endpoint_tells_both_addresses_and_ports)
{
	struct sockaddr_in *own;
	DAT_EP_PARAM a, b;
	struct pair p;

	pair_up(&p);
	OK(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &a));
	OK(dat_ep_query(p.b.ep, DAT_EP_FIELD_ALL, &b));
	ASSERT_EQ(a.ep_state, DAT_EP_STATE_CONNECTED);
	ASSERT_EQ(a.remote_port_qual, p.qual);
	ASSERT(a.local_port_qual != 0 && b.local_port_qual != 0 && b.remote_port_qual != 0);
	ASSERT(a.remote_ia_address_ptr && b.remote_ia_address_ptr);
	if (a.remote_ia_address_ptr->sa_family == AF_INET) {
		own = (struct sockaddr_in *)(void *)p.node.attr.ia_address_ptr;
		ASSERT_MEM(&((struct sockaddr_in *)(void *)a.remote_ia_address_ptr)->sin_addr,
			   &own->sin_addr, 4);
		ASSERT_MEM(&((struct sockaddr_in *)(void *)b.remote_ia_address_ptr)->sin_addr,
			   &own->sin_addr, 4);
	}
	pair_close(&p);
}

static DAT_PORT_QUAL local_port(const struct side *s)
{
	DAT_EP_PARAM param;

	OK(dat_ep_query(s->ep, DAT_EP_FIELD_ALL, &param));
	return param.local_port_qual;
}

/* From the pending states on. */
TEST(connect, local_port_is_known_before_the_connection_is_up)
{
	DAT_CR_PARAM param;
	DAT_PORT_QUAL port;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual));
	port = local_port(&p.a);
	ASSERT(port != 0);
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT_EQ(param.remote_port_qual, port);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	ASSERT(local_port(&p.b) != 0);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	ASSERT_EQ(local_port(&p.a), port);
	ASSERT(local_port(&p.b) != 0);
	pair_close(&p);
}

TEST(connect, nobody_listens_is_NON_PEER_REJECTED)
{
	struct pair p;

	set_no_connect_retry();
	pair_open(&p);
	OK(dat_psp_free(p.psp));
	p.psp = NULL;
	OK(post_recv(&p.a, 0, 10, 1));
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual));
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	EV_FLUSH(p.a.recv, p.a.ep, 1, OP_RECV);
	EV_NONE(p.a.conn);
	pair_close(&p);
}

TEST(connect, rejected_is_PEER_REJECTED)
{
	struct pair p;

	pair_open(&p);
	OK(post_recv(&p.a, 0, 10, 1));
	OK(api_cr_reject(pair_request(&p)));
	EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	EV_FLUSH(p.a.recv, p.a.ep, 1, OP_RECV);
	EV_NONE(p.a.conn);
	pair_close(&p);
}

TEST(connect, not_answered_is_TIMED_OUT)
{
	struct dt_start start;
	uint64_t took;
	struct pair p;

	pair_open(&p);
	OK(post_recv(&p.a, 0, 10, 1));
	start = dt_start();
	OK(connect_full(&p, 300000, DAT_QOS_BEST_EFFORT, 0));
	EV_CONN(p.a.conn, TIMED_OUT, p.a.ep);
	took = dt_took_us(&start);
	ASSERT(took >= 300000 && dt_in_time(&start, 1300000));
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	EV_FLUSH(p.a.recv, p.a.ep, 1, OP_RECV);
	EV_NONE(p.a.conn);
	pair_close(&p);
}

/* The requester gave up: the acceptance comes too late. */
TEST(connect, accept_after_the_timeout_is_ACCEPT_COMPLETION_ERROR)
{
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	OK(post_recv(&p.b, 0, 10, 1));
	OK(connect_full(&p, 100000, DAT_QOS_BEST_EFFORT, 0));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	EV_CONN(p.a.conn, TIMED_OUT, p.a.ep);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(p.b.conn, ACCEPT_COMPLETION_ERROR, p.b.ep);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_DISCONNECTED);
	EV_FLUSH(p.b.recv, p.b.ep, 1, OP_RECV);
	EV_NONE(p.b.conn);
	EV_EMPTY(p.a.conn);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	/* The next attempt of both connects. */
	OK(dat_ep_reset(p.a.ep));
	OK(dat_ep_reset(p.b.ep));
	pair_connect(&p);
	pair_close(&p);
}

TEST(connect, accept_after_the_requesters_disconnect_is_ACCEPT_COMPLETION_ERROR)
{
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(p.b.conn, ACCEPT_COMPLETION_ERROR, p.b.ep);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_DISCONNECTED);
	EV_NONE(p.b.conn);
	pair_close(&p);
}

TEST(connect, infinite_timeout_is_allowed)
{
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	OK(connect_full(&p, DAT_TIMEOUT_INFINITE, DAT_QOS_BEST_EFFORT, 0));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	EV_NONE(p.a.conn);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	pair_close(&p);
}

/* A broadcast address of the loopback net: no host has it, and nothing leaves the machine. */
TEST(connect, unknown_host_is_UNREACHABLE_or_TIMED_OUT)
{
	struct sockaddr_in sin;
	DAT_RETURN ret;
	DAT_EVENT ev;
	struct pair p;

	if (!fabric_has("hosts"))
		dt_skip("addresses are the host's own");
	pair_open(&p);
	sin = ipv4("127.255.255.255");
	ret = dat_ep_connect(p.a.ep, (DAT_IA_ADDRESS_PTR)&sin, p.qual, 1000000, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret == DAT_SUCCESS) {
		EV_NEXT(p.a.conn, &ev);
		ASSERT(ev.event_number == DAT_CONNECTION_EVENT_UNREACHABLE ||
		       ev.event_number == DAT_CONNECTION_EVENT_TIMED_OUT);
		ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	} else {
		ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_ADDRESS);
		ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
	}
	pair_close(&p);
}

TEST(connect, address_NULL_is_ARG2)
{
	struct pair p;

	pair_open(&p);
	BAD_ARG(dat_ep_connect(p.a.ep, NULL, p.qual, US_CONNECT, 0, NULL, DAT_QOS_BEST_EFFORT,
			       DAT_CONNECT_DEFAULT_FLAG),
		2);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
	pair_connect(&p);
	pair_close(&p);
}

TEST(connect, address_of_an_unknown_family_is_INVALID_ADDRESS)
{
	struct sockaddr_in sin;
	DAT_RETURN ret;
	struct pair p;

	pair_open(&p);
	sin = ipv4("127.0.0.1");
	sin.sin_family = AF_UNIX;
	ret = connect_to(p.a.ep, (DAT_IA_ADDRESS_PTR)&sin, p.qual);
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_ADDRESS);
	ASSERT(ret & DAT_CLASS_ERROR);
	ASSERT(DAT_GET_SUBTYPE(ret) == DAT_INVALID_ADDRESS_UNSUPPORTED ||
	       DAT_GET_SUBTYPE(ret) == DAT_INVALID_ADDRESS_MALFORMED);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
	pair_connect(&p);
	pair_close(&p);
}

TEST(connect, address_0_is_INVALID_ADDRESS)
{
	struct sockaddr_in sin;
	struct pair p;

	pair_open(&p);
	sin = ipv4("0.0.0.0");
	ASSERT_EQ(DAT_GET_TYPE(connect_to(p.a.ep, (DAT_IA_ADDRESS_PTR)&sin, p.qual)),
		  DAT_INVALID_ADDRESS);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
	pair_close(&p);
}

TEST(connect, address_is_copied_before_return)
{
	struct sockaddr_in sin;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	memcpy(&sin, p.node.attr.ia_address_ptr, sizeof(sin));
	OK(connect_to(p.a.ep, (DAT_IA_ADDRESS_PTR)&sin, p.qual));
	memset(&sin, 0xff, sizeof(sin));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	pair_close(&p);
}

TEST(connect, timeout_0_is_ARG4)
{
	struct pair p;

	pair_open(&p);
	BAD_ARG(connect_full(&p, 0, DAT_QOS_BEST_EFFORT, 0), 4);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
	pair_close(&p);
}

TEST(connect, unsupported_qos_is_MODEL_NOT_SUPPORTED)
{
	struct pair p;

	pair_open(&p);
	/* Two classes at once, and none that exists. */
	UNSUPPORTED(
		connect_full(&p, US_CONNECT, (DAT_QOS)(DAT_QOS_PREMIUM | DAT_QOS_LOW_LATENCY), 0));
	UNSUPPORTED(connect_full(&p, US_CONNECT, (DAT_QOS)16, 0));
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
	EV_EMPTY(p.cr_evd);
	pair_close(&p);
}

/* The attributes report it beforehand, and the endpoint is as before. */
TEST(connect, multipath_is_MODEL_NOT_SUPPORTED)
{
	struct pair p;

	pair_open(&p);
	ASSERT_EQ(p.node.prov.supports_multipath, DAT_FALSE);
#if DAT_TEST_API == 20
	ASSERT_EQ(p.node.prov.ha_supported, DAT_FALSE);
	ASSERT_EQ(p.node.prov.ha_loadbalancing, DAT_HA_LB_NONE);
#endif
	UNSUPPORTED(connect_full(&p, US_CONNECT, DAT_QOS_BEST_EFFORT, DAT_CONNECT_MULTIPATH_FLAG));
#if DAT_TEST_API == 20
	UNSUPPORTED(connect_full(&p, US_CONNECT, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_MULTIPATH_REQUIRED_FLAG));
#endif
	UNSUPPORTED(connect_full(&p, US_CONNECT, DAT_QOS_BEST_EFFORT, 3));
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_UNCONNECTED);
	EV_EMPTY(p.cr_evd);
	pair_connect(&p);
	pair_close(&p);
}

TEST(connect, without_a_connect_evd_is_INVALID_HANDLE_EVD_CONN)
{
	DAT_EP_HANDLE ep;
	struct pair p;

	pair_open(&p);
	OK(dat_ep_create(p.node.ia, p.node.pz, p.a.recv, p.a.req, NULL, NULL, &ep));
	BAD_HANDLE(connect_to(ep, p.node.attr.ia_address_ptr, p.qual), EVD_CONN);
	OK(dat_ep_free(ep));
	pair_close(&p);
}

TEST(connect, without_a_pz_is_INVALID_STATE_EP_NOTREADY)
{
	DAT_EP_HANDLE ep;
	struct pair p;

	pair_open(&p);
	OK(dat_ep_create(p.node.ia, NULL, p.a.recv, p.a.req, p.a.conn, NULL, &ep));
	BAD_STATE(connect_to(ep, p.node.attr.ia_address_ptr, p.qual), EP_NOTREADY);
	OK(dat_ep_free(ep));
	pair_close(&p);
}

TEST(connect, endpoint_without_transfers_can_be_connected)
{
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	OK(dat_ep_create(p.node.ia, p.node.pz, NULL, NULL, p.a.conn, NULL, &ep));
	OK(connect_to(ep, p.node.attr.ia_address_ptr, p.qual));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(p.a.conn, ESTABLISHED, ep);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	OK(dat_ep_free(ep));
	pair_close(&p);
}

TEST(connect, failed_endpoint_can_be_reset_and_connected)
{
	struct pair p;

	pair_open(&p);
	OK(api_cr_reject(pair_request(&p)));
	EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	OK(dat_ep_reset(p.a.ep));
	pair_connect(&p);
	pair_close(&p);
}

TEST(connect, many_endpoints_at_once)
{
	struct side a[12], b[12];
	struct pair p;
	DAT_EVENT ev;
	int i;

	pair_open(&p);
	OK(dat_evd_resize(p.cr_evd, 20));
	for (i = 0; i < 12; i++) {
		side_make(&a[i], &p.node, NULL);
		side_make(&b[i], &p.node, NULL);
		OK(connect_to(a[i].ep, p.node.attr.ia_address_ptr, p.qual));
	}
	for (i = 0; i < 12; i++) {
		EV_NEXT(p.cr_evd, &ev);
		OK(dat_cr_accept(cr_of(&ev), b[i].ep, 0, NULL));
	}
	for (i = 0; i < 12; i++) {
		EV_CONN(a[i].conn, ESTABLISHED, a[i].ep);
		EV_CONN(b[i].conn, ESTABLISHED, b[i].ep);
	}
	for (i = 0; i < 12; i++) {
		side_free(&a[i]);
		side_free(&b[i]);
	}
	pair_close(&p);
}

TEST_LIMIT(connect, hundred_requests_before_one_is_accepted, 60)
{
	DAT_EP_HANDLE a[100], b[100];
	DAT_EVENT ev;
	struct pair p;
	int i;

	pair_open(&p);
	OK(dat_evd_resize(p.cr_evd, 128));
	OK(dat_evd_resize(p.a.conn, 256));
	OK(dat_evd_resize(p.b.conn, 256));
	for (i = 0; i < 100; i++) {
		OK(dat_ep_create(p.node.ia, p.node.pz, p.a.recv, p.a.req, p.a.conn, NULL, &a[i]));
		OK(dat_ep_create(p.node.ia, p.node.pz, p.b.recv, p.b.req, p.b.conn, NULL, &b[i]));
		OK(connect_to(a[i], p.node.attr.ia_address_ptr, p.qual));
	}
	DT_UNTIL(ev_queued(p.cr_evd) == 100, US_EVENT);
	for (i = 0; i < 100; i++) {
		EV_NEXT(p.cr_evd, &ev);
		OK(dat_cr_accept(cr_of(&ev), b[i], 0, NULL));
	}
	for (i = 0; i < 100; i++) {
		EV_NEXT(p.a.conn, &ev);
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
		EV_NEXT(p.b.conn, &ev);
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
	for (i = 0; i < 100; i++) {
		OK(dat_ep_free(a[i]));
		OK(dat_ep_free(b[i]));
	}
	pair_close(&p);
}

TEST(connect, between_two_ias)
{
	struct node other;
	DAT_CR_HANDLE cr;
	struct side s;
	struct pair p;

	pair_open(&p);
	node_open(&other);
	side_make(&s, &other, NULL);
	OK(connect_to(s.ep, p.node.attr.ia_address_ptr, p.qual));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(s.conn, ESTABLISHED, s.ep);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	OK(post_recv(&p.b, 0, 100, 1));
	OK(post_send(&s, 0, 100, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 100);
	EV_DTO(s.req, s.ep, 2, OP_SEND, 100);
	side_free(&s);
	node_close(&other);
	EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
	pair_close(&p);
}

TEST(connect, over_ipv6)
{
	DAT_EP_PARAM param;
	struct pair p;

	need_ipv6();
	pair_open_name(&p, ia6_name());
	pair_connect(&p);
	OK(dat_ep_query(p.b.ep, DAT_EP_FIELD_ALL, &param));
	ASSERT_EQ(param.remote_ia_address_ptr->sa_family, AF_INET6);
	OK(post_recv(&p.b, 0, 1000, 1));
	fill(p.a.buf.mem, 1000, 4);
	OK(post_send(&p.a, 0, 1000, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 1000);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 1000);
	CHECK_FILL(p.b.buf.mem, 1000, 4);
	pair_disconnect(&p);
	pair_close(&p);
}

TEST(connect, ipv6_nobody_listens_is_NON_PEER_REJECTED)
{
	struct pair p;

	set_no_connect_retry();
	need_ipv6();
	pair_open_name(&p, ia6_name());
	OK(dat_psp_free(p.psp));
	p.psp = NULL;
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual));
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	pair_close(&p);
}
