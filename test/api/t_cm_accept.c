/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the passive side: connection requests, accept, reject and handoff. */
#include "rig.h"

#include <stdatomic.h>
#include <sys/socket.h>

TEST(cr, query_tells_address_port_and_no_endpoint)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	memset(&param, 0xa5, sizeof(param));
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT(param.remote_ia_address_ptr != NULL);
	ASSERT_EQ(param.remote_ia_address_ptr->sa_family, p.node.attr.ia_address_ptr->sa_family);
	ASSERT_MEM(&((struct sockaddr_in *)(void *)param.remote_ia_address_ptr)->sin_addr,
		   &((struct sockaddr_in *)(void *)p.node.attr.ia_address_ptr)->sin_addr, 4);
	ASSERT(param.remote_port_qual != 0);
	ASSERT_EQ(param.private_data_size, 0);
	ASSERT_PTR(param.local_ep_handle, NULL);
	OK(api_cr_reject(cr));
	pair_close(&p);
}

TEST(cr, query_bad_arguments)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	BAD_ARG(dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL), 3);
	BAD_ARG(dat_cr_query(cr, (DAT_CR_PARAM_MASK)0x20, &param), 2);
	OK(api_cr_reject(cr));
	pair_close(&p);
}

TEST(cr, accept_destroys_the_request)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EP_STATE state;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	state = side_state(&p.b);
	ASSERT(state == DAT_EP_STATE_COMPLETION_PENDING || state == DAT_EP_STATE_CONNECTED);
	BAD_HANDLE(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), CR);
	BAD_HANDLE(dat_cr_accept(cr, p.b.ep, 0, NULL), CR);
	BAD_HANDLE(api_cr_reject(cr), CR);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	pair_close(&p);
}

TEST(cr, reject_destroys_the_request)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	OK(api_cr_reject(cr));
	BAD_HANDLE(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), CR);
	BAD_HANDLE(dat_cr_accept(cr, p.b.ep, 0, NULL), CR);
	BAD_HANDLE(api_cr_reject(cr), CR);
	EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	pair_close(&p);
}

/* ---- acceptances that are refused leave request and endpoint as they were ---- */

static void still_works(struct pair *p, DAT_CR_HANDLE cr)
{
	ASSERT_EQ(side_state(&p->b), DAT_EP_STATE_UNCONNECTED);
	OK(dat_cr_accept(cr, p->b.ep, 0, NULL));
	EV_CONN(p->b.conn, ESTABLISHED, p->b.ep);
	EV_CONN(p->a.conn, ESTABLISHED, p->a.ep);
}

TEST(cr, accept_without_an_endpoint_is_INVALID_HANDLE_EP)
{
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	BAD_HANDLE(dat_cr_accept(cr, NULL, 0, NULL), EP);
	BAD_HANDLE(dat_cr_accept(cr, p.b.recv, 0, NULL), EP);
	still_works(&p, cr);
	pair_close(&p);
}

TEST(cr, accept_with_a_freed_endpoint_is_INVALID_HANDLE_EP)
{
	DAT_EP_HANDLE freed;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	OK(dat_ep_create(p.node.ia, p.node.pz, p.b.recv, p.b.req, p.b.conn, NULL, &freed));
	OK(dat_ep_free(freed));
	cr = pair_request(&p);
	BAD_HANDLE(dat_cr_accept(cr, freed, 0, NULL), EP);
	still_works(&p, cr);
	pair_close(&p);
}

TEST(cr, accept_with_an_endpoint_of_another_ia_is_INVALID_HANDLE_EP)
{
	struct node other;
	DAT_CR_HANDLE cr;
	struct side s;
	struct pair p;

	pair_open(&p);
	node_open(&other);
	side_make(&s, &other, NULL);
	cr = pair_request(&p);
	BAD_HANDLE(dat_cr_accept(cr, s.ep, 0, NULL), EP);
	still_works(&p, cr);
	side_free(&s);
	node_close(&other);
	pair_close(&p);
}

TEST(cr, accept_with_an_endpoint_that_is_not_ready_is_EP_NOTREADY)
{
	DAT_EP_HANDLE no_pz, no_conn;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	OK(dat_ep_create(p.node.ia, NULL, p.b.recv, p.b.req, p.b.conn, NULL, &no_pz));
	OK(dat_ep_create(p.node.ia, p.node.pz, p.b.recv, p.b.req, NULL, NULL, &no_conn));
	cr = pair_request(&p);
	BAD_STATE(dat_cr_accept(cr, no_pz, 0, NULL), EP_NOTREADY);
	BAD_STATE(dat_cr_accept(cr, no_conn, 0, NULL), EP_NOTREADY);
	still_works(&p, cr);
	OK(dat_ep_free(no_pz));
	OK(dat_ep_free(no_conn));
	pair_close(&p);
}

TEST(cr, accept_of_an_rsp_request_with_an_own_endpoint_is_INVALID_HANDLE_EP)
{
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;
	struct side c;
	struct pair p;

	pair_open(&p);
	side_make(&c, &p.node, NULL);
	qual = p.qual;
	OK(dat_psp_free(p.psp));
	p.psp = NULL;
	OK(dat_rsp_create(p.node.ia, qual, p.b.ep, p.cr_evd, &rsp));
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, qual));
	cr = EV_CR(p.cr_evd, rsp, qual);
	BAD_HANDLE(dat_cr_accept(cr, c.ep, 0, NULL), EP);
	OK(dat_cr_accept(cr, NULL, 0, NULL));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	OK(dat_rsp_free(rsp));
	side_free(&c);
	pair_close(&p);
}

/* The acceptance succeeds; an event reports the outcome of the connection. */
static void accept_in_vain(unsigned int later)
{
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	OK(post_recv(&p.b, 0, 10, 1));
	cr = pair_request(&p);
	OK(dat_ep_free(p.a.ep));
	p.a.ep = NULL;
	if (later)
		dt_sleep_us(later);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	BAD_HANDLE(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), CR);
	EV_CONN(p.b.conn, ACCEPT_COMPLETION_ERROR, p.b.ep);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_DISCONNECTED);
	EV_FLUSH(p.b.recv, p.b.ep, 1, OP_RECV);
	EV_NONE(p.b.conn);
	pair_close(&p);
}

TEST(cr, requester_going_is_told_by_an_event)
{
	accept_in_vain(0);
}

TEST(cr, requester_gone_is_told_by_an_event)
{
	accept_in_vain(US_SHORT);
}

TEST(cr, reject_after_the_requester_is_gone_succeeds)
{
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	OK(dat_ep_free(p.a.ep));
	p.a.ep = NULL;
	dt_sleep_us(US_SHORT);
	OK(api_cr_reject(cr));
	pair_close(&p);
}

/* ---- handoff ---- */

TEST(cr, handoff_moves_the_request_to_another_qualifier)
{
	DAT_PSP_HANDLE second;
	DAT_CR_PARAM param;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	DAT_CR_HANDLE cr;
	struct pair p;

	pair_open(&p);
	evd = evd_make(&p.node, 4, DAT_EVD_CR_FLAG);
	OK(dat_psp_create_any(p.node.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &second));
	OK(dat_ep_connect(p.a.ep, p.node.attr.ia_address_ptr, p.qual, US_CONNECT, 5, "hello",
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	OK(dat_cr_handoff(cr, qual));
	BAD_HANDLE(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), CR);
	cr = EV_CR(evd, second, qual);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	ASSERT_EQ(param.private_data_size, 5);
	ASSERT_MEM(param.private_data, "hello", 5);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	OK(dat_psp_free(second));
	OK(dat_evd_free(evd));
	pair_close(&p);
}

TEST(cr, handoff_to_a_qualifier_without_listener_is_ARG2)
{
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	struct pair p;

	pair_open(&p);
	cr = pair_request(&p);
	BAD_ARG(dat_cr_handoff(cr, p.qual ^ 0x10000), 2);
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	OK(api_cr_reject(cr));
	BAD_HANDLE(dat_cr_handoff(cr, p.qual), CR);
	pair_close(&p);
}

/* Neither service point has room for the event, and the second would have to make an endpoint. */
TEST(cr, handoff_to_a_full_queue_is_refused_and_the_request_stays)
{
	static const DAT_PSP_FLAGS flags[] = { DAT_PSP_CONSUMER_FLAG, DAT_PSP_PROVIDER_FLAG };
	DAT_PSP_HANDLE full;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	struct pair p;
	uintptr_t i, n;

	pair_open(&p);
	evd = evd_make(&p.node, 1, DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG);
	for (n = 0; post_se(evd, n) == DAT_SUCCESS; n++)
		;
	OK(dat_ep_connect(p.a.ep, p.node.attr.ia_address_ptr, p.qual, US_CONNECT, 5, "hello",
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr = EV_CR(p.cr_evd, p.psp, p.qual);
	for (i = 0; i < 2; i++) {
		OK(dat_psp_create_any(p.node.ia, &qual, evd, flags[i], &full));
		ASSERT_RET(dat_cr_handoff(cr, qual), DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
		OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
		ASSERT_EQ(param.private_data_size, 5);
		ASSERT_MEM(param.private_data, "hello", 5);
		ASSERT_PTR(param.local_ep_handle, NULL);
		OK(dat_psp_free(full));
	}
	for (i = 0; i < n; i++)
		EV_SE(evd, i);
	EV_EMPTY(evd);
	OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	OK(dat_evd_free(evd));
	pair_close(&p);
}

TEST(cr, handoff_to_an_rsp_makes_its_endpoint_pending)
{
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;
	DAT_PSP_HANDLE psp;
	struct pair p;

	pair_open(&p);
	OK(dat_psp_create_any(p.node.ia, &qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(dat_psp_free(psp));
	OK(dat_rsp_create(p.node.ia, qual, p.b.ep, p.cr_evd, &rsp));
	cr = pair_request(&p);
	OK(dat_cr_handoff(cr, qual));
	cr = EV_CR(p.cr_evd, rsp, qual);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	OK(dat_cr_accept(cr, NULL, 0, NULL));
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	OK(dat_rsp_free(rsp));
	pair_close(&p);
}

/* ---- endpoints that the provider makes ---- */

struct made {
	struct pair p;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;
};

static void made_open(struct made *m)
{
	DAT_CR_PARAM param;

	pair_open(&m->p);
	OK(dat_psp_free(m->p.psp));
	OK(dat_psp_create_any(m->p.node.ia, &m->p.qual, m->p.cr_evd, DAT_PSP_PROVIDER_FLAG,
			      &m->p.psp));
	m->cr = pair_request(&m->p);
	OK(dat_cr_query(m->cr, DAT_CR_FIELD_ALL, &param));
	m->ep = param.local_ep_handle;
	ASSERT(m->ep != NULL);
}

static void made_equip(struct made *m)
{
	DAT_EP_PARAM param;

	OK(dat_ep_query(m->ep, DAT_EP_FIELD_ALL, &param));
	param.pz_handle = m->p.node.pz;
	param.recv_evd_handle = m->p.b.recv;
	param.request_evd_handle = m->p.b.req;
	param.connect_evd_handle = m->p.b.conn;
	param.ep_attr.max_recv_dtos = 16;
	param.ep_attr.max_request_dtos = 16;
	param.ep_attr.max_recv_iov = 4;
	param.ep_attr.max_request_iov = 4;
	OK(dat_ep_modify(m->ep,
			 DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
				 DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE |
				 DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
				 DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV |
				 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
				 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV,
			 &param));
}

TEST(provider_ep, is_tentative_without_pz_and_evds)
{
	DAT_EP_PARAM param;
	struct made m;

	made_open(&m);
	OK(dat_ep_query(m.ep, DAT_EP_FIELD_ALL, &param));
	ASSERT_EQ(param.ep_state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	ASSERT_PTR(param.ia_handle, m.p.node.ia);
	ASSERT_PTR(param.pz_handle, NULL);
	ASSERT_PTR(param.recv_evd_handle, NULL);
	ASSERT_PTR(param.request_evd_handle, NULL);
	ASSERT_PTR(param.connect_evd_handle, NULL);
	OK(api_cr_reject(m.cr));
	pair_close(&m.p);
}

TEST(provider_ep, accept_before_it_is_equipped_is_refused)
{
	DAT_RETURN ret;
	struct made m;

	made_open(&m);
	ret = dat_cr_accept(m.cr, NULL, 0, NULL);
	ASSERT(ret & DAT_CLASS_ERROR);
	ASSERT(DAT_GET_TYPE(ret) == DAT_INVALID_STATE || DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE);
	OK(api_cr_reject(m.cr));
	EV_CONN(m.p.a.conn, PEER_REJECTED, m.p.a.ep);
	pair_close(&m.p);
}

TEST(provider_ep, equipped_and_accepted_carries_data)
{
	struct made m;

	made_open(&m);
	made_equip(&m);
	OK(dat_cr_accept(m.cr, NULL, 0, NULL));
	EV_CONN(m.p.b.conn, ESTABLISHED, m.ep);
	EV_CONN(m.p.a.conn, ESTABLISHED, m.p.a.ep);
	OK(dat_ep_free(m.p.b.ep));
	m.p.b.ep = m.ep;
	OK(post_recv(&m.p.b, 0, 100, 1));
	OK(post_send(&m.p.a, 0, 100, 2));
	EV_DTO(m.p.b.recv, m.ep, 1, OP_RECV, 100);
	EV_DTO(m.p.a.req, m.p.a.ep, 2, OP_SEND, 100);
	pair_disconnect(&m.p);
	pair_close(&m.p);
}

TEST(provider_ep, rejected_is_gone)
{
	DAT_EP_PARAM param;
	struct made m;

	made_open(&m);
	OK(api_cr_reject(m.cr));
	EV_CONN(m.p.a.conn, PEER_REJECTED, m.p.a.ep);
	BAD_HANDLE(dat_ep_query(m.ep, DAT_EP_FIELD_ALL, &param), EP);
	BAD_HANDLE(dat_ep_free(m.ep), EP);
	pair_close(&m.p);
}

TEST(provider_ep, accept_with_an_own_endpoint_is_INVALID_HANDLE_EP)
{
	struct made m;

	made_open(&m);
	BAD_HANDLE(dat_cr_accept(m.cr, m.p.b.ep, 0, NULL), EP);
	OK(api_cr_reject(m.cr));
	pair_close(&m.p);
}

TEST(provider_ep, free_before_accept_is_INVALID_STATE)
{
	struct made m;

	made_open(&m);
	BAD_STATE(dat_ep_free(m.ep), EP_TENTCONNPENDING);
	OK(api_cr_reject(m.cr));
	pair_close(&m.p);
}

TEST(provider_ep, close_abrupt_with_one_pending)
{
	struct made m;

	made_open(&m);
	node_abort(&m.p.node);
}

/* ---- a queue that fills up while a request arrives ---- */

#define RUSH 200

struct rush {
	DAT_EVD_HANDLE evd;
	_Atomic bool stop;
};

/* Slightly longer than from the check of the queue to the event. */
static void a_moment(void)
{
	uint64_t begun = dt_now_us();

	while (dt_now_us() - begun < 8)
		;
}

/* The queue is full half of the time; requests that get in are rejected. */
static void keep_filling(void *arg)
{
	struct rush *r = arg;
	DAT_EVENT ev;

	while (!atomic_load(&r->stop)) {
		while (post_se(r->evd, 1) == DAT_SUCCESS)
			;
		a_moment();
		if (dat_evd_dequeue(r->evd, &ev) == DAT_SUCCESS &&
		    ev.event_number == DAT_CONNECTION_REQUEST_EVENT)
			OK(api_cr_reject(cr_of(&ev)));
		a_moment();
	}
	while (dat_evd_dequeue(r->evd, &ev) == DAT_SUCCESS)
		;
}

/*
 * A request that is not reported to the consumer must be rejected, or its sender waits
 * indefinitely.
 */
TEST_LIMIT(provider_ep, request_for_a_queue_that_just_filled_up_is_refused, 60)
{
	struct rush r;
	struct dt_thread t;
	struct pair p;
	DAT_EVENT ev;

	pair_open(&p);
	memset(&r, 0, sizeof(r));
	OK(dat_psp_free(p.psp));
	OK(dat_evd_create(p.node.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG,
			  &r.evd));
	OK(dat_psp_create_any(p.node.ia, &p.qual, r.evd, DAT_PSP_PROVIDER_FLAG, &p.psp));
	dt_thread_start(&t, keep_filling, &r);
	for (int i = 0; i < RUSH; i++) {
		OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual));
		EV_NEXT(p.a.conn, &ev);
		ASSERT(ev.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED ||
		       ev.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		OK(dat_ep_reset(p.a.ep));
	}
	atomic_store(&r.stop, true);
	dt_thread_join(&t);
	OK(dat_psp_free(p.psp));
	OK(dat_evd_free(r.evd));
	OK(dat_psp_create_any(p.node.ia, &p.qual, p.cr_evd, DAT_PSP_CONSUMER_FLAG, &p.psp));
	pair_close(&p);
}
