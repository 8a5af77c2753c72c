/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the completion queues: messages and their control packets. (hot) */
#include <endian.h>
#include <sched.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/thread.h"
#include "msgep/object/proto_tx.h"
#include "msgep/pair/pair_message.h"
#include "msgep/pair/pair_unsolicited.h"

/* ---------------------------------------------------------------- control packets */

static void pair_recv_attach(struct pair *pair, struct pair_conn *conn, const struct msgep_frame *f)
{
	uint64_t value = le64toh(f->value);
	char text[DOFI_ADDR_TEXT];

	/* A peer may name any connection; those of others are not affected. */
	if (!conn->has_peer_params || memcmp(conn->peer_name, pair->name, PAIR_NAME)) {
		dofi_log(DOFI_LOG_WARN,
			 "dropped a message from %s: expected an attachment to one of its "
			 "connections, got one to that of another adapter",
			 dofi_peer_text(&pair->peer, text));
	} else if (conn->active || conn->pair || value != conn->peer_mark) {
		pair_conn_violate(conn, "an attachment to another connection");
	} else {
		pair_attach(conn, pair);
		pair_cm_attached(conn);
	}
}

static void pair_recv_credit(struct pair_conn *conn, const struct msgep_frame *f,
			     struct msgep_cq_direct *direct)
{
	uint64_t value = le64toh(f->value);
	struct msgep_ep *ep = conn->ep;
	bool ok;

	dofi_lock(&ep->lock);
	ok = pair_advance(&conn->granted[MSGEP_REQ], (uint32_t)(value >> 32),
			  conn->sent[MSGEP_REQ]) &&
	     pair_advance(&conn->granted[MSGEP_ANS], (uint32_t)value, conn->sent[MSGEP_ANS]) &&
	     pair_advance(&conn->arrived, (uint32_t)le64toh(f->total), conn->packets);
	pair_note_receives(conn, (uint32_t)(le64toh(f->total) >> 32));
	if (ok && atomic_load_explicit(&ep->state, memory_order_relaxed) == MSGEP_UP) {
		pair_begin(conn, direct);
		msgep_complete_due(ep);
		if (atomic_load_explicit(&ep->pending, memory_order_relaxed))
			msgep_proto_push(ep);
		pair_carry_check(conn);
		pair_end(conn);
	}
	dofi_unlock(&ep->lock);
	if (!ok)
		pair_conn_violate(conn, "a credit for what was never sent");
}

/* ---------------------------------------------------------------- messages */

/* Packets for a connection that has been closed are dropped. */
static void pair_recv_control(struct pair *pair, struct pair_conn *conn,
			      const struct msgep_frame *f, struct msgep_cq_direct *direct)
{
	if (f->kind == PAIR_CM_REQUEST || f->kind == PAIR_CM_MESSAGE)
		pair_cm_received(pair, f);
	else if (conn && f->kind == PAIR_ATTACH)
		pair_recv_attach(pair, conn, f);
	else if (f->kind == PAIR_ATTACH)
		pair_cm_not_attached(pair, f);
	else if (!conn || conn->pair != pair)
		return;
	else if (f->kind == PAIR_CREDIT)
		pair_recv_credit(conn, f, direct);
	else if (f->kind == PAIR_WANT_BULK)
		pair_share_wanted(conn, le64toh(f->value));
	else if (f->kind == PAIR_BULK && conn->active)
		pair_share_granted(conn, le64toh(f->value), le64toh(f->total));
	else if (f->kind == PAIR_BULK_END)
		pair_share_end(conn, le64toh(f->value));
}

static void pair_recv_message(struct pair_net *net, struct pair *pair, const uint8_t *at,
			      const uint8_t *end, struct msgep_cq_direct *direct)
{
	msgep_reply_received(&pair->reply);
	while (at != end) {
		const struct msgep_frame *f = (const void *)at;
		struct pair_conn *conn = pair_marked(net, le64toh(f->mark));

		if (f->kind < PAIR_ATTACH && conn && conn->pair == pair) {
			at = pair_dispatch(conn, at, end, false, direct);
			continue;
		}
		pair_recv_control(pair, conn, f, direct);
		at += pair_packet_size(f);
	}
}

/* The pair that a message names; NULL: there is none. */
static struct pair *pair_named(const struct pair_net *net, const struct pair_buf *buf)
{
	struct pair *pair = NULL;
	struct pair_head head;

	memcpy(&head, buf->data, sizeof(head));
	if (le32toh(head.index) < net->n_pairs)
		pair = net->pair_table[le32toh(head.index)];
	return pair && pair->key == le64toh(head.key) ? pair : NULL;
}

/* The event that a pair is up may be read after the first messages of the peer, to which the pair
 * was up before. They wait for the event. True: the buffer is no longer used. */
static __attribute__((noinline)) bool pair_defer(struct pair_net *net, const struct pair *pair,
						 struct pair_buf *buf)
{
	struct pair_buf **end = &net->early;

	if (!pair || pair->state != PAIR_CONNECTING) {
		dofi_log(DOFI_LOG_WARN, "dropped a message of %u bytes that names no adapter",
			 buf->len);
		return true;
	}
	while (*end)
		end = &(*end)->next;
	*end = buf;
	buf->next = NULL;
	return false;
}

/* True: the buffer is no longer used. */
static bool pair_received(struct pair_net *net, struct pair_buf *buf,
			  struct msgep_cq_direct *direct)
{
	bool has_head = buf->len >= sizeof(struct pair_head);
	struct pair *pair = has_head ? pair_named(net, buf) : NULL;
	uint8_t *packets = buf->data + sizeof(struct pair_head), *end = buf->data + buf->len;

	if (!pair || pair->state != PAIR_UP)
		return pair_defer(net, pair, buf);
	if (!pair_check_all(packets, end, &net->has_news))
		pair_break(pair, FI_EIO);
	else
		pair_recv_message(net, pair, packets, end, direct);
	return true;
}

/* ---------------------------------------------------------------- polling */

struct poll {
	struct pair_net *net;
	struct msgep_cq_direct *direct;
};

static void pair_completed(void *arg, const struct fi_cq_msg_entry *entry)
{
	const struct pair_op *op = entry->op_context;
	struct pair_buf *buf = entry->op_context;
	const struct poll *p = arg;

	if (op->kind == PAIR_OP_SEND) {
		pair_sent(buf);
		return;
	}
	if (op->kind != PAIR_OP_RECV) {
		pair_bulk_completed(p->net, entry->op_context, entry->len, 0, p->direct);
		return;
	}
	p->net->received = true;
	buf->len = entry->len <= PAIR_MESSAGE ? (uint32_t)entry->len : 0;
	if (pair_received(p->net, buf, p->direct))
		pair_repost(p->net, buf);
}

/* Processes the messages that have waited. Those of pairs that are still being connected wait
 * again. */
static __attribute__((noinline)) void pair_take_early(struct poll *p)
{
	struct pair_buf *buf = p->net->early, *next;

	p->net->early = NULL;
	for (; buf; buf = next) {
		struct fi_cq_msg_entry entry = { .op_context = buf, .len = buf->len };

		next = buf->next;
		pair_completed(p, &entry);
	}
}

/* The message is lost. If its pair ends, an event follows; if it remains, the peer would wait for
 * what it has sent. The beginning of the message has usually arrived and names the pair. */
static void pair_receive_failed(struct pair_net *net, struct pair_buf *buf, int err)
{
	struct pair *pair = pair_named(net, buf);

	if (!pair || pair->state != PAIR_UP)
		return;
	dofi_log(DOFI_LOG_WARN, "a message could not be received, and its connection ends: %s",
		 dofi_error_text(err));
	pair_break(pair, FI_EIO);
}

static void pair_failed(void *arg, void *op_context, int err)
{
	struct pair_net *net = ((const struct poll *)arg)->net;
	const struct pair_op *op = op_context;
	struct pair_buf *buf = op_context;

	if (op->kind == PAIR_OP_BULK_SEND || op->kind == PAIR_OP_BULK_RECV) {
		pair_bulk_completed(net, op_context, 0, err, NULL);
	} else if (op->kind == PAIR_OP_SEND) {
		if (buf->pair->state == PAIR_UP)
			pair_break(buf->pair, FI_ENOTCONN);
		pair_sent(buf);
	} else {
		pair_receive_failed(net, buf, err);
		pair_repost(net, buf);
	}
}

static void pair_serve_touched(struct pair_net *net, struct msgep_cq_direct *direct)
{
	struct dofi_list todo;

	pair_take_all(net, &net->touched, &net->has_touched, &todo);
	for (;;) {
		struct pair_conn *conn;
		struct msgep_ep *ep;

		dofi_lock(&net->leaf);
		conn = dofi_list_pop(&todo, struct pair_conn, touch);
		dofi_unlock(&net->leaf);
		if (!conn)
			break;
		ep = conn->ep;
		if (!ep)
			continue;
		if (conn->wants_bulk)
			pair_share_ask(conn);
		dofi_lock(&ep->lock);
		pair_begin(conn, direct);
		pair_process(conn);
		/* After BYE, whose counts are final, nothing is sent. */
		if (atomic_load_explicit(&ep->pending, memory_order_relaxed) &&
		    atomic_load_explicit(&ep->state, memory_order_relaxed) == MSGEP_UP)
			msgep_proto_push(ep);
		pair_end(conn);
		dofi_unlock(&ep->lock);
	}
}

static void pair_count_empty_poll(struct pair_net *net)
{
	uint32_t n = atomic_load_explicit(&net->empty_polls, memory_order_relaxed);

	DOFI_ASSERT_LOCKED(&net->lock);
	atomic_store_explicit(&net->empty_polls, n + 1, memory_order_relaxed);
}

static bool pair_eq_is_due(const struct pair_net *net, uint64_t now)
{
	return net->connecting || now - net->eq_read_at >= PAIR_EQ_NS;
}

/* Reads the queue of bulk endpoints that have one of their own. */
static __attribute__((noinline)) unsigned int pair_poll_apart(struct poll *p)
{
	return msgep_inner_poll(&p->net->apart, false, p, pair_completed, pair_failed);
}

/* A waiter that polls sends what is left before it sleeps again; if it returns, the progress thread
 * takes its queue over. */
static __attribute__((noinline)) void pair_tell_sleepers(struct pair_net *net)
{
	uintptr_t self = (uintptr_t)pthread_self();

	atomic_compare_exchange_strong(&net->waiter, &self, 0);
	/* In this order: the last one is a call of the C library. */
	if ((atomic_load_explicit(&net->dirty_need, memory_order_relaxed) ||
	     atomic_load_explicit(&net->has_touched, memory_order_relaxed) ||
	     atomic_load_explicit(&net->has_kept, memory_order_relaxed) || net->early) &&
	    !dofi_thread_is_progress)
		pair_leave_work(net);
}

unsigned int pair_poll(struct pair_net *net, struct msgep_cq_direct *direct)
{
	struct poll p = { net, direct };
	uint64_t now = dofi_now();
	bool fresh = net->received && direct && !net->has_kept_read &&
		     now - net->received_at < PAIR_FRESH_NS;
	unsigned int got = 0;
	bool eq_is_due;

	DOFI_ASSERT_LOCKED(&net->lock);
	/* A program usually empties its queue before it posts again: what it posts is announced
	 * with the transfers that the next poll sends. */
	net->paused = net->received && !net->paused && !net->has_kept_read;
	net->received = net->has_kept_read = net->has_news = false;
	if (atomic_load_explicit(&net->has_kept, memory_order_relaxed) && !net->paused)
		pair_bulk_send_kept(net, PAIR_KEPT);
	pair_flush_dirty(net, PAIR_URGENT);
	/* Another call may have read the event; later messages must not precede them. */
	if (net->early)
		pair_take_early(&p);
	/* Nor does its reply wait for a system call that usually finds nothing. */
	if (!fresh)
		got = msgep_inner_poll(&net->inner, false, &p, pair_completed, pair_failed);
	eq_is_due = pair_eq_is_due(net, now);
	/* There may be something in it while transfers are posted; otherwise a connection ends. */
	if (pair_is_bulk_apart(net) &&
	    (eq_is_due || !direct || atomic_load_explicit(&net->n_transfers, memory_order_relaxed)))
		got += pair_poll_apart(&p);
	if (eq_is_due) {
		pair_read_eq(net);
		if (net->early)
			pair_take_early(&p);
	}
	if (atomic_load_explicit(&net->has_touched, memory_order_relaxed))
		pair_serve_touched(net, direct);
	if (pair_share_has_work(net))
		pair_share_look(net);
	if (!got)
		pair_count_empty_poll(net);
	pair_flush_dirty(net, got ? PAIR_URGENT : PAIR_LAZY);
	if (net->received)
		net->received_at = now;
	if (pair_has_sleeper(net))
		pair_tell_sleepers(net);
	return got;
}

void pair_retry(struct msgep_domain *domain)
{
	struct pair_net *net = pair_net_of(domain);

	DOFI_NO_CANCEL();
	dofi_lock(&net->lock);
	if (net->unposted)
		pair_post_again(net);
	pair_poll(net, NULL);
	pair_flush_dirty(net, PAIR_HELD);
	dofi_unlock(&net->lock);
	/* One of the threads that sleep decides again whether it may (pair_leave_work): the one
	 * that watches the transport. The others need not, and there may be many. */
	msgep_cq_wake_watching(domain);
}

/* Waits for a thread that polls: it may have sent data and not read yet that it is sent. */
void pair_bulk_finish(struct msgep_domain *domain)
{
	struct pair_net *net = pair_net_of(domain);

	DOFI_NO_CANCEL();
	dofi_lock(&net->lock);
	pair_poll(net, NULL);
	dofi_unlock(&net->lock);
}

/* A thread that finds the lock taken leaves the poll to its holder and yields the CPU, which the
 * holder may need (lock holder preemption). */
void pair_progress(struct msgep_domain *domain, struct msgep_cq_direct *direct)
{
	struct pair_net *net = pair_net_of(domain);

	if (!dofi_trylock(&net->lock)) {
		sched_yield();
		return;
	}
	DOFI_NO_CANCEL();
	pair_poll(net, direct);
	/* A program whose memory is read may seldom poll. */
	for (int i = 0; direct && net->has_kept_read && !net->has_news && i < PAIR_TRANSFERS; i++)
		pair_poll(net, direct);
	dofi_unlock(&net->lock);
}
