/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which long data is sent with its announcement, without GO
 * (msgep/pair/pair_unsolicited.c). */
#include <stdlib.h>

#include "t_pair.h"
#include "rig.h"

/* Nothing is in progress. */
static struct one *one_idle(void)
{
	return one_with_bulk(0);
}

#define WHOLE (MSGEP_FIRST | MSGEP_LAST)

/* Announces a request, or a part of it. True: its data is sent at once. */
static bool at_once(struct one *o, uint8_t kind, uint8_t flags)
{
	size_t room;
	struct msgep_frame *f = pair_reserve_announcement(&o->ep, 16, &room);
	bool yes;

	ASSERT(f);
	yes = pair_bulk_mode(&o->ep, kind) == MSGEP_BULK_AT_ONCE;
	*f = (struct msgep_frame){
		.kind = kind,
		.flags = (uint8_t)(flags | MSGEP_PULL | (yes ? MSGEP_UNSOLICITED : 0)),
	};
	pair_commit(&o->ep, MSGEP_REQ, f);
	return yes;
}

static bool write_at_once(struct one *o)
{
	return at_once(o, MSGEP_WRITE, WHOLE);
}

static bool message_at_once(struct one *o)
{
	return at_once(o, MSGEP_MSG, WHOLE);
}

static enum msgep_bulk_mode answer(struct one *o)
{
	return pair_bulk_mode(&o->ep, MSGEP_DATA);
}

TEST(pair_unsolicited, announcements_leave_before_their_data)
{
	struct one *o = one_idle();

	ASSERT(write_at_once(o));
	ASSERT_EQ(messages, 1);
	ASSERT(write_at_once(o));
	ASSERT_EQ(messages, 2);
	one_close(o);
}

TEST(pair_unsolicited, writes_follow_writes_that_are_not_consumed)
{
	struct one *o = one_idle();

	put(o, MSGEP_REQ, MSGEP_WRITE, WHOLE, 0);
	ASSERT(write_at_once(o));
	put(o, MSGEP_REQ, MSGEP_WRITE, WHOLE, 0);
	ASSERT(write_at_once(o));
	one_close(o);
}

TEST(pair_unsolicited, a_message_may_wait_and_what_follows_it_needs_GO)
{
	struct one *o = one_idle();

	put(o, MSGEP_REQ, MSGEP_MSG, WHOLE, 0);
	ASSERT(!write_at_once(o));
	put(o, MSGEP_REQ, MSGEP_WRITE, WHOLE, 0);
	ASSERT(!write_at_once(o));
	consume_all(o);
	ASSERT(write_at_once(o));
	ASSERT(!message_at_once(o));
	one_close(o);
}

TEST(pair_unsolicited, messages_whose_receives_have_been_reported_are)
{
	struct one *o = one_idle();

	pair_note_receives(&o->conn, 4);
	ASSERT(message_at_once(o));
	put(o, MSGEP_REQ, MSGEP_MSG, WHOLE, 0);
	put(o, MSGEP_REQ, MSGEP_IMM, WHOLE, 0);
	ASSERT(write_at_once(o));
	ASSERT(message_at_once(o));
	ASSERT(!message_at_once(o));
	consume_all(o);
	/* An older report arrives late. */
	pair_note_receives(&o->conn, 3);
	ASSERT(!message_at_once(o));
	consume_all(o);
	pair_note_receives(&o->conn, 7);
	ASSERT(message_at_once(o));
	one_close(o);
}

TEST(pair_unsolicited, no_message_is_if_the_peer_reports_no_receives)
{
	struct one *o = one_idle();

	for (uint32_t used = 0; used < 4; used++) {
		/* After 2^31 messages, for example. */
		o->conn.used_receives = used << 30 | 1;
		ASSERT(!message_at_once(o));
		consume_all(o);
	}
	one_close(o);
}

TEST(pair_unsolicited, all_parts_of_a_message_take_one_receive)
{
	struct one *o = one_idle();

	pair_note_receives(&o->conn, 2);
	ASSERT(at_once(o, MSGEP_MSG, MSGEP_FIRST));
	ASSERT(at_once(o, MSGEP_MSG, 0));
	ASSERT(at_once(o, MSGEP_MSG, MSGEP_LAST));
	ASSERT(message_at_once(o));
	ASSERT(!message_at_once(o));
	one_close(o);
}

TEST(pair_unsolicited, what_follows_a_read_needs_GO)
{
	struct one *o = one_idle();

	pair_note_receives(&o->conn, 1);
	put(o, MSGEP_REQ, MSGEP_READ, WHOLE, 0);
	ASSERT(!message_at_once(o));
	one_close(o);
}

/* The last packet that has been collected. */
static const struct msgep_frame *last_packet(struct one *o)
{
	const struct pair_buf *buf = o->pair.open;

	ASSERT(buf && buf->len >= MSGEP_FRAME_HDR);
	return (const void *)(buf->data + buf->len - MSGEP_FRAME_HDR);
}

TEST(pair_unsolicited, receives_are_reported)
{
	struct one *o = one_idle();

	o->conn.dispatching = true;
	o->ep.rx_tail = 3;
	put(o, MSGEP_REQ, MSGEP_MSG, WHOLE, 0);
	ASSERT_EQ(le32toh(last_packet(o)->key), 3);
	o->ep.rx_tail = 4;
	put(o, MSGEP_ANS, MSGEP_ACK, WHOLE, 0);
	ASSERT_EQ(le64toh(last_packet(o)->total), 4);
	ASSERT_EQ(last_packet(o)->key, 0);
	o->ep.rx_tail = 5;
	put(o, MSGEP_REQ, MSGEP_WRITE, WHOLE, 77);
	ASSERT_EQ(le32toh(last_packet(o)->key), 77);
	one_close(o);
}

TEST(pair_unsolicited, nothing_is_while_a_GO_is_awaited)
{
	struct one *o = one_idle();

	o->conn.n_awaiting = 1;
	ASSERT(!write_at_once(o));
	ASSERT_EQ(answer(o), MSGEP_BULK_AFTER_GO);
	o->conn.n_awaiting = 0;
	ASSERT_EQ(answer(o), MSGEP_BULK_AT_ONCE);
	ASSERT(write_at_once(o));
	one_close(o);
}

TEST(pair_unsolicited, answers_leave_in_packets_until_requests_are_consumed)
{
	struct one *o = one_idle();

	ASSERT_EQ(answer(o), MSGEP_BULK_AT_ONCE);
	ASSERT(write_at_once(o));
	ASSERT_EQ(answer(o), MSGEP_BULK_NOT);
	consume_all(o);
	ASSERT_EQ(answer(o), MSGEP_BULK_AT_ONCE);
	one_close(o);
}

TEST(pair_unsolicited, streams_use_GO)
{
	struct one *o = one_idle();

	o->ep.unacked.tail = PAIR_UNSOLICITED;
	ASSERT(!write_at_once(o));
	o->ep.unacked.tail = 0;
	consume_all(o);
	for (int i = 1; i < PAIR_TRANSFERS; i++) {
		ASSERT(!write_at_once(o));
		consume_all(o);
	}
	ASSERT(write_at_once(o));
	one_close(o);
}

TEST(pair_unsolicited, none_without_an_endpoint_that_stays)
{
	struct one *o = one_idle();

	o->bulk.leave = BULK_ASKED;
	ASSERT(!write_at_once(o));
	ASSERT_EQ(answer(o), MSGEP_BULK_AFTER_GO);
	one_close(o);
}
