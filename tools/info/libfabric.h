/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads libfabric, which this program is not linked with. */
#ifndef INFO_LIBFABRIC_H
#define INFO_LIBFABRIC_H

#include <rdma/fabric.h>

struct info_libfabric {
	uint32_t (*version)(void);
	const char *(*error_text)(int);
	char *(*tostr)(const void *, enum fi_type);
	struct fi_info *list; /* all that it finds */
	int ret;              /* of fi_getinfo */
};

/* In a child process. Returns why it cannot be loaded, or NULL. */
const char *info_libfabric_load(struct info_libfabric *lib);

#endif
