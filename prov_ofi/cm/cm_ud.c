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
#include "cm/cm.h"
#include "data/ud_message.h"

struct dofi_ep *dofi_ud_exchange(struct dofi_ep *ep)
{
	struct dofi_ep *x;
	DAT_EP_ATTR attr;

	dofi_ep_attr_default(ep->obj.ia, &attr);
	attr.max_recv_dtos = attr.max_request_dtos = 1;
	if (dofi_ep_make(ep->obj.ia, &attr, NULL, true, &x))
		return NULL;
	dofi_ep_set_evds(x, NULL, NULL, NULL);
	x->ud_for = ep;
	x->ud_over = false;
	dofi_list_append(&ep->ud->exchanges, &x->exchange);
	return x;
}

bool dofi_ud_answered(struct dofi_ep *x, const uint8_t *data, size_t len)
{
	if (!x->ud_for || !data || !dofi_ud_take_answer(x, data, len))
		return false;
	x->ud_over = true;
	dofi_cm_end(x, DAT_CONNECTION_EVENT_DISCONNECTED, false);
	return true;
}

/* Ends the exchanges of the EP. */
static void ud_abandon(struct dofi_ep *ep)
{
	struct dofi_list *pos, *tmp;

	dofi_list_each_safe(pos, tmp, &ep->ud->exchanges)
	{
		struct dofi_ep *x = dofi_container(pos, struct dofi_ep, exchange);

		if (!x->ud_over)
			dofi_cm_end(x, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, true);
	}
}

DAT_RETURN dofi_ud_disconnect(struct dofi_ep *ep)
{
	ud_abandon(ep);
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
