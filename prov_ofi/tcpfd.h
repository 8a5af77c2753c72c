/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP sockets below libfabric's tcp endpoints.
 *
 * libfabric hides them, but some things can only be done there:
 * - 1.17: a local disconnect while a read response is half received corrupts the provider's free
 *   list; shutting the socket down first lets the provider notice the end by itself;
 * - a peer that has gone is not noticed while a message waits for a receive to be posted;
 * - a socket that is closed with unread data, or shut down in both directions (which is what the
 *   provider does) before data arrives, resets the connection, and the peer loses the end of what
 *   was sent to it; so the socket is taken away from the provider, shut down for writing only,
 *   and read until the peer closes its end;
 * - dead hosts are found by keep-alive, which the provider leaves off;
 * - 1.17: whoever connects to a listener and stalls in the middle of the request blocks the
 *   provider; a receive time-out on the listener, inherited by what it accepts, bounds that;
 * - whoever connects and says nothing is kept for ever.
 * A socket is recognised by its addresses.
 */
#ifndef DOFI_TCPFD_H
#define DOFI_TCPFD_H

#include "fab.h"

/* The socket of an endpoint whose peer is known, or -1. `own_port`: no other socket has its local
 * port, so it is recognised even if the peer has reset the connection. The descriptor is claimed:
 * no later search finds it until it is disclaimed (before libfabric closes it). */
int dofi_tcpfd_of_ep(struct fid_ep *ep, const union dofi_addr *peer, bool own_port);
/* -1 is allowed. */
void dofi_tcpfd_disclaim(int fd);
/* A second descriptor of the socket, claimed too; dofi_tcpfd_close ends it. */
int dofi_tcpfd_keep(int fd);
void dofi_tcpfd_close(int fd);
/* Bounds what a stranger can do to the provider through this listener. Returns its socket, claimed,
 * or -1. */
int dofi_tcpfd_tame_listener(struct fid_pep *pep);
/* Probes a silent peer as set; 0 seconds: never. `data`: the socket of a connection, whose peer may
 * take nothing for any time; whether its host is still there, the link (link.h) finds out. */
void dofi_tcpfd_keepalive(int fd, int seconds, bool data);
/* Takes the socket away from libfabric (1.17): at its descriptor an ended dummy is left, which is
 * put into the given epoll sets of libfabric in its place, with `tag` as their data. Returns
 * the socket under a new descriptor (as dofi_tcpfd_keep), shut down for writing, or -1. What
 * libfabric does to its descriptor afterwards does not reach the peer. */
int dofi_tcpfd_take(int fd, const int *epfds, size_t n, void *tag);
/* Throws away what has arrived. False: the peer has ended its side. */
bool dofi_tcpfd_discard(int fd);
/* Has the peer closed its end? */
bool dofi_tcpfd_peer_gone(int fd);
/* Bytes that the peer's host has not acknowledged yet. */
size_t dofi_tcpfd_unsent(int fd);

/* Connected sockets of this process on a listener's port. `known` tells which are in use;
 * returns how many others there are, after shutting down those that were others at the last
 * call already (remembered in `marks`, at most `room` of them, updated by the call). */
struct dofi_tcpfd_mark {
	int fd;
	uint16_t peer_port;
};

struct dofi_tcpfd_strangers {
	struct dofi_tcpfd_mark marks[64];
	size_t count;
};

size_t dofi_tcpfd_expel(struct dofi_tcpfd_strangers *last, bool (*known)(void *arg, int fd,
			const union dofi_addr *local, const union dofi_addr *peer), void *arg);

#endif
