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

/* Announces a write. True: its data is sent at once. */
static bool write_at_once(struct one *o)
{
	size_t room;
	struct msgep_frame *f = pair_carry_reserve(&o->ep, 16, &room);
	bool at_once;

	ASSERT(f);
	at_once = pair_bulk_mode(&o->ep, MSGEP_WRITE) == MSGEP_BULK_AT_ONCE;
	*f = (struct msgep_frame){
		.kind = MSGEP_WRITE,
		.flags = (uint8_t)(MSGEP_PULL | (at_once ? MSGEP_UNSOLICITED : 0)),
	};
	pair_commit(&o->ep, MSGEP_REQ, f);
	return at_once;
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

	put(o, MSGEP_REQ, MSGEP_WRITE, 0, 0);
	ASSERT(write_at_once(o));
	put(o, MSGEP_REQ, MSGEP_WRITE, 0, 0);
	ASSERT(write_at_once(o));
	one_close(o);
}

TEST(pair_unsolicited, a_message_may_wait_and_what_follows_it_needs_GO)
{
	struct one *o = one_idle();

	put(o, MSGEP_REQ, MSGEP_MSG, 0, 0);
	ASSERT(!write_at_once(o));
	put(o, MSGEP_REQ, MSGEP_WRITE, 0, 0);
	ASSERT(!write_at_once(o));
	consume_all(o);
	ASSERT(write_at_once(o));
	ASSERT_EQ(pair_bulk_mode(&o->ep, MSGEP_MSG), MSGEP_BULK_AFTER_GO);
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
