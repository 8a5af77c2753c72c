/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats of the collectives: description of a member, connection requests, packets.
 *
 * All numbers are big-endian. What a peer has sent is checked by the parsing functions, and by the
 * receiver against the operation that it belongs to, before it is used.
 *
 * Packets of a connection:
 *   EAGER   data of a message of up to the eager size of the group
 *   CTS     the receiver of a longer message names the memory that it is to be written to
 *   DONE    the data of such a message has been written
 *   CREDIT  only returns credits; needs none itself
 *   CLOCK, ADJUST, ACK   setting the clock of the group
 *   BYE     the sender has freed the group after all its operations
 *   WAITS   the sender has a longer message, and no CTS for it yet
 */
#ifndef DOFI_COLL_WIRE_H
#define DOFI_COLL_WIRE_H

#include <stddef.h>

#include "base/addr.h"
#include "base/dat_version.h"

#define COLL_VERSION 3
#define COLL_TOKEN 16

/* Bounds of the eager size of a group: that of the longest message that is copied through slots. */
#define COLL_EAGER_LEAST 8192u
#define COLL_EAGER_MOST 65536u

/* A member as it is given to other processes. */
#define COLL_BLOB 64

struct coll_ident {
	uint8_t fabric; /* wire_id of its adapter's fabric */
	union dofi_addr addr;
	uint32_t eager;            /* size that its adapter prefers */
	uint64_t qual;             /* of its service point */
	uint8_t token[COLL_TOKEN]; /* random: names the member, and proves that a peer knows it */
};

void dofi_coll_put_blob(uint8_t blob[COLL_BLOB], const struct coll_ident *id);
bool dofi_coll_get_blob(const uint8_t blob[COLL_BLOB], struct coll_ident *id);
/* The version of a description, which the library may not know; -1: it is none. */
int dofi_coll_blob_version(const uint8_t blob[COLL_BLOB]);

/* Private data of a connection request and of its acceptance. */
#define COLL_HELLO 36

struct coll_hello {
	uint8_t token[COLL_TOKEN]; /* the addressee's */
	uint32_t group, size;
	uint32_t rank; /* the sender's */
};

void dofi_coll_put_hello(uint8_t data[COLL_HELLO], const struct coll_hello *hello);
bool dofi_coll_get_hello(const void *data, DAT_COUNT len, struct coll_hello *hello);

enum coll_packet_kind {
	COLL_PKT_EAGER = 1,
	COLL_PKT_CTS,
	COLL_PKT_DONE,
	COLL_PKT_CREDIT,
	COLL_PKT_CLOCK,
	COLL_PKT_ADJUST,
	COLL_PKT_ACK,
	COLL_PKT_BYE,
	COLL_PKT_WAITS,
	COLL_PKT_END,
};

#define COLL_HDR 32u

struct coll_packet {
	enum coll_packet_kind kind;
	uint8_t type;    /* of the operation: DAT_IB_EXT_TYPE */
	uint8_t credits; /* returned */
	uint32_t seq;    /* number of the operation in the group */
	uint64_t length; /* of the whole message; CLOCK, ADJUST: time in ns */
	uint64_t addr;   /* CTS: memory */
	uint32_t key;    /* CTS: its key */
};

void dofi_coll_put_packet(uint8_t hdr[COLL_HDR], const struct coll_packet *p);
/* `len`: bytes received, with the header. */
bool dofi_coll_get_packet(const uint8_t *data, size_t len, struct coll_packet *p);

#endif
