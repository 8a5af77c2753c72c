/* SPDX-License-Identifier: BSD-2-Clause */
/* How does a provider register itself? */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#ifndef _UDAT_H_
#error "include udat.h before dat_registry.h"
#endif

#include <dat2/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DAT_PROVIDER_INIT_FUNC_STR "dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR "dat_provider_fini"
#define DAT_PROVIDER_INIT_FUNC_NAME dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME dat_provider_fini

typedef enum dat_ha_relationship {
	DAT_HA_FALSE = 0,
	DAT_HA_TRUE = 1,
	DAT_HA_UNKNOWN = 2,
	DAT_HA_CONFLICTING = 3,
	DAT_HA_EXTENSION_BASE = 4
} DAT_HA_RELATIONSHIP;

typedef void (DAT_API *DAT_PROVIDER_INIT_FUNC)(
	IN const DAT_PROVIDER_INFO *,
	IN const char *);
typedef void (DAT_API *DAT_PROVIDER_FINI_FUNC)(
	IN const DAT_PROVIDER_INFO *);

DAT_EXPORT DAT_RETURN DAT_API dat_registry_add_provider(
	IN const DAT_PROVIDER *provider,
	IN const DAT_PROVIDER_INFO *provider_info);

DAT_EXPORT DAT_RETURN DAT_API dat_registry_remove_provider(
	IN const DAT_PROVIDER *provider,
	IN const DAT_PROVIDER_INFO *provider_info);

DAT_EXPORT DAT_RETURN DAT_API dat_registry_providers_related(
	IN const DAT_NAME_PTR name1,
	IN const DAT_NAME_PTR name2,
	OUT DAT_HA_RELATIONSHIP *answer);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_REGISTRY_H_ */
