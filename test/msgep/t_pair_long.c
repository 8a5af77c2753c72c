/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests how much long data a connection over libfabric's connected endpoints sends at once
 * (msgep/pair/pair_transfer.c, pair_poll.c): other connections are served between parts of the data
 * of reads, and a program that polls seldom sends all of it nevertheless. libfabric's objects are
 * stubs. */
#include <stdlib.h>
#include <string.h>

#include "../lib/harness.h"
#include "msgep/pair/pair_message.h"

#define KIB ((size_t)1 << 10)
#define SHORT (64 * KIB)
#define SHORT_AT_ONCE (PAIR_READ_PART / SHORT)

/* ---------------------------------------------------------------- stubs of libfabric */

static struct pair_transfer *sent[PAIR_TRANSFERS]; /* in this order */
static unsigned int n_sent, n_completed;
static ssize_t send_ret;
/* A queue reports what has been sent, and this message after that number of transfers. */
static bool reports;
static struct pair_buf *message;
static unsigned int message_after, polls;

static ssize_t stub_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	(void)ep;
	(void)flags;
	if (!send_ret)
		sent[n_sent++] = msg->context;
	return send_ret;
}

static ssize_t stub_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t from,
			 void *context)
{
	(void)ep;
	(void)buf;
	(void)len;
	(void)desc;
	(void)from;
	(void)context;
	return 0;
}

static ssize_t stub_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	(void)ep;
	(void)msg;
	(void)flags;
	return 0;
}

static ssize_t stub_cq_read(struct fid_cq *cq, void *to, size_t count)
{
	struct fi_cq_msg_entry *entries = to;
	size_t n = 0;

	(void)cq;
	polls++;
	if (message && n_completed >= message_after) {
		entries[n++] =
			(struct fi_cq_msg_entry){ .op_context = message, .len = message->len };
		message = NULL;
	}
	while (reports && n < count && n_completed < n_sent)
		entries[n++] = (struct fi_cq_msg_entry){ .op_context = sent[n_completed++] };
	return n ? (ssize_t)n : -FI_EAGAIN;
}

static struct fi_ops_msg ep_ops = {
	.size = sizeof(ep_ops), .recv = stub_recv, .recvmsg = stub_recvmsg, .sendmsg = stub_sendmsg
};
static struct fid_ep fabric_ep = { .msg = &ep_ops };

static ssize_t stub_eq_read(struct fid_eq *eq, uint32_t *event, void *buf, size_t len,
			    uint64_t flags)
{
	(void)eq;
	(void)event;
	(void)buf;
	(void)len;
	(void)flags;
	return -FI_EAGAIN;
}

static struct fi_ops_cq cq_ops = { .size = sizeof(cq_ops), .read = stub_cq_read };
static struct fid_cq fabric_cq = { .ops = &cq_ops };
static struct fi_ops_eq eq_ops = { .size = sizeof(eq_ops), .read = stub_eq_read };
static struct fid_eq fabric_eq = { .ops = &eq_ops };

/* ---------------------------------------------------------------- fixture */

/* A connection with a bulk endpoint. */
struct one {
	struct msgep_domain domain;
	struct msgep_fabric fabric;
	struct pair_net net;
	struct pair pair, *pairs[1];
	struct pair_conn conn;
	struct pair_bulk bulk;
	struct msgep_ep ep;
	struct pair_buf buf;
};

/* Only what the cases need: the rest would link the whole library. */
static const struct msgep_transport transport = {
	.peek = pair_peek,
	.release = pair_release,
	.reserve = pair_reserve,
	.commit = pair_commit,
	.unreserve = pair_unreserve,
};

static char data[KIB << 10];
static struct msgep_mr region;
static uint64_t announced[PAIR_TRANSFERS]; /* their numbers */
static unsigned int n_announced;

static void open_net(struct one *o)
{
	o->domain.fabric = &o->fabric;
	o->domain.transport_data = &o->net;
	o->net.domain = &o->domain;
	o->net.bulk_inner = &o->net.inner;
	o->net.inner.cq = &fabric_cq;
	o->net.srx = &fabric_ep;
	o->net.inject = PAIR_MESSAGE;
	o->net.eq = &fabric_eq;
	dofi_lock_init(&o->net.lock);
	dofi_lock_init(&o->net.leaf);
	dofi_list_init(&o->net.dirty);
	dofi_list_init(&o->net.touched);
	dofi_list_init(&o->net.kept);
	dofi_list_init(&o->net.wanted);
	dofi_list_init(&o->net.bulks);
}

static void open_pair(struct one *o)
{
	o->pair.net = &o->net;
	o->pair.state = PAIR_UP;
	o->pair.waiting_end = &o->pair.waiting;
	dofi_lock_init(&o->pair.lock);
	dofi_list_init(&o->pair.owing);
	dofi_list_init(&o->pair.starved);
	dofi_list_init(&o->pair.dirty);
	o->pairs[0] = &o->pair;
	o->net.pair_table = o->pairs;
	o->net.n_pairs = 1;
}

static void open_conn(struct one *o)
{
	o->bulk.net = &o->net;
	o->bulk.conn = &o->conn;
	o->bulk.ep = &fabric_ep;
	o->bulk.state = PAIR_UP;
	atomic_store(&o->bulk.users, 1);
	dofi_list_append(&o->net.bulks, &o->bulk.link);
	o->conn.ep = &o->ep;
	o->conn.pair = &o->pair;
	o->conn.bulk = &o->bulk;
	dofi_list_init(&o->conn.owe);
	dofi_list_init(&o->conn.starve);
	dofi_list_init(&o->conn.touch);
	dofi_list_init(&o->conn.keep);
	o->ep.w.pair = &o->conn;
	o->ep.domain = &o->domain;
	o->ep.transport = &transport;
	dofi_lock_init(&o->ep.lock);
	atomic_store(&o->ep.state, MSGEP_UP);
}

static struct one *long_open(void)
{
	struct one *o = calloc(1, sizeof(*o));

	ASSERT(o);
	n_sent = n_completed = n_announced = polls = 0;
	send_ret = 0;
	reports = false;
	message = NULL;
	atomic_store(&region.transfers, 0);
	open_net(o);
	open_pair(o);
	open_conn(o);
	return o;
}

static void long_close(struct one *o)
{
	dofi_lock(&o->net.lock);
	dofi_lock(&o->ep.lock);
	pair_bulk_drop(&o->conn);
	dofi_unlock(&o->ep.lock);
	dofi_unlock(&o->net.lock);
	while (n_completed < n_sent)
		free(sent[n_completed++]);
	pair_transfers_free(&o->net);
	pair_bufs_free(&o->net);
	free(o);
}

static void announce(struct one *o, size_t len, struct msgep_mr *mr)
{
	struct iovec iov = { data, len };

	dofi_lock(&o->ep.lock);
	ASSERT(pair_bulk_send(&o->ep, &iov, 1, mr, &announced[n_announced++]));
	dofi_unlock(&o->ep.lock);
}

static void announce_read(struct one *o, size_t len)
{
	atomic_fetch_add(&region.transfers, 1);
	announce(o, len, &region);
}

/* A poll receives GO for all that have been announced. */
static void let_go(struct one *o)
{
	dofi_lock(&o->net.lock);
	dofi_lock(&o->ep.lock);
	o->conn.dispatching = true;
	for (unsigned int i = 0; i < n_announced; i++)
		ASSERT(pair_bulk_go(&o->ep, announced[i], false));
	o->conn.dispatching = false;
	dofi_unlock(&o->ep.lock);
	dofi_unlock(&o->net.lock);
}

/* libfabric has sent the oldest one. */
static void complete(struct one *o)
{
	struct pair_transfer *t = sent[n_completed++];

	dofi_lock(&o->net.lock);
	pair_bulk_completed(&o->net, t, t->len, 0, NULL);
	dofi_unlock(&o->net.lock);
}

static void next_poll(struct one *o)
{
	dofi_lock(&o->net.lock);
	pair_bulk_send_kept(&o->net, PAIR_KEPT);
	dofi_unlock(&o->net.lock);
}

/* A packet arrives after that number of transfers. */
static void arrive(struct one *o, uint8_t kind, unsigned int after)
{
	struct pair_head head = { 0 };
	struct msgep_frame frame = { .kind = kind, .mark = UINT64_MAX };

	o->buf.op.kind = PAIR_OP_RECV;
	o->buf.len = sizeof(head) + MSGEP_FRAME_HDR;
	memcpy(o->buf.data, &head, sizeof(head));
	memcpy(o->buf.data + sizeof(head), &frame, MSGEP_FRAME_HDR);
	message = &o->buf;
	message_after = after;
}

/* ---------------------------------------------------------------- cases */

TEST(pair_long, data_of_reads_is_sent_in_parts)
{
	struct one *o = long_open();

	for (int i = 0; i < PAIR_TRANSFERS; i++)
		announce_read(o, SHORT);
	let_go(o);
	ASSERT_EQ(n_sent, SHORT_AT_ONCE);
	/* A poll sends nothing while libfabric has enough. */
	next_poll(o);
	ASSERT_EQ(n_sent, SHORT_AT_ONCE);
	for (unsigned int i = 1; n_sent < PAIR_TRANSFERS; i++) {
		complete(o);
		next_poll(o);
		ASSERT_EQ(n_sent, SHORT_AT_ONCE + i);
	}
	long_close(o);
	ASSERT_EQ(atomic_load(&region.transfers), 0);
}

TEST(pair_long, data_that_is_longer_than_a_part_is_sent_alone)
{
	struct one *o = long_open();

	for (int i = 0; i < 3; i++)
		announce_read(o, sizeof(data));
	let_go(o);
	for (unsigned int i = 1; i < 3; i++) {
		ASSERT_EQ(n_sent, i);
		complete(o);
		next_poll(o);
	}
	ASSERT_EQ(n_sent, 3);
	long_close(o);
}

/* A program that writes posts the next one when one of its writes has completed. */
TEST(pair_long, data_of_few_writes_is_sent_at_once)
{
	struct one *o = long_open();

	for (int i = 0; i < PAIR_CARRIERS; i++)
		announce(o, sizeof(data), NULL);
	let_go(o);
	ASSERT_EQ(n_sent, PAIR_CARRIERS);
	long_close(o);
}

TEST(pair_long, data_is_sent_in_the_order_of_GO)
{
	struct one *o = long_open();

	announce_read(o, sizeof(data));
	announce_read(o, sizeof(data));
	announce(o, SHORT, NULL);
	let_go(o);
	ASSERT_EQ(n_sent, 1);
	complete(o);
	next_poll(o);
	ASSERT_EQ(n_sent, 3);
	for (unsigned int i = 0; i < 3; i++)
		ASSERT_EQ(sent[i]->id, announced[i]);
	long_close(o);
}

/* It is neither counted as being sent, nor waited for. */
TEST(pair_long, data_that_libfabric_refuses_ends_the_transfers)
{
	struct one *o = long_open();

	for (int i = 0; i < 3; i++)
		announce_read(o, PAIR_READ_PART);
	send_ret = -FI_ENOMEM;
	/* The connection manager knows already. */
	atomic_store(&o->ep.data_lost, FI_EIO);
	let_go(o);
	ASSERT(atomic_load(&o->conn.lost));
	ASSERT_EQ(o->bulk.in_flight, 0);
	send_ret = 0;
	next_poll(o);
	ASSERT_EQ(n_sent, 0);
	long_close(o);
	ASSERT_EQ(atomic_load(&region.transfers), 0);
}

/* ---------------------------------------------------------------- polls */

static void announce_short_reads(struct one *o)
{
	for (int i = 0; i < PAIR_TRANSFERS; i++)
		announce_read(o, SHORT);
	reports = true;
}

static void call_of_the_program(struct one *o)
{
	struct msgep_cq_direct direct = { 0 };

	pair_progress(&o->domain, &direct);
}

/* Its next call may be long after this one. */
TEST(pair_long, one_call_of_the_program_sends_the_data_of_all_reads)
{
	struct one *o = long_open();

	announce_short_reads(o);
	let_go(o);
	call_of_the_program(o);
	ASSERT_EQ(n_sent, PAIR_TRANSFERS);
	long_close(o);
}

/* A packet arrives when the first part has been sent, and the program calls. Returns the transfers
 * that have been sent then. */
static unsigned int sent_by_a_call_with(struct one *o, uint8_t kind)
{
	announce_short_reads(o);
	let_go(o);
	arrive(o, kind, SHORT_AT_ONCE);
	call_of_the_program(o);
	ASSERT(!message);
	return n_sent;
}

TEST(pair_long, the_call_returns_when_something_has_arrived_for_the_program)
{
	struct one *o = long_open();

	ASSERT(sent_by_a_call_with(o, PAIR_CREDIT) < PAIR_TRANSFERS);
	call_of_the_program(o);
	ASSERT_EQ(n_sent, PAIR_TRANSFERS);
	long_close(o);
}

TEST(pair_long, other_requests_of_the_reader_do_not_end_the_call)
{
	struct one *o = long_open();

	ASSERT_EQ(sent_by_a_call_with(o, MSGEP_READ), PAIR_TRANSFERS);
	long_close(o);
}

/* The rest is sent when libfabric has sent that. */
TEST(pair_long, a_call_ends_when_libfabric_takes_no_more)
{
	struct one *o = long_open();

	announce_short_reads(o);
	reports = false;
	let_go(o);
	call_of_the_program(o);
	ASSERT_EQ(n_sent, SHORT_AT_ONCE);
	ASSERT(polls < 4);
	reports = true;
	call_of_the_program(o);
	ASSERT_EQ(n_sent, PAIR_TRANSFERS);
	long_close(o);
}

/* It looks after other queues in between. */
TEST(pair_long, the_progress_thread_sends_a_part_at_a_time)
{
	struct one *o = long_open();

	announce_short_reads(o);
	let_go(o);
	for (int i = 0; i < 2; i++)
		pair_progress(&o->domain, NULL);
	ASSERT(n_sent > SHORT_AT_ONCE && n_sent < PAIR_TRANSFERS);
	for (int i = 0; i < PAIR_TRANSFERS; i++)
		pair_progress(&o->domain, NULL);
	ASSERT_EQ(n_sent, PAIR_TRANSFERS);
	long_close(o);
}

int main(int argc, char **argv)
{
	static const struct dt_program program = { .name = "long" };

	return dt_main(argc, argv, &program);
}
