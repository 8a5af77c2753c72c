/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes received messages: validates packets and processes them in the receive buffer. (hot)
 *
 * The peer may be hostile: a message that breaks the rules of pair.h breaks its pair, a packet that
 * breaks the rules of its connection breaks that connection. A packet for a connection that has
 * been closed is dropped. */
#include <endian.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/thread.h"
#include "msgep/cm/inbox.h"
#include "msgep/object/proto.h"
#include "msgep/pair/pair.h"

#define HDR ((uint32_t)MSGEP_FRAME_HDR)

void pair_touch(struct pair_conn *conn)
{
	struct pair_net *net = pair_net_of(conn->ep->domain);

	dofi_lock(&net->leaf);
	if (dofi_list_empty(&conn->touch))
		dofi_list_append(&net->touched, &conn->touch);
	atomic_store_explicit(&net->has_touched, true, memory_order_relaxed);
	dofi_unlock(&net->leaf);
}

static void pair_conn_break(struct pair_conn *conn, int err)
{
	atomic_store(&conn->broken, err);
	msgep_ep_broken(conn->ep, err);
	pair_touch(conn);
}

void pair_conn_violate(struct pair_conn *conn, const char *what)
{
	char text[DOFI_ADDR_TEXT];

	dofi_log(DOFI_LOG_WARN, "ended the connection with %s: it violated the protocol: %s",
		 dofi_peer_text(&conn->ep->peer, text), what);
	pair_conn_break(conn, FI_EIO);
}

/* ---------------------------------------------------------------- packets of a connection */

static uint32_t packet_size(const struct msgep_frame *f)
{
	return HDR + pair_padded(f->len);
}

static bool pair_is_for(const struct pair_conn *conn, const struct msgep_frame *f)
{
	return f->kind < PAIR_ATTACH &&
	       f->mark == htole64(pair_mark(conn->index, conn->generation));
}

/* The packet at the cursor, if it is of this channel. */
static const struct msgep_frame *pair_at(const struct pair_conn *conn, int channel)
{
	const struct msgep_frame *f = (const void *)conn->at;

	return conn->at != conn->end && pair_channel(f) == channel && pair_is_for(conn, f) ? f
											   : NULL;
}

const struct msgep_frame *pair_peek(struct msgep_ep *ep, int channel, const void **payload)
{
	struct pair_conn *conn = ep->w.pair;
	const struct msgep_frame *f;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (ep->failed || !conn)
		return NULL;
	f = conn->queue[channel].head ? &conn->queue[channel].head->frame : pair_at(conn, channel);
	if (f)
		*payload = f + 1;
	return f;
}

bool pair_advance(_Atomic uint32_t *known, uint32_t count, uint32_t sent)
{
	uint32_t before = atomic_load_explicit(known, memory_order_relaxed);

	if (count - before > sent - before)
		return false;
	atomic_store_explicit(known, count, memory_order_release);
	return true;
}

/* Applies a count of the peer, given its lowest bits; false: see pair_advance. */
ALWAYS_INLINE bool pair_advance_low(_Atomic uint32_t *known, uint32_t low, uint32_t bits,
				    uint32_t unit, uint32_t sent)
{
	uint32_t before = atomic_load_explicit(known, memory_order_relaxed);
	uint32_t more = (low - before / unit) & ((1u << bits) - 1);

	return !more || pair_advance(known, before + more * unit, sent);
}

/* Processes the counts in a packet about the packets of this side. */
static void pair_recv_counts(struct pair_conn *conn, const struct msgep_frame *f)
{
	const uint8_t *p = f->counts;

	if (!pair_advance_low(&conn->granted[MSGEP_REQ], p[0] | (uint32_t)p[1] << 8, 16, PAIR_UNIT,
			      conn->sent[MSGEP_REQ]) ||
	    !pair_advance_low(&conn->granted[MSGEP_ANS], p[2] | (uint32_t)p[3] << 8, 16, PAIR_UNIT,
			      conn->sent[MSGEP_ANS]) ||
	    !pair_advance_low(&conn->arrived, p[4], 8, 1, conn->packets))
		pair_conn_violate(conn, "a count of what was never sent");
	if (f->kind == MSGEP_MSG)
		pair_note_receives(conn, f->key);
	else if (f->kind == MSGEP_ACK)
		pair_note_receives(conn, (uint32_t)f->total);
}

/* True for a packet whose consumption completes an operation of its sender. */
static bool pair_is_message(const struct msgep_frame *f)
{
	return f->kind == MSGEP_MSG && !(f->flags & MSGEP_PULL);
}

void pair_release(struct msgep_ep *ep, int channel)
{
	struct pair_conn *conn = ep->w.pair;
	struct pair_queue *q = &conn->queue[channel];
	struct pair_packet *packet = q->head;
	uint32_t size, taken;
	bool message;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (packet) {
		size = packet_size(&packet->frame);
		message = pair_is_message(&packet->frame);
		q->head = packet->next;
		if (!q->head)
			q->tail = &q->head;
		free(packet);
	} else {
		const struct msgep_frame *f = (const void *)conn->at;

		size = packet_size(f);
		message = pair_is_message(f);
		conn->at += size;
		conn->came[channel] += size;
	}
	atomic_store_explicit(&conn->consumed[channel],
			      atomic_load_explicit(&conn->consumed[channel], memory_order_relaxed) +
				      size,
			      memory_order_relaxed);
	if (channel != MSGEP_REQ)
		return;
	taken = atomic_load_explicit(&conn->taken, memory_order_relaxed) + 1;
	atomic_store_explicit(&conn->taken, taken, memory_order_relaxed);
	if (message)
		atomic_store_explicit(&conn->awaited, taken, memory_order_relaxed);
}

/* The packet at the cursor cannot be processed yet: queues a copy. */
static bool pair_keep(struct pair_conn *conn)
{
	const struct msgep_frame *f = (const void *)conn->at;
	uint32_t size = packet_size(f);
	struct pair_packet *packet = malloc(offsetof(struct pair_packet, frame) + size);
	struct pair_queue *q = &conn->queue[pair_channel(f)];

	if (!packet)
		return false;
	memcpy(&packet->frame, f, size);
	packet->next = NULL;
	*q->tail = packet;
	q->tail = &packet->next;
	conn->at += size;
	conn->came[pair_channel(f)] += size;
	return true;
}

void pair_queues_free(struct pair_conn *conn)
{
	for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
		struct pair_queue *q = &conn->queue[ch];

		while (q->head) {
			struct pair_packet *packet = q->head;

			q->head = packet->next;
			free(packet);
		}
		q->tail = &q->head;
	}
}

/* Of the packets at the cursor the last one of this connection has the latest counts. Messages that
 * they may reply to complete before they are processed. */
static void pair_recv_last_counts(struct pair_conn *conn)
{
	const struct msgep_frame *last = NULL;

	for (const uint8_t *at = conn->at; at != conn->end; at += packet_size(last)) {
		const struct msgep_frame *f = (const void *)at;

		if (!pair_is_for(conn, f))
			break;
		last = f;
	}
	if (last)
		pair_recv_counts(conn, last);
}

/* The poll processes the connection between these two. Caller holds ep->lock. */
static inline void pair_begin(struct pair_conn *conn, struct msgep_cq_direct *direct)
{
	conn->dispatching = true;
	conn->ep->cq_direct = direct;
}

static inline void pair_end(struct pair_conn *conn)
{
	conn->ep->cq_direct = NULL;
	conn->dispatching = false;
}

/* msgep_proto_progress stops at a limit: the next poll continues, whether or not anything
 * arrives. */
static void pair_process(struct pair_conn *conn)
{
	if (msgep_proto_progress(conn->ep) && conn->queue[MSGEP_REQ].head)
		pair_touch(conn);
}

/* Queues the packet at the cursor, or drops it and ends the connection: then the packets after it
 * must not be processed, although the end has not been reported yet. */
static void pair_keep_or_fail(struct pair_conn *conn)
{
	const struct msgep_frame *f = (const void *)conn->at;
	int ch = pair_channel(f);
	char text[DOFI_ADDR_TEXT];

	if (!conn->ep->failed) {
		if (conn->came[ch] + packet_size(f) - atomic_load(&conn->consumed[ch]) >
		    PAIR_WINDOW) {
			pair_conn_violate(conn, "more than its window");
		} else if (pair_keep(conn)) {
			return;
		} else {
			dofi_log(DOFI_LOG_WARN,
				 "ended the connection with %s: no memory for a packet that has "
				 "to wait",
				 dofi_peer_text(&conn->ep->peer, text));
			pair_conn_break(conn, FI_ENOMEM);
		}
		conn->ep->failed = true;
	}
	conn->at += packet_size(f);
}

/* Processes or keeps the packets of this connection that follow `at`; returns the first byte after
 * them. Carried ones have no counts. */
static const uint8_t *pair_dispatch(struct pair_conn *conn, const uint8_t *at, const uint8_t *end,
				    bool carried, struct msgep_cq_direct *direct)
{
	struct msgep_ep *ep = conn->ep;

	dofi_lock(&ep->lock);
	conn->at = at;
	conn->end = end;
	pair_begin(conn, direct);
	if (!carried)
		pair_recv_last_counts(conn);
	for (;;) {
		const uint8_t *before = conn->at;

		pair_process(conn);
		if (conn->at == end)
			break;
		if (conn->at != before)
			continue;
		if (!pair_is_for(conn, (const void *)conn->at))
			break;
		pair_keep_or_fail(conn);
	}
	pair_carry_check(conn);
	pair_end(conn);
	at = conn->at;
	conn->at = conn->end = NULL;
	dofi_unlock(&ep->lock);
	return at;
}

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
	} else if (conn->active || conn->pair ||
		   value != pair_mark(conn->peer_index, conn->peer_generation)) {
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

static struct pair_conn *pair_find(struct pair_net *net, const struct msgep_frame *f)
{
	uint64_t mark = le64toh(f->mark);
	struct pair_conn *conn;

	if ((uint32_t)mark >= net->n_conns)
		return NULL;
	conn = net->conns[(uint32_t)mark];
	return conn->ep && conn->generation == mark >> 32 ? conn : NULL;
}

static uint32_t pair_payload_most(uint8_t kind)
{
	if (kind == PAIR_CM_REQUEST || kind == PAIR_CM_MESSAGE)
		return MSGEP_CM_MAX;
	return kind < PAIR_ATTACH ? PAIR_PAYLOAD : 0;
}

/* Length and numbers of the packet at `at`; 0: it is invalid. */
static uint32_t pair_check(uint8_t *at, const uint8_t *end)
{
	struct msgep_frame *f = (void *)at;

	if ((size_t)(end - at) < HDR)
		return 0;
	f->len = le32toh(f->len);
	if (f->len > pair_payload_most(f->kind) || (size_t)(end - at) < packet_size(f))
		return 0;
	if (f->kind < PAIR_ATTACH)
		msgep_frame_swap(f);
	return packet_size(f);
}

static bool pair_check_all(uint8_t *at, const uint8_t *end)
{
	while (at != end) {
		uint32_t size = pair_check(at, end);

		if (!size)
			return false;
		at += size;
	}
	return true;
}

void pair_recv_carried(struct pair_conn *conn, uint8_t *at, uint32_t len,
		       struct msgep_cq_direct *direct)
{
	const uint8_t *end = at + len, *next;
	bool ok = pair_check_all(at, end);

	for (next = at; ok && next != end; next += packet_size((const void *)next)) {
		const struct msgep_frame *f = (const void *)next;

		ok = pair_is_for(conn, f) && (f->flags & MSGEP_PULL) &&
		     (f->kind == MSGEP_MSG || f->kind == MSGEP_WRITE);
	}
	if (ok)
		pair_dispatch(conn, at, end, true, direct);
	else
		pair_conn_violate(conn, "what follows long data is no announcement");
}

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
		struct pair_conn *conn = pair_find(net, f);

		if (f->kind < PAIR_ATTACH && conn && conn->pair == pair) {
			at = pair_dispatch(conn, at, end, false, direct);
			continue;
		}
		pair_recv_control(pair, conn, f, direct);
		at += packet_size(f);
	}
}

/* The pair that a message names; NULL: none that is up. */
static struct pair *pair_named(const struct pair_net *net, const struct pair_buf *buf)
{
	struct pair *pair = NULL;
	struct pair_head head;

	memcpy(&head, buf->data, sizeof(head));
	if (le32toh(head.index) < net->n_pairs)
		pair = net->pair_table[le32toh(head.index)];
	return pair && pair->key == le64toh(head.key) && pair->state == PAIR_UP ? pair : NULL;
}

static void pair_received(struct pair_net *net, struct pair_buf *buf,
			  struct msgep_cq_direct *direct)
{
	bool has_head = buf->len >= sizeof(struct pair_head);
	struct pair *pair = has_head ? pair_named(net, buf) : NULL;
	uint8_t *packets = buf->data + sizeof(struct pair_head), *end = buf->data + buf->len;

	if (!pair)
		dofi_log(DOFI_LOG_WARN, "dropped a message of %u bytes that names no adapter",
			 buf->len);
	else if (!pair_check_all(packets, end))
		pair_break(pair, FI_EIO);
	else
		pair_recv_message(net, pair, packets, end, direct);
}

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
	pair_received(p->net, buf, p->direct);
	pair_repost(p->net, buf);
}

/* The message is lost. If its pair ends, an event follows; if it remains, the peer would wait for
 * what it has sent. The beginning of the message has usually arrived and names the pair. */
static void pair_receive_failed(struct pair_net *net, struct pair_buf *buf, int err)
{
	struct pair *pair = pair_named(net, buf);

	if (!pair)
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
		if (atomic_load_explicit(&ep->pending, memory_order_relaxed))
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

/* Reads the queue of bulk endpoints that have one of their own, if there may be something in it. */
static __attribute__((noinline)) unsigned int pair_poll_apart(struct poll *p, uint64_t now)
{
	struct pair_net *net = p->net;

	if (p->direct && !atomic_load_explicit(&net->n_transfers, memory_order_relaxed) &&
	    !pair_eq_is_due(net, now))
		return 0;
	return msgep_inner_poll(&net->apart, false, p, pair_completed, pair_failed);
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
	     atomic_load_explicit(&net->has_kept, memory_order_relaxed)) &&
	    !dofi_thread_is_progress)
		pair_leave_work(net);
}

unsigned int pair_poll(struct pair_net *net, struct msgep_cq_direct *direct)
{
	struct poll p = { net, direct };
	uint64_t now = dofi_now();
	bool fresh = net->received && direct && now - net->received_at < PAIR_FRESH_NS;
	unsigned int got = 0;

	DOFI_ASSERT_LOCKED(&net->lock);
	/* A program usually empties its queue before it posts again: what it posts is announced
	 * with the transfers that the next poll sends. */
	net->paused = net->received && !net->paused;
	net->received = false;
	if (atomic_load_explicit(&net->has_kept, memory_order_relaxed) && !net->paused)
		pair_bulk_send_kept(net, PAIR_KEPT);
	pair_flush_dirty(net, PAIR_URGENT);
	/* Nor does its reply wait for a system call that usually finds nothing. */
	if (!fresh)
		got = msgep_inner_poll(&net->inner, false, &p, pair_completed, pair_failed);
	if (pair_is_bulk_apart(net))
		got += pair_poll_apart(&p, now);
	if (pair_eq_is_due(net, now))
		pair_read_eq(net);
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
	/* Those who sleep decide again whether they may (pair_leave_work). */
	msgep_cq_wake_all(domain);
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
	dofi_unlock(&net->lock);
}
