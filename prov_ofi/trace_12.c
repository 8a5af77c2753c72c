/* SPDX-License-Identifier: BSD-2-Clause */
/* Which slots does only uDAPL 1.2 have? */
#include "trace.h"

void dofi_trace_apply_version(DAT_PROVIDER *table)
{
	(void)table;
}
