/* SPDX-License-Identifier: BSD-2-Clause */
/* Half-open handshakes over libfabric's own connections. A handshake takes several connections;
 * between them the listener stores what the client has sent, or the answer that it has not fetched.
 *
 * Clients are not authenticated yet. So each kind has at most DOFI_HALF_OPEN_MAX entries, of which
 * a new one replaces the oldest, and an entry expires after DAPL_OFI_HALF_OPEN_MS. Its client then
 * begins again, or learns of a rejection only. Acceptances have neither limit, because each belongs
 * to an endpoint, which has a timer of its own. The connections of msgep/ are sockets, of which one
 * peer may occupy a part only: msgep/cm/cm_half_open.c.
 *
 * Caller holds cm_lock.
 */
#ifndef DOFI_HALF_OPEN_H
#define DOFI_HALF_OPEN_H

#include "object/sp.h"

#define DOFI_HALF_OPEN_MAX 256

enum dofi_half_open_kind {
	DOFI_HALF_OPEN_HELLO,      /* its REQUEST has not arrived (cm/cm_hello.c) */
	DOFI_HALF_OPEN_REQUEST,    /* in parts, some are missing (cm/cm_parts_listener.c) */
	DOFI_HALF_OPEN_REJECTION,  /* in parts, not fetched yet (cm/cm_parts_answer.c) */
	DOFI_HALF_OPEN_ACCEPTANCE, /* the same */
	DOFI_HALF_OPEN_KINDS
};

/* Begins the entry of each kind. */
struct dofi_half_open {
	struct dofi_list link;
	enum dofi_half_open_kind kind;
	uint64_t until;
	struct dofi_listener *listener; /* kept by an answer; else NULL */
	uint16_t port;                  /* of the listener */
	uint16_t from_port;
	union dofi_addr from;
};

/* Adds a zeroed entry of `size` bytes for a client of the listener; NULL: no memory. */
void *dofi_half_open_add(struct dofi_listener *l, enum dofi_half_open_kind kind, size_t size,
			 const union dofi_addr *from, uint16_t from_port);
/* The entry after e (NULL: the first one) of a client at this address and listener; NULL: none. */
void *dofi_half_open_next(const struct dofi_listener *l, enum dofi_half_open_kind kind,
			  const union dofi_addr *from, const void *e);
/* Removes and frees the entry. */
void dofi_half_open_drop(struct dofi_ia *ia, void *e);
/* The adapter is being closed; no lock. */
void dofi_half_open_fini(struct dofi_ia *ia);

#endif
