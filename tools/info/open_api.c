/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a name and reports the result and the libraries as facts. Compiled once per API version.
 * Loads libdat with dlopen, in a child process that uses one API version only: both libraries
 * export the same names, and side effects of a provider end with the process. RTLD_GLOBAL, because
 * old providers resolve libdat's symbols in the global scope.
 */
#include "config.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "facts.h"

#define QLEN 8
#define LIBDAT (DAT_API_MAJOR == 1 ? "libdat.so.1" : "libdat2.so.2")

static void put_library(const char *name, const void *code)
{
	char path[PATH_MAX];
	Dl_info info;

	if (!code || !dladdr(code, &info) || !info.dli_fname)
		return;
	info_put_text("", name, realpath(info.dli_fname, path) ? path : info.dli_fname);
}

/* Loads the libdat that the loader finds for programs, else the installed one. */
static void *load_libdat(void)
{
	char message[512], path[PATH_MAX];
	const char *error;
	void *library = dlopen(LIBDAT, RTLD_NOW | RTLD_GLOBAL);

	if (library)
		return library;
	error = dlerror();
	snprintf(message, sizeof(message), "%s", error ? error : LIBDAT);
	snprintf(path, sizeof(path), "%s/%s", DATI_PROVIDER_DIR, LIBDAT);
	library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (library)
		info_put_text("", "not_searched", DATI_PROVIDER_DIR);
	else
		info_put_text("", "no_libdat", message);
	return library;
}

static bool libdat_find_calls(void *library, struct info_calls *calls)
{
	const char *missing = NULL;

#define X(name) \
	*(void **)&calls->name = dlsym(library, #name); \
	if (!calls->name) \
		missing = #name;
	INFO_CALLS(X)
#undef X
	if (missing) {
		char message[128];

		snprintf(message, sizeof(message), "%s has no %s", LIBDAT, missing);
		info_put_text("", "no_libdat", message);
	}
	return !missing;
}

static void put_result(const struct info_calls *calls, DAT_RETURN ret)
{
	const char *type = NULL, *subtype = NULL;
	char message[256];

	calls->dat_strerror(ret, &type, &subtype);
	snprintf(message, sizeof(message), "%s%s%s", type ? type : "unknown",
		 subtype && *subtype ? " " : "", subtype ? subtype : "");
	snprintf(message + strlen(message), sizeof(message) - strlen(message), " (0x%08x)",
		 (unsigned int)ret);
	info_put_text("", ret == DAT_SUCCESS ? "opened" : "refused", message);
}

/* Reports the library of the provider's table, which may differ from that in dat.conf. */
static void put_provider(const struct info_calls *calls, DAT_IA_HANDLE ia)
{
	DAT_IA_HANDLE own = DAT_HANDLE_NULL;

#if DAT_API_MAJOR == 1
	if (calls->dats_get_ia_handle((unsigned long)(uintptr_t)ia, &own) != DAT_SUCCESS)
#else
	if (calls->dats_get_ia_handle(ia, &own) != DAT_SUCCESS)
#endif
		return;
	put_library("library", *(void **)&DAT_HANDLE_TO_PROVIDER(own)->ia_query_func);
}

static void put_adapter(const struct info_calls *calls, DAT_IA_HANDLE ia)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	memset(&attr, 0, sizeof(attr));
	memset((void *)&provider, 0, sizeof(provider));
	if (calls->dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL,
				&provider) != DAT_SUCCESS)
		return;
	attr.adapter_name[sizeof(attr.adapter_name) - 1] = '\0';
	attr.vendor_name[sizeof(attr.vendor_name) - 1] = '\0';
	provider.provider_name[sizeof(provider.provider_name) - 1] = '\0';
	info_put_text("", "adapter", attr.adapter_name);
	for (int i = 0; i < provider.num_provider_specific_attr; i++) {
		const DAT_NAMED_ATTR *named = &provider.provider_specific_attr[i];

		if (!strcmp(named->name, "DAT_OFI_FABRIC"))
			info_put_text("", "fabric", named->value);
		else if (!strcmp(named->name, "DAT_OFI_INTERFACE"))
			info_put_text("", "interface", named->value);
	}
	info_put_text("", "vendor", attr.vendor_name);
	info_put_text("", "provider", provider.provider_name);
}

void info_open_report(const struct info_key *key, enum info_open_part parts)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	struct info_calls calls;
	char name[DAT_NAME_MAX_LENGTH];
	DAT_RETURN ret;
	void *library = load_libdat();

	if (!library || !libdat_find_calls(library, &calls))
		return;
	put_library("libdat", *(void **)&calls.dat_ia_openv);
	snprintf(name, sizeof(name), "%s", key->name);
	ret = calls.dat_ia_openv(name, QLEN, &async, &ia, key->major, key->minor,
				 key->threadsafe ? DAT_TRUE : DAT_FALSE);
	put_result(&calls, ret);
	if (ret != DAT_SUCCESS)
		return;
	put_provider(&calls, ia);
	put_adapter(&calls, ia);
	if (parts >= INFO_OPEN_ATTRIBUTES)
		info_attr_report(&calls, ia);
	if (parts == INFO_OPEN_CALLS) {
		info_calls_report(library, name, ia);
		return;
	}
	ret = calls.dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	if (ret == DAT_SUCCESS)
		info_put_text("", "closed", "");
}
