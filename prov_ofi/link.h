/* SPDX-License-Identifier: BSD-2-Clause */
/* One socket between each pair of adapters that have connections: liveness and enquiries.
 *
 * A connection's own socket cannot tell everything. A peer that was killed is not seen while its
 * last messages wait for receives, and a connection that the fabric of the target ended because
 * of a bad remote access looks like one that the target's program ended. So the side that
 * connects also opens a link to the other adapter's link port (told in the connection messages);
 * when it breaks, the other process is gone; and over it one side can ask the other whether it
 * would have refused certain accesses.
 *
 * Messages, numbers big-endian: magic "DOLK" (4), version 1 (1), kind (1), count (2), number (8),
 * then `count` times the payload:
 *   HELLO   number: the sender's adapter; payload (1): 8 bytes, the adapter it wants to reach
 *   ASK     number: names the question; payload: kind of access (1), unused (3), key (4),
 *           address (8), length (8)
 *   ANSWER  number: as asked; payload (1): 8 bytes, bit i: access i would be refused
 *   BYE     number: the connection, its port at the sender << 16 | its port at the receiver, has
 *           been disconnected by the sender; payload (1): 8 bytes, unused
 * Adapter numbers are random and only told to peers: a stranger does not know them.
 *
 * Everything here belongs to cm_lock.
 */
#ifndef DOFI_LINK_H
#define DOFI_LINK_H

#include "base/list.h"
#include "base/timer.h"
#include "fab.h"

struct dofi_ia;

#define DOFI_LINK_ACCESSES 64	/* in one question */

enum dofi_access_kind { DOFI_ACCESS_READ = 1, DOFI_ACCESS_WRITE };

struct dofi_access {
	uint8_t kind;
	uint32_t key;
	uint64_t address;
	uint64_t length;
};

struct dofi_link {
	struct dofi_ia *_Atomic ia;	/* NULL: freed (type-stable, like dofi_conn) */
	struct dofi_list node;		/* ia->links */
	int fd;
	uint64_t peer;			/* the other adapter; 0: it has not said hello */
	bool connecting, up;
	struct dofi_timer timer;	/* until it is up */
	size_t have;
	uint8_t in[64 + DOFI_LINK_ACCESSES * 24];
};

/* Starts listening for links; ia->link_port, ia->number. */
int dofi_link_open(struct dofi_ia *ia);
void dofi_link_close_all(struct dofi_ia *ia);
/* A connection to that adapter is up: make sure that a link to it is, or will be. */
void dofi_link_meet(struct dofi_ia *ia, const union dofi_addr *addr, uint16_t port, uint64_t peer);
/* Events of the progress thread's epoll set. */
void dofi_link_accept(struct dofi_ia *ia);
void dofi_link_event(struct dofi_ia *ia, struct dofi_link *link);

enum dofi_link_state { DOFI_LINK_NONE, DOFI_LINK_COMING, DOFI_LINK_UP };
enum dofi_link_state dofi_link_to(struct dofi_ia *ia, uint64_t peer);
/* The connection between these ports was disconnected here while the peer has yet to read. */
void dofi_link_bye(struct dofi_ia *ia, uint64_t peer, uint16_t local_port, uint16_t remote_port);
/* False: it could not be sent, there will be no answer. */
bool dofi_link_ask(struct dofi_ia *ia, uint64_t peer, uint64_t number,
		   const struct dofi_access *access, size_t n);

#endif
