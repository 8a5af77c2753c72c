/* SPDX-License-Identifier: BSD-2-Clause */
/* Which slots that are not in the list of calls does only uDAPL 2.0 have? */
#include "trace_calls.h"

static DAT_RETURN traced_ia_ha_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name,
				       DAT_BOOLEAN *answer)
{
	DOFI_TRACE_OPEN(ia_ha_related, 3, V(ia), V(name), V(answer));
	DAT_RETURN ret = dofi_api_vtable.ia_ha_related_func(ia, name, answer);

	dofi_trace_end(&trace, ret);
	return ret;
}

/* The other arguments are known to the extension alone. */
static DAT_RETURN traced_handle_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	DOFI_TRACE_OPEN(handle_extendedop, 2, V(handle), V(op));
	DAT_RETURN ret = dofi_api_vtable.handle_extendedop_func(handle, op, args);

	dofi_trace_end(&trace, ret);
	return ret;
}

void dofi_trace_apply_version(DAT_PROVIDER *table)
{
	if (table->ia_ha_related_func)
		table->ia_ha_related_func = traced_ia_ha_related;
	if (table->handle_extendedop_func)
		table->handle_extendedop_func = traced_handle_extendedop;
}
