/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the references that keep a provider loaded while an IA or an extension is open. */
#ifndef DATI_USE_H
#define DATI_USE_H

#include "load.h"
#include "registry.h"

/* One use of the static entry (if there is one) and one of the registration. */
struct dati_use {
	struct dati_static *entry;
	struct dati_dynamic *reg;
};

/* Takes both references; DATI_NOT_REGISTERED, with none taken, when no provider has the key, or
 * DATI_NO_MEMORY if one could not register it. */
DAT_RETURN dati_use_begin(const DAT_PROVIDER_INFO *key, enum dati_choice choice,
			  struct dati_attempt *attempt, struct dati_use *use);
void dati_use_end(struct dati_use *use);

#endif /* DATI_USE_H */
