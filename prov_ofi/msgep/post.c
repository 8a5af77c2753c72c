/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts operations on an endpoint. (hot)
 *
 * It is described in the queue of requests and, if it is the first one there, put into frames as
 * far as there is room (proto.c). The calls for one segment take their arguments as they come:
 * what has been written to memory in pieces and is read as a whole makes the processor wait.
 */
#include <string.h>

#include "msgep/proto.h"
#include "msgep/ring.h"

static inline struct rdm_ep *ep_of(struct fid_ep *fid)
{
	return dofi_container(fid, struct rdm_ep, fid);
}

static bool txq_grow(struct rdm_txq *q)
{
	struct rdm_tx *tx = NULL;

	if (q->room < q->most)
		tx = rdm_ring_grow(q->tx, sizeof(*tx), &q->room, q->head, q->tail, 1);
	if (tx)
		q->tx = tx;
	return tx;
}

/* Room for `n` requests now and for their answers later? */
static bool may_queue(struct rdm_ep *ep, uint8_t kind, uint32_t n)
{
	struct rdm_txq *answered = rdm_fetches(kind) ? &ep->reads : &ep->unacked;

	while (rdm_queued(&ep->txq) + n > ep->txq.room)
		if (!txq_grow(&ep->txq))
			return false;
	while (rdm_queued(answered) + rdm_queued(&ep->txq) + n > answered->room)
		if (!txq_grow(answered))
			return false;
	return true;
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
	tx->err = 0;
	tx->transfers = 0;
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

	if (o->count > RDM_IOV_MAX)
		return -FI_EINVAL;
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
	rdm_push_first(ep);
	return 0;
}

static inline ssize_t post(struct fid_ep *fid, const struct order *o)
{
	struct rdm_ep *ep = ep_of(fid);
	ssize_t ret;

	rdm_lock(&ep->lock);
	ret = post_locked(ep, o);
	rdm_unlock(&ep->lock);
	return ret;
}

/* A message that fits one frame and has nothing before it is not described first. False: it is not
 * one of these, nothing has been done. */
static inline bool send_at_once(struct rdm_ep *ep, void *context, const void *buf, size_t len,
				uint64_t data, uint8_t flags)
{
	struct rdm_frame *f;
	size_t room;

	if (rdm_queued(&ep->txq) ||
	    atomic_load_explicit(&ep->state, memory_order_relaxed) != RDM_UP ||
	    (ep->wire->pull_from && len >= ep->wire->pull_from(ep)) ||
	    (ep->wire->bulk_from && len >= ep->wire->bulk_from(ep)) || !rdm_may_fly(ep))
		return false;
	f = ep->wire->reserve(ep, RDM_REQ, len, &room);
	if (!f)
		return false;
	if (room < len) {
		rdm_unreserve(ep);
		return false;
	}
	f->len = (uint32_t)len;
	f->key = 0;
	f->total = len;
	f->value = data;
	f->kind = RDM_MSG;
	f->flags = (uint8_t)(RDM_FIRST | RDM_LAST | flags);
	f->segments = 0;
	memset(f->counts, 0, sizeof(f->counts));
	if (len)
		memcpy(rdm_payload(f), buf, len);
	ep->wire->commit(ep, RDM_REQ, f);
	ep->frames++;
	if (rdm_flies(ep))
		rdm_take_off(ep, context, len);
	else
		rdm_cq_push(ep->tx_cq, context, FI_SEND | FI_MSG, len, 0, 0);
	return true;
}

static ssize_t sendmsg_(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	bool has_data = flags & FI_REMOTE_CQ_DATA;
	const struct iovec *iov = msg->msg_iov;
	struct rdm_ep *ep = ep_of(fid);
	ssize_t ret = 0;

	rdm_lock(&ep->lock);
	if (msg->iov_count != 1 ||
	    !send_at_once(ep, msg->context, iov->iov_base, iov->iov_len, msg->data,
			  has_data ? RDM_HAS_DATA : 0))
		ret = post_locked(ep, &(struct order){ .kind = RDM_MSG, .context = msg->context,
						       .has_data = has_data, .data = msg->data,
						       .iov = iov, .count = msg->iov_count });
	rdm_unlock(&ep->lock);
	return ret;
}

static ssize_t send_(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t to,
		     void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct rdm_ep *ep = ep_of(fid);
	ssize_t ret = 0;

	(void)desc;
	(void)to;
	rdm_lock(&ep->lock);
	if (!send_at_once(ep, context, buf, len, 0, 0))
		ret = post_locked(ep, &(struct order){ .kind = RDM_MSG, .context = context,
						       .iov = &iov, .count = 1 });
	rdm_unlock(&ep->lock);
	return ret;
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

static ssize_t write_(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t to,
		      uint64_t addr, uint64_t key, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	(void)desc;
	(void)to;
	return post(fid, &(struct order){ .kind = RDM_WRITE, .context = context, .remote = addr,
					  .key = (uint32_t)key, .iov = &iov, .count = 1 });
}

static ssize_t read_(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t from,
		     uint64_t addr, uint64_t key, void *context)
{
	struct iovec iov = { buf, len };

	(void)desc;
	(void)from;
	return post(fid, &(struct order){ .kind = RDM_READ, .context = context, .remote = addr,
					  .key = (uint32_t)key, .iov = &iov, .count = 1 });
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

static bool rxq_grow(struct rdm_ep *ep)
{
	struct rdm_recv *rxq = NULL;

	if (ep->rx_room < ep->rx_most)
		rxq = rdm_ring_grow(ep->rxq, sizeof(*rxq), &ep->rx_room, ep->rx_head, ep->rx_tail,
				    1);
	if (rxq)
		ep->rxq = rxq;
	return rxq;
}

/* The next receive is to be described there; NULL: no room. */
static inline struct rdm_recv *next_recv(struct rdm_ep *ep)
{
	if (ep->rx_tail - ep->rx_head == ep->rx_room && !rxq_grow(ep))
		return NULL;
	return &ep->rxq[ep->rx_tail & (ep->rx_room - 1)];
}

static inline void add_recv(struct rdm_ep *ep)
{
	ep->rx_tail++;
	/* A message has been waiting for it. */
	if (atomic_load_explicit(&ep->stalled, memory_order_relaxed)) {
		atomic_store_explicit(&ep->stalled, false, memory_order_relaxed);
		rdm_proto_progress(ep);
	}
}

static ssize_t recvmsg_(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct rdm_ep *ep = ep_of(fid);
	struct rdm_recv *recv;

	(void)flags;
	if (msg->iov_count > RDM_IOV_MAX)
		return -FI_EINVAL;
	rdm_lock(&ep->lock);
	recv = next_recv(ep);
	if (recv) {
		recv->context = msg->context;
		recv->count = (uint32_t)msg->iov_count;
		recv->total = 0;
		for (size_t i = 0; i < msg->iov_count; i++) {
			recv->iov[i] = msg->msg_iov[i];
			recv->total += msg->msg_iov[i].iov_len;
		}
		add_recv(ep);
	}
	rdm_unlock(&ep->lock);
	return recv ? 0 : -FI_EAGAIN;
}

static ssize_t recv_(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t from,
		     void *context)
{
	struct rdm_ep *ep = ep_of(fid);
	struct rdm_recv *recv;

	(void)desc;
	(void)from;
	rdm_lock(&ep->lock);
	recv = next_recv(ep);
	if (recv) {
		recv->context = context;
		recv->count = 1;
		recv->total = recv->iov[0].iov_len = len;
		recv->iov[0].iov_base = buf;
		add_recv(ep);
	}
	rdm_unlock(&ep->lock);
	return recv ? 0 : -FI_EAGAIN;
}

struct fi_ops_msg rdm_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = recv_,
	.recvmsg = recvmsg_,
	.send = send_,
	.sendmsg = sendmsg_,
};

struct fi_ops_rma rdm_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = read_,
	.readmsg = readmsg_,
	.write = write_,
	.writemsg = writemsg_,
};

struct fi_ops_atomic rdm_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.readwritemsg = fetchmsg_,
	.compwritemsg = comparemsg_,
};
