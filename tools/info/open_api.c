/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does a name open, and what did libdat load for it? Compiled once per API version.
 *
 * libdat is loaded here, with dlopen, in a child process that uses one API version alone: both
 * libraries export the same names, and whatever a provider does to its process ends with it.
 * RTLD_GLOBAL because old providers expect to find libdat among the program's own libraries.
 */
#include "config.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "tell.h"

#define QLEN 8
#define LIBDAT (DAT_API_MAJOR == 1 ? "libdat.so.1" : "libdat2.so.2")

static void tell_file(const char *name, const void *code)
{
	char path[PATH_MAX];
	Dl_info info;

	if (!code || !dladdr(code, &info) || !info.dli_fname)
		return;
	info_tell("", name, realpath(info.dli_fname, path) ? path : info.dli_fname);
}

/* The loader finds what it would find for the user's program; else ours, where it is installed. */
static void *load_libdat(void)
{
	char words[512], path[PATH_MAX];
	const char *error;
	void *library = dlopen(LIBDAT, RTLD_NOW | RTLD_GLOBAL);

	if (library)
		return library;
	error = dlerror();
	snprintf(words, sizeof(words), "%s", error ? error : LIBDAT);
	snprintf(path, sizeof(path), "%s/%s", DATI_PROVIDER_DIR, LIBDAT);
	library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (library)
		info_tell("", "not_searched", DATI_PROVIDER_DIR);
	else
		info_tell("", "no_libdat", words);
	return library;
}

static bool find_calls(void *library, struct info_calls *calls)
{
	const char *missing = NULL;

#define X(name) \
	*(void **)&calls->name = dlsym(library, #name); \
	if (!calls->name) \
		missing = #name;
	INFO_CALLS(X)
#undef X
	if (missing) {
		char words[128];

		snprintf(words, sizeof(words), "%s has no %s", LIBDAT, missing);
		info_tell("", "no_libdat", words);
	}
	return !missing;
}

static void tell_result(const struct info_calls *calls, DAT_RETURN ret)
{
	const char *type = NULL, *subtype = NULL;
	char words[256];

	calls->dat_strerror(ret, &type, &subtype);
	snprintf(words, sizeof(words), "%s%s%s", type ? type : "unknown",
		 subtype && *subtype ? " " : "", subtype ? subtype : "");
	snprintf(words + strlen(words), sizeof(words) - strlen(words), " (0x%08x)",
		 (unsigned int)ret);
	info_tell("", ret == DAT_SUCCESS ? "opened" : "refused", words);
}

/* The provider's table tells which library answered, whatever dat.conf said. */
static void tell_provider(const struct info_calls *calls, DAT_IA_HANDLE ia)
{
	DAT_IA_HANDLE own = DAT_HANDLE_NULL;

#if DAT_API_MAJOR == 1
	if (calls->dats_get_ia_handle((unsigned long)(uintptr_t)ia, &own) != DAT_SUCCESS)
#else
	if (calls->dats_get_ia_handle(ia, &own) != DAT_SUCCESS)
#endif
		return;
	tell_file("library", *(void **)&DAT_HANDLE_TO_PROVIDER(own)->ia_query_func);
}

static void tell_adapter(const struct info_calls *calls, DAT_IA_HANDLE ia)
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
	info_tell("", "adapter", attr.adapter_name);
	for (int i = 0; i < provider.num_provider_specific_attr; i++) {
		const DAT_NAMED_ATTR *named = &provider.provider_specific_attr[i];

		if (!strcmp(named->name, "DAT_OFI_FABRIC"))
			info_tell("", "fabric", named->value);
		else if (!strcmp(named->name, "DAT_OFI_INTERFACE"))
			info_tell("", "interface", named->value);
	}
	info_tell("", "vendor", attr.vendor_name);
	info_tell("", "provider", provider.provider_name);
}

void info_open_tell(const struct info_key *key, bool attributes)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	struct info_calls calls;
	char name[DAT_NAME_MAX_LENGTH];
	DAT_RETURN ret;
	void *library = load_libdat();

	if (!library || !find_calls(library, &calls))
		return;
	tell_file("libdat", *(void **)&calls.dat_ia_openv);
	snprintf(name, sizeof(name), "%s", key->name);
	ret = calls.dat_ia_openv(name, QLEN, &async, &ia, key->major, key->minor,
				 key->threadsafe ? DAT_TRUE : DAT_FALSE);
	tell_result(&calls, ret);
	if (ret != DAT_SUCCESS)
		return;
	tell_provider(&calls, ia);
	tell_adapter(&calls, ia);
	if (attributes)
		info_attr_tell(&calls, ia);
	ret = calls.dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	if (ret == DAT_SUCCESS)
		info_tell("", "closed", "");
}
