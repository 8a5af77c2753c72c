/* SPDX-License-Identifier: BSD-2-Clause */
/* What dat_ep_modify changes, to which values, and in which states. */
#include "rig.h"

static DAT_EP_PARAM query(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	return param;
}

/* ---- members that may not be changed ---- */

struct fixed {
	const char *rule;
	DAT_EP_PARAM_MASK mask;
};

static void refuse_fixed(const void *arg)
{
	const struct fixed *row = arg;
	DAT_EP_PARAM before;
	struct pair p;

	pair_open(&p);
	before = query(p.a.ep);
	BAD_ARG(dat_ep_modify(p.a.ep, row->mask, &before), 2);
	/* Together with a member that may be changed, neither is. */
	before.pz_handle = NULL;
	BAD_ARG(dat_ep_modify(p.a.ep, row->mask | DAT_EP_FIELD_PZ_HANDLE, &before), 2);
	ASSERT_PTR(query(p.a.ep).pz_handle, p.node.pz);
	pair_close(&p);
}

static const struct fixed fixed[] = {
	{ "ia_is_ARG2", DAT_EP_FIELD_IA_HANDLE },
	{ "state_is_ARG2", DAT_EP_FIELD_EP_STATE },
	{ "local_address_is_ARG2", DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR },
	{ "local_port_is_ARG2", DAT_EP_FIELD_LOCAL_PORT_QUAL },
	{ "remote_address_is_ARG2", DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR },
	{ "remote_port_is_ARG2", DAT_EP_FIELD_REMOTE_PORT_QUAL },
	{ "srq_is_ARG2", DAT_EP_FIELD_SRQ_HANDLE },
#if DAT_TEST_API == 20
	{ "comm_is_ARG2_in_2_0", DAT_EP_FIELD_COMM },
#endif
	{ "undefined_bit_is_ARG2", (DAT_EP_PARAM_MASK)1 << 40 },
};

TEST_ROWS(ep_modify, fixed, refuse_fixed)

/* ---- members that may be changed ---- */

TEST(ep_modify, pz)
{
	DAT_EP_PARAM param;
	DAT_PZ_HANDLE pz;
	struct pair p;

	pair_open(&p);
	OK(dat_pz_create(p.node.ia, &pz));
	memset(&param, 0, sizeof(param));
	param.pz_handle = pz;
	OK(dat_ep_modify(p.a.ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	ASSERT_PTR(query(p.a.ep).pz_handle, pz);
	BAD_STATE(dat_pz_free(pz), PZ_IN_USE);
	OK(dat_ep_free(p.a.ep));
	p.a.ep = NULL;
	OK(dat_pz_free(pz));
	pair_close(&p);
}

TEST(ep_modify, receive_of_another_pz_completes_with_a_protection_error)
{
	DAT_EP_PARAM param;
	DAT_PZ_HANDLE pz;
	DAT_EVENT ev;
	struct pair p;

	pair_open(&p);
	OK(dat_pz_create(p.node.ia, &pz));
	OK(post_recv(&p.b, 0, 10, 1));
	memset(&param, 0, sizeof(param));
	param.pz_handle = pz;
	OK(dat_ep_modify(p.b.ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	pair_connect(&p);
	OK(post_send(&p.a, 0, 10, 2));
	EV_NEXT(p.b.recv, &ev);
	ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_ERR_LOCAL_PROTECTION);
	ASSERT_EQ(dto_of(&ev)->user_cookie.as_64, 1);
	EV_CONN(p.b.conn, BROKEN, p.b.ep);
	OK(dat_ep_free(p.b.ep));
	p.b.ep = NULL;
	OK(dat_pz_free(pz));
	pair_close(&p);
}

TEST(ep_modify, evds)
{
	DAT_EP_PARAM param, now;
	DAT_EVD_HANDLE evd[3];
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < 3; i++)
		evd[i] = evd_make(&p.node, 32, DAT_EVD_DEFAULT_FLAG);
	memset(&param, 0, sizeof(param));
	param.recv_evd_handle = evd[0];
	param.request_evd_handle = evd[1];
	param.connect_evd_handle = evd[2];
	OK(dat_ep_modify(p.b.ep,
			 DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				 DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			 &param));
	now = query(p.b.ep);
	ASSERT_PTR(now.recv_evd_handle, evd[0]);
	ASSERT_PTR(now.request_evd_handle, evd[1]);
	ASSERT_PTR(now.connect_evd_handle, evd[2]);
	OK(dat_cr_accept(pair_request(&p), p.b.ep, 0, NULL));
	EV_CONN(evd[2], ESTABLISHED, p.b.ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	OK(post_recv(&p.b, 0, 10, 1));
	OK(post_recv(&p.a, 0, 10, 2));
	OK(post_send(&p.a, 0, 10, 3));
	EV_DTO(evd[0], p.b.ep, 1, OP_RECV, 10);
	OK(post_send(&p.b, 0, 10, 4));
	EV_DTO(evd[1], p.b.ep, 4, OP_SEND, 10);
	OK(dat_ep_free(p.b.ep));
	p.b.ep = NULL;
	for (i = 0; i < 3; i++)
		OK(dat_evd_free(evd[i]));
	pair_close(&p);
}

TEST(ep_modify, receives_posted_before_the_evd_changed_complete_on_the_new_one)
{
	DAT_EP_PARAM param;
	DAT_EVD_HANDLE evd;
	struct pair p;

	pair_open(&p);
	evd = evd_make(&p.node, 32, DAT_EVD_DTO_FLAG);
	OK(post_recv(&p.b, 0, 10, 1));
	memset(&param, 0, sizeof(param));
	param.recv_evd_handle = evd;
	OK(dat_ep_modify(p.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	pair_connect(&p);
	OK(post_send(&p.a, 0, 10, 2));
	EV_DTO(evd, p.b.ep, 1, OP_RECV, 10);
	OK(dat_ep_free(p.b.ep));
	p.b.ep = NULL;
	OK(dat_evd_free(evd));
	pair_close(&p);
}

TEST(ep_modify, every_attribute)
{
	DAT_EP_PARAM param, now;
	struct pair p;

	pair_open(&p);
	param = query(p.a.ep);
	param.ep_attr.max_message_size = 4000;
	param.ep_attr.max_rdma_size = 5000;
	param.ep_attr.max_recv_dtos = 20;
	param.ep_attr.max_request_dtos = 30;
	param.ep_attr.max_recv_iov = 2;
	param.ep_attr.max_request_iov = 3;
	param.ep_attr.max_rdma_read_in = 2;
	param.ep_attr.max_rdma_read_out = 1;
	param.ep_attr.max_rdma_read_iov = 1;
	param.ep_attr.max_rdma_write_iov = 2;
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	param.ep_attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	OK(dat_ep_modify(p.a.ep, DAT_EP_FIELD_EP_ATTR_ALL, &param));
	now = query(p.a.ep);
	ASSERT_EQ(now.ep_attr.max_message_size, 4000);
	ASSERT_EQ(now.ep_attr.max_rdma_size, 5000);
	ASSERT(now.ep_attr.max_recv_dtos >= 20);
	ASSERT(now.ep_attr.max_request_dtos >= 30);
	ASSERT(now.ep_attr.max_recv_iov >= 2);
	ASSERT(now.ep_attr.max_request_iov >= 3);
	ASSERT_EQ(now.ep_attr.max_rdma_read_in, 2);
	ASSERT_EQ(now.ep_attr.max_rdma_read_out, 1);
	ASSERT_EQ(now.ep_attr.recv_completion_flags, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	ASSERT_EQ(now.ep_attr.request_completion_flags, DAT_COMPLETION_UNSIGNALLED_FLAG);
	pair_close(&p);
}

TEST(ep_modify, larger_receive_queue_keeps_the_receives_posted)
{
	DAT_EP_PARAM param;
	struct pair p;
	uint64_t i;

	pair_open(&p);
	for (i = 0; i < 16; i++)
		OK(post_recv(&p.b, 0, 10, i));
	param = query(p.b.ep);
	param.ep_attr.max_recv_dtos = 40;
	OK(dat_ep_modify(p.b.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
	for (; i < 40; i++)
		OK(post_recv(&p.b, 0, 10, i));
	pair_connect(&p);
	for (i = 0; i < 40; i++) {
		OK(post_send(&p.a, 0, 10, 99));
		EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, 10);
		EV_DTO(p.a.req, p.a.ep, 99, OP_SEND, 10);
	}
	pair_close(&p);
}

TEST(ep_modify, receive_flags_after_the_first_receive_is_INVALID_STATE)
{
	DAT_EP_PARAM param;
	DAT_RETURN ret;
	struct pair p;

	pair_open(&p);
	OK(post_recv(&p.a, 0, 10, 1));
	param = query(p.a.ep);
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	ret = dat_ep_modify(p.a.ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param);
	ASSERT_EQ(DAT_GET_TYPE(ret), DAT_INVALID_STATE);
	ASSERT_EQ(query(p.a.ep).ep_attr.recv_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	pair_close(&p);
}

/* ---- values that are refused ---- */

struct bad_value {
	const char *rule;
	DAT_EP_PARAM_MASK mask;
	void (*spoil)(struct pair *p, DAT_EP_PARAM *param);
};

static void bad_pz(struct pair *p, DAT_EP_PARAM *q)
{
	q->pz_handle = p->a.recv;
}
static void bad_recv(struct pair *p, DAT_EP_PARAM *q)
{
	q->recv_evd_handle = p->a.conn;
}
static void bad_req(struct pair *p, DAT_EP_PARAM *q)
{
	q->request_evd_handle = p->a.conn;
}
static void bad_conn(struct pair *p, DAT_EP_PARAM *q)
{
	q->connect_evd_handle = p->a.recv;
}
static void bad_service(struct pair *p, DAT_EP_PARAM *q)
{
	(void)p;
	q->ep_attr.service_type = (DAT_SERVICE_TYPE)7;
}
static void bad_recv_flags(struct pair *p, DAT_EP_PARAM *q)
{
	(void)p;
	q->ep_attr.recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
}
static void recv_over(struct pair *p, DAT_EP_PARAM *q)
{
	q->ep_attr.max_recv_dtos = p->node.attr.max_dto_per_ep + 1;
}
static void req_over(struct pair *p, DAT_EP_PARAM *q)
{
	q->ep_attr.max_request_dtos = p->node.attr.max_dto_per_ep + 1;
}
static void iov_over(struct pair *p, DAT_EP_PARAM *q)
{
	q->ep_attr.max_recv_iov = p->node.attr.max_iov_segments_per_dto + 1;
}
static void req_iov_over(struct pair *p, DAT_EP_PARAM *q)
{
	q->ep_attr.max_request_iov = p->node.attr.max_iov_segments_per_dto + 1;
}
static void other_qos(struct pair *p, DAT_EP_PARAM *q)
{
	(void)p;
	/* Not one class. */
	q->ep_attr.qos = (DAT_QOS)(DAT_QOS_LOW_LATENCY | DAT_QOS_PREMIUM);
}
static void in_over(struct pair *p, DAT_EP_PARAM *q)
{
	q->ep_attr.max_rdma_read_in = p->node.attr.max_rdma_read_per_ep_in + 1;
}
static void out_over(struct pair *p, DAT_EP_PARAM *q)
{
	q->ep_attr.max_rdma_read_out = p->node.attr.max_rdma_read_per_ep_out + 1;
}
static void no_recv_dtos(struct pair *p, DAT_EP_PARAM *q)
{
	(void)p;
	q->ep_attr.max_recv_dtos = 0;
}

static void no_request_dtos(struct pair *p, DAT_EP_PARAM *q)
{
	(void)p;
	q->ep_attr.max_request_dtos = 0;
}
static void negative_dtos(struct pair *p, DAT_EP_PARAM *q)
{
	(void)p;
	q->ep_attr.max_request_dtos = -1;
}
static void bad_req_flags(struct pair *p, DAT_EP_PARAM *q)
{
	(void)p;
	q->ep_attr.request_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
}
static void rdma_size_over(struct pair *p, DAT_EP_PARAM *q)
{
	if (p->node.attr.max_rdma_size == (seg_len_t)-1)
		dt_skip("no size is above the maximum of this fabric");
	q->ep_attr.max_rdma_size = p->node.attr.max_rdma_size + 1;
}
static void read_iov_over(struct pair *p, DAT_EP_PARAM *q)
{
	q->ep_attr.max_rdma_read_iov = p->node.attr.max_iov_segments_per_rdma_read + 1;
}
static void write_iov_over(struct pair *p, DAT_EP_PARAM *q)
{
	q->ep_attr.max_rdma_write_iov = p->node.attr.max_iov_segments_per_rdma_write + 1;
}
/* Eight receives are posted. */
static void below_the_posted(struct pair *p, DAT_EP_PARAM *q)
{
	for (uint64_t i = 0; i < 8; i++)
		OK(post_recv(&p->a, 0, 8, i));
	q->ep_attr.max_recv_dtos = 7;
}

static void refuse_value(const void *arg)
{
	const struct bad_value *row = arg;
	DAT_EP_PARAM_MASK mask;
	DAT_EP_PARAM param, now;
	DAT_PZ_HANDLE pz;
	struct pair p;

	pair_open(&p);
	OK(dat_pz_create(p.node.ia, &pz));
	param = query(p.a.ep);
	param.ep_attr.max_message_size = 777;
	row->spoil(&p, &param);
	/* All or nothing: the good member is not taken either. */
	mask = row->mask | DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE;
	BAD_ARG(dat_ep_modify(p.a.ep, mask, &param), 3);
	now = query(p.a.ep);
	ASSERT(now.ep_attr.max_message_size != 777);
	ASSERT_PTR(now.recv_evd_handle, p.a.recv);
	OK(dat_pz_free(pz));
	pair_connect(&p);
	pair_close(&p);
}

static const struct bad_value bad_values[] = {
	{ "bad_pz_is_ARG3", DAT_EP_FIELD_PZ_HANDLE, bad_pz },
	{ "bad_recv_evd_is_ARG3", DAT_EP_FIELD_RECV_EVD_HANDLE, bad_recv },
	{ "bad_request_evd_is_ARG3", DAT_EP_FIELD_REQUEST_EVD_HANDLE, bad_req },
	{ "bad_connect_evd_is_ARG3", DAT_EP_FIELD_CONNECT_EVD_HANDLE, bad_conn },
	{ "service_type_is_ARG3", DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, bad_service },
	{ "unsupported_qos_is_ARG3", DAT_EP_FIELD_EP_ATTR_QOS, other_qos },
	{ "recv_flags_with_SUPPRESS_is_ARG3", DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
	  bad_recv_flags },
	{ "recv_dtos_above_the_ia_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, recv_over },
	{ "request_dtos_above_the_ia_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, req_over },
	{ "recv_iov_above_the_ia_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, iov_over },
	{ "request_iov_above_the_ia_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, req_iov_over },
	{ "rdma_read_in_above_the_ia_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, in_over },
	{ "rdma_read_out_above_the_ia_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, out_over },
	{ "recv_dtos_0_with_an_evd_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, no_recv_dtos },
	{ "request_dtos_0_with_an_evd_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
	  no_request_dtos },
	{ "request_dtos_negative_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, negative_dtos },
	{ "recv_dtos_below_the_receives_posted_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
	  below_the_posted },
	{ "request_flags_with_SOLICITED_WAIT_is_ARG3",
	  DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, bad_req_flags },
	{ "rdma_size_above_the_ia_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, rdma_size_over },
	{ "rdma_read_iov_above_the_ia_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV,
	  read_iov_over },
	{ "rdma_write_iov_above_the_ia_is_ARG3", DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV,
	  write_iov_over },
};

TEST_ROWS(ep_modify, bad_values, refuse_value)

TEST(ep_modify, objects_of_another_ia_are_ARG3)
{
	DAT_EP_PARAM param, before;
	struct pair p, other;

	pair_open(&p);
	pair_open(&other);
	before = query(p.a.ep);
	param = query(other.a.ep);
	BAD_ARG(dat_ep_modify(p.a.ep, DAT_EP_FIELD_PZ_HANDLE, &param), 3);
	BAD_ARG(dat_ep_modify(p.a.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), 3);
	BAD_ARG(dat_ep_modify(p.a.ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param), 3);
	param = query(p.a.ep);
	ASSERT_PTR(param.pz_handle, before.pz_handle);
	ASSERT_PTR(param.recv_evd_handle, before.recv_evd_handle);
	ASSERT_PTR(param.request_evd_handle, before.request_evd_handle);
	pair_close(&other);
	pair_close(&p);
}

TEST(ep_modify, param_NULL_is_ARG3)
{
	struct pair p;

	pair_open(&p);
	BAD_ARG(dat_ep_modify(p.a.ep, DAT_EP_FIELD_PZ_HANDLE, NULL), 3);
	pair_close(&p);
}

TEST(ep_modify, attributes_of_a_queried_default_endpoint_can_be_given_back)
{
	DAT_EP_PARAM param;
	struct pair p;

	pair_open(&p);
	param = query(p.a.ep);
	OK(dat_ep_modify(p.a.ep, DAT_EP_FIELD_EP_ATTR_ALL, &param));
	pair_connect(&p);
	pair_close(&p);
}
