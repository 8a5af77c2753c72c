/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports requests that arrive to service points, or refuses them. */
#include <string.h>

#include "cm/cm_cr.h"
#include "cm/cm_hello.h"
#include "cm/cm_parts.h"
#include "cm/diag_cm.h"
#include "object/ep_state.h"
#include "object/limits.h"

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
	if (dofi_ep_make(ia, &attr, NULL, false, &ep))
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

/* The request has not been reported to the consumer. */
static void cr_take_back_ep(struct dofi_cr *cr, struct dofi_sp *sp)
{
	dofi_obj_retire(&cr->obj);
	dofi_cr_release_ep(cr);
	if (!cr->for_rsp)
		return;
	sp->spent = false;
	if (sp->ep)
		dofi_ep_transit(sp->ep, DOFI_EP_RESERVE);
}

unsigned int dofi_cr_deliver(struct dofi_cr *cr, struct dofi_sp *sp)
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
	cr = dofi_cr_new(sp, l, info);
	if (!cr) {
		dofi_cm_refuse(l, info, DOFI_CM_RESOURCES, NULL, 0);
		return;
	}
	cr->msg = msg;
	memcpy(cr->priv, msg.priv, msg.priv_len);
	cr->msg.priv = cr->priv;
	cr->seal = seal;
	reason = dofi_cr_deliver(cr, sp);
	if (!reason)
		return;
	dofi_diag_request(l, &cr->remote, cr->remote_port, msg.qual, reason);
	dofi_cr_destroy(cr, reason);
}
