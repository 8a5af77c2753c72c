/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes frames that have arrived. (hot)
 *
 * Nothing in a frame is believed: a peer that breaks the rules of frame.h loses the connection.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "msgep/peer_memory.h"
#include "msgep/iov.h"
#include "msgep/proto.h"

/* Frames of one connection that are taken in one go, before others get their turn. */
#define BATCH 64
/* So is the data taken out of the peer's memory, or out of large frames: what has come is told
 * before more is taken, and the connection's lock is not held for long. */
#define HAUL ((uint64_t)1 << 18)
#define LARGE ((uint32_t)1 << 16)
/* The last bytes of a write, which programs wait for in memory. */
#define LINE 64
/* No segment is longer; keeps sums from wrapping around. */
#define PULL_LIMIT ((uint64_t)1 << 40)

/* The event queue learns of it like of any other end. */
static void cut(struct rdm_ep *ep)
{
	ep->cut = true;
	if (ep->sock >= 0)
		shutdown(ep->sock, SHUT_RDWR);
	else if (ep->wire->tell)
		rdm_ep_settled(ep);
}

void rdm_ep_fail(struct rdm_ep *ep, const char *why)
{
	dofi_log(DOFI_LOG_WARN, "a connection ends: %s", why);
	ep->failed = true;
	ep->refused = true;
	if (ep->wire->withdraw)
		ep->wire->withdraw(ep);
	cut(ep);
}

void rdm_ep_cut(struct rdm_ep *ep, const char *why)
{
	dofi_log(DOFI_LOG_INFO, "a connection can send no more: %s", why);
	cut(ep);
}

bool rdm_look_at(const struct rdm_frame *f, const void *payload, struct rdm_piece *p)
{
	size_t list = f->flags & RDM_PULL ? f->segments * sizeof(*p->list) : 0;

	if ((f->flags & RDM_PULL) && (!f->segments || f->segments > RDM_IOV_MAX || list > f->len))
		return false;
	memcpy(p->list, payload, list);
	p->rest = (const char *)payload + list;
	p->bytes = p->rest_len = f->len - list;
	for (size_t i = 0; i < list / sizeof(*p->list); i++) {
		if (p->list[i].len > PULL_LIMIT)
			return false;
		p->bytes += p->list[i].len;
	}
	return true;
}

bool rdm_fetch(struct rdm_ep *ep, const struct rdm_frame *f, const struct rdm_piece *p,
	       struct iovec *to)
{
	if (f->flags & RDM_PULL) {
		if (!ep->wire->pull || !ep->wire->pull(ep, to, p->list, f->segments))
			return false;
		ep->hauled += p->bytes;
		/* Instead of a fence: what is pulled is there before the end of it. */
		atomic_fetch_add(&ep->order, 0);
	}
	rdm_scatter(to, p->rest, p->rest_len);
	return true;
}

/* Is it as much as, and the last when, the request announced? */
static bool in_order(struct rdm_ep *ep, const struct rdm_frame *f, const void *payload,
		     struct rdm_piece *p)
{
	uint64_t left = ep->expected - ep->got;

	if (rdm_look_at(f, payload, p) && p->bytes <= left &&
	    !(f->flags & RDM_LAST) == (p->bytes < left))
		return true;
	rdm_ep_fail(ep, "a request longer or shorter than announced");
	return false;
}

/* ---------------------------------------------------------------- messages */

static void received(struct rdm_ep *ep, void *context, int err)
{
	ep->messages++;
	rdm_ep_done(ep, ep->rx_cq, context,
		    FI_MSG | FI_RECV | (ep->has_data ? FI_REMOTE_CQ_DATA : 0),
		    err ? 0 : ep->expected, ep->data, err);
}

bool rdm_take_receive(struct rdm_ep *ep)
{
	if (ep->srx)
		return rdm_srx_take(ep->srx, ep, &ep->cur);
	if (ep->rx_head == ep->rx_tail) {
		atomic_store_explicit(&ep->stalled, true, memory_order_relaxed);
		return false;
	}
	ep->cur = ep->rxq[ep->rx_head++ & (ep->rx_room - 1)];
	return true;
}

/* False: it has to wait. */
static bool begin_message(struct rdm_ep *ep, const struct rdm_frame *f)
{
	if (!rdm_take_receive(ep))
		return false;
	ep->wrote = false;
	ep->expected = f->total;
	ep->got = 0;
	ep->has_data = f->flags & RDM_HAS_DATA;
	ep->data = f->value;
	if (ep->expected > ep->cur.total) {
		received(ep, ep->cur.context, FI_ETRUNC);
		ep->refused = true;
	} else {
		ep->in_message = true;
	}
	return true;
}

/* The common case: all of it in one frame, and a receive of the endpoint's own is there. */
static bool take_whole(struct rdm_ep *ep, const struct rdm_frame *f, const void *payload)
{
	struct rdm_recv *recv = &ep->rxq[ep->rx_head & (ep->rx_room - 1)];

	if (ep->srx || ep->rx_head == ep->rx_tail || f->total != f->len || f->len > recv->total ||
	    (f->flags & RDM_PULL))
		return false;
	rdm_scatter(recv->iov, payload, f->len);
	ep->messages++;
	rdm_ep_done(ep, ep->rx_cq, recv->context,
		    FI_MSG | FI_RECV | (f->flags & RDM_HAS_DATA ? FI_REMOTE_CQ_DATA : 0), f->len,
		    f->value, 0);
	ep->rx_head++;
	return true;
}

static bool take_message(struct rdm_ep *ep, const struct rdm_frame *f, const void *payload)
{
	struct rdm_piece p;

	if (!(f->flags & RDM_FIRST) == !ep->in_message || ep->in_write) {
		rdm_ep_fail(ep, "frames of a message in disorder");
		return true;
	}
	if ((f->flags & (RDM_FIRST | RDM_LAST)) == (RDM_FIRST | RDM_LAST) &&
	    take_whole(ep, f, payload))
		return true;
	if ((f->flags & RDM_FIRST) && !begin_message(ep, f))
		return false;
	if (!ep->in_message || !in_order(ep, f, payload, &p))
		return true;
	if ((f->flags & RDM_PULL) && ep->wire->bulk_recv) {
		/* Its receive is still in ep->cur, and ends with the endpoint. */
		if (!rdm_bulk_message(ep, f, &p)) {
			rdm_ep_fail(ep, "a transfer that cannot be received");
			return true;
		}
		ep->got += p.bytes;
		ep->in_message = !(f->flags & RDM_LAST);
		return true;
	}
	if (!rdm_fetch(ep, f, &p, ep->cur.iov)) {
		rdm_ep_fail(ep, "a message that its sender has taken back");
		return true;
	}
	ep->got += p.bytes;
	if (f->flags & RDM_LAST) {
		ep->in_message = false;
		ep->done += !!(f->flags & RDM_WANTS_ACK);
		received(ep, ep->cur.context, 0);
	}
	return true;
}

/* ---------------------------------------------------------------- writes of the peer */

/* The last line of a write appears after everything else of it. */
static void store(char *to, const char *from, size_t len, bool last, _Atomic uint32_t *order)
{
	size_t tail = last && len > LINE ? LINE : 0;

	memcpy(to, from, len - tail);
	if (!tail)
		return;
	/* Instead of a fence: an addition of nothing orders the stores around it. */
	atomic_fetch_add(order, 0);
	memcpy(to + len - tail, from + len - tail, tail);
}

static void refuse_write(struct rdm_ep *ep, int err)
{
	ep->nak = (uint32_t)err;
	ep->refused = true;
	ep->in_write = false;
}

static void begin_write(struct rdm_ep *ep, const struct rdm_frame *f)
{
	int err;

	ep->expected = f->total;
	ep->got = 0;
	ep->remote = f->value;
	ep->key = f->key;
	ep->in_write = true;
	pthread_rwlock_rdlock(&ep->domain->mr_lock);
	if (!rdm_mr_access(ep, ep->key, ep->remote, ep->expected, FI_REMOTE_WRITE, &err))
		refuse_write(ep, err);
	pthread_rwlock_unlock(&ep->domain->mr_lock);
}

static void take_write(struct rdm_ep *ep, const struct rdm_frame *f, const void *payload)
{
	bool last = f->flags & RDM_LAST, ok = true, bulk;
	struct iovec to;
	struct rdm_piece p;
	int err;

	if (!(f->flags & RDM_FIRST) == !ep->in_write || ep->in_message) {
		rdm_ep_fail(ep, "frames of a write in disorder");
		return;
	}
	if (f->flags & RDM_FIRST)
		begin_write(ep, f);
	if (!ep->in_write)
		return;
	if (!in_order(ep, f, payload, &p))
		return;
	/* The region may have been closed since the last frame. */
	pthread_rwlock_rdlock(&ep->domain->mr_lock);
	to.iov_base = rdm_mr_access(ep, ep->key, ep->remote, p.bytes, FI_REMOTE_WRITE,
				    &err);
	to.iov_len = p.bytes;
	rdm_foreign_begin();
	bulk = (f->flags & RDM_PULL) && ep->wire->bulk_recv;
	if (to.iov_base && bulk)
		ok = rdm_bulk_write(ep, f, &p, to);
	else if (to.iov_base && (f->flags & RDM_PULL))
		ok = rdm_fetch(ep, f, &p, &to);
	else if (to.iov_base)
		store(to.iov_base, payload, f->len, last, &ep->order);
	rdm_foreign_end();
	pthread_rwlock_unlock(&ep->domain->mr_lock);
	if (!to.iov_base) {
		refuse_write(ep, err);
		return;
	}
	if (!ok) {
		rdm_ep_fail(ep, "a write that its sender has taken back");
		return;
	}
	ep->remote += p.bytes;
	ep->got += p.bytes;
	if (!last)
		return;
	ep->in_write = false;
	if (bulk)
		return;
	ep->wrote = true;
	ep->done++;
}

/* False: it has to wait. */
static bool take_request(struct rdm_ep *ep, const struct rdm_frame *f, const void *payload)
{
	switch (f->kind) {
	case RDM_MSG:
		return take_message(ep, f, payload);
	case RDM_WRITE:
		take_write(ep, f, payload);
		return true;
	case RDM_READ:
		return rdm_take_read(ep, f);
	case RDM_NOTE:
		return rdm_take_note(ep, f);
	case RDM_ADD:
	case RDM_SWAP:
		return rdm_take_atomic(ep, f, payload);
	default:
		rdm_ep_fail(ep, "an unknown kind of request");
		return true;
	}
}

unsigned int rdm_take_requests(struct rdm_ep *ep)
{
	const struct rdm_frame *f;
	const void *payload;
	unsigned int n = 0;

	if (atomic_load_explicit(&ep->stalled, memory_order_relaxed))
		return 0;
	ep->hauled = 0;
	while (n < BATCH && ep->hauled < HAUL) {
		f = ep->wire->peek(ep, RDM_REQ, &payload);
		if (!f)
			break;
		if (ep->bulk.requests && !rdm_bulk_may_take(ep, f))
			break;
		/* The frame may tell of it, and be the answer to it. */
		rdm_land_due(ep);
		if (!ep->refused && !take_request(ep, f, payload))
			break;
		if (f->len >= LARGE)
			ep->hauled += f->len;
		ep->wire->release(ep, RDM_REQ);
		n++;
	}
	return n;
}

/* ---------------------------------------------------------------- answers of the peer */

static void acknowledged(struct rdm_ep *ep, int err)
{
	const struct rdm_tx *tx = rdm_tx_at(&ep->unacked, ep->unacked.head);

	if (err || !tx->silent)
		rdm_ep_done(ep, ep->tx_cq, tx->context,
			    tx->kind == RDM_MSG ? FI_SEND | FI_MSG : FI_WRITE | FI_RMA,
			    tx->total, 0, err);
	ep->unacked.head++;
	ep->acked++;
}

/* The write of which some frames are on their way is not queued for its acknowledgement yet. */
static bool has_begun(const struct rdm_ep *ep)
{
	const struct rdm_tx *tx = rdm_tx_at(&ep->txq, ep->txq.head);

	return rdm_queued(&ep->txq) && tx->kind == RDM_WRITE && tx->done;
}

/* Refused with its first frame: the rest need not be sent. */
static void begun_refused(struct rdm_ep *ep, int err)
{
	const struct rdm_tx *tx = rdm_tx_at(&ep->txq, ep->txq.head);

	rdm_ep_done(ep, ep->tx_cq, tx->context, FI_WRITE | FI_RMA, tx->total, 0, err);
	ep->txq.head++;
}

static void take_ack(struct rdm_ep *ep, const struct rdm_frame *f)
{
	uint64_t n = f->value - ep->acked;
	uint64_t queued = rdm_queued(&ep->unacked);

	/* Compared without the sum, which could wrap around. */
	if (n > queued || f->key > INT_MAX || (f->key && n == queued && !has_begun(ep))) {
		rdm_ep_fail(ep, "an acknowledgement of nothing");
		return;
	}
	while (n--)
		acknowledged(ep, 0);
	if (!f->key)
		return;
	if (rdm_queued(&ep->unacked))
		acknowledged(ep, (int)f->key);
	else
		begun_refused(ep, (int)f->key);
}

/* The count of a refusal, which is itself one more, may be ahead of it. */
void rdm_take_acks(struct rdm_ep *ep)
{
	int32_t n = (int32_t)(ep->wire->acknowledged(ep) - (uint32_t)ep->acked);

	if (n <= 0 || ep->failed)
		return;
	if ((uint32_t)n > rdm_queued(&ep->unacked)) {
		rdm_ep_fail(ep, "an acknowledgement of nothing");
		return;
	}
	while (n--)
		acknowledged(ep, 0);
}

static void take_go(struct rdm_ep *ep, const struct rdm_frame *f)
{
	if (!ep->wire->bulk_go(ep, f->value))
		rdm_ep_fail(ep, "GO for a transfer that does not exist");
}

unsigned int rdm_take_answers(struct rdm_ep *ep)
{
	const struct rdm_frame *f;
	const void *payload;
	unsigned int n = 0;

	ep->hauled = 0;
	for (; n < BATCH && ep->hauled < HAUL; n++) {
		f = ep->wire->peek(ep, RDM_ANS, &payload);
		if (!f)
			break;
		if (ep->failed)
			;	/* nothing more is believed */
		else if (f->kind == RDM_DATA)
			rdm_take_data(ep, f, payload);
		else if (f->kind == RDM_ACK)
			take_ack(ep, f);
		else if (f->kind == RDM_GO && ep->wire->bulk_go)
			take_go(ep, f);
		else
			rdm_ep_fail(ep, "an unknown kind of answer");
		if (f->len >= LARGE)
			ep->hauled += f->len;
		ep->wire->release(ep, RDM_ANS);
	}
	return n;
}
