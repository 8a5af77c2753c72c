/* SPDX-License-Identifier: BSD-2-Clause */
/* Device events: the kernel's messages about interfaces and addresses.
 *
 * Where hardware does the work the fabric tells little: of a removed device those of its
 * connections and listeners that exist, of an interface that is taken down nobody. So the kernel
 * is asked to report changes of interfaces and addresses.
 */
#ifndef DOFI_DEVICE_EVENTS_H
#define DOFI_DEVICE_EVENTS_H

#include "fabric/fab.h"

/* See struct dofi_fabric_ops. */
int dofi_device_events_watch(int *fd);
bool dofi_device_events_is_up(const struct dofi_fab *fab, int fd);

#endif
