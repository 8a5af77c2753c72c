/* SPDX-License-Identifier: BSD-2-Clause */
/* How many receive buffers does an endpoint have, and how many may it have? */
#include "err.h"
#include "srq.h"
#include "work.h"

/* Receives of the EP whose completions wait in the EVD; evd->lock held. */
static uint32_t undequeued(const struct dofi_ep *ep, const struct dofi_evd *evd)
{
	uint32_t n = 0;

	for (uint32_t i = evd->head; i != evd->tail; i++) {
		const struct dofi_event *e = &evd->ring[i & (evd->room - 1)];

		n += e->recv && e->data.dto_completion_event_data.ep_handle == ep;
	}
	return n;
}

/* A buffer counts from its post, or from when a message takes it out of the SRQ, until the consumer
 * dequeues its completion: only that shows the consumer that it has it back. Messages arrive in
 * order on every fabric, so no further receive can complete before these. */
DAT_RETURN dofi_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *nbufs, DAT_COUNT *span)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	struct dofi_evd *evd;
	DAT_COUNT n;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	dofi_lock(&ep->lock);
	evd = ep->recv_evd;
	if (!evd) {		/* freed since */
		dofi_unlock(&ep->lock);
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	}
	dofi_lock(&evd->lock);
	if (ep->srq)
		n = atomic_load(&ep->shared.held);
	else
		n = (DAT_COUNT)(dofi_queue_count(&ep->rq) + undequeued(ep, evd));
	dofi_unlock(&evd->lock);
	dofi_unlock(&ep->lock);
	if (nbufs)
		*nbufs = n;
	if (span)
		*span = n;
	return DAT_SUCCESS;
}

static bool connected(const struct dofi_ep *ep)
{
	return ep->state == DAT_EP_STATE_CONNECTED || ep->state == DAT_EP_STATE_DISCONNECT_PENDING;
}

static DAT_RETURN marks_ok(const struct dofi_ep *ep, DAT_COUNT soft, DAT_COUNT hard)
{
	if (!ep->recv_evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!ep->srq)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if (soft < -1 || soft > ep->srq->max_dtos)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (hard < -1 || hard > ep->srq->max_dtos)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return DAT_SUCCESS;
}

/* A mark that is passed already works at once. */
static void set_marks(struct dofi_ep *ep, DAT_COUNT soft, DAT_COUNT hard)
{
	DAT_COUNT held;

	dofi_lock(&ep->recv_evd->lock);
	held = atomic_load(&ep->shared.held);
	ep->attr.srq_soft_hw = soft;
	ep->attr.max_recv_dtos = hard;
	atomic_store(&ep->shared.soft, soft >= 0 && held > soft ? -1 : soft);
	atomic_store(&ep->shared.hard, hard);
	if (soft >= 0 && held > soft) {
		atomic_store(&ep->shared.soft_passed, true);
		dofi_work_add(ep, DOFI_WORK_MARKS);
	}
	if (hard >= 0 && held > hard && connected(ep)) {
		ep->faulted = true;
		dofi_work_add(ep, DOFI_WORK_BREAK);
	}
	dofi_unlock(&ep->recv_evd->lock);
}

DAT_RETURN dofi_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	DAT_RETURN ret;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	dofi_lock(&ep->lock);
	ret = marks_ok(ep, soft, hard);
	if (!ret)
		set_marks(ep, soft, hard);
	dofi_unlock(&ep->lock);
	if (!ret)
		dofi_work_run(ep->obj.ia);
	return ret;
}
