/* SPDX-License-Identifier: BSD-2-Clause */
/* DAPL_OFI_TRACE: every call of the program, told with arguments, result and time.
 *
 * A traced IA name has a jump table of its own, whose slots lead through the wrappers of
 * trace/trace_calls.c; without the setting nothing is different.
 */
#ifndef DOFI_TRACE_H
#define DOFI_TRACE_H

#include <time.h>

#include "base/text.h"
#include "base/dat_version.h"

/* An argument, by address: the wrappers know neither its type nor its meaning. */
struct dofi_trace_value {
	const void *at;
	size_t size;
};

/* How one argument is told. `i` is its index; others may be looked at, too. */
typedef void (*dofi_trace_format)(struct dofi_text *t, const struct dofi_trace_value *v,
				unsigned int i);

struct dofi_trace_arg {
	const char *name;
	dofi_trace_format in;		/* told before the call; NULL: only an output */
	dofi_trace_format out;		/* told after success; NULL: no output */
};

/* One call that is under way; on the stack of its wrapper. */
struct dofi_trace_call {
	const char *name;		/* without "dat_" */
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
/* Leads the slots of a jump table through the wrappers, if tracing is on. */
void dofi_trace_apply(DAT_PROVIDER *table, DAT_BOOLEAN thread_safe);
/* The same for the slots that only one version has (trace/trace_12.c, trace/trace_20.c). */
void dofi_trace_apply_version(DAT_PROVIDER *table);

/* How the kinds of arguments are told (trace/trace_show.c). In: by value, or what a pointer leads to.
 * Those called _out read through a pointer after the call. */
#define DOFI_TRACE_SHOWS(X) \
	X(handle) X(handle_out) X(text) X(num) X(num_out) X(long_out) X(hex) \
	X(hex_out) X(address_out) X(time) \
	X(cookie) X(cookie_out) X(segs) X(segs_before) X(seg) X(target) X(priv) X(addr) \
	X(event) X(region) X(agent) X(ptr) X(boolean) X(boolean_out) X(completion_flags) \
	X(evd_flags) X(mem_type) X(mem_priv) X(va_type) X(connect_flags) X(close_flags) \
	X(psp_flags) X(qos) X(ep_state_out) X(handle_type_out) X(ep_attr) X(srq_attr) \
	X(cr_param_out) X(ep_param_out)
#define X(name) \
	void dofi_show_##name(struct dofi_text *t, const struct dofi_trace_value *v, \
			      unsigned int i);
DOFI_TRACE_SHOWS(X)
#undef X

#define DOFI_TAKES(name, how) { name, dofi_show_##how, NULL }
#define DOFI_GIVES(name, how) { name, NULL, dofi_show_##how }

#endif
