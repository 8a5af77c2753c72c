/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats of the connection messages that two providers exchange.
 *
 * Each connection message of the fabric (request, acceptance, rejection) begins with this
 * header, all numbers big-endian, followed by the consumer's private data:
 *
 *  offset size
 *   0  4  magic "DOFI"
 *   4  1  version of this layout and of the completion data that accompanies messages (2)
 *   5  1  bits 6..0 kind: enum dofi_cm_kind; bit 7: of datagram endpoints
 *   6  1  fabric: wire id of the fabric's descriptor, see DOFI_CM_AND_SHM
 *   7  1  DAT version of the sender, major * 10 + minor (information only)
 *   8  2  bytes of header before the private data (40 in versions 1 and 2)
 *  10  2  bytes of private data
 *  12  8  request: requested connection qualifier; otherwise 0
 *  20  2  IRD of the sender: RDMA reads that it serves concurrently
 *  22  2  ORD of the sender: RDMA reads that it issues concurrently
 *  24  2  rejection: enum dofi_cm_reason; otherwise 0
 *  26  2  port of the sender for atomic operations of the peer (object/amo.h), 0: none
 *  28  8  request: token of the connection for these, 0: none
 *  36  4  conn_id that messages to the sender must carry (object/conn_id.h), 0: none; of datagram
 *         endpoints: the number of the sender's endpoint (dgram/dgram.h)
 *
 * A fabric whose connection messages carry few bytes (verbs: 55) has a brief header instead:
 *
 *  offset size
 *   0  1  magic 0xda; 0xdb: a request or an acceptance with a port for atomic operations
 *   1  1  bits 7..5 version (6); 4..3 kind; 2: the qualifier has more than 16 bits; 1: its low bits
 *         are not the port (cm/cm.h); 0: of datagram endpoints
 *   2  1  IRD of the sender; rejection: enum dofi_cm_reason
 *   3  1  ORD of the sender
 *   4  3  conn_id, as above
 *   7  6  only with bit 2: the qualifier without its low 16 bits
 *      2  only with magic 0xdb: port of the sender for atomic operations of the peer (object/amo.h)
 *      8  only with magic 0xdb, in a request: token of the connection for these
 *
 * followed by private data up to the end of the message. The port has the low 16 bits of the
 * qualifier. A message that is longer than one of the fabric is sent in parts (proto/cm_part.h),
 * which version 3 introduced. Version 4 introduced writes with immediate data over iWARP and, over
 * other devices, sends with invalidation. Version 5 introduced both to an SRQ, by announcements
 * (object/conn_id.h), and over iWARP the longer prefix of messages to an SRQ
 * (fabrics/verbs/msg_prefix.h). Version 6 introduced ports and tokens, over iWARP.
 *
 * Version 2 introduced writes with immediate data (object/conn_id.h), which a peer of version 1
 * would misinterpret.
 *
 * Datagram endpoints only exchange their addresses: the listener accepts by rejecting the attempt
 * of the fabric with an ACCEPT message, so that no connection remains. A peer that does not know
 * these messages rejects them as malformed. They are not used with a shared secret.
 *
 * With a shared secret, the messages of proto/cm_seal.h replace these.
 *
 * A peer with another magic, version or fabric is rejected. No field is used before the whole
 * message has been validated (dofi_cm_parse).
 */
#ifndef DOFI_CM_PROTO_H
#define DOFI_CM_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOFI_CM_MAGIC 0x444f4649u
#define DOFI_CM_VERSION 2
#define DOFI_CM_HDR 40
/* Maximum over all fabrics; the descriptor of a fabric has its own limit. */
#define DOFI_CM_MAX 296
#define DOFI_CM_PRIV_MAX (DOFI_CM_MAX - DOFI_CM_HDR)

/* A fabric with a network and shared memory has the network's wire id with this bit. It connects
 * to fabrics of the same kind, of the network alone and, on its host, of shared memory alone. */
#define DOFI_CM_AND_SHM 0x80u
#define DOFI_CM_SHM 3 /* wire id of shm */

#define DOFI_CM_BRIEF 7
#define DOFI_CM_AMO_PORT 2 /* bytes of the port for atomic operations */
#define DOFI_CM_AMO_TOKEN 8
#define DOFI_CM_BRIEF_MAGIC 0xdau
#define DOFI_CM_BRIEF_PORT_MAGIC 0xdbu
#define DOFI_CM_BRIEF_VERSION 6u
#define DOFI_CM_BRIEF_FABRIC 2 /* wire id of verbs, which uses it */

enum dofi_cm_kind { DOFI_CM_REQUEST = 1, DOFI_CM_ACCEPT, DOFI_CM_REJECT };

enum dofi_cm_reason {
	DOFI_CM_BY_PEER = 1,   /* rejected by the consumer */
	DOFI_CM_NO_LISTENER,   /* no listener on the qualifier */
	DOFI_CM_BACKLOG,       /* the service point's EVD is full */
	DOFI_CM_VERSION_OTHER, /* magic, version or fabric differ */
	DOFI_CM_RESOURCES,     /* insufficient resources */
	DOFI_CM_NO_SECRET,     /* the request requires a secret, this side has none */
	DOFI_CM_SECRET_WANTED, /* the request must belong to such a handshake */
	DOFI_CM_SECRET_OTHER,  /* the request belongs to no handshake that this side knows, or
				* requests an answer that this side does not have */
	DOFI_CM_NO_DATAGRAMS,  /* the service point takes no requests of datagram endpoints */
};

struct dofi_cm_msg {
	enum dofi_cm_kind kind;
	uint8_t fabric;
	uint8_t api;
	uint16_t priv_len;
	uint64_t qual;
	uint16_t reads_in, reads_out;
	uint16_t reason;
	uint16_t amo_port;   /* for atomic operations of the peer, 0: none */
	uint64_t amo_token;  /* request: of the connection, for these; not 0 with a port */
	uint32_t conn_id;    /* datagram endpoints: number of the sender's endpoint */
	bool datagram;       /* of datagram endpoints; only in requests and acceptances */
	bool brief;          /* parsed: the low 16 bits of `qual` are missing */
	bool port_moved;     /* brief request: see dofi_cm_port */
	const uint8_t *priv; /* points into the message */
};

/* Writes header and private data into buf (DOFI_CM_MAX bytes); returns the length. */
size_t dofi_cm_build(uint8_t *buf, const struct dofi_cm_msg *msg);
/* 0, -EPROTO (not our protocol), -EPROTONOSUPPORT (another version), -EBADMSG (malformed). */
int dofi_cm_parse(const void *buf, size_t len, struct dofi_cm_msg *msg);

/* The same for the brief format; the two functions above call these. */
size_t dofi_cm_brief_build(uint8_t *buf, const struct dofi_cm_msg *msg);
int dofi_cm_brief_parse(const void *buf, size_t len, struct dofi_cm_msg *msg);

/* True if these two fabrics can connect; msgep/cm/cm.h selects the transport before. */
bool dofi_cm_fabrics_match(uint8_t a, uint8_t b);

const char *dofi_cm_reason_text(unsigned int reason);

#endif
