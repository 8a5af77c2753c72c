/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns requests and answers into frames. (hot)
 *
 * Requests wait in order, and go out piece by piece as the channel has room, whoever makes the
 * progress; what fits one frame and has nothing before it goes out when it is posted (post.c). A
 * message is done when its frames are where the peer will find them though we go; a write when the
 * peer says that it is in memory, or refused; a read when its data is here.
 */
#include <errno.h>
#include <string.h>

#include "msgep/iov.h"
#include "msgep/proto.h"
#include "msgep/ring.h"

/* ---------------------------------------------------------------- requests */

/* Bytes of an atomic operation's operands, 0 for all other requests. */
static inline size_t operands(const struct rdm_tx *tx)
{
	if (tx->kind == RDM_ADD)
		return sizeof(uint64_t);
	return tx->kind == RDM_SWAP ? 2 * sizeof(uint64_t) : 0;
}

/* Is it one with data to be sent? Other requests are one frame. */
static inline bool carries(const struct rdm_tx *tx)
{
	return tx->kind == RDM_MSG || tx->kind == RDM_WRITE;
}

static void head_of(struct rdm_frame *f, const struct rdm_tx *tx, uint32_t len, uint8_t flags)
{
	f->len = len;
	f->kind = tx->kind;
	f->flags = (uint8_t)(flags | (tx->has_data ? RDM_HAS_DATA : 0));
	f->segments = 0;
	memset(f->counts, 0, sizeof(f->counts));
	f->key = tx->key;
	f->total = tx->total;
	f->value = tx->kind == RDM_MSG || tx->kind == RDM_NOTE ? tx->data : tx->remote;
}

/* Messages that have arrived are done. */
void rdm_land(struct rdm_ep *ep)
{
	uint32_t arrived = ep->wire->arrived(ep);
	const struct rdm_flight *f;

	while (ep->flight_head != ep->flight_tail) {
		f = &ep->flights[ep->flight_head & (ep->flight_room - 1)];
		if ((int32_t)(arrived - f->end) < 0) {
			atomic_store(&ep->awaited, RDM_AWAITS | f->end);
			return;
		}
		rdm_ep_done(ep, ep->tx_cq, f->context, FI_SEND | FI_MSG, f->total, 0, 0);
		ep->flight_head++;
	}
	atomic_store_explicit(&ep->awaited, 0, memory_order_relaxed);
}

bool rdm_flights_grow(struct rdm_ep *ep)
{
	struct rdm_flight *flights;

	rdm_land(ep);
	if (ep->flight_tail - ep->flight_head < ep->flight_room)
		return true;
	/* Each flight is a frame at least of those that the peer has room for: some land soon. */
	if (ep->flight_room == RDM_FLIGHTS)
		return false;
	flights = rdm_ring_grow(ep->flights, sizeof(*flights), &ep->flight_room, ep->flight_head,
				ep->flight_tail, 1);
	if (flights)
		ep->flights = flights;
	return flights;
}

/* rdm_may_fly was true before the last frame was reserved. */
void rdm_take_off(struct rdm_ep *ep, void *context, uint64_t total)
{
	ep->flights[ep->flight_tail++ & (ep->flight_room - 1)] =
		(struct rdm_flight){ context, total, ep->frames };
	if (ep->flight_tail - ep->flight_head == 1) {
		atomic_store(&ep->awaited, RDM_AWAITS | ep->frames);
		/* Who went to sleep before has not asked to be told. */
		if (ep->wire->arm)
			rdm_cq_wake(ep->tx_cq);
	}
	/* It may have arrived before anybody knew that this is awaited. */
	if (rdm_ep_awaits(ep, ep->wire->arrived(ep)))
		rdm_land(ep);
}

/* All of it is in frames. */
static void handed_over(struct rdm_ep *ep, struct rdm_tx *tx)
{
	if (tx->kind == RDM_MSG && !tx->pulled) {
		if (rdm_flies(ep))
			rdm_take_off(ep, tx->context, tx->total);
		else
			rdm_ep_done(ep, ep->tx_cq, tx->context, FI_SEND | FI_MSG, tx->total, 0, 0);
		return;
	}
	tx->done = 0;
	if (rdm_fetches(tx->kind))
		*rdm_tx_at(&ep->reads, ep->reads.tail++) = *tx;
	else
		*rdm_tx_at(&ep->unacked, ep->unacked.tail++) = *tx;
}

/* The next frame of a request. False: no room. */
static bool push_frame(struct rdm_ep *ep, struct rdm_tx *tx)
{
	size_t left = carries(tx) ? tx->total - tx->done : operands(tx), room;
	struct rdm_frame *f = ep->wire->reserve(ep, RDM_REQ, left, &room);
	uint8_t flags = tx->done ? 0 : RDM_FIRST;

	if (!f)
		return false;
	if (left <= room) {
		room = left;
		flags |= RDM_LAST;
		if (tx->kind == RDM_READ)
			flags |= tx->pulled ? RDM_PULL : 0;
		else if (tx->kind == RDM_WRITE || tx->kind == RDM_NOTE || tx->pulled)
			flags |= RDM_WANTS_ACK;
	}
	head_of(f, tx, (uint32_t)room, flags);
	if (carries(tx))
		rdm_gather(rdm_payload(f), tx->iov, room);
	else
		memcpy(rdm_payload(f), tx->operand, room);
	ep->wire->commit(ep, RDM_REQ, f);
	ep->frames++;
	tx->done += room;
	return true;
}

/* The end of a write travels in the frame: see store() in proto_rx.c. */
#define TAIL 64

/* The same for a request whose data the peer takes itself. */
static bool push_pull(struct rdm_ep *ep, struct rdm_tx *tx)
{
	size_t left = tx->total - tx->done, room, n;
	size_t take = left < RDM_PULL_MOST ? left : RDM_PULL_MOST;
	size_t tail = take == left && tx->kind == RDM_WRITE ? TAIL : 0;
	struct rdm_segment list[RDM_IOV_MAX];
	struct iovec part[RDM_IOV_MAX];
	struct rdm_frame *f;

	if (left <= TAIL)
		return push_frame(ep, tx);
	f = ep->wire->reserve(ep, RDM_REQ, sizeof(list) + TAIL, &room);
	if (!f)
		return false;
	if (room < sizeof(list) + TAIL) {
		rdm_unreserve(ep);
		return push_frame(ep, tx);	/* what fits there travels in the frame */
	}
	n = rdm_cut(tx->iov, part, take - tail);
	for (size_t i = 0; i < n; i++)
		list[i] = (struct rdm_segment){ (uintptr_t)part[i].iov_base, part[i].iov_len };
	memcpy(rdm_payload(f), list, n * sizeof(*list));
	rdm_gather((char *)rdm_payload(f) + n * sizeof(*list), tx->iov, tail);
	head_of(f, tx, (uint32_t)(n * sizeof(*list) + tail),
		(uint8_t)(RDM_PULL | (tx->done ? 0 : RDM_FIRST) |
			  (take == left ? RDM_LAST | RDM_WANTS_ACK : 0)));
	f->segments = (uint8_t)n;
	ep->wire->commit(ep, RDM_REQ, f);
	ep->frames++;
	tx->done += take;
	return true;
}

/* The same for a request whose data travels in bulk. */
static bool push_bulk(struct rdm_ep *ep, struct rdm_tx *tx)
{
	size_t left = tx->total - tx->done, room, n;
	size_t take = left < RDM_PULL_MOST ? left : RDM_PULL_MOST;
	size_t tail = take == left && tx->kind == RDM_WRITE ? TAIL : 0;
	struct iovec part[RDM_IOV_MAX];
	struct rdm_segment segment;
	struct rdm_frame *f;

	if (left <= TAIL)
		return push_frame(ep, tx);
	f = ep->wire->reserve(ep, RDM_REQ, sizeof(segment) + TAIL, &room);
	if (!f)
		return false;
	if (room < sizeof(segment) + TAIL) {
		rdm_unreserve(ep);
		return false;
	}
	memcpy(part, tx->iov, sizeof(part));
	n = rdm_head(part, tx->count, take - tail);
	if (!ep->wire->bulk_send(ep, part, n, NULL, &segment.addr)) {
		rdm_unreserve(ep);
		return false;
	}
	rdm_skip(tx->iov, take - tail);
	segment.len = take - tail;
	memcpy(rdm_payload(f), &segment, sizeof(segment));
	rdm_gather((char *)rdm_payload(f) + sizeof(segment), tx->iov, tail);
	head_of(f, tx, (uint32_t)(sizeof(segment) + tail),
		(uint8_t)(RDM_PULL | (tx->done ? 0 : RDM_FIRST) |
			  (take == left ? RDM_LAST | RDM_WANTS_ACK : 0)));
	f->segments = 1;
	ep->wire->commit(ep, RDM_REQ, f);
	ep->frames++;
	tx->done += take;
	return true;
}

/* Does the data go from memory to memory, taken by its receiver? */
static bool may_pull(struct rdm_ep *ep, const struct rdm_tx *tx)
{
	if (tx->kind == RDM_READ)
		return rdm_read_pulls(ep, tx->total);
	if (carries(tx) && ep->wire->bulk_from)
		return tx->total >= ep->wire->bulk_from(ep);
	return carries(tx) && ep->wire->pull_from && tx->total >= ep->wire->pull_from(ep);
}

static bool push_part(struct rdm_ep *ep, struct rdm_tx *tx)
{
	if (!tx->pulled || tx->kind == RDM_READ)
		return push_frame(ep, tx);
	return ep->wire->bulk_from ? push_bulk(ep, tx) : push_pull(ep, tx);
}

static void push_requests(struct rdm_ep *ep)
{
	while (rdm_queued(&ep->txq)) {
		struct rdm_tx *tx = rdm_tx_at(&ep->txq, ep->txq.head);

		if (!tx->done)
			tx->pulled = may_pull(ep, tx);
		if (tx->kind == RDM_MSG && !tx->pulled && !rdm_may_fly(ep))
			return;
		do {
			if (!push_part(ep, tx))
				return;
		} while (carries(tx) && tx->done < tx->total);
		handed_over(ep, tx);
		ep->txq.head++;
	}
}

/* ---------------------------------------------------------------- answers */

static bool push_ack(struct rdm_ep *ep)
{
	struct rdm_frame *f;
	size_t room;

	if (ep->told == ep->done && !ep->nak)
		return true;
	if (ep->wire->acknowledge && !ep->nak) {
		ep->wire->acknowledge(ep, (uint32_t)ep->done);
		ep->told = ep->done;
		return true;
	}
	f = ep->wire->reserve(ep, RDM_ANS, 0, &room);
	if (!f)
		return false;
	*f = (struct rdm_frame){ .mark = f->mark, .kind = RDM_ACK, .flags = RDM_FIRST | RDM_LAST,
				 .key = ep->nak, .value = ep->done };
	ep->told = ep->done;
	ep->nak = 0;
	ep->wire->commit(ep, RDM_ANS, f);
	return true;
}

/* Something waits for room, or nothing does any more. Who went to sleep before has not asked to be
 * told of room, and looks again. */
static void settle_pending(struct rdm_ep *ep, bool pending)
{
	bool before = atomic_load_explicit(&ep->pending, memory_order_relaxed);

	atomic_store_explicit(&ep->pending, pending, memory_order_relaxed);
	if (before || !pending || !ep->wire->arm)
		return;
	rdm_cq_wake(ep->tx_cq);
	if (ep->rx_cq != ep->tx_cq)
		rdm_cq_wake(ep->rx_cq);
}

static inline bool owes_frames(const struct rdm_ep *ep)
{
	return rdm_queued(&ep->txq) || ep->serve_head != ep->serve_tail || ep->nak ||
	       ep->told != ep->done || ep->bulk.told != ep->bulk.tail;
}

bool rdm_ep_waits(const struct rdm_ep *ep)
{
	return rdm_queued(&ep->txq) || rdm_queued(&ep->unacked) || rdm_queued(&ep->reads) ||
	       ep->flight_head != ep->flight_tail || ep->serve_head != ep->serve_tail ||
	       ep->in_message || ep->in_write;
}

void rdm_push_first(struct rdm_ep *ep)
{
	push_requests(ep);
	if (rdm_queued(&ep->txq))
		settle_pending(ep, true);
}

void rdm_proto_push(struct rdm_ep *ep)
{
	if (rdm_push_gos(ep) && push_ack(ep))
		rdm_push_reads(ep);
	push_requests(ep);
	settle_pending(ep, owes_frames(ep));
}

unsigned int rdm_proto_progress(struct rdm_ep *ep)
{
	unsigned int n = 0;

	if (atomic_load_explicit(&ep->state, memory_order_relaxed) != RDM_UP)
		return 0;
	if (atomic_load_explicit(&ep->broken, memory_order_relaxed) && !ep->cut)
		rdm_ep_cut(ep, dofi_lib.strerror(ep->broken));
	rdm_land_due(ep);
	if (ep->wire->acknowledged)
		rdm_take_acks(ep);
	n = rdm_take_answers(ep) + rdm_take_requests(ep);
	if (owes_frames(ep))
		rdm_proto_push(ep);
	if (n && ep->wire->flush)
		ep->wire->flush(ep);
	return n;
}
