/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of uDAPL 2.0 that have sources of their own. */
#ifndef DOFI_API_EXT_H
#define DOFI_API_EXT_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/dat_version.h"

/* ---------------------------------------------------------------- counter_calls.c */

/* which: a counter of the object's kind, or the number of them, which means all. */
DAT_RETURN dofi_query_counters(DAT_HANDLE handle, int which, DAT_UINT64 *out, bool reset);
/* Prints them on stderr. */
DAT_RETURN dofi_print_counters(DAT_HANDLE handle, int which, bool reset);
/* Starts or stops a group of an IA (DAT_IA_COUNTER_TYPE). */
DAT_RETURN dofi_run_counters(DAT_HANDLE handle, int group, bool run);

/* ---------------------------------------------------------------- ext_query.c */

/* `args`, also below, are the arguments of the macros in dat_ib_extensions.h. libdat passes the
 * name on in place of a handle. */
DAT_RETURN dofi_ext_open_query(const char *name, va_list args);
DAT_RETURN dofi_ext_close_query(DAT_HANDLE handle);

/* ---------------------------------------------------------------- ext_ud.c */

DAT_RETURN dofi_ext_ud_send(DAT_HANDLE ep, va_list args);
DAT_RETURN dofi_ext_ud_cm_free(DAT_HANDLE ep, va_list args);
DAT_RETURN dofi_ext_ud_ah_free(DAT_HANDLE ep, va_list args);

/* ---------------------------------------------------------------- ha_related.c */

DAT_RETURN dofi_ia_ha_related(DAT_IA_HANDLE handle, const DAT_NAME_PTR name, DAT_BOOLEAN *answer);

#endif
