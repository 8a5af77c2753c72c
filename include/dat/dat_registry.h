/* SPDX-License-Identifier: BSD-2-Clause */
/* How does a provider register itself? */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#ifndef _UDAT_H_
#error "include udat.h before dat_registry.h"
#endif

#include <dat/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DAT_PROVIDER_INIT_FUNC_STR "dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR "dat_provider_fini"
#define DAT_PROVIDER_INIT_FUNC_NAME dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME dat_provider_fini

typedef void (*DAT_PROVIDER_INIT_FUNC)(
	IN const DAT_PROVIDER_INFO *,
	IN const char *);
typedef void (*DAT_PROVIDER_FINI_FUNC)(
	IN const DAT_PROVIDER_INFO *);

extern DAT_RETURN dat_registry_add_provider(
	IN const DAT_PROVIDER *provider,
	IN const DAT_PROVIDER_INFO *provider_info);

extern DAT_RETURN dat_registry_remove_provider(
	IN const DAT_PROVIDER *provider,
	IN const DAT_PROVIDER_INFO *provider_info);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_REGISTRY_H_ */
