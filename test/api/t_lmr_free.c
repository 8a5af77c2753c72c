/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages whose memory is not registered any more. */
#include <sys/mman.h>

#include "rig.h"

#define MESSAGES 16
#define LEN 100
#define REGION 4096

/* True if a failed receive reports the failure and its cause. */
static bool has_gone(DAT_DTO_COMPLETION_STATUS status)
{
	return status == DAT_DTO_ERR_LOCAL_PROTECTION || status == DAT_DTO_ERR_LOCAL_EP ||
	       /* Soft-iWARP reports a failure without a cause. */
	       (fabric_is("iwarp") && status == DAT_DTO_ERR_TRANSPORT);
}

/* What is in flight may go either way; later use is refused. */
TEST(lmr, freed_under_a_posted_receive)
{
	DAT_LMR_TRIPLET t;
	struct pair p;
	struct buf b;
	DAT_EVENT ev;

	pair_up(&p);
	buf_make(&b, &p.node, 4096, PRIV_ALL);
	t = seg(&b, 0, 100);
	OK(dat_ep_post_recv(p.b.ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
	buf_unregister(&b);
	OK(post_send(&p.a, 0, 100, 2));
	EV_NEXT(p.b.recv, &ev);
	ASSERT_EQ(dto_of(&ev)->user_cookie.as_64, 1);
	ASSERT(dto_of(&ev)->status == DAT_DTO_SUCCESS || has_gone(dto_of(&ev)->status));
	ASSERT_RET(dat_ep_post_recv(p.b.ep, 1, &t, ck(3), DAT_COMPLETION_DEFAULT_FLAG),
		   DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	buf_free(&b);
	pair_close(&p);
}

static void pour(void *arg)
{
	struct side *s = arg;
	DAT_EVENT ev;
	int i;

	for (i = 0; i < MESSAGES; i++)
		OK(post_send(s, 0, LEN, (uint64_t)i));
	for (i = 0; i < MESSAGES; i++)
		EV_NEXT(s->req, &ev);
}

/* Frees the region `us` after the first of many messages has left. */
static void free_while_they_arrive(uint32_t us)
{
	bool device = fabric_is("verbs") || fabric_is("iwarp"), failed = false;
	struct dt_thread sender;
	struct pair p;
	struct buf b;
	DAT_EVENT ev;
	void *mem;
	int i;

	mem = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(mem != MAP_FAILED);
	pair_up(&p);
	fill(p.a.buf.mem, LEN, 3);
	buf_register(&b, &p.node, p.node.pz, mem, REGION, PRIV_ALL);
	for (i = 0; i < MESSAGES; i++) {
		DAT_LMR_TRIPLET t = seg(&b, (size_t)i * LEN, LEN);

		OK(dat_ep_post_recv(p.b.ep, 1, &t, ck((uint64_t)i), DAT_COMPLETION_DEFAULT_FLAG));
	}
	dt_thread_start(&sender, pour, &p.a);
	dt_sleep_us(us);
	buf_unregister(&b);
	/* This side does not access it any more; a software fabric may. */
	if (device)
		ASSERT_EQ(mprotect(mem, REGION, PROT_NONE), 0);
	for (i = 0; i < MESSAGES; i++) {
		EV_NEXT(p.b.recv, &ev);
		ASSERT_EQ(dto_of(&ev)->user_cookie.as_64, (uint64_t)i);
		if (failed)
			ASSERT_EQ(dto_of(&ev)->status, DAT_DTO_ERR_FLUSHED);
		else if (dto_of(&ev)->status != DAT_DTO_SUCCESS)
			ASSERT(has_gone(dto_of(&ev)->status) ||
			       dto_of(&ev)->status == DAT_DTO_ERR_FLUSHED);
		failed |= dto_of(&ev)->status != DAT_DTO_SUCCESS;
	}
	EV_EMPTY(p.b.recv);
	dt_thread_join(&sender);
	pair_close(&p);
	ASSERT_EQ(munmap(mem, REGION), 0);
}

TEST_LIMIT(lmr, freed_while_messages_arrive, 60)
{
	uint32_t us;

	for (us = 0; us < 2000; us += 100)
		free_while_they_arrive(us);
}

#define READS 4000

/* The peer has the data, and may say so in any way. The connection does not end: the read does not
 * access the region any more, whether or not its owner has polled. */
TEST_LIMIT(lmr, freed_after_a_peer_has_read_it, 60)
{
	struct node n;
	struct pair p;
	struct side s;
	struct buf b;

	pair_open(&p);
	node_open(&n);
	side_make(&s, &n, NULL);
	OK(connect_to(s.ep, p.node.attr.ia_address_ptr, p.qual));
	OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), p.b.ep, 0, NULL));
	EV_CONN(s.conn, ESTABLISHED, s.ep);
	EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
	for (int i = 0; i < READS; i++) {
		DAT_LMR_TRIPLET to = seg(&s.buf, 0, SIDE_BUF);
		DAT_RMR_TRIPLET from;

		buf_register(&b, &p.node, p.node.pz, p.b.buf.mem, SIDE_BUF, PRIV_ALL);
		from = rem(&b, 0, SIDE_BUF);
		OK(dat_ep_post_rdma_read(s.ep, 1, &to, ck((uint64_t)i), &from,
					 DAT_COMPLETION_DEFAULT_FLAG));
		EV_DTO(s.req, s.ep, (uint64_t)i, OP_READ, SIDE_BUF);
		buf_unregister(&b);
	}
	EV_EMPTY(p.b.conn);
	side_free(&s);
	node_close(&n);
	pair_close(&p);
}
