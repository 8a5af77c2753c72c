/* SPDX-License-Identifier: BSD-2-Clause */
/* Macros that generate the wrapper of a traced call. */
#ifndef DOFI_TRACE_CALLS_H
#define DOFI_TRACE_CALLS_H

#include "trace/trace.h"

/* The entries of trace/trace_args.def, by call and number of parameters. */
#define TAKES(name, how) DOFI_TAKES(name, how)
#define GIVES(name, how) DOFI_GIVES(name, how)
#define ARGS(call, n, ...) \
	__attribute__(( \
		unused)) static const struct dofi_trace_arg args_##call##_##n[] = { __VA_ARGS__ }; \
	_Static_assert(sizeof(args_##call##_##n) / sizeof(struct dofi_trace_arg) == (n), \
		       "dat_" #call " has " #n " parameters");
#include "trace/trace_args.def"
#undef ARGS
#undef GIVES
#undef TAKES

/* clang-format off */
#define V(x) { &(x), sizeof(x) }
/* clang-format on */

/* Declares `trace` for a call with the given values, as V(parameter), ... */
#define DOFI_TRACE_OPEN(call, n, ...) \
	const struct dofi_trace_value values[] = { __VA_ARGS__ }; \
	struct dofi_trace_call trace = { \
		.name = #call, .args = args_##call##_##n, .values = values, .num = (n) \
	}; \
\
	dofi_trace_begin(&trace)

#endif
