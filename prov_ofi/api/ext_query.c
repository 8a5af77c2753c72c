/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of an adapter that the program has not opened: dat_ib_open_query, and its close. */
#include "api/ext.h"
#include "base/dat_error.h"
#include "object/ia.h"

/* libdat has loaded the provider for one of the thread safeties, in the same order. */
static DAT_RETURN query_open_ia(const DAT_NAME_PTR name, DAT_IA_HANDLE *ia)
{
	/* The program has no EVD for asynchronous events of this IA. */
	DAT_EVD_HANDLE async_evd = DAT_EVD_OUT_OF_SCOPE;

	if (dofi_provider_find(name, DAT_FALSE))
		return dofi_ia_open(name, 1, &async_evd, ia);
	return dofi_ia_open_threadsafe(name, 1, &async_evd, ia);
}

/* The attributes contain pointers, which stay valid because the IA stays open until the query is
 * closed. libdat has no number for it, so that no other call takes the handle for that of an IA. */
DAT_RETURN dofi_ext_open_query(const char *name, va_list args)
{
	DAT_IA_HANDLE *out = va_arg(args, DAT_IA_HANDLE *);
	DAT_IA_ATTR_MASK ia_mask = va_arg(args, DAT_IA_ATTR_MASK);
	DAT_IA_ATTR *ia_attr = va_arg(args, DAT_IA_ATTR *);
	DAT_PROVIDER_ATTR_MASK prov_mask = va_arg(args, DAT_PROVIDER_ATTR_MASK);
	DAT_PROVIDER_ATTR *prov_attr = va_arg(args, DAT_PROVIDER_ATTR *);
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = query_open_ia((DAT_NAME_PTR)(uintptr_t)name, &ia);
	if (ret)
		return ret;
	ret = dofi_ia_query(ia, NULL, ia_mask, ia_attr, prov_mask, prov_attr);
	if (ret) {
		dofi_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
		return ret;
	}
	((struct dofi_ia *)ia)->query_only = true;
	*out = ia;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_ext_close_query(DAT_HANDLE handle)
{
	struct dofi_ia *ia = dofi_ia_live(handle);

	if (!ia || !ia->query_only)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return dofi_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG);
}
