/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A DAT program of either API version: prints the registry, and for each adapter name whether it
 * opens, thread-safe or not, and the address family of its adapter.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#if DAT_API_MAJOR == 1
#include <dat/udat.h>
#define MINOR 2
#else
#include <dat2/udat.h>
#define MINOR 0
#endif

#define MAX_NAMES 64

static int list(void)
{
	static DAT_PROVIDER_INFO info[MAX_NAMES];
	DAT_PROVIDER_INFO *infos[MAX_NAMES];
	DAT_COUNT n = 0;

	for (int i = 0; i < MAX_NAMES; i++)
		infos[i] = &info[i];
	if (dat_registry_list_providers(MAX_NAMES, &n, infos) != DAT_SUCCESS)
		return 1;
	for (int i = 0; i < n; i++)
		if (info[i].dapl_version_major == DAT_API_MAJOR && !info[i].is_thread_safe)
			printf("listed: %s\n", info[i].ia_name);
	return 0;
}

static int try_name(char *name, DAT_BOOLEAN thread_safe)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_ATTR attr;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	ret = dat_ia_openv(name, 8, &evd, &ia, DAT_API_MAJOR, MINOR, thread_safe);
	if (ret != DAT_SUCCESS) {
		printf("%s: 0x%08x\n", name, ret);
		return 1;
	}
	memset(&attr, 0, sizeof(attr));
	ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL);
	if (ret == DAT_SUCCESS)
		printf("%s: %s\n", name,
		       ((struct sockaddr *)attr.ia_address_ptr)->sa_family == AF_INET6 ? "IPv6"
										       : "IPv4");
	return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS || ret != DAT_SUCCESS;
}

int main(int argc, char **argv)
{
	int bad = list();

	for (int i = 1; i < argc; i++) {
		bad |= try_name(argv[i], DAT_FALSE);
		bad |= try_name(argv[i], DAT_TRUE);
	}
	return bad;
}
