/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: opened, bound, enabled, closed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "msgep/cm/cm.h"

/* Requests that an endpoint takes before it answers EAGAIN. */
#define TXQ_MOST 64
#define UNACKED_MOST 256
#define READS_MOST 64
_Static_assert(READS_MOST <= RDM_SERVE_MAX, "see proto_read.c");
/* Receives, unless the opener asks for more. */
#define RX_MOST 256
/* Places that each ring of a new endpoint has. */
#define FIRST_ROOM 2
/* Batches that are taken in one look after the peer's end. */
#define LAST_ROUNDS 1024

static struct rdm_ep *ep_of(struct fid *fid)
{
	return dofi_container(fid, struct rdm_ep, fid.fid);
}

static int bind_cq(struct rdm_ep *ep, struct rdm_cq *cq, uint64_t flags)
{
	int ret = rdm_cq_attach(cq, ep);

	if (ret)
		return ret;
	if (flags & FI_RECV)
		rdm_cq_receives(cq, ep);
	if (flags & FI_TRANSMIT)
		ep->tx_cq = cq;
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct rdm_ep *ep = ep_of(fid);

	switch (other->fclass) {
	case FI_CLASS_CQ:
		return bind_cq(ep, dofi_container(other, struct rdm_cq, fid.fid), flags);
	case FI_CLASS_EQ:
		ep->eq = dofi_container(other, struct rdm_eq, fid.fid);
		return 0;
	case FI_CLASS_SRX_CTX:
		ep->srx = dofi_container(other, struct rdm_srx, fid.fid);
		return 0;
	default:
		return -FI_EINVAL;
	}
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct rdm_ep *ep = ep_of(fid);

	if (command == DOFI_CONTROL_QUAL) {
		ep->qual = *(const uint64_t *)arg;
		ep->has_qual = true;
		return 0;
	}
	if (command != FI_ENABLE)
		return -FI_ENOSYS;
	return ep->eq && ep->tx_cq && ep->rx_cq ? 0 : -FI_EOPBADSTATE;
}

static void free_ep(struct rdm_ep *ep)
{
	free(ep->txq.tx);
	free(ep->unacked.tx);
	free(ep->reads.tx);
	free(ep->rxq);
	free(ep->flights);
	free(ep->serve);
	free(ep->bulk.ring);
	free(ep);
}

/* A shared buffer into which half a message has come: it is over, like every other operation. */
static void end_message(struct rdm_ep *ep)
{
	if (ep->srx && ep->in_message)
		rdm_cq_push(ep->rx_cq, ep->cur.context,
			    FI_MSG | FI_RECV | (ep->has_data ? FI_REMOTE_CQ_DATA : 0), 0, ep->data,
			    FI_ECANCELED);
	ep->in_message = false;
}

static void enter_domain(struct rdm_ep *ep)
{
	pthread_rwlock_wrlock(&ep->domain->mr_lock);
	dofi_list_append(&ep->domain->ep_list, &ep->link);
	pthread_rwlock_unlock(&ep->domain->mr_lock);
}

/* From here on nothing is revoked: it has been withdrawn, or nobody can take it any more. */
static void leave_domain(struct rdm_ep *ep)
{
	pthread_rwlock_wrlock(&ep->domain->mr_lock);
	dofi_list_remove(&ep->link);
	pthread_rwlock_unlock(&ep->domain->mr_lock);
}

static int ep_close(struct fid *fid)
{
	struct rdm_ep *ep = ep_of(fid);
	struct rdm_domain *domain = ep->domain;

	if (ep->wire->dispatches) {
		rdm_lock(&ep->lock);
		atomic_store(&ep->state, RDM_DOWN);
		rdm_unlock(&ep->lock);
	}
	/* Nobody looks at it from here on. */
	if (ep->rx_cq)
		rdm_cq_detach(ep->rx_cq, ep);
	if (ep->tx_cq && ep->tx_cq != ep->rx_cq)
		rdm_cq_detach(ep->tx_cq, ep);
	if (ep->srx)
		rdm_srx_leave(ep->srx, ep);
	if (ep->eq) {
		pthread_mutex_lock(&ep->eq->lock);
		rdm_cm_forget(ep);
		rdm_eq_forget(ep->eq, fid);
		leave_domain(ep);
		if (ep->w.any)
			ep->wire->close(ep);
		/* Its wire says nothing more. */
		rdm_eq_forget_settled(ep->eq, ep);
		pthread_mutex_unlock(&ep->eq->lock);
	} else {
		leave_domain(ep);
	}
	rdm_bulk_end(ep);
	end_message(ep);
	free_ep(ep);
	atomic_fetch_sub(&domain->eps, 1);
	return 0;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
};

static bool make_txq(struct rdm_txq *q, uint32_t most)
{
	q->most = most;
	q->room = FIRST_ROOM;
	q->tx = malloc(q->room * sizeof(*q->tx));
	return q->tx;
}

/* The rings have a place each, so that what is posted without memory for larger ones waits for
 * something that ends. */
static bool make_queues(struct rdm_ep *ep, size_t receives)
{
	ep->rx_most = RX_MOST;
	while (ep->rx_most < receives && ep->rx_most < 1u << 20)
		ep->rx_most *= 2;
	ep->rx_room = FIRST_ROOM;
	ep->rxq = malloc(ep->rx_room * sizeof(*ep->rxq));
	if (ep->wire->arrived) {
		ep->flight_room = FIRST_ROOM;
		ep->flights = malloc(ep->flight_room * sizeof(*ep->flights));
		if (!ep->flights)
			return false;
	}
	return ep->rxq && make_txq(&ep->txq, TXQ_MOST) && make_txq(&ep->unacked, UNACKED_MOST) &&
	       make_txq(&ep->reads, READS_MOST);
}

int rdm_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
		void *context)
{
	struct rdm_ep *ep = calloc(1, sizeof(*ep));
	int ret = -FI_ENOMEM;

	if (!ep)
		return ret;
	rdm_lock_init(&ep->lock);
	ep->sock = -1;
	dofi_list_init(&ep->srx_link);
	dofi_list_init(&ep->settled);
	ep->domain = dofi_container(domain, struct rdm_domain, fid);
	ep->wire = ep->domain->fabric->wire;
	if (info->ep_attr)
		rdm_auth_copy(&ep->auth, info->ep_attr->auth_key,
			      info->ep_attr->auth_key_size);
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.cm = &rdm_ep_cm_ops;
	ep->fid.msg = &rdm_msg_ops;
	ep->fid.rma = &rdm_rma_ops;
	ep->fid.atomic = &rdm_atomic_ops;
	if (make_queues(ep, info->rx_attr->size))
		ret = info->handle ? rdm_cm_adopt_request(info->handle, ep) : 0;
	if (ret) {
		free_ep(ep);
		return ret;
	}
	enter_domain(ep);
	atomic_fetch_add(&ep->domain->eps, 1);
	*out = &ep->fid;
	return 0;
}

void rdm_ep_up(struct rdm_ep *ep)
{
	rdm_lock(&ep->lock);
	atomic_store(&ep->state, RDM_UP);
	/* It said so when it offered, unless the others have come since. */
	if (ep->wire->several && rdm_cq_several(ep->rx_cq))
		ep->wire->several(ep);
	/* What arrived before was left for later. */
	if (ep->wire->touch)
		ep->wire->touch(ep);
	rdm_unlock(&ep->lock);
	if (ep->wire->doorbell &&
	    !(rdm_cq_listen_to(ep->rx_cq, ep) && rdm_cq_listen_to(ep->tx_cq, ep))) {
		rdm_lock(&ep->lock);
		rdm_ep_cut(ep, "its peer could wake nobody here");
		rdm_unlock(&ep->lock);
	}
	/* Those who sleep did so without asking this peer to ring. */
	rdm_cq_wake(ep->rx_cq);
	rdm_cq_wake(ep->tx_cq);
}

/* Not to the end of what comes: a peer that goes on writing, against the rules, must not hold up
 * the event queue. What remains is taken by the next look. */
bool rdm_ep_peer_ended(struct rdm_ep *ep, bool died)
{
	const struct rdm_wire *wire = ep->wire;
	unsigned int rounds = LAST_ROUNDS;
	bool over;

	if (wire->progress)
		wire->progress(ep->domain, NULL);
	rdm_lock(&ep->lock);
	while (rdm_proto_progress(ep) && --rounds)
		;
	over = !ep->w.any || wire->drained(ep, died);
	if (over)
		atomic_store(&ep->state, RDM_DOWN);
	rdm_unlock(&ep->lock);
	return over;
}

void rdm_ep_broken(struct rdm_ep *ep, int err)
{
	atomic_store(&ep->broken, err);
	rdm_cq_wake(ep->rx_cq);
	if (ep->tx_cq != ep->rx_cq)
		rdm_cq_wake(ep->tx_cq);
	/* Before the connection is up nobody polls for it. */
	if (atomic_load(&ep->state) != RDM_UP)
		rdm_ep_settled(ep);
}
