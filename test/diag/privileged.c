/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program with more privileges than its caller, which opens and closes an adapter by a
 * built-in name.
 *
 *   privileged PROVIDER IA    PROVIDER: the provider library's absolute path
 *
 * It prints "secure" or "plain" (AT_SECURE) on standard error, and the variables of libfabric that
 * are in the environment while the adapter is open.
 */
#include "../api/api.h"

#include <dlfcn.h>
#include <sys/auxv.h>

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (argc != 3)
		return 2;
	/*
	 * The environment has no path to the libraries of this build tree: the registry finds the
	 * provider that is already loaded.
	 */
	if (!dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	fprintf(stderr, "%s\n", getauxval(AT_SECURE) ? "secure" : "plain");
	ret = dat_ia_openv(argv[2], 8, &async, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
			   DAT_FALSE);
	if (ret != DAT_SUCCESS) {
		fprintf(stderr, "dat_ia_open: 0x%08x\n", ret);
		return 1;
	}
	/* libfabric reads some variables after its initialisation. */
	for (char **at = environ; *at; at++)
		if (!strncmp(*at, "FI_", 3))
			fprintf(stderr, "remains: %s\n", *at);
	return dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS;
}
