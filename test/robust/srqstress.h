/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the hub and the peers of the stress test of a shared receive queue.
 *
 * The hub has SS_EPS endpoints on one SRQ, served by SS_THREADS threads: each owns the receive EVD,
 * the service point and a share of the endpoints, verifies what arrives and posts the buffers
 * again, whichever thread posted them before. Each thread has a peer process, which connects, sends
 * at random and ends connections at random; a manager kills peers and starts new ones.
 */
#ifndef SRQSTRESS_H
#define SRQSTRESS_H

#include "rdat.h"

#define SS_THREADS 4
#define SS_SLOTS 16 /* connections of a thread and its peer */
#define SS_EPS (SS_THREADS * SS_SLOTS)
#define SS_BUFFERS 128 /* fewer than messages in flight */
#define SS_LEN 32768   /* of a buffer */
#define SS_SENDS 4     /* outstanding per connection */
#define SS_NOTES 64
#define SS_EPOCHS 65536

/* The private data of a connection request. */
struct ss_hello {
	uint32_t epoch;      /* number of the peer process */
	uint32_t slot, conn; /* the conn-th connection of that slot and process */
};

/* The header of every message. */
struct ss_head {
	uint32_t conn, seq, len, seed;
};

/* Written by the peer before it disconnects gracefully: all of this will arrive. */
struct ss_note {
	uint32_t epoch, messages;
	_Atomic uint32_t conn; /* written last */
};

struct ss_shared {
	_Atomic uint64_t qual[SS_THREADS];
	_Atomic uint64_t messages;    /* verified by the hub */
	_Atomic int stop;             /* peers end */
	_Atomic uint64_t connections; /* accepted so far */
	_Atomic int peers_gone;
	_Atomic bool killed[SS_EPOCHS]; /* set before the kill */
	struct ss_note note[SS_THREADS][SS_SLOTS][SS_NOTES];
};

extern struct ss_shared *ss_shared;
extern long ss_seed;

void ss_hub(void *arg);                        /* srqstress_hub.c */
void ss_peer(uint32_t thread, uint32_t epoch); /* srqstress_peer.c */

#endif
