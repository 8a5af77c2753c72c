/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses of an IA, and those of the interface that the user named. */
#ifndef DOFI_NETIF_H
#define DOFI_NETIF_H

#include <stdbool.h>
#include <stddef.h>

#include "fabric/fab.h"

/* `wanted`: an interface name, an IP address, or NULL for the best available. Loopback, bridge and
 * container interfaces are chosen only if named or if there is no other. 0, -ENODEV (no such
 * interface or address), -EADDRNOTAVAIL (interface without address). */
int dofi_netif_pick(const char *wanted, union dofi_addr *addr, char *netdev, size_t room);
/* Fills fab->addrs if `wanted` is an interface, with fab->addr and then the others. 0 or a negative
 * error. */
int dofi_netif_list(struct dofi_fab *fab, const char *wanted);

/* True if the IA has an address of that family. */
bool dofi_netif_has_family(const struct dofi_fab *fab, int family);
/* True if a peer could reach the IA at this address, or if it stands for all of them. */
bool dofi_netif_is_own(const struct dofi_fab *fab, const union dofi_addr *addr);
/* The address of the IA from which a connection to `to` starts; NULL: the kernel's choice. */
const union dofi_addr *dofi_netif_source(const struct dofi_fab *fab, const union dofi_addr *to);
/* A link-local address without its interface is on the one that the user named. */
void dofi_netif_set_scope(const struct dofi_fab *fab, union dofi_addr *to);

#endif
