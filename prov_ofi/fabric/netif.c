/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses the address of an IA among the interfaces of this host, and the source of a
 * connection. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/netif.h"

/* Greater is better; 0 cannot be used. */
enum { UNUSABLE, LOOPBACK6, LOOPBACK4, VIRTUAL6, VIRTUAL4, LINKLOCAL6, REAL6, REAL4 };

static bool netif_is_virtual(const char *name)
{
	static const char *const prefix[] = { "docker", "br-",    "virbr", "veth", "lxc",  "lxd",
					      "cni",    "podman", "tun",   "tap",  "vmnet" };

	for (size_t i = 0; i < sizeof(prefix) / sizeof(*prefix); i++)
		if (!strncmp(name, prefix[i], strlen(prefix[i])))
			return true;
	return false;
}

static int netif_rank(const struct ifaddrs *ifa)
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
	if (netif_is_virtual(ifa->ifa_name))
		return v4 ? VIRTUAL4 : VIRTUAL6;
	if (v4)
		return REAL4;
	if (IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)ifa->ifa_addr)->sin6_addr))
		return LINKLOCAL6;
	return REAL6;
}

static bool netif_is_address(const char *text, union dofi_addr *addr)
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
static void netif_copy_address(union dofi_addr *dst, const struct sockaddr *src)
{
	memset(dst, 0, sizeof(*dst));
	memcpy(dst, src, dofi_addr_len(src));
	dofi_addr_set_port(&dst->sa, 0);
	if (dst->sa.sa_family == AF_INET)
		memset(dst->in.sin_zero, 0, sizeof(dst->in.sin_zero));
}

/* An address may have a label of its own: "eth0:1" is on eth0. */
static bool netif_is_on(const struct ifaddrs *ifa, const char *netdev)
{
	size_t len = strlen(netdev);

	return !strncmp(ifa->ifa_name, netdev, len) &&
	       (!ifa->ifa_name[len] || ifa->ifa_name[len] == ':');
}

int dofi_netif_pick(const char *wanted, union dofi_addr *addr, char *netdev, size_t room)
{
	const struct ifaddrs *best = NULL;
	struct ifaddrs *all;
	union dofi_addr named;
	bool by_addr = wanted && netif_is_address(wanted, &named), seen = false;

	if (getifaddrs(&all))
		return -errno;
	for (const struct ifaddrs *ifa = all; ifa; ifa = ifa->ifa_next) {
		if (wanted && !by_addr) {
			if (!netif_is_on(ifa, wanted))
				continue;
			seen = true;
		}
		if (!netif_rank(ifa) || (by_addr && !dofi_addr_same_host(ifa->ifa_addr, &named.sa)))
			continue;
		if (!best || netif_rank(ifa) > netif_rank(best))
			best = ifa;
	}
	if (best) {
		netif_copy_address(addr, best->ifa_addr);
		snprintf(netdev, room, "%s", best->ifa_name);
	}
	freeifaddrs(all);
	if (best)
		return 0;
	return seen ? -EADDRNOTAVAIL : -ENODEV;
}

static bool netif_has_address(const struct dofi_fab *fab, const struct sockaddr *sa)
{
	for (size_t i = 0; i < fab->n_addrs; i++)
		if (dofi_addr_same_host(&fab->addrs[i].sa, sa))
			return true;
	return false;
}

static int netif_add_address(struct dofi_fab *fab, const struct sockaddr *sa)
{
	union dofi_addr *more;

	if (netif_has_address(fab, sa))
		return 0;
	more = realloc(fab->addrs, (fab->n_addrs + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	fab->addrs = more;
	netif_copy_address(&more[fab->n_addrs++], sa);
	return 0;
}

int dofi_netif_list(struct dofi_fab *fab, const char *wanted)
{
	union dofi_addr named;
	struct ifaddrs *all;
	int ret;

	if (!wanted || netif_is_address(wanted, &named))
		return 0;
	if (getifaddrs(&all))
		return -errno;
	ret = netif_add_address(fab, &fab->addr.sa);
	for (const struct ifaddrs *ifa = all; ifa && !ret; ifa = ifa->ifa_next)
		if (netif_is_on(ifa, wanted) && netif_rank(ifa))
			ret = netif_add_address(fab, ifa->ifa_addr);
	freeifaddrs(all);
	return ret;
}

bool dofi_netif_has_family(const struct dofi_fab *fab, int family)
{
	for (size_t i = 0; i < fab->n_addrs; i++)
		if (fab->addrs[i].sa.sa_family == family)
			return true;
	return fab->addr.sa.sa_family == family;
}

/* True if an interface of this host has the address. */
static bool netif_is_local(const union dofi_addr *addr)
{
	struct ifaddrs *all;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (const struct ifaddrs *ifa = all; ifa && !found; ifa = ifa->ifa_next)
		found = ifa->ifa_addr && dofi_addr_same_host(ifa->ifa_addr, &addr->sa);
	freeifaddrs(all);
	return found;
}

bool dofi_netif_is_own(const struct dofi_fab *fab, const union dofi_addr *addr)
{
	if (dofi_addr_is_any(addr) || dofi_addr_same_host(&fab->addr.sa, &addr->sa) ||
	    netif_has_address(fab, &addr->sa))
		return true;
	return !fab->addr_named && netif_is_local(addr);
}

static bool netif_is_linklocal(const union dofi_addr *addr)
{
	return addr->sa.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&addr->in6.sin6_addr);
}

/* The source address that the kernel would choose. */
static bool netif_ask_kernel(const union dofi_addr *to, union dofi_addr *source)
{
	int fd = socket(to->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*source);
	bool known = fd >= 0 && !connect(fd, &to->sa, (socklen_t)dofi_addr_len(&to->sa)) &&
		     !getsockname(fd, &source->sa, &len);

	if (fd >= 0)
		close(fd);
	return known;
}

/* The first address of the family, preferably of the same scope. *fitting: number of candidates. */
static const union dofi_addr *netif_first_source(const struct dofi_fab *fab,
						 const union dofi_addr *to, size_t *fitting)
{
	const union dofi_addr *best = NULL, *second = NULL;

	*fitting = 0;
	for (size_t i = 0; i < fab->n_addrs; i++) {
		const union dofi_addr *addr = &fab->addrs[i];

		if (addr->sa.sa_family != to->sa.sa_family)
			continue;
		if (!second)
			second = addr;
		if (netif_is_linklocal(addr) != netif_is_linklocal(to))
			continue;
		if (!best)
			best = addr;
		++*fitting;
	}
	return best ? best : second ? second : &fab->addr;
}

const union dofi_addr *dofi_netif_source(const struct dofi_fab *fab, const union dofi_addr *to)
{
	const union dofi_addr *first;
	union dofi_addr usual;
	size_t fitting;

	if (!fab->addr_named)
		return NULL;
	first = netif_first_source(fab, to, &fitting);
	if (fitting < 2 || !netif_ask_kernel(to, &usual))
		return first;
	for (size_t i = 0; i < fab->n_addrs; i++)
		if (dofi_addr_same_host(&fab->addrs[i].sa, &usual.sa))
			return &fab->addrs[i];
	return first;
}

void dofi_netif_set_scope(const struct dofi_fab *fab, union dofi_addr *to)
{
	if (!fab->addr_named || !netif_is_linklocal(to) || to->in6.sin6_scope_id)
		return;
	if (netif_is_linklocal(&fab->addr))
		to->in6.sin6_scope_id = fab->addr.in6.sin6_scope_id;
	for (size_t i = 0; i < fab->n_addrs; i++)
		if (netif_is_linklocal(&fab->addrs[i]))
			to->in6.sin6_scope_id = fab->addrs[i].in6.sin6_scope_id;
}
