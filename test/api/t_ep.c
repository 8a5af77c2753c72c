/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: creation, attributes, query, status, reset, free. */
#include "rig.h"

/* What an endpoint can be made of. */
struct parts {
	struct node n;
	DAT_EVD_HANDLE recv, req, conn;
	DAT_EP_ATTR attr;
};

static void parts_open(struct parts *p)
{
	node_open(&p->n);
	p->recv = evd_make(&p->n, 64, DAT_EVD_DTO_FLAG);
	p->req = evd_make(&p->n, 64, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	p->conn = evd_make(&p->n, 8, DAT_EVD_CONNECTION_FLAG);
	p->attr = default_attr(&p->n);
}

static void parts_close(struct parts *p)
{
	OK(dat_evd_free(p->recv));
	OK(dat_evd_free(p->req));
	OK(dat_evd_free(p->conn));
	node_close(&p->n);
}

static DAT_RETURN make_with(struct parts *p, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE req,
			    DAT_EVD_HANDLE conn, DAT_EP_HANDLE *ep)
{
	return dat_ep_create(p->n.ia, p->n.pz, recv, req, conn, &p->attr, ep);
}

static DAT_RETURN make(struct parts *p, DAT_EP_HANDLE *ep)
{
	return make_with(p, p->recv, p->req, p->conn, ep);
}

TEST(ep, create_and_query_all_members)
{
	DAT_EP_PARAM param;
	struct parts p;
	DAT_EP_HANDLE ep;

	parts_open(&p);
	OK(make(&p, &ep));
	memset(&param, 0xa5, sizeof(param));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	ASSERT_PTR(param.ia_handle, p.n.ia);
	ASSERT_EQ(param.ep_state, DAT_EP_STATE_UNCONNECTED);
	ASSERT(param.local_ia_address_ptr &&
	       param.local_ia_address_ptr->sa_family == p.n.attr.ia_address_ptr->sa_family);
	ASSERT_PTR(param.pz_handle, p.n.pz);
	ASSERT_PTR(param.recv_evd_handle, p.recv);
	ASSERT_PTR(param.request_evd_handle, p.req);
	ASSERT_PTR(param.connect_evd_handle, p.conn);
	ASSERT_PTR(param.srq_handle, NULL);
	OK(dat_ep_free(ep));
	parts_close(&p);
}

TEST(ep, default_attributes)
{
	DAT_EP_ATTR a;
	struct parts p;

	parts_open(&p);
	a = p.attr;
	ASSERT_EQ(a.service_type, DAT_SERVICE_TYPE_RC);
	ASSERT(a.max_message_size > 0 && a.max_message_size <= p.n.attr.max_message_size);
	ASSERT(a.max_rdma_size > 0 && a.max_rdma_size <= p.n.attr.max_rdma_size);
	ASSERT_EQ(a.qos, DAT_QOS_BEST_EFFORT);
	ASSERT_EQ(a.recv_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	ASSERT_EQ(a.request_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	ASSERT(a.max_recv_dtos >= 16 && a.max_request_dtos >= 16);
	ASSERT(a.max_recv_iov >= 4 && a.max_request_iov >= 4);
	ASSERT(a.max_rdma_read_in >= 1 && a.max_rdma_read_out >= 1);
	ASSERT_EQ(a.srq_soft_hw, 0);
	ASSERT_EQ(a.ep_transport_specific_count, 0);
	ASSERT_EQ(a.ep_provider_specific_count, 0);
	parts_close(&p);
}

TEST(ep, default_without_evds_has_room_in_both_queues)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;
	struct parts p;

	parts_open(&p);
	OK(dat_ep_create(p.n.ia, p.n.pz, NULL, NULL, p.conn, NULL, &ep));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	ASSERT_EQ(param.ep_attr.max_recv_dtos, p.attr.max_recv_dtos);
	ASSERT_EQ(param.ep_attr.max_request_dtos, p.attr.max_request_dtos);
	ASSERT_PTR(param.recv_evd_handle, NULL);
	ASSERT_PTR(param.request_evd_handle, NULL);
	OK(dat_ep_free(ep));
	parts_close(&p);
}

TEST(ep, create_without_pz_and_connect_evd)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;
	struct parts p;

	parts_open(&p);
	OK(dat_ep_create(p.n.ia, NULL, p.recv, p.req, NULL, &p.attr, &ep));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	ASSERT_PTR(param.pz_handle, NULL);
	ASSERT_PTR(param.connect_evd_handle, NULL);
	OK(dat_ep_free(ep));
	parts_close(&p);
}

TEST(ep, one_evd_for_receives_and_requests)
{
	DAT_EP_HANDLE ep;
	struct parts p;

	parts_open(&p);
	OK(dat_ep_create(p.n.ia, p.n.pz, p.req, p.req, p.conn, &p.attr, &ep));
	BAD_STATE(dat_evd_free(p.req), EVD_IN_USE);
	OK(dat_ep_free(ep));
	parts_close(&p);
}

TEST(ep, counts_are_granted_at_least_and_sizes_exactly)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;
	struct parts p;

	parts_open(&p);
	p.attr.max_recv_dtos = 37;
	p.attr.max_request_dtos = 21;
	p.attr.max_recv_iov = 3;
	p.attr.max_request_iov = 2;
	p.attr.max_message_size = 12345;
	p.attr.max_rdma_size = 54321;
	p.attr.max_rdma_read_in = 3;
	p.attr.max_rdma_read_out = 2;
	OK(make(&p, &ep));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	ASSERT(param.ep_attr.max_recv_dtos >= 37);
	ASSERT(param.ep_attr.max_request_dtos >= 21);
	ASSERT(param.ep_attr.max_recv_iov >= 3);
	ASSERT(param.ep_attr.max_request_iov >= 2);
	ASSERT_EQ(param.ep_attr.max_message_size, 12345);
	ASSERT_EQ(param.ep_attr.max_rdma_size, 54321);
	ASSERT_EQ(param.ep_attr.max_rdma_read_in, 3);
	ASSERT_EQ(param.ep_attr.max_rdma_read_out, 2);
	OK(dat_ep_free(ep));
	parts_close(&p);
}

/* ---- attributes that do not fit ---- */

struct bad_attr {
	const char *rule;
	void (*spoil)(struct parts *p);
};

static void no_recv_dtos(struct parts *p)
{
	p->attr.max_recv_dtos = 0;
}
static void no_req_dtos(struct parts *p)
{
	p->attr.max_request_dtos = 0;
}
static void no_recv_iov(struct parts *p)
{
	p->attr.max_recv_iov = 0;
}
static void recv_suppress(struct parts *p)
{
	p->attr.recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
}
static void recv_unknown(struct parts *p)
{
	p->attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)0x400;
}
static void req_solicited(struct parts *p)
{
	p->attr.request_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
}
static void req_unknown(struct parts *p)
{
	p->attr.request_completion_flags = (DAT_COMPLETION_FLAGS)0x400;
}
static void recv_dtos_over(struct parts *p)
{
	p->attr.max_recv_dtos = p->n.attr.max_dto_per_ep + 1;
}
static void req_dtos_over(struct parts *p)
{
	p->attr.max_request_dtos = p->n.attr.max_dto_per_ep + 1;
}
static void recv_iov_over(struct parts *p)
{
	p->attr.max_recv_iov = p->n.attr.max_iov_segments_per_dto + 1;
}
static void req_iov_over(struct parts *p)
{
	p->attr.max_request_iov = p->n.attr.max_iov_segments_per_dto + 1;
}
static void read_in_over(struct parts *p)
{
	p->attr.max_rdma_read_in = p->n.attr.max_rdma_read_per_ep_in + 1;
}
static void read_out_over(struct parts *p)
{
	p->attr.max_rdma_read_out = p->n.attr.max_rdma_read_per_ep_out + 1;
}
static void read_iov_over(struct parts *p)
{
	p->attr.max_rdma_read_iov = p->n.attr.max_iov_segments_per_rdma_read + 1;
}
static void write_iov_over(struct parts *p)
{
	p->attr.max_rdma_write_iov = p->n.attr.max_iov_segments_per_rdma_write + 1;
}
static void recv_dtos_negative(struct parts *p)
{
	p->attr.max_recv_dtos = -1;
}
static void req_dtos_negative(struct parts *p)
{
	p->attr.max_request_dtos = -3;
}
static void other_qos(struct parts *p)
{
	/* Not one class. */
	p->attr.qos = (DAT_QOS)(DAT_QOS_LOW_LATENCY | DAT_QOS_PREMIUM);
}

static void refuse(const void *arg)
{
	const struct bad_attr *row = arg;
	DAT_EVD_HANDLE recv, req;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;
	struct parts p;

	parts_open(&p);
	recv = p.recv;
	req = p.req;
	attr = p.attr;
	row->spoil(&p);
	BAD_ARG(make(&p, &ep), 6);
	p.recv = recv;
	p.req = req;
	p.attr = attr;
	OK(make(&p, &ep));
	OK(dat_ep_free(ep));
	parts_close(&p);
}

static const struct bad_attr bad_attrs[] = {
	{ "create_recv_evd_without_recv_dtos_is_ARG6", no_recv_dtos },
	{ "create_request_evd_without_request_dtos_is_ARG6", no_req_dtos },
	{ "create_recv_evd_without_recv_iov_is_ARG6", no_recv_iov },
	{ "create_recv_flags_with_SUPPRESS_is_ARG6", recv_suppress },
	{ "create_recv_flags_unknown_is_ARG6", recv_unknown },
	{ "create_request_flags_with_SOLICITED_WAIT_is_ARG6", req_solicited },
	{ "create_request_flags_unknown_is_ARG6", req_unknown },
	{ "create_max_recv_dtos_above_the_ia_is_ARG6", recv_dtos_over },
	{ "create_max_request_dtos_above_the_ia_is_ARG6", req_dtos_over },
	{ "create_max_recv_iov_above_the_ia_is_ARG6", recv_iov_over },
	{ "create_max_request_iov_above_the_ia_is_ARG6", req_iov_over },
	{ "create_max_rdma_read_in_above_the_ia_is_ARG6", read_in_over },
	{ "create_max_rdma_read_out_above_the_ia_is_ARG6", read_out_over },
	{ "create_max_rdma_read_iov_above_the_ia_is_ARG6", read_iov_over },
	{ "create_max_rdma_write_iov_above_the_ia_is_ARG6", write_iov_over },
	{ "create_max_recv_dtos_negative_is_ARG6", recv_dtos_negative },
	{ "create_max_request_dtos_negative_is_ARG6", req_dtos_negative },
	{ "create_unsupported_qos_is_ARG6", other_qos },
};

TEST_ROWS(ep, bad_attrs, refuse)

TEST(ep, create_message_and_rdma_size_above_the_ia_is_ARG6)
{
	DAT_EP_HANDLE ep;
	struct parts p;
	seg_len_t good;

	parts_open(&p);
	good = p.attr.max_message_size;
	if (p.n.attr.max_message_size != (seg_len_t)-1) {
		p.attr.max_message_size = p.n.attr.max_message_size + 1;
		BAD_ARG(make(&p, &ep), 6);
		p.attr.max_message_size = good;
	}
	if (p.n.attr.max_rdma_size != (seg_len_t)-1) {
		p.attr.max_rdma_size = p.n.attr.max_rdma_size + 1;
		BAD_ARG(make(&p, &ep), 6);
	}
	parts_close(&p);
}

TEST(ep, create_unknown_service_type_is_MODEL_NOT_SUPPORTED)
{
	DAT_EP_HANDLE ep;
	struct parts p;

	parts_open(&p);
	p.attr.service_type = (DAT_SERVICE_TYPE)2;
	UNSUPPORTED(make(&p, &ep));
	parts_close(&p);
}

TEST(ep, create_pointer_NULL_is_ARG7)
{
	struct parts p;

	parts_open(&p);
	BAD_ARG(make(&p, NULL), 7);
	parts_close(&p);
}

TEST(ep, create_bad_handles)
{
	DAT_EVD_HANDLE freed;
	DAT_EP_HANDLE ep;
	struct parts p;
	DAT_EP_ATTR *at;

	parts_open(&p);
	at = &p.attr;
	freed = evd_make(&p.n, 8, DAT_EVD_DEFAULT_FLAG);
	OK(dat_evd_free(freed));
	BAD_HANDLE(dat_ep_create(NULL, p.n.pz, p.recv, p.req, p.conn, at, &ep), IA);
	BAD_HANDLE(dat_ep_create(p.n.ia, p.recv, p.recv, p.req, p.conn, at, &ep), PZ);
	BAD_HANDLE(make_with(&p, freed, p.req, p.conn, &ep), EVD_RECV);
	BAD_HANDLE(make_with(&p, p.recv, freed, p.conn, &ep), EVD_REQUEST);
	BAD_HANDLE(make_with(&p, p.recv, p.req, freed, &ep), EVD_CONN);
	BAD_HANDLE(make_with(&p, p.n.pz, p.req, p.conn, &ep), EVD_RECV);
	parts_close(&p);
}

TEST(ep, create_evd_without_the_stream_is_INVALID_HANDLE)
{
	DAT_EP_HANDLE ep;
	struct parts p;

	parts_open(&p);
	BAD_HANDLE(make_with(&p, p.conn, p.req, p.conn, &ep), EVD_RECV);
	BAD_HANDLE(make_with(&p, p.recv, p.conn, p.conn, &ep), EVD_REQUEST);
	BAD_HANDLE(make_with(&p, p.recv, p.req, p.recv, &ep), EVD_CONN);
	parts_close(&p);
}

TEST(ep, create_dto_evd_of_another_ia_is_INVALID_HANDLE)
{
	DAT_EVD_HANDLE foreign;
	DAT_EP_HANDLE ep;
	struct parts p;
	struct node m;

	parts_open(&p);
	node_open(&m);
	foreign = evd_make(&m, 8, DAT_EVD_DEFAULT_FLAG);
	BAD_HANDLE(make_with(&p, foreign, p.req, p.conn, &ep), EVD_RECV);
	BAD_HANDLE(make_with(&p, p.recv, foreign, p.conn, &ep), EVD_REQUEST);
	OK(dat_evd_free(foreign));
	node_close(&m);
	parts_close(&p);
}

TEST(ep, query_bad_arguments)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;
	struct parts p;

	parts_open(&p);
	OK(make(&p, &ep));
	BAD_ARG(dat_ep_query(ep, DAT_EP_FIELD_ALL, NULL), 3);
	BAD_ARG(dat_ep_query(ep, DAT_EP_FIELD_ALL | (DAT_UINT64)1 << 40, &param), 2);
	OK(dat_ep_free(ep));
	parts_close(&p);
}

TEST(ep, many_endpoints_on_shared_evds)
{
	DAT_EP_HANDLE ep[100];
	struct parts p;
	int i;

	parts_open(&p);
	for (i = 0; i < 100; i++)
		OK(make(&p, &ep[i]));
	for (i = 0; i < 100; i++)
		OK(dat_ep_free(ep[i]));
	parts_close(&p);
}
