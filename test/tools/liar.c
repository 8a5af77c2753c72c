/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into a DAT 2.0 program: changes what the provider answers, as LIAR in the environment
 * selects. refuse: no dat_ep_modify; attribute: the attribute of fetch-and-add is false; crash,
 * hang: in dat_srq_resize.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat2/udat.h>
#include <dat2/dat_registry.h>

static DAT_IA_QUERY_FUNC true_query;

static DAT_RETURN liar_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
				 const DAT_EP_PARAM *param)
{
	(void)ep;
	(void)mask;
	(void)param;
	return DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED;
}

static DAT_RETURN liar_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *evd, DAT_IA_ATTR_MASK ia_mask,
				DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask,
				DAT_PROVIDER_ATTR *attr)
{
	DAT_RETURN ret = true_query(ia, evd, ia_mask, ia_attr, mask, attr);

	for (int i = 0; !ret && mask && i < attr->num_provider_specific_attr; i++)
		if (!strcmp(attr->provider_specific_attr[i].name, "DAT_IB_FETCH_AND_ADD"))
			((DAT_NAMED_ATTR *)(uintptr_t)&attr->provider_specific_attr[i])->value =
				"FALSE";
	return ret;
}

static DAT_RETURN liar_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT count)
{
	(void)srq;
	(void)count;
	if (!strcmp(getenv("LIAR"), "crash"))
		raise(SIGSEGV);
	while (pause())
		;
	return DAT_SUCCESS;
}

__attribute__((visibility("default"))) DAT_RETURN dat_registry_add_provider(
	const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	void *libdat = dlopen("libdat2.so.2", RTLD_NOW | RTLD_NOLOAD);
	DAT_PROVIDER *table = (DAT_PROVIDER *)(uintptr_t)provider;
	const char *lie = getenv("LIAR");
	__typeof__(dat_registry_add_provider) *true_add;

	*(void **)&true_add = libdat ? dlsym(libdat, "dat_registry_add_provider") : NULL;
	if (!true_add || !lie)
		abort();
	if (!strcmp(lie, "refuse"))
		table->ep_modify_func = liar_ep_modify;
	if (!strcmp(lie, "attribute") && table->ia_query_func != liar_ia_query) {
		true_query = table->ia_query_func;
		table->ia_query_func = liar_ia_query;
	}
	if (!strcmp(lie, "crash") || !strcmp(lie, "hang"))
		table->srq_resize_func = liar_srq_resize;
	return true_add(provider, info);
}
