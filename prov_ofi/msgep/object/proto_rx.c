/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes frames that have arrived. (hot)
 *
 * Every field of a frame is checked: a peer that violates frame.h loses the connection.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/error_text.h"
#include "base/inline.h"
#include "msgep/peer_memory.h"
#include "msgep/iov.h"
#include "msgep/object/proto_tx.h"

/* Frames of one connection that are processed before other connections get their turn. */
#define BATCH 64
/* Limit of bytes pulled, or copied from large frames, in one call: completions are reported before
 * more is copied, and the connection's lock is not held for long. */
#define CMA_BYTES_MAX ((uint64_t)1 << 18)
#define LARGE ((uint32_t)1 << 16)
/* The last bytes of a write, which programs poll in memory. */
#define LINE 64

/* True if the frame's length and LAST match the announced total. */
static bool proto_in_order(struct msgep_ep *ep, const struct msgep_frame *f, const void *payload,
			   struct msgep_frame_data *p)
{
	uint64_t left = ep->expected - ep->received;

	if (msgep_parse_frame(f, payload, p) && p->bytes <= left &&
	    !(f->flags & MSGEP_LAST) == (p->bytes < left))
		return true;
	msgep_ep_fail(ep, "a request longer or shorter than announced");
	return false;
}

/* ---------------------------------------------------------------- messages */

/* False: it has to wait. */
static bool proto_begin_message(struct msgep_ep *ep, const struct msgep_frame *f)
{
	if (!msgep_claim_receive(ep))
		return false;
	ep->after_write = false;
	ep->expected = f->total;
	ep->received = 0;
	ep->has_data = f->flags & MSGEP_HAS_DATA;
	ep->data = f->value;
	ep->in_message = true;
	if (ep->expected > ep->cur.total) {
		ep->refused = true;
		ep->too_long = true;
	}
	return true;
}

/* The common case: one frame, and a receive of the endpoint itself is posted, of few segments. */
static bool proto_recv_whole(struct msgep_ep *ep, const struct msgep_frame *f, const void *payload)
{
	struct msgep_recv *recv = &ep->rxq[ep->rx_head & (ep->rx_capacity - 1)];

	if (ep->srx || ep->rx_head == ep->rx_tail || f->total != f->len ||
	    f->len > recv->in_place || (f->flags & MSGEP_PULL))
		return false;
	msgep_iov_scatter(recv->iov, payload, f->len);
	ep->messages++;
	msgep_ep_done(ep, ep->rx_cq, recv->context,
		      FI_MSG | FI_RECV | (f->flags & MSGEP_HAS_DATA ? FI_REMOTE_CQ_DATA : 0),
		      f->len, f->value, 0);
	ep->rx_head++;
	return true;
}

static bool proto_recv_message(struct msgep_ep *ep, const struct msgep_frame *f,
			       const void *payload)
{
	struct msgep_frame_data p;

	if (!(f->flags & MSGEP_FIRST) == !ep->in_message || ep->in_write) {
		msgep_ep_fail(ep, "frames of a message out of order");
		return true;
	}
	if ((f->flags & (MSGEP_FIRST | MSGEP_LAST)) == (MSGEP_FIRST | MSGEP_LAST) &&
	    proto_recv_whole(ep, f, payload))
		return true;
	if ((f->flags & MSGEP_FIRST) && !proto_begin_message(ep, f))
		return false;
	if (ep->refused || !proto_in_order(ep, f, payload, &p))
		return true;
	if ((f->flags & MSGEP_PULL) && ep->transport->bulk_recv) {
		/* Its receive is still in ep->cur, and ends with the endpoint. */
		if (!msgep_bulk_message(ep, f, &p)) {
			msgep_ep_fail(ep, "a transfer that cannot be received");
			return true;
		}
		ep->received += p.bytes;
		ep->in_message = !(f->flags & MSGEP_LAST);
		return true;
	}
	if (!msgep_pull_frame(ep, f, &p, msgep_recv_iov(&ep->cur))) {
		msgep_ep_revoked(ep, "a message");
		return true;
	}
	ep->received += p.bytes;
	if (f->flags & MSGEP_LAST) {
		ep->in_message = false;
		ep->done += !!(f->flags & MSGEP_WANTS_ACK);
		msgep_received(ep, ep->cur.context, 0);
	}
	return true;
}

/* ---------------------------------------------------------------- the peer's writes */

/* The last line of a write becomes visible after all of its other bytes. */
static void proto_store(char *to, const char *from, size_t len, bool last, _Atomic uint32_t *order)
{
	size_t tail = last && len > LINE ? LINE : 0;

	memcpy(to, from, len - tail);
	if (!tail)
		return;
	/* Instead of a fence: adding 0 orders the stores around it. */
	atomic_fetch_add(order, 0);
	memcpy(to + len - tail, from + len - tail, tail);
}

static void proto_refuse_write(struct msgep_ep *ep, int err)
{
	ep->nak = (uint32_t)err;
	ep->refused = true;
	ep->in_write = false;
}

static void proto_begin_write(struct msgep_ep *ep, const struct msgep_frame *f)
{
	ep->expected = f->total;
	ep->received = 0;
	ep->remote = f->value;
	ep->key = f->key;
	ep->in_write = true;
}

static void proto_recv_write(struct msgep_ep *ep, const struct msgep_frame *f, const void *payload)
{
	bool last = f->flags & MSGEP_LAST, bulk, in_order, ok = true;
	struct iovec to;
	struct msgep_frame_data p;
	int err;

	if (!(f->flags & MSGEP_FIRST) == !ep->in_write || ep->in_message) {
		msgep_ep_fail(ep, "frames of a write out of order");
		return;
	}
	if (f->flags & MSGEP_FIRST)
		proto_begin_write(ep, f);
	/* Each frame is refused for all that follow it. The region may have been closed since the
	 * last one. */
	pthread_rwlock_rdlock(&ep->domain->mr_lock);
	to.iov_base = msgep_mr_access(ep, ep->key, ep->remote, ep->expected - ep->received,
				      FI_REMOTE_WRITE, &err);
	in_order = to.iov_base && proto_in_order(ep, f, payload, &p);
	to.iov_len = in_order ? p.bytes : 0;
	msgep_peer_memory_begin();
	bulk = (f->flags & MSGEP_PULL) && ep->transport->bulk_recv;
	if (in_order && bulk)
		ok = msgep_bulk_write(ep, f, &p, to);
	else if (in_order && (f->flags & MSGEP_PULL))
		ok = msgep_pull_frame(ep, f, &p, &to);
	else if (in_order)
		proto_store(to.iov_base, payload, f->len, last, &ep->order);
	msgep_peer_memory_end();
	pthread_rwlock_unlock(&ep->domain->mr_lock);
	if (!to.iov_base) {
		proto_refuse_write(ep, err);
		return;
	}
	if (!in_order)
		return;
	if (!ok) {
		msgep_ep_revoked(ep, "a write");
		return;
	}
	ep->remote += p.bytes;
	ep->received += p.bytes;
	if (!last)
		return;
	ep->in_write = false;
	if (bulk)
		return;
	ep->after_write = true;
	ep->done++;
}

/* False: it has to wait. */
static bool proto_recv_request(struct msgep_ep *ep, const struct msgep_frame *f,
			       const void *payload)
{
	switch (f->kind) {
	case MSGEP_MSG:
		return proto_recv_message(ep, f, payload);
	case MSGEP_WRITE:
		proto_recv_write(ep, f, payload);
		return true;
	case MSGEP_READ:
		return msgep_recv_read(ep, f);
	case MSGEP_IMM:
		return msgep_recv_imm_frame(ep, f);
	case MSGEP_ADD:
	case MSGEP_SWAP:
		return msgep_recv_atomic(ep, f, payload);
	default:
		msgep_ep_fail(ep, "an unknown kind of request");
		return true;
	}
}

static unsigned int proto_recv_requests(struct msgep_ep *ep)
{
	const struct msgep_frame *f;
	const void *payload;
	unsigned int n = 0;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (atomic_load_explicit(&ep->stalled, memory_order_relaxed))
		return 0;
	ep->cma_bytes = 0;
	while (n < BATCH && ep->cma_bytes < CMA_BYTES_MAX) {
		f = ep->transport->peek(ep, MSGEP_REQ, &payload);
		if (!f)
			break;
		if (ep->bulk.requests && !msgep_bulk_may_process(ep, f))
			break;
		/* The frame may acknowledge messages, and be the reply to them. */
		msgep_complete_due(ep);
		if (!ep->refused && !proto_recv_request(ep, f, payload))
			break;
		if (DOFI_UNLIKELY(ep->refused) && (f->flags & MSGEP_UNSOLICITED) &&
		    ep->transport->bulk_stop)
			msgep_bulk_drop(ep);
		if (f->len >= LARGE)
			ep->cma_bytes += f->len;
		ep->transport->release(ep, MSGEP_REQ);
		n++;
	}
	return n;
}

void msgep_proto_resume(struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	atomic_store_explicit(&ep->stalled, false, memory_order_relaxed);
	if (msgep_proto_progress(ep) < BATCH && ep->cma_bytes < CMA_BYTES_MAX)
		return;
	/* It stopped at a limit, and all threads may be asleep: the peer has announced these frames
	 * before, and does not do so again. */
	if (ep->transport->touch)
		ep->transport->touch(ep);
	msgep_cq_wake(ep->rx_cq);
}

/* ---------------------------------------------------------------- the peer's answers */

static void proto_acknowledged(struct msgep_ep *ep, int err)
{
	const struct msgep_tx *tx = msgep_tx_at(&ep->unacked, ep->unacked.head);

	if (err || !tx->silent)
		msgep_ep_done(ep, ep->tx_cq, tx->context,
			      tx->kind == MSGEP_MSG ? FI_SEND | FI_MSG : FI_WRITE | FI_RMA,
			      tx->total, 0, err);
	ep->unacked.head++;
	ep->acked++;
}

/* A write that is partly in frames is not in the queue of unacknowledged requests yet. */
static bool proto_has_begun(const struct msgep_ep *ep)
{
	const struct msgep_tx *tx = msgep_tx_at(&ep->txq, ep->txq.head);

	return msgep_queued(&ep->txq) && tx->kind == MSGEP_WRITE && tx->done;
}

/* Refused with its first frame: the rest need not be sent. */
static void proto_started_refused(struct msgep_ep *ep, int err)
{
	const struct msgep_tx *tx = msgep_tx_at(&ep->txq, ep->txq.head);

	msgep_ep_done(ep, ep->tx_cq, tx->context, FI_WRITE | FI_RMA, tx->total, 0, err);
	ep->txq.head++;
}

static void proto_recv_ack(struct msgep_ep *ep, const struct msgep_frame *f)
{
	uint64_t n = f->value - ep->acked;
	uint64_t queued = msgep_queued(&ep->unacked);

	/* Compared without the sum, which could overflow. */
	if (n > queued || f->key > INT_MAX || (f->key && n == queued && !proto_has_begun(ep))) {
		msgep_ep_fail(ep, "an acknowledgement of nothing");
		return;
	}
	while (n--)
		proto_acknowledged(ep, 0);
	if (!f->key)
		return;
	if (msgep_queued(&ep->unacked))
		proto_acknowledged(ep, (int)f->key);
	else
		proto_started_refused(ep, (int)f->key);
}

/* The count may be ahead of a refusal, which itself counts as one. */
static void proto_take_acks(struct msgep_ep *ep)
{
	int32_t n = (int32_t)(ep->transport->acknowledged(ep) - (uint32_t)ep->acked);

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (n <= 0 || ep->failed)
		return;
	if ((uint32_t)n > msgep_queued(&ep->unacked)) {
		msgep_ep_fail(ep, "an acknowledgement of nothing");
		return;
	}
	while (n--)
		proto_acknowledged(ep, 0);
}

static void proto_recv_go(struct msgep_ep *ep, const struct msgep_frame *f)
{
	if (!ep->transport->bulk_go(ep, f->value, f->key))
		msgep_ep_fail(ep, "GO for a transfer that does not exist");
}

static unsigned int proto_recv_answers(struct msgep_ep *ep)
{
	const struct msgep_frame *f;
	const void *payload;
	unsigned int n = 0;

	DOFI_ASSERT_LOCKED(&ep->lock);
	ep->cma_bytes = 0;
	for (; n < BATCH && ep->cma_bytes < CMA_BYTES_MAX; n++) {
		f = ep->transport->peek(ep, MSGEP_ANS, &payload);
		if (!f)
			break;
		if (ep->failed)
			; /* all further input is ignored */
		else if (f->kind == MSGEP_DATA)
			msgep_recv_data(ep, f, payload);
		else if (f->kind == MSGEP_ACK)
			proto_recv_ack(ep, f);
		else if (f->kind == MSGEP_GO && ep->transport->bulk_go)
			proto_recv_go(ep, f);
		else
			msgep_ep_fail(ep, "an unknown kind of answer");
		if (f->len >= LARGE)
			ep->cma_bytes += f->len;
		ep->transport->release(ep, MSGEP_ANS);
	}
	return n;
}

unsigned int msgep_proto_progress(struct msgep_ep *ep)
{
	unsigned int n = 0;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (atomic_load_explicit(&ep->state, memory_order_relaxed) != MSGEP_UP)
		return 0;
	if (atomic_load_explicit(&ep->broken, memory_order_relaxed) && !ep->aborted)
		msgep_ep_abort(ep, dofi_error_text(ep->broken));
	msgep_complete_due(ep);
	if (ep->transport->acknowledged)
		proto_take_acks(ep);
	n = proto_recv_answers(ep);
	n += proto_recv_requests(ep);
	msgep_acknowledge(ep);
	if (msgep_has_pending(ep))
		msgep_proto_push(ep);
	if (n && ep->transport->flush)
		ep->transport->flush(ep);
	return n;
}
