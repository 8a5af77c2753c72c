/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive contexts: assign their buffers to endpoints.
 *
 * A message that needs a buffer takes the oldest one. If there is none, its endpoint is queued; a
 * buffer that is posted then goes to the endpoint that has waited longest, which prevents
 * starvation.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "msgep/object/proto.h"

/* Least capacity of a queue. */
#define FIRST_CAPACITY 64
#define MOST_CAPACITY (1u << 20)

static bool srx_has_slot(const struct msgep_srx *srx)
{
	return srx->tail - srx->head < srx->capacity;
}

int msgep_srx_reserve(struct fid_ep *fid, uint32_t n)
{
	struct msgep_srx *srx = dofi_container(fid, struct msgep_srx, fid);
	bool ok = true;

	dofi_lock(&srx->lock);
	while (ok && srx->capacity < n)
		ok = DOFI_RING_GROW(srx->ring, srx->capacity, srx->head, srx->tail, FIRST_CAPACITY,
				    MOST_CAPACITY);
	dofi_unlock(&srx->lock);
	return ok ? 0 : -ENOMEM;
}

bool msgep_srx_claim(struct msgep_srx *srx, struct msgep_ep *ep)
{
	bool got = true;

	DOFI_ASSERT_LOCKED(&ep->lock);
	dofi_lock(&srx->lock);
	if (ep->has_claimed_rx) {
		srx->taken++;
		ep->has_claimed_rx = false;
	} else if (srx->head != srx->tail) {
		srx->taken++;
		ep->cur = srx->ring[srx->head++ & (srx->capacity - 1)];
	} else {
		got = false;
		atomic_store(&ep->stalled, true);
		if (!ep->waits_for_srx)
			dofi_list_append(&srx->waiting, &ep->srx_link);
		ep->waits_for_srx = true;
	}
	dofi_unlock(&srx->lock);
	return got;
}

/* To the endpoint that has waited longest. Caller holds srx->lock, so it is not being closed. */
static void srx_give_waiting(struct msgep_srx *srx, const struct msgep_recv *recv)
{
	struct msgep_ep *ep = dofi_list_pop(&srx->waiting, struct msgep_ep, srx_link);

	DOFI_ASSERT_LOCKED(&srx->lock);
	ep->waits_for_srx = false;
	ep->cur = *recv;
	ep->has_claimed_rx = true;
	atomic_store(&ep->stalled, false);
	if (ep->transport->touch)
		ep->transport->touch(ep);
	msgep_cq_wake(ep->rx_cq);
}

void msgep_srx_detach(struct msgep_srx *srx, struct msgep_ep *ep)
{
	dofi_lock(&srx->lock);
	if (ep->waits_for_srx)
		dofi_list_remove(&ep->srx_link);
	ep->waits_for_srx = false;
	/* As if it had never been taken. */
	if (ep->has_claimed_rx && !dofi_list_empty(&srx->waiting))
		srx_give_waiting(srx, &ep->cur);
	else if (ep->has_claimed_rx && srx_has_slot(srx))
		srx->ring[--srx->head & (srx->capacity - 1)] = ep->cur;
	ep->has_claimed_rx = false;
	dofi_unlock(&srx->lock);
}

static ssize_t srx_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct msgep_srx *srx = dofi_container(fid, struct msgep_srx, fid);
	struct msgep_recv recv;
	ssize_t ret = 0;

	(void)flags;
	if (msg->iov_count > MSGEP_IOV_MAX)
		return -FI_EINVAL;
	msgep_recv_describe(&recv, msg);
	dofi_lock(&srx->lock);
	if (!dofi_list_empty(&srx->waiting))
		srx_give_waiting(srx, &recv);
	else if (srx_has_slot(srx))
		srx->ring[srx->tail++ & (srx->capacity - 1)] = recv;
	else
		ret = -FI_EAGAIN;
	dofi_unlock(&srx->lock);
	return ret;
}

static struct fi_ops_msg srx_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recvmsg = srx_recvmsg,
};

static int srx_close(struct fid *fid)
{
	struct msgep_srx *srx = dofi_container(fid, struct msgep_srx, fid.fid);

	if (!dofi_list_empty(&srx->waiting))
		return -FI_EBUSY;
	free(srx->ring);
	free(srx);
	return 0;
}

static struct fi_ops srx_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = srx_close,
};

int msgep_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **out,
		   void *context)
{
	struct msgep_srx *srx = calloc(1, sizeof(*srx));

	if (!srx)
		return -FI_ENOMEM;
	msgep_fid_init(&srx->fid.fid, FI_CLASS_SRX_CTX, context, &srx_fid_ops);
	srx->fid.msg = &srx_msg_ops;
	srx->domain = dofi_container(domain, struct msgep_domain, fid);
	dofi_lock_init(&srx->lock);
	dofi_list_init(&srx->waiting);
	if (msgep_srx_reserve(&srx->fid, attr->size ? (uint32_t)attr->size : 1)) {
		free(srx->ring);
		free(srx);
		return -FI_ENOMEM;
	}
	*out = &srx->fid;
	return 0;
}
