/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues as objects: create, query, resize, post, free, and endpoints with them. */
#include "srq_rig.h"

#define LENGTH 10

static DAT_SRQ_ATTR srq_attr(DAT_COUNT dtos, DAT_COUNT iov)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = dtos,
			      .max_recv_iov = iov,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };

	return attr;
}

static DAT_SRQ_PARAM srq_param(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	OK(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	return param;
}

/* ---- create and free ---- */

TEST(srq, attributes_of_the_provider_say_what_is_there)
{
	struct node n;

	node_open(&n);
	ASSERT_EQ(n.prov.srq_supported, DAT_TRUE);
	ASSERT_EQ(n.prov.srq_ep_pz_difference_supported, DAT_TRUE);
	ASSERT(n.attr.max_srqs > 0 && n.attr.max_ep_per_srq > 0 && n.attr.max_recv_per_srq > 0);
	node_close(&n);
}

TEST(srq, create_checks_its_handles)
{
	DAT_SRQ_ATTR attr = srq_attr(LENGTH, 1);
	DAT_SRQ_HANDLE srq;
	struct node n, other;
	DAT_PZ_HANDLE dead;

	node_open(&n);
	node_open(&other);
	OK(dat_pz_create(n.ia, &dead));
	OK(dat_pz_free(dead));
	BAD_HANDLE(dat_srq_create(NULL, n.pz, &attr, &srq), IA);
	BAD_HANDLE(dat_srq_create(n.ia, NULL, &attr, &srq), PZ);
	BAD_HANDLE(dat_srq_create(n.ia, dead, &attr, &srq), PZ);
	BAD_HANDLE(dat_srq_create(n.ia, n.async, &attr, &srq), PZ);
	BAD_HANDLE(dat_srq_create(n.ia, other.pz, &attr, &srq), PZ);
	node_close(&other);
	node_close(&n);
}

TEST(srq, create_checks_its_attributes)
{
	DAT_SRQ_ATTR attr = srq_attr(LENGTH, 1), bad = attr;
	DAT_SRQ_HANDLE srq;
	struct node n;

	node_open(&n);
	BAD_ARG(dat_srq_create(n.ia, n.pz, NULL, &srq), 3);
	bad.max_recv_dtos = 0;
	BAD_ARG(dat_srq_create(n.ia, n.pz, &bad, &srq), 3);
	bad.max_recv_dtos = -1;
	BAD_ARG(dat_srq_create(n.ia, n.pz, &bad, &srq), 3);
	bad.max_recv_dtos = n.attr.max_recv_per_srq + 1;
	BAD_ARG(dat_srq_create(n.ia, n.pz, &bad, &srq), 3);
	bad = attr;
	bad.max_recv_iov = -1;
	BAD_ARG(dat_srq_create(n.ia, n.pz, &bad, &srq), 3);
	bad.max_recv_iov = n.attr.max_iov_segments_per_dto + 1;
	BAD_ARG(dat_srq_create(n.ia, n.pz, &bad, &srq), 3);
	bad = attr;
	bad.low_watermark = 1;
	BAD_ARG(dat_srq_create(n.ia, n.pz, &bad, &srq), 3);
	BAD_ARG(dat_srq_create(n.ia, n.pz, &attr, NULL), 4);
	node_close(&n);
}

TEST(srq, create_at_the_limits)
{
	DAT_SRQ_ATTR attr;
	DAT_SRQ_HANDLE srq;
	struct node n;

	node_open(&n);
	attr = srq_attr(n.attr.max_recv_per_srq, n.attr.max_iov_segments_per_dto);
	OK(dat_srq_create(n.ia, n.pz, &attr, &srq));
	ASSERT(srq_param(srq).max_recv_dtos >= n.attr.max_recv_per_srq);
	OK(dat_srq_free(srq));
	attr = srq_attr(1, 1);
	OK(dat_srq_create(n.ia, n.pz, &attr, &srq));
	OK(dat_srq_free(srq));
	node_close(&n);
}

TEST(srq, holds_its_PZ_and_its_IA)
{
	DAT_SRQ_HANDLE srq;
	struct node n;

	node_open(&n);
	srq = srq_make(&n, LENGTH, 1);
	BAD_STATE(dat_pz_free(n.pz), PZ_IN_USE);
	BAD_STATE(dat_ia_close(n.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	OK(dat_srq_free(srq));
	node_close(&n);
}

TEST(srq, a_freed_or_foreign_handle_is_refused_everywhere)
{
	DAT_SRQ_PARAM param;
	DAT_SRQ_HANDLE bad[3];
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr;
	struct node n;
	size_t i;

	node_open(&n);
	attr = srq_ep_attr(&n);
	attr.max_request_dtos = attr.max_request_iov = 0;
	bad[0] = srq_make(&n, LENGTH, 1);
	OK(dat_srq_free(bad[0]));
	bad[1] = NULL;
	bad[2] = n.pz;
	for (i = 0; i < 3; i++) {
		BAD_HANDLE(dat_srq_query(bad[i], DAT_SRQ_FIELD_ALL, &param), SRQ);
		BAD_HANDLE(dat_srq_resize(bad[i], LENGTH), SRQ);
		BAD_HANDLE(dat_srq_set_lw(bad[i], 1), SRQ);
		BAD_HANDLE(dat_srq_post_recv(bad[i], 0, NULL, ck(1)), SRQ);
		BAD_HANDLE(dat_ep_create_with_srq(n.ia, n.pz, NULL, NULL, NULL, bad[i], &attr, &ep),
			   SRQ);
		BAD_HANDLE(dat_srq_free(bad[i]), SRQ);
	}
	node_close(&n);
}

TEST(srq, free_forgets_the_buffers)
{
	struct hub h;
	int i;

	hub_open(&h, 0, LENGTH, 0);
	for (i = 0; i < LENGTH; i++)
		OK(hub_post(&h, i, 100, 1));
	hub_close(&h);
}

TEST(srq, free_is_refused_while_an_endpoint_uses_it)
{
	struct node n;
	struct side s, t;
	DAT_SRQ_HANDLE srq;

	node_open(&n);
	srq = srq_make(&n, LENGTH, 1);
	side_make_srq(&s, &n, srq, NULL, NULL);
	side_make_srq(&t, &n, srq, NULL, NULL);
	BAD_STATE(dat_srq_free(srq), SRQ_IN_USE);
	side_free(&s);
	BAD_STATE(dat_srq_free(srq), SRQ_IN_USE);
	SRQ_COUNTS(srq, 0, 0);
	side_free(&t);
	OK(dat_srq_free(srq));
	node_close(&n);
}

/* ---- query ---- */

TEST(srq, query_tells_everything)
{
	DAT_SRQ_PARAM p;
	DAT_SRQ_HANDLE srq;
	struct node n;

	node_open(&n);
	srq = srq_make(&n, LENGTH, 2);
	p = srq_param(srq);
	ASSERT_PTR(p.ia_handle, n.ia);
	ASSERT_PTR(p.pz_handle, n.pz);
	ASSERT_EQ(p.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	ASSERT(p.max_recv_dtos >= LENGTH && p.max_recv_iov >= 2);
	ASSERT_EQ(p.low_watermark, DAT_SRQ_LW_DEFAULT);
	ASSERT_EQ(p.available_dto_count, 0);
	ASSERT_EQ(p.outstanding_dto_count, 0);
	OK(dat_srq_free(srq));
	node_close(&n);
}

TEST(srq, query_checks_its_arguments)
{
	DAT_SRQ_PARAM p;
	DAT_SRQ_HANDLE srq;
	struct node n;
	int bit;

	node_open(&n);
	srq = srq_make(&n, LENGTH, 2);
	for (bit = 1; bit <= 0x80; bit <<= 1)
		OK(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)bit, &p));
	BAD_ARG(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)0x100, &p), 2);
	BAD_ARG(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL), 3);
	OK(dat_srq_free(srq));
	node_close(&n);
}

/* ---- resize ---- */

TEST(srq, resize_grows_and_shrinks)
{
	struct hub h;
	int i;

	hub_open(&h, 0, 2, 0);
	OK(dat_srq_resize(h.srq, 6));
	ASSERT(srq_param(h.srq).max_recv_dtos >= 6);
	for (i = 0; i < 6; i++)
		OK(hub_post(&h, i, 100, 1));
	SRQ_COUNTS(h.srq, 6, 6);
	BAD_STATE(dat_srq_resize(h.srq, 5), SRQ_OPERATIONAL);
	OK(dat_srq_resize(h.srq, 6));
	OK(dat_srq_resize(h.srq, 60));
	for (i = 6; i < 60; i++)
		OK(hub_post(&h, i, 100, 1));
	SRQ_COUNTS(h.srq, 60, 60);
	/* More than the least that the context of the fabric has room for. */
	OK(dat_srq_resize(h.srq, 200));
	for (i = 60; i < 200; i++)
		OK(hub_post(&h, 0, 100, 1));
	SRQ_COUNTS(h.srq, 200, 200);
	hub_close(&h);
}

TEST(srq, resize_checks_its_argument)
{
	DAT_SRQ_HANDLE srq;
	struct node n;

	node_open(&n);
	srq = srq_make(&n, LENGTH, 1);
	BAD_ARG(dat_srq_resize(srq, 0), 2);
	BAD_ARG(dat_srq_resize(srq, -1), 2);
	BAD_ARG(dat_srq_resize(srq, n.attr.max_recv_per_srq + 1), 2);
	ASSERT(srq_param(srq).max_recv_dtos >= LENGTH);
	OK(dat_srq_resize(srq, n.attr.max_recv_per_srq));
	OK(dat_srq_resize(srq, 1));
	OK(dat_srq_free(srq));
	node_close(&n);
}

TEST(srq, resize_to_the_low_watermark_is_allowed_and_below_it_refused)
{
	struct hub h;
	int i;

	hub_open(&h, 0, LENGTH, 0);
	for (i = 0; i < 2; i++)
		OK(hub_post(&h, i, 100, 1));
	OK(dat_srq_set_lw(h.srq, 4));
	EV_ASYNC(&h.node, h.srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	BAD_STATE(dat_srq_resize(h.srq, 3), SRQ_OPERATIONAL);
	ASSERT_EQ(srq_param(h.srq).max_recv_dtos, LENGTH);
	OK(dat_srq_resize(h.srq, 4));
	ASSERT_EQ(srq_param(h.srq).max_recv_dtos, 4);
	ASSERT_EQ(srq_param(h.srq).low_watermark, 4);
	BAD_STATE(dat_srq_resize(h.srq, 3), SRQ_OPERATIONAL);
	EV_NONE(h.node.async);
	hub_close(&h);
}

TEST(srq, resize_while_messages_arrive_keeps_every_buffer)
{
	struct hub h;
	int i;

	hub_open(&h, 1, 4, 0);
	for (i = 0; i < 4; i++)
		OK(hub_post(&h, i, 100, (uint64_t)i));
	hub_send(&h, 0, 10, 1);
	OK(dat_srq_resize(h.srq, 40));
	for (i = 4; i < 40; i++)
		OK(hub_post(&h, i, 100, (uint64_t)i));
	for (i = 1; i < 40; i++)
		hub_send(&h, 0, (size_t)i, (unsigned int)i);
	HUB_GOT(&h, 0, 0, 0, 10, 1);
	for (i = 1; i < 40; i++)
		HUB_GOT(&h, 0, (uint64_t)i, i, (size_t)i, (unsigned int)i);
	SRQ_COUNTS(h.srq, 0, 0);
	OK(dat_srq_resize(h.srq, 1));
	OK(hub_post(&h, 0, 100, 5));
	ASSERT_EQ(DAT_GET_TYPE(hub_post(&h, 1, 100, 6)), DAT_INSUFFICIENT_RESOURCES);
	hub_close(&h);
}

/* ---- post ---- */

TEST(srq, post_recv_is_refused_when_the_queue_is_full)
{
	struct hub h;
	int i;

	hub_open(&h, 0, LENGTH, 0);
	for (i = 0; i < srq_param(h.srq).max_recv_dtos; i++)
		OK(hub_post(&h, i, 100, 1));
	ASSERT_RET(hub_post(&h, 0, 100, 1), DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
	SRQ_COUNTS(h.srq, LENGTH, LENGTH);
	hub_close(&h);
}

TEST(srq, post_recv_is_refused_when_a_shrunk_queue_is_full)
{
	struct hub h;
	int i;

	hub_open(&h, 0, LENGTH, 0);
	OK(dat_srq_resize(h.srq, LENGTH / 2));
	for (i = 0; i < srq_param(h.srq).max_recv_dtos; i++)
		OK(hub_post(&h, i, 100, 1));
	ASSERT_RET(hub_post(&h, 0, 100, 1), DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
	SRQ_COUNTS(h.srq, LENGTH / 2, LENGTH / 2);
	hub_close(&h);
}

/* A buffer leaves its place when its completion is dequeued, not when a message takes it. */
TEST(srq, post_recv_is_refused_until_a_completion_is_dequeued)
{
	struct hub h;
	int i;

	hub_open(&h, 1, 4, 0);
	for (i = 0; i < 4; i++)
		OK(hub_post(&h, i, 100, (uint64_t)i));
	for (i = 0; i < 3; i++)
		hub_send(&h, 0, 10, (unsigned int)i + 1);
	srq_until_available(h.srq, 1);
	ASSERT_RET(hub_post(&h, 4, 100, 4), DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
	SRQ_COUNTS(h.srq, 1, 4);
	OK(dat_srq_resize(h.srq, 4));
	BAD_STATE(dat_srq_resize(h.srq, 3), SRQ_OPERATIONAL);
	for (i = 0; i < 3; i++) {
		HUB_GOT(&h, 0, (uint64_t)i, i, 10, (unsigned int)i + 1);
		OK(hub_post(&h, 4 + i, 100, 4 + (uint64_t)i));
		ASSERT_RET(hub_post(&h, 8, 100, 8), DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
	}
	SRQ_COUNTS(h.srq, 4, 4);
	for (i = 3; i < 7; i++) {
		hub_send(&h, 0, 20, (unsigned int)i);
		HUB_GOT(&h, 0, (uint64_t)i, i, 20, (unsigned int)i);
	}
	SRQ_COUNTS(h.srq, 0, 0);
	hub_close(&h);
}

TEST(srq, post_recv_checks_its_segments)
{
	DAT_LMR_TRIPLET t[5];
	struct hub h;
	int i;

	hub_open(&h, 0, LENGTH, 0);
	for (i = 0; i < 5; i++)
		t[i] = seg(&h.mem, (size_t)i * 100, 100);
	BAD_ARG(dat_srq_post_recv(h.srq, -1, t, ck(1)), 2);
	BAD_ARG(dat_srq_post_recv(h.srq, 5, t, ck(1)), 2);
	BAD_ARG(dat_srq_post_recv(h.srq, 1, NULL, ck(1)), 3);
	t[1] = seg(&h.mem, h.mem.len - 10, 11);
	BAD_ARG(dat_srq_post_recv(h.srq, 2, t, ck(1)), 3);
	t[1].virtual_address = (DAT_VADDR)(uintptr_t)h.mem.mem - 1;
	BAD_ARG(dat_srq_post_recv(h.srq, 2, t, ck(1)), 3);
	t[1] = seg(&h.mem, 100, 100);
	t[1].lmr_context ^= 0x5a5a5a;
	ASSERT_RET(dat_srq_post_recv(h.srq, 2, t, ck(1)), DAT_PRIVILEGES_VIOLATION,
		   DAT_PRIVILEGES_WRITE);
	SRQ_COUNTS(h.srq, 0, 0);
	t[1] = seg(&h.mem, 100, 100);
	OK(dat_srq_post_recv(h.srq, 4, t, ck(1)));
	OK(dat_srq_post_recv(h.srq, 0, NULL, ck(1)));
	OK(dat_srq_post_recv(h.srq, 0, t, ck(1)));
	SRQ_COUNTS(h.srq, 3, 3);
	hub_close(&h);
}

TEST(srq, post_recv_needs_the_right_PZ_and_local_write)
{
	struct buf reading, foreign;
	DAT_LMR_TRIPLET t;
	DAT_PZ_HANDLE pz;
	struct hub h;

	hub_open(&h, 0, LENGTH, 0);
	OK(dat_pz_create(h.node.ia, &pz));
	buf_register(&reading, &h.node, h.node.pz, h.mem.mem, 100, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	buf_register(&foreign, &h.node, pz, h.mem.mem, 100, PRIV_ALL);
	t = seg(&reading, 0, 100);
	ASSERT_RET(dat_srq_post_recv(h.srq, 1, &t, ck(1)), DAT_PRIVILEGES_VIOLATION,
		   DAT_PRIVILEGES_WRITE);
	t = seg(&foreign, 0, 100);
	ASSERT_RET(dat_srq_post_recv(h.srq, 1, &t, ck(1)), DAT_PROTECTION_VIOLATION,
		   DAT_PROTECTION_WRITE);
	SRQ_COUNTS(h.srq, 0, 0);
	buf_unregister(&reading);
	buf_unregister(&foreign);
	OK(dat_pz_free(pz));
	hub_close(&h);
}

TEST(srq, each_SRQ_has_its_own_IOV_limit)
{
	DAT_LMR_TRIPLET t[2];
	DAT_SRQ_HANDLE one;
	struct hub h;

	hub_open(&h, 0, LENGTH, 0);
	one = srq_make(&h.node, LENGTH, 1);
	t[0] = t[1] = seg(&h.mem, 0, 10);
	if (srq_param(one).max_recv_iov == 1)
		BAD_ARG(dat_srq_post_recv(one, 2, t, ck(1)), 2);
	OK(dat_srq_post_recv(one, 1, t, ck(1)));
	OK(dat_srq_free(one));
	hub_close(&h);
}
