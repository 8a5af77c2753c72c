/* SPDX-License-Identifier: BSD-2-Clause */
/* Fabrics and network interfaces of this machine, and which of them can be used. */
#ifndef INFO_FABRICS_H
#define INFO_FABRICS_H

#include <stdbool.h>
#include <stddef.h>

/* A provider of libfabric. Whether it can be used is asked of our own provider, by opening it. */
struct info_fabric {
	char *name;
	char *domains;		/* what libfabric calls its devices */
	bool usable;
	char *why;		/* it is refused; NULL when usable */
	char *device;		/* that our provider chose; NULL when refused */
};

struct info_fabrics {
	char *version;		/* of libfabric; NULL when it cannot be loaded */
	char *path;
	char *why;		/* there are none */
	struct info_fabric *list;
	size_t num;
};

/* Judged by the copy of our provider for that API version. */
void info_fabrics_find(struct info_fabrics *fabrics, int api);
void info_fabrics_free(struct info_fabrics *fabrics);

struct info_netif {
	char *name;
	bool up, loopback;
	char *addresses;	/* NULL: none */
};

/* In the order of the system; ends with a NULL name. */
struct info_netif *info_netifs(void);
void info_netifs_free(struct info_netif *list);

/* A line of a dat.conf for our provider. `domain` may be NULL. */
char *info_conf_line(int api, const char *name, bool threadsafe, const char *fabric,
		     const char *domain);

#endif
