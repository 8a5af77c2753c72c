/* SPDX-License-Identifier: BSD-2-Clause */
/* Detects the loss of a device or an address. */
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/forkfd.h"
#include "fabrics/verbs/device_events.h"

int dofi_device_events_watch(int *fd)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK,
				    .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR |
						 RTMGRP_IPV6_IFADDR };

	*fd = dofi_forkfd(
		socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE));
	if (*fd < 0)
		return -errno;
	return bind(*fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
}

bool dofi_device_events_is_up(const struct dofi_fab *fab, int fd)
{
	struct ifaddrs *all;
	bool up = false;
	char bin[4096];

	/* The notification only triggers a check; the present state is queried afterwards. */
	while (recv(fd, bin, sizeof(bin), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		;
	if (getifaddrs(&all))
		return true; /* unknown: assume that it is present */
	for (const struct ifaddrs *ifa = all; ifa && !up; ifa = ifa->ifa_next)
		up = ifa->ifa_addr && dofi_addr_same_host(ifa->ifa_addr, &fab->addr.sa) &&
		     (ifa->ifa_flags & IFF_UP) && (ifa->ifa_flags & IFF_RUNNING);
	freeifaddrs(all);
	return up;
}
