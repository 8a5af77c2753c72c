/* SPDX-License-Identifier: BSD-2-Clause */
/* Device events: the kernel's messages about interfaces and addresses.
 *
 * RDMA devices report little: existing connections and listeners learn that a device is removed,
 * none learns that an interface is taken down. So this module subscribes to the kernel's
 * notifications of changes of interfaces and addresses.
 */
#ifndef DOFI_DEVICE_EVENTS_H
#define DOFI_DEVICE_EVENTS_H

#include "fabric/fab.h"

/* See struct dofi_fabric_ops. */
int dofi_device_events_watch(int *fd);
bool dofi_device_events_is_up(const struct dofi_fab *fab, int fd);

#endif
