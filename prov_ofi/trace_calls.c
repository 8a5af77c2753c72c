/* SPDX-License-Identifier: BSD-2-Clause */
/* Which function stands before each slot of the jump table while calls are traced?
 *
 * The wrappers are made from the list of calls that libdat itself is made from: no call can be
 * forgotten. What libdat handles by hand follows at the end.
 */
#define DAT_API_MAJOR (DOFI_API / 10)

#include "ia.h"
#include "trace_calls.h"

/* Parameters a1..an of given types, their values, and the list of their names. */
#define P1(t1) t1 a1
#define P2(t1, t2) P1(t1), t2 a2
#define P3(t1, t2, t3) P2(t1, t2), t3 a3
#define P4(t1, t2, t3, t4) P3(t1, t2, t3), t4 a4
#define P5(t1, t2, t3, t4, t5) P4(t1, t2, t3, t4), t5 a5
#define P6(t1, t2, t3, t4, t5, t6) P5(t1, t2, t3, t4, t5), t6 a6
#define P7(t1, t2, t3, t4, t5, t6, t7) P6(t1, t2, t3, t4, t5, t6), t7 a7
#define P8(t1, t2, t3, t4, t5, t6, t7, t8) P7(t1, t2, t3, t4, t5, t6, t7), t8 a8
#define P9(t1, t2, t3, t4, t5, t6, t7, t8, t9) P8(t1, t2, t3, t4, t5, t6, t7, t8), t9 a9
#define P11(t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11) \
	P9(t1, t2, t3, t4, t5, t6, t7, t8, t9), t10 a10, t11 a11
#define P12(t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12) \
	P11(t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11), t12 a12

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

#define A1 a1
#define A2 A1, a2
#define A3 A2, a3
#define A4 A3, a4
#define A5 A4, a5
#define A6 A5, a6
#define A7 A6, a7
#define A8 A7, a8
#define A9 A8, a9
#define A11 A9, a10, a11
#define A12 A11, a12

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
	WRAP(n, name, dofi_api_vtable.name##_func, traced_##name, __VA_ARGS__)
#include "../src/calls.def"
#undef CALL

WRAP(4, ia_open, dofi_ia_open, traced_ia_open, const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *,
     DAT_IA_HANDLE *)
WRAP(4, ia_open, dofi_ia_open_threadsafe, traced_ia_open_threadsafe, const DAT_NAME_PTR,
     DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *)
WRAP(2, ia_close, dofi_ia_close, traced_ia_close, DAT_IA_HANDLE, DAT_CLOSE_FLAGS)

void dofi_trace_apply(DAT_PROVIDER *table, DAT_BOOLEAN thread_safe)
{
#define CALL(n, name, kind, ...) \
	if (table->name##_func) \
		table->name##_func = traced_##name;
#include "../src/calls.def"
#undef CALL
	/* The registry tells the two by this function. */
	table->ia_open_func = thread_safe ? traced_ia_open_threadsafe : traced_ia_open;
	table->ia_close_func = traced_ia_close;
	dofi_trace_apply_version(table);
}
