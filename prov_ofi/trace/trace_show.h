/* SPDX-License-Identifier: BSD-2-Clause */
/* What the formatters of arguments share. */
#ifndef DOFI_TRACE_SHOW_H
#define DOFI_TRACE_SHOW_H

#include <string.h>

#include "trace/trace.h"

/* A named value; a list of them ends with DOFI_TRACE_END. */
struct dofi_trace_name {
	uint64_t value;
	const char *text;
};

/* clang-format off */
#define DOFI_TRACE_END { 0, NULL }
/* clang-format on */

#define DOFI_TRACE_SHOW(kind) \
	void dofi_show_##kind(struct dofi_text *t, const struct dofi_trace_value *v, unsigned int i)

static inline void *dofi_trace_pointer(const struct dofi_trace_value *v)
{
	void *p;

	memcpy(&p, v->at, sizeof(p));
	return p;
}

/* trace_show.c */
void dofi_trace_add_handle(struct dofi_text *t, DAT_HANDLE handle);
void dofi_trace_add_enum(struct dofi_text *t, uint64_t value, const struct dofi_trace_name *names);

#endif
