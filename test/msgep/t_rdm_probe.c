/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the probes between two ends, and the detection of lost packets. */
#include <string.h>

#include "rdm_rig.h"

RIG_MODES;

static struct side left, right;

static bool proved(struct end *e)
{
	return msgep_transport_rdm.path_checked(&e->ep);
}

static bool is_missing(struct end *e, struct end *peer)
{
	uint8_t counts[MSGEP_COUNTS_MAX];
	size_t len = msgep_transport_rdm.counts(&peer->ep, counts);

	return msgep_transport_rdm.lost(&e->ep, counts, len);
}

/* The probe of one side suffices for both; each is notified once, however often it probes. */
static void both_ways(const void *arg)
{
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	for (int i = 0; i < 20; i++)
		rig_pump(&left, &right);
	ASSERT(!proved(&p.a) && !proved(&p.b));
	msgep_transport_rdm.check_path(&p.a.ep);
	msgep_transport_rdm.check_path(&p.a.ep);
	PUMP_UNTIL(&left, &right, proved(&p.a) && proved(&p.b), 5000000);
	msgep_transport_rdm.check_path(&p.b.ep);
	rig_exchange(&p, &left, &right, 50);
	ASSERT_EQ(p.a.settled, 1);
	ASSERT_EQ(p.b.settled, 1);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(probe_both_ways, modes, both_ways)

/* The probed side does not know before its own reply has been received. */
static void one_way_only(const void *arg)
{
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	msgep_transport_rdm.check_path(&p.a.ep);
	for (int i = 0; i < 200; i++) {
		msgep_transport_rdm.progress(&right.domain, NULL);
		ASSERT(!proved(&p.a) && !proved(&p.b));
	}
	PUMP_UNTIL(&left, &right, proved(&p.a), 5000000);
	PUMP_UNTIL(&left, &right, proved(&p.b), 5000000);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(probe_one_way, modes, one_way_only)

/* A frame shows that its sender's check has succeeded. */
static void frame_proves(const void *arg)
{
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	ASSERT(rig_send(&p.a, MSGEP_REQ));
	PUMP_UNTIL(&left, &right, proved(&p.b), 5000000);
	ASSERT(!proved(&p.a));
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(probe_frame, modes, frame_proves)

/* Counts change with what moves; when all has come nothing is missing, and a packet that the one
 * has sent and the other has not got is. */
static void counts(const void *arg)
{
	uint8_t before[MSGEP_COUNTS_MAX], after[MSGEP_COUNTS_MAX];
	struct rdm_conn *conn;
	struct pair p;
	size_t len;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	len = msgep_transport_rdm.counts(&p.a.ep, before);
	ASSERT(len > 0 && len <= MSGEP_COUNTS_MAX);
	ASSERT_EQ(msgep_transport_rdm.counts(&p.a.ep, after), len);
	ASSERT_MEM(after, before, len);
	ASSERT(!is_missing(&p.a, &p.b) && !is_missing(&p.b, &p.a));
	rig_exchange(&p, &left, &right, 30);
	PUMP_UNTIL(&left, &right, !is_missing(&p.a, &p.b) && !is_missing(&p.b, &p.a), 5000000);
	msgep_transport_rdm.counts(&p.a.ep, after);
	ASSERT(memcmp(after, before, len));
	conn = p.a.ep.w.conn;
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		atomic_fetch_add(&conn->sent[ch], 1);
		ASSERT(is_missing(&p.a, &p.b) && is_missing(&p.b, &p.a));
		atomic_fetch_sub(&conn->sent[ch], 1);
	}
	conn->acks_reported++;
	ASSERT(is_missing(&p.b, &p.a) && !is_missing(&p.a, &p.b));
	conn->acks_reported--;
	ASSERT(!is_missing(&p.a, &p.b));
	/* Invalid counts are not accepted as success. */
	ASSERT(msgep_transport_rdm.lost(&p.a.ep, after, len - 1));
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(probe_counts, modes, counts)
