/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection messages of fabrics with connections of their own (verbs), with a shared secret.
 *
 * A fabric carries one message in each direction before a connection is established, and the
 * messages are small (verbs: 55 bytes). Therefore the client connects twice:
 *
 *   client                                  listener
 *   connect: HELLO (random, all but the private data)  ->
 *                                           <-  reject: CHALLENGE (random, MAC)
 *   connect: REQUEST (private data, MAC)    ->
 *                                           <-  accept: ACCEPT, or reject: REJECT
 *                                               (private data, MAC)
 *
 * A MAC is the beginning of
 *
 *   HMAC-SHA256(key, label | HELLO | random of CHALLENGE | text)
 *
 * with the label "h" and no text for CHALLENGE; "r" and the private data for REQUEST; "a" for
 * ACCEPT and "j" for REJECT, whose text is the first 16 bytes of the HMAC of REQUEST and the
 * message without its MAC. What precedes a part determines its length. Numbers are big-endian:
 *
 *   HELLO      0  1  magic 0xd1
 *              1  1  version (4)
 *              2  1  fabric: wire id
 *              3  1  bit 0: the address is an IPv6 address; others 0
 *              4 16  random
 *             20  8  requested connection qualifier
 *             28  2  IRD of the sender
 *             30  2  ORD of the sender
 *             32  3  conn_id (object/conn_id.h), 0: none
 *             35  1  bytes of private data that REQUEST will have, modulo 256
 *             36 16  address that the sender connects to; IPv4: 4 bytes, then zeros
 *             52  2  port of the sender for atomic operations (object/amo.h), 0: none
 *   CHALLENGE  0  1  magic 0xd2
 *              1  1  version (4)
 *              2 16  random
 *             18 16  MAC
 *   REQUEST    0  1  magic 0xd3; then private data, MAC
 *   ACCEPT     0  1  bytes of private data, modulo 256
 *              1  1  IRD of the sender
 *              2  3  conn_id; over iWARP 2 bytes more, the port as above; then private data, MAC
 *   REJECT     0  1  magic 0xd4
 *              1  1  enum dofi_cm_reason
 *              2  1  bytes of private data, modulo 256; then private data, MAC
 *
 * The token of the connection for atomic operations is the first 8 bytes of the HMAC with the label
 * "t" and no text. HELLO has had its port since version 4.
 *
 * The MAC of the last three has 16 bytes, or what the fabric leaves after the private data: over
 * verbs, with 48 bytes of private data, 6 in a REQUEST, 2 in an ACCEPT and 4 in a REJECT; over
 * iWARP, with 46 bytes, 8, 2 and 6. A message with more has the whole MAC and is sent in parts
 * (proto/cm_part.h); if it arrives in one message of the fabric, it is malformed: otherwise its
 * sender could shorten the MAC at will.
 *
 * docs/security.md explains why that suffices. A rejection before CHALLENGE, or of an unknown
 * handshake, is a plain message (proto/cm_proto.h).
 */
#ifndef DOFI_CM_SEAL_H
#define DOFI_CM_SEAL_H

#include "proto/cm_proto.h"
#include "base/addr.h"
#include "proto/cm_secret.h"

#define DOFI_SEAL_VERSION 4
#define DOFI_SEAL_RANDOM 16
#define DOFI_SEAL_MAC 16
#define DOFI_SEAL_HELLO_MAX 54
#define DOFI_SEAL_CHALLENGE (2 + DOFI_SEAL_RANDOM + DOFI_SEAL_MAC)

enum { DOFI_SEAL_HELLO = 0xd1, DOFI_SEAL_CHALLENGED, DOFI_SEAL_REQUEST, DOFI_SEAL_REJECT };

/* State of a handshake, at either end. */
struct dofi_seal {
	bool on;          /* HELLO has been sent or received */
	bool proven;      /* client: CHALLENGE has proved the peer's secret */
	uint8_t restarts; /* client: how often the listener did not recognise it */
	uint8_t hello_len;
	uint8_t hello[DOFI_SEAL_HELLO_MAX];
	uint8_t random[DOFI_SEAL_RANDOM];   /* the listener's */
	uint8_t request_mac[DOFI_SEAL_MAC]; /* not truncated */
};

/* Properties of the adapter that determine the format. */
struct dofi_sealer {
	const struct msgep_secret *secret;
	size_t max_len;      /* of a message of the fabric */
	size_t one_priv;     /* more private data in one would shorten the MAC too much */
	size_t max_priv;     /* in parts */
	size_t amo_port_len; /* bytes of the port in ACCEPT: 2 or 0 */
};

static inline bool dofi_seal_is(uint8_t magic, const uint8_t *data, size_t len)
{
	return len && *data == magic;
}

/* Each writes a message to buf (DOFI_CM_MAX bytes) and returns its length; 0: no random numbers, or
 * no MAC. hello: the fields of msg, including the length of its private data. answer: msg->kind is
 * DOFI_CM_ACCEPT or DOFI_CM_REJECT. */
size_t dofi_seal_hello(struct dofi_seal *s, const struct dofi_cm_msg *msg,
		       const union dofi_addr *to, uint8_t *buf);
size_t dofi_seal_challenge(struct dofi_seal *s, const struct msgep_secret *secret, uint8_t *buf);
size_t dofi_seal_request(struct dofi_seal *s, const struct dofi_sealer *by, const void *priv,
			 size_t len, uint8_t *buf);
size_t dofi_seal_answer(const struct dofi_seal *s, const struct dofi_sealer *by,
			const struct dofi_cm_msg *msg, uint8_t *buf);

/* Each validates a received message. 0, -EPROTONOSUPPORT (another version), -EBADMSG (malformed) or
 * -EACCES (the MAC is wrong: the sender does not know the secret, or the message belongs to another
 * handshake). HELLO: msg has no private data. REQUEST: *priv bytes of private data follow the first
 * byte. Answers: msg->priv points into data. */
int dofi_seal_open_hello(struct dofi_seal *s, const uint8_t *data, size_t len,
			 struct dofi_cm_msg *msg, union dofi_addr *to);
/* The token of the connection for atomic operations; 0: no MAC. */
uint64_t dofi_seal_token(const struct dofi_seal *s, const struct msgep_secret *secret);
int dofi_seal_open_challenge(struct dofi_seal *s, const struct msgep_secret *secret,
			     const uint8_t *data, size_t len);
int dofi_seal_open_request(struct dofi_seal *s, const struct dofi_sealer *by, const uint8_t *data,
			   size_t len, size_t *priv);
int dofi_seal_open_answer(const struct dofi_seal *s, const struct dofi_sealer *by,
			  enum dofi_cm_kind kind, const uint8_t *data, size_t len,
			  struct dofi_cm_msg *msg);

#endif
