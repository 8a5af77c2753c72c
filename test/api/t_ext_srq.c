/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests writes with immediate data, and sends with invalidation, to endpoints with a shared receive
 * queue. Which of its buffers one consumes is not defined, so each may be consumed once.
 */
#include "ext.h"
#include "rmr.h"
#include "srq_rig.h"

#define BUFFERS 64

/* Values of all widths: over InfiniBand and RoCE they differ in the number of messages. */
static const uint32_t values[] = {
	0, 1, 0x3fff, 0x4000, 0x0fffffff, 0x10000000, 0x80000000, 0xffffffff, 0xabcdef12,
};
#define VALUES (sizeof(values) / sizeof(*values))

static void post_buffers(struct hub *h, int n)
{
	for (int i = 0; i < n; i++)
		OK(hub_post(h, i, 100, (uint64_t)i));
}

/* The next event: the receive of `to` has consumed a buffer that is not in *used. */
static void ev_consumed(struct side *to, uint64_t *used, DAT_EVENT *ev)
{
	uint64_t cookie;

	EV_NEXT(to->recv, ev);
	cookie = dto_of(ev)->user_cookie.as_64;
	ASSERT_PTR(dto_of(ev)->ep_handle, to->ep);
	ASSERT_EQ(dto_of(ev)->status, DAT_DTO_SUCCESS);
	ASSERT(cookie < BUFFERS);
	ASSERT(!(*used & (uint64_t)1 << cookie));
	*used |= (uint64_t)1 << cookie;
}

static void got_immed(struct side *to, uint64_t *used, size_t len, uint32_t data)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_EVENT ev;

	ev_consumed(to, used, &ev);
	memcpy(&ext, ev.event_extension_data, sizeof(ext));
	ASSERT_EQ((int)ev.event_number, DAT_IB_DTO_EVENT);
	ASSERT_EQ((int)dto_of(&ev)->operation, DAT_IB_DTO_RECV_IMMED);
	ASSERT_EQ((int)ext.type, DAT_IB_RDMA_WRITE_IMMED_DATA);
	ASSERT_EQ(dto_of(&ev)->transfered_length, len);
	ASSERT_EQ(ext.val.immed.data, data);
}

static void got_message(struct side *to, uint64_t *used, size_t len)
{
	DAT_EVENT ev;

	ev_consumed(to, used, &ev);
	ASSERT_EQ(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	ASSERT_EQ(dto_of(&ev)->operation, DAT_DTO_RECEIVE);
	ASSERT_EQ(dto_of(&ev)->transfered_length, len);
}

static void got_key(struct side *to, uint64_t *used, size_t len, DAT_RMR_CONTEXT key)
{
	DAT_EVENT ev;

	ev_consumed(to, used, &ev);
	ASSERT_EQ(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	ASSERT_EQ(dto_of(&ev)->operation, DAT_DTO_RECEIVE_WITH_INVALIDATE);
	ASSERT_EQ(dto_of(&ev)->transfered_length, len);
	ASSERT_EQ(dto_of(&ev)->rmr_context, key);
}

/* The i-th peer writes into its own memory, which belongs to the same adapter. */
static DAT_RETURN immed_by(struct hub *h, int i, size_t len, uint64_t cookie, uint32_t data)
{
	return immed(&h->peer[i], &h->peer[i], len, cookie, data);
}

static void was_sent(struct hub *h, int i, uint64_t cookie, size_t len)
{
	EV_EXT(h->peer[i].req, h->peer[i].ep, cookie, RDMA_WRITE_IMMED, len);
}

TEST(ext_srq, immed_data_comes_to_its_endpoint)
{
	uint64_t used = 0;
	struct hub h;

	hub_open(&h, 3, BUFFERS, HUB_ONE_EVD);
	post_buffers(&h, 3 * VALUES);
	for (unsigned int i = 0; i < 3 * VALUES; i++) {
		struct side *peer = &h.peer[i % 3];

		fill(peer->buf.mem, 40 + i, i);
		OK(immed_by(&h, i % 3, 40 + i, i, values[i / 3]));
		was_sent(&h, i % 3, i, 40 + i);
		got_immed(&h.on[i % 3], &used, 40 + i, values[i / 3]);
		CHECK_FILL(peer->buf.mem + 4096, 40 + i, i);
	}
	SRQ_COUNTS(h.srq, 0, 0);
	for (size_t i = 0; i < (size_t)HUB_SLOT * BUFFERS; i++)
		ASSERT_EQ(h.mem.mem[i], 0);
	hub_close(&h);
}

/* Connections post requests of all kinds before any event is dequeued. */
static void interleaved(int flags)
{
	uint64_t used = 0;
	struct hub h;

	hub_open(&h, 3, BUFFERS, flags);
	for (int round = 0; round < 2; round++) {
		post_buffers(&h, 3 * 12);
		for (unsigned int n = 0; n < 12; n++)
			for (int i = 0; i < 3; i++)
				if ((n + (unsigned int)i) % 3)
					OK(immed_by(&h, i, n, n, values[n % VALUES] ^ (uint32_t)i));
				else
					OK(post_send(&h.peer[i], 0, n, n));
		for (int i = 0; i < 3; i++)
			for (unsigned int n = 0; n < 12; n++)
				if ((n + (unsigned int)i) % 3)
					got_immed(&h.on[i], &used, n,
						  values[n % VALUES] ^ (uint32_t)i);
				else
					got_message(&h.on[i], &used, n);
		for (int i = 0; i < 3; i++)
			for (unsigned int n = 0; n < 12; n++)
				if ((n + (unsigned int)i) % 3)
					was_sent(&h, i, n, n);
				else
					EV_DTO(h.peer[i].req, h.peer[i].ep, n, OP_SEND, n);
		SRQ_COUNTS(h.srq, 0, 0);
		used = 0;
	}
	hub_close(&h);
}

TEST(ext_srq, immed_data_of_several_connections)
{
	interleaved(0);
}

TEST(ext_srq, immed_data_between_endpoints_with_SRQs)
{
	interleaved(HUB_BOTH);
}

TEST(ext_srq, immed_data_as_the_side_that_connects)
{
	interleaved(HUB_ACTIVE);
}

/* Over InfiniBand and RoCE the messages in front of the write consume the only buffer, too. */
TEST(ext_srq, immed_data_with_one_buffer)
{
	static const uint32_t few[] = { 7, 0xfffffff0 };
	struct hub h;

	hub_open(&h, 1, 1, 0);
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t used = 0;

		OK(hub_post(&h, 0, 100, 3));
		OK(immed_by(&h, 0, 30, i, few[i]));
		got_immed(&h.on[0], &used, 30, few[i]);
		was_sent(&h, 0, i, 30);
		EV_EMPTY(h.on[0].recv);
		SRQ_COUNTS(h.srq, 0, 0);
	}
	hub_close(&h);
}

/* All requests that the queue takes are posted at once. */
TEST(ext_srq, immed_data_fills_the_queue)
{
	uint64_t used = 0;
	DAT_EP_PARAM param;
	unsigned int n;
	struct hub h;

	hub_open(&h, 1, BUFFERS, 0);
	OK(dat_ep_query(h.peer[0].ep, DAT_EP_FIELD_ALL, &param));
	n = (unsigned int)param.ep_attr.max_request_dtos;
	ASSERT(n >= 8 && n <= BUFFERS);
	post_buffers(&h, (int)n);
	for (unsigned int i = 0; i < n; i++)
		OK(immed_by(&h, 0, 64, i, ~i));
	for (unsigned int i = 0; i < n; i++) {
		was_sent(&h, 0, i, 64);
		got_immed(&h.on[0], &used, 64, ~i);
	}
	SRQ_COUNTS(h.srq, 0, 0);
	hub_close(&h);
}

TEST(ext_srq, flags_of_immed_data)
{
	DAT_LMR_TRIPLET t;
	DAT_RMR_TRIPLET r;
	uint64_t used = 0;
	struct side *peer;
	struct hub h;

	hub_open(&h, 1, BUFFERS, 0);
	peer = &h.peer[0];
	post_buffers(&h, 3);
	t = seg(&peer->buf, 0, 32);
	r = rem(&peer->buf, 4096, 32);
	OK(immed_to(peer->ep, t, 1, r, 0x11111111, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(post_read(peer, 8192, 1000, 2, &h.on[0], 0));
	OK(immed_to(peer->ep, t, 3, r, 0x22222222, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	OK(immed_to(peer->ep, t, 4, r, 3, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	got_immed(&h.on[0], &used, 32, 0x11111111);
	got_immed(&h.on[0], &used, 32, 0x22222222);
	got_immed(&h.on[0], &used, 32, 3);
	EV_DTO(peer->req, peer->ep, 2, OP_READ, 1000);
	was_sent(&h, 0, 3, 32);
	was_sent(&h, 0, 4, 32);
	EV_EMPTY(peer->req);
	hub_close(&h);
}

TEST(ext_srq, immed_data_wakes_if_it_is_solicited)
{
	struct srq_waiter w = { .threshold = 1 };
	struct dt_thread t;
	uint64_t used = 0;
	DAT_EP_ATTR attr;
	struct node n;
	struct hub h;

	node_open(&n);
	attr = srq_ep_attr(&n);
	node_close(&n);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	hub_open_attr(&h, 1, BUFFERS, 0, &attr);
	post_buffers(&h, 4);
	w.evd = h.on[0].recv;
	dt_thread_start(&t, srq_wait_once, &w);
	dt_thread_wait_blocked(&t);
	for (unsigned int i = 0; i < 2; i++) {
		OK(immed_by(&h, 0, 8, i, 0x30303030 + i));
		was_sent(&h, 0, i, 8);
	}
	srq_until_available(h.srq, 2);
	dt_sleep_us(US_SHORT);
	ASSERT(!w.back);
	OK(immed_to(h.peer[0].ep, seg(&h.peer[0].buf, 0, 8), 2, rem(&h.peer[0].buf, 100, 8),
		    0x30303032, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	was_sent(&h, 0, 2, 8);
	dt_thread_join(&t);
	ASSERT_EQ((int)w.ev.event_number, DAT_IB_DTO_EVENT);
	ASSERT_EQ(w.more, 2);
	got_immed(&h.on[0], &used, 8, 0x30303031);
	got_immed(&h.on[0], &used, 8, 0x30303032);
	hub_close(&h);
}

/* A buffer counts once, whatever else it has carried. */
TEST(ext_srq, immed_data_passes_the_low_watermark_in_time)
{
	uint64_t used = 0;
	DAT_EVENT ev;
	struct hub h;

	hub_open(&h, 1, BUFFERS, 0);
	post_buffers(&h, 6);
	OK(dat_srq_set_lw(h.srq, 3));
	for (unsigned int i = 0; i < 3; i++) {
		OK(immed_by(&h, 0, 8, i, 0xf0f0f0f0));
		got_immed(&h.on[0], &used, 8, 0xf0f0f0f0);
		was_sent(&h, 0, i, 8);
		SRQ_COUNTS(h.srq, 5 - (int)i, 5 - (int)i);
	}
	EV_EMPTY(h.node.async);
	OK(immed_by(&h, 0, 8, 3, 0xf0f0f0f0));
	EV_ASYNC(&h.node, h.srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	SRQ_COUNTS(h.srq, 2, 3);
	RECV_COUNT(h.on[0].ep, 0);
	got_immed(&h.on[0], &used, 8, 0xf0f0f0f0);
	was_sent(&h, 0, 3, 8);
	ASSERT_EQ(DAT_GET_TYPE(dat_evd_dequeue(h.node.async, &ev)), DAT_QUEUE_EMPTY);
	hub_close(&h);
}

/* ---- the end of a connection ---- */

/* The write has arrived or not. The SRQ has one buffer again. */
static void settle_buffer(struct hub *h)
{
	DAT_EVENT ev;

	EV_NEXT(h->peer[0].req, &ev);
	ASSERT_EQ((int)dto_of(&ev)->operation, DAT_IB_DTO_RDMA_WRITE_IMMED);
	if (dat_evd_dequeue(h->on[0].recv, &ev) == DAT_SUCCESS) {
		EV_EMPTY(h->on[0].recv);
		SRQ_COUNTS(h->srq, 0, 0);
		OK(hub_post(h, 0, 100, 0));
	}
	SRQ_COUNTS(h->srq, 1, 1);
}

static void cut(struct hub *h)
{
	hub_disconnect(h, 0);
	settle_buffer(h);
	OK(dat_ep_reset(h->on[0].ep));
	OK(dat_ep_reset(h->peer[0].ep));
}

/* The endpoint is freed without a disconnect. */
static void cut_by_free(struct hub *h)
{
	DAT_EP_ATTR attr = srq_ep_attr(&h->node);
	struct side *on = &h->on[0];

	OK(dat_ep_free(on->ep));
	EV_CONN(h->peer[0].conn, DISCONNECTED, h->peer[0].ep);
	settle_buffer(h);
	OK(dat_ep_create_with_srq(h->node.ia, h->node.pz, on->recv, on->req, on->conn, h->srq,
				  &attr, &on->ep));
	OK(dat_ep_reset(h->peer[0].ep));
}

/* Over InfiniBand and RoCE one buffer delays the parts of the value, so that a part has arrived
 * when the connection ends. The next connection must not see it. */
TEST(ext_srq, immed_data_cut_off_by_the_end_is_forgotten)
{
	uint64_t used;
	struct hub h;

	hub_open(&h, 1, 1, 0);
	OK(hub_post(&h, 0, 100, 0));
	for (unsigned int round = 0; round < 3; round++) {
		OK(immed_by(&h, 0, 16, 1, 0xffffffff));
		dt_sleep_us(round * US_SHORT / 2);
		if (round == 1)
			cut_by_free(&h);
		else
			cut(&h);
		hub_connect(&h, 0);
		used = 0;
		OK(immed_by(&h, 0, 16, 2, 5));
		got_immed(&h.on[0], &used, 16, 5);
		was_sent(&h, 0, 2, 16);
		OK(hub_post(&h, 0, 100, 0));
	}
	SRQ_COUNTS(h.srq, 1, 1);
	hub_close(&h);
}

TEST(ext_srq, immed_data_beyond_the_region_breaks_that_connection_only)
{
	DAT_RMR_TRIPLET r;
	uint64_t used = 0;
	struct side *peer;
	DAT_EVENT ev;
	struct hub h;

	hub_open(&h, 2, BUFFERS, 0);
	peer = &h.peer[0];
	post_buffers(&h, 8);
	r = rem_raw((uintptr_t)peer->buf.mem + SIDE_BUF - 7, 8, peer->buf.rmr);
	OK(immed_to(peer->ep, seg(&peer->buf, 0, 8), 1, r, 0xffffffff, 0));
	EV_EXT_STATUS(peer->req, peer->ep, 1, RDMA_WRITE_IMMED, DAT_DTO_ERR_REMOTE_ACCESS);
	EV_CONN(peer->conn, BROKEN, peer->ep);
	EV_NEXT(h.on[0].conn, &ev);
	EV_EMPTY(h.on[0].recv);
	srq_until_available(h.srq, 8);
	OK(immed_by(&h, 1, 20, 2, 9));
	got_immed(&h.on[1], &used, 20, 9);
	was_sent(&h, 1, 2, 20);
	SRQ_COUNTS(h.srq, 7, 7);
	hub_close(&h);
}

/* ---- sends with invalidation ---- */

static DAT_RETURN invalidate_by(struct hub *h, int i, size_t len, uint64_t cookie,
				DAT_RMR_CONTEXT key)
{
	DAT_LMR_TRIPLET t = seg(&h->peer[i].buf, 0, len);

	return dat_ep_post_send_with_invalidate(h->peer[i].ep, 1, &t, ck(cookie),
						DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, key);
}

/* Keys, immediate data and plain messages of several connections. */
TEST(ext_srq, keys_of_several_connections)
{
	DAT_RMR_CONTEXT key[3];
	DAT_RMR_HANDLE rmr[3];
	DAT_RMR_PARAM param;
	uint64_t used = 0;
	struct buf open;
	struct hub h;

	hub_open(&h, 3, BUFFERS, 0);
	buf_make(&open, &h.node, 8192, PRIV_LOCAL);
	for (int i = 0; i < 3; i++)
		OK(dat_rmr_create(h.node.pz, &rmr[i]));
	for (int round = 0; round < 4; round++) {
		post_buffers(&h, 9);
		for (int i = 0; i < 3; i++) {
			key[i] = window(&h.on[i], rmr[i], &open, 0, 4096, READS | WRITES);
			usable(&h.peer[i], open.mem, 100, key[i]);
		}
		for (int i = 0; i < 3; i++)
			OK(immed_by(&h, i, 16, 1, 0xcccccc00 + (uint32_t)i));
		for (int i = 0; i < 3; i++)
			OK(invalidate_by(&h, i, 50 + (size_t)i, 2, key[i]));
		for (int i = 0; i < 3; i++)
			OK(post_send(&h.peer[i], 0, 60, 3));
		for (int i = 0; i < 3; i++) {
			got_immed(&h.on[i], &used, 16, 0xcccccc00 + (uint32_t)i);
			got_key(&h.on[i], &used, 50 + (size_t)i, key[i]);
			got_message(&h.on[i], &used, 60);
			was_sent(&h, i, 1, 16);
			EV_DTO(h.peer[i].req, h.peer[i].ep, 2, OP_SEND, 50 + (size_t)i);
			EV_DTO(h.peer[i].req, h.peer[i].ep, 3, OP_SEND, 60);
			BAD_ARG(dat_rmr_query(rmr[i], DAT_RMR_FIELD_LMR_TRIPLET, &param), 2);
		}
		SRQ_COUNTS(h.srq, 0, 0);
		used = 0;
	}
	for (int i = 0; i < 3; i++)
		OK(dat_rmr_free(rmr[i]));
	buf_free(&open);
	hub_close(&h);
}

TEST(ext_srq, a_key_with_one_buffer)
{
	DAT_RMR_CONTEXT key;
	DAT_RMR_HANDLE rmr;
	uint64_t used = 0;
	struct buf open;
	struct hub h;

	hub_open(&h, 1, 1, 0);
	buf_make(&open, &h.node, 8192, PRIV_LOCAL);
	OK(dat_rmr_create(h.node.pz, &rmr));
	key = window(&h.on[0], rmr, &open, 0, 4096, READS | WRITES);
	OK(hub_post(&h, 0, 100, 0));
	fill(h.peer[0].buf.mem, 90, 5);
	OK(invalidate_by(&h, 0, 90, 2, key));
	got_key(&h.on[0], &used, 90, key);
	CHECK_FILL(h.mem.mem, 90, 5);
	EV_DTO(h.peer[0].req, h.peer[0].ep, 2, OP_SEND, 90);
	SRQ_COUNTS(h.srq, 0, 0);
	OK(dat_rmr_free(rmr));
	buf_free(&open);
	hub_close(&h);
}
