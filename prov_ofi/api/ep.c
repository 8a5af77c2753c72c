/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates, resets and frees endpoints. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/param.h"
#include "cm/cm.h"
#include "data/cq.h"
#include "data/srq.h"
#include "data/srq_cq.h"
#include "object/ep.h"
#include "base/dat_error.h"
#include "object/limits.h"
#include "object/mr.h"
#include "object/rmr.h"
#include "object/deferred_work.h"
#include "object/ep_state.h"
#include "object/version.h"

#define QUIET (DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG)

int dofi_queue_resize(struct dofi_queue *q, uint32_t limit)
{
	uint32_t slots = 1, head = atomic_load(&q->head), n = q->tail - head;
	struct dofi_dto *dto = NULL;

	while (slots < limit)
		slots *= 2;
	if (limit < n)
		return -EBUSY;
	if (limit) {
		dto = calloc(slots, sizeof(*dto));
		if (!dto)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct dofi_dto *old = dofi_queue_at(q, head + i);

		memcpy(&dto[i], old, sizeof(*old));
	}
	/* No connection uses the prefixes now. */
	dofi_msg_prefixes_free(&q->prefixes);
	free(q->dto);
	q->dto = dto;
	q->room = slots;
	q->limit = limit;
	q->sent = q->sent - head;
	q->tail = n;
	q->rewind_base += head;
	atomic_store(&q->head, 0);
	return 0;
}

/* Replaces the EVD of a stream. A direction to which the consumer has assigned no EVD completes on
 * the IA's internal EVD, which the progress thread reads: it frees slots and ends the connection
 * after errors, but generates no events. */
static struct dofi_evd *ep_replace_evd(struct dofi_ep *ep, struct dofi_evd *old,
				       struct dofi_evd *now, bool direction, bool quiet_old,
				       bool quiet_now)
{
	if (direction && !now)
		now = ep->obj.ia->internal_evd;
	if (now) {
		now->feeds++;
		if (quiet_now) {
			dofi_lock(&now->lock);
			now->unsignalled_streams++;
			dofi_unlock(&now->lock);
		}
	}
	if (old) {
		if (quiet_old) {
			dofi_lock(&old->lock);
			old->unsignalled_streams--;
			dofi_unlock(&old->lock);
		}
		old->feeds--;
	}
	return now;
}

void dofi_ep_streams(struct dofi_evd *recv, struct dofi_evd *req, const DAT_EP_ATTR *attr,
		     struct dofi_streams *s)
{
	s->recv = recv;
	s->req = req;
	s->recv_flags = attr->recv_completion_flags;
	s->req_flags = attr->request_completion_flags;
}

void dofi_ep_set_evds(struct dofi_ep *ep, struct dofi_evd *recv, struct dofi_evd *req,
		      struct dofi_evd *conn)
{
	bool quiet_recv = ep->attr.recv_completion_flags & QUIET;
	bool quiet_req = ep->attr.request_completion_flags & QUIET;
	struct dofi_evd *new_recv, *new_req;

	dofi_models_remove(&ep->streams);
	dofi_ep_streams(recv, req, &ep->attr, &ep->streams);
	dofi_models_add(&ep->streams);
	if ((ep->srq || ep->has_watermarks) && ep->recv_evd) {
		dofi_lock(&ep->recv_evd->lock);
		dofi_srq_disown(ep, ep->recv_evd);
		dofi_unlock(&ep->recv_evd->lock);
	}
	new_recv = ep_replace_evd(ep, ep->recv_evd, recv, true, ep->recv_unsignalled, quiet_recv);
	new_req = ep_replace_evd(ep, ep->req_evd, req, true, ep->req_unsignalled, quiet_req);
	/* The progress thread reads the EVDs of all EPs under obj_lock, a post to an SRQ those of
	 * the SRQ's EPs under srq->lock. */
	if (ep->srq)
		dofi_lock(&ep->srq->lock);
	pthread_mutex_lock(&ep->obj.ia->obj_lock);
	ep->recv_evd = new_recv;
	ep->req_evd = new_req;
	pthread_mutex_unlock(&ep->obj.ia->obj_lock);
	if (ep->srq)
		dofi_unlock(&ep->srq->lock);
	ep->conn_evd = ep_replace_evd(ep, dofi_ep_conn_evd(ep), conn, false, false, false);
	ep->conn_life = conn ? conn->life : 0;
	ep->recv_unsignalled = quiet_recv;
	ep->req_unsignalled = quiet_req;
	ep->has_recv_evd = recv != NULL;
	ep->has_req_evd = req != NULL;
}

/* Removes the EP's streams from all EVDs. */
static void ep_drop_evds(struct dofi_ep *ep)
{
	dofi_models_remove(&ep->streams);
	ep_replace_evd(ep, ep->recv_evd, NULL, false, ep->recv_unsignalled, false);
	ep_replace_evd(ep, ep->req_evd, NULL, false, ep->req_unsignalled, false);
	ep_replace_evd(ep, dofi_ep_conn_evd(ep), NULL, false, false, false);
	ep->recv_evd = ep->req_evd = ep->conn_evd = NULL;
}

static void ep_reset_fields(struct dofi_ep *ep)
{
	ep->life++;
	ep->rq.failed = ep->sq.failed = false;
	ep->open = ep->graceful = ep->ending = ep->faulted = false;
	ep->active = false;
	ep->conn = NULL;
	ep->probe = NULL;
	ep->qual = 0;
	ep->local_port = ep->remote_port = 0;
	memset(&ep->remote, 0, sizeof(ep->remote));
	ep->attempt.conn_id = 0;
	ep->priv_len = 0;
	ep->peer_conn_id = 0;
	ep->reads_started = 0;
	ep->reads_done = 0;
	ep->max_reads = UINT32_MAX;
}

void dofi_ep_set_marks(struct dofi_ep *ep)
{
	ep->has_watermarks = false;
	/* 0 disables a watermark: programs that do not know the member leave it zero. */
	atomic_store(&ep->shared.soft, ep->attr.srq_soft_hw > 0 ? ep->attr.srq_soft_hw : -1);
	atomic_store(&ep->shared.hard, ep->attr.max_recv_dtos > 0 ? ep->attr.max_recv_dtos : -1);
}

void dofi_ep_set_limits(struct dofi_ep *ep)
{
	const DAT_EP_ATTR *a = &ep->attr;

	/* The IA's limit: programs set a small attribute and send large messages. */
	ep->max_size = ep->obj.ia->fab.max_size;
	ep->max_iov[DOFI_RECV] = (uint8_t)a->max_recv_iov;
	ep->max_iov[DOFI_SEND] = (uint8_t)a->max_request_iov;
	/* 0, the default: same as for other requests. */
	ep->max_iov[DOFI_READ] =
		(uint8_t)(a->max_rdma_read_iov ? a->max_rdma_read_iov : a->max_request_iov);
	ep->max_iov[DOFI_WRITE] =
		(uint8_t)(a->max_rdma_write_iov ? a->max_rdma_write_iov : a->max_request_iov);
}

DAT_RETURN dofi_ep_make(struct dofi_ia *ia, const DAT_EP_ATTR *attr, struct dofi_srq *srq,
			struct dofi_ep **out)
{
	struct dofi_ep *ep = dofi_obj_new(ia, DAT_HANDLE_TYPE_EP);

	if (!ep)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ep->attr = *attr;
	dofi_ep_set_limits(ep);
	dofi_ep_state_init(ep);
	ep->pz = NULL;
	ep->recv_evd = ep->req_evd = ep->conn_evd = NULL;
	ep->recv_unsignalled = ep->req_unsignalled = ep->by_provider = false;
	memset(&ep->streams, 0, sizeof(ep->streams));
	ep->has_msg_prefix = ia->fab.has_msg_prefix;
	ep->cq_external_lock = ia->fab.cq_external_lock;
	memset(&ep->rq, 0, sizeof(ep->rq));
	memset(&ep->sq, 0, sizeof(ep->sq));
	ep->srq = NULL;
	dofi_list_init(&ep->shared.link);
	ep->shared.first = NULL;
	ep->shared.last = &ep->shared.first;
	ep->shared.held = 0;
	ep->shared.soft_passed = false;
	dofi_ep_set_marks(ep);
	ep->local = ia->fab.addr;
	ep->deferred = 0;
	ep->sent_msgs = ep->recv_msgs = ep->rdma_ops = 0;
	dofi_list_init(&ep->deferred_link);
	ep_reset_fields(ep);
	if (dofi_queue_resize(&ep->rq, srq ? 0 : (uint32_t)attr->max_recv_dtos) ||
	    dofi_queue_resize(&ep->sq, (uint32_t)attr->max_request_dtos))
		goto no_queues;
	/* Reserves an event that reports that its buffers are free again. */
	if (srq && ia->async_evd && !dofi_evd_reserve(ia->async_evd))
		goto no_queues;
	if (dofi_cm_timer_init(ia, &ep->timer, dofi_cm_deadline))
		goto no_timer;
	if (srq)
		dofi_srq_attach(srq, ep);
	*out = ep;
	return DAT_SUCCESS;
no_timer:
	if (srq && ia->async_evd)
		dofi_evd_unreserve(ia->async_evd);
no_queues:
	free(ep->rq.dto);
	free(ep->sq.dto);
	dofi_obj_release(&ep->obj);
	return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

void dofi_ep_destroy(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_conn *conn = ep->conn;

	/* Stop posts, then close the fabric's endpoint, then free memory. */
	dofi_ep_state_destroy(ep);
	dofi_timer_cancel(&ia->timers, &ep->timer);
	dofi_cm_timer_fini(ia);
	ep->ending = true;
	if (conn)
		dofi_conn_detach(conn);
	dofi_cm_drop_conn_id(ep);
	dofi_rmr_ep_ended(ep);
	dofi_dto_forget(ep);
	dofi_deferred_cancel(ep);
	dofi_srq_raise(ep);
	dofi_lock(&ep->recv_evd->lock);
	dofi_srq_disown(ep, ep->recv_evd);
	dofi_unlock(&ep->recv_evd->lock);
	if (ep->srq) {
		if (ia->async_evd)
			dofi_evd_unreserve(ia->async_evd);
		dofi_srq_detach(ep);
	}
	dofi_msg_prefixes_free(&ep->rq.prefixes);
	dofi_msg_prefixes_free(&ep->sq.prefixes);
	dofi_lock(&ep->lock);
	free(ep->rq.dto);
	free(ep->sq.dto);
	memset(&ep->rq, 0, sizeof(ep->rq));
	memset(&ep->sq, 0, sizeof(ep->sq));
	ep_drop_evds(ep);
	if (ep->pz)
		ep->pz->users--;
	ep->pz = NULL;
	dofi_unlock(&ep->lock);
	/* Concurrent calls for this EP may have queued deferred work. */
	dofi_deferred_cancel(ep);
	dofi_obj_release(&ep->obj);
}

bool dofi_ep_evd_arg(struct dofi_ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream,
		     struct dofi_evd **evd)
{
	struct dofi_obj *obj;

	*evd = NULL;
	if (handle == DAT_HANDLE_NULL)
		return true;
	obj = dofi_obj_check(handle, DAT_HANDLE_TYPE_EVD,
			     stream == DAT_EVD_CONNECTION_FLAG ? NULL : ia);
	*evd = (struct dofi_evd *)obj;
	return obj && ((*evd)->flags & stream);
}

/* Arguments common to both calls that create an EP. */
struct ep_args {
	struct dofi_pz *pz;
	struct dofi_evd *recv, *req, *conn;
	struct dofi_srq *srq;
	const DAT_EP_ATTR *attr;
};

static DAT_RETURN ep_take_handles(struct dofi_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				  DAT_EVD_HANDLE req, DAT_EVD_HANDLE conn, struct ep_args *r)
{
	r->pz = NULL;
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

/* `flags_error` is the error for completion flags that other streams on the EVDs do not allow. */
static DAT_RETURN ep_make_and_publish(struct dofi_ia *ia, const struct ep_args *r,
				      DAT_RETURN_SUBTYPE flags_error, DAT_EP_HANDLE *out)
{
	static const struct dofi_streams none;
	struct dofi_streams streams;
	struct dofi_ep *ep;
	DAT_EP_ATTR use;
	DAT_RETURN ret;

	dofi_ep_attr_default(ia, &use);
	if (r->srq)
		use.max_recv_dtos = use.srq_soft_hw = DAT_HW_DEFAULT;
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
		ret = dofi_ep_make(ia, &use, r->srq, &ep);
	else
		ret = DOFI_ERR(DAT_INVALID_PARAMETER, flags_error);
	if (!ret) {
		dofi_ep_set_evds(ep, r->recv, r->req, r->conn);
		ep->pz = r->pz;
		if (r->pz)
			r->pz->users++;
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
	struct dofi_ia *ia = dofi_ia_live(ia_handle);
	struct ep_args r = { .attr = attr };
	DAT_RETURN ret;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ret = ep_take_handles(ia, pz, recv, req, conn, &r);
	if (ret)
		return ret;
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (attr && attr->service_type != DAT_SERVICE_TYPE_RC)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if (attr && !dofi_ep_attr_valid(ia, attr, r.recv, r.req))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	return ep_make_and_publish(ia, &r, DAT_INVALID_ARG6, out);
}

DAT_RETURN dofi_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				   DAT_EVD_HANDLE req, DAT_EVD_HANDLE conn, DAT_SRQ_HANDLE srq,
				   const DAT_EP_ATTR *attr, DAT_EP_HANDLE *out)
{
	struct dofi_ia *ia = dofi_ia_live(ia_handle);
	struct ep_args r = { .attr = attr };
	DAT_RETURN ret;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ret = ep_take_handles(ia, pz, recv, req, conn, &r);
	if (ret)
		return ret;
	r.srq = (struct dofi_srq *)dofi_obj_check(srq, DAT_HANDLE_TYPE_SRQ, ia);
	if (!r.srq)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (attr && attr->service_type != DAT_SERVICE_TYPE_RC)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if (attr ? !dofi_ep_attr_valid_srq(ia, attr, r.recv, r.req) : !dofi_api_srq_attr_optional)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	return ep_make_and_publish(ia, &r, DAT_INVALID_ARG7, out);
}

DAT_RETURN dofi_ep_free(DAT_EP_HANDLE handle)
{
	struct dofi_ep *ep = dofi_ep_live(handle);
	struct dofi_ia *ia;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ia = ep->obj.ia;
	pthread_mutex_lock(&ia->cm_lock);
	if (!dofi_ep_live(ep))
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
	ia = ep->obj.ia;
	pthread_mutex_lock(&ia->cm_lock);
	if (ep->state == DAT_EP_STATE_DISCONNECTED) {
		/* Operations were flushed when the state was entered, or when they were posted. */
		dofi_dto_forget(ep);
		dofi_lock(&ep->lock);
		ep_reset_fields(ep);
		dofi_ep_transit_locked(ep, DOFI_EP_RESET);
		dofi_unlock(&ep->lock);
		/* Pending deferred work concerns the former connection. */
		dofi_deferred_cancel(ep);
		dofi_srq_raise(ep);
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
