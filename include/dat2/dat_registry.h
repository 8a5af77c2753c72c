/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface between a provider and the registry. */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#ifndef _UDAT_H_
#error "include udat.h before dat_registry.h"
#endif

#include <dat2/udat_redirection.h>

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
typedef void (DAT_API *DAT_PROVIDER_INIT_FUNC)(
	IN const DAT_PROVIDER_INFO *,
	IN const char *);

/* Called when the name is no longer open. */
typedef void (DAT_API *DAT_PROVIDER_FINI_FUNC)(
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
DAT_EXPORT DAT_RETURN DAT_API dat_registry_add_provider(
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
DAT_EXPORT DAT_RETURN DAT_API dat_registry_remove_provider(
	IN const DAT_PROVIDER *provider,
	IN const DAT_PROVIDER_INFO *provider_info);

/* Whether two IAs reach the same hardware or fail over to each other. New in 2.0. */
typedef enum dat_ha_relationship {
	DAT_HA_FALSE = 0,		/* no */
	DAT_HA_TRUE = 1,		/* yes */
	DAT_HA_UNKNOWN = 2,		/* unknown to both providers */
	DAT_HA_CONFLICTING = 3,		/* the providers disagree */
	DAT_HA_EXTENSION_BASE = 4	/* extensions number their answers from here */
} DAT_HA_RELATIONSHIP;

/*
 * dat_registry_providers_related - get whether two IAs are the same hardware, or fail over to each
 * other.
 *
 *   name1   an IA name
 *   name2   another one
 *   answer  out: the answer
 *
 * Returns:
 *   DAT_INVALID_PARAMETER/ARG1, /ARG2, /ARG3    NULL or, for a name, too long
 *   DAT_PROVIDER_NOT_FOUND/NAME_NOT_REGISTERED  a name is not registered
 *
 * [DAT 2.0: dat_registry_providers_related]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_registry_providers_related(
	IN const DAT_NAME_PTR name1,
	IN const DAT_NAME_PTR name2,
	OUT DAT_HA_RELATIONSHIP *answer);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_REGISTRY_H_ */
