/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the network interfaces and their addresses. */
#include "config.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "fabrics.h"
#include "memory.h"

static struct info_netif *netif_find(struct info_netif **list, size_t *num, const char *name)
{
	size_t i;

	for (i = 0; i < *num; i++)
		if (!strcmp((*list)[i].name, name))
			return &(*list)[i];
	*list = info_realloc(*list, *num + 2, sizeof(**list));
	memset(&(*list)[*num], 0, 2 * sizeof(**list));
	(*list)[*num].name = info_strdup(name);
	return &(*list)[(*num)++];
}

static void netif_add_address(struct info_netif *netif, const struct sockaddr *addr)
{
	char text[INET6_ADDRSTRLEN];
	char *old = netif->addresses;
	const void *bytes;

	if (addr->sa_family == AF_INET)
		bytes = &((const struct sockaddr_in *)(const void *)addr)->sin_addr;
	else if (addr->sa_family == AF_INET6)
		bytes = &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr;
	else
		return;
	if (!inet_ntop(addr->sa_family, bytes, text, sizeof(text)))
		return;
	netif->addresses = old ? info_format("%s, %s", old, text) : info_strdup(text);
	free(old);
}

struct info_netif *info_netifs(void)
{
	struct info_netif *list = info_calloc(1, sizeof(*list));
	struct ifaddrs *all, *ifa;
	size_t num = 0;

	if (getifaddrs(&all))
		return list;
	for (ifa = all; ifa; ifa = ifa->ifa_next) {
		struct info_netif *netif = netif_find(&list, &num, ifa->ifa_name);

		netif->up = ifa->ifa_flags & IFF_UP;
		netif->loopback = ifa->ifa_flags & IFF_LOOPBACK;
		if (ifa->ifa_addr)
			netif_add_address(netif, ifa->ifa_addr);
	}
	freeifaddrs(all);
	return list;
}

void info_netifs_free(struct info_netif *list)
{
	struct info_netif *n;

	for (n = list; n->name; n++) {
		free(n->name);
		free(n->addresses);
	}
	free(list);
}
