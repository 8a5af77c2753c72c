/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads the provider library of a name, and unloads it. */
#ifndef DATI_LOAD_H
#define DATI_LOAD_H

#include "diag.h"
#include "static.h"

enum dati_choice {
	DATI_ANY_CANDIDATE,
	DATI_LAST_RESORT, /* only our provider for a legacy name, unless already tried */
};

/*
 * Loads the provider of a key, unless it is loaded, and counts one use. NULL when there is no such
 * entry or none of its libraries registers the key; the reasons go to `attempt` unless it is NULL.
 */
struct dati_static *dati_load(const DAT_PROVIDER_INFO *key, enum dati_choice choice,
			      struct dati_attempt *attempt);

/* Drops one use; the last one calls fini and unloads the library. */
void dati_unload(struct dati_static *st);

/* Drops one use of the entry that has this key; false when there is none. */
bool dati_unload_key(const DAT_PROVIDER_INFO *key);

#endif /* DATI_LOAD_H */
