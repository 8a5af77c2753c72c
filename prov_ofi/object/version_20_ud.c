/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of datagram endpoints as uDAPL 2.0 has them. */
#include <string.h>

#include "object/sp.h"
#include "object/ud.h"
#include "object/version.h"

static void ud_event_set_addr(DAT_IB_ADDR_HANDLE *to, const union dofi_addr *addr, uint32_t qpn)
{
	to->qpn = qpn;
	memcpy(&to->ia_addr, addr, sizeof(to->ia_addr));
}

static void ud_event_completion(const DAT_EVENT *event, uint32_t family,
				const struct dofi_event *from, DAT_IB_EXTENSION_EVENT_DATA *x)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &event->event_data.dto_completion_event_data;
	struct dofi_ep *ep = d->ep_handle;
	union dofi_addr addr;

	if ((int)d->operation == DAT_IB_DTO_SEND_UD) {
		x->type = DAT_IB_UD_SEND;
		return;
	}
	x->type = DAT_IB_UD_RECV;
	if (!from || family == AF_UNSPEC)
		return;
	dofi_ud_get_source(ep->obj.ia, &from->source, family, &addr);
	ud_event_set_addr(&x->remote_ah, &addr, from->source.qpn);
}

static void ud_event_exchanged(const struct dofi_event *from, DAT_IB_EXTENSION_EVENT_DATA *x)
{
	struct dofi_ah *ah = from->ah;
	union dofi_addr addr;

	if (!ah)
		return;
	x->type = (DAT_IB_EXT_TYPE)ah->type;
	x->context.as_ptr = &ah->cm_magic;
	if (x->type == DAT_IB_UD_CONNECT_REJECT)
		return;
	x->remote_ah.ah = (struct ibv_ah *)(void *)ah;
	if (dofi_ah_address(ah->ia, ah, &addr))
		ud_event_set_addr(&x->remote_ah, &addr, ah->qpn);
}

void dofi_ud_event_ib(const DAT_EVENT *event, uint32_t immed, const struct dofi_event *from,
		      DAT_IB_EXTENSION_EVENT_DATA *x)
{
	const struct dofi_cr *cr;

	switch ((unsigned int)event->event_number) {
	case DAT_IB_DTO_EVENT:
		ud_event_completion(event, immed, from, x);
		break;
	case DAT_IB_UD_CONNECTION_REQUEST_EVENT:
		x->type = DAT_IB_UD_CONNECT_REQUEST;
		cr = event->event_data.cr_arrival_event_data.cr_handle;
		ud_event_set_addr(&x->remote_ah, &cr->remote, cr->msg.conn_id);
		break;
	case DAT_IB_UD_CONNECTION_REJECT_EVENT:
		x->type = DAT_IB_UD_CONNECT_REJECT;
		ud_event_exchanged(from, x);
		break;
	case DAT_IB_UD_CONNECTION_ERROR_EVENT:
		x->type = DAT_IB_UD_CONNECT_ERROR;
		x->status = DAT_IB_OP_ERR;
		break;
	default:
		ud_event_exchanged(from, x);
		break;
	}
}
