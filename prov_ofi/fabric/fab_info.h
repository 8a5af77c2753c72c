/* SPDX-License-Identifier: BSD-2-Clause */
/* Queries and copies of libfabric's fi_info. */
#ifndef DOFI_FAB_INFO_H
#define DOFI_FAB_INFO_H

#include "fabric/fab.h"

/* fi_getinfo; the caller frees the list. 0 or a negative error. */
int dofi_info_get(const struct fi_info *hints, struct fi_info **info);
/* A copy of `base` (NULL: an empty one) with these addresses; NULL: without. NULL: no memory. */
struct fi_info *dofi_info_copy(const struct fi_info *base, const union dofi_addr *source,
			       const union dofi_addr *dest);
/* Hints for endpoints of a provider at `source`; NULL: at any address. NULL: no memory. */
struct fi_info *dofi_info_hints(enum fi_ep_type type, const char *prov_name,
				const union dofi_addr *source);

#endif
