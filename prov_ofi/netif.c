/* SPDX-License-Identifier: BSD-2-Clause */
/* How is the address of an IA chosen among the interfaces of this host? */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "netif.h"

/* Greater is better; 0 cannot be used. */
enum { UNUSABLE, LOOPBACK6, LOOPBACK4, VIRTUAL6, VIRTUAL4, LINKLOCAL6, REAL6, REAL4 };

static bool is_virtual(const char *name)
{
	static const char *const prefix[] = { "docker", "br-", "virbr", "veth", "lxc", "lxd",
					      "cni", "podman", "tun", "tap", "vmnet" };

	for (size_t i = 0; i < sizeof(prefix) / sizeof(*prefix); i++)
		if (!strncmp(name, prefix[i], strlen(prefix[i])))
			return true;
	return false;
}

static int rank(const struct ifaddrs *ifa)
{
	bool v4;

	if (!ifa->ifa_addr || !(ifa->ifa_flags & IFF_UP))
		return UNUSABLE;
	v4 = ifa->ifa_addr->sa_family == AF_INET;
	if (!v4 && ifa->ifa_addr->sa_family != AF_INET6)
		return UNUSABLE;
	if (ifa->ifa_flags & IFF_LOOPBACK)
		return v4 ? LOOPBACK4 : LOOPBACK6;
	if (!(ifa->ifa_flags & IFF_RUNNING))
		return UNUSABLE;
	if (is_virtual(ifa->ifa_name))
		return v4 ? VIRTUAL4 : VIRTUAL6;
	if (v4)
		return REAL4;
	if (IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)ifa->ifa_addr)->sin6_addr))
		return LINKLOCAL6;
	return REAL6;
}

static bool is_address(const char *text, union dofi_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, text, &addr->in.sin_addr) == 1) {
		addr->sa.sa_family = AF_INET;
		return true;
	}
	if (inet_pton(AF_INET6, text, &addr->in6.sin6_addr) == 1) {
		addr->sa.sa_family = AF_INET6;
		return true;
	}
	return false;
}

/* Programs compare all 16 bytes of an IA address: port and padding are zero. */
static void copy_address(union dofi_addr *dst, const struct sockaddr *src)
{
	memset(dst, 0, sizeof(*dst));
	memcpy(dst, src, dofi_addr_len(src));
	dofi_addr_set_port(&dst->sa, 0);
	if (dst->sa.sa_family == AF_INET)
		memset(dst->in.sin_zero, 0, sizeof(dst->in.sin_zero));
}

int dofi_netif_pick(const char *wanted, union dofi_addr *addr, char *netdev, size_t room)
{
	const struct ifaddrs *best = NULL;
	struct ifaddrs *all;
	union dofi_addr named;
	bool by_addr = wanted && is_address(wanted, &named), seen = false;

	if (getifaddrs(&all))
		return -errno;
	for (const struct ifaddrs *ifa = all; ifa; ifa = ifa->ifa_next) {
		if (wanted && !by_addr) {
			if (strcmp(ifa->ifa_name, wanted))
				continue;
			seen = true;
		}
		if (!rank(ifa) || (by_addr && !dofi_addr_same_host(ifa->ifa_addr, &named.sa)))
			continue;
		if (!best || rank(ifa) > rank(best))
			best = ifa;
	}
	if (best) {
		copy_address(addr, best->ifa_addr);
		snprintf(netdev, room, "%s", best->ifa_name);
	}
	freeifaddrs(all);
	if (best)
		return 0;
	return seen ? -EADDRNOTAVAIL : -ENODEV;
}
