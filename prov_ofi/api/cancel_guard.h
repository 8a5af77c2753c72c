/* SPDX-License-Identifier: BSD-2-Clause */
/* The jump table whose calls are not cancelled half-way (base/cancel.h). */
#ifndef DOFI_CANCEL_GUARD_H
#define DOFI_CANCEL_GUARD_H

#include "base/dat_version.h"

extern DAT_PROVIDER dofi_guarded;

/* Fills the table; to be called before it is used, as often as one likes. */
void dofi_cancel_guard_fill(void);
/* dat_ia_open of an entry that is registered as threadsafe. */
DAT_RETURN dofi_guarded_open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT qlen,
					DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia);

#endif
