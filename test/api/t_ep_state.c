/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that an endpoint allows in each state. One case per packet of the table.
 *
 * COMPLETION_PENDING is not among them: over tcp a passive endpoint leaves it as soon as its
 * answer is sent. t_cm_accept.c looks at it right after dat_cr_accept.
 */
#include "rmr.h"

/* clang-format off */
enum call {
	CONNECT, DUP_CONNECT, DISCONNECT_ABRUPT, DISCONNECT_GRACEFUL, RESET, FREE, MODIFY_PZ,
	MODIFY_EVD, MODIFY_ATTR, QUERY, GET_STATUS, POST_RECV, POST_SEND, RDMA_READ, RDMA_WRITE,
	RMR_BIND, RECV_QUERY, RSP_CREATE, CR_ACCEPT,
};
/* clang-format on */

enum outcome { ALLOWED, FLUSHED, REFUSED };

struct row {
	const char *rule;
	DAT_EP_STATE state;
	enum call call;
	enum outcome outcome;
};

/* An endpoint in the wanted state, with everything around it that a call may need. */
struct stage {
	struct pair p;
	struct side c; /* a third endpoint */
	struct side *subject;
	struct side made; /* the endpoint that the provider made */
	struct buf big;
	DAT_RSP_HANDLE rsp;
	DAT_RMR_HANDLE rmr;
};

static int state_sub(DAT_EP_STATE state)
{
	switch (state) {
	case DAT_EP_STATE_UNCONNECTED:
		return DAT_INVALID_STATE_EP_UNCONNECTED;
	case DAT_EP_STATE_RESERVED:
		return DAT_INVALID_STATE_EP_RESERVED;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_PASSCONNPENDING;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_TENTCONNPENDING;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		return DAT_INVALID_STATE_EP_ACTCONNPENDING;
	case DAT_EP_STATE_CONNECTED:
		return DAT_INVALID_STATE_EP_CONNECTED;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		return DAT_INVALID_STATE_EP_DISCPENDING;
	case DAT_EP_STATE_DISCONNECTED:
		return DAT_INVALID_STATE_EP_DISCONNECTED;
	default:
		abort();
	}
}

static void reserve(struct stage *s)
{
	DAT_IA_HANDLE ia = s->p.node.ia;

	/* A qualifier that was free a moment ago. */
	OK(dat_psp_free(s->p.psp));
	OK(dat_rsp_create(ia, s->p.qual, s->p.b.ep, s->p.cr_evd, &s->rsp));
	OK(dat_psp_create_any(ia, &s->p.qual, s->p.cr_evd, DAT_PSP_CONSUMER_FLAG, &s->p.psp));
	s->subject = &s->p.b;
}

static void passive(struct stage *s)
{
	DAT_RSP_PARAM param;

	reserve(s);
	OK(dat_rsp_query(s->rsp, DAT_RSP_FIELD_ALL, &param));
	OK(connect_to(s->p.a.ep, s->p.node.attr.ia_address_ptr, param.conn_qual));
	EV_CR(s->p.cr_evd, s->rsp, param.conn_qual);
}

static void tentative(struct stage *s)
{
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM param;
	DAT_CONN_QUAL qual;

	OK(dat_psp_create_any(s->p.node.ia, &qual, s->p.cr_evd, DAT_PSP_PROVIDER_FLAG, &psp));
	OK(connect_to(s->p.a.ep, s->p.node.attr.ia_address_ptr, qual));
	OK(dat_cr_query(EV_CR(s->p.cr_evd, psp, qual), DAT_CR_FIELD_ALL, &param));
	s->made = s->p.b;
	s->made.ep = param.local_ep_handle;
	s->subject = &s->made;
}

static void set_stage(struct stage *s, DAT_EP_STATE state)
{
	memset(s, 0, sizeof(*s));
	pair_open(&s->p);
	side_make(&s->c, &s->p.node, NULL);
	s->subject = &s->p.a;
	switch (state) {
	case DAT_EP_STATE_RESERVED:
		reserve(s);
		break;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		passive(s);
		break;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		tentative(s);
		break;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		pair_request(&s->p);
		break;
	case DAT_EP_STATE_CONNECTED:
		pair_connect(&s->p);
		break;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		pair_connect(&s->p);
		block_sends(&s->p.a, &s->big);
		OK(dat_ep_disconnect(s->p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
		break;
	case DAT_EP_STATE_DISCONNECTED:
		pair_connect(&s->p);
		pair_disconnect(&s->p);
		break;
	default:
		break;
	}
	ASSERT_EQ(side_state(s->subject), state);
}

static DAT_RETURN modify(struct stage *s, DAT_EP_PARAM_MASK mask)
{
	DAT_EP_PARAM param;

	OK(dat_ep_query(s->subject->ep, DAT_EP_FIELD_ALL, &param));
	param.pz_handle = s->p.node.pz;
	param.connect_evd_handle = s->c.conn;
	param.ep_attr.max_message_size = 3000;
	return dat_ep_modify(s->subject->ep, mask, &param);
}

/* What a provider-made endpoint lacks for receiving. */
static void equip(struct stage *s)
{
	DAT_EP_PARAM param;

	OK(dat_ep_query(s->subject->ep, DAT_EP_FIELD_ALL, &param));
	if (param.recv_evd_handle)
		return;
	param.pz_handle = s->p.node.pz;
	param.recv_evd_handle = s->c.recv;
	param.ep_attr.max_recv_dtos = 8;
	param.ep_attr.max_recv_iov = 4;
	OK(dat_ep_modify(s->subject->ep,
			 DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
				 DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
				 DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV,
			 &param));
}

/* The third endpoint, connected to a fourth. */
static DAT_RETURN dup_connect(struct stage *s)
{
	static struct side d;

	side_make(&d, &s->p.node, NULL);
	OK(connect_to(s->c.ep, s->p.node.attr.ia_address_ptr, s->p.qual));
	OK(dat_cr_accept(EV_CR(s->p.cr_evd, s->p.psp, s->p.qual), d.ep, 0, NULL));
	EV_CONN(s->c.conn, ESTABLISHED, s->c.ep);
	return dat_ep_dup_connect(s->subject->ep, s->c.ep, US_CONNECT, 0, NULL,
				  DAT_QOS_BEST_EFFORT);
}

static DAT_RETURN accept_with(struct stage *s)
{
	OK(connect_to(s->c.ep, s->p.node.attr.ia_address_ptr, s->p.qual));
	return dat_cr_accept(EV_CR(s->p.cr_evd, s->p.psp, s->p.qual), s->subject->ep, 0, NULL);
}

static DAT_RETURN do_call(struct stage *s, enum call call)
{
	DAT_EP_HANDLE ep = s->subject->ep;
	DAT_RSP_HANDLE rsp;
	DAT_COUNT nbufs;
	DAT_EP_STATE state;
	DAT_EP_PARAM param;

	switch (call) {
	case CONNECT:
		return connect_to(ep, s->p.node.attr.ia_address_ptr, s->p.qual);
	case DUP_CONNECT:
		return dup_connect(s);
	case DISCONNECT_ABRUPT:
		return dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
	case DISCONNECT_GRACEFUL:
		return dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG);
	case RESET:
		return dat_ep_reset(ep);
	case FREE:
		return dat_ep_free(ep);
	case MODIFY_PZ:
		return modify(s, DAT_EP_FIELD_PZ_HANDLE);
	case MODIFY_EVD:
		return modify(s, DAT_EP_FIELD_CONNECT_EVD_HANDLE);
	case MODIFY_ATTR:
		return modify(s, DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE);
	case QUERY:
		return dat_ep_query(ep, DAT_EP_FIELD_ALL, &param);
	case GET_STATUS:
		return dat_ep_get_status(ep, &state, NULL, NULL);
	case POST_RECV:
		equip(s);
		return post_recv(s->subject, 0, 64, 31);
	case POST_SEND:
		return post_send(s->subject, 0, 64, 32);
	case RDMA_READ:
		return post_read(s->subject, 0, 64, 33, &s->c, 0);
	case RDMA_WRITE:
		return post_write(s->subject, 0, 64, 34, &s->c, 0);
	case RMR_BIND:
		OK(dat_rmr_create(s->p.node.pz, &s->rmr));
		return post_bind(s->subject, s->rmr, &s->c.buf, 0, 64, READS, 35, NULL);
	case RECV_QUERY:
		return dat_ep_recv_query(ep, &nbufs, NULL);
	case RSP_CREATE:
		OK(dat_psp_free(s->p.psp));
		return dat_rsp_create(s->p.node.ia, s->p.qual, ep, s->p.cr_evd, &rsp);
	case CR_ACCEPT:
		return accept_with(s);
	}
	abort();
}

static void run(const void *arg)
{
	const struct row *row = arg;
	struct stage s;

	set_stage(&s, row->state);
	if (row->outcome == REFUSED) {
		ASSERT_RET(do_call(&s, row->call), DAT_INVALID_STATE, state_sub(row->state));
		ASSERT_EQ(side_state(s.subject), row->state);
	} else {
		OK(do_call(&s, row->call));
	}
	if (row->outcome == FLUSHED) {
		if (row->call == POST_RECV)
			EV_FLUSH(s.p.a.recv, s.p.a.ep, 31, OP_RECV);
		else if (row->call == RMR_BIND)
			EV_BIND_FLUSHED(s.p.a.req, s.rmr, 35);
		else
			EV_FLUSH(s.p.a.req, s.p.a.ep,
				 row->call == POST_SEND   ? 32
				 : row->call == RDMA_READ ? 33
							  : 34,
				 row->call == POST_SEND   ? OP_SEND
				 : row->call == RDMA_READ ? OP_READ
							  : OP_WRITE);
		ASSERT_EQ(side_state(s.subject), row->state);
	}
	node_abort(&s.p.node);
}

#define NAME_ALLOWED "_is_allowed"
#define NAME_FLUSHED "_is_flushed"
#define NAME_REFUSED "_is_INVALID_STATE"
/* clang-format off */
#define CELL(state_, call_, outcome_)                                                  \
	{ #state_ "_" #call_ NAME_##outcome_, DAT_EP_STATE_##state_, call_, outcome_ }

/* Columns in the order of enum call. */
#define STATE(state_, c_, dup_, da_, dg_, rs_, fr_, pz_, evd_, at_, rcv_, snd_, rsp_, acc_)  \
	CELL(state_, CONNECT, c_), CELL(state_, DUP_CONNECT, dup_),                        \
	CELL(state_, DISCONNECT_ABRUPT, da_), CELL(state_, DISCONNECT_GRACEFUL, dg_),      \
	CELL(state_, RESET, rs_), CELL(state_, FREE, fr_), CELL(state_, MODIFY_PZ, pz_),   \
	CELL(state_, MODIFY_EVD, evd_), CELL(state_, MODIFY_ATTR, at_),                    \
	CELL(state_, QUERY, ALLOWED), CELL(state_, GET_STATUS, ALLOWED),                   \
	CELL(state_, POST_RECV, rcv_), CELL(state_, POST_SEND, snd_),                      \
	CELL(state_, RDMA_READ, snd_), CELL(state_, RDMA_WRITE, snd_),                     \
	CELL(state_, RMR_BIND, snd_), CELL(state_, RECV_QUERY, ALLOWED),                   \
	CELL(state_, RSP_CREATE, rsp_), CELL(state_, CR_ACCEPT, acc_)
/* clang-format on */

static const struct row rows[] = {
	STATE(UNCONNECTED, ALLOWED, ALLOWED, REFUSED, REFUSED, ALLOWED, ALLOWED, ALLOWED, ALLOWED,
	      ALLOWED, ALLOWED, REFUSED, ALLOWED, ALLOWED),
	STATE(RESERVED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, ALLOWED,
	      ALLOWED, ALLOWED, REFUSED, REFUSED, REFUSED),
	STATE(PASSIVE_CONNECTION_PENDING, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED,
	      REFUSED, ALLOWED, ALLOWED, ALLOWED, REFUSED, REFUSED, REFUSED),
	STATE(TENTATIVE_CONNECTION_PENDING, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED, REFUSED,
	      ALLOWED, ALLOWED, ALLOWED, ALLOWED, REFUSED, REFUSED, REFUSED),
	STATE(ACTIVE_CONNECTION_PENDING, REFUSED, REFUSED, ALLOWED, ALLOWED, REFUSED, ALLOWED,
	      REFUSED, REFUSED, REFUSED, ALLOWED, REFUSED, REFUSED, REFUSED),
	STATE(CONNECTED, REFUSED, REFUSED, ALLOWED, ALLOWED, REFUSED, ALLOWED, REFUSED, REFUSED,
	      REFUSED, ALLOWED, ALLOWED, REFUSED, REFUSED),
	STATE(DISCONNECT_PENDING, REFUSED, REFUSED, ALLOWED, ALLOWED, REFUSED, ALLOWED, REFUSED,
	      REFUSED, REFUSED, ALLOWED, REFUSED, REFUSED, REFUSED),
	STATE(DISCONNECTED, REFUSED, REFUSED, ALLOWED, ALLOWED, ALLOWED, ALLOWED, REFUSED, REFUSED,
	      REFUSED, FLUSHED, FLUSHED, REFUSED, REFUSED),
};

TEST_ROWS(ep_state, rows, run)
