/* SPDX-License-Identifier: BSD-2-Clause */
/* Software atomic operations (object/amo.h): handing over, execution, sockets. */
#ifndef DOFI_DATA_AMO_H
#define DOFI_DATA_AMO_H

#include "object/ep.h"

/* ---- data/amo_post.c: the side that posts ---- */

/* Hands the operation over, as the calls of libfabric do. Caller holds ep->lock, and evd->lock if
 * the fabric's calls need it. */
ssize_t dofi_amo_post(struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto);
/* The read that precedes the operation has completed. Any lock may be held. */
void dofi_amo_flushed(struct dofi_dto *dto);
/* Continues an operation that is ready or has failed. Caller holds ep->lock. */
void dofi_amo_continue(struct dofi_ep *ep);

/* ---- data/amo_sock.c: their sockets ---- */

/* Reads the sockets once. Caller holds no lock but prog_lock. Unless `block`, does nothing while
 * another thread does this. */
void dofi_amo_poll(struct dofi_ia *ia, bool block);
/* Adds a socket to those of the IA, which closes fd. NULL: no memory; fd is closed. */
struct dofi_amo_sock *dofi_amo_sock_new(struct dofi_ep *ep, int fd, bool serves);
/* Caller holds amo->lock, and ep->lock unless the socket serves the peer. */
void dofi_amo_sock_close(struct dofi_amo_sock *s);
/* Receives up to `want` bytes of a message. 1: it is complete, in s->buf; 0: not yet; negative: the
 * socket has ended. */
int dofi_amo_sock_recv(struct dofi_amo_sock *s, uint8_t want);
/* False: it could not be sent. */
bool dofi_amo_sock_send(struct dofi_amo_sock *s, const uint8_t *msg, const uint8_t *end);
/* Closes the sockets of a connection that has ended. Caller holds cm_lock; the EP has left the
 * connection. */
void dofi_amo_detach(struct dofi_ep *ep);

/* ---- processing of a socket that is ready; caller holds amo->lock ---- */

void dofi_amo_answered(struct dofi_amo_sock *s);
void dofi_amo_serve(struct dofi_amo_sock *s);

#endif
