/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends packets of connections, as far as the peer has granted credits. (hot) */
#include <endian.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "msgep/pair/pair_message.h"
#include "msgep/pair/pair_unsolicited.h"

/* Bytes of packets of that channel that may be sent. */
static uint32_t pair_credits(struct pair_conn *conn, int channel)
{
	if (channel == MSGEP_REQ && conn->packets - atomic_load(&conn->arrived) >= PAIR_PACKETS)
		return 0;
	return conn->peer_window - (conn->sent[channel] - atomic_load(&conn->granted[channel]));
}

/* True if another connection owes a credit. */
static bool pair_others_owe(const struct pair *pair, const struct pair_conn *conn)
{
	return !dofi_list_empty(&pair->owing) &&
	       (pair->owing.next != &conn->owe || pair->owing.prev != &conn->owe);
}

struct msgep_frame *pair_reserve(struct msgep_ep *ep, int channel, size_t want, size_t *space)
{
	struct pair_conn *conn = ep->w.pair;
	struct pair *pair = conn ? conn->pair : NULL;
	uint32_t left, need;
	uint8_t *at;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!pair || conn->broken)
		return NULL;
	if (want >= PAIR_BULK_FROM)
		pair_share_want(conn);
	left = pair_credits(conn, channel);
	need = (uint32_t)(want < PAIR_PAYLOAD ? want : PAIR_PAYLOAD);
	if (left < PAIR_HDR + (need < 1024 ? pair_padded(need) : 1024))
		return NULL;
	if (channel == MSGEP_REQ && (conn->bulk || conn->by_bulk.used) && !pair_carry_passed(conn))
		return NULL;
	if (need > left - PAIR_HDR)
		need = (left - PAIR_HDR) & ~7u;
	/* Held until the packet is committed or dropped. */
	dofi_lock(&pair->lock);
	/* Messages that this packet may reply to are complete before it. */
	if (pair_others_owe(pair, conn) && pair->state == PAIR_UP &&
	    pair_open_space(pair, PAIR_HDR, false))
		pair_put_credits(pair);
	at = pair->state == PAIR_UP ? pair_open_space(pair, PAIR_HDR + pair_padded(need), false)
				    : NULL;
	if (!at) {
		pair_starve(conn);
		dofi_unlock(&pair->lock);
		return NULL;
	}
	*space = need;
	return (struct msgep_frame *)(void *)at;
}

struct msgep_frame *pair_reserve_announcement(struct msgep_ep *ep, size_t want, size_t *space)
{
	struct pair_conn *conn = ep->w.pair;
	struct pair_bulk *bulk = conn ? conn->bulk : NULL;
	struct pair_carry *carry = bulk ? &bulk->carry : NULL;
	uint32_t size = PAIR_HDR + pair_padded((uint32_t)want);

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (!carry || bulk->state != PAIR_UP || conn->broken || !conn->pair ||
	    (conn->n_out - carry->packets <= PAIR_CARRIERS &&
	     pair_path_is_consumed(conn, &conn->by_bulk)))
		return pair_reserve(ep, MSGEP_REQ, want, space);
	/* The connection is processed again when a transfer has been sent. */
	if (carry->len + size > PAIR_CARRY || pair_credits(conn, MSGEP_REQ) < size)
		return NULL;
	conn->reserved_carry = true;
	*space = want;
	return (void *)(carry->data + carry->len);
}

/* The need of a packet. Those about long data wait for others while at least half of the transfers
 * go on without them; announcements of requests have waited already (pair_carry.c). */
static enum pair_need pair_need_of(const struct pair_conn *conn, const struct msgep_frame *f)
{
	bool held = conn->pair->held, ack = f->kind == MSGEP_ACK;
	uint32_t n = 0;

	if (f->flags & MSGEP_UNSOLICITED)
		return PAIR_URGENT;
	/* An acknowledgement with a key is a refusal. */
	if (f->kind == MSGEP_GO || (ack && !f->key) ||
	    (f->kind == MSGEP_READ && f->flags & MSGEP_PULL))
		n = pair_n_in(conn);
	else if (f->kind == MSGEP_DATA && f->flags & MSGEP_PULL)
		n = conn->n_out;
	if (2 * (conn->pair->held + 1) < n)
		return PAIR_HELD;
	return ack && !held ? PAIR_LAZY : PAIR_URGENT;
}

/* True if a posted packet is sent at once. One that closely follows others is collected with
 * them. */
static bool pair_leaves_now(struct pair *pair)
{
	uint64_t now = dofi_now();

	if (now - pair->sent_at >= PAIR_BURST_NS)
		pair->burst = 0;
	else
		pair->burst++;
	pair->sent_at = now;
	return pair->burst <= PAIR_BURST_FREE;
}

/* What the peer needs to know for unsolicited messages (pair_unsolicited.c). */
static void pair_put_receives(struct pair_conn *conn, struct msgep_frame *f)
{
	if (f->kind == MSGEP_MSG)
		f->key = conn->ep->rx_tail;
	else if (f->kind == MSGEP_ACK)
		f->total = conn->ep->rx_tail;
}

/* The numbers of a packet in the order of packets. */
static void pair_seal(struct pair_conn *conn, struct msgep_frame *f)
{
	f->mark = htole64(conn->peer_mark);
	f->len = htole32(f->len);
	msgep_frame_swap(f);
}

void pair_commit(struct msgep_ep *ep, int channel, struct msgep_frame *f)
{
	struct pair_conn *conn = ep->w.pair;
	struct pair *pair = conn->pair;
	uint32_t size = PAIR_HDR + pair_padded(f->len);
	bool unsolicited = f->flags & MSGEP_UNSOLICITED;
	enum pair_need need;

	DOFI_ASSERT_LOCKED(&ep->lock);
	/* Prevents disclosing earlier contents of the buffer. */
	if (f->len % 8)
		memset((uint8_t *)(f + 1) + f->len, 0, size - PAIR_HDR - f->len);
	if (channel == MSGEP_REQ)
		pair_note_request(conn, f, size);
	pair_put_receives(conn, f);
	conn->sent[channel] += size;
	conn->packets += channel == MSGEP_REQ;
	if (conn->reserved_carry) {
		pair_seal(conn, f);
		pair_carry_commit(conn, size);
		return;
	}
	if (channel == MSGEP_REQ)
		conn->by_pair = (struct pair_path){ true, conn->sent[channel] };
	need = pair_need_of(conn, f);
	pair_put_counts(conn, f);
	pair_seal(conn, f);
	pair->open->len += size;
	if (need == PAIR_HELD && !pair->held++)
		pair->held_at = dofi_now();
	pair_set_need(pair, need);
	if (!conn->dispatching)
		msgep_reply_posted(&pair->reply, pair_empty_polls(pair));
	/* An announcement arrives before its data. */
	if (!unsolicited && (conn->dispatching || need != PAIR_URGENT || !pair_leaves_now(pair))) {
		pair_mark_dirty(pair, need);
		if (!conn->dispatching)
			pair_leave_work(pair->net);
	} else {
		DOFI_NO_CANCEL();
		pair_flush(pair, PAIR_URGENT);
	}
	dofi_unlock(&pair->lock);
}

void pair_unreserve(struct msgep_ep *ep)
{
	struct pair *pair = ep->w.pair->pair;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (ep->w.pair->reserved_carry) {
		ep->w.pair->reserved_carry = false;
		return;
	}
	dofi_unlock(&pair->lock);
}
