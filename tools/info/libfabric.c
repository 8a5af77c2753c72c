/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads libfabric and lists what it finds. */
#include "config.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "libfabric.h"

#define LIBFABRIC "libfabric.so.1"

const char *info_libfabric_load(struct info_libfabric *lib)
{
	int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
		       struct fi_info **);
	void *handle;

	memset(lib, 0, sizeof(*lib));
	/* A library that libfabric links would install handlers of signals. */
	setenv("IPATH_NO_BACKTRACE", "1", 0);
	handle = dlopen(LIBFABRIC, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return dlerror();
	*(void **)&getinfo = dlsym(handle, "fi_getinfo");
	*(void **)&lib->version = dlsym(handle, "fi_version");
	*(void **)&lib->error_text = dlsym(handle, "fi_strerror");
	*(void **)&lib->tostr = dlsym(handle, "fi_tostr");
	if (!getinfo || !lib->version || !lib->error_text || !lib->tostr)
		return LIBFABRIC " lacks fi_getinfo";
	lib->ret = getinfo(FI_VERSION(1, 14), NULL, NULL, 0, NULL, &lib->list);
	return NULL;
}
