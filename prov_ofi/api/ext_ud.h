/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagram endpoints of the InfiniBand extension: their calls; uDAPL 2.0 only. */
#ifndef DOFI_EXT_UD_H
#define DOFI_EXT_UD_H

#include <stdarg.h>

#include "base/dat_version.h"

/* `args` are the arguments of the macros in dat_ib_extensions.h. */
DAT_RETURN dofi_ext_ud_send(DAT_HANDLE ep, va_list args);
DAT_RETURN dofi_ext_ud_cm_free(DAT_HANDLE ep, va_list args);
DAT_RETURN dofi_ext_ud_ah_free(DAT_HANDLE ep, va_list args);

#endif
