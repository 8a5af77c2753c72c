/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of connection messages that are longer than a message of the fabric (verbs: 55 bytes).
 *
 * A request or an answer with more private data than one message carries is sent in parts, each by
 * a further connection attempt of the client. The listener rejects all attempts but the last:
 *
 *   client                                  listener
 *   connect: PUT (0, bytes)             ->
 *                                       <-  reject: GOT (n)
 *   connect: PUT (n, bytes)             ->  the request is complete
 *                                       <-  a short answer as usual, or reject: HAVE (0, bytes)
 *   connect: GET (n)                    ->
 *                                       <-  reject: HAVE (n, bytes)
 *   connect: GET (m)                    ->
 *                                       <-  HAVE (m, bytes), the last part: accept or reject,
 *                                           according to the message
 *
 * GOT has the number of bytes that the listener has; if it has dropped the parts of a client, that
 * is 0 and the client begins again. The parts together are a message of proto/cm_proto.h or of
 * proto/cm_seal.h, whose MAC covers it as a whole. A part:
 *
 *  offset size
 *   0  1  magic 0xda
 *   1  1  bits 7..5 version of the brief header; 4..3 zero; 2..0 enum dofi_cm_part_kind
 *   2  4  token: number of the message, random; PUT, GOT: the client's; HAVE, GET: the listener's
 *   6  2  PUT, HAVE: length of the message; otherwise 0
 *   8  2  offset of this part; GOT, GET: number of bytes that the receiver of the parts has
 *  10     PUT, HAVE: bytes of the message
 */
#ifndef DOFI_CM_PART_H
#define DOFI_CM_PART_H

#include "proto/cm_proto.h"

#define DOFI_CM_PART_HDR 10

enum dofi_cm_part_kind { DOFI_CM_PUT = 1, DOFI_CM_GOT, DOFI_CM_HAVE, DOFI_CM_GET };

struct dofi_cm_part {
	enum dofi_cm_part_kind kind;
	uint32_t token;
	uint16_t total; /* PUT, HAVE: length of the message */
	uint16_t at;
	uint16_t len;        /* PUT, HAVE: bytes of this part */
	const uint8_t *data; /* these bytes; to build a part: the message */
};

/* A message of which parts have arrived. */
struct dofi_cm_whole {
	uint32_t token; /* 0: none */
	uint16_t total, have;
};

static inline bool dofi_cm_is_part(const uint8_t *data, size_t len)
{
	return len >= 2 && data[0] == DOFI_CM_BRIEF_MAGIC &&
	       data[1] >> 3 == DOFI_CM_BRIEF_VERSION << 2;
}

/* Writes a part of at most `room` bytes, with as much of the message as fits, and sets part->len.
 * Returns its length. */
size_t dofi_cm_part_build(uint8_t *buf, size_t room, struct dofi_cm_part *part);
/* 0 or -EBADMSG. part->data points into data. */
int dofi_cm_part_parse(const uint8_t *data, size_t len, struct dofi_cm_part *part);
/* Adds a PUT or HAVE to the message in `to` (DOFI_CM_MAX bytes). 1: the message is complete; 0:
 * parts are missing; -EBADMSG: it is not the next part. The first part replaces what was there. */
int dofi_cm_part_add(struct dofi_cm_whole *whole, uint8_t *to, const struct dofi_cm_part *part);
/* A new token; 0: there are no random numbers. */
uint32_t dofi_cm_part_token(void);

#endif
