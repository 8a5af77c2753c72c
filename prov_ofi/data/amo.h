/* SPDX-License-Identifier: BSD-2-Clause */
/* Software atomic operations (object/amo.h): sockets, execution, handing over, completion. */
#ifndef DOFI_DATA_AMO_H
#define DOFI_DATA_AMO_H

#include "object/ep.h"

/* ---- data/amo_sock.c: their sockets ---- */

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

/* ---- data/amo_target.c: the side that executes ---- */

/* Reads a request, executes and answers it. Caller holds amo->lock. */
void dofi_amo_serve(struct dofi_amo_sock *s);

/* ---- data/amo_post.c: the side that posts ---- */

/* Hands the operation over, as the calls of libfabric do. Caller holds ep->lock, and evd->lock if
 * the fabric's calls need it. */
ssize_t dofi_amo_post(struct dofi_ep *ep, struct fid_ep *fid, struct dofi_dto *dto);
/* The read that precedes the operation has completed. Any lock may be held. */
void dofi_amo_flushed(struct dofi_dto *dto);
/* Earlier requests of the EP have taken effect: sends the request, or opens the socket first.
 * Caller holds ep->lock. */
void dofi_amo_start(struct dofi_ep *ep);
/* Sends the request on a socket that is connected; `hello`: as the first one. */
void dofi_amo_send(struct dofi_ep *ep, bool hello);

/* ---- data/amo_answer.c: its completion ---- */

/* Continues an operation that is ready or has failed. Caller holds ep->lock. */
void dofi_amo_continue(struct dofi_ep *ep);
/* Reads the sockets once. Caller holds no lock but prog_lock. Unless `block`, does nothing while
 * another thread does this. */
void dofi_amo_poll(struct dofi_ia *ia, bool block);

#endif
