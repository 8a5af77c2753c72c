/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the dynamic registry: the registered providers, and the start of the registry. */
#ifndef DATI_REGISTRY_H
#define DATI_REGISTRY_H

#include "key.h"
#include "lock.h"

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
