/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests when packets are sent over libfabric's connected endpoints (msgep/pair/pair_send.c,
 * pair_message.c): which share a message, which wait for others, and that every wait ends. The
 * library's sender is linked alone; libfabric's endpoint is a stub that counts messages and
 * packets. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "msgep/cm/inbox.h"
#include "rig.h"
#include "t_pair.h"

#define WINDOW (128u << 10)

/* ---------------------------------------------------------------- stubs */

void pair_share_want(struct pair_conn *conn)
{
	(void)conn;
}

static int broken_with;

void pair_break(struct pair *pair, int err)
{
	pair->state = PAIR_BROKEN;
	broken_with = err;
}

unsigned int messages, packets;
static unsigned int credits;
static ssize_t inject_ret;       /* what libfabric returns instead of sending, */
static unsigned int refuse_next; /* to this number of messages only */

static ssize_t stub_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
	const uint8_t *at = (const uint8_t *)buf + sizeof(struct pair_head);
	const uint8_t *end = (const uint8_t *)buf + len;

	(void)ep;
	(void)to;
	if (inject_ret)
		return inject_ret;
	if (refuse_next) {
		refuse_next--;
		return -FI_ENOMEM;
	}
	messages++;
	for (; at < end; at += MSGEP_FRAME_HDR) {
		const struct msgep_frame *f = (const void *)at;

		credits += f->kind == PAIR_CREDIT;
		packets += f->kind != PAIR_CREDIT;
	}
	return 0;
}

static struct fi_ops_msg stub_ops = { .size = sizeof(stub_ops), .inject = stub_inject };
static struct fid_ep stub_ep = { .msg = &stub_ops };

/* ---------------------------------------------------------------- fixture */

struct one *one_open(void)
{
	struct one *o = calloc(1, sizeof(*o));

	ASSERT(o);
	messages = packets = credits = 0;
	inject_ret = broken_with = 0;
	refuse_next = 0;
	o->net.domain = &o->domain;
	o->domain.transport_data = &o->net;
	o->net.inject = PAIR_MESSAGE;
	dofi_lock_init(&o->net.lock);
	dofi_lock_init(&o->net.leaf);
	dofi_list_init(&o->net.dirty);
	dofi_list_init(&o->net.touched);
	o->pair.net = &o->net;
	o->pair.ep = &stub_ep;
	o->pair.state = PAIR_UP;
	o->pair.waiting_end = &o->pair.waiting;
	dofi_lock_init(&o->pair.lock);
	dofi_list_init(&o->pair.owing);
	dofi_list_init(&o->pair.starved);
	dofi_list_init(&o->pair.dirty);
	o->conn.ep = &o->ep;
	o->conn.pair = &o->pair;
	o->conn.peer_window = WINDOW;
	o->conn.dispatching = true;
	dofi_list_init(&o->conn.owe);
	dofi_list_init(&o->conn.starve);
	dofi_list_init(&o->conn.touch);
	o->ep.w.pair = &o->conn;
	o->ep.domain = &o->domain;
	dofi_lock_init(&o->ep.lock);
	dofi_lock(&o->ep.lock);
	dofi_lock(&o->net.lock);
	return o;
}

struct one *one_with_bulk(uint32_t n_out)
{
	struct one *o = one_open();

	o->bulk.state = PAIR_UP;
	o->conn.bulk = &o->bulk;
	o->conn.n_out = n_out;
	return o;
}

void consume_all(struct one *o)
{
	atomic_store(&o->conn.granted[MSGEP_REQ], o->conn.sent[MSGEP_REQ]);
	atomic_store(&o->conn.arrived, o->conn.packets);
}

void one_close(struct one *o)
{
	pair_bufs_free(&o->net);
	dofi_unlock(&o->net.lock);
	dofi_unlock(&o->ep.lock);
	free(o);
}

void put(struct one *o, int channel, uint8_t kind, uint8_t flags, uint32_t key)
{
	size_t room;
	struct msgep_frame *f = pair_reserve(&o->ep, channel, 0, &room);

	ASSERT(f);
	*f = (struct msgep_frame){ .kind = kind, .flags = flags, .key = key };
	pair_commit(&o->ep, channel, f);
}

static void put_go(struct one *o)
{
	put(o, MSGEP_ANS, MSGEP_GO, 0, 0);
}

/* Of the data of a read. */
static void put_announcement(struct one *o)
{
	put(o, MSGEP_ANS, MSGEP_DATA, MSGEP_PULL, 0);
}

static void put_ack(struct one *o, uint32_t refusal)
{
	put(o, MSGEP_ANS, MSGEP_ACK, 0, refusal);
}

/* Polls: one that has found something, and one that has not. */
void busy_poll(struct one *o)
{
	pair_flush_dirty(&o->net, PAIR_URGENT);
}

void idle_poll(struct one *o)
{
	atomic_fetch_add(&o->net.empty_polls, 1);
	pair_flush_dirty(&o->net, PAIR_LAZY);
}

/* The consumer posts a message. */
static void post(struct one *o)
{
	o->conn.dispatching = false;
	/* Not part of a burst. */
	o->pair.sent_at = 0;
	put(o, MSGEP_REQ, MSGEP_MSG, 0, 0);
	o->conn.dispatching = true;
}

static void set_incoming(struct one *o, uint32_t n)
{
	o->ep.bulk.tail = o->ep.bulk.head + n;
}

/* ---------------------------------------------------------------- cases */

TEST(pair_send, nothing_waits_without_other_transfers)
{
	struct one *o = one_open();

	set_incoming(o, 1);
	put_go(o);
	busy_poll(o);
	ASSERT_EQ(messages, 1);
	o->conn.n_out = 1;
	put_announcement(o);
	busy_poll(o);
	ASSERT_EQ(messages, 2);
	set_incoming(o, 0);
	put_ack(o, 0);
	busy_poll(o);
	ASSERT_EQ(messages, 2); /* as ever, until there is nothing else to do */
	idle_poll(o);
	ASSERT_EQ(messages, 3);
	one_close(o);
}

/* Puts eight packets, with a poll after each. False if what was held may have left by its limit. */
static bool put_eight(struct one *o, bool announcements)
{
	uint64_t since = dofi_now();

	for (int i = 0; i < 8; i++) {
		if (announcements)
			put_announcement(o);
		else if (i % 2)
			put_ack(o, 0);
		else
			put_go(o);
		idle_poll(o);
	}
	return dofi_now() - since < PAIR_HELD_NS;
}

/* False if the machine was too busy. */
static bool share_messages(struct one *o)
{
	bool in_time = true;

	/* 100 messages arrive while 16 are in progress: one GO and one acknowledgement of each. */
	set_incoming(o, 16);
	for (int i = 0; i < 25; i++)
		in_time = put_eight(o, false) && in_time;
	if (!in_time)
		return false;
	/* The eighth would leave less than half without a packet. */
	ASSERT_EQ(messages, 25);
	ASSERT_EQ(packets, 200);
	ASSERT_EQ(credits, 0);
	set_incoming(o, 0);
	o->conn.n_out = 16;
	messages = packets = 0;
	for (int i = 0; i < 10; i++)
		in_time = put_eight(o, true) && in_time;
	if (!in_time)
		return false;
	ASSERT_EQ(messages, 10);
	ASSERT_EQ(packets, 80);
	return true;
}

/* Runs a check on new connections until the machine was not too busy for it. */
static void until_in_time(bool (*check)(struct one *o))
{
	bool done = false;

	for (int tries = 0; !done; tries++) {
		struct one *o = one_open();

		ASSERT(tries < 1000);
		done = check(o);
		one_close(o);
	}
}

TEST(pair_send, packets_about_long_data_share_a_message)
{
	until_in_time(share_messages);
}

/* GO does not wait because of transfers of this side, which may wait for the peer's GO. */
TEST(pair_send, each_direction_counts_its_own_transfers)
{
	struct one *o = one_open();

	o->conn.n_out = 16;
	set_incoming(o, 1);
	put_go(o);
	busy_poll(o);
	ASSERT_EQ(messages, 1);
	set_incoming(o, 16);
	o->conn.n_out = 1;
	put_announcement(o);
	busy_poll(o);
	ASSERT_EQ(messages, 2);
	one_close(o);
}

/* False if the packet may have left by the limit of its time. */
static bool end_transfers(struct one *o)
{
	static const uint32_t left[3] = { 4, 3, 2 };
	unsigned int sent[3];
	uint64_t since = dofi_now();

	set_incoming(o, left[0]);
	put_go(o);
	for (int i = 0; i < 3; i++) {
		set_incoming(o, left[i]);
		pair_unhold(&o->conn, pair_n_in(&o->conn));
		if (i)
			busy_poll(o);
		else
			idle_poll(o);
		sent[i] = messages;
	}
	if (dofi_now() - since >= PAIR_HELD_NS)
		return false;
	ASSERT_EQ(sent[0], 0);
	ASSERT_EQ(sent[1], 0);
	ASSERT_EQ(sent[2], 1);
	return true;
}

TEST(pair_send, a_held_packet_leaves_when_transfers_end)
{
	until_in_time(end_transfers);
}

TEST(pair_send, a_held_packet_leaves_in_time)
{
	struct one *o = one_open();

	set_incoming(o, 16);
	put_go(o);
	dt_sleep_us(PAIR_HELD_NS / 1000);
	busy_poll(o);
	ASSERT_EQ(messages, 1);
	one_close(o);
}

TEST(pair_send, a_held_packet_leaves_before_a_thread_sleeps)
{
	struct one *o = one_open();

	set_incoming(o, 16);
	put_go(o);
	pair_flush_dirty(&o->net, PAIR_HELD);
	ASSERT_EQ(messages, 1);
	ASSERT(!atomic_load(&o->net.dirty_need));
	one_close(o);
}

static bool leave_with_another(struct one *o)
{
	uint64_t since;
	unsigned int sent;

	set_incoming(o, 16);
	put_go(o);
	put(o, MSGEP_REQ, MSGEP_MSG, 0, 0);
	busy_poll(o);
	ASSERT_EQ(messages, 1);
	ASSERT_EQ(packets, 2);
	/* The next one begins to wait again. */
	since = dofi_now();
	put_go(o);
	idle_poll(o);
	sent = messages;
	if (dofi_now() - since >= PAIR_HELD_NS)
		return false;
	ASSERT_EQ(sent, 1);
	return true;
}

TEST(pair_send, a_held_packet_leaves_with_any_other)
{
	until_in_time(leave_with_another);
}

TEST(pair_send, a_refusal_is_not_held)
{
	struct one *o = one_open();

	set_incoming(o, 16);
	put_ack(o, FI_EACCES);
	idle_poll(o);
	ASSERT_EQ(messages, 1);
	one_close(o);
}

TEST(pair_send, only_messages_and_half_a_window_cause_a_credit_packet)
{
	struct one *o = one_open();

	/* An answer, and an announcement. */
	atomic_store(&o->conn.consumed[MSGEP_ANS], 40);
	atomic_store(&o->conn.consumed[MSGEP_REQ], 40);
	atomic_store(&o->conn.taken, 1);
	pair_owe(&o->conn);
	pair_flush_dirty(&o->net, PAIR_HELD);
	ASSERT_EQ(messages, 0);
	/* A message completes at its sender with the credit. */
	atomic_store(&o->conn.taken, 2);
	atomic_store(&o->conn.awaited, 2);
	pair_owe(&o->conn);
	busy_poll(o);
	ASSERT_EQ(messages, 0);
	idle_poll(o);
	ASSERT_EQ(credits, 1);
	/* The peer may have no more room for answers. */
	atomic_store(&o->conn.consumed[MSGEP_ANS], 40 + PAIR_WINDOW / 2);
	pair_owe(&o->conn);
	busy_poll(o);
	ASSERT_EQ(credits, 2);
	ASSERT_EQ(packets, 0);
	one_close(o);
}

TEST(pair_send, credits_that_do_not_fit_in_a_message_follow_with_the_next_poll)
{
	enum { CONNS = 1000 };
	struct pair_conn *conn = calloc(CONNS, sizeof(*conn));
	struct one *o = one_open();

	ASSERT(conn);
	for (int i = 0; i < CONNS; i++) {
		conn[i].ep = &o->ep;
		conn[i].pair = &o->pair;
		conn[i].dispatching = true;
		dofi_list_init(&conn[i].owe);
		atomic_store(&conn[i].taken, 1);
		atomic_store(&conn[i].awaited, 1);
		pair_owe(&conn[i]);
	}
	idle_poll(o);
	ASSERT_EQ(messages, 1);
	ASSERT(credits > 0 && credits < CONNS);
	busy_poll(o);
	ASSERT_EQ(messages, 2);
	ASSERT_EQ(credits, CONNS);
	one_close(o);
	free(conn);
}

/* ---- acknowledgements and replies ---- */

/* A write arrives, and the consumer replies after `polls` of its queue. Returns the messages that
 * this takes. */
static unsigned int exchange(struct one *o, unsigned int polls)
{
	unsigned int before = messages;

	put_ack(o, 0);
	while (polls--)
		idle_poll(o);
	post(o);
	return messages - before;
}

TEST(pair_send, an_acknowledgement_waits_for_a_reply_where_the_last_one_had_one)
{
	struct one *o = one_open();

	ASSERT_EQ(exchange(o, 1), 2);
	for (unsigned int polls = 0; polls < MSGEP_REPLY_POLLS; polls++)
		ASSERT_EQ(exchange(o, polls), 1);
	ASSERT_EQ(packets, 2 * (1 + MSGEP_REPLY_POLLS));
	one_close(o);
}

TEST(pair_send, a_credit_waits_for_a_reply_like_an_acknowledgement)
{
	struct one *o = one_open();

	ASSERT_EQ(exchange(o, 1), 2);
	atomic_store(&o->conn.taken, 1);
	atomic_store(&o->conn.awaited, 1);
	pair_owe(&o->conn);
	idle_poll(o);
	ASSERT_EQ(messages, 2);
	post(o);
	/* The reply has it in its counts. */
	ASSERT_EQ(messages, 3);
	ASSERT_EQ(credits, 0);
	one_close(o);
}

TEST(pair_send, an_acknowledgement_that_waits_in_vain_leaves_after_some_polls)
{
	struct one *o = one_open();

	exchange(o, 1);
	messages = 0;
	put_ack(o, 0);
	for (int i = 1; i < MSGEP_REPLY_POLLS; i++)
		idle_poll(o);
	ASSERT_EQ(messages, 0);
	idle_poll(o);
	ASSERT_EQ(messages, 1);
	/* The next one does not wait. */
	put_ack(o, 0);
	idle_poll(o);
	ASSERT_EQ(messages, 2);
	one_close(o);
}

TEST(pair_send, an_acknowledgement_that_waits_leaves_before_a_thread_sleeps)
{
	struct one *o = one_open();

	exchange(o, 1);
	put_ack(o, 0);
	pair_flush_dirty(&o->net, PAIR_HELD);
	ASSERT_EQ(messages, 3);
	ASSERT(!atomic_load(&o->net.dirty_need));
	one_close(o);
}

/* The peer awaits its completion before it sends what the consumer replies to. */
TEST(pair_send, a_message_after_other_arrivals_is_no_reply)
{
	struct one *o = one_open();

	for (int i = 0; i < 2; i++) {
		put_ack(o, 0);
		idle_poll(o);
		ASSERT_EQ(messages, 2 * i + 1);
		msgep_reply_received(&o->pair.reply); /* pair_poll.c */
		post(o);
	}
	one_close(o);
}

TEST(pair_send, a_late_message_is_no_reply)
{
	struct one *o = one_open();

	ASSERT_EQ(exchange(o, 1 + MSGEP_REPLY_POLLS), 2);
	ASSERT_EQ(exchange(o, 1), 2);
	one_close(o);
}

TEST(pair_send, a_message_that_lacks_memory_is_sent_again)
{
	struct one *o = one_open();

	inject_ret = -FI_ENOMEM;
	put_go(o);
	busy_poll(o);
	busy_poll(o);
	ASSERT_EQ(messages, 0);
	inject_ret = 0;
	busy_poll(o);
	ASSERT_EQ(messages, 1);
	ASSERT_EQ(broken_with, 0);
	one_close(o);
}

static void retry(struct msgep_domain *domain)
{
	pair_flush_dirty(pair_net_of(domain), PAIR_HELD);
}

static const struct msgep_transport retry_transport = { .retry = retry };
static struct msgep_fabric retry_fabric = { .transport = &retry_transport };

/* No thread polls: only the event queue's descriptor can wake one. */
static struct one *one_open_asleep(struct side *s)
{
	struct one *o = one_open();

	side_open(s, false);
	o->domain.fabric = &retry_fabric;
	ASSERT(!msgep_inbox_open(&o->domain));
	pthread_mutex_lock(&s->eq.lock);
	ASSERT(!msgep_inbox_attach(&o->domain, &s->eq));
	pthread_mutex_unlock(&s->eq.lock);
	o->conn.dispatching = false;
	return o;
}

static void one_close_asleep(struct one *o, struct side *s)
{
	msgep_inbox_close(&o->domain);
	side_close(s);
	one_close(o);
}

TEST(pair_send, a_refused_message_is_sent_while_all_threads_sleep)
{
	struct side s;
	struct one *o = one_open_asleep(&s);

	/* The first intervals grow, those after a success do not. */
	for (unsigned int i = 1; i <= 2; i++) {
		refuse_next = 4;
		put_go(o);
		while (messages < i)
			side_poll_and_work(&s, NULL, 10000);
		ASSERT_EQ(refuse_next, 0);
	}
	ASSERT_EQ(broken_with, 0);
	one_close_asleep(o, &s);
}

/* The program does not poll after posting. */
TEST(pair_send, a_burst_is_sent_while_all_threads_sleep)
{
	struct side s;
	struct one *o = one_open_asleep(&s);

	for (unsigned int i = 1; i <= 4; i++) {
		/* pair_may_sleep */
		if (i % 2)
			atomic_store(&o->net.asleep, true);
		else
			atomic_store(&o->net.waiter, 1);
		for (unsigned int k = 0; k < 4 * PAIR_BURST_FREE; k++)
			put(o, MSGEP_REQ, MSGEP_MSG, 0, 0);
		while (packets < i * 4 * PAIR_BURST_FREE)
			side_poll_and_work(&s, NULL, 10000);
	}
	one_close_asleep(o, &s);
}

/* Nor after a receive that takes what had arrived. */
TEST(pair_send, a_credit_is_sent_while_all_threads_sleep)
{
	struct side s;
	struct one *o = one_open_asleep(&s);

	for (uint32_t i = 1; i <= 2; i++) {
		atomic_store(&o->net.asleep, true);
		atomic_store(&o->conn.taken, i);
		atomic_store(&o->conn.awaited, i);
		pair_owe(&o->conn);
		while (credits < i)
			side_poll_and_work(&s, NULL, 10000);
	}
	one_close_asleep(o, &s);
}

/* Injected messages have no completion. */
TEST(pair_send, a_connection_continues_when_injected_messages_have_left)
{
	struct one *o = one_open();
	size_t room;

	inject_ret = -FI_EAGAIN;
	put_go(o);
	busy_poll(o);
	ASSERT(!pair_reserve(&o->ep, MSGEP_REQ, 0, &room));
	busy_poll(o);
	ASSERT(!o->net.has_touched);
	inject_ret = 0;
	busy_poll(o);
	ASSERT_EQ(messages, 1);
	ASSERT(o->net.has_touched);
	one_close(o);
}

TEST(pair_send, a_message_that_is_lost_breaks_the_pair)
{
	struct one *o = one_open();

	inject_ret = -FI_EINVAL;
	put_go(o);
	busy_poll(o);
	busy_poll(o);
	ASSERT_EQ(broken_with, FI_EINVAL);
	one_close(o);
}
