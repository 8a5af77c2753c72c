/* SPDX-License-Identifier: BSD-2-Clause */
/* How do requests and answers become frames? (hot)
 *
 * A request that fits one frame and has nothing before it goes out at once. Others wait in order,
 * and go out piece by piece as the channel has room, whoever makes the progress. A message is done
 * when its frames are where the peer will find them though we go; a write when the peer says that
 * it is in memory, or refused; a read when its data is here.
 */
#include <errno.h>
#include <string.h>

#include "rdm/iov.h"
#include "rdm/proto.h"

static inline struct rdm_ep *ep_of(struct fid_ep *fid)
{
	return dofi_container(fid, struct rdm_ep, fid);
}

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

static inline bool fetches(uint8_t kind)
{
	return kind == RDM_READ || kind == RDM_ADD || kind == RDM_SWAP;
}

static void head_of(struct rdm_frame *f, const struct rdm_tx *tx, uint32_t len, uint8_t flags)
{
	f->len = len;
	f->kind = tx->kind;
	f->flags = (uint8_t)(flags | (tx->has_data ? RDM_HAS_DATA : 0));
	f->segments = 0;
	memset(f->unused, 0, sizeof(f->unused));
	f->key = tx->key;
	f->total = tx->total;
	f->value = tx->kind == RDM_MSG || tx->kind == RDM_NOTE ? tx->data : tx->remote;
}

/* Messages that have arrived are done. */
static void land(struct rdm_ep *ep)
{
	uint32_t arrived = ep->wire->arrived(ep);
	const struct rdm_flight *f;

	while (ep->flight_head != ep->flight_tail) {
		f = &ep->flights[ep->flight_head % RDM_FLIGHTS];
		if ((int32_t)(arrived - f->end) < 0) {
			atomic_store(&ep->awaited, RDM_AWAITS | f->end);
			return;
		}
		rdm_cq_push(ep->tx_cq, f->context, FI_SEND | FI_MSG, f->total, 0, 0);
		ep->flight_head++;
	}
	atomic_store_explicit(&ep->awaited, 0, memory_order_relaxed);
}

/* There is room: each flight is a frame at least of those that the peer has room for. */
static void take_off(struct rdm_ep *ep, const struct rdm_tx *tx)
{
	if (ep->flight_tail - ep->flight_head == RDM_FLIGHTS)
		land(ep);
	ep->flights[ep->flight_tail++ % RDM_FLIGHTS] =
		(struct rdm_flight){ tx->context, tx->total, ep->frames };
	if (ep->flight_tail - ep->flight_head == 1)
		atomic_store(&ep->awaited, RDM_AWAITS | ep->frames);
	/* It may have arrived before anybody knew that this is awaited. */
	if (rdm_ep_awaits(ep, ep->wire->arrived(ep)))
		land(ep);
}

/* All of it is in frames. */
static void handed_over(struct rdm_ep *ep, struct rdm_tx *tx)
{
	if (tx->kind == RDM_MSG && !tx->pulled) {
		if (ep->wire->arrived)
			take_off(ep, tx);
		else
			rdm_cq_push(ep->tx_cq, tx->context, FI_SEND | FI_MSG, tx->total, 0, 0);
		return;
	}
	tx->done = 0;
	if (fetches(tx->kind))
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
	if (room < sizeof(list) + TAIL)
		return push_frame(ep, tx);	/* what fits there travels in the frame */
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

/* Does the data go from memory to memory, taken by its receiver? */
static bool may_pull(struct rdm_ep *ep, const struct rdm_tx *tx)
{
	if (tx->kind == RDM_READ)
		return rdm_read_pulls(ep, tx->total);
	return carries(tx) && ep->wire->pull_from && tx->total >= ep->wire->pull_from(ep);
}

static void push_requests(struct rdm_ep *ep)
{
	while (rdm_queued(&ep->txq)) {
		struct rdm_tx *tx = rdm_tx_at(&ep->txq, ep->txq.head);

		if (!tx->done)
			tx->pulled = may_pull(ep, tx);
		do {
			if (!(tx->pulled && tx->kind != RDM_READ ? push_pull(ep, tx)
								 : push_frame(ep, tx)))
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

void rdm_proto_push(struct rdm_ep *ep)
{
	if (push_ack(ep))
		rdm_push_reads(ep);
	push_requests(ep);
	settle_pending(ep, rdm_queued(&ep->txq) || ep->serve_head != ep->serve_tail || ep->nak ||
				   ep->told != ep->done);
}

unsigned int rdm_proto_progress(struct rdm_ep *ep)
{
	unsigned int n = 0;

	if (atomic_load_explicit(&ep->state, memory_order_relaxed) != RDM_UP)
		return 0;
	if (atomic_load_explicit(&ep->broken, memory_order_relaxed) && !ep->cut)
		rdm_ep_cut(ep, dofi_lib.strerror(ep->broken));
	if (ep->flight_head != ep->flight_tail && rdm_ep_awaits(ep, ep->wire->arrived(ep)))
		land(ep);
	n = rdm_take_answers(ep) + rdm_take_requests(ep);
	if (rdm_queued(&ep->txq) || ep->serve_head != ep->serve_tail || ep->nak ||
	    ep->told != ep->done)
		rdm_proto_push(ep);
	if (n && ep->wire->flush)
		ep->wire->flush(ep);
	return n;
}

/* ---------------------------------------------------------------- posting */

/* Room for `n` requests now and for their answers later? */
static bool may_queue(const struct rdm_ep *ep, uint8_t kind, uint32_t n)
{
	const struct rdm_txq *answered = fetches(kind) ? &ep->reads : &ep->unacked;

	return rdm_queued(&ep->txq) + n <= ep->txq.room &&
	       rdm_queued(answered) + rdm_queued(&ep->txq) + n <= answered->room;
}

/* What a caller asks for. */
struct order {
	uint8_t kind;
	bool has_data;
	uint32_t key;
	uint64_t data, remote;
	uint64_t operand[2];
	void *context;
	const struct iovec *iov;
	size_t count;
};

static void describe(struct rdm_tx *tx, const struct order *o)
{
	tx->context = o->context;
	tx->kind = o->kind;
	tx->has_data = o->has_data;
	tx->pulled = tx->revoked = tx->silent = false;
	tx->key = o->key;
	tx->data = o->data;
	tx->operand[0] = o->operand[0];
	tx->operand[1] = o->operand[1];
	tx->remote = o->remote;
	tx->done = tx->total = 0;
	tx->count = (uint32_t)o->count;
	for (size_t i = 0; i < o->count; i++) {
		tx->iov[i] = o->iov[i];
		tx->total += o->iov[i].iov_len;
	}
}

/* The completion data of a write follows it, and is done when both are. */
static void add_note(struct rdm_tx *write, struct rdm_tx *note)
{
	*note = *write;
	note->kind = RDM_NOTE;
	note->has_data = write->has_data = false;
	note->count = 0;
	write->silent = true;
}

static ssize_t post_locked(struct rdm_ep *ep, const struct order *o)
{
	bool noted = o->kind == RDM_WRITE && o->has_data;
	struct rdm_tx *tx;

	if (atomic_load_explicit(&ep->state, memory_order_relaxed) != RDM_UP)
		return -FI_ENOTCONN;
	if (!may_queue(ep, o->kind, 1 + noted))
		return -FI_EAGAIN;
	tx = rdm_tx_at(&ep->txq, ep->txq.tail++);
	describe(tx, o);
	if (noted)
		add_note(tx, rdm_tx_at(&ep->txq, ep->txq.tail++));
	if (rdm_queued(&ep->txq) > 1u + noted)
		return 0;
	push_requests(ep);
	if (rdm_queued(&ep->txq))
		settle_pending(ep, true);
	return 0;
}

static inline ssize_t post(struct fid_ep *fid, const struct order *o)
{
	struct rdm_ep *ep = ep_of(fid);
	ssize_t ret;

	if (o->count > RDM_IOV_MAX)
		return -FI_EINVAL;
	rdm_lock(&ep->lock);
	ret = post_locked(ep, o);
	rdm_unlock(&ep->lock);
	return ret;
}

static ssize_t sendmsg_(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	return post(fid, &(struct order){ .kind = RDM_MSG, .context = msg->context,
					  .has_data = flags & FI_REMOTE_CQ_DATA, .data = msg->data,
					  .iov = msg->msg_iov, .count = msg->iov_count });
}

static ssize_t rma(struct fid_ep *fid, const struct fi_msg_rma *msg, uint8_t kind, bool has_data)
{
	if (msg->rma_iov_count != 1)
		return -FI_EINVAL;
	return post(fid, &(struct order){ .kind = kind, .context = msg->context,
					  .has_data = has_data, .data = msg->data,
					  .remote = msg->rma_iov->addr,
					  .key = (uint32_t)msg->rma_iov->key,
					  .iov = msg->msg_iov, .count = msg->iov_count });
}

static ssize_t writemsg_(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	/* every write completes when it is delivered */
	return rma(fid, msg, RDM_WRITE, flags & FI_REMOTE_CQ_DATA);
}

static ssize_t readmsg_(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	(void)flags;
	return rma(fid, msg, RDM_READ, false);
}

/* One value of eight bytes is what a caller may ask for. */
static ssize_t atomic_op(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint8_t kind,
			 const struct fi_ioc *first, const struct fi_ioc *result)
{
	struct iovec iov = { result->addr, sizeof(uint64_t) };
	struct order o = { .kind = kind, .context = msg->context, .remote = msg->rma_iov->addr,
			   .key = (uint32_t)msg->rma_iov->key, .iov = &iov, .count = 1 };

	if (msg->datatype != FI_UINT64 || msg->iov_count != 1 || msg->msg_iov->count != 1 ||
	    msg->rma_iov_count != 1)
		return -FI_EINVAL;
	memcpy(&o.operand[0], first->addr, sizeof(uint64_t));
	memcpy(&o.operand[1], msg->msg_iov->addr, sizeof(uint64_t));
	return post(fid, &o);
}

static ssize_t fetchmsg_(struct fid_ep *fid, const struct fi_msg_atomic *msg, struct fi_ioc *result,
			 void **desc, size_t count, uint64_t flags)
{
	(void)desc;
	(void)flags;
	if (msg->op != FI_SUM || count != 1)
		return -FI_EINVAL;
	return atomic_op(fid, msg, RDM_ADD, msg->msg_iov, result);
}

static ssize_t comparemsg_(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			   const struct fi_ioc *compare, void **compare_desc, size_t compare_count,
			   struct fi_ioc *result, void **desc, size_t count, uint64_t flags)
{
	(void)compare_desc;
	(void)desc;
	(void)flags;
	if (msg->op != FI_CSWAP || compare_count != 1 || count != 1)
		return -FI_EINVAL;
	return atomic_op(fid, msg, RDM_SWAP, compare, result);
}

static ssize_t recvmsg_(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct rdm_ep *ep = ep_of(fid);
	struct rdm_recv *recv;
	ssize_t ret = 0;

	(void)flags;
	if (msg->iov_count > RDM_IOV_MAX)
		return -FI_EINVAL;
	rdm_lock(&ep->lock);
	if (ep->rx_tail - ep->rx_head == ep->rx_room) {
		ret = -FI_EAGAIN;
		goto out;
	}
	recv = &ep->rxq[ep->rx_tail & (ep->rx_room - 1)];
	recv->context = msg->context;
	recv->count = (uint32_t)msg->iov_count;
	recv->total = 0;
	for (size_t i = 0; i < msg->iov_count; i++) {
		recv->iov[i] = msg->msg_iov[i];
		recv->total += msg->msg_iov[i].iov_len;
	}
	ep->rx_tail++;
	/* A message has been waiting for it. */
	if (atomic_load_explicit(&ep->stalled, memory_order_relaxed)) {
		atomic_store_explicit(&ep->stalled, false, memory_order_relaxed);
		rdm_proto_progress(ep);
	}
out:
	rdm_unlock(&ep->lock);
	return ret;
}

struct fi_ops_msg rdm_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recvmsg = recvmsg_,
	.sendmsg = sendmsg_,
};

struct fi_ops_rma rdm_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.readmsg = readmsg_,
	.writemsg = writemsg_,
};

struct fi_ops_atomic rdm_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.readwritemsg = fetchmsg_,
	.compwritemsg = comparemsg_,
};
