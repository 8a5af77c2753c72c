/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion flags of several DTO streams on one EVD: which combinations endpoints may have. */
#include "rig.h"
#include "srq_rig.h"

#define THRESHOLD DAT_COMPLETION_EVD_THRESHOLD_FLAG
#define UNSIGNALLED DAT_COMPLETION_UNSIGNALLED_FLAG
#define SOLICITED DAT_COMPLETION_SOLICITED_WAIT_FLAG

struct mixes {
	struct node n;
	DAT_EVD_HANDLE dto, other, all; /* `all` takes connection events, too */
	DAT_EP_ATTR attr;
};

static void mixes_open(struct mixes *m)
{
	node_open(&m->n);
	OK(dat_evd_create(m->n.ia, 100, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
			  &m->dto));
	OK(dat_evd_create(m->n.ia, 100, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &m->other));
	OK(dat_evd_create(m->n.ia, 100, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG,
			  &m->all));
	m->attr = default_attr(&m->n);
}

static void mixes_close(struct mixes *m)
{
	OK(dat_evd_free(m->dto));
	OK(dat_evd_free(m->other));
	OK(dat_evd_free(m->all));
	node_close(&m->n);
}

static DAT_RETURN make(struct mixes *m, DAT_EVD_HANDLE recv, int recv_flags, DAT_EVD_HANDLE req,
		       int req_flags, DAT_EP_HANDLE *ep)
{
	m->attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)recv_flags;
	m->attr.request_completion_flags = (DAT_COMPLETION_FLAGS)req_flags;
	return dat_ep_create(m->n.ia, m->n.pz, recv, req, DAT_HANDLE_NULL, &m->attr, ep);
}

static DAT_EP_PARAM param_of(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	return param;
}

TEST(flag_mixes, two_models_in_one_direction_are_ARG6)
{
	static const int bad[] = {
		THRESHOLD | UNSIGNALLED,
		THRESHOLD | SOLICITED,
		UNSIGNALLED | SOLICITED,
		THRESHOLD | UNSIGNALLED | SOLICITED,
	};
	DAT_EP_HANDLE ep;
	struct mixes m;

	mixes_open(&m);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		BAD_ARG(make(&m, m.dto, bad[i], m.other, THRESHOLD, &ep), 6);
	BAD_ARG(make(&m, m.dto, THRESHOLD, m.other, THRESHOLD | UNSIGNALLED, &ep), 6);
	mixes_close(&m);
}

TEST(flag_mixes, an_EVD_of_other_events_has_EVD_THRESHOLD_only)
{
	DAT_EP_HANDLE ep;
	struct mixes m;

	mixes_open(&m);
	BAD_ARG(make(&m, m.all, UNSIGNALLED, m.other, THRESHOLD, &ep), 6);
	BAD_ARG(make(&m, m.all, SOLICITED, m.other, THRESHOLD, &ep), 6);
	BAD_ARG(make(&m, m.dto, THRESHOLD, m.all, UNSIGNALLED, &ep), 6);
	OK(make(&m, m.all, THRESHOLD, m.all, THRESHOLD, &ep));
	OK(dat_ep_free(ep));
	/* Binds are requests, so their EVD may have any model. */
	OK(make(&m, m.other, THRESHOLD, m.dto, UNSIGNALLED, &ep));
	OK(dat_ep_free(ep));
	mixes_close(&m);
}

TEST(flag_mixes, streams_on_one_EVD_name_the_same_model)
{
	static const int models[] = { THRESHOLD, UNSIGNALLED, SOLICITED };
	DAT_EP_HANDLE first, ep;
	struct mixes m;

	mixes_open(&m);
	for (int i = 0; i < 3; i++) {
		OK(make(&m, m.dto, models[i], DAT_HANDLE_NULL, 0, &first));
		for (int j = 0; j < 3; j++) {
			if (i == j) {
				OK(make(&m, m.dto, models[j], DAT_HANDLE_NULL, 0, &ep));
				OK(dat_ep_free(ep));
			} else {
				BAD_ARG(make(&m, m.dto, models[j], DAT_HANDLE_NULL, 0, &ep), 6);
			}
		}
		/* Who names none fits all. */
		OK(make(&m, m.dto, 0, DAT_HANDLE_NULL, 0, &ep));
		OK(dat_ep_free(ep));
		/* A freed endpoint's model counts no more. */
		OK(dat_ep_free(first));
	}
	mixes_close(&m);
}

TEST(flag_mixes, solicited_receives_share_their_EVD_with_no_request)
{
	DAT_EP_HANDLE ep, first;
	struct mixes m;

	mixes_open(&m);
	BAD_ARG(make(&m, m.dto, SOLICITED, m.dto, 0, &ep), 6);
	OK(make(&m, m.dto, SOLICITED, m.other, THRESHOLD, &first));
	BAD_ARG(make(&m, m.other, THRESHOLD, m.dto, THRESHOLD, &ep), 6);
	BAD_ARG(make(&m, m.other, THRESHOLD, m.dto, 0, &ep), 6);
	OK(dat_ep_free(first));
	mixes_close(&m);
}

TEST(flag_mixes, an_endpoint_is_modified_only_to_what_fits)
{
	DAT_EP_HANDLE ep, other_ep;
	DAT_EP_PARAM param;
	struct mixes m;

	mixes_open(&m);
	OK(make(&m, m.dto, THRESHOLD, m.other, THRESHOLD, &ep));
	OK(make(&m, m.dto, THRESHOLD, m.other, THRESHOLD, &other_ep));
	param = param_of(ep);
	param.ep_attr.recv_completion_flags = UNSIGNALLED;
	BAD_ARG(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param), 3);
	ASSERT_EQ(param_of(ep).ep_attr.recv_completion_flags, THRESHOLD);
	/* Its own former model does not stand against it. */
	OK(dat_ep_free(other_ep));
	OK(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
	ASSERT_EQ(param_of(ep).ep_attr.recv_completion_flags, UNSIGNALLED);
	param = param_of(ep);
	param.recv_evd_handle = m.all;
	BAD_ARG(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), 3);
	ASSERT_PTR(param_of(ep).recv_evd_handle, m.dto);
	/* The EVD that it leaves has room for another model. */
	param.recv_evd_handle = DAT_HANDLE_NULL;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	OK(make(&m, m.dto, SOLICITED, m.other, THRESHOLD, &other_ep));
	OK(dat_ep_free(other_ep));
	OK(dat_ep_free(ep));
	mixes_close(&m);
}

TEST(flag_mixes, without_attributes_an_endpoint_takes_the_model_of_its_EVDs)
{
	DAT_EP_HANDLE first, ep;
	DAT_EP_PARAM param;
	struct mixes m;

	mixes_open(&m);
	OK(make(&m, m.dto, UNSIGNALLED, m.dto, UNSIGNALLED, &first));
	OK(dat_ep_create(m.n.ia, m.n.pz, m.dto, m.other, DAT_HANDLE_NULL, NULL, &ep));
	param = param_of(ep);
	ASSERT_EQ(param.ep_attr.recv_completion_flags, UNSIGNALLED);
	ASSERT_EQ(param.ep_attr.request_completion_flags, THRESHOLD);
	OK(dat_ep_free(ep));
	OK(dat_ep_create(m.n.ia, m.n.pz, m.dto, m.dto, DAT_HANDLE_NULL, NULL, &ep));
	ASSERT_EQ(param_of(ep).ep_attr.request_completion_flags, UNSIGNALLED);
	OK(dat_ep_free(ep));
	OK(dat_ep_free(first));
	OK(dat_ep_create(m.n.ia, m.n.pz, m.dto, m.dto, DAT_HANDLE_NULL, NULL, &ep));
	ASSERT_EQ(param_of(ep).ep_attr.recv_completion_flags, THRESHOLD);
	OK(dat_ep_free(ep));
	mixes_close(&m);
}

#if DAT_TEST_API == 20 /* 1.2 has no SRQ endpoint without attributes */
TEST(flag_mixes, without_attributes_receives_from_an_SRQ_are_UNSIGNALLED_where_they_may)
{
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	struct mixes m;

	mixes_open(&m);
	srq = srq_make(&m.n, 8, 1);
	OK(dat_ep_create_with_srq(m.n.ia, m.n.pz, m.dto, m.other, DAT_HANDLE_NULL, srq, NULL, &ep));
	ASSERT_EQ(param_of(ep).ep_attr.recv_completion_flags, UNSIGNALLED);
	ASSERT_EQ(param_of(ep).ep_attr.request_completion_flags, THRESHOLD);
	OK(dat_ep_free(ep));
	OK(dat_ep_create_with_srq(m.n.ia, m.n.pz, m.all, m.all, DAT_HANDLE_NULL, srq, NULL, &ep));
	ASSERT_EQ(param_of(ep).ep_attr.recv_completion_flags, THRESHOLD);
	OK(dat_ep_free(ep));
	OK(dat_srq_free(srq));
	mixes_close(&m);
}
#endif

TEST(flag_mixes, an_SRQ_endpoint_whose_flags_do_not_fit_is_ARG7)
{
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	struct mixes m;

	mixes_open(&m);
	srq = srq_make(&m.n, 8, 1);
	m.attr.recv_completion_flags = UNSIGNALLED;
	m.attr.max_recv_dtos = m.attr.srq_soft_hw = DAT_HW_DEFAULT;
	BAD_ARG(dat_ep_create_with_srq(m.n.ia, m.n.pz, m.all, m.other, DAT_HANDLE_NULL, srq,
				       &m.attr, &ep),
		7);
	OK(dat_srq_free(srq));
	mixes_close(&m);
}
