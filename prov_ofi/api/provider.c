/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements the entry points for the registry library. */
#include <stdlib.h>
#include <stdio.h>

#include "base/log.h"
#include "base/param.h"
#include "api/cancel_guard.h"
#include "api/provider_list.h"
#include "trace/trace.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT void DAT_PROVIDER_INIT_FUNC_NAME(const DAT_PROVIDER_INFO *info, const char *instance_data);
EXPORT void DAT_PROVIDER_FINI_FUNC_NAME(const DAT_PROVIDER_INFO *info);

static struct dofi_provider *provider_make(const DAT_PROVIDER_INFO *info)
{
	struct dofi_provider *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->info = *info;
	dofi_cancel_guard_fill();
	p->vtable = dofi_guarded;
	p->vtable.device_name = p->info.ia_name;
	if (info->is_thread_safe)
		p->vtable.ia_open_func = dofi_guarded_open_threadsafe;
	if (dofi_param_path(DOFI_STR_TRACE))
		dofi_trace_apply(&p->vtable, &dofi_guarded, info->is_thread_safe);
	dofi_provider_add(p);
	return p;
}

void DAT_PROVIDER_INIT_FUNC_NAME(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
	struct dofi_provider *p;

	dofi_param_load();
	dofi_trace_load();
	if (info->dapl_version_major != DOFI_API_MAJOR ||
	    info->dapl_version_minor != DOFI_API_MINOR) {
		dofi_report("this provider is for DAT %u.%u, the registry requests %u.%u",
			    DOFI_API_MAJOR, DOFI_API_MINOR, info->dapl_version_major,
			    info->dapl_version_minor);
		return;
	}
	pthread_mutex_lock(&dofi_provider_lock);
	p = dofi_provider_record(info->ia_name, info->is_thread_safe);
	if (!p)
		p = provider_make(info);
	if (p) {
		snprintf(p->params, sizeof(p->params), "%s", instance_data ? instance_data : "");
		p->registered = true;
	}
	pthread_mutex_unlock(&dofi_provider_lock);
	if (p && dat_registry_add_provider(&p->vtable, &p->info))
		dofi_report("the registry refused IA '%s'", info->ia_name);
}

void DAT_PROVIDER_FINI_FUNC_NAME(const DAT_PROVIDER_INFO *info)
{
	struct dofi_provider *p;

	pthread_mutex_lock(&dofi_provider_lock);
	p = dofi_provider_record(info->ia_name, info->is_thread_safe);
	if (p)
		p->registered = false;
	pthread_mutex_unlock(&dofi_provider_lock);
	if (p)
		dat_registry_remove_provider(&p->vtable, &p->info);
}
