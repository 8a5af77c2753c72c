/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests common service points and connecting to them, which only 2.0 has. */
#include "rig.h"

#include <netinet/in.h>
#include <sys/socket.h>

#if DAT_TEST_API == 20

/* The address of the IA with a port. */
static DAT_IA_ADDRESS_PTR address(const struct node *n, struct sockaddr_storage *to, uint16_t port)
{
	const struct sockaddr *own = n->attr.ia_address_ptr;

	memset(to, 0, sizeof(*to));
	if (own->sa_family == AF_INET6) {
		memcpy(to, own, sizeof(struct sockaddr_in6));
		((struct sockaddr_in6 *)to)->sin6_port = htons(port);
	} else {
		memcpy(to, own, sizeof(struct sockaddr_in));
		((struct sockaddr_in *)to)->sin_port = htons(port);
	}
	return (DAT_IA_ADDRESS_PTR)to;
}

static uint16_t port_of(const struct sockaddr *sa)
{
	return ntohs(sa->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)sa)->sin6_port
					       : ((const struct sockaddr_in *)sa)->sin_port);
}

static DAT_COMM comm_of(const struct node *n)
{
	return (DAT_COMM){ n->attr.ia_address_ptr->sa_family, SOCK_STREAM, 0 };
}

/* A pair with a CSP on a port of the system's choice, whose address is `at`. */
struct scene {
	struct pair p;
	DAT_CSP_HANDLE csp;
	DAT_CSP_PARAM param;
	struct sockaddr_storage at;
	uint16_t port;
};

static void open_scene(struct scene *s)
{
	DAT_COMM comm;

	pair_open(&s->p);
	comm = comm_of(&s->p.node);
	OK(dat_csp_create(s->p.node.ia, &comm, address(&s->p.node, &s->at, 0), s->p.cr_evd,
			  &s->csp));
	OK(dat_csp_query(s->csp, DAT_CSP_FIELD_ALL, &s->param));
	s->port = port_of(s->param.address_ptr);
	ASSERT(s->port);
	address(&s->p.node, &s->at, s->port);
}

static void close_scene(struct scene *s)
{
	OK(dat_csp_free(s->csp));
	pair_close(&s->p);
}

static DAT_RETURN connect_common(struct scene *s)
{
	return dat_ep_common_connect(s->p.a.ep, (DAT_IA_ADDRESS_PTR)&s->at, US_CONNECT, 0, NULL);
}

TEST(csp, query_reports_address_port_and_communicator)
{
	struct scene s;
	DAT_HANDLE_TYPE type;

	open_scene(&s);
	ASSERT_PTR(s.param.ia_handle, s.p.node.ia);
	ASSERT_PTR(s.param.evd_handle, s.p.cr_evd);
	ASSERT_EQ(s.param.comm->domain, s.p.node.attr.ia_address_ptr->sa_family);
	ASSERT_EQ(s.param.comm->type, SOCK_STREAM);
	ASSERT_EQ(s.param.comm->protocol, 0);
	ASSERT_MEM(s.param.address_ptr, &s.at, sizeof(struct sockaddr_in));
	OK(dat_get_handle_type(s.csp, &type));
	ASSERT_EQ(type, DAT_HANDLE_TYPE_CSP);
	close_scene(&s);
}

TEST(csp, common_connect_reaches_it_with_private_data)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct scene s;
	char data[16];

	open_scene(&s);
	fill(data, sizeof(data), 5);
	OK(post_recv(&s.p.b, 0, 64, 1));
	OK(dat_ep_common_connect(s.p.a.ep, (DAT_IA_ADDRESS_PTR)&s.at, US_CONNECT, sizeof(data),
				 data));
	cr = EV_CR(s.p.cr_evd, s.csp, s.port);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT_EQ(param.private_data_size >= (DAT_COUNT)sizeof(data), 1);
	CHECK_FILL(param.private_data, sizeof(data), 5);
	ASSERT(!param.local_ep_handle);
	OK(dat_cr_accept(cr, s.p.b.ep, 0, NULL));
	EV_CONN(s.p.b.conn, ESTABLISHED, s.p.b.ep);
	EV_CONN(s.p.a.conn, ESTABLISHED, s.p.a.ep);
	fill(s.p.a.buf.mem + 128, 64, 6);
	OK(post_send(&s.p.a, 128, 64, 2));
	EV_DTO(s.p.a.req, s.p.a.ep, 2, OP_SEND, 64);
	EV_DTO(s.p.b.recv, s.p.b.ep, 1, OP_RECV, 64);
	CHECK_FILL(s.p.b.buf.mem, 64, 6);
	pair_disconnect(&s.p);
	close_scene(&s);
}

/* The port is the qualifier. */
TEST(csp, ep_connect_reaches_it_by_its_port)
{
	DAT_CR_HANDLE cr;
	struct scene s;

	open_scene(&s);
	OK(connect_to(s.p.a.ep, s.p.node.attr.ia_address_ptr, s.port));
	cr = EV_CR(s.p.cr_evd, s.csp, s.port);
	OK(dat_cr_reject(cr, 0, NULL));
	EV_CONN(s.p.a.conn, PEER_REJECTED, s.p.a.ep);
	close_scene(&s);
}

TEST(csp, common_connect_reaches_a_psp_by_its_qualifier)
{
	struct sockaddr_storage at;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	OK(dat_psp_create_any(p.node.ia, &qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(dat_ep_common_connect(p.a.ep, address(&p.node, &at, (uint16_t)qual), US_CONNECT, 0,
				 NULL));
	cr = EV_CR(p.cr_evd, psp, qual);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	pair_disconnect(&p);
	OK(dat_psp_free(psp));
	pair_close(&p);
}

TEST(csp, a_port_that_is_taken_is_PORT_IN_USE)
{
	DAT_CSP_HANDLE csp = NULL;
	DAT_PSP_HANDLE psp;
	struct scene s;
	DAT_COMM comm;

	open_scene(&s);
	comm = comm_of(&s.p.node);
	ASSERT_RET(dat_csp_create(s.p.node.ia, &comm, (DAT_IA_ADDRESS_PTR)&s.at, s.p.cr_evd, &csp),
		   DAT_PORT_IN_USE, 0);
	ASSERT(!csp);
	ASSERT_RET(dat_psp_create(s.p.node.ia, s.port, s.p.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   DAT_CONN_QUAL_IN_USE, 0);
	OK(dat_csp_free(s.csp));
	OK(dat_csp_create(s.p.node.ia, &comm, (DAT_IA_ADDRESS_PTR)&s.at, s.p.cr_evd, &s.csp));
	close_scene(&s);
}

TEST(csp, after_free_nobody_listens)
{
	struct scene s;

	set_no_connect_retry();
	open_scene(&s);
	OK(dat_csp_free(s.csp));
	BAD_HANDLE(dat_csp_free(s.csp), CSP);
	BAD_HANDLE(dat_csp_query(s.csp, DAT_CSP_FIELD_ALL, &s.param), CSP);
	OK(connect_common(&s));
	EV_CONN(s.p.a.conn, NON_PEER_REJECTED, s.p.a.ep);
	pair_close(&s.p);
}

TEST(csp, create_bad_arguments)
{
	struct sockaddr_storage at;
	DAT_CSP_HANDLE csp = NULL;
	DAT_IA_ADDRESS_PTR own;
	DAT_COMM comm;
	struct pair p;

	pair_open(&p);
	comm = comm_of(&p.node);
	own = address(&p.node, &at, 0);
	BAD_HANDLE(dat_csp_create(p.node.pz, &comm, own, p.cr_evd, &csp), IA);
	BAD_ARG(dat_csp_create(p.node.ia, NULL, own, p.cr_evd, &csp), 2);
	BAD_ARG(dat_csp_create(p.node.ia, &comm, NULL, p.cr_evd, &csp), 3);
	BAD_HANDLE(dat_csp_create(p.node.ia, &comm, own, p.a.conn, &csp), EVD_CR);
	BAD_HANDLE(dat_csp_create(p.node.ia, &comm, own, DAT_HANDLE_NULL, &csp), EVD_CR);
	BAD_ARG(dat_csp_create(p.node.ia, &comm, own, p.cr_evd, NULL), 5);
	ASSERT(!csp);
	pair_close(&p);
}

TEST(csp, other_communicators_are_COMM_NOT_SUPPORTED)
{
	struct sockaddr_storage at;
	DAT_CSP_HANDLE csp = NULL;
	DAT_IA_ADDRESS_PTR own;
	DAT_COMM comm, bad;
	struct pair p;

	pair_open(&p);
	comm = comm_of(&p.node);
	own = address(&p.node, &at, 0);
	bad = (DAT_COMM){ AF_UNIX, SOCK_STREAM, 0 };
	ASSERT_RET(dat_csp_create(p.node.ia, &bad, own, p.cr_evd, &csp), DAT_COMM_NOT_SUPPORTED, 0);
	bad = (DAT_COMM){ comm.domain, SOCK_DGRAM, 0 };
	ASSERT_RET(dat_csp_create(p.node.ia, &bad, own, p.cr_evd, &csp), DAT_COMM_NOT_SUPPORTED, 0);
	bad = (DAT_COMM){ comm.domain, SOCK_STREAM, IPPROTO_UDP };
	ASSERT_RET(dat_csp_create(p.node.ia, &bad, own, p.cr_evd, &csp), DAT_COMM_NOT_SUPPORTED, 0);
	ASSERT(!csp);
	comm.protocol = IPPROTO_TCP;
	OK(dat_csp_create(p.node.ia, &comm, own, p.cr_evd, &csp));
	OK(dat_csp_free(csp));
	pair_close(&p);
}

TEST(csp, an_address_that_the_ia_lacks_is_INVALID_ADDRESS)
{
	struct sockaddr_storage at;
	DAT_CSP_HANDLE csp = NULL;
	DAT_COMM comm;
	struct pair p;

	pair_open(&p);
	comm = comm_of(&p.node);
	address(&p.node, &at, 0);
	at.ss_family = AF_UNSPEC;
	ASSERT_RET(dat_csp_create(p.node.ia, &comm, (DAT_IA_ADDRESS_PTR)&at, p.cr_evd, &csp),
		   DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	at.ss_family = comm.domain == AF_INET ? AF_INET6 : AF_INET;
	ASSERT_RET(dat_csp_create(p.node.ia, &comm, (DAT_IA_ADDRESS_PTR)&at, p.cr_evd, &csp),
		   DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	/* 192.0.2.1 and 2001:db8::1 are reserved for documentation. */
	address(&p.node, &at, 0);
	if (comm.domain == AF_INET) {
		((struct sockaddr_in *)&at)->sin_addr.s_addr = htonl(0xc0000201);
	} else {
		memset(&((struct sockaddr_in6 *)&at)->sin6_addr, 0, sizeof(struct in6_addr));
		memcpy(&((struct sockaddr_in6 *)&at)->sin6_addr, "\x20\x01\x0d\xb8", 4);
		((struct sockaddr_in6 *)&at)->sin6_addr.s6_addr[15] = 1;
	}
	ASSERT_RET(dat_csp_create(p.node.ia, &comm, (DAT_IA_ADDRESS_PTR)&at, p.cr_evd, &csp),
		   DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	ASSERT(!csp);
	pair_close(&p);
}

/* The wildcard address stands for the IA's own. */
TEST(csp, the_wildcard_address_listens_too)
{
	struct sockaddr_storage at;
	DAT_CSP_PARAM param;
	DAT_CSP_HANDLE csp;
	DAT_CR_HANDLE cr;
	DAT_COMM comm;
	struct pair p;
	uint16_t port;

	pair_open(&p);
	comm = comm_of(&p.node);
	memset(&at, 0, sizeof(at));
	at.ss_family = (sa_family_t)comm.domain;
	OK(dat_csp_create(p.node.ia, &comm, (DAT_IA_ADDRESS_PTR)&at, p.cr_evd, &csp));
	OK(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &param));
	port = port_of(param.address_ptr);
	OK(dat_ep_common_connect(p.a.ep, address(&p.node, &at, port), US_CONNECT, 0, NULL));
	cr = EV_CR(p.cr_evd, csp, port);
	OK(dat_cr_reject(cr, 0, NULL));
	EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	OK(dat_csp_free(csp));
	pair_close(&p);
}

TEST(csp, query_bad_arguments)
{
	struct scene s;

	open_scene(&s);
	BAD_ARG(dat_csp_query(s.csp, (DAT_CSP_PARAM_MASK)0x10, &s.param), 2);
	BAD_ARG(dat_csp_query(s.csp, DAT_CSP_FIELD_ALL, NULL), 3);
	BAD_HANDLE(dat_csp_query(s.p.psp, DAT_CSP_FIELD_ALL, &s.param), CSP);
	BAD_HANDLE(dat_csp_free(s.p.psp), CSP);
	BAD_HANDLE(dat_csp_free(NULL), CSP);
	BAD_HANDLE(dat_psp_free(s.csp), PSP);
	close_scene(&s);
}

TEST(csp, common_connect_bad_arguments_change_nothing)
{
	struct sockaddr_storage at;
	DAT_EP_HANDLE ep;
	struct scene s;
	char data[8];

	open_scene(&s);
	BAD_HANDLE(dat_ep_common_connect(s.p.node.pz, (DAT_IA_ADDRESS_PTR)&s.at, US_CONNECT, 0,
					 NULL),
		   EP);
	BAD_ARG(dat_ep_common_connect(s.p.a.ep, NULL, US_CONNECT, 0, NULL), 2);
	BAD_ARG(dat_ep_common_connect(s.p.a.ep, (DAT_IA_ADDRESS_PTR)&s.at, 0, 0, NULL), 3);
	BAD_ARG(dat_ep_common_connect(s.p.a.ep, (DAT_IA_ADDRESS_PTR)&s.at, US_CONNECT, -1, data),
		4);
	BAD_ARG(dat_ep_common_connect(s.p.a.ep, (DAT_IA_ADDRESS_PTR)&s.at, US_CONNECT, 1 << 20,
				      data),
		4);
	BAD_ARG(dat_ep_common_connect(s.p.a.ep, (DAT_IA_ADDRESS_PTR)&s.at, US_CONNECT, 8, NULL), 5);
	ASSERT_RET(dat_ep_common_connect(s.p.a.ep, address(&s.p.node, &at, 0), US_CONNECT, 0, NULL),
		   DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	at.ss_family = AF_UNIX;
	ASSERT_RET(dat_ep_common_connect(s.p.a.ep, (DAT_IA_ADDRESS_PTR)&at, US_CONNECT, 0, NULL),
		   DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	ASSERT_EQ(side_state(&s.p.a), DAT_EP_STATE_UNCONNECTED);
	OK(dat_ep_create(s.p.node.ia, s.p.node.pz, s.p.a.recv, s.p.a.req, NULL, NULL, &ep));
	BAD_HANDLE(dat_ep_common_connect(ep, (DAT_IA_ADDRESS_PTR)&s.at, US_CONNECT, 0, NULL),
		   EVD_CONN);
	OK(dat_ep_free(ep));
	OK(dat_ep_create(s.p.node.ia, NULL, s.p.a.recv, s.p.a.req, s.p.a.conn, NULL, &ep));
	BAD_STATE(dat_ep_common_connect(ep, (DAT_IA_ADDRESS_PTR)&s.at, US_CONNECT, 0, NULL),
		  EP_NOTREADY);
	OK(dat_ep_free(ep));
	OK(connect_common(&s));
	BAD_STATE(connect_common(&s), EP_ACTCONNPENDING);
	OK(dat_cr_reject(EV_CR(s.p.cr_evd, s.csp, s.port), 0, NULL));
	EV_CONN(s.p.a.conn, PEER_REJECTED, s.p.a.ep);
	close_scene(&s);
}

TEST(csp, ep_query_reports_the_communicator)
{
	DAT_EP_PARAM param;
	struct pair p;

	pair_open(&p);
	OK(dat_ep_query(p.a.ep, DAT_EP_FIELD_COMM, &param));
	ASSERT_EQ(param.comm.domain, p.node.attr.ia_address_ptr->sa_family);
	ASSERT_EQ(param.comm.type, SOCK_STREAM);
	ASSERT_EQ(param.comm.protocol, 0);
	pair_close(&p);
}

TEST(csp, it_keeps_the_ia_open_and_an_abrupt_close_frees_it)
{
	struct node n;
	DAT_EVD_HANDLE evd;
	DAT_CSP_HANDLE csp;
	struct sockaddr_storage at;
	DAT_COMM comm;

	node_open(&n);
	comm = comm_of(&n);
	evd = evd_make(&n, 8, DAT_EVD_CR_FLAG);
	OK(dat_csp_create(n.ia, &comm, address(&n, &at, 0), evd, &csp));
	BAD_STATE(dat_ia_close(n.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	BAD_STATE(dat_evd_free(evd), EVD_IN_USE);
	node_abort(&n);
}

#endif
