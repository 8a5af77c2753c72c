/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares two adapters: whether they use the same interface of the same fabric (2.0). */
#include <string.h>

#include "api/ext.h"
#include "base/cancel.h"
#include "base/dat_error.h"
#include "base/log.h"
#include "fabrics/fabrics.h"
#include "object/ia.h"

/* The registry library looks this symbol up, for names of which no IA is open. The names have been
 * passed to dat_provider_init, and not yet to dat_provider_fini. */
__attribute__((visibility("default"))) DAT_RETURN dapl_ofi_ha_related(const DAT_PROVIDER_INFO *one,
								      const DAT_PROVIDER_INFO *two,
								      DAT_BOOLEAN *answer);

static void log_choice(const char *name, const struct dofi_fab *fab)
{
	dofi_log(DOFI_LOG_INFO, "IA '%s' would use %s on %s", name,
		 fab->desc ? fab->desc->name : "no fabric",
		 fab->netdev[0] ? fab->netdev : "nothing");
}

/* Compares `fab`, which `own` has opened or, with `own_err` 0, would open, with what `other` would
 * open. Entries with the same parameters open the same adapter, once there is one. */
static DAT_RETURN ha_compare(const struct dofi_provider *own, const struct dofi_fab *fab,
			     int own_err, const struct dofi_provider *other, DAT_BOOLEAN *answer)
{
	struct dofi_fab that;
	int err = dofi_fab_select(&that, other->params);
	DAT_RETURN ret = DAT_SUCCESS;

	log_choice(other->info.ia_name, &that);
	if (!own_err && !err)
		*answer = dofi_fab_related(fab, &that) ? DAT_TRUE : DAT_FALSE;
	else if (!strcmp(own->params, other->params))
		*answer = DAT_TRUE;
	else if (fab->desc && that.desc && !dofi_fab_connects(fab, &that))
		*answer = DAT_FALSE;
	else
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	dofi_fab_close(&that);
	return ret;
}

/* A name that this library has not been initialised for may be that of another provider. */
DAT_RETURN dofi_ia_ha_related(DAT_IA_HANDLE handle, const DAT_NAME_PTR name, DAT_BOOLEAN *answer)
{
	const struct dofi_provider *own, *other;
	struct dofi_ia *ia = dofi_ia_live(handle);

	DOFI_NO_CANCEL();
	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!answer)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	own = (const struct dofi_provider *)ia->obj.provider;
	if (!strcmp(name, own->info.ia_name)) {
		*answer = DAT_TRUE;
		return DAT_SUCCESS;
	}
	other = dofi_provider_find(name, own->info.is_thread_safe);
	if (!other)
		other = dofi_provider_find(name, !own->info.is_thread_safe);
	if (!other)
		return DOFI_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	return ha_compare(own, &ia->fab, 0, other, answer);
}

DAT_RETURN dapl_ofi_ha_related(const DAT_PROVIDER_INFO *one, const DAT_PROVIDER_INFO *two,
			       DAT_BOOLEAN *answer)
{
	const struct dofi_provider *first = dofi_provider_find(one->ia_name, one->is_thread_safe);
	const struct dofi_provider *second = dofi_provider_find(two->ia_name, two->is_thread_safe);
	struct dofi_fab fab;
	DAT_RETURN ret;
	int err;

	DOFI_NO_CANCEL();
	if (!first || !second)
		return DOFI_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	err = dofi_fab_select(&fab, first->params);
	log_choice(first->info.ia_name, &fab);
	ret = ha_compare(first, &fab, err, second, answer);
	dofi_fab_close(&fab);
	return ret;
}
