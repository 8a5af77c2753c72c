/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots of the jump table that only uDAPL 1.2 has. */
#include "trace/trace.h"

void dofi_trace_apply_version(DAT_PROVIDER *table)
{
	(void)table;
}
