/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface between a provider and the registry. */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#ifndef _UDAT_H_
#error "include udat.h before dat_registry.h"
#endif

#include <dat/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The registry loads the library that dat.conf names and calls the two functions below
 * in it, once per IA name. Initialisation registers a table of functions under the very
 * name, version and thread-safety passed in, or returns without doing so when it
 * cannot serve. The end takes the registration back.
 */
#define DAT_PROVIDER_INIT_FUNC_NAME	dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME	dat_provider_fini
#define DAT_PROVIDER_INIT_FUNC_STR	"dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR	"dat_provider_fini"

/* Called before a name is opened: registration wanted, and the entry's seventh field. */
typedef void (*DAT_PROVIDER_INIT_FUNC)(
	IN const DAT_PROVIDER_INFO *,
	IN const char *);

/* Called when the name is no longer open. */
typedef void (*DAT_PROVIDER_FINI_FUNC)(
	IN const DAT_PROVIDER_INFO *);

/*
 * dat_registry_add_provider - register a provider under an IA name.
 *
 *   provider       its table of functions, which must stay; device_name must equal the IA name
 *   provider_info  name, version and thread-safety; copied
 *
 * Returns:
 *   DAT_INVALID_PARAMETER/ARG1, /ARG2  NULL
 *   DAT_PROVIDER_ALREADY_REGISTERED    name, version and thread-safety are taken
 *   DAT_INVALID_STATE                  the registry is shut down
 *   DAT_INSUFFICIENT_RESOURCES         no memory
 *
 * [DAT 1.2 / 2.0: dat_registry_add_provider]
 */
extern DAT_RETURN dat_registry_add_provider(
	IN const DAT_PROVIDER *provider,
	IN const DAT_PROVIDER_INFO *provider_info);

/*
 * dat_registry_remove_provider - take a registration back.
 *
 *   provider       as registered
 *   provider_info  as registered
 *
 * Returns:
 *   DAT_INVALID_PARAMETER/ARG1, /ARG2           NULL
 *   DAT_PROVIDER_IN_USE                         one of its IAs is still open
 *   DAT_PROVIDER_NOT_FOUND/NAME_NOT_REGISTERED  there is no such registration
 *
 * [DAT 1.2 / 2.0: dat_registry_remove_provider]
 */
extern DAT_RETURN dat_registry_remove_provider(
	IN const DAT_PROVIDER *provider,
	IN const DAT_PROVIDER_INFO *provider_info);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_REGISTRY_H_ */
