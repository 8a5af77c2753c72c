/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that acknowledgements travel with the consumer's reply, where it replies, and that a reply
 * does not wait for a poll. The consumer is at the right side. */
#include "base/clock.h"
#include "rdm_rig.h"

static const struct mode mode = { "rxm", false, false };

static struct side left, right;
static struct pair p;

/* Both sides have a connection of the fabric; nothing is owed. */
static void open_pair(void)
{
	rig_open(&left, &right, &mode);
	rig_connect(&p, &left, &right);
	ASSERT(rig_send(&p.a, MSGEP_REQ));
	PUMP_UNTIL(&left, &right, rig_recv(&p.b, MSGEP_REQ), 5000000);
	ASSERT(rig_send(&p.b, MSGEP_REQ));
	PUMP_UNTIL(&left, &right, rig_recv(&p.a, MSGEP_REQ), 5000000);
	PUMP_UNTIL(&left, &right,
		   p.a.ep.w.conn->confirmed == 1 && p.b.ep.w.conn->confirmed == 1 &&
			   dofi_list_empty(&rdm_net_of(&right.domain)->owing),
		   5000000);
	p.b.ep.w.conn->reply = (struct msgep_reply){ 0 };
}

static void close_pair(void)
{
	ASSERT_EQ(p.a.broken, 0);
	ASSERT_EQ(p.b.broken, 0);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}

/* Polls of the right side that find nothing. */
static void idle(uint32_t polls)
{
	struct rdm_net *net = rdm_net_of(&right.domain);
	uint32_t end = net->empty_polls + polls;

	while (net->empty_polls != end)
		msgep_transport_rdm.progress(&right.domain, NULL);
}

/* The next message of `from` reaches `to`, which polls until then. */
static void send_one(struct end *from, struct end *to, struct side *side)
{
	struct rdm_conn *conn = to->ep.w.conn;
	uint32_t n = conn->arrived + 1;

	ASSERT(rig_send(from, MSGEP_REQ));
	while (conn->arrived != n)
		msgep_transport_rdm.progress(&side->domain, NULL);
	ASSERT(rig_recv(to, MSGEP_REQ));
}

/* A request arrives, which wants an acknowledgement. */
static void request(void)
{
	struct rdm_conn *conn = p.b.ep.w.conn;

	send_one(&p.a, &p.b, &right);
	dofi_lock(&p.b.ep.lock);
	msgep_transport_rdm.acknowledge(&p.b.ep, conn->acks + 1);
	msgep_transport_rdm.flush(&p.b.ep);
	dofi_unlock(&p.b.ep.lock);
	ASSERT(conn->acks_reported != conn->acks);
}

static bool is_acknowledged(void)
{
	const struct rdm_conn *conn = p.b.ep.w.conn;

	return conn->acks_reported == conn->acks && conn->arrived_reported == conn->arrived;
}

static void reply(void)
{
	send_one(&p.b, &p.a, &left);
	rig_flush(&p.a);
	ASSERT(is_acknowledged());
}

/* A request, to which the consumer replies after that many polls. True: the acknowledgement was
 * sent alone. */
static bool exchange(uint32_t polls)
{
	bool alone;

	request();
	idle(polls);
	alone = is_acknowledged();
	reply();
	return alone;
}

TEST(rdm_reply, an_acknowledgement_waits_for_it_where_the_last_one_had_one)
{
	open_pair();
	ASSERT(exchange(1));
	for (uint32_t polls = 0; polls < MSGEP_REPLY_POLLS; polls++)
		ASSERT(!exchange(polls));
	close_pair();
}

TEST(rdm_reply, an_acknowledgement_that_waits_in_vain_is_sent_after_some_polls)
{
	open_pair();
	ASSERT(exchange(1));
	request();
	idle(MSGEP_REPLY_POLLS - 1);
	ASSERT(!is_acknowledged());
	idle(1);
	ASSERT(is_acknowledged());
	/* The next one does not wait. */
	request();
	idle(1);
	ASSERT(is_acknowledged());
	close_pair();
}

TEST(rdm_reply, an_acknowledgement_that_waits_is_sent_before_a_thread_sleeps)
{
	open_pair();
	ASSERT(exchange(1));
	request();
	idle(1);
	ASSERT(!is_acknowledged());
	msgep_transport_rdm.may_sleep(&right.domain, true);
	ASSERT(is_acknowledged());
	close_pair();
}

TEST(rdm_reply, an_acknowledgement_that_waits_is_sent_when_the_end_is_closed)
{
	open_pair();
	ASSERT(exchange(1));
	send_one(&p.a, &p.b, &right);
	idle(1);
	ASSERT(p.a.ep.w.conn->requesting_arrived);
	msgep_transport_rdm.close(&p.b.ep);
	PUMP_UNTIL(&left, &left, !p.a.ep.w.conn->requesting_arrived, 5000000);
	close_pair();
}

/* The peer awaits its completion before it sends what the consumer replies to. */
TEST(rdm_reply, is_no_message_after_other_arrivals)
{
	open_pair();
	for (int i = 0; i < 2; i++) {
		request();
		idle(1);
		ASSERT(is_acknowledged());
		send_one(&p.a, &p.b, &right);
		reply();
	}
	close_pair();
}

TEST(rdm_reply, is_no_late_message)
{
	open_pair();
	ASSERT(exchange(1 + MSGEP_REPLY_POLLS));
	ASSERT(exchange(1));
	close_pair();
}

/* Whether the consumer's own message has arrived does not depend on its next one. */
TEST(rdm_reply, is_not_awaited_by_a_query)
{
	struct rdm_conn *conn;

	open_pair();
	conn = p.b.ep.w.conn;
	ASSERT(exchange(1));
	/* The second one is queried when the answer to the query of the first has arrived. */
	ASSERT(rig_send(&p.b, MSGEP_REQ));
	ASSERT_EQ(conn->arrived_requested, p.b.sent[MSGEP_REQ] - 1);
	request();
	ASSERT(!conn->requesting_arrived);
	idle(1);
	ASSERT_EQ(conn->arrived_requested, p.b.sent[MSGEP_REQ]);
	ASSERT(is_acknowledged());
	close_pair();
}

/* Most polls within RDM_FRESH_NS of an arrival read nothing; not all, because this thread may lose
 * its processor in between. */
TEST(rdm_reply, is_not_preceded_by_a_poll_that_reads)
{
	struct msgep_cq_direct direct = { .cq = &p.b.cq };
	unsigned int polls = 0, fresh = 0, others = 0;
	struct rdm_conn *conn;
	struct rdm_net *net;

	open_pair();
	net = rdm_net_of(&right.domain);
	conn = p.b.ep.w.conn;
	for (uint32_t n = conn->arrived + 1; polls < 100; n++, polls++) {
		ASSERT(rig_send(&p.a, MSGEP_REQ));
		atomic_store(&net->received_at, dofi_now());
		msgep_transport_rdm.progress(&right.domain, &direct);
		fresh += conn->arrived != n;
		/* The next one does, and so does any of another thread. */
		for (; conn->arrived != n; others += polls % 2) {
			if (polls % 2)
				atomic_store(&net->received_at, dofi_now());
			msgep_transport_rdm.progress(&right.domain, polls % 2 ? NULL : &direct);
		}
		ASSERT(rig_recv(&p.b, MSGEP_REQ));
		rig_flush(&p.b);
		PUMP_UNTIL(&left, &right, p.a.ep.w.conn->confirmed == p.a.sent[MSGEP_REQ], 5000000);
	}
	dt_note("%u of %u, %u", fresh, polls, others);
	ASSERT(fresh > polls / 2);
	ASSERT(others < 100 * polls);
	close_pair();
}
