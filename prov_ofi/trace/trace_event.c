/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats the events that traced calls return. */
#include "object/ep.h"
#include "trace/trace_show.h"

static const struct dofi_trace_name statuses[] = {
	{ DAT_DTO_SUCCESS, "SUCCESS" },
	{ DAT_DTO_ERR_FLUSHED, "ERR_FLUSHED" },
	{ DAT_DTO_ERR_LOCAL_LENGTH, "ERR_LOCAL_LENGTH" },
	{ DAT_DTO_ERR_LOCAL_EP, "ERR_LOCAL_EP" },
	{ DAT_DTO_ERR_LOCAL_PROTECTION, "ERR_LOCAL_PROTECTION" },
	{ DAT_DTO_ERR_BAD_RESPONSE, "ERR_BAD_RESPONSE" },
	{ DAT_DTO_ERR_REMOTE_ACCESS, "ERR_REMOTE_ACCESS" },
	{ DAT_DTO_ERR_REMOTE_RESPONDER, "ERR_REMOTE_RESPONDER" },
	{ DAT_DTO_ERR_TRANSPORT, "ERR_TRANSPORT" },
	{ DAT_DTO_ERR_RECEIVER_NOT_READY, "ERR_RECEIVER_NOT_READY" },
	{ DAT_DTO_ERR_PARTIAL_PACKET, "ERR_PARTIAL_PACKET" },
	{ DAT_RMR_OPERATION_FAILED, "RMR_OPERATION_FAILED" },
	{ 12, "ERR_LOCAL_MM_ERROR" },
	DOFI_TRACE_END,
};

/* clang-format off */
#define EVENT(number) { number, #number }
/* clang-format on */

static const struct dofi_trace_name events[] = {
	EVENT(DAT_DTO_COMPLETION_EVENT),
	{ 0x40000, "DAT_IB_DTO_EVENT" },
	EVENT(DAT_RMR_BIND_COMPLETION_EVENT),
	EVENT(DAT_CONNECTION_REQUEST_EVENT),
	EVENT(DAT_CONNECTION_EVENT_ESTABLISHED),
	EVENT(DAT_CONNECTION_EVENT_PEER_REJECTED),
	EVENT(DAT_CONNECTION_EVENT_NON_PEER_REJECTED),
	EVENT(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR),
	EVENT(DAT_CONNECTION_EVENT_DISCONNECTED),
	EVENT(DAT_CONNECTION_EVENT_BROKEN),
	EVENT(DAT_CONNECTION_EVENT_TIMED_OUT),
	EVENT(DAT_CONNECTION_EVENT_UNREACHABLE),
	EVENT(DAT_ASYNC_ERROR_EVD_OVERFLOW),
	EVENT(DAT_ASYNC_ERROR_IA_CATASTROPHIC),
	EVENT(DAT_ASYNC_ERROR_EP_BROKEN),
	EVENT(DAT_ASYNC_ERROR_TIMED_OUT),
	EVENT(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR),
	EVENT(DAT_SOFTWARE_EVENT),
	DOFI_TRACE_END,
};

static void add_completion(struct dofi_text *t, const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	static const struct dofi_trace_name kinds[] = {
		{ 0, " SEND" },
		{ 1, " RDMA_WRITE" },
		{ 2, " RDMA_READ" },
		{ 3, " RECEIVE" },
		{ 4, " RECEIVE_WITH_INVALIDATE" },
		{ 5, " BIND_MW" },
		{ 8, " RDMA_WRITE_IMMED" },
		{ 9, " RECEIVE_IMMED" },
		{ 10, " FETCH_ADD" },
		{ 11, " CMP_SWAP" },
		DOFI_TRACE_END,
	};
	int kind = dofi_dto_operation(d);

	dofi_text_add(t, " ep=");
	dofi_trace_add_handle(t, d->ep_handle);
	if (kind >= 0)
		dofi_trace_add_enum(t, (uint64_t)kind, kinds);
	dofi_text_add(t, " cookie=0x%llx status=", (unsigned long long)d->user_cookie.as_64);
	dofi_trace_add_enum(t, d->status, statuses);
	dofi_text_add(t, " length=%llu", (unsigned long long)d->transfered_length);
}

static void add_arrival(struct dofi_text *t, const DAT_CR_ARRIVAL_EVENT_DATA *d)
{
	dofi_text_add(t, " sp=");
	dofi_trace_add_handle(t, d->sp_handle.psp_handle);
	dofi_text_add(t, " qual=%llu cr=", (unsigned long long)d->conn_qual);
	dofi_trace_add_handle(t, d->cr_handle);
}

DOFI_TRACE_SHOW(event)
{
	const DAT_EVENT *e = dofi_trace_pointer(&v[i]);
	const DAT_EVENT_DATA *d;
	uint32_t immed;

	if (!e) {
		dofi_text_add(t, "NULL");
		return;
	}
	d = &e->event_data;
	dofi_text_add(t, "{");
	dofi_trace_add_enum(t, e->event_number, events);
	switch ((unsigned int)e->event_number >> 12) {
	case DAT_DTO_COMPLETION_EVENT >> 12:
		add_completion(t, &d->dto_completion_event_data);
		break;
	case 0x40: /* DAT_IB_DTO_EVENT */
		add_completion(t, &d->dto_completion_event_data);
		if (dofi_event_immed(e, &immed))
			dofi_text_add(t, " immed=0x%x", immed);
		break;
	case DAT_RMR_BIND_COMPLETION_EVENT >> 12:
		dofi_text_add(t, " rmr=");
		dofi_trace_add_handle(t, d->rmr_completion_event_data.rmr_handle);
		dofi_text_add(t, " cookie=0x%llx status=",
			      (unsigned long long)d->rmr_completion_event_data.user_cookie.as_64);
		dofi_trace_add_enum(t, d->rmr_completion_event_data.status, statuses);
		break;
	case DAT_CONNECTION_REQUEST_EVENT >> 12:
		add_arrival(t, &d->cr_arrival_event_data);
		break;
	case DAT_CONNECTION_EVENT_ESTABLISHED >> 12:
		dofi_text_add(t, " ep=");
		dofi_trace_add_handle(t, d->connect_event_data.ep_handle);
		dofi_text_add(t, " private=%d bytes", d->connect_event_data.private_data_size);
		break;
	case DAT_ASYNC_ERROR_EVD_OVERFLOW >> 12:
		dofi_text_add(t, " handle=");
		dofi_trace_add_handle(t, d->asynch_error_event_data.dat_handle);
		dofi_text_add(t, " reason=%d", d->asynch_error_event_data.reason);
		break;
	case DAT_SOFTWARE_EVENT >> 12:
		dofi_text_add(t, " pointer=%p", d->software_event_data.pointer);
		break;
	default:
		break;
	}
	dofi_text_add(t, "}");
}
