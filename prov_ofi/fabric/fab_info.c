/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries libfabric; copies and frees fi_info of libfabric and of this library's fabrics.
 *
 * The fabrics of msgep/ have infos that libfabric never sees. This library allocates them, so that
 * shm does not need libfabric. Infos of libfabric are copied by libfabric only: a version that is
 * newer than the headers of this build has longer structures.
 */
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

static bool info_set_addrs(struct fi_info *info, const union dofi_addr *source,
			   const union dofi_addr *dest)
{
	return info_set_addr(info, &info->src_addr, &info->src_addrlen, source) &&
	       info_set_addr(info, &info->dest_addr, &info->dest_addrlen, dest);
}

/* ---------------------------------------------------------------- infos of our own fabrics */

/* A copy of `size` bytes; NULL: of nothing, or (*ok becomes false) no memory. */
static void *info_dup_part(const void *part, size_t size, bool *ok)
{
	void *copy = part ? malloc(size) : NULL;

	if (copy)
		memcpy(copy, part, size);
	else if (part)
		*ok = false;
	return copy;
}

static char *info_dup_text(const char *text, bool *ok)
{
	return info_dup_part(text, text ? strlen(text) + 1 : 0, ok);
}

static void info_dup_domain(struct fi_domain_attr *copy, const struct fi_domain_attr *base,
			    bool *ok)
{
	copy->name = info_dup_text(base->name, ok);
	copy->auth_key = info_dup_part(base->auth_key, base->auth_key_size, ok);
}

/* Without addresses. NULL: no memory. */
static struct fi_info *info_dup_own(const struct fi_info *base)
{
	struct fi_info *copy = malloc(sizeof(*copy));
	bool ok = true;

	if (!copy)
		return NULL;
	*copy = *base;
	copy->next = NULL;
	copy->src_addr = copy->dest_addr = NULL;
	copy->src_addrlen = copy->dest_addrlen = 0;
	copy->nic = NULL;
	copy->tx_attr = info_dup_part(base->tx_attr, sizeof(*base->tx_attr), &ok);
	copy->rx_attr = info_dup_part(base->rx_attr, sizeof(*base->rx_attr), &ok);
	copy->ep_attr = info_dup_part(base->ep_attr, sizeof(*base->ep_attr), &ok);
	if (copy->ep_attr)
		copy->ep_attr->auth_key =
			info_dup_part(base->ep_attr->auth_key, base->ep_attr->auth_key_size, &ok);
	copy->domain_attr = info_dup_part(base->domain_attr, sizeof(*base->domain_attr), &ok);
	if (copy->domain_attr)
		info_dup_domain(copy->domain_attr, base->domain_attr, &ok);
	copy->fabric_attr = info_dup_part(base->fabric_attr, sizeof(*base->fabric_attr), &ok);
	if (copy->fabric_attr) {
		copy->fabric_attr->name = info_dup_text(base->fabric_attr->name, &ok);
		copy->fabric_attr->prov_name = info_dup_text(base->fabric_attr->prov_name, &ok);
	}
	if (ok)
		return copy;
	dofi_own_info_free(copy);
	return NULL;
}

void dofi_own_info_free(struct fi_info *info)
{
	free(info->src_addr);
	free(info->dest_addr);
	free(info->tx_attr);
	free(info->rx_attr);
	if (info->ep_attr)
		free(info->ep_attr->auth_key);
	free(info->ep_attr);
	if (info->domain_attr) {
		free(info->domain_attr->name);
		free(info->domain_attr->auth_key);
	}
	free(info->domain_attr);
	if (info->fabric_attr) {
		free(info->fabric_attr->name);
		free(info->fabric_attr->prov_name);
	}
	free(info->fabric_attr);
	free(info);
}

struct fi_info *dofi_own_info_copy(const struct fi_info *base, const union dofi_addr *source,
				   const union dofi_addr *dest)
{
	static struct fi_tx_attr tx;
	static struct fi_rx_attr rx;
	static struct fi_ep_attr ep;
	static struct fi_domain_attr domain;
	static struct fi_fabric_attr fabric;
	static const struct fi_info empty = { .tx_attr = &tx,
					      .rx_attr = &rx,
					      .ep_attr = &ep,
					      .domain_attr = &domain,
					      .fabric_attr = &fabric };
	struct fi_info *info = info_dup_own(base ? base : &empty);

	if (!info)
		return NULL;
	if (info_set_addrs(info, source, dest))
		return info;
	dofi_own_info_free(info);
	return NULL;
}

/* ---------------------------------------------------------------- infos of libfabric */

struct fi_info *dofi_info_copy(const struct fi_info *base, const union dofi_addr *source,
			       const union dofi_addr *dest)
{
	struct fi_info *info = dofi_lib.dupinfo(base);

	if (!info)
		return NULL;
	if (info_set_addrs(info, source, dest))
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

/* ---------------------------------------------------------------- infos of an adapter */

struct fi_info *dofi_fab_info_copy(const struct dofi_fab *fab, const union dofi_addr *source,
				   const union dofi_addr *dest)
{
	return fab->desc->transport ? dofi_own_info_copy(fab->info, source, dest)
				    : dofi_info_copy(fab->info, source, dest);
}

void dofi_fab_info_free(const struct dofi_fab *fab, struct fi_info *info)
{
	if (fab->desc->transport)
		dofi_own_info_free(info);
	else
		dofi_lib.freeinfo(info);
}
