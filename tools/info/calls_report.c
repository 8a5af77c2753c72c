/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes every call of an API version over an open adapter and reports the results as facts: the
 * order of the run, the registry. Compiled once per API version.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "calls_run.h"
#include "facts.h"

#define MAX_NAMES 256

/* ---- the registry ---- */

void info_run_registry(void)
{
	static DAT_PROVIDER_INFO names[MAX_NAMES], key;
	static DAT_PROVIDER own;
	DAT_PROVIDER_INFO *list[MAX_NAMES];
	const char *type = NULL, *subtype = NULL;
	DAT_IA_HANDLE handle;
	DAT_COUNT n = 0;

	for (int i = 0; i < MAX_NAMES; i++)
		list[i] = &names[i];
	TRY(dat_registry_list_providers, MAX_NAMES, &n, list);
	snprintf(key.ia_name, sizeof(key.ia_name), "dat_info-own");
	key.dapl_version_major = DAT_VERSION_MAJOR;
	key.dapl_version_minor = DAT_VERSION_MINOR;
	own.device_name = key.ia_name;
	if (TRY(dat_registry_add_provider, &own, &key))
		TRY(dat_registry_remove_provider, &own, &key);
#if DAT_API_MAJOR == 1
	TRY(dats_get_ia_handle, (unsigned long)(uintptr_t)info_run.ia, &handle);
#else
	DAT_HA_RELATIONSHIP related;

	TRY(dats_get_ia_handle, info_run.ia, &handle);
	TRY(dat_registry_providers_related, info_run.name, info_run.name, &related);
#endif
	TRY(dat_strerror, DAT_SUCCESS, &type, &subtype);
	if (!D.dat_strevent)
		info_run_missing("dat_strevent");
	else if (strcmp(D.dat_strevent(DAT_SOFTWARE_EVENT), "DAT_SOFTWARE_EVENT"))
		info_run_wrong("dat_strevent", NULL, "not the event's name");
	else
		info_run_result("dat_strevent", NULL, DAT_SUCCESS);
}

/* ---- the run ---- */

static void run_handle(void)
{
	DAT_CONTEXT context = { .as_64 = 7 };
	DAT_HANDLE_TYPE type;

	TRY(dat_set_consumer_context, info_run.ia, context);
	context.as_64 = 0;
	if (TRY(dat_get_consumer_context, info_run.ia, &context) && context.as_64 != 7)
		info_run_wrong("dat_get_consumer_context", NULL, "not the context that was set");
	if (TRY(dat_get_handle_type, info_run.ia, &type) && type != DAT_HANDLE_TYPE_IA)
		info_run_wrong("dat_get_handle_type", NULL, "not DAT_HANDLE_TYPE_IA");
}

/* Calls that need two connected endpoints. */
static void run_connected(void)
{
	struct info_run_end a = { .ep = NULL }, b = a;

	if (info_run_end_make(&a, NULL, NULL) && info_run_end_make(&b, NULL, NULL)) {
		if (info_run_connect(&a, &b)) {
			info_run_data(&a, &b);
#if DAT_API_MAJOR >= 2
			if (D.dat_extension_op)
				info_run_extension(&a, &b);
			else
				info_run_missing("dat_extension_op");
#endif
			info_run_disconnect(&a, &b);
		}
		info_run_srq(&a);
	}
	info_run_end_free(&a);
	info_run_end_free(&b);
}

void info_calls_report(void *library, const char *name, DAT_IA_HANDLE ia)
{
	static char own_name[DAT_NAME_MAX_LENGTH];
	DAT_EVD_HANDLE async;

#define X(call) *(void **)&D.call = dlsym(library, #call);
	INFO_RUN_CALLS(X)
#undef X
	snprintf(own_name, sizeof(own_name), "%s", name);
	info_run.name = own_name;
	info_run.ia = ia;
	info_run.wait_us = RUN_WAIT_US;
	info_run_result("dat_ia_openv", NULL, DAT_SUCCESS);
	info_run_registry();
	TRY(dat_ia_query, ia, &async, DAT_IA_FIELD_ALL, &info_run.attr, 0, NULL);
	run_handle();
	info_run_events();
	if (TRY(dat_pz_create, ia, &info_run.pz)) {
		info_run_memory();
		info_run_connections();
		run_connected();
#if DAT_API_MAJOR >= 2
		if (D.dat_extension_op) {
			info_run_datagrams();
			info_run_collectives();
		}
#endif
		if (info_run.psp)
			TRY(dat_psp_free, info_run.psp);
		if (info_run.cr_evd)
			TRY(dat_evd_free, info_run.cr_evd);
		TRY(dat_pz_free, info_run.pz);
	}
	/* Gracefully: this also shows that nothing is left. */
	if (!TRY(dat_ia_close, ia, DAT_CLOSE_GRACEFUL_FLAG))
		D.dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
}
