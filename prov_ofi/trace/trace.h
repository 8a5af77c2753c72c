/* SPDX-License-Identifier: BSD-2-Clause */
/* DAPL_OFI_TRACE: prints every call of the program with arguments, result and time.
 *
 * A traced IA name has its own jump table, whose slots point to the wrappers of
 * trace/trace_calls.c. Without the setting the table is unchanged.
 */
#ifndef DOFI_TRACE_H
#define DOFI_TRACE_H

#include <time.h>

#include "base/text.h"
#include "base/dat_version.h"

/* An argument by address: the wrappers know neither its type nor its meaning. */
struct dofi_trace_value {
	const void *at;
	size_t size;
};

/* Formats argument `i`; may read the others, too. */
typedef void (*dofi_trace_format)(struct dofi_text *t, const struct dofi_trace_value *v,
				  unsigned int i);

struct dofi_trace_arg {
	const char *name;
	dofi_trace_format in;  /* before the call; NULL: output only */
	dofi_trace_format out; /* after success; NULL: not an output */
};

/* One running call; on the stack of its wrapper. */
struct dofi_trace_call {
	const char *name; /* without "dat_" */
	const struct dofi_trace_arg *args;
	const struct dofi_trace_value *values;
	unsigned int num;
	struct timespec wall;
	uint64_t begun;
	struct dofi_text text;
};

void dofi_trace_begin(struct dofi_trace_call *call);
void dofi_trace_end(struct dofi_trace_call *call, DAT_RETURN ret);

/* Reads the setting; called at each provider initialisation, after dofi_param_load(). */
void dofi_trace_load(void);
/* Points the slots of a jump table to the wrappers, which call those of `next`, the same table for
 * all names; only the open function is that of the name. Calls are serialised. */
void dofi_trace_apply(DAT_PROVIDER *table, const DAT_PROVIDER *next, DAT_BOOLEAN thread_safe);
extern const DAT_PROVIDER *dofi_trace_next;
/* The same for the slots that only one version has (trace/trace_12.c, trace/trace_20.c). */
void dofi_trace_apply_version(DAT_PROVIDER *table);

/* Formatters by kind of argument (trace/trace_show.c). They print a value or the target of a
 * pointer; those named _out dereference a pointer after the call. */
/* clang-format off */
#define DOFI_TRACE_SHOWS(X) \
	X(handle) X(handle_out) X(text) X(num) X(num_out) X(long_out) X(hex) \
	X(hex_out) X(address_out) X(time) \
	X(cookie) X(cookie_out) X(segs) X(segs_before) X(seg) X(target) X(priv) X(addr) \
	X(event) X(region) X(agent) X(ptr) X(boolean) X(boolean_out) X(completion_flags) \
	X(evd_flags) X(mem_type) X(mem_priv) X(va_type) X(connect_flags) X(close_flags) \
	X(psp_flags) X(qos) X(ep_state_out) X(handle_type_out) X(ep_attr) X(srq_attr) \
	X(cr_param_out) X(ep_param_out)
/* clang-format on */
#define X(name) \
	void dofi_show_##name(struct dofi_text *t, const struct dofi_trace_value *v, \
			      unsigned int i);
DOFI_TRACE_SHOWS(X)
#undef X

/* clang-format off */
#define DOFI_TAKES(name, how) { name, dofi_show_##how, NULL }
#define DOFI_GIVES(name, how) { name, NULL, dofi_show_##how }
/* clang-format on */

#endif
