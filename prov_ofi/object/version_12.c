/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles, attributes and parameters of objects as uDAPL 1.2 has them. */
#include "object/ep.h"
#include "object/mr.h"
#include "object/rmr.h"
#include "object/version.h"

/* Exported by libdat, but in no public header: maps a slot number to the provider's handle. */
extern DAT_RETURN dats_get_ia_handle(unsigned long slot, DAT_IA_HANDLE *provider_handle);

/* Number of slots searched: the registry's table may have gaps. */
#define SLOTS 4096

const bool dofi_api_srq_attr_optional = false;

DAT_IA_HANDLE dofi_api_ia_handle(struct dofi_ia *ia)
{
	DAT_IA_HANDLE known = atomic_load(&ia->consumer_handle), at;

	for (unsigned long slot = 1; !known && slot < SLOTS; slot++) {
		if (dats_get_ia_handle(slot, &at) || at != (DAT_IA_HANDLE)ia)
			continue;
		known = (DAT_IA_HANDLE)(uintptr_t)slot;
		atomic_store(&ia->consumer_handle, known);
	}
	return known;
}

bool dofi_api_extensions(void)
{
	return false;
}

void dofi_api_ia_attr(struct dofi_ia *ia, DAT_IA_ATTR *attr)
{
	(void)ia;
	(void)attr;
}

void dofi_api_provider_attr(struct dofi_ia *ia, DAT_PROVIDER_ATTR *attr)
{
	(void)ia;
	(void)attr;
}

void dofi_api_ep_param(const struct dofi_ep *ep, DAT_EP_PARAM *param)
{
	(void)ep;
	(void)param;
}

void dofi_api_lmr_param(const struct dofi_lmr *lmr, DAT_LMR_PARAM *param)
{
	(void)lmr;
	(void)param;
}

void dofi_api_rmr_param(const struct dofi_rmr *rmr, DAT_RMR_PARAM *param)
{
	(void)rmr;
	(void)param;
}
