/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries and copies of fi_info, libfabric's and this library's. */
#ifndef DOFI_FAB_INFO_H
#define DOFI_FAB_INFO_H

#include "fabric/fab.h"

/* fi_getinfo; the caller frees the list. 0 or a negative error. */
int dofi_info_get(const struct fi_info *hints, struct fi_info **info);
/* A copy of an info of libfabric (NULL: an empty one) with these addresses; NULL: without. To be
 * freed by dofi_lib.freeinfo. NULL: no memory. */
struct fi_info *dofi_info_copy(const struct fi_info *base, const union dofi_addr *source,
			       const union dofi_addr *dest);
/* The same for infos of msgep/, without libfabric. */
struct fi_info *dofi_own_info_copy(const struct fi_info *base, const union dofi_addr *source,
				   const union dofi_addr *dest);
void dofi_own_info_free(struct fi_info *info);
/* A copy of the adapter's info with these addresses, and its end. The same for the info of a
 * request that arrived there. */
struct fi_info *dofi_fab_info_copy(const struct dofi_fab *fab, const union dofi_addr *source,
				   const union dofi_addr *dest);
void dofi_fab_info_free(const struct dofi_fab *fab, struct fi_info *info);
/* Hints for endpoints of a provider at `source`; NULL: at any address. NULL: no memory. */
struct fi_info *dofi_info_hints(enum fi_ep_type type, const char *prov_name,
				const union dofi_addr *source);

#endif
