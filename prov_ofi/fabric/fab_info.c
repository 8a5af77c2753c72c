/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries libfabric, and copies fi_info with other addresses. */
#include <stdlib.h>
#include <string.h>

#include "fabric/fab_info.h"

#define API_VERSION FI_VERSION(1, 14)

int dofi_info_get(const struct fi_info *hints, struct fi_info **info)
{
	*info = NULL;
	return dofi_lib.getinfo(API_VERSION, NULL, NULL, 0, hints, info);
}

/* False: no memory. */
static bool info_set_addr(struct fi_info *info, void **field, size_t *len,
			  const union dofi_addr *addr)
{
	free(*field);
	*field = NULL;
	*len = 0;
	if (!addr)
		return true;
	info->addr_format = addr->sa.sa_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	*field = malloc(dofi_addr_len(&addr->sa));
	if (!*field)
		return false;
	*len = dofi_addr_len(&addr->sa);
	memcpy(*field, addr, *len);
	return true;
}

struct fi_info *dofi_info_copy(const struct fi_info *base, const union dofi_addr *source,
			       const union dofi_addr *dest)
{
	struct fi_info *info = dofi_lib.dupinfo(base);

	if (!info)
		return NULL;
	if (info_set_addr(info, &info->src_addr, &info->src_addrlen, source) &&
	    info_set_addr(info, &info->dest_addr, &info->dest_addrlen, dest))
		return info;
	dofi_lib.freeinfo(info);
	return NULL;
}

struct fi_info *dofi_info_hints(enum fi_ep_type type, const char *prov_name,
				const union dofi_addr *source)
{
	struct fi_info *hints = dofi_info_copy(NULL, source, NULL);

	if (!hints)
		return NULL;
	hints->ep_attr->type = type;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->fabric_attr->prov_name = strdup(prov_name);
	if (hints->fabric_attr->prov_name)
		return hints;
	dofi_lib.freeinfo(hints);
	return NULL;
}
