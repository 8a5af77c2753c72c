/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares how fabrics are opened without a registry file. */
#ifndef DAT_PERF_FABRIC_H
#define DAT_PERF_FABRIC_H

#include "perf.h"

/* The name of the private entry for a fabric. */
void perf_private_ia(char *ia, size_t len, const char *fabric);

/* Restricts this process and its children to private entries for these fabrics. */
int perf_private_registry(const char *const *fabric, int n, const char *domain);

/* Opens and closes all layers of the plan in a child process; on failure `reason` is set. */
int perf_probe(const struct perf_plan *plan, const char *ia, const char *addr, char *reason,
	       size_t reason_len);

#endif
