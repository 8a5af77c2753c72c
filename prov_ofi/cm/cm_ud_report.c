/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports the results of address exchanges to datagram endpoints. */
#include <string.h>

#include "cm/cm.h"
#include "object/progress_wakeup.h"

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

/* No function uses the exchange any more. */
static void ud_exchange_over(struct dofi_timer *timer)
{
	dofi_ep_destroy(dofi_cm_timer_ep(timer));
}

void dofi_ud_exchange_ended(struct dofi_ep *x, DAT_EVENT_NUMBER number)
{
	struct dofi_ep *ep = x->ud_for;
	struct dofi_ah *ah = NULL;

	if (!x->ud_over && number == DAT_CONNECTION_EVENT_PEER_REJECTED) {
		ah = dofi_ah_new(ep->obj.ia, NULL);
		if (ah) {
			ah->type = DOFI_UD_CONNECT_REJECT;
			ud_set_private(ah, x->priv, x->priv_len);
		}
		ud_push_event(ep, DOFI_UD_REJECT_EVENT, ah);
	} else if (!x->ud_over) {
		ud_push_event(ep, DOFI_UD_ERROR_EVENT, NULL);
	}
	x->ud_over = true;
	dofi_cm_arm_timer(x, dofi_now(), ud_exchange_over);
	dofi_progress_wakeup(ep->obj.ia);
}

bool dofi_ud_take_answer(struct dofi_ep *x, const uint8_t *data, size_t len)
{
	struct dofi_ep *ep = x->ud_for;
	struct dofi_cm_msg msg;
	struct dofi_ah *ah;

	if (dofi_cm_parse(data, len, &msg) || msg.kind != DOFI_CM_ACCEPT || !msg.datagram ||
	    !dofi_cm_fabrics_match(msg.fabric, ep->obj.ia->fab.desc->wire_id) ||
	    !dofi_dgram_qpn_valid(msg.conn_id))
		return false;
	ah = dofi_ah_new(ep->obj.ia, &x->remote);
	if (!ah)
		return false;
	ah->type = DOFI_UD_REMOTE_AH;
	ah->qpn = msg.conn_id;
	ud_set_private(ah, msg.priv, msg.priv_len);
	ud_push_event(ep, DOFI_UD_ESTABLISHED_EVENT, ah);
	return true;
}

struct dofi_ah *dofi_ud_reserve(const struct dofi_cr *cr)
{
	struct dofi_ah *ah = dofi_ah_new(cr->obj.ia, &cr->remote);

	if (!ah)
		return NULL;
	ah->type = DOFI_UD_PASSIVE_REMOTE_AH;
	ah->qpn = cr->msg.conn_id;
	return ah;
}

void dofi_ud_accepted(struct dofi_ep *ep, struct dofi_ah *ah)
{
	ud_push_event(ep, DOFI_UD_ESTABLISHED_EVENT, ah);
}
