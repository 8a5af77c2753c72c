/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats the arguments of traced calls, by kind; for events see trace_event.c. */
#include <arpa/inet.h>
#include <string.h>

#include "object/ep.h"
#include "fabric/fab.h"
#include "object/obj.h"
#include "trace/trace_show.h"

#define MOST_SEGMENTS 8

/* Integers, enumerations and masks of any width. */
static uint64_t value_at(const void *at, size_t size)
{
	uint32_t narrow;
	uint64_t wide;

	if (size == sizeof(wide)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

void dofi_trace_add_handle(struct dofi_text *t, DAT_HANDLE handle)
{
	static const char *const kinds[DOFI_KINDS] = {
		[DAT_HANDLE_TYPE_CR] = "CR",
		[DAT_HANDLE_TYPE_EP] = "EP",
		[DAT_HANDLE_TYPE_EVD] = "EVD",
		[DAT_HANDLE_TYPE_IA] = "IA",
		[DAT_HANDLE_TYPE_LMR] = "LMR",
		[DAT_HANDLE_TYPE_PSP] = "PSP",
		[DAT_HANDLE_TYPE_PZ] = "PZ",
		[DAT_HANDLE_TYPE_RMR] = "RMR",
		[DAT_HANDLE_TYPE_RSP] = "RSP",
		[DAT_HANDLE_TYPE_CNO] = "CNO",
		[DAT_HANDLE_TYPE_SRQ] = "SRQ",
		[DOFI_HANDLE_TYPE_CSP] = "CSP",
		[DOFI_HANDLE_TYPE_COLLECTIVE] = "GROUP",
	};
	DAT_HANDLE_TYPE type;
	unsigned int number;
	bool alive;

	if (!handle)
		dofi_text_add(t, "NULL");
	else if (!dofi_obj_name(handle, &type, &number, &alive))
		dofi_text_add(t, "%p(no handle)", handle);
	else
		dofi_text_add(t, "%s#%u%s", kinds[type] ? kinds[type] : "?", number,
			      alive ? "" : "(freed)");
}

void dofi_trace_add_enum(struct dofi_text *t, uint64_t value, const struct dofi_trace_name *names)
{
	for (; names->text; names++)
		if (names->value == value) {
			dofi_text_add(t, "%s", names->text);
			return;
		}
	dofi_text_add(t, "0x%llx", (unsigned long long)value);
}

/* The first name is that of the value 0. A name of several bits matches only if all are set, and
 * precedes the names of its bits. */
static void add_flags(struct dofi_text *t, uint64_t value, const struct dofi_trace_name *names)
{
	const char *between = "";

	if (!value)
		dofi_text_add(t, "%s", names->text);
	for (names++; names->text; names++) {
		if ((value & names->value) != names->value)
			continue;
		dofi_text_add(t, "%s%s", between, names->text);
		between = "|";
		value &= ~names->value;
	}
	if (value)
		dofi_text_add(t, "%s0x%llx", between, (unsigned long long)value);
}

#define SHOW_NAMES(kind, add, ...) \
	void dofi_show_##kind(struct dofi_text *t, const struct dofi_trace_value *v, \
			      unsigned int i) \
	{ \
		static const struct dofi_trace_name names[] = { __VA_ARGS__, DOFI_TRACE_END }; \
\
		add(t, value_at(v[i].at, v[i].size), names); \
	}

/* Values that have names only in 2.0 are written as numbers. */
SHOW_NAMES(completion_flags, add_flags, { 0, "DEFAULT" },
	   { DAT_COMPLETION_SUPPRESS_FLAG, "SUPPRESS" },
	   { DAT_COMPLETION_SOLICITED_WAIT_FLAG, "SOLICITED_WAIT" },
	   { DAT_COMPLETION_UNSIGNALLED_FLAG, "UNSIGNALLED" },
	   { DAT_COMPLETION_BARRIER_FENCE_FLAG, "BARRIER_FENCE" },
	   { DAT_COMPLETION_EVD_THRESHOLD_FLAG, "EVD_THRESHOLD" }, { 0x20, "LMR_INVALIDATE_FENCE" })
SHOW_NAMES(evd_flags, add_flags, { 0, "0" }, { DAT_EVD_SOFTWARE_FLAG, "SOFTWARE" },
	   { DAT_EVD_CR_FLAG, "CR" }, { DAT_EVD_DTO_FLAG, "DTO" },
	   { DAT_EVD_CONNECTION_FLAG, "CONNECTION" }, { DAT_EVD_RMR_BIND_FLAG, "RMR_BIND" },
	   { DAT_EVD_ASYNC_FLAG, "ASYNC" }, { 0x200, "EXTENSION" })
SHOW_NAMES(mem_type, dofi_trace_add_enum, { DAT_MEM_TYPE_VIRTUAL, "VIRTUAL" },
	   { DAT_MEM_TYPE_LMR, "LMR" }, { DAT_MEM_TYPE_SHARED_VIRTUAL, "SHARED_VIRTUAL" })
SHOW_NAMES(mem_priv, add_flags, { 0, "NONE" }, { DAT_MEM_PRIV_ALL_FLAG, "ALL" },
	   { DAT_MEM_PRIV_LOCAL_READ_FLAG, "LOCAL_READ" },
	   { DAT_MEM_PRIV_REMOTE_READ_FLAG, "REMOTE_READ" },
	   { DAT_MEM_PRIV_LOCAL_WRITE_FLAG, "LOCAL_WRITE" },
	   { DAT_MEM_PRIV_REMOTE_WRITE_FLAG, "REMOTE_WRITE" }, { 0x40, "REMOTE_ATOMIC" })
SHOW_NAMES(va_type, dofi_trace_add_enum, { 0, "VA" }, { 1, "ZB" })
SHOW_NAMES(connect_flags, add_flags, { 0, "DEFAULT" }, { DAT_CONNECT_MULTIPATH_FLAG, "MULTIPATH" },
	   { 0x02, "MULTIPATH_REQUIRED" })
SHOW_NAMES(close_flags, dofi_trace_add_enum, { DAT_CLOSE_ABRUPT_FLAG, "ABRUPT" },
	   { DAT_CLOSE_GRACEFUL_FLAG, "GRACEFUL" })
SHOW_NAMES(psp_flags, dofi_trace_add_enum, { DAT_PSP_CONSUMER_FLAG, "CONSUMER" },
	   { DAT_PSP_PROVIDER_FLAG, "PROVIDER" })
SHOW_NAMES(qos, add_flags, { 0, "BEST_EFFORT" }, { DAT_QOS_HIGH_THROUGHPUT, "HIGH_THROUGHPUT" },
	   { DAT_QOS_LOW_LATENCY, "LOW_LATENCY" }, { DAT_QOS_ECONOMY, "ECONOMY" },
	   { DAT_QOS_PREMIUM, "PREMIUM" })
SHOW_NAMES(boolean, dofi_trace_add_enum, { DAT_FALSE, "FALSE" }, { DAT_TRUE, "TRUE" })

static const struct dofi_trace_name states[] = {
	{ DAT_EP_STATE_UNCONNECTED, "UNCONNECTED" },
	{ DAT_EP_STATE_RESERVED, "RESERVED" },
	{ DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, "PASSIVE_CONNECTION_PENDING" },
	{ DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, "ACTIVE_CONNECTION_PENDING" },
	{ DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, "TENTATIVE_CONNECTION_PENDING" },
	{ DAT_EP_STATE_CONNECTED, "CONNECTED" },
	{ DAT_EP_STATE_DISCONNECT_PENDING, "DISCONNECT_PENDING" },
	{ DAT_EP_STATE_DISCONNECTED, "DISCONNECTED" },
	{ DAT_EP_STATE_COMPLETION_PENDING, "COMPLETION_PENDING" },
	DOFI_TRACE_END,
};

DOFI_TRACE_SHOW(handle)
{
	dofi_trace_add_handle(t, dofi_trace_pointer(&v[i]));
}

DOFI_TRACE_SHOW(handle_out)
{
	dofi_trace_add_handle(t, *(DAT_HANDLE *)dofi_trace_pointer(&v[i]));
}

DOFI_TRACE_SHOW(text)
{
	const char *text = dofi_trace_pointer(&v[i]);

	if (text)
		dofi_text_add(t, "\"%.80s\"", text);
	else
		dofi_text_add(t, "NULL");
}

/* Counts are signed and narrow, lengths and qualifiers unsigned and wide. */
DOFI_TRACE_SHOW(num)
{
	uint64_t value = value_at(v[i].at, v[i].size);

	if (v[i].size == sizeof(value))
		dofi_text_add(t, "%llu", (unsigned long long)value);
	else
		dofi_text_add(t, "%d", (int)(uint32_t)value);
}

DOFI_TRACE_SHOW(hex)
{
	dofi_text_add(t, "0x%llx", (unsigned long long)value_at(v[i].at, v[i].size));
}

DOFI_TRACE_SHOW(time)
{
	DAT_TIMEOUT us = (DAT_TIMEOUT)value_at(v[i].at, v[i].size);

	if (us == DAT_TIMEOUT_INFINITE)
		dofi_text_add(t, "INFINITE");
	else
		dofi_text_add(t, "%uus", us);
}

DOFI_TRACE_SHOW(cookie)
{
	dofi_text_add(t, "0x%llx", (unsigned long long)value_at(v[i].at, sizeof(DAT_UINT64)));
}

DOFI_TRACE_SHOW(cookie_out)
{
	dofi_text_add(t, "0x%llx",
		      (unsigned long long)value_at(dofi_trace_pointer(&v[i]), sizeof(DAT_UINT64)));
}

DOFI_TRACE_SHOW(boolean_out)
{
	dofi_text_add(t, "%s", *(DAT_BOOLEAN *)dofi_trace_pointer(&v[i]) ? "TRUE" : "FALSE");
}

DOFI_TRACE_SHOW(ep_state_out)
{
	dofi_trace_add_enum(t, *(DAT_EP_STATE *)dofi_trace_pointer(&v[i]), states);
}

DOFI_TRACE_SHOW(handle_type_out)
{
	static const struct dofi_trace_name types[] = {
		{ DAT_HANDLE_TYPE_CR, "CR" },
		{ DAT_HANDLE_TYPE_EP, "EP" },
		{ DAT_HANDLE_TYPE_EVD, "EVD" },
		{ DAT_HANDLE_TYPE_IA, "IA" },
		{ DAT_HANDLE_TYPE_LMR, "LMR" },
		{ DAT_HANDLE_TYPE_PSP, "PSP" },
		{ DAT_HANDLE_TYPE_PZ, "PZ" },
		{ DAT_HANDLE_TYPE_RMR, "RMR" },
		{ DAT_HANDLE_TYPE_RSP, "RSP" },
		{ DAT_HANDLE_TYPE_CNO, "CNO" },
		{ DAT_HANDLE_TYPE_SRQ, "SRQ" },
		{ DOFI_HANDLE_TYPE_CSP, "CSP" },
		DOFI_TRACE_END,
	};

	dofi_trace_add_enum(t, *(DAT_HANDLE_TYPE *)dofi_trace_pointer(&v[i]), types);
}

static void add_segment(struct dofi_text *t, const DAT_LMR_TRIPLET *s)
{
	dofi_text_add(t, "0x%llx+%llu key 0x%x", (unsigned long long)s->virtual_address,
		      (unsigned long long)s->segment_length, s->lmr_context);
}

/* Arrays of more than `most` segments are not read: the call rejects them. */
static void add_segments(struct dofi_text *t, const DAT_LMR_TRIPLET *s, uint64_t n, uint64_t most)
{
	uint64_t i;

	if (!s || n > most) {
		dofi_text_add(t, s ? "%p" : "NULL", (const void *)s);
		return;
	}
	dofi_text_add(t, "[");
	for (i = 0; i < n && i < MOST_SEGMENTS; i++) {
		dofi_text_add(t, "%s", i ? ", " : "");
		add_segment(t, &s[i]);
	}
	dofi_text_add(t, "%s]", i < n ? ", ..." : "");
}

/* The previous argument is the number of segments. */
DOFI_TRACE_SHOW(segs)
{
	add_segments(t, dofi_trace_pointer(&v[i]), value_at(v[i - 1].at, v[i - 1].size),
		     DOFI_IOV_MAX);
}

/* The next argument is the number of segments. */
DOFI_TRACE_SHOW(segs_before)
{
	add_segments(t, dofi_trace_pointer(&v[i]), value_at(v[i + 1].at, v[i + 1].size), INT32_MAX);
}

DOFI_TRACE_SHOW(seg)
{
	add_segments(t, dofi_trace_pointer(&v[i]), 1, 1);
}

DOFI_TRACE_SHOW(target)
{
	const DAT_RMR_TRIPLET *r = dofi_trace_pointer(&v[i]);

	if (r)
		dofi_text_add(t, "[0x%llx+%llu key 0x%x]", (unsigned long long)dofi_rmr_addr(r),
			      (unsigned long long)r->segment_length, r->rmr_context);
	else
		dofi_text_add(t, "NULL");
}

/* Private data: print the length only, which is the previous argument. */
DOFI_TRACE_SHOW(priv)
{
	dofi_text_add(t, dofi_trace_pointer(&v[i]) ? "%d bytes" : "NULL",
		      (int)value_at(v[i - 1].at, v[i - 1].size));
}

DOFI_TRACE_SHOW(ptr)
{
	dofi_text_add(t, dofi_trace_pointer(&v[i]) ? "%p" : "NULL", dofi_trace_pointer(&v[i]));
}

static void add_address(struct dofi_text *t, const struct sockaddr *sa)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (sa && sa->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)sa)->sin_addr, text, sizeof(text));
	else if (sa && sa->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)sa)->sin6_addr, text,
			  sizeof(text));
	else if (sa)
		snprintf(text, sizeof(text), "family %d", sa->sa_family);
	dofi_text_add(t, "%s", sa ? text : "NULL");
}

DOFI_TRACE_SHOW(addr)
{
	add_address(t, dofi_trace_pointer(&v[i]));
}

/* The previous argument is the memory type. */
DOFI_TRACE_SHOW(region)
{
	DAT_REGION_DESCRIPTION r;

	memcpy(&r, v[i].at, sizeof(r));
	if (value_at(v[i - 1].at, v[i - 1].size) == DAT_MEM_TYPE_LMR)
		dofi_trace_add_handle(t, r.for_lmr_handle);
	else
		dofi_text_add(t, "%p", r.for_va);
}

DOFI_TRACE_SHOW(agent)
{
	DAT_OS_WAIT_PROXY_AGENT a;
	void *code;

	memcpy(&a, v[i].at, sizeof(a));
	memcpy(&code, &a.proxy_agent_func, sizeof(code));
	dofi_text_add(t, code ? "%p" : "NULL", code);
}

DOFI_TRACE_SHOW(ep_attr)
{
	const DAT_EP_ATTR *a = dofi_trace_pointer(&v[i]);

	if (!a) {
		dofi_text_add(t, "NULL");
		return;
	}
	dofi_text_add(t,
		      "{recvs=%d requests=%d recv_iov=%d request_iov=%d reads_in=%d "
		      "reads_out=%d message=%llu rdma=%llu}",
		      a->max_recv_dtos, a->max_request_dtos, a->max_recv_iov, a->max_request_iov,
		      a->max_rdma_read_in, a->max_rdma_read_out,
		      (unsigned long long)a->max_message_size,
		      (unsigned long long)a->max_rdma_size);
}

DOFI_TRACE_SHOW(srq_attr)
{
	const DAT_SRQ_ATTR *a = dofi_trace_pointer(&v[i]);

	if (a)
		dofi_text_add(t, "{recvs=%d recv_iov=%d low=%d}", a->max_recv_dtos, a->max_recv_iov,
			      a->low_watermark);
	else
		dofi_text_add(t, "NULL");
}

DOFI_TRACE_SHOW(cr_param_out)
{
	const DAT_CR_PARAM *p = dofi_trace_pointer(&v[i]);

	dofi_text_add(t, "{remote=");
	add_address(t, (const struct sockaddr *)p->remote_ia_address_ptr);
	dofi_text_add(t, " port=%llu private=%d bytes ep=", (unsigned long long)p->remote_port_qual,
		      p->private_data_size);
	dofi_trace_add_handle(t, p->local_ep_handle);
	dofi_text_add(t, "}");
}

DOFI_TRACE_SHOW(ep_param_out)
{
	const DAT_EP_PARAM *p = dofi_trace_pointer(&v[i]);

	dofi_text_add(t, "{state=");
	dofi_trace_add_enum(t, p->ep_state, states);
	dofi_text_add(t, "}");
}

DOFI_TRACE_SHOW(num_out)
{
	dofi_text_add(t, "%d", *(DAT_COUNT *)dofi_trace_pointer(&v[i]));
}

DOFI_TRACE_SHOW(long_out)
{
	dofi_text_add(t, "%llu", (unsigned long long)*(DAT_UINT64 *)dofi_trace_pointer(&v[i]));
}

DOFI_TRACE_SHOW(hex_out)
{
	dofi_text_add(t, "0x%x", *(DAT_UINT32 *)dofi_trace_pointer(&v[i]));
}

DOFI_TRACE_SHOW(address_out)
{
	dofi_text_add(t, "0x%llx", (unsigned long long)*(DAT_VADDR *)dofi_trace_pointer(&v[i]));
}
