/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the dynamic registry: the registered providers, the registry lock and its start. */
#ifndef DATI_REGISTRY_H
#define DATI_REGISTRY_H

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "dati_api.h"

/*
 * One lock protects both registries and the table of IAs. It is never held while a library is
 * loaded or unloaded, nor while provider code runs: providers call back into the registry.
 * dati_changed is signalled when a static entry or an IA leaves its transitory state.
 */
extern pthread_mutex_t dati_lock;
extern pthread_cond_t dati_changed;

/* A provider registered for one name, version and thread-safety. */
struct dati_dynamic {
	struct dati_dynamic *next;
	DAT_PROVIDER_INFO info;
	const DAT_PROVIDER *provider;
	DAT_IA_OPEN_FUNC ia_open;
	const void *image;       /* where the code of ia_open is mapped */
	unsigned int uses;       /* open IAs and open extensions */
	unsigned int extensions; /* of these, open extensions */
};

/*
 * Starts the registry unless it is running. DATI_NO_MEMORY: the next call retries;
 * DATI_NOT_RUNNING: the library is being unloaded.
 */
DAT_RETURN dati_start(void);

static inline bool dati_key_equal(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return a->dapl_version_major == b->dapl_version_major &&
	       a->dapl_version_minor == b->dapl_version_minor &&
	       a->is_thread_safe == b->is_thread_safe && !strcmp(a->ia_name, b->ia_name);
}

/*
 * `name` is shorter than the member; the rest of the member is zeroed, since keys are copied
 * whole.
 */
static inline void dati_key_set(DAT_PROVIDER_INFO *key, const char *name, DAT_UINT32 major,
				DAT_UINT32 minor, DAT_BOOLEAN thread_safe)
{
	strncpy(key->ia_name, name, sizeof(key->ia_name) - 1);
	key->ia_name[sizeof(key->ia_name) - 1] = '\0';
	key->dapl_version_major = major;
	key->dapl_version_minor = minor;
	key->is_thread_safe = thread_safe;
}

/*
 * The load address of the library that `code` belongs to. Enters the loader: call it without
 * locks.
 */
const void *dati_image_of(const void *code);

/* The functions below are called with dati_lock held. */
struct dati_dynamic *dati_dynamic_find(const DAT_PROVIDER_INFO *key);
struct dati_dynamic *dati_dynamic_name(const char *name);
struct dati_dynamic *dati_dynamic_extension(const DAT_PROVIDER *provider);

/* Remove registrations that fini left: they must not outlive the code of the provider. */
void dati_dynamic_remove(const DAT_PROVIDER_INFO *key);
void dati_dynamic_remove_image(const void *image);

#endif /* DATI_REGISTRY_H */
