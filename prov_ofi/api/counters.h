/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports counters: the calls of dat_ib_extensions.h. */
#ifndef DOFI_API_COUNTERS_H
#define DOFI_API_COUNTERS_H

#include <stdbool.h>

#include "base/dat_version.h"

/* which: a counter of the object's kind, or the number of them, which means all. */
DAT_RETURN dofi_query_counters(DAT_HANDLE handle, int which, DAT_UINT64 *out, bool reset);
/* Prints them on stderr. */
DAT_RETURN dofi_print_counters(DAT_HANDLE handle, int which, bool reset);
/* Starts or stops a group of an IA (DAT_IA_COUNTER_TYPE). */
DAT_RETURN dofi_run_counters(DAT_HANDLE handle, int group, bool run);

#endif
