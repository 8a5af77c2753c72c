/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: opens, binds, enables and closes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "msgep/cm/cm.h"
#include "msgep/ready.h"

/* Maximum of queued requests before EAGAIN. */
#define TXQ_MOST 64
#define UNACKED_MOST 256
#define READS_MOST 64
_Static_assert(READS_MOST <= MSGEP_TARGET_READS, "see proto_read.c");
/* Maximum of receives, unless the opener requests more. */
#define RX_MOST 256
/* Initial capacity of each ring of an endpoint. */
#define FIRST_CAPACITY 2

static struct msgep_ep *ep_of(struct fid *fid)
{
	return dofi_container(fid, struct msgep_ep, fid.fid);
}

static int ep_bind_cq(struct msgep_ep *ep, struct msgep_cq *cq, uint64_t flags)
{
	int ret = msgep_cq_attach(cq, ep);

	if (ret)
		return ret;
	if (flags & FI_RECV)
		msgep_cq_add_receiver(cq, ep);
	if (flags & FI_TRANSMIT)
		ep->tx_cq = cq;
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct msgep_ep *ep = ep_of(fid);

	switch (other->fclass) {
	case FI_CLASS_CQ:
		return ep_bind_cq(ep, dofi_container(other, struct msgep_cq, fid.fid), flags);
	case FI_CLASS_EQ:
		ep->eq = dofi_container(other, struct msgep_eq, fid.fid);
		return 0;
	case FI_CLASS_SRX_CTX:
		ep->srx = dofi_container(other, struct msgep_srx, fid.fid);
		return 0;
	default:
		return -FI_EINVAL;
	}
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct msgep_ep *ep = ep_of(fid);

	if (command == DOFI_CONTROL_QUAL) {
		ep->qual = *(const uint64_t *)arg;
		ep->has_qual = true;
		return 0;
	}
	if (command != FI_ENABLE)
		return -FI_ENOSYS;
	return ep->eq && ep->tx_cq && ep->rx_cq ? 0 : -FI_EOPBADSTATE;
}

static void ep_free_ep(struct msgep_ep *ep)
{
	free(ep->txq.tx);
	free(ep->unacked.tx);
	free(ep->reads.tx);
	free(ep->rxq);
	free(ep->inflight);
	free(ep->target_reads);
	free(ep->bulk.ring);
	free(ep);
}

/* Drops a shared buffer that holds half a message: it is flushed like every other operation. */
static void ep_end_message(struct msgep_ep *ep)
{
	if (ep->srx && ep->in_message)
		msgep_cq_push(ep->rx_cq, ep->cur.context,
			      FI_MSG | FI_RECV | (ep->has_data ? FI_REMOTE_CQ_DATA : 0), 0,
			      ep->data, FI_ECANCELED);
	ep->in_message = false;
}

static void ep_enter_domain(struct msgep_ep *ep)
{
	pthread_rwlock_wrlock(&ep->domain->mr_lock);
	dofi_list_append(&ep->domain->ep_list, &ep->link);
	pthread_rwlock_unlock(&ep->domain->mr_lock);
}

/* Nothing is revoked after this: grants have been withdrawn, or no peer can pull any more. */
static void ep_leave_domain(struct msgep_ep *ep)
{
	pthread_rwlock_wrlock(&ep->domain->mr_lock);
	dofi_list_remove(&ep->link);
	pthread_rwlock_unlock(&ep->domain->mr_lock);
}

static int ep_close(struct fid *fid)
{
	struct msgep_ep *ep = ep_of(fid);
	struct msgep_domain *domain = ep->domain;

	if (ep->transport->dispatches) {
		dofi_lock(&ep->lock);
		atomic_store(&ep->state, MSGEP_DOWN);
		dofi_unlock(&ep->lock);
	}
	/* No thread polls it after this. */
	if (ep->eq) {
		pthread_mutex_lock(&ep->eq->lock);
		ep->closing = true;
		msgep_ready_remove(ep);
		pthread_mutex_unlock(&ep->eq->lock);
	}
	if (ep->rx_cq)
		msgep_cq_detach(ep->rx_cq, ep);
	if (ep->tx_cq && ep->tx_cq != ep->rx_cq)
		msgep_cq_detach(ep->tx_cq, ep);
	if (ep->srx)
		msgep_srx_detach(ep->srx, ep);
	if (ep->eq) {
		pthread_mutex_lock(&ep->eq->lock);
		msgep_cm_forget(ep);
		msgep_eq_forget(ep->eq, fid);
		ep_leave_domain(ep);
		if (ep->w.any)
			ep->transport->close(ep);
		/* Its transport reports nothing more. */
		msgep_eq_forget_checked(ep->eq, ep);
		pthread_mutex_unlock(&ep->eq->lock);
	} else {
		ep_leave_domain(ep);
	}
	dofi_lock(&ep->lock);
	msgep_bulk_end(ep);
	ep_end_message(ep);
	dofi_unlock(&ep->lock);
	ep_free_ep(ep);
	atomic_fetch_sub(&domain->eps, 1);
	return 0;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
};

static bool ep_make_txq(struct msgep_txq *q, uint32_t most)
{
	q->most = most;
	q->capacity = FIRST_CAPACITY;
	q->tx = malloc(q->capacity * sizeof(*q->tx));
	return q->tx;
}

/* Each ring gets an entry, so that without memory for larger ones a posted operation can wait for
 * another to complete. */
static bool ep_make_queues(struct msgep_ep *ep, size_t receives)
{
	ep->rx_most = RX_MOST;
	while (ep->rx_most < receives && ep->rx_most < 1u << 20)
		ep->rx_most *= 2;
	ep->rx_capacity = FIRST_CAPACITY;
	ep->rxq = malloc(ep->rx_capacity * sizeof(*ep->rxq));
	if (ep->transport->arrived) {
		ep->inflight_capacity = FIRST_CAPACITY;
		ep->inflight = malloc(ep->inflight_capacity * sizeof(*ep->inflight));
		if (!ep->inflight)
			return false;
	}
	return ep->rxq && ep_make_txq(&ep->txq, TXQ_MOST) &&
	       ep_make_txq(&ep->unacked, UNACKED_MOST) && ep_make_txq(&ep->reads, READS_MOST);
}

int msgep_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
		  void *context)
{
	struct msgep_ep *ep = calloc(1, sizeof(*ep));
	int ret = -FI_ENOMEM;

	if (!ep)
		return ret;
	dofi_lock_init(&ep->lock);
	ep->sock = -1;
	dofi_list_init(&ep->srx_link);
	dofi_list_init(&ep->checked_link);
	ep->domain = dofi_container(domain, struct msgep_domain, fid);
	ep->transport = ep->domain->fabric->transport;
	if (info->tx_attr)
		ep->dscp = fi_tc_dscp_get(info->tx_attr->tclass);
	if (info->ep_attr)
		msgep_auth_copy(&ep->auth, info->ep_attr->auth_key, info->ep_attr->auth_key_size);
	msgep_fid_init(&ep->fid.fid, FI_CLASS_EP, context, &ep_fid_ops);
	ep->fid.cm = &msgep_ep_cm_ops;
	ep->fid.msg = &msgep_msg_ops;
	ep->fid.rma = &msgep_rma_ops;
	ep->fid.atomic = &msgep_atomic_ops;
	if (ep_make_queues(ep, info->rx_attr->size))
		ret = info->handle ? msgep_cm_attach_request(info->handle, ep) : 0;
	if (ret) {
		ep_free_ep(ep);
		return ret;
	}
	ep_enter_domain(ep);
	atomic_fetch_add(&ep->domain->eps, 1);
	*out = &ep->fid;
	return 0;
}
