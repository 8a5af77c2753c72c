/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares two hosts and the links between them, all on this machine. Each host is a network
 * namespace with two interfaces, net_wire(0) and net_wire(1). A link is a pair of TAP interfaces; a
 * player, the carrier, forwards their frames, delays them, and drops some or all, or leaves delays
 * and losses to netem, a module that not every kernel has.
 */
#ifndef FABRICS_NET_H
#define FABRICS_NET_H

#include <stdbool.h>
#include <stdint.h>

#define NET_HOSTS 2
#define NET_WIRES 2

/* Creates both hosts; false, with the reason, if that is impossible or not permitted. */
bool net_make(char *why, unsigned int size);
/* Moves the calling process to a host. */
void net_enter(int host);
const char *net_wire(int wire);
const char *net_address(int host, int wire);
/* Starts the carrier of a case, without losses. */
void net_carry(void);
/*
 * Leaves delays and losses of the first link to netem, which varies a delay by a quarter, so that
 * frames overtake others, where the kernel has it and there is tc(8). False: the carrier makes
 * them.
 */
bool net_use_netem(void);
/* Sets the frames lost of a thousand; 1000: the link is cut. With netem it ends a delay. */
void net_lose(int wire, int per_mille);
/* Sets the time that each frame takes, at most a second. With netem it ends losses. */
void net_delay(int wire, unsigned int ms);
/* Sets a firewall on the first link: of TCP it passes only this port; 0: all. */
void net_only_port(uint16_t port);
/* Takes an interface of a host down, or up again. */
void net_link(int host, int wire, bool up);
/* Frames that the carrier has forwarded, and has dropped. */
uint64_t net_carried(void);
uint64_t net_lost(void);

#endif
