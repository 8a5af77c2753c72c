/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that the last packets reach the peer before the sender has closed. */
#include <string.h>

#include "rdm_rig.h"

RIG_MODES;

static struct side left, right;

/* A side that closes everything at once: what it committed arrives. */
static void close_at_once(const void *arg)
{
	struct leaver l;
	struct pair p;
	uint32_t w;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	w = rdm_net_of(&left.domain)->window;
	while (rig_send(&p.a, MSGEP_REQ))
		;
	rig_close_thread(&l, &p.a, &left);
	PUMP_UNTIL(&right, &right, (rig_recv(&p.b, MSGEP_REQ), p.b.got[MSGEP_REQ] == w), 10000000);
	PUMP_UNTIL(&right, &right, l.gone, 10000000);
	dt_thread_join(&l.thread);
	msgep_transport_rdm.close(&p.b.ep);
	rig_close(&right);
}
TEST_ROWS(close_at_once, modes, close_at_once)

/* A connection that is up, with three requests in transit that have not been polled; no large
 * packets, which arrive only if both sides make progress. */
static struct rdm_conn *three_under_way(struct pair *p, const struct mode *mode)
{
	struct rdm_conn *conn;

	rig_open(&left, &right, mode);
	rig_connect(p, &left, &right);
	rig_exchange(p, &left, &right, 5);
	conn = p->a.ep.w.conn;
	PUMP_UNTIL(&left, &right,
		   conn->confirmed == conn->sent[MSGEP_REQ] &&
			   conn->sent[MSGEP_REQ] - conn->granted[MSGEP_REQ] <= 3,
		   5000000);
	p->a.large = false;
	for (int i = 0; i < 3; i++)
		ASSERT(rig_send(&p->a, MSGEP_REQ));
	PUMP_UNTIL(&left, &left, !conn->waiting, 5000000);
	return conn;
}

/* Only the first of the three has queried its arrival: the closed end queries the rest. */
static void closing_asks(const void *arg)
{
	struct rdm_net *net;
	struct pair p;
	struct rdm_conn *conn = three_under_way(&p, arg);

	net = rdm_net_of(&left.domain);
	ASSERT_EQ(conn->arrived_requested, conn->sent[MSGEP_REQ] - 2);
	msgep_transport_rdm.close(&p.a.ep);
	ASSERT(!dofi_list_empty(&net->closed));
	PUMP_UNTIL(&left, &right, dofi_list_empty(&net->closed), 5000000);
	ASSERT_EQ(conn->confirmed, conn->sent[MSGEP_REQ]);
	msgep_transport_rdm.close(&p.b.ep);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(closing_asks, modes, closing_asks)

/* The wait for a peer that does not answer is limited; for a peer that has ended there is none. */
static void closing_in_vain(const void *arg)
{
	uint8_t data[MSGEP_PARAMS_MAX];
	struct rdm_net *net;
	struct pair p, q;
	struct rdm_conn *conn = three_under_way(&p, arg), *other;
	uint64_t start = dt_now_us(), took;

	net = rdm_net_of(&left.domain);
	msgep_transport_rdm.close(&p.a.ep);
	PUMP_UNTIL(&left, &left, dofi_list_empty(&net->closed), 5000000);
	took = dt_now_us() - start;
	dt_note("closed after %llu us", (unsigned long long)took);
	ASSERT(conn->confirmed != conn->sent[MSGEP_REQ]);
	ASSERT(took >= RDM_CONFIRM_MS * 1000);
	ASSERT(took < (RDM_CONFIRM_MS + 1000) * 1000u * dt_slow());
	ASSERT_EQ(net->want_tx, 0);
	msgep_transport_rdm.close(&p.b.ep);

	rig_connect(&q, &left, &right);
	rig_exchange(&q, &left, &right, 1);
	other = q.a.ep.w.conn;
	PUMP_UNTIL(&left, &right, !other->large.sending, 5000000);
	q.a.large = false;
	ASSERT(rig_send(&q.a, MSGEP_REQ));
	PUMP_UNTIL(&left, &left, other->taken <= MSGEP_CHANNELS, 5000000);
	ASSERT(other->confirmed != other->sent[MSGEP_REQ]);
	msgep_transport_rdm.finished(&q.a.ep, data, msgep_transport_rdm.finish(&q.b.ep, data));
	ASSERT_EQ(q.a.broken, 0);
	msgep_transport_rdm.close(&q.a.ep);
	ASSERT(dofi_list_empty(&net->closed));
	msgep_transport_rdm.close(&q.b.ep);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(closing_in_vain, modes, closing_in_vain)

/* Packets for a closed end are validated as before. */
static void closing_and_lied_to(const void *arg)
{
	struct rdm_hdr hdr;
	struct rdm_net *net;
	struct pair p;
	struct rdm_conn *conn = three_under_way(&p, arg);

	net = rdm_net_of(&left.domain);
	p.b.ep.w.conn->broken = true; /* it does not answer */
	msgep_transport_rdm.close(&p.a.ep);
	hdr = rig_header(&p.b, RDM_CREDIT, 0);
	hdr.consumed[MSGEP_REQ] = htole32(conn->sent[MSGEP_REQ]);
	hdr.token ^= htole64(1);
	rig_raw(&right, &left, &p.b, &hdr, sizeof(hdr));
	hdr.token ^= htole64(1);
	hdr.consumed[MSGEP_REQ] = htole32(conn->sent[MSGEP_REQ] + 1);
	rig_raw(&right, &left, &p.b, &hdr, sizeof(hdr));
	PUMP_UNTIL(&left, &left, dofi_list_empty(&net->closed), 5000000);
	ASSERT(conn->violated);
	ASSERT(conn->confirmed != conn->sent[MSGEP_REQ]);
	msgep_transport_rdm.close(&p.b.ep);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(closing_and_lied_to, modes, closing_and_lied_to)

/* An end that has been queried, and has not been idle since, replies when it is closed. */
static void closing_answers(const void *arg)
{
	struct pair p;
	struct rdm_conn *conn = three_under_way(&p, arg), *peer = p.b.ep.w.conn;
	uint64_t end = dt_now_us() + 5000000u * dt_slow();
	uint32_t requested = conn->arrived_requested;

	while ((int32_t)(peer->arrived - requested) < 0) {
		ASSERT(dt_now_us() < end);
		msgep_transport_rdm.progress(&right.domain, NULL);
	}
	msgep_transport_rdm.close(&p.b.ep);
	PUMP_UNTIL(&left, &right, (int32_t)(conn->confirmed - requested) >= 0, 5000000);
	msgep_transport_rdm.close(&p.a.ep);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(closing_answers, modes, closing_answers)
