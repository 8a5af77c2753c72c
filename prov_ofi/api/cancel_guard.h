/* SPDX-License-Identifier: BSD-2-Clause */
/* Jump table whose calls cannot be cancelled while they run (base/cancel.h). */
#ifndef DOFI_CANCEL_GUARD_H
#define DOFI_CANCEL_GUARD_H

#include "base/dat_version.h"

extern DAT_PROVIDER dofi_guarded;

/* Fills the table. Call before its first use; may be repeated. */
void dofi_cancel_guard_fill(void);
/* dat_ia_open of an entry registered as threadsafe. */
DAT_RETURN dofi_guarded_open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT qlen,
					DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia);

#endif
