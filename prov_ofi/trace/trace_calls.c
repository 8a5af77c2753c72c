/* SPDX-License-Identifier: BSD-2-Clause */
/* Wrappers of the jump table's slots for traced calls.
 *
 * The wrappers are generated from the same list of calls as libdat, so that none is missing. Calls
 * that libdat implements by hand follow at the end.
 */
#define A1 a1
#include "../src/call_params.h"
#include "trace/trace_calls.h"

/* The open function of names that are registered as threadsafe. */
static DAT_RETURN (*open_threadsafe)(const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *,
				     DAT_IA_HANDLE *);

/* Vn: values of the parameters a1..an. */
#define V1 V(a1)
#define V2 V1, V(a2)
#define V3 V2, V(a3)
#define V4 V3, V(a4)
#define V5 V4, V(a5)
#define V6 V5, V(a6)
#define V7 V6, V(a7)
#define V8 V7, V(a8)
#define V9 V8, V(a9)
#define V11 V9, V(a10), V(a11)
#define V12 V11, V(a12)

#define WRAP(n, call, function, wrapper, ...) \
	static DAT_RETURN wrapper(P##n(__VA_ARGS__)) \
	{ \
		DOFI_TRACE_OPEN(call, n, V##n); \
		DAT_RETURN ret = function(A##n); \
\
		dofi_trace_end(&trace, ret); \
		return ret; \
	}

#define CALL(n, name, kind, ...) \
	WRAP(n, name, dofi_trace_next->name##_func, traced_##name, __VA_ARGS__)
#include "../src/calls.def"
#undef CALL

WRAP(4, ia_open, dofi_trace_next->ia_open_func, traced_ia_open, const DAT_NAME_PTR, DAT_COUNT,
     DAT_EVD_HANDLE *, DAT_IA_HANDLE *)
WRAP(4, ia_open, open_threadsafe, traced_ia_open_threadsafe, const DAT_NAME_PTR, DAT_COUNT,
     DAT_EVD_HANDLE *, DAT_IA_HANDLE *)
WRAP(2, ia_close, dofi_trace_next->ia_close_func, traced_ia_close, DAT_IA_HANDLE, DAT_CLOSE_FLAGS)

void dofi_trace_apply(DAT_PROVIDER *table, const DAT_PROVIDER *next, DAT_BOOLEAN thread_safe)
{
	/* Set once: calls of other names may be reading them. */
	if (!dofi_trace_next)
		dofi_trace_next = next;
	if (thread_safe && !open_threadsafe)
		open_threadsafe = table->ia_open_func;
#define CALL(n, name, kind, ...) \
	if (table->name##_func) \
		table->name##_func = traced_##name;
#include "../src/calls.def"
#undef CALL
	/* The registry distinguishes the two thread safeties by this function. */
	table->ia_open_func = thread_safe ? traced_ia_open_threadsafe : traced_ia_open;
	table->ia_close_func = traced_ia_close;
	dofi_trace_apply_version(table);
}
