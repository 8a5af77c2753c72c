/* SPDX-License-Identifier: BSD-2-Clause */
/* Exchanges the addresses of datagram endpoints.
 *
 * The request of the active side carries the number of its endpoint (proto/cm_proto.h). The passive
 * side's answer carries the number of its own, and rejects the fabric's attempt to connect, so no
 * connection remains. Each knows the peer's IP address from the attempt.
 *
 * An exchange is an internal EP without queues that connects for the datagram endpoint. It is freed
 * by its timer after its end, when no function uses it any more.
 */
#include <string.h>

#include "cm/cm.h"
#include "cm/diag_cm.h"
#include "data/ud_message.h"
#include "object/progress_wakeup.h"

struct dofi_ep *dofi_ud_exchange(struct dofi_ep *ep)
{
	struct dofi_ep *x;
	DAT_EP_ATTR attr;

	dofi_ep_attr_default(ep->obj.ia, &attr);
	attr.max_recv_dtos = attr.max_request_dtos = 1;
	if (dofi_ep_make(ep->obj.ia, &attr, NULL, &x))
		return NULL;
	dofi_ep_set_evds(x, NULL, NULL, NULL);
	x->ud_for = ep;
	x->ud_over = false;
	dofi_list_append(&ep->ud->exchanges, &x->exchange);
	return x;
}

/* Queues the event of an exchange. `ah` (NULL: none) has the peer's address or its private data. */
static void ud_push_event(struct dofi_ep *ep, DAT_EVENT_NUMBER number, struct dofi_ah *ah)
{
	struct dofi_event e = { .number = number, .notify = true };
	struct dofi_evd *evd = dofi_ep_conn_evd(ep);

	if (!evd)
		return;
	e.connect.ep_handle = ep;
	if (ah && ah->priv_len) {
		e.connect.private_data_size = ah->priv_len;
		e.connect.private_data = ah->priv;
	}
	e.ah = ah;
	dofi_evd_push(evd, &e);
}

static void ud_set_private(struct dofi_ah *ah, const uint8_t *priv, uint16_t len)
{
	ah->priv_len = len;
	if (len)
		memcpy(ah->priv, priv, len);
}

void dofi_ud_exchange_ended(struct dofi_ep *x, DAT_EVENT_NUMBER number)
{
	struct dofi_ep *ep = x->ud_for;
	struct dofi_ah *ah = NULL;

	if (!x->ud_over && number == DAT_CONNECTION_EVENT_PEER_REJECTED) {
		ah = dofi_ah_new(ep->obj.ia, false);
		if (ah) {
			ah->type = DOFI_UD_CONNECT_REJECT;
			ud_set_private(ah, x->priv, x->priv_len);
		}
		ud_push_event(ep, DOFI_UD_REJECT_EVENT, ah);
	} else if (!x->ud_over) {
		ud_push_event(ep, DOFI_UD_ERROR_EVENT, NULL);
	}
	x->ud_over = true;
	dofi_timer_arm(&ep->obj.ia->timers, &x->timer, dofi_now());
	dofi_progress_wakeup(ep->obj.ia);
}

/* False: not an acceptance, or not a valid one. */
static bool ud_take_answer(struct dofi_ep *x, const uint8_t *data, size_t len)
{
	struct dofi_ep *ep = x->ud_for;
	struct dofi_cm_msg msg;
	struct dofi_ah *ah;

	if (dofi_cm_parse(data, len, &msg) || msg.kind != DOFI_CM_ACCEPT || !msg.datagram ||
	    !dofi_cm_fabrics_match(msg.fabric, ep->obj.ia->fab.desc->wire_id) ||
	    !dofi_dgram_qpn_valid(msg.conn_id))
		return false;
	ah = dofi_ah_new(ep->obj.ia, true);
	if (!ah)
		return false;
	ah->type = DOFI_UD_REMOTE_AH;
	ah->addr = x->remote;
	ah->qpn = msg.conn_id;
	ud_set_private(ah, msg.priv, msg.priv_len);
	ud_push_event(ep, DOFI_UD_ESTABLISHED_EVENT, ah);
	return true;
}

bool dofi_ud_answered(struct dofi_ep *x, const uint8_t *data, size_t len)
{
	if (!x->ud_for || !data || !ud_take_answer(x, data, len))
		return false;
	x->ud_over = true;
	dofi_cm_end(x, DAT_CONNECTION_EVENT_DISCONNECTED, false);
	return true;
}

void dofi_ud_abandon(struct dofi_ep *ep, bool report)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &ep->ud->exchanges)
	{
		struct dofi_ep *x = dofi_container(pos, struct dofi_ep, exchange);

		if (!report)
			dofi_ep_destroy(x);
		else if (!x->ud_over)
			dofi_cm_end(x, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, true);
	}
}

DAT_RETURN dofi_ud_disconnect(struct dofi_ep *ep)
{
	dofi_ud_abandon(ep, true);
	dofi_ud_flush(ep);
	return DAT_SUCCESS;
}

unsigned int dofi_ud_refusal(const struct dofi_sp *sp, const struct dofi_cm_msg *msg)
{
	if (!msg->datagram)
		return 0;
	/* The EP of a reserved or a providing service point is none for datagrams. */
	if (!dofi_ud_supported(sp->obj.ia) || sp->obj.type == DAT_HANDLE_TYPE_RSP ||
	    sp->flags == DAT_PSP_PROVIDER_FLAG || !dofi_dgram_qpn_valid(msg->conn_id))
		return DOFI_CM_NO_DATAGRAMS;
	return 0;
}

struct dofi_ah *dofi_ud_reserve(const struct dofi_cr *cr)
{
	struct dofi_ah *ah = dofi_ah_new(cr->obj.ia, true);

	if (!ah)
		return NULL;
	ah->type = DOFI_UD_PASSIVE_REMOTE_AH;
	ah->addr = cr->remote;
	ah->qpn = cr->msg.conn_id;
	return ah;
}

void dofi_ud_accepted(struct dofi_ep *ep, struct dofi_ah *ah)
{
	ud_push_event(ep, DOFI_UD_ESTABLISHED_EVENT, ah);
}
