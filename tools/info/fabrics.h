/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the fabrics and network interfaces of this machine. */
#ifndef INFO_FABRICS_H
#define INFO_FABRICS_H

#include <stdbool.h>
#include <stddef.h>

/* A provider of libfabric; usable if our provider can open it. */
struct info_fabric {
	char *name;
	char *domains; /* libfabric's names of its devices */
	bool usable;
	char *reason; /* why it is unusable; NULL if usable */
	char *device; /* that our provider chose; NULL if unusable */
};

struct info_fabrics {
	char *version; /* of libfabric; NULL when it cannot be loaded */
	char *path;
	char *reason; /* why there are none */
	struct info_fabric *list;
	size_t num;
};

/* Probed with the copy of our provider for that API version. */
void info_fabrics_find(struct info_fabrics *fabrics, int api);
void info_fabrics_free(struct info_fabrics *fabrics);

/* Prints libfabric's providers and their attributes. */
void info_providers_print(void);

struct info_netif {
	char *name;
	bool up, loopback;
	char *addresses; /* NULL: none */
};

/* In the order of the system; ends with a NULL name. */
struct info_netif *info_netifs(void);
void info_netifs_free(struct info_netif *list);

/* A line of a dat.conf for our provider. `domain` may be NULL. */
char *info_conf_line(int api, const char *name, bool threadsafe, const char *fabric,
		     const char *domain);

#endif
