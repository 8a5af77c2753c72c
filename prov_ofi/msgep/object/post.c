/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts operations on an endpoint. (hot)
 *
 * A request is described in the queue and, if it is the first one, put into frames as far as there
 * is room (proto_tx.c). Calls for one segment pass their arguments by value: a wide load of
 * recently stored fields defeats store-to-load forwarding.
 */
#include <string.h>

#include "base/grow.h"
#include "base/inline.h"
#include "msgep/iov.h"
#include "msgep/object/proto_tx.h"

static inline struct msgep_ep *ep_of(struct fid_ep *fid)
{
	return dofi_container(fid, struct msgep_ep, fid);
}

static bool ep_txq_grow(struct msgep_txq *q)
{
	return DOFI_RING_GROW(q->tx, q->capacity, q->head, q->tail, 1, q->most);
}

/* True if there is room for `n` requests now and for their answers later. */
static bool ep_may_queue(struct msgep_ep *ep, uint8_t kind, uint32_t n)
{
	struct msgep_txq *answered = msgep_fetches(kind) ? &ep->reads : &ep->unacked;

	while (msgep_queued(&ep->txq) + n > ep->txq.capacity)
		if (!ep_txq_grow(&ep->txq))
			return false;
	while (msgep_queued(answered) + msgep_queued(&ep->txq) + n > answered->capacity)
		if (!ep_txq_grow(answered))
			return false;
	return true;
}

/* Arguments of a request. */
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

ALWAYS_INLINE void ep_describe(struct msgep_tx *tx, const struct order *o)
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
	tx->done = 0;
	tx->err = 0;
	tx->transfers = 0;
	tx->count = (uint8_t)o->count;
	if (o->count == 1) {
		tx->iov[0] = *o->iov;
		tx->total = o->iov->iov_len;
		return;
	}
	if (o->count > MSGEP_IOV_INLINE) {
		tx->list = (struct iovec *)(uintptr_t)o->iov;
		tx->total = msgep_iov_total(o->iov, o->count);
		return;
	}
	tx->total = 0;
	for (size_t i = 0; i < o->count; i++) {
		tx->iov[i] = o->iov[i];
		tx->total += o->iov[i].iov_len;
	}
}

/* The completion data follows the write; the pair completes when both are done. */
static void ep_add_imm_frame(struct msgep_tx *write, struct msgep_tx *imm)
{
	*imm = *write;
	imm->kind = MSGEP_IMM;
	imm->has_data = write->has_data = false;
	imm->count = 0;
	write->silent = true;
}

static ssize_t ep_post_locked(struct msgep_ep *ep, const struct order *o)
{
	bool has_imm = o->kind == MSGEP_WRITE && o->has_data;
	struct msgep_tx *tx;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (o->count > MSGEP_IOV_MAX)
		return -FI_EINVAL;
	if (atomic_load_explicit(&ep->state, memory_order_relaxed) != MSGEP_UP)
		return -FI_ENOTCONN;
	if (!ep_may_queue(ep, o->kind, 1 + has_imm))
		return -FI_EAGAIN;
	tx = msgep_tx_at(&ep->txq, ep->txq.tail++);
	ep_describe(tx, o);
	if (has_imm)
		ep_add_imm_frame(tx, msgep_tx_at(&ep->txq, ep->txq.tail++));
	if (msgep_queued(&ep->txq) > 1u + has_imm)
		return 0;
	msgep_push_first(ep);
	return 0;
}

static ssize_t ep_post(struct fid_ep *fid, const struct order *o)
{
	struct msgep_ep *ep = ep_of(fid);
	ssize_t ret;

	dofi_lock(&ep->lock);
	ret = ep_post_locked(ep, o);
	dofi_unlock(&ep->lock);
	return ret;
}

/* True if such a request may be handed over at once: no other one waits, its data travels in its
 * frame or in that of the answer, and what it leaves behind has room. */
ALWAYS_INLINE bool ep_goes_at_once(struct msgep_ep *ep, uint8_t kind, const struct msgep_txq *q,
				   size_t len)
{
	const struct msgep_transport *t = ep->transport;

	if (msgep_queued(&ep->txq) ||
	    atomic_load_explicit(&ep->state, memory_order_relaxed) != MSGEP_UP)
		return false;
	if (len >= MSGEP_PULL_LEAST &&
	    (kind == MSGEP_READ ? msgep_read_pulls(ep, len)
				: (t->pull_from && len >= t->pull_from(ep)) ||
					  (t->bulk_from && len >= t->bulk_from(ep))))
		return false;
	return kind == MSGEP_MSG ? msgep_inflight_has_slot(ep) : msgep_queued(q) < q->capacity;
}

/* Fast path: a request of one segment that fits one frame, with an empty queue, is described only
 * where it waits for its answer. False: not such a request, nothing has been done. `kind` is a
 * constant in each caller. */
ALWAYS_INLINE bool ep_post_at_once(struct msgep_ep *ep, uint8_t kind, void *context,
				   const void *buf, size_t len, uint64_t remote, uint32_t key,
				   uint8_t flags)
{
	struct msgep_txq *q = kind == MSGEP_READ ? &ep->reads : &ep->unacked;
	size_t payload = kind == MSGEP_READ ? 0 : len, space;
	struct msgep_frame *f;

	if (!ep_goes_at_once(ep, kind, q, len))
		return false;
	f = ep->transport->reserve(ep, MSGEP_REQ, payload, &space);
	if (!f)
		return false;
	if (space < payload) {
		msgep_unreserve(ep);
		return false;
	}
	f->len = (uint32_t)payload;
	f->key = key;
	f->total = len;
	f->value = remote;
	f->kind = kind;
	f->flags = (uint8_t)(MSGEP_FIRST | MSGEP_LAST | flags);
	f->segments = 0;
	memset(f->counts, 0, sizeof(f->counts));
	if (payload)
		memcpy(msgep_payload(f), buf, payload);
	ep->transport->commit(ep, MSGEP_REQ, f);
	ep->frames++;
	if (kind != MSGEP_MSG)
		ep_describe(msgep_tx_at(q, q->tail++),
			    &(struct order){ .kind = kind,
					     .context = context,
					     .remote = remote,
					     .key = key,
					     .iov = &(struct iovec){ (void *)(uintptr_t)buf, len },
					     .count = 1 });
	else if (msgep_is_acked(ep))
		msgep_inflight_add(ep, context, len);
	else
		msgep_cq_push(ep->tx_cq, context, FI_SEND | FI_MSG, len, 0, 0);
	return true;
}

static ssize_t ep_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	bool has_data = flags & FI_REMOTE_CQ_DATA;
	const struct iovec *iov = msg->msg_iov;
	struct msgep_ep *ep = ep_of(fid);
	ssize_t ret = 0;

	dofi_lock(&ep->lock);
	if (msg->iov_count != 1 ||
	    !ep_post_at_once(ep, MSGEP_MSG, msg->context, iov->iov_base, iov->iov_len, msg->data, 0,
			     has_data ? MSGEP_HAS_DATA : 0))
		ret = ep_post_locked(ep, &(struct order){ .kind = MSGEP_MSG,
							  .context = msg->context,
							  .has_data = has_data,
							  .data = msg->data,
							  .iov = iov,
							  .count = msg->iov_count });
	dofi_unlock(&ep->lock);
	return ret;
}

/* Posts a request of one segment. */
ALWAYS_INLINE ssize_t ep_post_single(struct fid_ep *fid, uint8_t kind, const void *buf, size_t len,
				     uint64_t remote, uint64_t key, void *context, uint8_t flags)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct msgep_ep *ep = ep_of(fid);
	ssize_t ret = 0;

	dofi_lock(&ep->lock);
	if (!ep_post_at_once(ep, kind, context, buf, len, remote, (uint32_t)key, flags))
		ret = ep_post_locked(ep, &(struct order){ .kind = kind,
							  .context = context,
							  .remote = remote,
							  .key = (uint32_t)key,
							  .iov = &iov,
							  .count = 1 });
	dofi_unlock(&ep->lock);
	return ret;
}

static ssize_t ep_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t to,
		       void *context)
{
	(void)desc;
	(void)to;
	return ep_post_single(fid, MSGEP_MSG, buf, len, 0, 0, context, 0);
}

static ssize_t ep_rma(struct fid_ep *fid, const struct fi_msg_rma *msg, uint8_t kind, bool has_data)
{
	if (msg->rma_iov_count != 1)
		return -FI_EINVAL;
	return ep_post(fid, &(struct order){ .kind = kind,
					     .context = msg->context,
					     .has_data = has_data,
					     .data = msg->data,
					     .remote = msg->rma_iov->addr,
					     .key = (uint32_t)msg->rma_iov->key,
					     .iov = msg->msg_iov,
					     .count = msg->iov_count });
}

static ssize_t ep_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	/* every write completes on delivery */
	return ep_rma(fid, msg, MSGEP_WRITE, flags & FI_REMOTE_CQ_DATA);
}

static ssize_t ep_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	(void)flags;
	return ep_rma(fid, msg, MSGEP_READ, false);
}

static ssize_t ep_write(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t to,
			uint64_t addr, uint64_t key, void *context)
{
	(void)desc;
	(void)to;
	return ep_post_single(fid, MSGEP_WRITE, buf, len, addr, key, context, MSGEP_WANTS_ACK);
}

static ssize_t ep_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t from,
		       uint64_t addr, uint64_t key, void *context)
{
	(void)desc;
	(void)from;
	return ep_post_single(fid, MSGEP_READ, buf, len, addr, key, context, 0);
}

/* Only single values of eight bytes are supported. */
static ssize_t ep_atomic_op(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint8_t kind,
			    const struct fi_ioc *first, const struct fi_ioc *result)
{
	struct iovec iov = { result->addr, sizeof(uint64_t) };
	struct order o = { .kind = kind,
			   .context = msg->context,
			   .remote = msg->rma_iov->addr,
			   .key = (uint32_t)msg->rma_iov->key,
			   .iov = &iov,
			   .count = 1 };

	if (msg->datatype != FI_UINT64 || msg->iov_count != 1 || msg->msg_iov->count != 1 ||
	    msg->rma_iov_count != 1)
		return -FI_EINVAL;
	memcpy(&o.operand[0], first->addr, sizeof(uint64_t));
	memcpy(&o.operand[1], msg->msg_iov->addr, sizeof(uint64_t));
	return ep_post(fid, &o);
}

static ssize_t ep_fetch_atomicmsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
				  struct fi_ioc *result, void **desc, size_t count, uint64_t flags)
{
	(void)desc;
	(void)flags;
	if (msg->op != FI_SUM || count != 1)
		return -FI_EINVAL;
	return ep_atomic_op(fid, msg, MSGEP_ADD, msg->msg_iov, result);
}

static ssize_t ep_compare_atomicmsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
				    const struct fi_ioc *compare, void **compare_desc,
				    size_t compare_count, struct fi_ioc *result, void **desc,
				    size_t count, uint64_t flags)
{
	(void)compare_desc;
	(void)desc;
	(void)flags;
	if (msg->op != FI_CSWAP || compare_count != 1 || count != 1)
		return -FI_EINVAL;
	return ep_atomic_op(fid, msg, MSGEP_SWAP, compare, result);
}

static bool ep_rxq_grow(struct msgep_ep *ep)
{
	return DOFI_RING_GROW(ep->rxq, ep->rx_capacity, ep->rx_head, ep->rx_tail, 1, ep->rx_most);
}

/* Slot for the next receive; NULL: no room. */
static inline struct msgep_recv *ep_next_recv(struct msgep_ep *ep)
{
	if (ep->rx_tail - ep->rx_head == ep->rx_capacity && !ep_rxq_grow(ep))
		return NULL;
	return &ep->rxq[ep->rx_tail & (ep->rx_capacity - 1)];
}

static inline void ep_add_recv(struct msgep_ep *ep)
{
	ep->rx_tail++;
	/* A message has been waiting for it. */
	if (atomic_load_explicit(&ep->stalled, memory_order_relaxed))
		msgep_proto_resume(ep);
}

static ssize_t ep_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct msgep_ep *ep = ep_of(fid);
	struct msgep_recv *recv;

	(void)flags;
	if (msg->iov_count > MSGEP_IOV_MAX)
		return -FI_EINVAL;
	dofi_lock(&ep->lock);
	recv = ep_next_recv(ep);
	if (recv) {
		msgep_recv_describe(recv, msg);
		ep_add_recv(ep);
	}
	dofi_unlock(&ep->lock);
	return recv ? 0 : -FI_EAGAIN;
}

static ssize_t ep_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t from,
		       void *context)
{
	struct msgep_ep *ep = ep_of(fid);
	struct msgep_recv *recv;

	(void)desc;
	(void)from;
	dofi_lock(&ep->lock);
	recv = ep_next_recv(ep);
	if (recv) {
		recv->context = context;
		recv->total = recv->in_place = recv->iov[0].iov_len = len;
		recv->iov[0].iov_base = buf;
		ep_add_recv(ep);
	}
	dofi_unlock(&ep->lock);
	return recv ? 0 : -FI_EAGAIN;
}

struct fi_ops_msg msgep_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = ep_recv,
	.recvmsg = ep_recvmsg,
	.send = ep_send,
	.sendmsg = ep_sendmsg,
};

struct fi_ops_rma msgep_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = ep_read,
	.readmsg = ep_readmsg,
	.write = ep_write,
	.writemsg = ep_writemsg,
};

struct fi_ops_atomic msgep_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.readwritemsg = ep_fetch_atomicmsg,
	.compwritemsg = ep_compare_atomicmsg,
};
