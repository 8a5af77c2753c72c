/* SPDX-License-Identifier: BSD-2-Clause */
/* The collective operations of dat_ib_collectives.h: members, groups, operations (2.0 only). */
#ifndef DOFI_COLL_H
#define DOFI_COLL_H

#include <stdarg.h>

#include "base/dat_version.h"

/* True if `op` is one of the operations of this folder. */
bool dofi_coll_has(DAT_EXTENDED_OP op);
/* Executes it; `args` are the arguments of its macro. */
DAT_RETURN dofi_coll_call(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args);

#endif
