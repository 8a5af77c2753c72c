/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles, attributes, parameters and events of objects as uDAPL 2.0 has them. */
#include <string.h>

#include "object/coll_handle.h"
#include "object/ep.h"
#include "object/mr.h"
#include "object/rmr.h"
#include "object/ud.h"
#include "object/version.h"

/* Exported by libdat2, but in no public header: maps between the consumer's handle and the
 * provider's. */
extern DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE in, DAT_IA_HANDLE *out);

const bool dofi_api_srq_attr_optional = true;

DAT_IA_HANDLE dofi_api_ia_handle(struct dofi_ia *ia)
{
	DAT_IA_HANDLE known = atomic_load(&ia->consumer_handle);

	if (!known && !dats_get_ia_handle((DAT_IA_HANDLE)ia, &known))
		atomic_store(&ia->consumer_handle, known);
	return known;
}

bool dofi_api_extensions(void)
{
	return true; /* every fabric has counters and collectives */
}

void dofi_api_ia_attr(struct dofi_ia *ia, DAT_IA_ATTR *attr)
{
	/* Peers of a device address memory by its virtual address: see dofi_device_register_mr. */
	attr->zb_supported = ia->fab.zero_based ? DAT_TRUE : DAT_FALSE;
	attr->extension_supported = DAT_EXTENSION_IB;
	attr->extension_version = DAT_IB_EXTENSION_VERSION;
}

void dofi_api_provider_attr(struct dofi_ia *ia, DAT_PROVIDER_ATTR *attr)
{
	/* An iWARP target of a read writes with the key of the reader's memory. */
	attr->rdma_read_lmr_rmr_context_exposure = ia->fab.has_msg_prefix ? DAT_TRUE : DAT_FALSE;
	attr->rmr_scope_supported = DAT_RMR_SCOPE_ANY;
	attr->is_signal_safe = DAT_FALSE;
	attr->ha_supported = DAT_FALSE;
	attr->ha_loadbalancing = DAT_HA_LB_NONE;
}

void dofi_api_ep_param(const struct dofi_ep *ep, DAT_EP_PARAM *param)
{
	param->comm = (DAT_COMM){ ep->obj.ia->fab.addr.sa.sa_family,
				  ep->ud ? SOCK_DGRAM : SOCK_STREAM, 0 };
}

void dofi_api_lmr_param(const struct dofi_lmr *lmr, DAT_LMR_PARAM *param)
{
	param->va_type = lmr->zero_based ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA;
}

void dofi_api_rmr_param(const struct dofi_rmr *rmr, DAT_RMR_PARAM *param)
{
	param->rmr_scope = rmr->for_ep ? DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ;
	param->va_type = rmr->bound && rmr->bound->zero_based ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA;
}

/* The EVD holds a dofi_coll_event in place of the event's data. */
static void event_collective(DAT_EVENT *event)
{
	DAT_IB_EXTENSION_EVENT_DATA x;
	struct dofi_coll_event held;

	memcpy(&held, &event->event_data, sizeof(held));
	memset(&event->event_data, 0, sizeof(event->event_data));
	memset(&x, 0, sizeof(x));
	x.type = (DAT_IB_EXT_TYPE)held.type;
	x.status = (DAT_IB_STATUS)held.status;
	x.coll.handle = held.handle;
	x.coll.context = held.context;
	memset(event->event_extension_data, 0, sizeof(event->event_extension_data));
	memcpy(event->event_extension_data, &x, sizeof(x));
}

static void event_completion(const DAT_EVENT *event, uint32_t immed, const struct dofi_event *from,
			     DAT_IB_EXTENSION_EVENT_DATA *x)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &event->event_data.dto_completion_event_data;

	x->status = d->status ? DAT_IB_OP_ERR : DAT_OP_SUCCESS;
	switch ((int)d->operation) {
	case DAT_IB_DTO_RDMA_WRITE_IMMED:
		x->type = DAT_IB_RDMA_WRITE_IMMED;
		break;
	case DAT_IB_DTO_RECV_IMMED:
		x->type = DAT_IB_RDMA_WRITE_IMMED_DATA;
		x->val.immed.data = immed;
		break;
	case DAT_IB_DTO_FETCH_ADD:
		x->type = DAT_IB_FETCH_AND_ADD;
		break;
	case DAT_IB_DTO_CMP_SWAP:
		x->type = DAT_IB_CMP_AND_SWAP;
		break;
	default:
		dofi_ud_event_ib(event, immed, from, x);
		break;
	}
}

void dofi_event_ib(DAT_EVENT *event, uint32_t immed, const struct dofi_event *from)
{
	DAT_IB_EXTENSION_EVENT_DATA x;

	_Static_assert(sizeof(x) <= sizeof(event->event_extension_data), "has to fit");
	if ((int)event->event_number == DAT_IB_COLLECTIVE_EVENT) {
		event_collective(event);
		return;
	}
	memset(&x, 0, sizeof(x));
	if ((unsigned int)event->event_number == DAT_IB_DTO_EVENT)
		event_completion(event, immed, from, &x);
	else
		dofi_ud_event_ib(event, immed, from, &x);
	memset(event->event_extension_data, 0, sizeof(event->event_extension_data));
	memcpy(event->event_extension_data, &x, sizeof(x));
}
