/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints with a shared receive queue: creation, queries, modification. */
#include "srq_rig.h"

struct rig {
	struct node n;
	DAT_SRQ_HANDLE srq;
	DAT_EVD_HANDLE dto, conn;
	DAT_EP_ATTR attr;
};

static void rig_open(struct rig *r)
{
	node_open(&r->n);
	r->srq = srq_make(&r->n, 10, 1);
	r->dto = evd_make(&r->n, 64, DAT_EVD_DTO_FLAG);
	r->conn = evd_make(&r->n, 8, DAT_EVD_CONNECTION_FLAG);
	r->attr = srq_ep_attr(&r->n);
}

static void rig_close(struct rig *r)
{
	OK(dat_srq_free(r->srq));
	OK(dat_evd_free(r->dto));
	OK(dat_evd_free(r->conn));
	node_close(&r->n);
}

static DAT_RETURN make(struct rig *r, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return dat_ep_create_with_srq(r->n.ia, r->n.pz, r->dto, r->dto, r->conn, r->srq,
				      (DAT_EP_ATTR *)(uintptr_t)attr, ep);
}

static DAT_EP_PARAM query(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	return param;
}

TEST(srq_ep, create_checks_its_handles)
{
	DAT_SRQ_HANDLE foreign;
	DAT_EP_HANDLE ep;
	struct node other;
	struct rig r;

	rig_open(&r);
	node_open(&other);
	foreign = srq_make(&other, 4, 1);
	BAD_HANDLE(dat_ep_create_with_srq(NULL, r.n.pz, r.dto, r.dto, r.conn, r.srq, &r.attr, &ep),
		   IA);
	BAD_HANDLE(dat_ep_create_with_srq(r.n.ia, r.dto, r.dto, r.dto, r.conn, r.srq, &r.attr, &ep),
		   PZ);
	BAD_HANDLE(dat_ep_create_with_srq(r.n.ia, r.n.pz, r.conn, r.dto, r.conn, r.srq, &r.attr,
					  &ep),
		   EVD_RECV);
	BAD_HANDLE(dat_ep_create_with_srq(r.n.ia, r.n.pz, r.dto, r.conn, r.conn, r.srq, &r.attr,
					  &ep),
		   EVD_REQUEST);
	BAD_HANDLE(dat_ep_create_with_srq(r.n.ia, r.n.pz, r.dto, r.dto, r.dto, r.srq, &r.attr, &ep),
		   EVD_CONN);
	BAD_HANDLE(dat_ep_create_with_srq(r.n.ia, r.n.pz, r.dto, r.dto, r.conn, NULL, &r.attr, &ep),
		   SRQ);
	BAD_HANDLE(dat_ep_create_with_srq(r.n.ia, r.n.pz, r.dto, r.dto, r.conn, r.dto, &r.attr,
					  &ep),
		   SRQ);
	BAD_HANDLE(dat_ep_create_with_srq(r.n.ia, r.n.pz, r.dto, r.dto, r.conn, foreign, &r.attr,
					  &ep),
		   SRQ);
	BAD_ARG(make(&r, &r.attr, NULL), 8);
	OK(dat_srq_free(foreign));
	node_close(&other);
	rig_close(&r);
}

TEST(srq_ep, create_without_attributes)
{
	DAT_EP_HANDLE ep = NULL;
	struct rig r;

	rig_open(&r);
#if DAT_TEST_API == 12
	BAD_ARG(make(&r, NULL, &ep), 7);
#else
	OK(make(&r, NULL, &ep));
	ASSERT_EQ(query(ep).ep_attr.max_recv_dtos, DAT_HW_DEFAULT);
	ASSERT_EQ(query(ep).ep_attr.srq_soft_hw, DAT_HW_DEFAULT);
	OK(dat_ep_free(ep));
#endif
	rig_close(&r);
}

TEST(srq_ep, create_checks_its_attributes)
{
	DAT_EP_HANDLE ep = NULL;
	DAT_EP_ATTR bad;
	struct rig r;

	rig_open(&r);
	bad = r.attr;
	bad.max_recv_dtos = -2;
	BAD_ARG(make(&r, &bad, &ep), 7);
	bad.max_recv_dtos = r.n.attr.max_recv_per_srq + 1;
	BAD_ARG(make(&r, &bad, &ep), 7);
	bad = r.attr;
	bad.srq_soft_hw = -2;
	BAD_ARG(make(&r, &bad, &ep), 7);
	bad.srq_soft_hw = r.n.attr.max_recv_per_srq + 1;
	BAD_ARG(make(&r, &bad, &ep), 7);
	bad = r.attr;
	bad.max_request_dtos = r.n.attr.max_dto_per_ep + 1;
	BAD_ARG(make(&r, &bad, &ep), 7);
	bad = r.attr;
	bad.recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
	BAD_ARG(make(&r, &bad, &ep), 7);
	bad = r.attr;
	bad.service_type = (DAT_SERVICE_TYPE)77;
	ASSERT_RET(make(&r, &bad, &ep), DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	rig_close(&r);
}

TEST(srq_ep, max_recv_iov_is_ignored)
{
	DAT_EP_HANDLE ep;
	struct rig r;

	rig_open(&r);
	r.attr.max_recv_iov = 1000;
	OK(make(&r, &r.attr, &ep));
	OK(dat_ep_free(ep));
	r.attr.max_recv_iov = 0;
	OK(make(&r, &r.attr, &ep));
	OK(dat_ep_free(ep));
	rig_close(&r);
}

TEST(srq_ep, query_names_the_SRQ_and_the_watermarks)
{
	DAT_EP_HANDLE ep, plain;
	DAT_EP_PARAM param;
	struct rig r;

	rig_open(&r);
	r.attr.max_recv_dtos = 7;
	r.attr.srq_soft_hw = 3;
	OK(make(&r, &r.attr, &ep));
	param = query(ep);
	ASSERT_PTR(param.srq_handle, r.srq);
	ASSERT_PTR(param.recv_evd_handle, r.dto);
	ASSERT_EQ(param.ep_attr.max_recv_dtos, 7);
	ASSERT_EQ(param.ep_attr.srq_soft_hw, 3);
	OK(dat_ep_create(r.n.ia, r.n.pz, r.dto, r.dto, r.conn, NULL, &plain));
	ASSERT_PTR(query(plain).srq_handle, NULL);
	OK(dat_ep_free(plain));
	OK(dat_ep_free(ep));
	rig_close(&r);
}

TEST(srq_ep, posting_a_receive_is_refused)
{
	DAT_LMR_TRIPLET t;
	struct hub h;

	hub_open(&h, 1, 10, 0);
	t = seg(&h.on[0].buf, 0, 100);
	BAD_STATE(dat_ep_post_recv(h.on[0].ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG),
		  SRQ_IN_USE);
	hub_disconnect(&h, 0);
	BAD_STATE(dat_ep_post_recv(h.on[0].ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG),
		  SRQ_IN_USE);
	OK(dat_ep_reset(h.on[0].ep));
	BAD_STATE(dat_ep_post_recv(h.on[0].ep, 0, NULL, ck(1), DAT_COMPLETION_DEFAULT_FLAG),
		  SRQ_IN_USE);
	ASSERT_PTR(query(h.on[0].ep).srq_handle, h.srq);
	EV_NONE(h.on[0].recv);
	hub_close(&h);
}

TEST(srq_ep, the_SRQ_cannot_be_modified_and_the_watermarks_can)
{
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;
	struct rig r;

	rig_open(&r);
	OK(make(&r, &r.attr, &ep));
	param = query(ep);
	BAD_ARG(dat_ep_modify(ep, DAT_EP_FIELD_SRQ_HANDLE, &param), 2);
	param.ep_attr.max_recv_dtos = 5;
	param.ep_attr.srq_soft_hw = 2;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW,
			 &param));
	ASSERT_EQ(query(ep).ep_attr.max_recv_dtos, 5);
	ASSERT_EQ(query(ep).ep_attr.srq_soft_hw, 2);
	param.ep_attr.max_recv_dtos = -2;
	BAD_ARG(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param), 3);
	ASSERT_EQ(query(ep).ep_attr.max_recv_dtos, 5);
	OK(dat_ep_free(ep));
	rig_close(&r);
}

TEST(srq_ep, its_PZ_may_differ_from_the_SRQs)
{
	struct side s, peer;
	struct buf b, mem;
	DAT_PZ_HANDLE pz;
	DAT_EP_PARAM param;
	struct pair p;
	DAT_SRQ_HANDLE srq;
	DAT_LMR_TRIPLET t;

	pair_open(&p);
	OK(dat_pz_create(p.node.ia, &pz));
	srq = srq_make(&p.node, 4, 1);
	side_make_srq(&s, &p.node, srq, NULL, NULL);
	param.pz_handle = pz;
	OK(dat_ep_modify(s.ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	side_make(&peer, &p.node, NULL);
	buf_make(&mem, &p.node, 4096, PRIV_ALL);
	buf_register(&b, &p.node, pz, mem.mem, 4096, PRIV_ALL);
	OK(connect_to(s.ep, p.node.attr.ia_address_ptr, p.qual));
	OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), peer.ep, 0, NULL));
	EV_CONN(s.conn, ESTABLISHED, s.ep);
	EV_CONN(peer.conn, ESTABLISHED, peer.ep);
	/* Buffers match the SRQ's PZ, what the endpoint sends matches its own. */
	t = seg(&b, 0, 100);
	ASSERT_EQ(DAT_GET_TYPE(dat_srq_post_recv(srq, 1, &t, ck(1))), DAT_PROTECTION_VIOLATION);
	OK(post_recv(&peer, 0, 100, 3));
	OK(dat_ep_post_send(s.ep, 1, &t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(s.req, s.ep, 2, OP_SEND, 100);
	EV_DTO(peer.recv, peer.ep, 3, OP_RECV, 100);
	t = seg(&mem, 0, 100);
	OK(dat_srq_post_recv(srq, 1, &t, ck(4)));
	OK(post_send(&peer, 0, 50, 5));
	EV_DTO(s.recv, s.ep, 4, OP_RECV, 50);
	EV_DTO(peer.req, peer.ep, 5, OP_SEND, 50);
	OK(dat_ep_free(s.ep));
	s.ep = NULL;
	side_free(&s);
	side_free(&peer);
	buf_unregister(&b);
	buf_free(&mem);
	OK(dat_srq_free(srq));
	OK(dat_pz_free(pz));
	pair_close(&p);
}
