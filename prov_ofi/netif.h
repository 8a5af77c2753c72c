/* SPDX-License-Identifier: BSD-2-Clause */
/* Which address does an IA have? */
#ifndef DOFI_NETIF_H
#define DOFI_NETIF_H

#include <stdbool.h>
#include <stddef.h>

#include "fab.h"

/* `wanted`: an interface name, an IP address, or NULL for the best there is. Loopback, bridge
 * and container interfaces are chosen only when named or when nothing else is there.
 * 0, -ENODEV (no such interface or address), -EADDRNOTAVAIL (interface without address). */
int dofi_netif_pick(const char *wanted, union dofi_addr *addr, char *netdev, size_t room);

#endif
