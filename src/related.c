/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements dat_registry_providers_related: whether two IA names stand for the same hardware. */
#include "config.h"

#include <string.h>

#include "cancel.h"
#include "diag.h"
#include "iatable.h"
#include "rank.h"
#include "registry.h"
#include "static.h"
#include "use.h"

/* One of the two names. */
struct side {
	DAT_PROVIDER_INFO key;     /* what an open of the name would use, or has used */
	struct dati_use use;       /* keeps its provider loaded */
	struct dati_ia_slot *slot; /* its open IA, pinned; NULL: none is open */
};

static bool name_fits(const char *name)
{
	return name && strnlen(name, DAT_NAME_MAX_LENGTH) < DAT_NAME_MAX_LENGTH;
}

static bool key_is_known(const DAT_PROVIDER_INFO *key)
{
	return dati_dynamic_find(key) || dati_static_serves(key);
}

/* Called with the lock held. */
static bool find_other_version(const char *name, DAT_PROVIDER_INFO *key)
{
	const struct dati_dynamic *reg = dati_dynamic_name(name);
	const struct dati_static *st = dati_static_all();

	while (!reg && st && strcmp(st->info.ia_name, name))
		st = st->next;
	if (reg || st)
		*key = reg ? reg->info : st->info;
	return reg || st;
}

/* The key of an open IA of this name, else that of an entry, preferably for this version. */
static bool find_key(const char *name, DAT_PROVIDER_INFO *key)
{
	struct dati_ia_slot *slot;
	bool known;

	pthread_mutex_lock(&dati_lock);
	slot = dati_ia_first_of(name);
	if (slot)
		*key = slot->reg->info;
	else
		dati_key_set(key, name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE);
	known = slot || key_is_known(key);
	if (!known) {
		key->is_thread_safe = DAT_TRUE;
		known = key_is_known(key) || find_other_version(name, key);
	}
	pthread_mutex_unlock(&dati_lock);
	return known;
}

/* Whether an open would fail in the library of absent hardware, and continue with our provider. */
static enum dati_choice side_choice(const struct side *side)
{
	const struct dati_static *st;

	pthread_mutex_lock(&dati_lock);
	st = dati_ia_first_of(side->key.ia_name) ? NULL : dati_static_find(&side->key);
	if (st && st->transient)
		st = NULL;
	pthread_mutex_unlock(&dati_lock);
	return st && dati_only_last_resort(st) ? DATI_LAST_RESORT : DATI_ANY_CANDIDATE;
}

/* A provider that cannot be loaded is unknown, as are its relations; memory is an error. */
static DAT_RETURN side_load(struct side *side)
{
	enum dati_choice choice = side_choice(side);
	struct dati_attempt attempt;
	DAT_RETURN ret;

	dati_diag_begin(&attempt, &side->key);
	ret = dati_use_begin(&side->key, choice, &attempt, &side->use);
	dati_diag_drop(&attempt);
	if (ret != DAT_SUCCESS)
		side->use = (struct dati_use){ .entry = NULL };
	return ret == DATI_NO_MEMORY ? ret : DAT_SUCCESS;
}

/* Prevents the open IA of a name from being closed during the query. */
static void side_pin(struct side *side)
{
	pthread_mutex_lock(&dati_lock);
	side->slot = dati_ia_first_of(side->key.ia_name);
	if (side->slot)
		side->slot->pins++;
	pthread_mutex_unlock(&dati_lock);
}

static void side_release(struct side *side)
{
	pthread_mutex_lock(&dati_lock);
	if (side->slot)
		side->slot->pins--;
	pthread_cond_broadcast(&dati_changed);
	pthread_mutex_unlock(&dati_lock);
	dati_use_end(&side->use);
}

/* The standard has no such call without an IA; our provider exports a function for it. */
static DAT_RETURN ask_library(const struct side *side, const struct side *other,
			      DAT_BOOLEAN *answer)
{
	const struct dati_static *one = side->use.entry, *two = other->use.entry;

	if (!one || !two || !one->ha_related || one->ha_related != two->ha_related)
		return DATI_NO_CALL;
	return one->ha_related(&side->key, &other->key, answer);
}

static DAT_HA_RELATIONSHIP ask(const struct side *side, struct side *other)
{
	DAT_BOOLEAN answer = DAT_FALSE;
	DAT_RETURN ret = DATI_NO_CALL;
	DAT_PROVIDER *provider;
	void *own;

	if (side->slot) {
		own = atomic_load(&side->slot->own);
		provider = DAT_HANDLE_TO_PROVIDER(own);
		if (provider->ia_ha_related_func)
			ret = provider->ia_ha_related_func(own, other->key.ia_name, &answer);
	} else {
		ret = ask_library(side, other, &answer);
	}
	if (ret != DAT_SUCCESS)
		return DAT_HA_UNKNOWN;
	return answer ? DAT_HA_TRUE : DAT_HA_FALSE;
}

static DAT_HA_RELATIONSHIP ask_both(struct side *one, struct side *two)
{
	DAT_HA_RELATIONSHIP first = ask(one, two), second = first;

	/* If neither is open, the library has compared both ways. */
	if (one->slot || two->slot)
		second = ask(two, one);
	if (first == DAT_HA_UNKNOWN || second == DAT_HA_UNKNOWN)
		return DAT_HA_UNKNOWN;
	return first == second ? first : DAT_HA_CONFLICTING;
}

static DAT_RETURN compare(struct side *one, struct side *two, DAT_HA_RELATIONSHIP *answer)
{
	DAT_RETURN ret = side_load(one);

	if (ret == DAT_SUCCESS)
		ret = side_load(two);
	if (ret == DAT_SUCCESS) {
		side_pin(one);
		side_pin(two);
		*answer = ask_both(one, two);
	}
	side_release(two);
	side_release(one);
	return ret;
}

DAT_RETURN DAT_API dat_registry_providers_related(const DAT_NAME_PTR name1,
						  const DAT_NAME_PTR name2,
						  DAT_HA_RELATIONSHIP *answer)
{
	struct side one = { .key.ia_name = "" }, two = one;
	DAT_RETURN ret;

	DATI_NO_CANCEL();
	if (!name_fits(name1))
		return DATI_BAD_ARG(1);
	if (!name_fits(name2))
		return DATI_BAD_ARG(2);
	if (!answer)
		return DATI_BAD_ARG(3);
	ret = dati_start();
	if (ret != DAT_SUCCESS)
		return ret;
	if (!find_key(name1, &one.key) || !find_key(name2, &two.key))
		return DATI_NOT_REGISTERED;
	if (strcmp(name1, name2))
		ret = compare(&one, &two, answer);
	else
		*answer = DAT_HA_TRUE;
	dati_log(DATI_DBG_CONSUMER, "dat_registry_providers_related \"%s\" \"%s\": 0x%08x", name1,
		 name2, ret);
	return ret;
}
