/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements dat_ep_disconnect. */
#include "base/dat_error.h"
#include "base/param.h"
#include "cm/cm.h"
#include "data/cq.h"
#include "object/deferred_work.h"
#include "object/ep_state.h"
#include "object/progress_wakeup.h"

static void cm_drain_expired(struct dofi_timer *timer)
{
	dofi_cm_end(dofi_cm_timer_ep(timer), DAT_CONNECTION_EVENT_DISCONNECTED, true);
}

/* Graceful disconnect of a connected EP: completes outstanding requests first. */
static void cm_begin_graceful(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;

	dofi_lock(&ep->lock);
	dofi_ep_transit_locked(ep, DOFI_EP_DRAIN);
	atomic_store(&ep->graceful, true);
	dofi_unlock(&ep->lock);
	/* A target that never completes them must not block the endpoint indefinitely. */
	dofi_cm_arm_timer(ep, dofi_now() + DOFI_MS(dofi_param(DOFI_NUM_DRAIN_MS)),
			  cm_drain_expired);
	dofi_evd_service(ep->req_evd, NULL);
	dofi_cm_drained(ep);
	dofi_progress_wakeup(ia);
}

static DAT_RETURN cm_disconnect(struct dofi_ep *ep, bool graceful)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (ep->ud)
		return dofi_ud_disconnect(ep);
	switch (ep->state) {
	case DAT_EP_STATE_CONNECTED:
		if (graceful) {
			cm_begin_graceful(ep);
			return DAT_SUCCESS;
		}
		break;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		if (graceful)
			return DAT_SUCCESS;
		break;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_COMPLETION_PENDING:
		break;
	case DAT_EP_STATE_DISCONNECTED:
		return DAT_SUCCESS;
	default:
		return dofi_ret_ep_state(ep->state);
	}
	dofi_cm_end(ep, DAT_CONNECTION_EVENT_DISCONNECTED, true);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ia = dofi_obj_ia(&ep->obj);
	pthread_mutex_lock(&ia->cm_lock);
	ret = dofi_obj_remains(&ep->obj, ia) ? cm_disconnect(ep, flags == DAT_CLOSE_GRACEFUL_FLAG)
					     : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!ret)
		DOFI_COUNT(ep->counts->disconnects, 1);
	pthread_mutex_unlock(&ia->cm_lock);
	if (dofi_deferred_has_eps(ia))
		dofi_deferred_run(ia);
	return ret;
}
