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
#include "base/log.h"
#include "cm/cm.h"
#include "fabric/verbs/device_events.h"
#include "progress/progress.h"

/* Longer than a cable is out by accident, shorter than devices go on trying. */
#define PATIENCE DOFI_MS(1000)

static void device_events_log(struct dofi_ia *ia, const char *what)
{
	if (ia->device_events.reported)
		return;
	ia->device_events.reported = true;
	dofi_log(DOFI_LOG_ERROR, "%s: %s; all its connections end", ia->fab.device, what);
	dofi_async_event(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, dofi_api_ia_handle(ia), 0);
	dofi_cm_fail_all(ia);
}

static void device_events_expired(struct dofi_timer *timer)
{
	struct dofi_ia *ia = dofi_container(timer, struct dofi_ia, device_events.timer);

	device_events_log(ia, "its interface is down, or has lost its address");
}

void dofi_device_events_removed(struct dofi_ia *ia)
{
	ia->fab.lost = true;
	device_events_log(ia, "the device has been removed");
}

void dofi_device_events_init(struct dofi_ia *ia)
{
	ia->device_events.fd = -1;
	ia->device_events.reported = false;
	dofi_timer_init(&ia->device_events.timer, device_events_expired);
}

int dofi_device_events_watch(struct dofi_ia *ia)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK,
				    .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR |
						 RTMGRP_IPV6_IFADDR };
	struct epoll_event ev = { .events = EPOLLIN };
	int ret;

	if (!ia->fab.desc->device)
		return 0;
	ret = dofi_cm_timer_init(ia, &ia->device_events.timer, device_events_expired);
	if (ret)
		return ret;
	ev.data.u64 = dofi_progress_key(NULL, DOFI_KEY_DEVICE_EVENTS);
	ia->device_events.fd = dofi_forkfd(
		socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE));
	if (ia->device_events.fd < 0)
		return -errno;
	if (bind(ia->device_events.fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    epoll_ctl(ia->prog.epfd, EPOLL_CTL_ADD, ia->device_events.fd, &ev))
		return -errno;
	return 0;
}

void dofi_device_events_close(struct dofi_ia *ia)
{
	dofi_timer_cancel(&ia->timers, &ia->device_events.timer);
	if (ia->device_events.fd >= 0)
		dofi_forkfd_close(ia->device_events.fd);
	ia->device_events.fd = -1;
}

static bool device_events_address_is_up(const struct dofi_ia *ia)
{
	struct ifaddrs *all;
	bool up = false;

	if (getifaddrs(&all))
		return true;	/* unknown: assume that it is present */
	for (const struct ifaddrs *ifa = all; ifa && !up; ifa = ifa->ifa_next)
		up = ifa->ifa_addr && dofi_addr_same_host(ifa->ifa_addr, &ia->fab.addr.sa) &&
		     (ifa->ifa_flags & IFF_UP) && (ifa->ifa_flags & IFF_RUNNING);
	freeifaddrs(all);
	return up;
}

void dofi_device_events_event(struct dofi_ia *ia)
{
	char bin[4096];

	/* The notification only triggers a check; the present state is queried afterwards. */
	while (recv(ia->device_events.fd, bin, sizeof(bin), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		;
	if (device_events_address_is_up(ia)) {
		dofi_timer_cancel(&ia->timers, &ia->device_events.timer);
	} else if (ia->device_events.timer.when == DOFI_NEVER && !ia->device_events.reported) {
		dofi_log(DOFI_LOG_WARN, "%s: its interface is down, or has lost its address",
			 ia->fab.device);
		dofi_timer_arm(&ia->timers, &ia->device_events.timer, dofi_now() + PATIENCE);
	}
}
