/* SPDX-License-Identifier: BSD-2-Clause */
/* Two hosts and the wires between them, all on this machine.
 *
 * Each host is a network namespace with two interfaces, net_wire(0) and net_wire(1). A wire is a
 * pair of TAP interfaces whose frames a player of its own carries over; it loses some, or all.
 * (Unlike netem that needs no module of the kernel that may not be there.)
 */
#ifndef FABRICS_NET_H
#define FABRICS_NET_H

#include <stdbool.h>
#include <stdint.h>

#define NET_HOSTS 2
#define NET_WIRES 2

/* Makes both hosts; false, with the reason, where that is not possible or not allowed. */
bool net_make(char *why, unsigned int size);
/* The calling process goes to a host. */
void net_enter(int host);
const char *net_wire(int wire);
const char *net_address(int host, int wire);
/* Starts the carrier of a case; its wires are whole. */
void net_carry(void);
/* Frames lost of a thousand, from now on; 1000: the wire is cut. */
void net_lose(int wire, int per_mille);
/* A firewall on the first wire: of TCP it lets only this port through, 0: all. */
void net_only_port(uint16_t port);
/* Takes an interface of a host down, or up again. */
void net_link(int host, int wire, bool up);
/* Frames that the carrier has carried, and has lost. */
uint64_t net_carried(void);
uint64_t net_lost(void);

#endif
