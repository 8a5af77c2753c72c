/* SPDX-License-Identifier: BSD-2-Clause */
/* Software atomic operations: where a device has none (iWARP), the library of the target executes
 * them (fab->software_atomics).
 *
 * A request cannot be a message of the connection, which would consume a receive of the program. It
 * travels over a TCP socket to the peer's library, which the first operation of an EP opens. The
 * connection messages contain the port on which each side listens, and a token of the connection
 * that the active side chooses (with a shared secret both sides compute it): only the peer of a
 * connection can have operations executed, with the rights of that connection. The socket ends with
 * the connection.
 *
 * An operation is handed over when all earlier requests of its EP have completed. Later ones wait
 * until it is answered; the queue's `depth` is 0 meanwhile, so that posting needs no check. Over a
 * device the data of a completed write may not have been placed yet: an RDMA read of the
 * word (fab->flush_bytes, usually none) precedes the operation, unless nothing was handed over
 * after the previous operation.
 *
 * The sockets are in an epoll set, which the progress thread reads, and consumers that poll or
 * wait. amo->lock ranks between cm_lock and ep->lock. It is held while a socket is processed or
 * freed; those of operations are opened and used for sending with ep->lock only.
 */
#ifndef DOFI_AMO_H
#define DOFI_AMO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/amo_proto.h"

struct dofi_dto;
struct dofi_ep;

struct dofi_amo_sock {
	struct dofi_ep *ep;
	int fd;
	bool serves;     /* executes requests of the peer */
	bool connecting; /* ep->lock */
	uint8_t len;     /* bytes of an incomplete message in buf */
	uint8_t buf[DOFI_AMO_REQUEST];
};

/* Of an IA. */
struct dofi_amo {
	bool on; /* the fabric has them */
	pthread_mutex_t lock;
	int listen_fd;          /* -1: no connection has needed it yet; cm_lock */
	uint16_t port;          /* 0: it cannot be opened */
	int epfd;               /* of the sockets */
	_Atomic uint32_t n;     /* sockets */
	_Atomic uint32_t polls; /* by consumers */
	/* The progress thread leaves the sockets to consumers that poll (progress/progress_amo.c);
	 * prog_lock. */
	bool armed, paused; /* it watches the sockets; not the listener */
	uint32_t seen_polls;
	uint64_t next_check, resume;
};

enum dofi_amo_state {
	DOFI_AMO_IDLE,
	DOFI_AMO_FLUSHING, /* the read that precedes the operation is outstanding */
	DOFI_AMO_READY,    /* the request can be sent */
	DOFI_AMO_SENT,     /* or it is, once the socket is connected */
	DOFI_AMO_FAILED,   /* there is no socket */
};

/* Of an EP. */
struct dofi_ep_amo {
	bool on;                   /* those of the IA */
	_Atomic bool refused;      /* an operation of the peer was: it gets no further socket */
	uint16_t port;             /* of the peer, 0: it executes none; cm_lock, ep->lock */
	uint32_t depth;            /* of the queue, without the operation handed over */
	uint64_t token;            /* of the connection, 0: none; cm_lock */
	struct dofi_amo_sock *out; /* for operations of this EP, amo->lock and ep->lock to close */
	struct dofi_amo_sock *in;  /* for those of the peer; amo->lock */
	struct dofi_dto *dto;      /* the operation that is handed over, NULL: none; ep->lock */
	_Atomic uint8_t state;     /* enum dofi_amo_state */
	uint32_t next;             /* position after the last operation, rewinds included */
};

/* True if there are sockets to be polled. */
static inline bool dofi_amo_active(struct dofi_amo *amo)
{
	return atomic_load_explicit(&amo->n, memory_order_relaxed);
}

#endif
