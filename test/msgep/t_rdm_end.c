/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the packets of a connection that ends. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdm_rig.h"

RIG_MODES;
RIG_ONE_MODE;
static const struct mode rxm_mode[] = { { "rxm", false, false } };

static struct side left, right;

/* The passive side closes while the other one sends; late packets do not reach its successor. */
static void closed_early(const void *arg)
{
	uint32_t generation, index, n = 0;
	struct pair p, q;
	struct rdm_net *net;

	rig_open(&left, &right, arg);
	net = rdm_net_of(&right.domain);
	rig_connect(&p, &left, &right);
	rig_connect(&q, &left, &right);
	rig_exchange(&p, &left, &right, 20);
	index = p.b.ep.w.conn->index;
	generation = p.b.ep.w.conn->generation;
	while (rig_send(&p.a, MSGEP_REQ))
		n++;
	while (rig_send(&p.a, MSGEP_ANS))
		n++;
	ASSERT(n > 0);
	msgep_transport_rdm.close(&p.b.ep);
	ASSERT_PTR(p.b.ep.w.conn, NULL);
	PUMP_UNTIL(&left, &right, net->late >= n, 5000000);
	rig_exchange(&q, &left, &right, 50);
	msgep_transport_rdm.close(&p.a.ep);
	PUMP_UNTIL(&left, &right, dofi_list_empty(&net->closed), 5000000);
	rig_connect(&p, &left, &right);
	ASSERT_EQ(p.b.ep.w.conn->index, index);
	ASSERT(p.b.ep.w.conn->generation != generation);
	rig_exchange(&p, &left, &right, 50);
	rig_disconnect(&p);
	rig_disconnect(&q);
	ASSERT_EQ(net->held, 0);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(closed_early, modes, closed_early)

/* Connections open and close with frames in transit; all packets return to the pool. */
static void churn(const void *arg)
{
	static struct pair p[16];
	struct rdm_net *net;
	uint32_t packets;

	rig_open(&left, &right, arg);
	net = rdm_net_of(&right.domain);
	for (int i = 0; i < 16; i++)
		rig_connect(&p[i], &left, &right);
	packets = net->packets;
	for (unsigned int round = 0; round < 300 / dt_slow(); round++) {
		int i = (int)(rig_random() % 16);

		for (int k = 0; k < 6; k++) {
			rig_send(&p[i].a, k & 1);
			rig_send(&p[i].b, k & 1);
		}
		rig_pump(&left, &right);
		if (rig_random() % 2)
			rig_exchange(&p[i], &left, &right, 0);
		rig_disconnect(&p[i]);
		rig_connect(&p[i], &left, &right);
	}
	for (int i = 0; i < 16; i++)
		rig_exchange(&p[i], &left, &right, 10);
	for (int i = 0; i < 16; i++)
		rig_disconnect(&p[i]);
	PUMP_UNTIL(&left, &right, dofi_list_empty(&net->closed), 5000000);
	ASSERT_EQ(net->held, 0);
	ASSERT_EQ(net->lost, 0);
	ASSERT_EQ(net->want_rx, 0);
	ASSERT_EQ(net->want_tx, 0);
	/* Those that closed while the fabric still had packets of theirs needed more for a
	 * moment. */
	dt_note("%u packets at first, %u in the end", packets, net->packets);
	ASSERT(net->packets <= 4 * packets);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(churn, modes, churn)

/* Ten frames in each direction, and space for five more. */
static void settled(struct pair *p)
{
	struct rdm_conn *conn = p->a.ep.w.conn;

	rig_exchange(p, &left, &right, 10);
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
		PUMP_UNTIL(&left, &right,
			   conn->sent[ch] - conn->granted[ch] <= 3 && conn->taken <= MSGEP_CHANNELS,
			   5000000);
}

static void bye(const void *arg)
{
	uint8_t data[MSGEP_PARAMS_MAX];
	struct pair p;
	size_t len;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	settled(&p);
	for (int i = 0; i < 5; i++) {
		ASSERT(rig_send(&p.a, MSGEP_REQ));
		ASSERT(rig_send(&p.a, MSGEP_ANS));
	}
	len = msgep_transport_rdm.finish(&p.a.ep, data);
	ASSERT(len <= MSGEP_PARAMS_MAX);
	msgep_transport_rdm.finished(&p.b.ep, data, len);
	ASSERT(!msgep_transport_rdm.drained(&p.b.ep, false));
	PUMP_UNTIL(&left, &right, (rig_recv(&p.b, MSGEP_REQ), p.b.got[MSGEP_REQ] == 15), 5000000);
	ASSERT(!msgep_transport_rdm.drained(&p.b.ep, false));
	PUMP_UNTIL(&left, &right, (rig_recv(&p.b, MSGEP_ANS), p.b.got[MSGEP_ANS] == 15), 5000000);
	ASSERT(msgep_transport_rdm.drained(&p.b.ep, false));
	ASSERT_EQ(p.b.broken, 0);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(bye, modes, bye)

/* The sender learns what has arrived, although it is not consumed; each reply is requested once. */
static void confirmed(const void *arg)
{
	uint8_t data[MSGEP_PARAMS_MAX];
	struct rdm_conn *conn;
	uint32_t n = 0;
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	conn = p.a.ep.w.conn;
	while (rig_send(&p.a, MSGEP_REQ)) {
		n++;
		ASSERT(msgep_transport_rdm.arrived(&p.a.ep) <= n);
		if (n % 3)
			continue;
		PUMP_UNTIL(&left, &right, msgep_transport_rdm.arrived(&p.a.ep) == n, 5000000);
		ASSERT(!conn->requesting_arrived);
		ASSERT_EQ(conn->granted[MSGEP_REQ], 0);
	}
	ASSERT_EQ(n, conn->net->window);
	/* A sender that awaits one of them sees it, blocked or not; none awaits what was never
	 * sent. */
	PUMP_UNTIL(&left, &right, msgep_transport_rdm.arrived(&p.a.ep) == n, 5000000);
	ASSERT(!msgep_transport_rdm.ready(&p.a.ep));
	p.a.ep.complete_at = MSGEP_INFLIGHT_ANY | n;
	ASSERT(msgep_transport_rdm.ready(&p.a.ep));
	ASSERT(!msgep_transport_rdm.quiet(&p.a.ep, false));
	p.a.ep.complete_at = MSGEP_INFLIGHT_ANY | (n + 1);
	ASSERT(!msgep_transport_rdm.ready(&p.a.ep));
	for (uint32_t i = 0; i < n; i++)
		ASSERT(rig_recv(&p.b, MSGEP_REQ));
	rig_flush(&p.b);
	PUMP_UNTIL(&left, &right, conn->granted[MSGEP_REQ] == n, 5000000);
	/* The last message of the peer confirms it, too. A large packet needs both sides to
	 * arrive. */
	p.a.woken = 0;
	p.a.large = false;
	ASSERT(rig_send(&p.a, MSGEP_REQ));
	PUMP_UNTIL(&left, &left, !conn->waiting, 5000000);
	PUMP_UNTIL(&right, &right, p.b.ep.w.conn->arrived == n + 1, 5000000);
	msgep_transport_rdm.finished(&p.a.ep, data, msgep_transport_rdm.finish(&p.b.ep, data));
	ASSERT_EQ(p.a.broken, 0);
	ASSERT(msgep_transport_rdm.ready(&p.a.ep));
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(confirmed, modes, confirmed)

static void acknowledge(struct end *e, uint32_t count)
{
	ASSERT(rig_recv(e, MSGEP_REQ));
	dofi_lock(&e->ep.lock);
	msgep_transport_rdm.acknowledge(&e->ep, count);
	msgep_transport_rdm.flush(&e->ep);
	dofi_unlock(&e->ep.lock);
}

/* An acknowledgement goes with the next packet, in a packet of its own if there is none, and with
 * the last message. */
static void acknowledged(const void *arg)
{
	uint8_t data[MSGEP_PARAMS_MAX];
	struct rdm_conn *a, *b;
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	a = p.a.ep.w.conn;
	b = p.b.ep.w.conn;
	for (int i = 0; i < 3; i++)
		ASSERT(rig_send(&p.a, MSGEP_REQ));
	PUMP_UNTIL(&left, &right, b->arrived == 3, 5000000);
	acknowledge(&p.b, 1);
	ASSERT_EQ(b->acks_reported, 0);
	ASSERT(rig_send(&p.b, MSGEP_REQ));
	ASSERT_EQ(b->acks_reported, 1);
	PUMP_UNTIL(&left, &right, msgep_transport_rdm.ready(&p.a.ep) && a->acked == 1, 5000000);
	ASSERT_EQ(msgep_transport_rdm.acknowledged(&p.a.ep), 1);
	ASSERT_EQ(a->acked_processed, 1);
	PUMP_UNTIL(&left, &right, rig_recv(&p.a, MSGEP_REQ), 5000000);
	p.a.woken = 0;
	acknowledge(&p.b, 2);
	PUMP_UNTIL(&left, &right, a->acked == 2, 5000000);
	ASSERT(msgep_transport_rdm.ready(&p.a.ep));
	ASSERT(!msgep_transport_rdm.quiet(&p.a.ep, false));
	ASSERT(p.a.woken > 0);
	ASSERT_EQ(msgep_transport_rdm.acknowledged(&p.a.ep), 2);
	ASSERT(!msgep_transport_rdm.ready(&p.a.ep));
	acknowledge(&p.b, 3);
	msgep_transport_rdm.finished(&p.a.ep, data, msgep_transport_rdm.finish(&p.b.ep, data));
	ASSERT_EQ(p.a.broken, 0);
	ASSERT(msgep_transport_rdm.ready(&p.a.ep));
	/* Those that it completes are to be reported first. */
	ASSERT(!msgep_transport_rdm.drained(&p.a.ep, true));
	ASSERT_EQ(msgep_transport_rdm.acknowledged(&p.a.ep), 3);
	ASSERT(msgep_transport_rdm.drained(&p.a.ep, true));
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(acknowledged, modes, acknowledged)

/* The passive side sends before the active one has read that it is connected. */
static void confirmed_late(const void *arg)
{
	struct msgep_params params = { .fd = -1 };
	struct pair p;

	rig_open(&left, &right, arg);
	rig_end_init(&p.a, &left);
	rig_end_init(&p.b, &right);
	ASSERT_EQ(msgep_transport_rdm.get_params(&p.a.ep, true, &params), 0);
	ASSERT_EQ(msgep_transport_rdm.set_peer_params(&p.b.ep, false, &params), 0);
	ASSERT_EQ(msgep_transport_rdm.get_params(&p.b.ep, false, &params), 0);
	p.b.out[MSGEP_REQ] = 1;
	ASSERT(rig_send(&p.b, MSGEP_REQ));
	PUMP_UNTIL(&left, &right, p.a.ep.w.conn->arrived == 1, 5000000);
	ASSERT_EQ(msgep_transport_rdm.arrived(&p.b.ep), 0);
	ASSERT_EQ(msgep_transport_rdm.set_peer_params(&p.a.ep, true, &params), 0);
	PUMP_UNTIL(&left, &right, msgep_transport_rdm.arrived(&p.b.ep) == 1, 5000000);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(confirmed_late, modes, confirmed_late)

/* Received packets are consumed although nothing can be sent to the peer any more. */
static void cut_off(const void *arg)
{
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	for (int i = 0; i < 5; i++)
		ASSERT(rig_send(&p.a, MSGEP_REQ));
	PUMP_UNTIL(&left, &right, msgep_transport_rdm.arrived(&p.a.ep) >= 3, 5000000);
	dofi_lock(&right.domain.transport_lock);
	rdm_break(p.b.ep.w.conn, FI_ECONNRESET);
	dofi_unlock(&right.domain.transport_lock);
	ASSERT_EQ(p.b.broken, FI_ECONNRESET);
	ASSERT(!rig_send(&p.b, MSGEP_REQ));
	PUMP_UNTIL(&left, &right, (rig_recv(&p.b, MSGEP_REQ), p.b.got[MSGEP_REQ] == 5), 5000000);
	ASSERT(msgep_transport_rdm.drained(&p.b.ep, true));
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(cut_off, modes, cut_off)

/* A peer that died sent no BYE: received packets are still consumed, and no others awaited. */
static void died(const void *arg)
{
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	settled(&p);
	ASSERT(!msgep_transport_rdm.drained(&p.b.ep, false));
	ASSERT(msgep_transport_rdm.drained(&p.b.ep, true));
	for (int i = 0; i < 5; i++)
		ASSERT(rig_send(&p.a, MSGEP_REQ));
	PUMP_UNTIL(&left, &right, msgep_transport_rdm.ready(&p.b.ep), 5000000);
	while (rig_recv(&p.b, MSGEP_REQ)) {
		PUMP_UNTIL(&left, &right,
			   msgep_transport_rdm.ready(&p.b.ep) || p.b.got[MSGEP_REQ] == 15, 5000000);
		ASSERT(msgep_transport_rdm.drained(&p.b.ep, true) == (p.b.got[MSGEP_REQ] == 15));
	}
	ASSERT_EQ(p.b.got[MSGEP_REQ], 15);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(died, modes, died)

static void wrong_bye(const void *arg)
{
	uint8_t data[MSGEP_PARAMS_MAX] = { 0 };
	struct pair p, q, r;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	rig_connect(&q, &left, &right);
	rig_connect(&r, &left, &right);
	msgep_transport_rdm.finished(&p.b.ep, data, RDM_BYE - 1);
	ASSERT_EQ(p.b.broken, FI_EINVAL);
	ASSERT(msgep_transport_rdm.drained(&p.b.ep, false));
	/* Nothing has been sent in either direction: no packet can have arrived. */
	data[RDM_BYE - 5] = 1;
	msgep_transport_rdm.finished(&r.b.ep, data, RDM_BYE);
	ASSERT_EQ(r.b.broken, FI_EINVAL);
	memset(data, 0xff, sizeof(data));
	msgep_transport_rdm.finished(&q.b.ep, data, RDM_BYE);
	ASSERT_EQ(q.b.broken, FI_EINVAL);
	rig_disconnect(&p);
	rig_disconnect(&q);
	rig_disconnect(&r);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(wrong_bye, modes, wrong_bye)

/* The peer reports more packets than ever arrive: the wait for them has a limit. */
static void missing_tail(const void *arg)
{
	uint8_t data[RDM_BYE] = { 0, 0, 0, 1 };
	uint64_t start;
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	start = dt_now_us();
	msgep_transport_rdm.finished(&p.b.ep, data, sizeof(data));
	ASSERT(!msgep_transport_rdm.drained(&p.b.ep, false));
	PUMP_UNTIL(&left, &right, msgep_transport_rdm.drained(&p.b.ep, false), 15000000);
	ASSERT(dt_now_us() - start >= RDM_GAP_MS * 1000 - 1000);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(missing_tail, one_mode, missing_tail)

/* Without a descriptor a timer wakes a blocked thread: also if another thread polls when it is due,
 * and only then; and not as long as there is no connection. */
static void sleeper_beside_poller(const void *arg)
{
	struct rdm_net *net;
	struct pair p;

	rig_open(&left, &right, arg);
	net = rdm_net_of(&right.domain);
	ASSERT(msgep_transport_rdm.may_sleep(&right.domain, true));
	ASSERT(!net->timer_due);
	ASSERT(!rig_wakes(&right, 50));
	rig_connect(&p, &left, &right);
	ASSERT(!net->timer_due == (net->inner.cq_fd >= 0));
	for (int i = 0; net->timer_due && i < 3; i++) {
		ASSERT(rig_wakes(&right, 5000));
		msgep_transport_rdm.progress(&right.domain, NULL);
	}
	rig_disconnect(&p);
	PUMP_UNTIL(&left, &right, !net->timer_due, 15000000);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(sleeper_beside_poller, modes, sleeper_beside_poller)

/* The peer's inner endpoint is closed: closing an end that still sends to it terminates. */
static void peer_gone(const void *arg)
{
	uint64_t start;
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	rig_exchange(&p, &left, &right, 10);
	msgep_transport_rdm.close(&p.b.ep);
	rig_close(&right);
	for (int i = 0; i < 1000 && !p.a.broken; i++) {
		rig_send(&p.a, MSGEP_REQ);
		msgep_transport_rdm.progress(&left.domain, NULL);
	}
	dt_note("broken: %d", p.a.broken);
	start = dt_now_us();
	msgep_transport_rdm.close(&p.a.ep);
	rig_close(&left);
	ASSERT(dt_now_us() - start < (RDM_LINGER_MS + 3000) * 1000u * dt_slow());
}
TEST_ROWS(peer_gone, one_mode, peer_gone)

/* The inner endpoint of another process gets the port of the peer's: what is sent to it is none of
 * its connections', and closing terminates. */
static void peer_replaced(const void *arg)
{
	struct sockaddr_in name;
	struct side other;
	char range[32];
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	rig_exchange(&p, &left, &right, 10);
	memcpy(&name, rdm_net_of(&right.domain)->name, sizeof(name));
	snprintf(range, sizeof(range), "%u-%u", ntohs(name.sin_port), ntohs(name.sin_port));
	setenv("DAPL_OFI_PORT_RANGE", range, 1);
	msgep_transport_rdm.close(&p.b.ep);
	rig_close(&right);
	rig_open_one(&other, arg);
	for (int i = 0; i < 1000 && !p.a.broken; i++) {
		rig_send(&p.a, MSGEP_REQ);
		rig_pump(&left, &other);
	}
	dt_note("broken: %d", p.a.broken);
	msgep_transport_rdm.close(&p.a.ep);
	rig_close(&left);
	rig_connect(&p, &other, &other);
	rig_exchange(&p, &other, &other, 10);
	rig_disconnect(&p);
	rig_close(&other);
}
TEST_ROWS(peer_replaced, modes, peer_replaced)

#define SEVERAL 8

static uint64_t retries_of_a_poll(struct rdm_net *net)
{
	uint64_t before = net->retries;

	msgep_transport_rdm.progress(&left.domain, NULL);
	return net->retries - before;
}

/*
 * The peer's provider does not respond: it is stopped, or has died. A poll does not retry the
 * packets of each connection with it. Later all arrive.
 */
static void unreachable(const void *arg)
{
	struct pair p[SEVERAL];
	struct rdm_net *net;

	rig_open(&left, &right, arg);
	net = rdm_net_of(&left.domain);
	for (int i = 0; i < SEVERAL; i++) {
		rig_connect(&p[i], &left, &right);
		ASSERT(rig_send(&p[i].a, MSGEP_REQ));
	}
	for (int i = 0; i < 20; i++)
		ASSERT(retries_of_a_poll(net) <= 1);
	for (int i = 0; i < SEVERAL; i++)
		PUMP_UNTIL(&left, &right, rig_recv(&p[i].b, MSGEP_REQ), 5000000);
	for (int i = 0; i < SEVERAL; i++)
		rig_disconnect(&p[i]);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(unreachable, rxm_mode, unreachable)

/* What waits for a peer that has died is dropped when the endpoint is closed, and so are probes. */
static void closed_unreachable(const void *arg)
{
	struct pair p, q, next;
	struct rdm_net *net;

	rig_open(&left, &right, arg);
	net = rdm_net_of(&left.domain);
	rig_connect(&p, &left, &right);
	rig_connect(&q, &left, &right);
	ASSERT(rig_send(&p.a, MSGEP_REQ));
	msgep_transport_rdm.check_path(&q.a.ep);
	ASSERT(retries_of_a_poll(net) > 0);
	ASSERT(msgep_transport_rdm.drained(&p.a.ep, true));
	msgep_transport_rdm.close(&p.a.ep);
	msgep_transport_rdm.close(&q.a.ep);
	msgep_transport_rdm.progress(&left.domain, NULL);
	ASSERT(dofi_list_empty(&net->closed));
	msgep_transport_rdm.close(&p.b.ep);
	msgep_transport_rdm.close(&q.b.ep);
	rig_connect(&next, &left, &right);
	rig_exchange(&next, &left, &right, 10);
	rig_disconnect(&next);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(closed_unreachable, rxm_mode, closed_unreachable)

/* Descriptors and all other resources are released. */
static void no_leaks(const void *arg)
{
	struct dt_fds before;
	struct pair p;

	/* libfabric keeps some from its first use on */
	rig_open(&left, &right, arg);
	rig_close(&left);
	rig_close(&right);
	dt_fds_get(&before);
	for (int i = 0; i < 3; i++) {
		rig_open(&left, &right, arg);
		rig_connect(&p, &left, &right);
		rig_exchange(&p, &left, &right, 5);
		rig_disconnect(&p);
		rig_close(&left);
		rig_close(&right);
	}
	dt_fds_check(&before, __FILE__, __LINE__);
}
TEST_ROWS(no_leaks, modes, no_leaks)
