/* SPDX-License-Identifier: BSD-2-Clause */
/* Accepts connection requests. */
#include "base/dat_error.h"
#include "base/error_text.h"
#include "base/param.h"
#include "cm/amo_listen.h"
#include "cm/cm_cr.h"
#include "cm/cm_parts.h"
#include "cm/diag_cm.h"
#include "data/dto_submit.h"
#include "fabric/fab_info.h"
#include "object/ep_state.h"

/* Determines the EP for the connection, and checks that it is ready. */
static DAT_RETURN cr_choose_ep(struct dofi_cr *cr, DAT_EP_HANDLE handle, struct dofi_ep **out)
{
	struct dofi_ep *ep = cr->ep;

	if (ep) {
		if (handle != DAT_HANDLE_NULL)
			return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
		if (ep->state != DAT_EP_STATE_PASSIVE_CONNECTION_PENDING &&
		    ep->state != DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
			return dofi_ret_ep_state(ep->state);
	} else {
		ep = (struct dofi_ep *)dofi_obj_check(handle, DAT_HANDLE_TYPE_EP, cr->obj.ia);
		if (!ep)
			return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
		if (ep->state != DAT_EP_STATE_UNCONNECTED)
			return dofi_ret_ep_state(ep->state);
	}
	/* The request is for the other type of service. */
	if (cr->msg.datagram != (ep->ud != NULL))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!ep->pz || !dofi_ep_conn_evd(ep))
		return DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
	*out = ep;
	return DAT_SUCCESS;
}

/* The fabric's endpoint has taken over the request and could not be enabled, because the peer has
 * closed (soft-RoCE, soft-iWARP: EINVAL), or for lack of memory. Nothing is left to accept. */
static void cr_request_lost(struct dofi_cr *cr, struct dofi_ep *ep, struct fid *request, int err)
{
	/* A peer that has not gone waits for an answer.
	 *
	 * QUIRK libfabric verbs: frees its state of a request only when it is rejected, also if the
	 * peer has gone. */
	cr->info->handle = request;
	dofi_cr_reject_for(cr, 0);
	dofi_lock(&ep->lock);
	ep->active = false;
	ep->remote = cr->remote;
	ep->remote_port = cr->remote_port;
	dofi_unlock(&ep->lock);
	dofi_diag_accept_failed(ep, dofi_error_text(-err));
	dofi_ep_transit(ep, DOFI_EP_ACCEPT);
	dofi_cm_end(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, true);
}

static size_t cr_build_acceptance(uint8_t *buf, const struct dofi_cr *cr, const struct dofi_ep *ep,
				  uint32_t conn_id, const void *priv, uint16_t priv_len)
{
	const struct dofi_cm_msg msg = {
		.kind = DOFI_CM_ACCEPT,
		.fabric = ep->obj.ia->fab.desc->wire_id,
		.api = DOFI_API,
		.priv_len = priv_len,
		.priv = priv,
		.reads_in = (uint16_t)ep->attr.max_rdma_read_in,
		.reads_out = (uint16_t)ep->attr.max_rdma_read_out,
		.conn_id = conn_id,
		.amo_port = dofi_amo_port(ep->obj.ia),
	};

	return dofi_cr_build_answer(buf, cr, &msg);
}

static void cr_accept_expired(struct dofi_timer *timer)
{
	struct dofi_ep *ep = dofi_cm_timer_ep(timer);

	/* The result may have arrived without having been read yet. */
	dofi_cm_read_events(ep->obj.ia);
	if (ep->state == DAT_EP_STATE_COMPLETION_PENDING)
		dofi_cm_accept_failed(ep, "DAPL_OFI_ACCEPT_MS has expired", true);
}

/* Starts the timer of an accepted request. */
static void cr_await_peer(struct dofi_ep *ep)
{
	dofi_cm_arm_timer(ep, dofi_now() + DOFI_MS(dofi_param(DOFI_NUM_ACCEPT_MS)),
			  cr_accept_expired);
}

/* The acceptance is longer than a message of the fabric: the connection follows when the peer
 * fetches its last part. */
static DAT_RETURN cr_accept_in_parts(struct dofi_cr *cr, struct dofi_ep *ep, DAT_COUNT size,
				     const void *priv)
{
	struct dofi_ia *ia = cr->obj.ia;
	struct dofi_cm_answer *answer = NULL;
	uint8_t buf[DOFI_CM_MAX];
	uint32_t conn_id = 0;
	size_t len;

	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	if (ep->srq)
		conn_id = dofi_conn_id_alloc(&ia->conn_ids, ep);
	len = ep->srq && !conn_id ? 0
				  : cr_build_acceptance(buf, cr, ep, conn_id, priv, (uint16_t)size);
	if (len)
		answer = dofi_cm_answer_new(cr, ep, buf, len);
	if (!answer) {
		if (conn_id)
			dofi_conn_id_free(&ia->conn_ids, conn_id);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	ep->attempt.conn_id = conn_id;
	ep->active = false;
	dofi_ep_transit(ep, DOFI_EP_ACCEPT);
	dofi_cr_set_ports(ep, cr);
	dofi_cm_answer_begin(answer, cr);
	DOFI_COUNT_IA(ia, CM_REP_TX);
	cr_await_peer(ep);
	return DAT_SUCCESS;
}

/* True if an acceptance with so much private data is longer than a message of the fabric. */
static bool cr_needs_parts(const struct dofi_ia *ia, DAT_COUNT size)
{
	return ia->fab.desc->cm_parts && (size_t)size > dofi_cm_one_priv(&ia->fab);
}

static DAT_RETURN cr_accept_on(struct dofi_cr *cr, struct dofi_ep *ep, DAT_COUNT size,
			       const void *priv)
{
	struct dofi_ia *ia = cr->obj.ia;
	struct fid *request = cr->info->handle;
	uint8_t buf[DOFI_CM_MAX];
	struct dofi_conn *conn;
	size_t len;
	int ret = dofi_conn_open(ep, cr->info, &conn);

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (ret && cr->info->handle)
		return dofi_ret(ret);
	if (ret) {
		cr_request_lost(cr, ep, request, ret);
		return DAT_SUCCESS;
	}
	dofi_conn_set_reads(conn, cr->msg.reads_in);
	len = cr_build_acceptance(buf, cr, ep, conn->conn_id, priv, (uint16_t)size);
	dofi_lock(&ep->lock);
	ep->conn = conn;
	ep->active = false;
	ep->peer_conn_id = cr->msg.conn_id;
	dofi_ep_transit_locked(ep, DOFI_EP_ACCEPT);
	/* Receives must be posted before the connection is established. */
	dofi_dto_submit(ep);
	dofi_unlock(&ep->lock);
	dofi_cr_set_ports(ep, cr);
	ret = len ? fi_accept(conn->fid, buf, len) : -FI_EIO;
	dofi_fab_info_free(&ia->fab, cr->info);
	cr->info = NULL;
	if (!ret)
		DOFI_COUNT_IA(ia, CM_REP_TX);
	if (ret) {
		dofi_diag_accept_failed(ep, dofi_error_text(-ret));
		dofi_cm_end(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, true);
	} else {
		cr_await_peer(ep);
	}
	return DAT_SUCCESS;
}

/* Sends the address of a datagram endpoint. The EP is not used for anything else. */
static DAT_RETURN cr_accept_datagrams(struct dofi_cr *cr, struct dofi_ep *ep, DAT_COUNT size,
				      const void *priv)
{
	const struct dofi_cm_msg msg = {
		.kind = DOFI_CM_ACCEPT,
		.fabric = cr->obj.ia->fab.desc->wire_id,
		.api = DOFI_API,
		.priv_len = (uint16_t)size,
		.priv = priv,
		.conn_id = ep->ud->sock.qpn,
		.datagram = true,
	};
	struct dofi_ah *ah = dofi_ud_reserve(cr);

	if (!ah)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (dofi_cr_answer(cr, &msg)) {
		dofi_ah_discard(ah);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	dofi_ud_accepted(ep, ah);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cr_accept(DAT_CR_HANDLE handle, DAT_EP_HANDLE ep_handle, DAT_COUNT size,
			  const DAT_PVOID priv)
{
	struct dofi_cr *cr = dofi_cr_live(handle);
	struct dofi_ep *ep = NULL;
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!cr)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	ia = dofi_obj_ia(&cr->obj);
	ret = dofi_cr_check_priv(ia, size, priv, DAT_INVALID_ARG3, DAT_INVALID_ARG4);
	if (ret)
		return ret;
	pthread_mutex_lock(&ia->cm_lock);
	ret = dofi_obj_remains(&cr->obj, ia) ? cr_choose_ep(cr, ep_handle, &ep)
					     : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	if (!ret && ep->ud)
		ret = cr_accept_datagrams(cr, ep, size, priv);
	else if (!ret) {
		dofi_amo_accepted(ep, cr);
		ret = cr_needs_parts(ia, size) ? cr_accept_in_parts(cr, ep, size, priv)
					       : cr_accept_on(cr, ep, size, priv);
	}
	if (!ret && dofi_obj_retire(&cr->obj)) {
		DOFI_COUNT_IA(ia, SP_CR_ACCEPTED);
		dofi_cr_destroy(cr, 0);
		/* Some fabrics send the answer when the event queue is read next. */
		dofi_cm_read_events(ia);
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}
