/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the parsers of option values; on an invalid value they exit with a usage message. */
#ifndef DAT_PERF_ARGS_H
#define DAT_PERF_ARGS_H

#include "perf.h"

void perf_usage(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* A list of names as a mask; "all" is every one. */
long perf_names(const char *opt, char *list, const char *const *name, int n);
/* The index of a name in the table. */
int perf_name(const char *opt, const char *item, const char *const *name, int n);
long perf_number(const char *opt, const char *text, long min, long max);
/* A number of bytes, with K or M if wanted. */
size_t perf_bytes(const char *opt, const char *item, size_t max);
void perf_sizes(struct perf_plan *p, char *list);
void perf_fabrics(struct perf_opts *o, char *list);

/* libfabric's name of the provider below a fabric. */
/* In a plan: the raw twin uses the provider that the adapter reports. */
#define PERF_RAW_AUTO "auto"
const char *perf_raw_provider(const char *fabric, bool one_host);

#endif
