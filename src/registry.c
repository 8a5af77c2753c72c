/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the dynamic registry, the providers that have registered themselves, and starts and stops
 * it.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cancel.h"
#include "diag.h"
#include "iatable.h"
#include "registry.h"
#include "static.h"

static atomic_bool started, stopped;
static struct dati_dynamic *registered;

DAT_RETURN dati_start(void)
{
	static bool has_diag;

	if (atomic_load(&stopped))
		return DATI_NOT_RUNNING;
	if (atomic_load(&started))
		return DAT_SUCCESS;
	pthread_mutex_lock(&dati_start_lock);
	if (!has_diag)
		dati_diag_start();
	has_diag = true;
	if (!atomic_load(&started))
		atomic_store(&started, dati_static_start());
	pthread_mutex_unlock(&dati_start_lock);
	return atomic_load(&started) ? DAT_SUCCESS : DATI_NO_MEMORY;
}

/*
 * Runs when the library is unloaded or the process exits. At exit, IAs may still be open and used
 * by other threads: then nothing is freed.
 */
__attribute__((destructor)) static void registry_stop(void)
{
	struct dati_dynamic *d;

	if (atomic_exchange(&stopped, true))
		return;
	dati_diag_report_deferred();
	pthread_mutex_lock(&dati_lock);
	if (dati_ia_none() && dati_static_stop()) {
		dati_diag_stop();
		while ((d = registered)) {
			registered = d->next;
			free(d);
		}
		dati_ia_free_blocks();
	}
	pthread_mutex_unlock(&dati_lock);
}

struct dati_dynamic *dati_dynamic_find(const DAT_PROVIDER_INFO *key)
{
	struct dati_dynamic *d;

	for (d = registered; d; d = d->next)
		if (dati_key_equal(&d->info, key))
			break;
	return d;
}

struct dati_dynamic *dati_dynamic_name(const char *name)
{
	struct dati_dynamic *d;

	for (d = registered; d; d = d->next)
		if (!strcmp(d->info.ia_name, name))
			break;
	return d;
}

struct dati_dynamic *dati_dynamic_extension(const DAT_PROVIDER *provider)
{
	struct dati_dynamic *d;

	for (d = registered; d; d = d->next)
		if (d->provider == provider && d->extensions)
			break;
	return d;
}

static void registry_unlink(const DAT_PROVIDER_INFO *key, const void *image)
{
	struct dati_dynamic **at = &registered, *d;

	while ((d = *at)) {
		if (d->uses || !(key ? dati_key_equal(&d->info, key) : d->image == image)) {
			at = &d->next;
			continue;
		}
		*at = d->next;
		free(d);
	}
}

void dati_dynamic_remove(const DAT_PROVIDER_INFO *key)
{
	registry_unlink(key, NULL);
}

void dati_dynamic_remove_image(const void *image)
{
	if (image)
		registry_unlink(NULL, image);
}

const void *dati_image_of(const void *code)
{
	Dl_info image;

	return code && dladdr(code, &image) ? image.dli_fbase : NULL;
}

static bool is_terminated(const char name[DAT_NAME_MAX_LENGTH])
{
	return memchr(name, '\0', DAT_NAME_MAX_LENGTH) != NULL;
}

static DAT_RETURN registry_begin(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	if (!provider)
		return DATI_BAD_ARG(1);
	if (!info || !is_terminated(info->ia_name))
		return DATI_BAD_ARG(2);
	return dati_start();
}

DAT_RETURN DAT_API dat_registry_add_provider(const DAT_PROVIDER *provider,
					     const DAT_PROVIDER_INFO *info)
{
	struct dati_dynamic *d;
	DAT_RETURN ret;

	DATI_NO_CANCEL();
	ret = registry_begin(provider, info);
	if (ret != DAT_SUCCESS)
		return ret;
	d = calloc(1, sizeof(*d));
	if (!d)
		return DATI_NO_MEMORY;
	d->info = *info;
	d->provider = provider;
	d->ia_open = provider->ia_open_func;
	d->image = dati_image_of(*(void *const *)&d->ia_open);

	pthread_mutex_lock(&dati_lock);
	if (dati_dynamic_find(info)) {
		pthread_mutex_unlock(&dati_lock);
		free(d);
		return DATI_ERROR(DAT_PROVIDER_ALREADY_REGISTERED, 0);
	}
	d->next = registered;
	registered = d;
	pthread_mutex_unlock(&dati_lock);
	dati_log(DATI_DBG_DYNAMIC, "provider registered for " DATI_KEY_FORMAT, DATI_KEY_ARGS(info));
	return DAT_SUCCESS;
}

DAT_RETURN DAT_API dat_registry_remove_provider(const DAT_PROVIDER *provider,
						const DAT_PROVIDER_INFO *info)
{
	struct dati_dynamic *d;
	DAT_RETURN ret;

	DATI_NO_CANCEL();
	ret = registry_begin(provider, info);
	if (ret != DAT_SUCCESS)
		return ret;

	pthread_mutex_lock(&dati_lock);
	d = dati_dynamic_find(info);
	if (!d)
		ret = DATI_NOT_REGISTERED;
	else if (d->uses)
		ret = DATI_ERROR(DAT_PROVIDER_IN_USE, 0);
	else
		dati_dynamic_remove(info);
	pthread_mutex_unlock(&dati_lock);
	if (ret == DAT_SUCCESS)
		dati_log(DATI_DBG_DYNAMIC, "provider removed for " DATI_KEY_FORMAT,
			 DATI_KEY_ARGS(info));
	return ret;
}

DAT_RETURN DAT_API dat_registry_list_providers(DAT_COUNT max, DAT_COUNT *entries,
					       DAT_PROVIDER_INFO *list[])
{
	DAT_RETURN ret = DAT_SUCCESS;
	const struct dati_static *st;
	DAT_COUNT n = 0, all = 0;

	DATI_NO_CANCEL();
	if (!entries)
		return DATI_BAD_ARG(2);
	ret = dati_start();
	if (ret != DAT_SUCCESS)
		return ret;
	dati_diag_probing();

	pthread_mutex_lock(&dati_lock);
	for (st = dati_static_first(); st; st = dati_static_next(st), all++) {
		if (ret || n >= max)
			continue;
		if (!list || !list[n])
			ret = DATI_BAD_ARG(3);
		else
			*list[n++] = st->info;
	}
	pthread_mutex_unlock(&dati_lock);
	if (max <= 0)
		ret = DATI_BAD_ARG(1);
	else if (!list)
		ret = DATI_BAD_ARG(3);
	/* A list that is too short is filled; the number of entries is returned with the error. */
	*entries = ret ? all : n;
	return ret;
}
