/* SPDX-License-Identifier: BSD-2-Clause */
/* How does an endpoint come to life, return to its first state, and die? */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/param.h"
#include "cm.h"
#include "cq.h"
#include "ep.h"
#include "err.h"
#include "grants.h"
#include "mr.h"
#include "progress.h"
#include "verdict.h"
#include "work.h"

#define QUIET (DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG)

int dofi_queue_resize(struct dofi_queue *q, uint32_t limit)
{
	uint32_t room = 1, head = atomic_load(&q->head), n = q->tail - head;
	struct dofi_dto *dto = NULL;

	while (room < limit)
		room *= 2;
	if (limit < n)
		return -EBUSY;
	if (limit) {
		dto = calloc(room, sizeof(*dto));
		if (!dto)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct dofi_dto *old = dofi_queue_at(q, head + i);

		memcpy(&dto[i], old, sizeof(*old));
	}
	free(q->dto);
	q->dto = dto;
	q->room = room;
	q->limit = limit;
	q->sent = q->sent - head;
	q->tail = n;
	atomic_store(&q->head, 0);
	return 0;
}

/* An EVD that serves a direction for which the consumer gave none is the IA's sink. */
static struct dofi_evd *feed(struct dofi_ep *ep, struct dofi_evd *old, struct dofi_evd *now,
			     bool direction, bool quiet_old, bool quiet_now)
{
	if (direction && !now)
		now = ep->obj.ia->sink;
	if (now) {
		now->feeds++;
		if (quiet_now) {
			pthread_mutex_lock(&now->lock);
			now->quiet_streams++;
			pthread_mutex_unlock(&now->lock);
		}
	}
	if (old) {
		if (quiet_old) {
			pthread_mutex_lock(&old->lock);
			old->quiet_streams--;
			pthread_mutex_unlock(&old->lock);
		}
		old->feeds--;
	}
	return now;
}

void dofi_ep_set_evds(struct dofi_ep *ep, struct dofi_evd *recv, struct dofi_evd *req,
		      struct dofi_evd *conn)
{
	bool quiet_recv = ep->attr.recv_completion_flags & QUIET;
	bool quiet_req = ep->attr.request_completion_flags & QUIET;
	struct dofi_evd *new_recv, *new_req;

	new_recv = feed(ep, ep->recv_evd, recv, true, ep->quiet_recv, quiet_recv);
	new_req = feed(ep, ep->req_evd, req, true, ep->quiet_req, quiet_req);
	/* The progress thread goes through all EPs under this lock. */
	pthread_mutex_lock(&ep->obj.ia->obj_lock);
	ep->recv_evd = new_recv;
	ep->req_evd = new_req;
	pthread_mutex_unlock(&ep->obj.ia->obj_lock);
	ep->conn_evd = feed(ep, dofi_ep_conn_evd(ep), conn, false, false, false);
	ep->conn_life = conn ? conn->life : 0;
	ep->quiet_recv = quiet_recv;
	ep->quiet_req = quiet_req;
	ep->has_recv_evd = recv != NULL;
	ep->has_req_evd = req != NULL;
}

/* Takes the EP's streams away from all EVDs. */
static void drop_evds(struct dofi_ep *ep)
{
	feed(ep, ep->recv_evd, NULL, false, ep->quiet_recv, false);
	feed(ep, ep->req_evd, NULL, false, ep->quiet_req, false);
	feed(ep, dofi_ep_conn_evd(ep), NULL, false, false, false);
	ep->recv_evd = ep->req_evd = ep->conn_evd = NULL;
}

static void start_over(struct dofi_ep *ep)
{
	ep->rq.failed = ep->sq.failed = false;
	ep->open = ep->graceful = ep->ending = ep->faulted = false;
	ep->active = false;
	ep->conn = NULL;
	ep->qual = 0;
	ep->local_port = ep->remote_port = 0;
	memset(&ep->remote, 0, sizeof(ep->remote));
	ep->priv_len = 0;
	ep->reads_begun = 0;
	ep->reads_done = 0;
}

DAT_RETURN dofi_ep_make(struct dofi_ia *ia, const DAT_EP_ATTR *attr, struct dofi_ep **out)
{
	struct dofi_ep *ep = dofi_obj_new(ia, DAT_HANDLE_TYPE_EP);

	if (!ep)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ep->attr = *attr;
	ep->state = DAT_EP_STATE_UNCONNECTED;
	ep->pz = NULL;
	ep->recv_evd = ep->req_evd = ep->conn_evd = NULL;
	ep->quiet_recv = ep->quiet_req = ep->by_provider = false;
	ep->write_delivery = dofi_param(DOFI_NUM_WRITE_DELIVERY);
	ep->write_tail = dofi_param(DOFI_NUM_WRITE_TAIL) && ia->fab.row->tcp_quirks;
	memset(&ep->rq, 0, sizeof(ep->rq));
	memset(&ep->sq, 0, sizeof(ep->sq));
	ep->local = ia->fab.addr;
	ep->work = 0;
	ep->sent_msgs = ep->recv_msgs = ep->rdma_ops = 0;
	dofi_list_init(&ep->work_link);
	ep->verdict.waiting = false;
	start_over(ep);
	if (dofi_queue_resize(&ep->rq, (uint32_t)attr->max_recv_dtos) ||
	    dofi_queue_resize(&ep->sq, (uint32_t)attr->max_request_dtos) ||
	    dofi_cm_timer_init(ia, &ep->timer, dofi_cm_deadline)) {
		free(ep->rq.dto);
		free(ep->sq.dto);
		dofi_obj_release(&ep->obj);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	*out = ep;
	return DAT_SUCCESS;
}

void dofi_ep_set_state(struct dofi_ep *ep, DAT_EP_STATE state)
{
	pthread_mutex_lock(&ep->lock);
	ep->state = state;
	pthread_mutex_unlock(&ep->lock);
}

void dofi_ep_destroy(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_conn *conn = ep->conn;

	/* No post gets through any more, then the fabric lets go, then memory goes. */
	dofi_ep_set_state(ep, DAT_EP_STATE_DISCONNECTED);
	dofi_timer_cancel(&ia->timers, &ep->timer);
	dofi_cm_timer_fini(ia);
	ep->ending = true;
	if (conn)
		dofi_conn_detach(conn);
	dofi_verdict_drop(ep);
	dofi_dto_forget(ep);
	dofi_work_cancel(ep);
	pthread_mutex_lock(&ep->lock);
	free(ep->rq.dto);
	free(ep->sq.dto);
	memset(&ep->rq, 0, sizeof(ep->rq));
	memset(&ep->sq, 0, sizeof(ep->sq));
	drop_evds(ep);
	if (ep->pz)
		ep->pz->users--;
	ep->pz = NULL;
	pthread_mutex_unlock(&ep->lock);
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

DAT_RETURN dofi_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			  DAT_EVD_HANDLE recv_handle, DAT_EVD_HANDLE req_handle,
			  DAT_EVD_HANDLE conn_handle, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *out)
{
	struct dofi_ia *ia = dofi_ia_live(ia_handle);
	struct dofi_evd *recv, *req, *conn;
	struct dofi_pz *pz = NULL;
	struct dofi_ep *ep;
	DAT_EP_ATTR use;
	DAT_RETURN ret;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (pz_handle != DAT_HANDLE_NULL) {
		pz = (struct dofi_pz *)dofi_obj_check(pz_handle, DAT_HANDLE_TYPE_PZ, ia);
		if (!pz)
			return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	}
	if (!dofi_ep_evd_arg(ia, recv_handle, DAT_EVD_DTO_FLAG, &recv))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
	if (!dofi_ep_evd_arg(ia, req_handle, DAT_EVD_DTO_FLAG, &req))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!dofi_ep_evd_arg(ia, conn_handle, DAT_EVD_CONNECTION_FLAG, &conn))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (attr && attr->service_type != DAT_SERVICE_TYPE_RC)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if (attr && !dofi_ep_attr_valid(ia, attr, recv, req))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	dofi_ep_attr_default(ia, recv, req, &use);
	if (attr)
		dofi_ep_attr_merge(&use, attr);
	pthread_mutex_lock(&ia->cm_lock);
	ret = dofi_ep_make(ia, &use, &ep);
	if (!ret) {
		dofi_ep_set_evds(ep, recv, req, conn);
		ep->pz = pz;
		if (pz)
			pz->users++;
		dofi_obj_publish(&ep->obj);
		*out = ep;
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
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
		if (ep->verdict.waiting)
			dofi_verdict_timeout(ep);
		/* Everything was flushed when the state was entered, or when it was posted. */
		dofi_dto_forget(ep);
		pthread_mutex_lock(&ep->lock);
		start_over(ep);
		ep->state = DAT_EP_STATE_UNCONNECTED;
		pthread_mutex_unlock(&ep->lock);
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
	pthread_mutex_lock(&ep->lock);
	if (state)
		*state = ep->state;
	if (recv_idle)
		*recv_idle = dofi_queue_count(&ep->rq) ? DAT_FALSE : DAT_TRUE;
	if (request_idle)
		*request_idle = dofi_queue_count(&ep->sq) ? DAT_FALSE : DAT_TRUE;
	pthread_mutex_unlock(&ep->lock);
	return DAT_SUCCESS;
}
