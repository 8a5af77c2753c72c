/* SPDX-License-Identifier: BSD-2-Clause */
/* Which streams an EVD has to have been created with to serve endpoints and service points: for
 * each role an EVD of each stream alone, and one of all streams but that. */
#include "srq_rig.h"

#define ALL (DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)

static const int streams[] = {
	DAT_EVD_SOFTWARE_FLAG,   DAT_EVD_CR_FLAG,       DAT_EVD_DTO_FLAG,
	DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
};
#define STREAMS ((int)(sizeof(streams) / sizeof(streams[0])))

struct roles {
	struct node n;
	DAT_EVD_HANDLE dto, conn, cr;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep; /* is modified, and waits at an RSP */
	DAT_CONN_QUAL qual;
};

static void roles_open(struct roles *r)
{
	node_open(&r->n);
	r->dto = evd_make(&r->n, 8, DAT_EVD_DTO_FLAG);
	r->conn = evd_make(&r->n, 8, DAT_EVD_CONNECTION_FLAG);
	r->cr = evd_make(&r->n, 8, DAT_EVD_CR_FLAG);
	r->srq = srq_make(&r->n, 8, 1);
	OK(dat_ep_create(r->n.ia, r->n.pz, r->dto, r->dto, r->conn, NULL, &r->ep));
	r->qual = free_qual(&r->n, r->cr);
}

static void roles_close(struct roles *r)
{
	OK(dat_ep_free(r->ep));
	OK(dat_srq_free(r->srq));
	OK(dat_evd_free(r->cr));
	OK(dat_evd_free(r->conn));
	OK(dat_evd_free(r->dto));
	node_close(&r->n);
}

/* Without an error the endpoint is freed again. */
static DAT_RETURN make_ep(struct roles *r, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE req,
			  DAT_EVD_HANDLE conn)
{
	DAT_EP_HANDLE ep;
	DAT_RETURN ret = dat_ep_create(r->n.ia, r->n.pz, recv, req, conn, NULL, &ep);

	if (ret == DAT_SUCCESS)
		OK(dat_ep_free(ep));
	return ret;
}

static DAT_RETURN make_srq_ep(struct roles *r, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE req,
			      DAT_EVD_HANDLE conn)
{
	DAT_EP_ATTR attr = srq_ep_attr(&r->n);
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	ret = dat_ep_create_with_srq(r->n.ia, r->n.pz, recv, req, conn, r->srq, &attr, &ep);
	if (ret == DAT_SUCCESS)
		OK(dat_ep_free(ep));
	return ret;
}

/* Without an error the former EVDs are set again. */
static DAT_RETURN set_evd(struct roles *r, DAT_EP_PARAM_MASK field, DAT_EVD_HANDLE evd)
{
	DAT_EP_PARAM param, former;
	DAT_RETURN ret;

	memset(&param, 0, sizeof(param));
	param.recv_evd_handle = param.request_evd_handle = param.connect_evd_handle = evd;
	OK(dat_ep_query(r->ep, DAT_EP_FIELD_ALL, &former));
	ret = dat_ep_modify(r->ep, field, &param);
	if (ret == DAT_SUCCESS)
		OK(dat_ep_modify(r->ep, field, &former));
	OK(dat_ep_query(r->ep, DAT_EP_FIELD_ALL, &param));
	ASSERT_PTR(param.recv_evd_handle, r->dto);
	ASSERT_PTR(param.request_evd_handle, r->dto);
	ASSERT_PTR(param.connect_evd_handle, r->conn);
	return ret;
}

static DAT_RETURN make_psp(struct roles *r, DAT_EVD_HANDLE evd)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;

	ret = dat_psp_create_any(r->n.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp);
	if (ret == DAT_SUCCESS)
		OK(dat_psp_free(psp));
	return ret;
}

static DAT_RETURN make_rsp(struct roles *r, DAT_EVD_HANDLE evd)
{
	DAT_RSP_HANDLE rsp;
	DAT_RETURN ret = dat_rsp_create(r->n.ia, r->qual, r->ep, evd, &rsp);

	if (ret == DAT_SUCCESS)
		OK(dat_rsp_free(rsp));
	return ret;
}

/* Success if the EVD has the stream, else the error of that role. */
#define SERVES(call_, has_, type_, sub_) \
	check_ret(__FILE__, __LINE__, #call_, (call_), \
		  (has_) ? (DAT_RETURN)DAT_SUCCESS : API_ERR(type_, sub_))
#define SERVES_ROLE(call_, has_, role_) \
	SERVES(call_, has_, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_##role_)
#define SERVES_CHANGE(call_, has_) SERVES(call_, has_, DAT_INVALID_PARAMETER, DAT_INVALID_ARG3)

static void check_evd(struct roles *r, int flags)
{
	DAT_EVD_HANDLE evd = evd_make(&r->n, 8, flags);
	bool dto = flags & DAT_EVD_DTO_FLAG, conn = flags & DAT_EVD_CONNECTION_FLAG;
	bool cr = flags & DAT_EVD_CR_FLAG;

	SERVES_ROLE(make_ep(r, evd, r->dto, r->conn), dto, RECV);
	SERVES_ROLE(make_ep(r, r->dto, evd, r->conn), dto, REQUEST);
	SERVES_ROLE(make_ep(r, r->dto, r->dto, evd), conn, CONN);
	SERVES_ROLE(make_srq_ep(r, evd, r->dto, r->conn), dto, RECV);
	SERVES_ROLE(make_srq_ep(r, r->dto, evd, r->conn), dto, REQUEST);
	SERVES_ROLE(make_srq_ep(r, r->dto, r->dto, evd), conn, CONN);
	SERVES_CHANGE(set_evd(r, DAT_EP_FIELD_RECV_EVD_HANDLE, evd), dto);
	SERVES_CHANGE(set_evd(r, DAT_EP_FIELD_REQUEST_EVD_HANDLE, evd), dto);
	SERVES_CHANGE(set_evd(r, DAT_EP_FIELD_CONNECT_EVD_HANDLE, evd), conn);
	SERVES_ROLE(make_psp(r, evd), cr, CR);
	SERVES_ROLE(make_rsp(r, evd), cr, CR);
	/* None of these feeds it any more. */
	OK(dat_evd_free(evd));
}

TEST(evd_roles, an_EVD_serves_the_streams_that_it_was_created_with)
{
	struct roles r;

	roles_open(&r);
	for (int i = 0; i < STREAMS; i++) {
		check_evd(&r, streams[i]);
		check_evd(&r, ALL & ~streams[i]);
	}
	check_evd(&r, ALL);
	roles_close(&r);
}

TEST(evd_roles, every_set_of_streams_can_be_merged_and_no_other_bit_is_accepted)
{
	DAT_EVD_HANDLE evd;
	DAT_EVD_PARAM param;
	struct node n;
	int known = ALL;

#if DAT_TEST_API == 20
	known |= DAT_EVD_EXTENSION_BASE;
#endif
	node_open(&n);
	for (int set = 1; set < 1 << STREAMS; set++) {
		int flags = 0;

		for (int i = 0; i < STREAMS; i++)
			flags |= set & 1 << i ? streams[i] : 0;
		evd = evd_make(&n, 4, flags);
		OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		ASSERT_EQ(param.evd_flags, flags);
		OK(dat_evd_free(evd));
	}
	for (int bit = 0; bit < 31; bit++)
		if (!(known & 1 << bit)) {
			evd = n.async;
			BAD_ARG(dat_evd_create(n.ia, 4, NULL, (DAT_EVD_FLAGS)(1 << bit), &evd), 4);
			BAD_ARG(dat_evd_create(n.ia, 4, NULL, (DAT_EVD_FLAGS)(ALL | 1 << bit),
					       &evd),
				4);
			ASSERT_PTR(evd, n.async);
		}
	node_close(&n);
}
