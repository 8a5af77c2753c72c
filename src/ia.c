/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes IAs, between consumer, registry and provider. */
#include "config.h"

#include <string.h>

#include "cancel.h"
#include "diag.h"
#include "extension.h"
#include "iatable.h"
#include "use.h"

struct open_args {
	DAT_NAME_PTR name;
	DAT_COUNT qlen;
	DAT_EVD_HANDLE *async_evd;
	DAT_IA_HANDLE *ia;
};

static void attempt_add_failure(struct dati_attempt *attempt, const struct dati_use *use,
				DAT_RETURN ret)
{
	const char *type = dati_type_name(ret), *subtype = dati_subtype_name(ret);
	char origin[DATI_REASON_SIZE];

	if (!use->entry) {
		dati_diag_add_reason(attempt, "provider registered by the program refused: %s %s",
				     type, subtype);
		return;
	}
	dati_candidate_origin(use->entry, use->entry->candidate, origin, sizeof(origin));
	dati_diag_add_reason(attempt, "%s: %s refused: %s %s", origin,
			     use->entry->candidate->library, type, subtype);
}

/* Adds the slot before querying the provider, which may look up the consumer's handle. */
static DAT_RETURN ia_publish(struct dati_use *use, void *own, DAT_IA_HANDLE *ia)
{
	DAT_PROVIDER *provider = DAT_HANDLE_TO_PROVIDER(own);
	DAT_IA_HANDLE handle;
	int err;

	pthread_mutex_lock(&dati_lock);
	err = dati_ia_add(own, use->reg, &handle);
	pthread_mutex_unlock(&dati_lock);
	if (err) {
		if (provider->ia_close_func)
			provider->ia_close_func(own, DAT_CLOSE_ABRUPT_FLAG);
		return DATI_NO_MEMORY;
	}
	*ia = handle;
#if DAT_API_MAJOR >= 2
	dati_extension_detect(own);
#endif
	return DAT_SUCCESS;
}

static DAT_RETURN ia_open_with(const struct open_args *args, const DAT_PROVIDER_INFO *key,
			       enum dati_choice choice, struct dati_attempt *attempt)
{
	DAT_IA_HANDLE own = DAT_HANDLE_NULL;
	struct dati_use use;
	DAT_RETURN ret;

	ret = dati_use_begin(key, choice, attempt, &use);
	if (ret != DAT_SUCCESS)
		return ret;
	if (use.reg->ia_open)
		ret = use.reg->ia_open(args->name, args->qlen, args->async_evd, &own);
	else
		ret = DATI_NO_CALL;
	if (ret == DAT_SUCCESS && !own)
		ret = DATI_ERROR(DAT_INTERNAL_ERROR, 0);
	if (ret == DAT_SUCCESS)
		ret = ia_publish(&use, own, args->ia);
	if (ret != DAT_SUCCESS) {
		attempt_add_failure(attempt, &use, ret);
		dati_use_end(&use);
	}
	return ret;
}

DAT_RETURN DAT_API dat_ia_openv(const DAT_NAME_PTR name, DAT_COUNT async_event_qlen,
				DAT_EVD_HANDLE *async_event_handle, DAT_IA_HANDLE *ia_handle,
				DAT_UINT32 dapl_major, DAT_UINT32 dapl_minor,
				DAT_BOOLEAN thread_safety)
{
	struct open_args args = { name, async_event_qlen, async_event_handle, ia_handle };
	DAT_PROVIDER_INFO key = { .ia_name = "" };
	struct dati_attempt attempt;
	DAT_RETURN ret;

	DATI_NO_CANCEL();
	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return DATI_BAD_ARG(1);
	if (!ia_handle)
		return DATI_BAD_HANDLE(IA);
	ret = dati_start();
	if (ret != DAT_SUCCESS)
		return ret;
	dati_key_set(&key, name, dapl_major, dapl_minor, thread_safety);
	dati_diag_begin(&attempt, &key);
	ret = ia_open_with(&args, &key, DATI_ANY_CANDIDATE, &attempt);
	/*
	 * A legacy name may stand for absent hardware. If the last resort fails as well, return
	 * the first error.
	 */
	if (ret != DAT_SUCCESS &&
	    ia_open_with(&args, &key, DATI_LAST_RESORT, &attempt) == DAT_SUCCESS)
		ret = DAT_SUCCESS;
	dati_diag_end(&attempt, ret);
	dati_log(DATI_DBG_CONSUMER, "dat_ia_openv " DATI_KEY_FORMAT ": 0x%08x", DATI_KEY_ARGS(&key),
		 ret);
	return ret;
}

/* Of two threads that close the same IA, the second gets an invalid handle. */
static void *ia_close_begin(DAT_IA_HANDLE ia)
{
	struct dati_ia_slot *slot;
	void *own = NULL;

	pthread_mutex_lock(&dati_lock);
	slot = dati_ia_slot((uintptr_t)ia);
	if (slot && !slot->closing)
		own = dati_ia_own(ia);
	if (own) {
		slot->closing = true;
		while (slot->pins)
			pthread_cond_wait(&dati_changed, &dati_lock);
	}
	pthread_mutex_unlock(&dati_lock);
	return own;
}

static void ia_close_cancel(DAT_IA_HANDLE ia)
{
	pthread_mutex_lock(&dati_lock);
	dati_ia_slot((uintptr_t)ia)->closing = false;
	pthread_mutex_unlock(&dati_lock);
}

/*
 * A provider whose attributes differ from its registration is not found: it stays loaded and the
 * close fails, as in the original DAT.
 */
static DAT_RETURN ia_close_end(DAT_IA_HANDLE ia, const DAT_PROVIDER_INFO *key)
{
	struct dati_dynamic *reg;

	pthread_mutex_lock(&dati_lock);
	reg = dati_dynamic_find(key);
	if (reg && reg->uses)
		reg->uses--;
	dati_ia_remove(ia);
	pthread_mutex_unlock(&dati_lock);
	if (!dati_unload_key(key) && !reg)
		return DATI_NOT_REGISTERED;
	return DAT_SUCCESS;
}

DAT_RETURN DAT_API dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
	DAT_PROVIDER_INFO key = { .ia_name = "" };
	DAT_PROVIDER_ATTR attr;
	DAT_PROVIDER *provider;
	DAT_RETURN ret;
	void *own;

	DATI_NO_CANCEL();
	own = ia_close_begin(ia_handle);
	if (!own)
		return DATI_BAD_HANDLE(IA);
	provider = DAT_HANDLE_TO_PROVIDER(own);
	memset(&attr, 0, sizeof(attr));
	ret = DATI_NO_CALL;
	if (provider->ia_query_func && provider->ia_close_func)
		ret = provider->ia_query_func(own, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr);
	dati_key_set(&key, provider->device_name ? provider->device_name : "",
		     attr.dapl_version_major, attr.dapl_version_minor, attr.is_thread_safe);
	if (ret == DAT_SUCCESS)
		ret = provider->ia_close_func(own, flags);
	if (ret == DAT_SUCCESS)
		ret = ia_close_end(ia_handle, &key);
	else
		ia_close_cancel(ia_handle);
	dati_log(DATI_DBG_CONSUMER, "dat_ia_close %p: 0x%08x", (void *)ia_handle, ret);
	return ret;
}

/* Translates in both directions: a consumer's IA number, or a provider's pointer. */
#if DAT_API_MAJOR == 1
DAT_RETURN dats_get_ia_handle(unsigned long value, DAT_IA_HANDLE *handle)
#else
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE value, DAT_IA_HANDLE *handle)
#endif
{
	void *from = (void *)value, *to;

	if (!handle)
		return DATI_BAD_ARG(2);
	to = dati_ia_own(from);
	if (!to && from)
		to = dati_ia_handle_of(from);
	if (!to)
		return DATI_BAD_HANDLE(IA);
	*handle = to;
	return DAT_SUCCESS;
}
