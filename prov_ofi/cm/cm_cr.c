/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection requests: arrival, query, rejection, handoff. */
#include <errno.h>
#include <string.h>

#include "base/dat_error.h"
#include "base/log.h"
#include "cm/cm_cr.h"
#include "cm/cm_hello.h"
#include "cm/cm_parts.h"
#include "cm/diag_cm.h"
#include "fabric/fab_info.h"
#include "object/ep_state.h"
#include "object/limits.h"

static struct dofi_cm_msg cr_rejection(const struct dofi_ia *ia, unsigned int reason,
				       const void *priv, uint16_t priv_len)
{
	return (struct dofi_cm_msg){
		.kind = DOFI_CM_REJECT,
		.fabric = ia->fab.desc->wire_id,
		.api = DOFI_API,
		.priv_len = priv_len,
		.priv = priv,
		.reason = (uint16_t)reason,
	};
}

void dofi_cm_refuse(struct dofi_listener *l, struct fi_info *info, unsigned int reason,
		    const void *priv, uint16_t priv_len)
{
	struct dofi_cm_msg msg = cr_rejection(l->ia, reason, priv, priv_len);
	uint8_t buf[DOFI_CM_MAX];

	DOFI_ASSERT_LOCKED(&l->ia->cm_lock);
	DOFI_COUNT_IA(l->ia, CM_ERR_REJ_TX);
	fi_reject(l->pep, info->handle, buf, dofi_cm_build(buf, &msg));
	dofi_fab_info_free(&l->ia->fab, info);
}

size_t dofi_cr_build_answer(uint8_t *buf, const struct dofi_cr *cr, const struct dofi_cm_msg *msg)
{
	const struct dofi_sealer by = dofi_sealer_of(&cr->obj.ia->fab);

	return cr->seal.on ? dofi_seal_answer(&cr->seal, &by, msg, buf) : dofi_cm_build(buf, msg);
}

int dofi_cr_answer(struct dofi_cr *cr, const struct dofi_cm_msg *msg)
{
	uint8_t buf[DOFI_CM_MAX];
	size_t len = dofi_cr_build_answer(buf, cr, msg);
	struct dofi_cm_answer *parts;

	if (len > cr->obj.ia->fab.desc->cm_data) {
		parts = dofi_cm_answer_new(cr, NULL, buf, len);
		if (!parts)
			return -ENOMEM;
		dofi_cm_answer_begin(parts, cr);
		return 0;
	}
	fi_reject(cr->listener->pep, cr->info->handle, buf, len);
	dofi_fab_info_free(&cr->obj.ia->fab, cr->info);
	cr->info = NULL;
	return 0;
}

void dofi_cr_reject_for(struct dofi_cr *cr, unsigned int reason)
{
	struct dofi_cm_msg msg = cr_rejection(cr->obj.ia, reason, NULL, 0);

	dofi_cr_answer(cr, &msg);
}

void dofi_cr_destroy(struct dofi_cr *cr, unsigned int reason)
{
	DOFI_ASSERT_LOCKED(&cr->obj.ia->cm_lock);
	if (cr->info) {
		DOFI_COUNT_IA(cr->obj.ia, CM_ERR_REJ_TX);
		dofi_cr_reject_for(cr, reason);
	}
	dofi_listener_unref(cr->listener);
	dofi_obj_release(&cr->obj);
}

/* An EP made for a PSP with the PROVIDER flag: no PZ, no EVDs, attributes that fit the request. */
static struct dofi_ep *cr_make_ep(struct dofi_ia *ia, const struct dofi_cm_msg *msg)
{
	DAT_EP_ATTR attr;
	struct dofi_ep *ep;

	dofi_ep_attr_default(ia, &attr);
	if (msg->reads_out && msg->reads_out <= DOFI_MAX_READS)
		attr.max_rdma_read_in = msg->reads_out;
	if (msg->reads_in && msg->reads_in <= DOFI_MAX_READS)
		attr.max_rdma_read_out = msg->reads_in;
	if (dofi_ep_make(ia, &attr, NULL, &ep))
		return NULL;
	ep->by_provider = true;
	dofi_ep_transit(ep, DOFI_EP_REQUEST);
	dofi_ep_set_evds(ep, NULL, NULL, NULL);
	dofi_obj_publish(&ep->obj);
	return ep;
}

static bool cr_announce(struct dofi_cr *cr, struct dofi_sp *sp)
{
	struct dofi_event e = { .number = cr->msg.datagram ? DOFI_UD_REQUEST_EVENT
							   : DAT_CONNECTION_REQUEST_EVENT,
				.notify = true };
	DAT_CR_ARRIVAL_EVENT_DATA *d = &e.data.cr_arrival_event_data;

	if (sp->obj.type == DAT_HANDLE_TYPE_RSP)
		d->sp_handle.rsp_handle = sp;
	else
		d->sp_handle.psp_handle = sp; /* the same member of the union as csp_handle */
	d->local_ia_address_ptr = &sp->obj.ia->fab.addr.sa;
	d->conn_qual = sp->qual;
	d->cr_handle = cr;
	dofi_cr_extra(d);
	return dofi_evd_push(sp->evd, &e);
}

/* Releases the EP of a request that will not be accepted. */
static void cr_release_ep(struct dofi_cr *cr)
{
	struct dofi_ep *ep = cr->ep;

	if (!ep)
		return;
	if (!ep->by_provider) {
		ep->local_port = 0;
		dofi_ep_transit(ep, DOFI_EP_REJECT);
	} else if (dofi_obj_retire(&ep->obj)) {
		dofi_ep_destroy(ep);
	}
	cr->ep = NULL;
}

/* The request has not been reported to the consumer. */
static void cr_take_back_ep(struct dofi_cr *cr, struct dofi_sp *sp)
{
	dofi_obj_retire(&cr->obj);
	cr_release_ep(cr);
	if (!cr->for_rsp)
		return;
	sp->spent = false;
	if (sp->ep)
		dofi_ep_transit(sp->ep, DOFI_EP_RESERVE);
}

void dofi_cr_set_ports(struct dofi_ep *ep, const struct dofi_cr *cr)
{
	dofi_lock(&ep->lock);
	ep->remote = cr->remote;
	ep->remote_port = cr->remote_port;
	ep->local_port = cr->listener->port;
	dofi_unlock(&ep->lock);
}

/* Reports the request to a service point. 0 or the reason for a rejection. */
static unsigned int cr_deliver(struct dofi_cr *cr, struct dofi_sp *sp)
{
	bool rsp = sp->obj.type == DAT_HANDLE_TYPE_RSP;

	if (!dofi_evd_has_slot(sp->evd))
		return DOFI_CM_BACKLOG;
	cr->qual = sp->qual;
	cr->for_rsp = rsp;
	if (sp->ep) {
		cr->ep = sp->ep;
		dofi_ep_transit(sp->ep, DOFI_EP_REQUEST);
	} else if (rsp || sp->flags == DAT_PSP_PROVIDER_FLAG) {
		cr->ep = cr_make_ep(sp->obj.ia, &cr->msg);
		if (!cr->ep)
			return DOFI_CM_RESOURCES;
	}
	sp->spent = rsp;
	if (cr->ep)
		dofi_cr_set_ports(cr->ep, cr);
	dofi_obj_publish(&cr->obj);
	/* Only this thread adds requests to EVDs (cm_lock): the space is still available, unless a
	 * software event has just used it. */
	if (cr_announce(cr, sp)) {
		DOFI_COUNT_IA(sp->obj.ia, SP_CR);
		return 0;
	}
	cr_take_back_ep(cr, sp);
	return DOFI_CM_BACKLOG;
}

void dofi_cm_read_peer(const struct fi_info *info, union dofi_addr *peer, uint16_t *port)
{
	memset(peer, 0, sizeof(*peer));
	if (info->dest_addr && info->dest_addrlen <= sizeof(*peer))
		memcpy(peer, info->dest_addr, info->dest_addrlen);
	*port = dofi_addr_port(&peer->sa);
	dofi_addr_set_port(&peer->sa, 0);
}

static struct dofi_cr *cr_new_cr(struct dofi_listener *l, struct fi_info *info)
{
	struct dofi_cr *cr = dofi_obj_new(l->ia, DAT_HANDLE_TYPE_CR);

	if (!cr)
		return NULL;
	cr->listener = l;
	cr->info = info;
	cr->ep = NULL;
	cr->for_rsp = false;
	cr->seal.on = false;
	dofi_cm_read_peer(info, &cr->remote, &cr->remote_port);
	l->users++;
	return cr;
}

int dofi_cm_check(const struct dofi_ia *ia, const union dofi_addr *peer, uint16_t port,
		  const void *data, size_t len, enum dofi_cm_kind kind, struct dofi_cm_msg *msg)
{
	int ret = dofi_cm_parse(data, len, msg);

	if (!ret && msg->kind != kind)
		ret = -EBADMSG;
	if (!ret && !dofi_cm_fabrics_match(msg->fabric, ia->fab.desc->wire_id))
		ret = -ENODEV;
	if (ret)
		dofi_diag_bad_message(ia, peer, port, len, msg, ret,
				      ia->fab.desc->cm_parts ? DOFI_CM_BRIEF_VERSION
							     : DOFI_CM_VERSION);
	return ret;
}

/* Parses the peer's request: 0, or the reason for a rejection, which has been logged. */
static unsigned int cr_read_request(struct dofi_listener *l, const struct fi_info *info,
				    const void *data, size_t len, struct dofi_cm_msg *msg,
				    struct dofi_seal *seal)
{
	union dofi_addr peer;
	uint16_t port;

	if (l->ia->fab.secret && dofi_seal_is(DOFI_SEAL_REQUEST, data, len))
		return dofi_cm_admit(l, info, data, len, msg, seal);
	dofi_cm_read_peer(info, &peer, &port);
	if (dofi_cm_check(l->ia, &peer, port, data, len, DOFI_CM_REQUEST, msg))
		return DOFI_CM_VERSION_OTHER;
	if (l->ia->fab.secret) {
		dofi_diag_secret(&peer, port, "it has no secret", "there");
		return DOFI_CM_SECRET_WANTED;
	}
	if (msg->brief)
		msg->qual |= dofi_cm_low_qual(l->port, msg->port_moved);
	return 0;
}

/* 0, or the reason for a rejection. */
static unsigned int cr_check_request(struct dofi_listener *l, const struct fi_info *info,
				     const void *data, size_t len, struct dofi_cm_msg *msg,
				     struct dofi_seal *seal, struct dofi_sp **sp)
{
	union dofi_addr peer;
	unsigned int reason = cr_read_request(l, info, data, len, msg, seal);
	uint16_t port;

	if (reason)
		return reason;
	dofi_cm_read_peer(info, &peer, &port);
	*sp = dofi_sp_find(l, msg->qual);
	reason = !*sp || (*sp)->spent ? DOFI_CM_NO_LISTENER : dofi_ud_refusal(*sp, msg);
	dofi_diag_request(l, &peer, port, msg->qual, reason);
	return reason;
}

void dofi_cr_arrived(struct dofi_listener *l, struct fi_info *info, const void *data, size_t len)
{
	struct dofi_seal seal = { .on = false };
	uint8_t whole[DOFI_CM_MAX];
	const uint8_t *bytes = data;
	struct dofi_cm_msg msg;
	struct dofi_cr *cr;
	struct dofi_sp *sp;
	unsigned int reason;

	DOFI_ASSERT_LOCKED(&l->ia->cm_lock);
	if (l->ia->fab.desc->cm_parts && dofi_cm_is_part(bytes, len) &&
	    !dofi_cm_part_received(l, info, &bytes, &len, whole))
		return;
	data = bytes;
	if (dofi_seal_is(DOFI_SEAL_HELLO, data, len)) {
		dofi_cm_hello_received(l, info, data, len);
		return;
	}
	reason = cr_check_request(l, info, data, len, &msg, &seal, &sp);
	if (reason) {
		dofi_cm_refuse(l, info, reason, NULL, 0);
		return;
	}
	cr = cr_new_cr(l, info);
	if (!cr) {
		dofi_cm_refuse(l, info, DOFI_CM_RESOURCES, NULL, 0);
		return;
	}
	cr->msg = msg;
	memcpy(cr->priv, msg.priv, msg.priv_len);
	cr->msg.priv = cr->priv;
	cr->seal = seal;
	reason = cr_deliver(cr, sp);
	if (!reason)
		return;
	dofi_diag_request(l, &cr->remote, cr->remote_port, msg.qual, reason);
	dofi_cr_destroy(cr, reason);
}

DAT_RETURN dofi_cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	struct dofi_cr *cr = dofi_cr_live(handle);

	if (!cr)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	if (mask & ~DAT_CR_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	param->remote_ia_address_ptr = &cr->remote.sa;
	param->remote_port_qual = cr->remote_port;
	param->private_data_size = cr->msg.priv_len;
	param->private_data = cr->priv;
	param->local_ep_handle = cr->ep;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cr_check_priv(struct dofi_ia *ia, DAT_COUNT size, const void *priv,
			      DAT_RETURN bad_size, DAT_RETURN bad_ptr)
{
	if (size < 0 || (size_t)size > ia->fab.max_priv)
		return DOFI_ERR(DAT_INVALID_PARAMETER, bad_size);
	if (size && !priv)
		return DOFI_ERR(DAT_INVALID_PARAMETER, bad_ptr);
	return DAT_SUCCESS;
}

/* The consumer's rejection. */
static DAT_RETURN cr_reject(struct dofi_cr *cr, const void *priv, uint16_t priv_len)
{
	struct dofi_cm_msg msg = cr_rejection(cr->obj.ia, DOFI_CM_BY_PEER, priv, priv_len);

	if (dofi_cr_answer(cr, &msg))
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	cr_release_ep(cr);
	DOFI_COUNT_IA(cr->obj.ia, SP_CR_REJECTED);
	DOFI_COUNT_IA(cr->obj.ia, CM_USER_REJ_TX);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cr_refuse(DAT_CR_HANDLE handle, DAT_COUNT size, const DAT_PVOID priv)
{
	struct dofi_cr *cr = dofi_cr_live(handle);
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!cr)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	ia = cr->obj.ia;
	ret = dofi_cr_check_priv(ia, size, priv, DAT_INVALID_ARG2, DAT_INVALID_ARG3);
	if (ret)
		return ret;
	pthread_mutex_lock(&ia->cm_lock);
	ret = dofi_cr_live(cr) ? cr_reject(cr, priv, (uint16_t)size)
			       : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	if (!ret && dofi_obj_retire(&cr->obj)) {
		dofi_cr_destroy(cr, 0);
		dofi_cm_read_events(ia);
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}

static struct dofi_sp *cr_find_sp(struct dofi_ia *ia, DAT_CONN_QUAL qual)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &ia->listeners)
	{
		struct dofi_listener *l = dofi_container(pos, struct dofi_listener, link);
		struct dofi_sp *sp = dofi_sp_find(l, qual);

		if (sp && !sp->spent)
			return sp;
	}
	return NULL;
}

/* A new CR takes over the request; the old handle becomes invalid. */
static DAT_RETURN cr_hand_off(struct dofi_cr *cr, DAT_CONN_QUAL qual)
{
	struct dofi_sp *sp = cr_find_sp(cr->obj.ia, qual);
	struct dofi_cr *next;
	unsigned int reason;

	if (!sp)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	next = cr_new_cr(cr->listener, cr->info);
	if (!next)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	next->msg = cr->msg;
	memcpy(next->priv, cr->priv, cr->msg.priv_len);
	next->msg.priv = next->priv;
	next->seal = cr->seal;
	reason = cr_deliver(next, sp);
	if (reason) {
		next->info = NULL;
		dofi_cr_destroy(next, 0);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, 0);
	}
	cr_release_ep(cr);
	cr->info = NULL;
	dofi_obj_retire(&cr->obj);
	dofi_cr_destroy(cr, 0);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual)
{
	struct dofi_cr *cr = dofi_cr_live(handle);
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!cr)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	ia = cr->obj.ia;
	pthread_mutex_lock(&ia->cm_lock);
	ret = dofi_cr_live(cr) ? cr_hand_off(cr, qual)
			       : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}
