/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements dat_registry_providers_related: whether two IA names stand for the same hardware. */
#include "config.h"

#include <string.h>

#include "cancel.h"
#include "iatable.h"
#include "registry.h"
#include "static.h"

static bool name_is_known(const char *name)
{
	const struct dati_static *st;
	bool known;

	pthread_mutex_lock(&dati_lock);
	known = dati_dynamic_name(name) != NULL;
	for (st = dati_static_all(); st && !known; st = st->next)
		known = !strcmp(st->info.ia_name, name);
	pthread_mutex_unlock(&dati_lock);
	return known;
}

/* Prevents the open IA of a name from being closed during the query. */
static struct dati_ia_slot *ia_pin(const char *name)
{
	struct dati_ia_slot *slot;

	pthread_mutex_lock(&dati_lock);
	slot = dati_ia_first_of(name);
	if (slot)
		slot->pins++;
	pthread_mutex_unlock(&dati_lock);
	return slot;
}

static void ia_unpin(struct dati_ia_slot *slot)
{
	pthread_mutex_lock(&dati_lock);
	slot->pins--;
	pthread_cond_broadcast(&dati_changed);
	pthread_mutex_unlock(&dati_lock);
}

/* Queries the provider of an open IA; no provider is loaded for the query. */
static DAT_HA_RELATIONSHIP query_related(char *name, char *other)
{
	struct dati_ia_slot *slot = ia_pin(name);
	DAT_BOOLEAN answer = DAT_FALSE;
	DAT_PROVIDER *provider;
	DAT_RETURN ret = DATI_NO_CALL;
	void *own;

	if (!slot)
		return DAT_HA_UNKNOWN;
	own = atomic_load(&slot->own);
	provider = DAT_HANDLE_TO_PROVIDER(own);
	if (provider->ia_ha_related_func)
		ret = provider->ia_ha_related_func(own, other, &answer);
	ia_unpin(slot);
	if (ret != DAT_SUCCESS)
		return DAT_HA_UNKNOWN;
	return answer ? DAT_HA_TRUE : DAT_HA_FALSE;
}

DAT_RETURN DAT_API dat_registry_providers_related(const DAT_NAME_PTR name1,
						  const DAT_NAME_PTR name2,
						  DAT_HA_RELATIONSHIP *answer)
{
	DAT_HA_RELATIONSHIP first, second;
	DAT_RETURN ret;

	DATI_NO_CANCEL();
	if (!name1)
		return DATI_BAD_ARG(1);
	if (!name2)
		return DATI_BAD_ARG(2);
	if (!answer)
		return DATI_BAD_ARG(3);
	ret = dati_start();
	if (ret != DAT_SUCCESS)
		return ret;
	if (!name_is_known(name1) || !name_is_known(name2))
		return DATI_NOT_REGISTERED;
	if (!strcmp(name1, name2)) {
		*answer = DAT_HA_TRUE;
		return DAT_SUCCESS;
	}
	first = query_related(name1, name2);
	second = query_related(name2, name1);
	if (first == DAT_HA_UNKNOWN || second == DAT_HA_UNKNOWN)
		*answer = DAT_HA_UNKNOWN;
	else
		*answer = first == second ? first : DAT_HA_CONFLICTING;
	return DAT_SUCCESS;
}
