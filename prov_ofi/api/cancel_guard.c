/* SPDX-License-Identifier: BSD-2-Clause */
/* Wraps each call that is not on the data path in a function that disables cancellation, and lets a
 * close wait for calls that create or free objects, or connect. */
#include <string.h>

#define A1 a1
#include "../src/call_params.h"
#include "base/cancel.h"
#include "api/cancel_guard.h"
#include "object/ia.h"

DAT_PROVIDER dofi_guarded;

#define GUARD(n, function, wrapper, ...) \
	DAT_RETURN wrapper(P##n(__VA_ARGS__)) \
	{ \
		DOFI_NO_CANCEL(); \
		return function(A##n); \
	}

static inline bool guard_uses(const char *name)
{
	return strstr(name, "_create") || !strcmp(name, "ep_modify");
}

/* dat_cno_free waits for the CNO's agent, which may close the IA. */
static inline bool guard_counts(const char *name)
{
	return guard_uses(name) || strstr(name, "_connect") ||
	       (strstr(name, "_free") && strcmp(name, "cno_free") != 0);
}

#define CALL(n, name, kind, ...) \
	static DAT_RETURN guarded_##name(P##n(__VA_ARGS__)) \
	{ \
		struct dofi_ia *ia = NULL; \
		DAT_RETURN ret; \
\
		DOFI_NO_CANCEL(); \
		if (guard_counts(#name) && !dofi_ia_enter(a1, guard_uses(#name), &ia)) \
			return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1); \
		ret = dofi_api_vtable.name##_func(A##n); \
		dofi_ia_leave(ia, guard_uses(#name)); \
		return ret; \
	}
#include "../src/calls.def"
#undef CALL

static GUARD(4, dofi_ia_open, guarded_ia_open, const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *,
	     DAT_IA_HANDLE *)
	GUARD(4, dofi_ia_open_threadsafe, dofi_guarded_open_threadsafe, const DAT_NAME_PTR,
	      DAT_COUNT, DAT_EVD_HANDLE *,
	      DAT_IA_HANDLE *) static GUARD(2, dofi_ia_close, guarded_ia_close, DAT_IA_HANDLE,
					    DAT_CLOSE_FLAGS)

/* Not wrapped: calls that may be cancelled while they sleep and calls on the data path. */
/* clang-format off */
#define OWN_GUARD(X) \
	X(evd_wait) X(cno_wait) X(evd_dequeue) X(ep_post_send) X(ep_post_recv) \
	X(ep_post_rdma_read) X(ep_post_rdma_write) X(srq_post_recv) X(get_consumer_context) \
	X(set_consumer_context) X(get_handle_type) X(ep_get_status)
	/* clang-format on */

	static void cancel_guard_fill(void)
{
	dofi_guarded = dofi_api_vtable;
#define CALL(n, name, kind, ...) \
	if (dofi_api_vtable.name##_func) \
		dofi_guarded.name##_func = guarded_##name;
#include "../src/calls.def"
#undef CALL
#define X(name) dofi_guarded.name##_func = dofi_api_vtable.name##_func;
	OWN_GUARD(X)
#undef X
	dofi_guarded.ia_open_func = guarded_ia_open;
	dofi_guarded.ia_close_func = guarded_ia_close;
}

void dofi_cancel_guard_fill(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, cancel_guard_fill);
}
