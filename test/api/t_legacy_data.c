/* SPDX-License-Identifier: BSD-2-Clause */
/* What existing programs rely on beyond the calls' descriptions: data transfer. */
#include "rig.h"

TEST(legacy, data_send_before_the_peers_receive_waits)
{
	struct pair p;
	int i;

	pair_up(&p);
	for (i = 0; i < 10; i++)
		OK(post_send(&p.a, 0, 1000, 2));
	dt_sleep_us(US_SHORT);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_CONNECTED);
	for (i = 0; i < 10; i++)
		OK(post_recv(&p.b, 0, 1000, 1));
	for (i = 0; i < 10; i++) {
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 1000);
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 1000);
	}
	pair_close(&p);
}

TEST(legacy, data_region_with_local_write_only_is_a_source_of_sends)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET to;
	struct pair p;
	struct buf b;

	pair_up(&p);
	buf_make(&b, &p.node, 4096, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	fill(b.mem, 100, 5);
	t = seg(&b, 0, 100);
	OK(post_recv(&p.b, 0, 100, 1));
	OK(dat_ep_post_send(p.a.ep, 1, &t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 100);
	CHECK_FILL(p.b.buf.mem, 100, 5);
	EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 100);
	fill(b.mem, 100, 6);
	to = rem(&p.b.buf, 1000, 100);
	OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck(3), &to, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 3, OP_WRITE, 100);
	CHECK_WRITTEN(p.b.buf.mem + 1000, 100, 6);
	buf_free(&b);
	pair_close(&p);
}

static void large_write_with(seg_len_t max_message, seg_len_t max_rdma)
{
	DAT_LMR_TRIPLET t, u;
	DAT_RMR_TRIPLET r;
	DAT_EP_ATTR attr;
	struct buf from, to;
	struct node n;
	struct pair p;

	node_open(&n);
	attr = default_attr(&n);
	node_close(&n);
	attr.max_message_size = max_message;
	attr.max_rdma_size = max_rdma;
	pair_open_attr(&p, &attr, &attr);
	pair_connect(&p);
	buf_make(&from, &p.node, (size_t)4 << 20, PRIV_ALL);
	buf_make(&to, &p.node, (size_t)4 << 20, PRIV_ALL);
	fill(from.mem, from.len, 8);
	t = seg(&from, 0, from.len);
	r = rem(&to, 0, to.len);
	OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck(1), &r, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 1, OP_WRITE, from.len);
	CHECK_WRITTEN(to.mem, to.len, 8);
	memset(from.mem, 0, from.len);
	OK(dat_ep_post_rdma_read(p.a.ep, 1, &t, ck(4), &r, DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.a.req, p.a.ep, 4, OP_READ, from.len);
	CHECK_FILL(from.mem, from.len, 8);
	memset(to.mem, 0, to.len);
	u = seg(&to, 0, to.len);
	OK(dat_ep_post_recv(p.b.ep, 1, &u, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat_ep_post_send(p.a.ep, 1, &t, ck(3), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.b.recv, p.b.ep, 2, OP_RECV, to.len);
	CHECK_FILL(to.mem, to.len, 8);
	OK(dat_ep_free(p.a.ep));
	OK(dat_ep_free(p.b.ep));
	p.a.ep = p.b.ep = NULL;
	buf_free(&from);
	buf_free(&to);
	pair_close(&p);
}

TEST(legacy, data_sizes_of_0_in_the_attributes_mean_default)
{
	large_write_with(0, 0);
}

TEST(legacy, data_asks_for_64_KiB_and_writes_4_MiB)
{
	large_write_with(65536, 65536);
}

TEST(legacy, data_evds_of_1_to_51200_entries)
{
	static const DAT_COUNT lens[] = { 1, 2, 16, 100, 1000, 8192, 51200 };
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;
	struct node n;
	unsigned int i;

	node_open(&n);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		evd = evd_make(&n, lens[i], DAT_EVD_DTO_FLAG);
		OK(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
		ASSERT(param.evd_qlen >= lens[i]);
		OK(dat_evd_free(evd));
	}
	node_close(&n);
}

TEST(legacy, data_endpoint_with_20000_receives_and_requests)
{
	DAT_EP_ATTR attr;
	struct node n;
	struct pair p;
	uint64_t i;

	node_open(&n);
	attr = default_attr(&n);
	ASSERT(n.attr.max_dto_per_ep >= 20000);
	node_close(&n);
	attr.max_recv_dtos = 20000;
	attr.max_request_dtos = 20000;
	pair_open_attr(&p, &attr, &attr);
	for (i = 0; i < 20000; i++)
		OK(post_recv(&p.b, 0, 8, i));
	pair_connect(&p);
	OK(post_send(&p.a, 0, 8, 1));
	EV_DTO(p.b.recv, p.b.ep, 0, OP_RECV, 8);
	pair_disconnect(&p);
	for (i = 1; i < 20000; i++)
		EV_FLUSH(p.b.recv, p.b.ep, i, OP_RECV);
	pair_close(&p);
}

TEST(legacy, data_iov_of_20_segments_is_granted_or_refused)
{
	DAT_LMR_TRIPLET t[20];
	DAT_EVD_HANDLE evd;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;
	struct node n;
	struct pair p;
	int i;

	node_open(&n);
	attr = default_attr(&n);
	attr.max_recv_iov = 20;
	attr.max_request_iov = 20;
	if (n.attr.max_iov_segments_per_dto < 20) {
		evd = evd_make(&n, 16, DAT_EVD_DTO_FLAG);
		BAD_ARG(dat_ep_create(n.ia, n.pz, evd, evd, NULL, &attr, &ep), 6);
		OK(dat_evd_free(evd));
		node_close(&n);
		return;
	}
	node_close(&n);
	pair_open_attr(&p, &attr, &attr);
	pair_connect(&p);
	for (i = 0; i < 20; i++)
		t[i] = seg(&p.a.buf, (size_t)i * 100, 50);
	OK(post_recv(&p.b, 0, 1000, 1));
	OK(dat_ep_post_send(p.a.ep, 20, t, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 1000);
	pair_close(&p);
}

TEST(legacy, data_two_regions_of_432_MB)
{
	struct buf b[2];
	struct node n;

	node_open(&n);
	buf_make(&b[0], &n, (size_t)432 << 20, PRIV_ALL);
	buf_make(&b[1], &n, (size_t)432 << 20, PRIV_ALL);
	buf_free(&b[0]);
	buf_free(&b[1]);
	node_close(&n);
}

TEST(legacy, data_threshold_1_is_used_nearly_everywhere)
{
	DAT_COUNT more;
	DAT_EVENT ev;
	struct pair p;
	int i;

	pair_up(&p);
	for (i = 0; i < 100; i++) {
		OK(post_recv(&p.b, 0, 8, 1));
		OK(post_send(&p.a, 0, 8, 2));
		OK(dat_evd_wait(p.b.recv, DAT_TIMEOUT_INFINITE, 1, &ev, &more));
		CHECK_DTO(&ev, p.b.recv, p.b.ep, 1, OP_RECV, 8);
		OK(dat_evd_wait(p.a.req, DAT_TIMEOUT_INFINITE, 1, &ev, &more));
		CHECK_DTO(&ev, p.a.req, p.a.ep, 2, OP_SEND, 8);
	}
	pair_close(&p);
}

TEST(legacy, data_merged_evds_of_16_entries)
{
	DAT_EVD_HANDLE cm, dto;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE a, b;
	DAT_LMR_TRIPLET from, to;
	struct buf buf;
	struct node n;
	DAT_EVENT ev;
	int i;

	node_open(&n);
	buf_make(&buf, &n, 4096, PRIV_ALL);
	cm = evd_make(&n, 16, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG);
	dto = evd_make(&n, 16, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	OK(dat_ep_create(n.ia, n.pz, dto, dto, cm, NULL, &a));
	OK(dat_ep_create(n.ia, n.pz, dto, dto, cm, NULL, &b));
	OK(dat_psp_create_any(n.ia, &qual, cm, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(connect_to(a, n.attr.ia_address_ptr, qual));
	OK(dat_cr_accept(EV_CR(cm, psp, qual), b, 0, NULL));
	EV_NEXT(cm, &ev);
	EV_NEXT(cm, &ev);
	from = seg(&buf, 0, 8);
	to = seg(&buf, 64, 8);
	for (i = 0; i < 8; i++) {
		OK(dat_ep_post_recv(b, 1, &to, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
		OK(dat_ep_post_send(a, 1, &from, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (i = 0; i < 16; i++) {
		EV_NEXT(dto, &ev);
		ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_SUCCESS);
	}
	OK(dat_ep_free(a));
	OK(dat_ep_free(b));
	OK(dat_psp_free(psp));
	OK(dat_evd_free(cm));
	OK(dat_evd_free(dto));
	buf_free(&buf);
	node_close(&n);
}

TEST(legacy, data_dequeue_returns_QUEUE_EMPTY_bare)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;
	struct node n;

	node_open(&n);
	evd = evd_make(&n, 4, DAT_EVD_SOFTWARE_FLAG);
	ASSERT(dat_evd_dequeue(evd, &ev) == DAT_QUEUE_EMPTY);
	ASSERT(dat_evd_dequeue(n.async, &ev) == DAT_QUEUE_EMPTY);
	OK(dat_evd_free(evd));
	node_close(&n);
}

TEST(legacy, data_attributes_of_a_default_endpoint_are_usable_as_they_come_back)
{
	DAT_EP_ATTR attr;
	struct node n;
	struct pair p;

	node_open(&n);
	attr = default_attr(&n);
	node_close(&n);
	pair_open_attr(&p, &attr, &attr);
	pair_connect(&p);
	OK(post_recv(&p.b, 0, 8, 1));
	OK(post_send(&p.a, 0, 8, 2));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 8);
	pair_close(&p);
}
