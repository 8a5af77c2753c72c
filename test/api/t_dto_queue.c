/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests limits of posting, and queues shared by several endpoints. */
#include "rig.h"

#include <sys/resource.h>

TEST(dto, receives_beyond_the_limit_are_INSUFFICIENT_RESOURCES)
{
	DAT_EP_PARAM param;
	struct pair p;
	DAT_COUNT i;

	pair_open(&p);
	OK(dat_ep_query(p.b.ep, DAT_EP_FIELD_ALL, &param));
	for (i = 0; i < param.ep_attr.max_recv_dtos; i++)
		OK(post_recv(&p.b, 0, 10, (uint64_t)i));
	ASSERT_EQ(DAT_GET_TYPE(post_recv(&p.b, 0, 10, 999)), DAT_INSUFFICIENT_RESOURCES);
	pair_connect(&p);
	ASSERT_EQ(DAT_GET_TYPE(post_recv(&p.b, 0, 10, 999)), DAT_INSUFFICIENT_RESOURCES);
	/* A place is free again as soon as the receive has completed. */
	OK(post_send(&p.a, 0, 10, 5));
	EV_DTO(p.b.recv, p.b.ep, 0, OP_RECV, 10);
	OK(post_recv(&p.b, 0, 10, 1000));
	ASSERT_EQ(DAT_GET_TYPE(post_recv(&p.b, 0, 10, 999)), DAT_INSUFFICIENT_RESOURCES);
	pair_close(&p);
}

TEST_LIMIT(dto, requests_beyond_the_limit_are_INSUFFICIENT_RESOURCES, 60)
{
	DAT_LMR_TRIPLET t, r;
	struct buf big, sink;
	DAT_EP_PARAM param;
	DAT_COUNT i, n;
	struct pair p;

	pair_up(&p);
	OK(dat_ep_query(p.a.ep, DAT_EP_FIELD_ALL, &param));
	n = param.ep_attr.max_request_dtos;
	buf_make(&big, &p.node, BLOCK_LEN, PRIV_ALL);
	buf_make(&sink, &p.node, BLOCK_LEN, PRIV_ALL);
	t = seg(&big, 0, BLOCK_LEN);
	r = seg(&sink, 0, BLOCK_LEN);
	/* Nothing is received: the last ones stay, and the first may leave for the socket. */
	for (i = 0; i < n; i++)
		OK(dat_ep_post_send(p.a.ep, 1, &t, ck((uint64_t)i), DAT_COMPLETION_DEFAULT_FLAG));
	for (i = 0; i < n; i++)
		if (dat_ep_post_send(p.a.ep, 1, &t, ck(999), DAT_COMPLETION_DEFAULT_FLAG) !=
		    DAT_SUCCESS)
			break;
	ASSERT(i < n);
	ASSERT_EQ(
		DAT_GET_TYPE(dat_ep_post_send(p.a.ep, 1, &t, ck(999), DAT_COMPLETION_DEFAULT_FLAG)),
		DAT_INSUFFICIENT_RESOURCES);
	/* Requests of all kinds share the limit. */
	ASSERT_RET(post_read(&p.a, 0, 8, 999, &p.b, 0), DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
	ASSERT_RET(post_write(&p.a, 0, 8, 999, &p.b, 0), DAT_INSUFFICIENT_RESOURCES,
		   DAT_NO_SUBTYPE);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_CONNECTED);
	for (i = 0; i < 4; i++)
		OK(dat_ep_post_recv(p.b.ep, 1, &r, ck((uint64_t)i), DAT_COMPLETION_DEFAULT_FLAG));
	for (i = 0; i < 4; i++)
		EV_DTO(p.b.recv, p.b.ep, (uint64_t)i, OP_RECV, BLOCK_LEN);
	EV_DTO(p.a.req, p.a.ep, 0, OP_SEND, BLOCK_LEN);
	OK(dat_ep_post_send(p.a.ep, 1, &t, ck(1000), DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat_ep_free(p.a.ep));
	OK(dat_ep_free(p.b.ep));
	p.a.ep = p.b.ep = NULL;
	buf_free(&big);
	buf_free(&sink);
	pair_close(&p);
}

TEST(dto, queues_of_one_operation)
{
	DAT_EP_ATTR attr;
	struct node n;
	struct pair p;
	int i;

	node_open(&n);
	attr = default_attr(&n);
	node_close(&n);
	attr.max_recv_dtos = 1;
	attr.max_request_dtos = 1;
	pair_open_attr(&p, &attr, &attr);
	pair_connect(&p);
	for (i = 0; i < 50; i++) {
		OK(post_recv(&p.b, 0, 10, 1));
		OK(post_send(&p.a, 0, 10, 2));
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 10);
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 10);
	}
	pair_close(&p);
}

TEST_LIMIT(dto, deep_queues_of_thousands, 60)
{
	DAT_EP_ATTR attr;
	struct node n;
	struct pair p;
	uint64_t i;

	node_open(&n);
	attr = default_attr(&n);
	if (n.attr.max_dto_per_ep < 4000)
		dt_skip("max_dto_per_ep is %d", n.attr.max_dto_per_ep);
	node_close(&n);
	attr.max_recv_dtos = 4000;
	attr.max_request_dtos = 4000;
	pair_open_attr(&p, &attr, &attr);
	pair_connect(&p);
	for (i = 0; i < 4000; i++)
		OK(post_recv(&p.b, 0, 16, i));
	for (i = 0; i < 4000; i++)
		OK(post_send(&p.a, 0, 16, 10000 + i));
	for (i = 0; i < 4000; i++)
		EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, 16);
	for (i = 0; i < 4000; i++)
		EV_DTO(p.a.req, p.a.ep, 10000 + i, OP_SEND, 16);
	pair_close(&p);
}

/* As many receives as there is room for, and no more; then all are used, by messages and writes in
 * turn. */
static void fill_and_use(struct pair *p, DAT_COUNT most)
{
	DAT_COUNT i;

	for (i = 0; i < most; i++)
		OK(post_recv(&p->b, 0, 16, (uint64_t)i));
	ASSERT_EQ(DAT_GET_TYPE(post_recv(&p->b, 0, 16, 999)), DAT_INSUFFICIENT_RESOURCES);
	for (i = 0; i < most; i++) {
		OK(post_send(&p->a, 0, 16, 1000 + (uint64_t)i));
		if (i % 2)
			continue;
		EV_DTO(p->a.req, p->a.ep, 1000 + (uint64_t)i - (i ? 1 : 0), OP_SEND, 16);
		if (i)
			EV_DTO(p->a.req, p->a.ep, 1000 + (uint64_t)i, OP_SEND, 16);
		OK(post_write(&p->a, 0, 16, 5000, &p->b, 64));
		EV_DTO(p->a.req, p->a.ep, 5000, OP_WRITE, 16);
	}
	if (most % 2 == 0)
		EV_DTO(p->a.req, p->a.ep, 1000 + (uint64_t)most - 1, OP_SEND, 16);
	for (i = 0; i < most; i++)
		EV_DTO(p->b.recv, p->b.ep, (uint64_t)i, OP_RECV, 16);
}

/* Queues that run empty repeatedly after different loads: the counts stay correct. */
TEST_LIMIT(dto, queues_run_empty_and_are_filled_again, 20)
{
	DAT_BOOLEAN recv_idle, req_idle;
	DAT_EP_STATE state;
	DAT_EP_PARAM param;
	struct dt_start start;
	DAT_EP_ATTR attr;
	struct node n;
	struct pair p;
	int round, i;

	node_open(&n);
	attr = default_attr(&n);
	node_close(&n);
	attr.max_recv_dtos = attr.max_request_dtos = 100;
	pair_open_attr(&p, &attr, &attr);
	pair_connect(&p);
	OK(dat_ep_query(p.b.ep, DAT_EP_FIELD_ALL, &param));
	start = dt_start();
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 60 + 41 * round; i++) {
			OK(post_recv(&p.b, 0, 16, 1));
			OK(post_send(&p.a, 0, 16, 2));
			EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 16);
			EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 16);
			OK(dat_ep_get_status(p.a.ep, &state, &recv_idle, &req_idle));
			ASSERT_EQ(req_idle, DAT_TRUE);
		}
		fill_and_use(&p, param.ep_attr.max_recv_dtos);
		/* With wrong counts a post passes 2^32 positions in search of its operation. */
		ASSERT(dt_in_time(&start, 2000000));
	}
	for (i = 0; i < 5; i++)
		OK(post_recv(&p.b, 0, 16, (uint64_t)i));
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
	for (i = 0; i < 5; i++)
		EV_FLUSH(p.b.recv, p.b.ep, (uint64_t)i, OP_RECV);
	EV_EMPTY(p.b.recv);
	pair_close(&p);
}

TEST(dto, many_connections_on_one_receive_evd)
{
	struct side a[8], b[8];
	DAT_EVD_HANDLE evd;
	DAT_EP_PARAM param;
	struct pair p;
	int i, got[8] = { 0 };
	DAT_EVENT ev;

	pair_open(&p);
	evd = evd_make(&p.node, 256, DAT_EVD_DTO_FLAG);
	memset(&param, 0, sizeof(param));
	param.recv_evd_handle = evd;
	for (i = 0; i < 8; i++) {
		side_make(&a[i], &p.node, NULL);
		side_make(&b[i], &p.node, NULL);
		OK(dat_ep_modify(b[i].ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
		OK(connect_to(a[i].ep, p.node.attr.ia_address_ptr, p.qual));
		OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), b[i].ep, 0, NULL));
		EV_CONN(a[i].conn, ESTABLISHED, a[i].ep);
	}
	for (i = 0; i < 80; i++) {
		OK(post_recv(&b[i % 8], 0, 10, (uint64_t)(i % 8)));
		OK(post_send(&a[i % 8], 0, 10, 77));
	}
	for (i = 0; i < 80; i++) {
		EV_NEXT(evd, &ev);
		got[dto_of(&ev)->user_cookie.as_64]++;
		ASSERT_PTR(dto_of(&ev)->ep_handle, b[dto_of(&ev)->user_cookie.as_64].ep);
	}
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(got[i], 10);
		side_free(&a[i]);
		side_free(&b[i]);
	}
	OK(dat_evd_free(evd));
	pair_close(&p);
}

static double cpu_of_polls(DAT_EVD_HANDLE evd)
{
	struct timespec from, to;
	DAT_EVENT event;
	int i;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (i = 0; i < 20000; i++)
		ASSERT_EQ(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

/* More requests than the fabric accepts. */
#define MANY 4096

static void pair_up_with_many_requests(struct pair *p)
{
	DAT_EP_PARAM param;

	pair_open(p);
	OK(dat_ep_query(p->a.ep, DAT_EP_FIELD_ALL, &param));
	param.ep_attr.max_request_dtos = MANY;
	OK(dat_ep_modify(p->a.ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
	pair_connect(p);
}

TEST(dto, polls_are_cheap_while_requests_wait_for_the_fabric)
{
	DAT_EVD_HANDLE soft;
	double idle, waiting;
	struct pair p;
	int i;

	pair_up_with_many_requests(&p);
	OK(dat_evd_create(p.node.ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &soft));
	idle = cpu_of_polls(soft);
	/* Nothing receives them: the fabric accepts only a part. */
	for (i = 0; i < MANY; i++)
		OK(post_send(&p.a, 0, 10, (uint64_t)i));
	waiting = cpu_of_polls(soft);
	dt_note("20000 polls: %.1f ms, while requests wait %.1f ms", idle * 1e3, waiting * 1e3);
	ASSERT(waiting < 100 * idle + 0.01);
	OK(dat_evd_free(soft));
	pair_close(&p);
}

TEST(dto, requests_that_wait_for_the_fabric_wake_no_thread)
{
	struct rusage before, after;
	struct pair p;
	int i;

	pair_up_with_many_requests(&p);
	for (i = 0; i < MANY; i++)
		OK(post_send(&p.a, 0, 10, (uint64_t)i));
	dt_sleep_us(500000);
	getrusage(RUSAGE_SELF, &before);
	dt_sleep_us(1000000);
	getrusage(RUSAGE_SELF, &after);
	dt_note("%ld switches of context in a second", after.ru_nvcsw - before.ru_nvcsw);
	/* Threads of sanitizers wake, too. */
	ASSERT(after.ru_nvcsw - before.ru_nvcsw < 200);
	pair_close(&p);
}

/* Completions of suppressed requests end no wait, but the waiter has to read them. */
TEST_LIMIT(dto, wait_for_the_last_of_many_suppressed_requests_is_short, 60)
{
	struct dt_start start;
	struct pair p;
	int i;

	pair_up_with_many_requests(&p);
	start = dt_start();
	for (i = 0; i < MANY; i++) {
		DAT_LMR_TRIPLET t = seg(&p.a.buf, 0, 64);
		DAT_RMR_TRIPLET r = rem(&p.b.buf, 0, 64);

		OK(dat_ep_post_rdma_write(p.a.ep, 1, &t, ck((uint64_t)i), &r,
					  i < MANY - 1 ? DAT_COMPLETION_SUPPRESS_FLAG
						       : DAT_COMPLETION_DEFAULT_FLAG));
	}
	EV_DTO(p.a.req, p.a.ep, MANY - 1, OP_WRITE, 64);
	ASSERT(dt_in_time(&start, 3000000));
	pair_close(&p);
}
