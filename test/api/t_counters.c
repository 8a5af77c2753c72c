/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the counters of the InfiniBand extension: their exact values after known operations. */
#include "ext.h"
#include "srq_rig.h"

static DAT_UINT64 ep_count(DAT_EP_HANDLE ep, DAT_EP_COUNTERS which)
{
	DAT_UINT64 n = ~(DAT_UINT64)0;

	OK(dat_ib_query_counters(ep, which, &n, 0));
	return n;
}

static DAT_UINT64 ia_count(const struct node *n, DAT_IA_COUNTERS which)
{
	DAT_UINT64 count = ~(DAT_UINT64)0;

	OK(dat_ib_query_counters(n->ia, which, &count, 0));
	return count;
}

static DAT_UINT64 evd_count(DAT_EVD_HANDLE evd, DAT_EVD_COUNTERS which)
{
	DAT_UINT64 n = ~(DAT_UINT64)0;

	OK(dat_ib_query_counters(evd, which, &n, 0));
	return n;
}

#define EP_COUNT(ep_, which_, n_) ASSERT_EQ(ep_count(ep_, DCNT_EP_##which_), n_)
#define IA_COUNT(node_, which_, n_) ASSERT_EQ(ia_count(node_, DCNT_IA_##which_), n_)
#define EVD_COUNT(evd_, which_, n_) ASSERT_EQ(evd_count(evd_, DCNT_EVD_##which_), n_)

/* All counters of an endpoint; `want` has those that are not zero. */
static void ep_counts(const char *file, int line, DAT_EP_HANDLE ep, const DAT_UINT64 *want)
{
	DAT_UINT64 n[DCNT_EP_ALL_COUNTERS + 1];

	n[DCNT_EP_ALL_COUNTERS] = 0x5aa55aa5;
	OK(dat_ib_query_counters(ep, DCNT_EP_ALL_COUNTERS, n, 0));
	for (int i = 0; i < DCNT_EP_ALL_COUNTERS; i++)
		if (n[i] != want[i])
			dt_fail(file, line, "counter %d of the EP is %llu, expected %llu", i,
				(unsigned long long)n[i], (unsigned long long)want[i]);
	ASSERT_EQ(n[DCNT_EP_ALL_COUNTERS], 0x5aa55aa5);
}

#define EP_COUNTS(ep_, ...) \
	ep_counts(__FILE__, __LINE__, ep_, (const DAT_UINT64[DCNT_EP_ALL_COUNTERS]){ __VA_ARGS__ })

TEST(counters, a_new_object_has_none)
{
	struct pair p;

	pair_open(&p);
	EP_COUNTS(p.a.ep, 0);
	for (int i = 0; i < DCNT_EVD_ALL_COUNTERS; i++)
		ASSERT_EQ(evd_count(p.a.recv, (DAT_EVD_COUNTERS)i), 0);
	pair_close(&p);
}

TEST(counters, sends_and_receives_with_their_bytes)
{
	static const size_t sizes[] = { 8, 64, 100, 4000, 20000 };
	struct pair p;

	pair_up(&p);
	for (unsigned int i = 0; i < 5; i++)
		OK(post_recv(&p.b, i, 30000, i));
	for (unsigned int i = 0; i < 5; i++) {
		OK(post_send(&p.a, 0, sizes[i], 10 + i));
		EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, sizes[i]);
		EV_DTO(p.a.req, p.a.ep, 10 + i, OP_SEND, sizes[i]);
	}
	EP_COUNTS(p.a.ep, [DCNT_EP_CONNECT] = 1, [DCNT_EP_POST_SEND] = 5,
		  [DCNT_EP_POST_SEND_DATA] = 24172);
	EP_COUNTS(p.b.ep, [DCNT_EP_POST_RECV] = 5, [DCNT_EP_POST_RECV_DATA] = 150000,
		  [DCNT_EP_RECV] = 5, [DCNT_EP_RECV_DATA] = 24172);
	EVD_COUNT(p.a.req, DTO_CALLBACK, 5);
	EVD_COUNT(p.b.recv, DTO_CALLBACK, 5);
	pair_close(&p);
}

TEST(counters, writes_and_reads_with_their_bytes)
{
	struct pair p;

	pair_up(&p);
	for (unsigned int i = 0; i < 3; i++) {
		OK(post_write(&p.a, 0, 1000, i, &p.b, 0));
		EV_DTO(p.a.req, p.a.ep, i, OP_WRITE, 1000);
	}
	for (unsigned int i = 0; i < 4; i++) {
		OK(post_read(&p.b, 0, 500, i, &p.a, 0));
		EV_DTO(p.b.req, p.b.ep, i, OP_READ, 500);
	}
	EP_COUNTS(p.a.ep, [DCNT_EP_CONNECT] = 1, [DCNT_EP_POST_WRITE] = 3,
		  [DCNT_EP_POST_WRITE_DATA] = 3000);
	EP_COUNTS(p.b.ep, [DCNT_EP_POST_READ] = 4, [DCNT_EP_POST_READ_DATA] = 2000);
	pair_close(&p);
}

TEST(counters, several_segments_and_none)
{
	DAT_LMR_TRIPLET t[3];
	struct pair p;

	pair_up(&p);
	for (size_t i = 0; i < 3; i++)
		t[i] = seg(&p.a.buf, i * 100, 10 + i);
	OK(post_recv(&p.b, 0, 100, 1));
	OK(post_recv(&p.b, 0, 100, 2));
	OK(dat_ep_post_send(p.a.ep, 3, t, ck(3), DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat_ep_post_send(p.a.ep, 0, NULL, ck(4), DAT_COMPLETION_DEFAULT_FLAG));
	EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 33);
	EV_DTO(p.b.recv, p.b.ep, 2, OP_RECV, 0);
	EV_DTO(p.a.req, p.a.ep, 3, OP_SEND, 33);
	EV_DTO(p.a.req, p.a.ep, 4, OP_SEND, 0);
	EP_COUNT(p.a.ep, POST_SEND, 2);
	EP_COUNT(p.a.ep, POST_SEND_DATA, 33);
	EP_COUNT(p.b.ep, RECV, 2);
	EP_COUNT(p.b.ep, RECV_DATA, 33);
	pair_close(&p);
}

TEST(counters, immediate_data_and_atomics)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET r;
	struct buf mem;
	struct pair p;

	if (!fabric_has("atomics"))
		dt_skip("the fabric has no atomic operations");
	pair_up(&p);
	buf_make(&mem, &p.node, 4096, PRIV_ATOMIC);
	t = seg(&p.a.buf, 0, 8);
	r = rem(&mem, 0, 8);
	OK(post_recv(&p.b, 0, 0, 1));
	OK(dat_ib_post_rdma_write_immed(p.a.ep, 1, &t, ck(2), &r, 77, 0));
	EV_IMMED(p.b.recv, p.b.ep, 1, 8, 77);
	EV_EXT(p.a.req, p.a.ep, 2, RDMA_WRITE_IMMED, 8);
	for (unsigned int i = 0; i < 2; i++) {
		OK(dat_ib_post_fetch_and_add(p.a.ep, 1, &t, ck(3), &r, 0));
		EV_EXT(p.a.req, p.a.ep, 3, FETCH_ADD, 8);
	}
	for (unsigned int i = 0; i < 3; i++) {
		OK(dat_ib_post_cmp_and_swap(p.a.ep, 1, 2, &t, ck(4), &r, 0));
		EV_EXT(p.a.req, p.a.ep, 4, CMP_SWAP, 8);
	}
	EP_COUNTS(p.a.ep, [DCNT_EP_CONNECT] = 1, [DCNT_EP_POST_WRITE_IMM] = 1,
		  [DCNT_EP_POST_WRITE_IMM_DATA] = 8, [DCNT_EP_POST_FETCH_ADD] = 2,
		  [DCNT_EP_POST_CMP_SWAP] = 3);
	EP_COUNTS(p.b.ep, [DCNT_EP_POST_RECV] = 1, [DCNT_EP_RECV_RDMA_IMM] = 1,
		  [DCNT_EP_RECV_RDMA_IMM_DATA] = 8);
	pair_disconnect(&p);
	buf_free(&mem);
	pair_close(&p);
}

/* A rejected call counts nothing. */
TEST(counters, failed_posts_are_not_counted)
{
	DAT_LMR_TRIPLET t;
	struct pair p;

	pair_open(&p);
	t = seg(&p.a.buf, 0, 8);
	t.lmr_context ^= 0x55555555;
	ASSERT(post_send(&p.a, 0, 8, 1) != DAT_SUCCESS); /* not connected */
	ASSERT(dat_ep_post_recv(p.a.ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS);
	BAD_ARG(dat_ep_post_recv(p.a.ep, -1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG), 2);
	EP_COUNTS(p.a.ep, 0);
	pair_close(&p);
}

/* A flushed receive is no message. */
TEST(counters, flushes_are_completions_but_no_messages)
{
	struct pair p;

	pair_up(&p);
	for (unsigned int i = 0; i < 6; i++)
		OK(post_recv(&p.b, 0, 100, i));
	OK(post_send(&p.a, 0, 50, 9));
	EV_DTO(p.b.recv, p.b.ep, 0, OP_RECV, 50);
	EV_DTO(p.a.req, p.a.ep, 9, OP_SEND, 50);
	pair_disconnect(&p);
	for (unsigned int i = 1; i < 6; i++)
		EV_FLUSH(p.b.recv, p.b.ep, i, OP_RECV);
	EP_COUNTS(p.b.ep, [DCNT_EP_POST_RECV] = 6, [DCNT_EP_POST_RECV_DATA] = 600,
		  [DCNT_EP_RECV] = 1, [DCNT_EP_RECV_DATA] = 50);
	EVD_COUNT(p.b.recv, DTO_CALLBACK, 6);
	EVD_COUNT(p.a.req, DTO_CALLBACK, 1);
	pair_close(&p);
}

TEST(counters, an_srq_counts_its_messages_at_the_endpoint)
{
	struct hub h;

	hub_open(&h, 2, 8, 0);
	for (int i = 0; i < 3; i++)
		OK(hub_post(&h, i, 200, (uint64_t)i));
	for (int i = 0; i < 3; i++) {
		hub_send(&h, i != 0, 100, 7);
		HUB_GOT(&h, i != 0, (uint64_t)i, i, 100, 7);
	}
	EP_COUNT(h.on[0].ep, RECV, 1);
	EP_COUNT(h.on[0].ep, RECV_DATA, 100);
	EP_COUNT(h.on[1].ep, RECV, 2);
	EP_COUNT(h.on[1].ep, RECV_DATA, 200);
	EP_COUNT(h.on[0].ep, POST_RECV, 0);
	IA_COUNT(&h.node, SRQ_CREATE, 1);
	hub_close(&h);
}

/* ---- connections ---- */

TEST(counters, connections_of_both_sides)
{
	struct pair p;

	pair_open(&p);
	IA_COUNT(&p.node, CM_LISTEN, 1);
	pair_connect(&p);
	IA_COUNT(&p.node, SP_CR, 1);
	IA_COUNT(&p.node, SP_CR_ACCEPTED, 1);
	IA_COUNT(&p.node, SP_CR_REJECTED, 0);
	IA_COUNT(&p.node, CM_REQ_TX, 1);
	IA_COUNT(&p.node, CM_REQ_RX, 1);
	IA_COUNT(&p.node, CM_REP_TX, 1);
	IA_COUNT(&p.node, CM_REP_RX, 1);
	IA_COUNT(&p.node, CM_RTU_TX, 1);
	IA_COUNT(&p.node, CM_RTU_RX, 1);
	IA_COUNT(&p.node, CM_ACTIVE_EST, 1);
	IA_COUNT(&p.node, CM_PASSIVE_EST, 1);
	IA_COUNT(&p.node, CM_DREQ_TX, 0);
	EP_COUNT(p.a.ep, CONNECT, 1);
	EP_COUNT(p.b.ep, CONNECT, 0);
	pair_disconnect(&p);
	IA_COUNT(&p.node, CM_DREQ_TX, 1);
	IA_COUNT(&p.node, CM_DREQ_RX, 1);
	IA_COUNT(&p.node, CM_ERR, 0);
	EP_COUNT(p.a.ep, DISCONNECT, 1);
	EP_COUNT(p.b.ep, DISCONNECT, 0);
	EVD_COUNT(p.a.conn, CONN_CALLBACK, 2);
	EVD_COUNT(p.b.conn, CONN_CALLBACK, 2);
	EVD_COUNT(p.cr_evd, CONN_CALLBACK, 0);
	EVD_COUNT(p.a.conn, DTO_CALLBACK, 0);
	/* The counters of an endpoint survive its reset. */
	OK(dat_ep_reset(p.a.ep));
	EP_COUNT(p.a.ep, CONNECT, 1);
	EP_COUNT(p.a.ep, DISCONNECT, 1);
	pair_close(&p);
}

TEST(counters, rejections_of_both_sides)
{
	struct pair p;

	pair_open(&p);
	OK(dat_cr_reject(pair_request(&p), 0, NULL));
	EV_CONN(p.a.conn, PEER_REJECTED, p.a.ep);
	IA_COUNT(&p.node, SP_CR, 1);
	IA_COUNT(&p.node, SP_CR_ACCEPTED, 0);
	IA_COUNT(&p.node, SP_CR_REJECTED, 1);
	IA_COUNT(&p.node, CM_USER_REJ_TX, 1);
	IA_COUNT(&p.node, CM_USER_REJ_RX, 1);
	IA_COUNT(&p.node, CM_ERR_REJ_TX, 0);
	IA_COUNT(&p.node, CM_ACTIVE_EST, 0);
	IA_COUNT(&p.node, CM_ERR, 0);
	pair_close(&p);
}

TEST(counters, an_attempt_without_a_listener_is_an_error)
{
	struct pair p;

	set_no_connect_retry();
	pair_open(&p);
	OK(dat_psp_free(p.psp));
	p.psp = NULL;
	OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual));
	EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	IA_COUNT(&p.node, CM_REQ_TX, 1);
	IA_COUNT(&p.node, CM_ERR_REFUSED, 1);
	IA_COUNT(&p.node, CM_ERR, 1);
	IA_COUNT(&p.node, CM_ERR_REQ_RETRY, 0);
	EP_COUNT(p.a.ep, CONNECT, 1);
	EVD_COUNT(p.a.conn, CONN_CALLBACK, 1);
	pair_close(&p);
}

TEST(counters, asynchronous_errors)
{
	DAT_COUNT lost = 1;
	DAT_EVD_PARAM param;
	DAT_EVENT ev;
	struct pair p;

	set_no_connect_retry();
	pair_open(&p);
	OK(dat_psp_free(p.psp));
	p.psp = NULL;
	OK(dat_evd_query(p.a.conn, DAT_EVD_FIELD_ALL, &param));
	IA_COUNT(&p.node, ASYNC_ERROR, 0);
	/* Each connect leaves one unread event. */
	for (DAT_COUNT i = 0; i < param.evd_qlen + lost; i++) {
		OK(connect_to(p.a.ep, p.node.attr.ia_address_ptr, p.qual));
		DT_UNTIL(side_state(&p.a) == DAT_EP_STATE_DISCONNECTED, US_EVENT);
		OK(dat_ep_reset(p.a.ep));
	}
	EV_NEXT(p.node.async, &ev);
	ASSERT_EQ(ev.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	IA_COUNT(&p.node, ASYNC_ERROR, 1);
	IA_COUNT(&p.node, ASYNC_CQ_ERROR, 1);
	IA_COUNT(&p.node, ASYNC_QP_ERROR, 0);
	/* Only what was queued is delivered. */
	EVD_COUNT(p.a.conn, CONN_CALLBACK, param.evd_qlen);
	for (DAT_COUNT i = 0; i < param.evd_qlen; i++)
		EV_CONN(p.a.conn, NON_PEER_REJECTED, p.a.ep);
	pair_close(&p);
}

/* The end of a connection with an SRQ is reported for its endpoint. */
TEST(counters, asynchronous_events_of_endpoints)
{
	struct hub h;

	hub_open(&h, 2, 8, 0);
	hub_disconnect(&h, 0);
	IA_COUNT(&h.node, ASYNC_ERROR, 1);
	IA_COUNT(&h.node, ASYNC_QP_ERROR, 1);
	IA_COUNT(&h.node, ASYNC_CQ_ERROR, 0);
	hub_close(&h);
}

TEST(counters, objects_made_and_freed)
{
	DAT_UINT64 mem, freed;
	struct node n;
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;
	DAT_RMR_HANDLE rmr;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	struct buf b;

	node_open(&n);
	IA_COUNT(&n, PZ_CREATE, 1);
	IA_COUNT(&n, EVD_CREATE, 0);
	mem = ia_count(&n, DCNT_IA_MEM_ALLOC);
	freed = ia_count(&n, DCNT_IA_MEM_FREE);
	OK(dat_pz_create(n.ia, &pz));
	evd = evd_make(&n, 8, DAT_EVD_DTO_FLAG | DAT_EVD_CR_FLAG);
	OK(dat_ep_create(n.ia, n.pz, evd, evd, DAT_HANDLE_NULL, NULL, &ep));
	buf_make(&b, &n, 4096, PRIV_LOCAL);
	OK(dat_rmr_create(n.pz, &rmr));
	OK(dat_psp_create_any(n.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	IA_COUNT(&n, PZ_CREATE, 2);
	IA_COUNT(&n, EVD_CREATE, 1);
	IA_COUNT(&n, EP_CREATE, 1);
	IA_COUNT(&n, LMR_CREATE, 1);
	IA_COUNT(&n, RMR_CREATE, 1);
	IA_COUNT(&n, PSP_CREATE, 0);
	IA_COUNT(&n, PSP_CREATE_ANY, 1);
	IA_COUNT(&n, MEM_ALLOC, mem + 6);
	IA_COUNT(&n, MEM_FREE, freed);
	OK(dat_psp_free(psp));
	OK(dat_psp_create(n.ia, qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	IA_COUNT(&n, PSP_CREATE, 1);
	OK(dat_psp_free(psp));
	OK(dat_rmr_free(rmr));
	buf_free(&b);
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	OK(dat_pz_free(pz));
	IA_COUNT(&n, PZ_FREE, 1);
	IA_COUNT(&n, EVD_FREE, 1);
	IA_COUNT(&n, EP_FREE, 1);
	IA_COUNT(&n, LMR_FREE, 1);
	IA_COUNT(&n, RMR_FREE, 1);
	IA_COUNT(&n, PSP_FREE, 2);
	IA_COUNT(&n, RSP_FREE, 0);
	IA_COUNT(&n, MEM_FREE, freed + 7);
	node_close(&n);
}

/* Memory of objects is used again; their counters begin at zero. */
TEST(counters, of_a_freed_object_are_gone)
{
	DAT_EVD_HANDLE evd;
	struct node n;

	node_open(&n);
	for (int i = 0; i < 100; i++) {
		evd = evd_make(&n, 8, DAT_EVD_SOFTWARE_FLAG);
		EVD_COUNT(evd, DEQUEUE, 0);
		OK(post_se(evd, 1));
		EV_SE(evd, 1);
		ASSERT(evd_count(evd, DCNT_EVD_DEQUEUE) + evd_count(evd, DCNT_EVD_WAIT) > 0);
		OK(dat_evd_free(evd));
	}
	node_close(&n);
}
