/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests when packets are sent over libfabric's connected endpoints (msgep/pair/pair_send.c). The
 * library's sender is linked alone; libfabric's endpoint is a stub that counts messages and
 * packets. */
#include <stdlib.h>
#include <string.h>

#include "msgep/pair/pair.h"
#include "rig.h"

#define WINDOW (128u << 10)

/* ---------------------------------------------------------------- stubs */

void pair_touch(struct pair_conn *conn)
{
	(void)conn;
}

void pair_share_want(struct pair_conn *conn)
{
	(void)conn;
}

static unsigned int messages, packets, credits;

static ssize_t stub_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t to)
{
	const uint8_t *at = (const uint8_t *)buf + sizeof(struct pair_head);
	const uint8_t *end = (const uint8_t *)buf + len;

	(void)ep;
	(void)to;
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

/* A connection that is up, whose lock the case holds, and that the poll is processing. */
struct one {
	struct msgep_domain domain;
	struct pair_net net;
	struct pair pair;
	struct pair_conn conn;
	struct msgep_ep ep;
};

static struct one *one_open(void)
{
	struct one *o = calloc(1, sizeof(*o));

	ASSERT(o);
	messages = packets = credits = 0;
	o->net.domain = &o->domain;
	o->domain.transport_data = &o->net;
	o->net.inject = PAIR_MESSAGE;
	pthread_mutex_init(&o->net.lock, NULL);
	msgep_lock_init(&o->net.leaf);
	dofi_list_init(&o->net.dirty);
	o->pair.net = &o->net;
	o->pair.ep = &stub_ep;
	o->pair.state = PAIR_UP;
	o->pair.waiting_end = &o->pair.waiting;
	pthread_mutex_init(&o->pair.lock, NULL);
	dofi_list_init(&o->pair.owing);
	dofi_list_init(&o->pair.starved);
	dofi_list_init(&o->pair.dirty);
	o->conn.ep = &o->ep;
	o->conn.pair = &o->pair;
	o->conn.peer_window = WINDOW;
	o->conn.dispatching = true;
	dofi_list_init(&o->conn.owe);
	dofi_list_init(&o->conn.starve);
	o->ep.w.pair = &o->conn;
	o->ep.domain = &o->domain;
	msgep_lock_init(&o->ep.lock);
	msgep_lock(&o->ep.lock);
	pthread_mutex_lock(&o->net.lock);
	return o;
}

static void one_close(struct one *o)
{
	pair_drop_unsent(&o->pair);
	pair_pool_free(&o->net);
	free(o);
}

/* Polls: one that has found something, and one that has not. */
static void busy_poll(struct one *o)
{
	pair_flush_dirty(&o->net, false);
}

static void idle_poll(struct one *o)
{
	pair_flush_dirty(&o->net, true);
}

/* ---------------------------------------------------------------- cases */

TEST(pair_send, only_messages_and_half_a_window_cause_a_credit_packet)
{
	struct one *o = one_open();

	/* An answer, and an announcement. */
	atomic_store(&o->conn.consumed[MSGEP_ANS], 40);
	atomic_store(&o->conn.consumed[MSGEP_REQ], 40);
	atomic_store(&o->conn.taken, 1);
	pair_owe(&o->conn);
	pair_flush_dirty(&o->net, true);
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
