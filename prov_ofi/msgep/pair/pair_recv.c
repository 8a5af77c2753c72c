/* SPDX-License-Identifier: BSD-2-Clause */
/* Validates packets that have arrived, and processes them in the receive buffer. (hot)
 *
 * The peer may be hostile: a message that breaks the rules of pair.h breaks its pair, a packet that
 * breaks the rules of its connection breaks that connection. A packet for a connection that has
 * been closed is dropped. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "msgep/cm/cm_msg.h"
#include "msgep/pair/pair_unsolicited.h"

static bool pair_is_for(const struct pair_conn *conn, const struct msgep_frame *f)
{
	return f->kind < PAIR_ATTACH && f->mark == htole64(conn->mark);
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
		size = pair_packet_size(&packet->frame);
		message = pair_is_message(&packet->frame);
		q->head = packet->next;
		if (!q->head)
			q->tail = &q->head;
		free(packet);
	} else {
		const struct msgep_frame *f = (const void *)conn->at;

		size = pair_packet_size(f);
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
	uint32_t size = pair_packet_size(f);
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

	for (const uint8_t *at = conn->at; at != conn->end; at += pair_packet_size(last)) {
		const struct msgep_frame *f = (const void *)at;

		if (!pair_is_for(conn, f))
			break;
		last = f;
	}
	if (last)
		pair_recv_counts(conn, last);
}

/* Queues the packet at the cursor, or drops it and ends the connection: then the packets after it
 * must not be processed, although the end has not been reported yet. */
static void pair_keep_or_fail(struct pair_conn *conn)
{
	const struct msgep_frame *f = (const void *)conn->at;
	int ch = pair_channel(f);
	char text[DOFI_ADDR_TEXT];

	if (!conn->ep->failed) {
		if (conn->came[ch] + pair_packet_size(f) - atomic_load(&conn->consumed[ch]) >
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
	conn->at += pair_packet_size(f);
}

const uint8_t *pair_dispatch(struct pair_conn *conn, const uint8_t *at, const uint8_t *end,
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

	if ((size_t)(end - at) < PAIR_HDR)
		return 0;
	f->len = le32toh(f->len);
	if (f->len > pair_payload_most(f->kind) || (size_t)(end - at) < pair_packet_size(f))
		return 0;
	if (f->kind < PAIR_ATTACH)
		msgep_frame_swap(f);
	return pair_packet_size(f);
}

bool pair_check_all(uint8_t *at, const uint8_t *end, bool *news)
{
	while (at != end) {
		const struct msgep_frame *f = (const void *)at;
		uint32_t size = pair_check(at, end);

		if (!size)
			return false;
		/* The peer reads, and nothing here completes by that. */
		*news |= f->kind != MSGEP_READ && f->kind != MSGEP_GO;
		at += size;
	}
	return true;
}

void pair_recv_carried(struct pair_conn *conn, uint8_t *at, uint32_t len,
		       struct msgep_cq_direct *direct)
{
	const uint8_t *end = at + len, *next;
	bool ok = pair_check_all(at, end, &pair_net_of(conn->ep->domain)->has_news);

	for (next = at; ok && next != end; next += pair_packet_size((const void *)next)) {
		const struct msgep_frame *f = (const void *)next;

		ok = pair_is_for(conn, f) && (f->flags & MSGEP_PULL) &&
		     (f->kind == MSGEP_MSG || f->kind == MSGEP_WRITE);
	}
	if (ok)
		pair_dispatch(conn, at, end, true, direct);
	else
		pair_conn_violate(conn, "what follows long data is no announcement");
}
