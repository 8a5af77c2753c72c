/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns requests and answers into frames. (hot)
 *
 * Requests are queued in order, and sent in parts as the channel has room, by any thread that makes
 * progress; one that fits a frame, with an empty queue, is sent when it is posted (post.c). A
 * message is complete when its frames are where the peer finds them even if this process ends; a
 * write when the peer acknowledges or refuses it; a read when its data has arrived.
 */
#include <errno.h>
#include <string.h>

#include "base/grow.h"
#include "msgep/iov.h"
#include "msgep/object/proto_tx.h"

/* ---------------------------------------------------------------- requests */

/* Bytes of an atomic operation's operands; 0 for all other requests. */
static inline size_t proto_operands(const struct msgep_tx *tx)
{
	if (tx->kind == MSGEP_ADD)
		return sizeof(uint64_t);
	return tx->kind == MSGEP_SWAP ? 2 * sizeof(uint64_t) : 0;
}

/* True for a request with data to be sent. Other requests are one frame. */
static inline bool proto_carries_data(const struct msgep_tx *tx)
{
	return tx->kind == MSGEP_MSG || tx->kind == MSGEP_WRITE;
}

static void proto_head_of(struct msgep_frame *f, const struct msgep_tx *tx, uint32_t len,
			  uint8_t flags)
{
	f->len = len;
	f->kind = tx->kind;
	f->flags = (uint8_t)(flags | (tx->has_data ? MSGEP_HAS_DATA : 0));
	f->segments = 0;
	memset(f->counts, 0, sizeof(f->counts));
	f->key = tx->key;
	f->total = tx->total;
	f->value = tx->kind == MSGEP_MSG || tx->kind == MSGEP_IMM ? tx->data : tx->remote;
}

/* Completes messages that have arrived. */
void msgep_complete_arrived(struct msgep_ep *ep, uint32_t arrived)
{
	const struct msgep_inflight *f;

	DOFI_ASSERT_LOCKED(&ep->lock);
	while (ep->inflight_head != ep->inflight_tail) {
		f = &ep->inflight[ep->inflight_head & (ep->inflight_capacity - 1)];
		if ((int32_t)(arrived - f->end) < 0) {
			atomic_store(&ep->complete_at, MSGEP_INFLIGHT_ANY | f->end);
			return;
		}
		msgep_ep_done(ep, ep->tx_cq, f->context, FI_SEND | FI_MSG, f->total, 0, 0);
		ep->inflight_head++;
	}
	atomic_store_explicit(&ep->complete_at, 0, memory_order_relaxed);
}

bool msgep_inflight_grow(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	msgep_complete_arrived(ep, ep->transport->arrived(ep));
	if (ep->inflight_tail - ep->inflight_head < ep->inflight_capacity)
		return true;
	/* Each entry is at least one frame of those that the peer has room for: some complete
	 * soon. */
	return DOFI_RING_GROW(ep->inflight, ep->inflight_capacity, ep->inflight_head,
			      ep->inflight_tail, 1, MSGEP_INFLIGHT_MAX);
}

/* msgep_inflight_has_slot was true before the last frame was reserved. */
void msgep_inflight_add(struct msgep_ep *ep, void *context, uint64_t total)
{
	uint32_t arrived;

	DOFI_ASSERT_LOCKED(&ep->lock);
	DOFI_ASSERT(ep->inflight_tail - ep->inflight_head < ep->inflight_capacity,
		    "endpoint %p: head %u, tail %u, capacity %u", (void *)ep, ep->inflight_head,
		    ep->inflight_tail, ep->inflight_capacity);
	ep->inflight[ep->inflight_tail++ & (ep->inflight_capacity - 1)] =
		(struct msgep_inflight){ context, total, ep->frames };
	if (ep->inflight_tail - ep->inflight_head == 1) {
		atomic_store(&ep->complete_at, MSGEP_INFLIGHT_ANY | ep->frames);
		/* A thread that blocked earlier has not armed for this. */
		if (ep->transport->arm)
			msgep_cq_wake(ep->tx_cq);
	}
	/* It may have arrived before complete_at was set. */
	arrived = ep->transport->arrived(ep);
	if (msgep_ep_completes_at(ep, arrived))
		msgep_complete_arrived(ep, arrived);
}

/* The request is entirely in frames. */
static void proto_handed_over(struct msgep_ep *ep, struct msgep_tx *tx)
{
	if (tx->kind == MSGEP_MSG && !tx->pulled) {
		if (msgep_is_acked(ep))
			msgep_inflight_add(ep, tx->context, tx->total);
		else
			msgep_ep_done(ep, ep->tx_cq, tx->context, FI_SEND | FI_MSG, tx->total, 0,
				      0);
		return;
	}
	tx->done = 0;
	if (msgep_fetches(tx->kind))
		*msgep_tx_at(&ep->reads, ep->reads.tail++) = *tx;
	else
		*msgep_tx_at(&ep->unacked, ep->unacked.tail++) = *tx;
}

/* Sends the next frame of a request. False: no space. */
static bool proto_push_frame(struct msgep_ep *ep, struct msgep_tx *tx)
{
	size_t left = proto_carries_data(tx) ? tx->total - tx->done : proto_operands(tx), space;
	struct msgep_frame *f = ep->transport->reserve(ep, MSGEP_REQ, left, &space);
	uint8_t flags = tx->done ? 0 : MSGEP_FIRST;

	if (!f)
		return false;
	if (left <= space) {
		space = left;
		flags |= MSGEP_LAST;
		if (tx->kind == MSGEP_READ)
			flags |= tx->pulled ? MSGEP_PULL : 0;
		else if (tx->kind == MSGEP_WRITE || tx->kind == MSGEP_IMM || tx->pulled)
			flags |= MSGEP_WANTS_ACK;
	}
	proto_head_of(f, tx, (uint32_t)space, flags);
	if (proto_carries_data(tx))
		msgep_iov_gather(msgep_payload(f), msgep_tx_iov(tx), space);
	else
		memcpy(msgep_payload(f), tx->operand, space);
	ep->transport->commit(ep, MSGEP_REQ, f);
	ep->frames++;
	tx->done += space;
	return true;
}

/* The end of a write travels in the frame: see proto_store() in proto_rx.c. */
#define TAIL 64

/* Bytes of a pulled request that the next frame stands for: no more than the segments that it can
 * list. The last *tail of them travel in the frame. */
static size_t proto_next_part(struct msgep_tx *tx, size_t *tail)
{
	size_t left = tx->total - tx->done, reach;
	size_t len = left < MSGEP_PULL_MOST ? left : MSGEP_PULL_MOST;

	*tail = len == left && tx->kind == MSGEP_WRITE ? TAIL : 0;
	if (tx->count <= MSGEP_IOV_INLINE)
		return len;
	reach = msgep_iov_reach(tx->list, tx->count, MSGEP_IOV_INLINE);
	if (len - *tail <= reach)
		return len;
	*tail = 0;
	return reach;
}

/* The same for a request whose data the peer pulls. */
static bool proto_push_pull(struct msgep_ep *ep, struct msgep_tx *tx)
{
	size_t left = tx->total - tx->done, space, n, tail, part_len;
	struct msgep_segment list[MSGEP_IOV_INLINE];
	struct iovec part[MSGEP_IOV_INLINE];
	struct msgep_frame *f;

	if (left <= TAIL)
		return proto_push_frame(ep, tx);
	f = ep->transport->reserve(ep, MSGEP_REQ, sizeof(list) + TAIL, &space);
	if (!f)
		return false;
	if (space < sizeof(list) + TAIL) {
		msgep_unreserve(ep);
		return proto_push_frame(ep, tx); /* as much as fits travels in the frame */
	}
	part_len = proto_next_part(tx, &tail);
	n = msgep_iov_truncate(msgep_tx_iov(tx), part, part_len - tail);
	for (size_t i = 0; i < n; i++)
		list[i] = (struct msgep_segment){ (uintptr_t)part[i].iov_base, part[i].iov_len };
	memcpy(msgep_payload(f), list, n * sizeof(*list));
	msgep_iov_gather((char *)msgep_payload(f) + n * sizeof(*list), msgep_tx_iov(tx), tail);
	proto_head_of(f, tx, (uint32_t)(n * sizeof(*list) + tail),
		      (uint8_t)(MSGEP_PULL | (tx->done ? 0 : MSGEP_FIRST) |
				(part_len == left ? MSGEP_LAST | MSGEP_WANTS_ACK : 0)));
	f->segments = (uint8_t)n;
	ep->transport->commit(ep, MSGEP_REQ, f);
	ep->frames++;
	tx->done += part_len;
	return true;
}

/* The same for a request whose data travels in bulk. */
static bool proto_push_bulk(struct msgep_ep *ep, struct msgep_tx *tx)
{
	size_t left = tx->total - tx->done, space, n, tail, part_len;
	struct iovec part[MSGEP_IOV_INLINE];
	struct msgep_segment segment;
	struct msgep_frame *f;
	bool at_once;

	if (left <= TAIL)
		return proto_push_frame(ep, tx);
	f = ep->transport->bulk_reserve(ep, sizeof(segment) + TAIL, &space);
	if (!f)
		return false;
	if (space < sizeof(segment) + TAIL) {
		msgep_unreserve(ep);
		return false;
	}
	at_once = ep->transport->bulk_mode(ep, tx->kind) == MSGEP_BULK_AT_ONCE;
	part_len = proto_next_part(tx, &tail);
	n = msgep_iov_peek(msgep_tx_iov(tx), part, part_len - tail);
	if (!ep->transport->bulk_send(ep, part, n, NULL, &segment.addr)) {
		msgep_unreserve(ep);
		return false;
	}
	msgep_iov_skip(msgep_tx_iov(tx), part_len - tail);
	segment.len = part_len - tail;
	memcpy(msgep_payload(f), &segment, sizeof(segment));
	msgep_iov_gather((char *)msgep_payload(f) + sizeof(segment), msgep_tx_iov(tx), tail);
	proto_head_of(f, tx, (uint32_t)(sizeof(segment) + tail),
		      (uint8_t)(MSGEP_PULL | (at_once ? MSGEP_UNSOLICITED : 0) |
				(tx->done ? 0 : MSGEP_FIRST) |
				(part_len == left ? MSGEP_LAST | MSGEP_WANTS_ACK : 0)));
	f->segments = 1;
	ep->transport->commit(ep, MSGEP_REQ, f);
	ep->frames++;
	tx->done += part_len;
	if (at_once)
		ep->transport->bulk_go(ep, segment.addr, false);
	return true;
}

/* True if the receiver pulls the data. Each frame lists few segments, so their number counts. */
static bool proto_may_pull(struct msgep_ep *ep, const struct msgep_tx *tx)
{
	uint64_t each = tx->total;

	if (tx->kind == MSGEP_READ)
		return msgep_read_pulls(ep, tx->total);
	if (tx->count > MSGEP_IOV_INLINE)
		each /= (tx->count + MSGEP_IOV_INLINE - 1) / MSGEP_IOV_INLINE;
	if (proto_carries_data(tx) && ep->transport->bulk_from)
		return each >= ep->transport->bulk_from(ep);
	return proto_carries_data(tx) && ep->transport->pull_from &&
	       each >= ep->transport->pull_from(ep);
}

static bool proto_push_part(struct msgep_ep *ep, struct msgep_tx *tx)
{
	if (!tx->pulled || tx->kind == MSGEP_READ)
		return proto_push_frame(ep, tx);
	return ep->transport->bulk_from ? proto_push_bulk(ep, tx) : proto_push_pull(ep, tx);
}

static void proto_push_requests(struct msgep_ep *ep)
{
	while (msgep_queued(&ep->txq)) {
		struct msgep_tx *tx = msgep_tx_at(&ep->txq, ep->txq.head);

		if (!tx->done)
			tx->pulled = proto_may_pull(ep, tx);
		if (tx->kind == MSGEP_MSG && !tx->pulled && !msgep_inflight_has_slot(ep))
			return;
		do {
			if (!proto_push_part(ep, tx))
				return;
		} while (proto_carries_data(tx) && tx->done < tx->total);
		proto_handed_over(ep, tx);
		ep->txq.head++;
	}
}

/* ---------------------------------------------------------------- answers */

static bool proto_push_ack(struct msgep_ep *ep)
{
	/* The peer takes a refusal for that of its oldest request. */
	uint32_t nak = ep->bulk.requests ? 0 : ep->nak;
	struct msgep_frame *f;
	size_t space;

	msgep_acknowledge(ep);
	if (ep->reported == ep->done && !nak)
		return true;
	f = ep->transport->reserve(ep, MSGEP_ANS, 0, &space);
	if (!f)
		return false;
	*f = (struct msgep_frame){ .mark = f->mark,
				   .kind = MSGEP_ACK,
				   .flags = MSGEP_FIRST | MSGEP_LAST,
				   .key = nak,
				   .value = ep->done };
	ep->reported = ep->done;
	if (nak)
		ep->nak = 0;
	ep->transport->commit(ep, MSGEP_ANS, f);
	return true;
}

/* Updates `pending`. A thread that blocked before it was set has not armed for room, and is
 * woken. */
static void proto_set_pending(struct msgep_ep *ep, bool pending)
{
	bool before = atomic_load_explicit(&ep->pending, memory_order_relaxed);

	atomic_store_explicit(&ep->pending, pending, memory_order_relaxed);
	if (before || !pending || !ep->transport->arm)
		return;
	msgep_cq_wake(ep->tx_cq);
	if (ep->rx_cq != ep->tx_cq)
		msgep_cq_wake(ep->rx_cq);
}

bool msgep_ep_has_work(const struct msgep_ep *ep)
{
	return msgep_queued(&ep->txq) || msgep_queued(&ep->unacked) || msgep_queued(&ep->reads) ||
	       ep->inflight_head != ep->inflight_tail ||
	       ep->target_read_head != ep->target_read_tail || ep->in_message || ep->in_write;
}

void msgep_push_first(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	proto_push_requests(ep);
	if (msgep_queued(&ep->txq))
		proto_set_pending(ep, true);
}

void msgep_proto_push(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	if (msgep_push_gos(ep) && proto_push_ack(ep) && msgep_push_reads(ep))
		msgep_report_too_long(ep);
	proto_push_requests(ep);
	proto_set_pending(ep, msgep_has_pending(ep));
}
