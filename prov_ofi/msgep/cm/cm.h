/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of msgep.h: a handshake over a stream socket.
 *
 * Transports between processes of one host use unix sockets in the abstract namespace, named after
 * the service point's address and port (no file remains); others use TCP at that address. A
 * service point of an adapter that was opened by an interface's name listens at each address of
 * that interface, and at no other. A fabric with both transports listens on both, with the same
 * port number; its active side uses the unix socket if the address belongs to this host and has a
 * listener there, else TCP. The socket stays open as long as the connection: its end is the
 * connection's end, and a byte on it is the doorbell of transports that have one.
 *
 * Caller holds eq->lock, except for the calls of fi_ops_cm, which acquire it.
 */
#ifndef DOFI_MSGEP_CM_H
#define DOFI_MSGEP_CM_H

#include "msgep/msgep.h"

/* A listener. */
struct msgep_pep {
	struct fid_pep fid;
	struct msgep_fabric *fabric;
	struct msgep_eq *eq;
	union dofi_addr addr; /* with the port, once it listens */
	bool has_qual;
	uint64_t qual;              /* in the name of a unix socket, next to the port */
	struct dofi_list listeners; /* one per address and transport; empty: not listening */
};

/* State of an event queue's connection manager: sockets in eq->epfd, timers. */
int msgep_cm_open(struct msgep_eq *eq);
void msgep_cm_close(struct msgep_eq *eq);
/* Makes progress without blocking; posts events (msgep_eq_push). */
void msgep_cm_progress(struct msgep_eq *eq);
/* The endpoint is being closed: no further event is posted for it; its socket is closed. */
void msgep_cm_forget(struct msgep_ep *ep);
/* The listener is being closed: it accepts no more connections. Requests that have been reported
 * stay; those whose event has not been read are dropped with it (msgep_eq_forget, afterwards). */
void msgep_cm_forget_pep(struct msgep_pep *pep);
/* Frees the request of a FI_CONNREQ whose info was never passed to fi_endpoint or fi_reject. */
void msgep_cm_drop_request(struct fid *handle);
/* fi_endpoint with the info of a request: the endpoint becomes its other end and joins the
 * request's event queue. Returns 0 or negative. Acquires eq->lock itself. If the endpoint is
 * closed before fi_accept, the request is pending again. */
int msgep_cm_attach_request(struct fid *handle, struct msgep_ep *ep);

/* Returns the peer's process id from the kernel (unix sockets) if it belongs to this user, else
 * 0. */
int msgep_cm_own_peer(struct msgep_ep *ep);
/* The PID of the client that connected to a listener of ours, of any user; 0: not visible here. */
int msgep_cm_client_pid(const struct msgep_ep *ep);

/* Enables TCP keepalive as configured (KEEPALIVE_S). */
void msgep_cm_keep_alive(int fd);
/* TCP: no delay, and detection of dead peers. */
void msgep_cm_tune(int fd);

/* True if the address certainly belongs to this host. */
bool msgep_cm_is_here(const union dofi_addr *addr);

/* Doorbell: wakes a sleeping peer, at once or, if the kernel has no memory for that, after a short
 * delay. Caller holds ep->lock. */
void msgep_cm_doorbell(struct msgep_ep *ep);
void msgep_cm_doorbell_retry(struct msgep_ep *ep);
/* Reads doorbell bytes, and nothing else, from the socket. False: the peer sends no more
 * doorbells, the socket must leave the epoll set. Caller holds ep->lock. */
bool msgep_cm_quiet(struct msgep_ep *ep);

extern struct fi_ops_cm msgep_ep_cm_ops, msgep_pep_cm_ops;

#endif
