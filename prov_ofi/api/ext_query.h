/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of an adapter that the program has not opened; uDAPL 2.0 only. */
#ifndef DOFI_EXT_QUERY_H
#define DOFI_EXT_QUERY_H

#include <stdarg.h>

#include "base/dat_version.h"

/* `args` are the arguments of the macros in dat_ib_extensions.h; libdat passes the name on in place
 * of a handle. */
DAT_RETURN dofi_ext_open_query(const char *name, va_list args);
DAT_RETURN dofi_ext_close_query(DAT_HANDLE handle);

#endif
