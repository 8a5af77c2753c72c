/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps a provider loaded while an IA or an extension is open. */
#include "config.h"

#include "diag.h"
#include "use.h"

DAT_RETURN dati_use_begin(const DAT_PROVIDER_INFO *key, enum dati_choice choice,
			  struct dati_attempt *attempt, struct dati_use *use)
{
	/* Without an entry, the program may have registered a provider itself. */
	use->entry = dati_load(key, choice, attempt);
	use->reg = NULL;
	if (!use->entry && choice == DATI_LAST_RESORT)
		return DATI_NOT_REGISTERED;
	pthread_mutex_lock(&dati_lock);
	use->reg = dati_dynamic_find(key);
	if (use->reg)
		use->reg->uses++;
	pthread_mutex_unlock(&dati_lock);
	if (use->reg)
		return DAT_SUCCESS;
	dati_use_end(use);
	return attempt && attempt->no_memory ? DATI_NO_MEMORY : DATI_NOT_REGISTERED;
}

void dati_use_end(struct dati_use *use)
{
	if (use->reg) {
		pthread_mutex_lock(&dati_lock);
		use->reg->uses--;
		pthread_mutex_unlock(&dati_lock);
	}
	if (use->entry)
		dati_unload(use->entry);
}
