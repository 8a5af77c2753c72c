/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of the fabric: peer, checking, answers, and their CRs. */
#include <errno.h>
#include <string.h>

#include "cm/cm_cr.h"
#include "cm/cm_parts.h"
#include "cm/diag_cm.h"
#include "fabric/fab_info.h"
#include "object/ep_state.h"

void dofi_cm_read_peer(const struct fi_info *info, union dofi_addr *peer, uint16_t *port)
{
	memset(peer, 0, sizeof(*peer));
	if (info->dest_addr && info->dest_addrlen <= sizeof(*peer))
		memcpy(peer, info->dest_addr, info->dest_addrlen);
	*port = dofi_addr_port(&peer->sa);
	dofi_addr_set_port(&peer->sa, 0);
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

struct dofi_cm_msg dofi_cr_rejection(const struct dofi_ia *ia, unsigned int reason,
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
	struct dofi_cm_msg msg = dofi_cr_rejection(l->ia, reason, priv, priv_len);
	uint8_t buf[DOFI_CM_MAX];

	DOFI_ASSERT_LOCKED(&l->ia->cm_lock);
	DOFI_COUNT_IA(l->ia, CM_ERR_REJ_TX);
	fi_reject(l->pep, info->handle, buf, dofi_cm_build(buf, &msg));
	dofi_fab_info_free(&l->ia->fab, info);
}

struct dofi_cr *dofi_cr_new(const struct dofi_sp *sp, struct dofi_listener *l, struct fi_info *info)
{
	struct dofi_cr *cr = dofi_obj_new_for(l->ia, DAT_HANDLE_TYPE_CR, sp->obj.internal);

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
	struct dofi_cm_msg msg = dofi_cr_rejection(cr->obj.ia, reason, NULL, 0);

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

void dofi_cr_release_ep(struct dofi_cr *cr)
{
	struct dofi_ep *ep = cr->ep;

	if (!ep)
		return;
	if (!ep->by_provider) {
		dofi_lock(&ep->lock);
		ep->local_port = 0;
		dofi_unlock(&ep->lock);
		dofi_ep_transit(ep, DOFI_EP_REJECT);
	} else if (dofi_obj_retire(&ep->obj)) {
		dofi_ep_destroy(ep);
	}
	cr->ep = NULL;
}

void dofi_cr_set_ports(struct dofi_ep *ep, const struct dofi_cr *cr)
{
	dofi_lock(&ep->lock);
	ep->remote = cr->remote;
	ep->remote_port = cr->remote_port;
	ep->local_port = cr->listener->port;
	dofi_unlock(&ep->lock);
}
