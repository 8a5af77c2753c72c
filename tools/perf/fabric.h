/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens fabrics without a registry file. */
#ifndef DAT_PERF_FABRIC_H
#define DAT_PERF_FABRIC_H

#include "perf.h"

/* The name of the private entry for a fabric. */
void perf_private_ia(char *ia, size_t len, const char *fabric);

/* Makes this process and its children see private entries for these fabrics alone. */
int perf_private_registry(const char *const *fabric, int n, const char *domain);

/* Opens and closes all that the plan needs, in a process of its own; `why` tells why not. */
int perf_probe(const struct perf_plan *plan, const char *ia, const char *addr, char *why,
	       size_t why_len);

#endif
