/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that create, reset and free endpoints. */
#include "cm/cm.h"
#include "data/cq.h"
#include "data/srq_cq.h"
#include "object/ep.h"
#include "base/dat_error.h"
#include "object/mr.h"
#include "object/deferred_work.h"
#include "object/ep_state.h"
#include "object/version.h"

/* Arguments common to both calls that create an EP. */
struct ep_args {
	struct dofi_ia *ia;
	struct dofi_pz *pz;
	struct dofi_evd *recv, *req, *conn;
	struct dofi_srq *srq;
	const DAT_EP_ATTR *attr;
};

static DAT_RETURN ep_take_handles(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				  DAT_EVD_HANDLE req, DAT_EVD_HANDLE conn, struct ep_args *r)
{
	struct dofi_ia *ia = r->ia = dofi_ia_live(ia_handle);

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (pz != DAT_HANDLE_NULL) {
		r->pz = (struct dofi_pz *)dofi_obj_check(pz, DAT_HANDLE_TYPE_PZ, ia);
		if (!r->pz)
			return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	}
	if (!dofi_ep_evd_arg(ia, recv, DAT_EVD_DTO_FLAG, &r->recv))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
	if (!dofi_ep_evd_arg(ia, req, DAT_EVD_DTO_FLAG, &r->req))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!dofi_ep_evd_arg(ia, conn, DAT_EVD_CONNECTION_FLAG, &r->conn))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
	return DAT_SUCCESS;
}

static DAT_RETURN ep_open_datagrams(struct dofi_ep *ep)
{
	int ret;

	if (ep->attr.service_type != DOFI_SERVICE_TYPE_UD)
		return DAT_SUCCESS;
	ret = dofi_ud_open(ep);
	if (!ret)
		return DAT_SUCCESS;
	dofi_ep_destroy(ep);
	return dofi_ret(ret);
}

/* `flags_error` is the error for completion flags that other streams on the EVDs do not allow. */
static DAT_RETURN ep_make_and_publish(const struct ep_args *r, DAT_RETURN_SUBTYPE flags_error,
				      DAT_EP_HANDLE *out)
{
	static const struct dofi_streams none;
	struct dofi_ia *ia = r->ia;
	struct dofi_streams streams;
	struct dofi_ep *ep;
	DAT_EP_ATTR use;
	DAT_RETURN ret;

	dofi_ep_attr_default(ia, &use);
	if (r->srq)
		use.max_recv_dtos = use.srq_soft_hw = DAT_HW_DEFAULT;
	if (r->attr && r->attr->service_type == DOFI_SERVICE_TYPE_UD)
		use.max_message_size = DOFI_DGRAM_MAX;
	if (r->attr)
		dofi_ep_attr_merge(&use, r->attr);
	pthread_mutex_lock(&ia->cm_lock);
	dofi_ep_streams(r->recv, r->req, &use, &streams);
	if (!r->attr) {
		dofi_models_choose(&streams, r->srq);
		use.recv_completion_flags = streams.recv_flags;
		use.request_completion_flags = streams.req_flags;
	}
	if (dofi_models_fit(&none, &streams))
		ret = dofi_obj_limit(ia, DAT_HANDLE_TYPE_EP);
	else
		ret = DOFI_ERR(DAT_INVALID_PARAMETER, flags_error);
	if (!ret)
		ret = dofi_ep_make(ia, &use, r->srq, false, &ep);
	if (!ret) {
		dofi_lock(&ep->lock);
		dofi_ep_set_evds(ep, r->recv, r->req, r->conn);
		ep->pz = r->pz;
		dofi_unlock(&ep->lock);
		if (r->pz)
			r->pz->users++;
		ret = ep_open_datagrams(ep);
	}
	if (!ret) {
		dofi_obj_publish(&ep->obj);
		*out = ep;
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}

DAT_RETURN dofi_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			  DAT_EVD_HANDLE req, DAT_EVD_HANDLE conn, const DAT_EP_ATTR *attr,
			  DAT_EP_HANDLE *out)
{
	struct ep_args r = { .attr = attr };
	DAT_RETURN ret = ep_take_handles(ia_handle, pz, recv, req, conn, &r);

	if (ret)
		return ret;
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (attr && attr->service_type != DAT_SERVICE_TYPE_RC &&
	    (attr->service_type != DOFI_SERVICE_TYPE_UD || !dofi_ud_supported(r.ia)))
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if (attr && !dofi_ep_attr_valid(r.ia, attr, r.recv, r.req))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	return ep_make_and_publish(&r, DAT_INVALID_ARG6, out);
}

DAT_RETURN dofi_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				   DAT_EVD_HANDLE req, DAT_EVD_HANDLE conn, DAT_SRQ_HANDLE srq,
				   const DAT_EP_ATTR *attr, DAT_EP_HANDLE *out)
{
	struct ep_args r = { .attr = attr };
	DAT_RETURN ret = ep_take_handles(ia_handle, pz, recv, req, conn, &r);

	if (ret)
		return ret;
	r.srq = (struct dofi_srq *)dofi_obj_check(srq, DAT_HANDLE_TYPE_SRQ, r.ia);
	if (!r.srq)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (attr && attr->service_type != DAT_SERVICE_TYPE_RC)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if (attr ? !dofi_ep_attr_valid_srq(r.ia, attr, r.recv, r.req) : !dofi_api_srq_attr_optional)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	return ep_make_and_publish(&r, DAT_INVALID_ARG7, out);
}

DAT_RETURN dofi_ep_free(DAT_EP_HANDLE handle)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	struct dofi_ia *ia;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ia = dofi_obj_ia(&ep->obj);
	pthread_mutex_lock(&ia->cm_lock);
	if (!dofi_obj_remains(&ep->obj, ia))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	else if (ep->state == DAT_EP_STATE_RESERVED ||
		 ep->state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING ||
		 ep->state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
		ret = dofi_ret_ep_state(ep->state);
	else if (dofi_obj_retire(&ep->obj))
		dofi_ep_destroy(ep);
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}

DAT_RETURN dofi_ep_reset(DAT_EP_HANDLE handle)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	struct dofi_ia *ia;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ia = dofi_obj_ia(&ep->obj);
	pthread_mutex_lock(&ia->cm_lock);
	if (!dofi_obj_remains(&ep->obj, ia)) {
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	} else if (ep->state == DAT_EP_STATE_DISCONNECTED) {
		/* Operations were flushed when the state was entered, or when they were posted. */
		dofi_dto_forget(ep);
		dofi_lock(&ep->lock);
		dofi_ep_reset_fields(ep);
		dofi_ep_transit_locked(ep, DOFI_EP_RESET);
		dofi_unlock(&ep->lock);
		/* Pending deferred work concerns the former connection. */
		dofi_deferred_cancel(ep);
		dofi_srq_raise(ia, ep);
	} else if (ep->state != DAT_EP_STATE_UNCONNECTED) {
		ret = dofi_ret_ep_state(ep->state);
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}

DAT_RETURN dofi_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			      DAT_BOOLEAN *request_idle)
{
	struct dofi_ep *ep = dofi_ep_live(handle);

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	dofi_lock(&ep->lock);
	if (state)
		*state = ep->state;
	if (recv_idle)
		*recv_idle = dofi_queue_count(&ep->rq) ? DAT_FALSE : DAT_TRUE;
	if (request_idle)
		*request_idle = dofi_queue_count(&ep->sq) ? DAT_FALSE : DAT_TRUE;
	dofi_unlock(&ep->lock);
	return DAT_SUCCESS;
}
