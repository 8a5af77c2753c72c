/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests disconnects, and dup_connect of an established connection. */
#include "rig.h"

struct row {
	const char *rule;
	DAT_CLOSE_FLAGS flags;
	bool by_passive;
};

static void plain(const void *arg)
{
	const struct row *row = arg;
	struct pair p;
	struct side *first, *second;

	pair_up(&p);
	first = row->by_passive ? &p.b : &p.a;
	second = row->by_passive ? &p.a : &p.b;
	OK(dat_ep_disconnect(first->ep, row->flags));
	EV_CONN(first->conn, DISCONNECTED, first->ep);
	EV_CONN(second->conn, DISCONNECTED, second->ep);
	ASSERT_EQ(side_state(first), DAT_EP_STATE_DISCONNECTED);
	ASSERT_EQ(side_state(second), DAT_EP_STATE_DISCONNECTED);
	/* Exactly one event each. */
	EV_NONE(first->conn);
	EV_NONE(second->conn);
	pair_close(&p);
}

static const struct row rows[] = {
	{ "abrupt_by_the_active_side", DAT_CLOSE_ABRUPT_FLAG, false },
	{ "abrupt_by_the_passive_side", DAT_CLOSE_ABRUPT_FLAG, true },
	{ "graceful_by_the_active_side", DAT_CLOSE_GRACEFUL_FLAG, false },
	{ "graceful_by_the_passive_side", DAT_CLOSE_GRACEFUL_FLAG, true },
};

TEST_ROWS(disconnect, rows, plain)

TEST(disconnect, by_both_sides_at_once_gives_one_event_each)
{
	struct pair p;

	pair_up(&p);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
	EV_NONE(p.a.conn);
	EV_NONE(p.b.conn);
	pair_close(&p);
}

TEST(disconnect, unknown_flag_is_ARG2)
{
	struct pair p;

	pair_up(&p);
	BAD_ARG(dat_ep_disconnect(p.a.ep, (DAT_CLOSE_FLAGS)2), 2);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_CONNECTED);
	pair_disconnect(&p);
	pair_close(&p);
}

TEST(disconnect, twice_succeeds_without_a_second_event)
{
	struct pair p;

	pair_up(&p);
	pair_disconnect(&p);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_NONE(p.a.conn);
	EV_NONE(p.b.conn);
	pair_close(&p);
}

TEST(disconnect, while_connecting_aborts_with_DISCONNECTED)
{
	struct pair p;

	pair_open(&p);
	OK(post_recv(&p.a, 0, 10, 1));
	pair_request(&p);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	EV_FLUSH(p.a.recv, p.a.ep, 1, OP_RECV);
	EV_NONE(p.a.conn);
	node_abort(&p.node);
}

TEST(disconnect, graceful_while_connecting_aborts_with_DISCONNECTED)
{
	struct pair p;

	pair_open(&p);
	pair_request(&p);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	EV_NONE(p.a.conn);
	node_abort(&p.node);
}

TEST(disconnect, right_after_accept_gives_one_end)
{
	DAT_EVENT ev;
	struct pair p;

	pair_open(&p);
	OK(dat_cr_accept(pair_request(&p), p.b.ep, 0, NULL));
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_NEXT(p.b.conn, &ev);
	if (ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		EV_NEXT(p.b.conn, &ev);
	ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	ASSERT_EQ(side_state(&p.b), DAT_EP_STATE_DISCONNECTED);
	/* The other side was connected for a moment, or never. */
	EV_NEXT(p.a.conn, &ev);
	if (ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		EV_NEXT(p.a.conn, &ev);
	ASSERT(ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
	       ev.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	       ev.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	EV_NONE(p.a.conn);
	EV_NONE(p.b.conn);
	pair_close(&p);
}

/* ---- graceful: what was posted is delivered first ---- */

TEST(disconnect, graceful_delivers_what_was_posted)
{
	struct pair p;
	uint64_t i;

	pair_up(&p);
	for (i = 0; i < 10; i++)
		OK(post_recv(&p.b, (size_t)i * 4096, 4096, i));
	for (i = 0; i < 10; i++) {
		fill(p.a.buf.mem + i * 4096, 4096, (unsigned int)i);
		OK(post_send(&p.a, (size_t)i * 4096, 4096, 100 + i));
	}
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (i = 0; i < 10; i++)
		EV_DTO(p.a.req, p.a.ep, 100 + i, OP_SEND, 4096);
	for (i = 0; i < 10; i++) {
		EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, 4096);
		CHECK_FILL(p.b.buf.mem + i * 4096, 4096, (unsigned int)i);
	}
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
	pair_close(&p);
}

TEST_LIMIT(disconnect, graceful_waits_in_DISCONNECT_PENDING_for_large_transfers, 40)
{
	DAT_LMR_TRIPLET t;
	struct buf big, sink;
	struct pair p;
	uint64_t i;

	pair_up(&p);
	block_sends(&p.a, &big);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECT_PENDING);
	/* A second graceful disconnect has no effect, and no event comes yet. */
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	EV_NONE(p.a.conn);
	BAD_STATE(post_send(&p.a, 0, 8, 1), EP_DISCPENDING);
	buf_make(&sink, &p.node, BLOCK_LEN, PRIV_ALL);
	t = seg(&sink, 0, BLOCK_LEN);
	for (i = 0; i < BLOCK_COUNT; i++)
		OK(dat_ep_post_recv(p.b.ep, 1, &t, ck(i), DAT_COMPLETION_DEFAULT_FLAG));
	for (i = 0; i < BLOCK_COUNT; i++)
		EV_DTO(p.b.recv, p.b.ep, i, OP_RECV, BLOCK_LEN);
	for (i = 0; i < BLOCK_COUNT; i++)
		EV_DTO(p.a.req, p.a.ep, 9000 + i, OP_SEND, BLOCK_LEN);
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	buf_free(&big);
	buf_free(&sink);
	pair_close(&p);
}

TEST_LIMIT(disconnect, graceful_proceeds_when_who_polls_takes_the_last_completion, 40)
{
	unsigned int sent = 0, received = 0;
	DAT_LMR_TRIPLET t;
	struct buf big, sink;
	struct pair p;
	DAT_EVENT ev;
	uint64_t i;

	pair_up(&p);
	buf_make(&sink, &p.node, BLOCK_LEN, PRIV_ALL);
	t = seg(&sink, 0, BLOCK_LEN);
	for (i = 0; i < BLOCK_COUNT; i++)
		OK(dat_ep_post_recv(p.b.ep, 1, &t, ck(i), DAT_COMPLETION_DEFAULT_FLAG));
	poll_idle(p.a.req);
	block_sends(&p.a, &big);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	while (sent < BLOCK_COUNT || received < BLOCK_COUNT) {
		sent += dat_evd_dequeue(p.a.req, &ev) == DAT_SUCCESS;
		received += dat_evd_dequeue(p.b.recv, &ev) == DAT_SUCCESS;
	}
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
	buf_free(&big);
	buf_free(&sink);
	pair_close(&p);
}

TEST(disconnect, abrupt_in_DISCONNECT_PENDING_proceeds_at_once)
{
	struct buf big;
	struct pair p;

	pair_up(&p);
	block_sends(&p.a, &big);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	EV_NONE(p.a.conn);
	OK(dat_ep_free(p.a.ep));
	p.a.ep = NULL;
	buf_free(&big);
	pair_close(&p);
}

TEST(disconnect, peer_leaves_in_DISCONNECT_PENDING_gives_one_event)
{
	struct buf big;
	DAT_EVENT ev;
	struct pair p;

	pair_up(&p);
	block_sends(&p.a, &big);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
	EV_NEXT(p.a.conn, &ev);
	ASSERT(ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
	       ev.event_number == DAT_CONNECTION_EVENT_BROKEN);
	ASSERT_EQ(side_state(&p.a), DAT_EP_STATE_DISCONNECTED);
	EV_NONE(p.a.conn);
	OK(dat_ep_free(p.a.ep));
	p.a.ep = NULL;
	buf_free(&big);
	pair_close(&p);
}

TEST(disconnect, connection_evd_equal_dto_evd_shows_completions_before_the_end)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_EVENT ev;
	struct pair p;
	DAT_LMR_TRIPLET t;
	uint64_t i;

	pair_open(&p);
	evd = evd_make(&p.node, 64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	OK(dat_ep_create(p.node.ia, p.node.pz, evd, evd, evd, NULL, &ep));
	OK(dat_cr_accept(pair_request(&p), ep, 0, NULL));
	EV_CONN(evd, ESTABLISHED, ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	t = seg(&p.b.buf, 0, 100);
	for (i = 0; i < 8; i++)
		OK(dat_ep_post_recv(ep, 1, &t, ck(i), DAT_COMPLETION_DEFAULT_FLAG));
	for (i = 0; i < 8; i++)
		OK(post_send(&p.a, 0, 100, 50));
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (i = 0; i < 8; i++) {
		EV_NEXT(evd, &ev);
		CHECK_DTO(&ev, evd, ep, i, OP_RECV, 100);
	}
	EV_CONN(evd, DISCONNECTED, ep);
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	pair_close(&p);
}

/* Writes and reads that alternate. */
static void post_long(struct side *s, struct buf *own, struct buf *peers)
{
	DAT_LMR_TRIPLET local = seg(own, 0, own->len);
	DAT_RMR_TRIPLET remote = rem(peers, 0, peers->len);

	for (int i = 0; i < 3; i++) {
		OK(dat_ep_post_rdma_write(s->ep, 1, &local, ck(1), &remote,
					  DAT_COMPLETION_DEFAULT_FLAG));
		OK(dat_ep_post_rdma_read(s->ep, 1, &local, ck(2), &remote,
					 DAT_COMPLETION_DEFAULT_FLAG));
	}
}

static void drain(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	while (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS)
		;
}

/* Long data from both sides is lost, which the side that stays must not wait for. */
TEST_LIMIT(disconnect, abrupt_among_long_transfers_is_reported_to_the_peer_at_once, 40)
{
	struct buf of_a, of_b;
	struct pair p;
	DAT_EVENT ev;

	setenv("DAPL_OFI_GRACE_MS", "60000", 1);
	pair_open(&p);
	buf_make(&of_a, &p.node, 900000, PRIV_ALL);
	buf_make(&of_b, &p.node, 900000, PRIV_ALL);
	for (int i = 0; i < 40; i++) {
		pair_connect(&p);
		post_long(&p.a, &of_a, &of_b);
		post_long(&p.b, &of_b, &of_a);
		dt_sleep_us(i % 8 * 200);
		OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
		EV_NEXT(p.a.conn, &ev);
		ASSERT(ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
		       ev.event_number == DAT_CONNECTION_EVENT_BROKEN);
		EV_NEXT(p.b.conn, &ev);
		OK(dat_ep_reset(p.a.ep));
		OK(dat_ep_reset(p.b.ep));
		drain(p.a.req);
		drain(p.b.req);
	}
	buf_free(&of_a);
	buf_free(&of_b);
	pair_close(&p);
}

TEST(disconnect, free_of_both_ends_in_turn_many_times)
{
	struct side a, b;
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < 20; i++) {
		side_make(&a, &p.node, NULL);
		side_make(&b, &p.node, NULL);
		OK(connect_to(a.ep, p.node.attr.ia_address_ptr, p.qual));
		OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), b.ep, 0, NULL));
		EV_CONN(a.conn, ESTABLISHED, a.ep);
		OK(post_recv(&b, 0, 100, 1));
		OK(post_send(&a, 0, 100, 2));
		if (i & 1) {
			side_free(&a);
			side_free(&b);
		} else {
			side_free(&b);
			side_free(&a);
		}
	}
	pair_close(&p);
}

/* ---- dup_connect ---- */

static DAT_RETURN duplicate(DAT_EP_HANDLE ep, DAT_EP_HANDLE of)
{
	return dat_ep_dup_connect(ep, of, US_CONNECT, 0, NULL, DAT_QOS_BEST_EFFORT);
}

TEST(dup_connect, connects_to_where_the_other_is_connected)
{
	DAT_EP_PARAM param;
	struct side c, d;
	struct pair p;

	pair_up(&p);
	side_make(&c, &p.node, NULL);
	side_make(&d, &p.node, NULL);
	OK(duplicate(c.ep, p.a.ep));
	OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), d.ep, 0, NULL));
	EV_CONN(c.conn, ESTABLISHED, c.ep);
	EV_CONN(d.conn, ESTABLISHED, d.ep);
	OK(dat_ep_query(c.ep, DAT_EP_FIELD_ALL, &param));
	ASSERT_EQ(param.remote_port_qual, p.qual);
	OK(post_recv(&d, 0, 100, 1));
	OK(post_send(&c, 0, 100, 2));
	EV_DTO(d.recv, d.ep, 1, OP_RECV, 100);
	side_free(&c);
	side_free(&d);
	pair_close(&p);
}

TEST(dup_connect, bad_handles_are_INVALID_HANDLE_EP)
{
	DAT_EP_HANDLE freed;
	struct side c;
	struct pair p;

	pair_up(&p);
	side_make(&c, &p.node, NULL);
	OK(dat_ep_create(p.node.ia, p.node.pz, p.a.recv, p.a.req, p.a.conn, NULL, &freed));
	OK(dat_ep_free(freed));
	BAD_HANDLE(duplicate(c.ep, NULL), EP);
	BAD_HANDLE(duplicate(c.ep, freed), EP);
	BAD_HANDLE(duplicate(c.ep, p.a.conn), EP);
	side_free(&c);
	pair_close(&p);
}

TEST(dup_connect, an_endpoint_of_another_ia_is_INVALID_HANDLE_EP)
{
	struct pair p, other;

	pair_up(&p);
	pair_open(&other);
	BAD_HANDLE(duplicate(other.a.ep, p.a.ep), EP);
	ASSERT_EQ(side_state(&other.a), DAT_EP_STATE_UNCONNECTED);
	pair_close(&other);
	pair_close(&p);
}

TEST(dup_connect, an_endpoint_without_connect_evd_or_pz_is_refused)
{
	DAT_EP_HANDLE deaf, zoneless;
	DAT_EP_STATE state;
	struct pair p;

	pair_up(&p);
	OK(dat_ep_create(p.node.ia, p.node.pz, p.a.recv, p.a.req, NULL, NULL, &deaf));
	OK(dat_ep_create(p.node.ia, NULL, p.a.recv, p.a.req, p.a.conn, NULL, &zoneless));
	BAD_HANDLE(duplicate(deaf, p.a.ep), EVD_CONN);
	BAD_STATE(duplicate(zoneless, p.a.ep), EP_NOTREADY);
	OK(dat_ep_get_status(zoneless, &state, NULL, NULL));
	ASSERT_EQ(state, DAT_EP_STATE_UNCONNECTED);
	OK(dat_ep_free(deaf));
	OK(dat_ep_free(zoneless));
	EV_EMPTY(p.a.conn);
	pair_close(&p);
}

TEST(dup_connect, timeout_0_is_ARG3)
{
	struct side c;
	struct pair p;

	pair_up(&p);
	side_make(&c, &p.node, NULL);
	BAD_ARG(dat_ep_dup_connect(c.ep, p.a.ep, 0, 0, NULL, DAT_QOS_BEST_EFFORT), 3);
	ASSERT_EQ(side_state(&c), DAT_EP_STATE_UNCONNECTED);
	side_free(&c);
	pair_close(&p);
}

TEST(dup_connect, of_an_endpoint_that_is_not_connected_is_INVALID_STATE)
{
	struct side c;
	struct pair p;

	pair_open(&p);
	side_make(&c, &p.node, NULL);
	BAD_STATE(duplicate(c.ep, p.a.ep), EP_UNCONNECTED);
	pair_connect(&p);
	pair_disconnect(&p);
	BAD_STATE(duplicate(c.ep, p.a.ep), EP_DISCONNECTED);
	side_free(&c);
	pair_close(&p);
}

TEST(dup_connect, of_a_passive_endpoint_is_INVALID_STATE)
{
	struct side c;
	struct pair p;

	pair_up(&p);
	side_make(&c, &p.node, NULL);
	ASSERT_EQ(DAT_GET_TYPE(duplicate(c.ep, p.b.ep)), DAT_INVALID_STATE);
	side_free(&c);
	pair_close(&p);
}

TEST(dup_connect, unsupported_qos_is_MODEL_NOT_SUPPORTED)
{
	struct side c;
	struct pair p;

	pair_up(&p);
	side_make(&c, &p.node, NULL);
	UNSUPPORTED(dat_ep_dup_connect(c.ep, p.a.ep, US_CONNECT, 0, NULL, (DAT_QOS)3));
	side_free(&c);
	pair_close(&p);
}
