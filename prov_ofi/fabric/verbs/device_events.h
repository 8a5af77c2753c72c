/* SPDX-License-Identifier: BSD-2-Clause */
/* Device events: what happens to an adapter whose device or address goes away.
 *
 * Where hardware does the work the fabric tells little: of a removed device those of its
 * connections and listeners that exist, of an interface that is taken down nobody. So the adapter
 * asks the kernel to be told of changes of interfaces and addresses. An outage that lasts ends
 * all connections as broken, and the asynchronous EVD gets DAT_ASYNC_ERROR_IA_CATASTROPHIC, once;
 * one that is over in time costs nothing, since devices send again what was lost.
 *
 * Caller holds cm_lock.
 */
#ifndef DOFI_DEVICE_EVENTS_H
#define DOFI_DEVICE_EVENTS_H

#include <stdbool.h>

#include "base/timer.h"

struct dofi_ia;

struct dofi_device_events {
	int fd;				/* netlink; -1: not watched */
	bool reported;
	struct dofi_timer timer;	/* armed while the address is away */
};

void dofi_device_events_init(struct dofi_ia *ia);
/* Subscribes to changes, on fabrics with a device. */
int dofi_device_events_watch(struct dofi_ia *ia);
void dofi_device_events_close(struct dofi_ia *ia);
/* The descriptor is readable. */
void dofi_device_events_event(struct dofi_ia *ia);
/* The fabric reports that the device has been removed. */
void dofi_device_events_removed(struct dofi_ia *ia);

#endif
