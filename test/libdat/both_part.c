/* SPDX-License-Identifier: BSD-2-Clause */
/* One of two libraries in a process, each linked with its own libdat; opens and closes an IA. */
#include <stdio.h>
#include <string.h>

#include "dat_api.h"

__attribute__((visibility("default"))) const char *part_open(void);
__attribute__((visibility("default"))) const char *part_use(void);
__attribute__((visibility("default"))) const char *part_close(void);

static DAT_IA_HANDLE ia;
static char text[256];

const char *part_open(void)
{
	DAT_PROVIDER_INFO info[4], *list[4] = { &info[0], &info[1], &info[2], &info[3] };
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_COUNT n = 0;
	DAT_RETURN ret;

	dat_registry_list_providers(4, &n, list);
	ret = dat_ia_open((DAT_NAME_PTR) "both", 8, &async_evd, &ia);
	snprintf(text, sizeof(text), "%d entries, open 0x%x, ia %p", n, ret, (void *)ia);
	return text;
}

const char *part_use(void)
{
	const char *major = "", *minor = "";
	DAT_PZ_HANDLE pz;
	DAT_RETURN ret = dat_pz_create(ia, &pz);

	dat_strerror(dat_ep_free(NULL), &major, &minor);
	snprintf(text, sizeof(text), "pz_create 0x%x, ep_free %s %s, arg1 0x%x", ret, major, minor,
		 dat_registry_list_providers(0, &(DAT_COUNT){ 0 }, NULL));
	return text;
}

const char *part_close(void)
{
	snprintf(text, sizeof(text), "close 0x%x", dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return text;
}
