/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which announcements of long data other long data carries (msgep/pair/pair_carry.c), and
 * that the order of requests holds. */
#include "t_pair.h"
#include "rig.h"

/* Another transfer is announced. False: not now. */
static bool announce(struct one *o)
{
	size_t room;
	struct msgep_frame *f = pair_reserve_announcement(&o->ep, 16, &room);

	if (!f)
		return false;
	o->conn.n_out++;
	*f = (struct msgep_frame){ .kind = MSGEP_WRITE, .flags = MSGEP_PULL, .len = 0 };
	pair_commit(&o->ep, MSGEP_REQ, f);
	return true;
}

/* Announcements that the next transfer carries. */
static size_t carried(struct one *o)
{
	struct pair_transfer t;
	struct iovec iov = { 0 };

	if (!pair_carry_take(&o->conn, &t, &iov))
		return 0;
	ASSERT(iov.iov_base == t.carried);
	o->conn.n_out--;
	return iov.iov_len / MSGEP_FRAME_HDR;
}

static bool may_post(struct one *o)
{
	size_t room;

	if (!pair_reserve(&o->ep, MSGEP_REQ, 0, &room))
		return false;
	pair_unreserve(&o->ep);
	return true;
}

TEST(pair_carry, announcements_wait_for_the_next_transfer)
{
	struct one *o = one_with_bulk(PAIR_CARRIERS + 1);

	ASSERT(announce(o));
	ASSERT(announce(o));
	idle_poll(o);
	pair_flush_dirty(&o->net, PAIR_HELD);
	ASSERT_EQ(messages, 0);
	ASSERT_EQ(carried(o), 2);
	ASSERT_EQ(carried(o), 0);
	one_close(o);
}

TEST(pair_carry, with_few_transfers_an_announcement_leaves_at_once)
{
	struct one *o = one_with_bulk(PAIR_CARRIERS);

	ASSERT(announce(o));
	busy_poll(o);
	ASSERT_EQ(messages, 1);
	ASSERT_EQ(carried(o), 0);
	one_close(o);
}

/* The two paths are not ordered with each other. */
TEST(pair_carry, nothing_is_carried_before_earlier_requests_are_consumed)
{
	struct one *o = one_with_bulk(PAIR_CARRIERS + 1);

	put(o, MSGEP_REQ, MSGEP_MSG, 0, 0);
	ASSERT(announce(o));
	ASSERT_EQ(carried(o), 0);
	atomic_store(&o->conn.granted[MSGEP_REQ], MSGEP_FRAME_HDR);
	ASSERT_EQ(carried(o), 1);
	one_close(o);
}

TEST(pair_carry, other_requests_wait_until_what_was_carried_is_consumed)
{
	struct one *o = one_with_bulk(PAIR_CARRIERS + 1);

	ASSERT(announce(o));
	ASSERT_EQ(carried(o), 1);
	ASSERT(!may_post(o));
	/* Further ones can be carried, which keeps their order. */
	o->conn.n_out = 1;
	ASSERT(announce(o));
	ASSERT_EQ(carried(o), 1);
	consume_all(o);
	ASSERT(may_post(o));
	one_close(o);
}

TEST(pair_carry, a_request_leaves_after_what_was_collected_before_it)
{
	struct one *o = one_with_bulk(PAIR_CARRIERS + 1);

	ASSERT(announce(o));
	put(o, MSGEP_REQ, MSGEP_MSG, 0, 0);
	busy_poll(o);
	ASSERT_EQ(messages, 1);
	ASSERT_EQ(packets, 2);
	ASSERT_EQ(carried(o), 0);
	one_close(o);
}

TEST(pair_carry, without_a_transfer_left_they_leave_on_the_pair)
{
	struct one *o = one_with_bulk(PAIR_CARRIERS + 1);

	ASSERT(announce(o));
	o->conn.n_out = 2;
	pair_carry_check(&o->conn);
	busy_poll(o);
	ASSERT_EQ(messages, 0);
	o->conn.n_out = 1;
	pair_carry_check(&o->conn);
	busy_poll(o);
	ASSERT_EQ(messages, 1);
	ASSERT_EQ(packets, 1);
	one_close(o);
}

TEST(pair_carry, more_than_a_transfer_carries_wait)
{
	struct one *o = one_with_bulk(PAIR_CARRIERS + 1);
	unsigned int n = 0;

	while (n < 100 && announce(o))
		n++;
	ASSERT(n > 8 && n < 100);
	ASSERT_EQ(carried(o), n);
	ASSERT(announce(o));
	one_close(o);
}

/* Counts at the end of a connection include what has been sent only. */
TEST(pair_carry, at_the_end_they_are_not_sent)
{
	struct one *o = one_with_bulk(PAIR_CARRIERS + 1);

	ASSERT(announce(o));
	pair_carry_drop(&o->conn);
	ASSERT_EQ(o->conn.sent[MSGEP_REQ], 0);
	ASSERT_EQ(o->conn.packets, 0);
	ASSERT_EQ(carried(o), 0);
	one_close(o);
}
