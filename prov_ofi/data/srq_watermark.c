/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the receive buffers of an endpoint (dat_ep_recv_query) and implements its watermarks. */
#include "base/dat_error.h"
#include "data/cq.h"
#include "data/dto_event.h"
#include "data/srq_cq.h"

/* A buffer counts from its post, or from the time when a message consumes it from the SRQ, until
 * its completion is generated (DAT 1.2/2.0 dat_ep_recv_query); the call generates completions that
 * the fabric holds. Messages arrive in order on every fabric, so no further receive can complete
 * before these. */
DAT_RETURN dofi_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *nbufs, DAT_COUNT *span)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	struct dofi_evd *evd;
	struct dofi_ia *ia;
	DAT_COUNT n;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ia = dofi_obj_ia(&ep->obj);
	dofi_lock(&ep->lock);
	evd = ep->recv_evd;
	if (!evd) { /* freed meanwhile */
		dofi_unlock(&ep->lock);
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	}
	dofi_evd_service(evd, NULL);
	dofi_lock(&evd->lock);
	n = (DAT_COUNT)(ep->srq ? dofi_srq_unreported(ep) : dofi_queue_count(&ep->rq));
	dofi_unlock(&evd->lock);
	dofi_unlock(&ep->lock);
	if (dofi_deferred_has_eps(ia))
		dofi_deferred_run(ia);
	if (nbufs)
		*nbufs = n;
	if (span)
		*span = n;
	return DAT_SUCCESS;
}

static bool watermark_connected(const struct dofi_ep *ep)
{
	return ep->state == DAT_EP_STATE_CONNECTED || ep->state == DAT_EP_STATE_DISCONNECT_PENDING;
}

static DAT_RETURN watermark_is_valid(const struct dofi_ep *ep, DAT_COUNT soft, DAT_COUNT hard)
{
	DAT_COUNT most = ep->attr.max_recv_dtos;

	if (!ep->recv_evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (ep->srq) {
		dofi_lock(&ep->srq->lock); /* it may be resized */
		most = ep->srq->max_dtos;
		dofi_unlock(&ep->srq->lock);
	}
	if (soft < -1 || soft > most)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (hard < -1 || hard > most)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return DAT_SUCCESS;
}

/* Counts the receives consumed before the watermarks were set whose completions are not dequeued.
 * Caller holds recv_evd->lock. */
static void watermark_count_taken(struct dofi_ep *ep)
{
	struct dofi_evd *evd = ep->recv_evd;

	DOFI_ASSERT_LOCKED(&evd->lock);
	for (uint32_t i = evd->head; i != evd->tail; i++) {
		struct dofi_event *e = &evd->ring[i & (evd->capacity - 1)];
		const DAT_DTO_COMPLETION_EVENT_DATA *d = &e->data.dto_completion_event_data;

		if (!e->recv || e->srq || d->ep_handle != ep || d->status != DAT_DTO_SUCCESS)
			continue;
		e->srq = &dofi_no_srq;
		atomic_fetch_add(&ep->shared.held, 1);
	}
}

/* A watermark that is already passed takes effect at once. */
static void watermark_set(struct dofi_ep *ep, DAT_COUNT soft, DAT_COUNT hard)
{
	DAT_COUNT held;

	dofi_lock(&ep->recv_evd->lock);
	if (ep->srq) {
		ep->attr.srq_soft_hw = soft;
		ep->attr.max_recv_dtos = hard;
	} else {
		ep->has_watermarks = soft >= 0 || hard >= 0;
		if (ep->has_watermarks)
			watermark_count_taken(ep);
	}
	held = atomic_load(&ep->shared.held);
	atomic_store(&ep->shared.soft, soft >= 0 && held > soft ? -1 : soft);
	atomic_store(&ep->shared.hard, hard);
	if (soft >= 0 && held > soft) {
		atomic_store(&ep->shared.soft_passed, true);
		dofi_deferred_add(ep, DOFI_DEFERRED_MARKS);
	}
	if (hard >= 0 && held > hard && watermark_connected(ep)) {
		ep->faulted = true;
		dofi_deferred_add(ep, DOFI_DEFERRED_BREAK);
	}
	dofi_unlock(&ep->recv_evd->lock);
}

DAT_RETURN dofi_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ia = dofi_obj_ia(&ep->obj);
	dofi_lock(&ep->lock);
	ret = watermark_is_valid(ep, soft, hard);
	if (!ret)
		watermark_set(ep, soft, hard);
	dofi_unlock(&ep->lock);
	if (!ret)
		dofi_deferred_run(ia);
	return ret;
}
