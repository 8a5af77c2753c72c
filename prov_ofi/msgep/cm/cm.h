/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of msgep.h: a handshake over a stream socket.
 *
 * Transports between processes of one host use unix sockets in the abstract namespace, named after the
 * service point's address and port (no file is left behind); others use TCP at that address. A
 * service point of an adapter that was opened by an interface's name listens at each address of
 * that interface, and at no other. A
 * fabric with both listens on both, with one port for their names; its active side takes the unix
 * socket where the address is this host's and somebody listens there, else TCP. The
 * socket stays open as long as the connection: its end is the connection's end, and a byte on it
 * is the doorbell of transports that have one.
 *
 * Everything here is called with eq->lock held, but for the calls of fi_ops_cm, which take it.
 */
#ifndef DOFI_MSGEP_CM_H
#define DOFI_MSGEP_CM_H

#include "msgep/msgep.h"

/* A listener. */
struct msgep_pep {
	struct fid_pep fid;
	struct msgep_fabric *fabric;
	struct msgep_eq *eq;
	union dofi_addr addr;		/* with the port, once it listens */
	bool has_qual;
	uint64_t qual;			/* in the name of a unix socket, beside the port */
	struct dofi_list listeners;	/* one per address and transport; empty: it does not listen */
};

/* State of an event queue's connection manager: sockets in eq->epfd, timers. */
int msgep_cm_open(struct msgep_eq *eq);
void msgep_cm_close(struct msgep_eq *eq);
/* Moves everything that can be moved without waiting; posts events (msgep_eq_push). */
void msgep_cm_progress(struct msgep_eq *eq);
/* The endpoint is being closed: no event about it will be posted any more; its socket is closed. */
void msgep_cm_forget(struct msgep_ep *ep);
/* The listener is being closed: it takes no more connections. Requests that have been told stay;
 * those whose event has not been read are dropped with the event (msgep_eq_forget, afterwards). */
void msgep_cm_forget_pep(struct msgep_pep *pep);
/* Handle of a FI_CONNREQ whose info was never given to fi_endpoint or fi_reject. */
void msgep_cm_drop_request(struct fid *handle);
/* fi_endpoint with the info of a request: the endpoint becomes its other end, and belongs to the
 * request's event queue from then on. 0 or negative. Takes eq->lock itself. If the endpoint is
 * closed before fi_accept, the request waits for a decision again. */
int msgep_cm_adopt_request(struct fid *handle, struct msgep_ep *ep);

/* The process at the other end, as the kernel knows it (unix sockets), if it is this user's; else
 * 0. */
int msgep_cm_own_peer(struct msgep_ep *ep);

/* Probes the peer of a TCP socket that falls silent, as set (KEEPALIVE_S). */
void msgep_cm_keep_alive(int fd);

/* Is it an address of this host, for certain? */
bool msgep_cm_is_here(const union dofi_addr *addr);

/* Doorbell (ep->lock held): wakes a peer that sleeps, at once or, if the kernel has no memory for
 * that, a moment later. */
void msgep_cm_doorbell(struct msgep_ep *ep);
void msgep_cm_doorbell_retry(struct msgep_ep *ep);
/* Takes doorbell bytes, and nothing else, off the socket (ep->lock held). False: the peer rings no
 * more, the socket must leave the set. */
bool msgep_cm_quiet(struct msgep_ep *ep);

extern struct fi_ops_cm msgep_ep_cm_ops, msgep_pep_cm_ops;

#endif
