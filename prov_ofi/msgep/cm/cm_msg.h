/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that the two ends of a connection of msgep.h exchange on its socket.
 *
 *   client                            listener
 *   REQUEST (params, data)      ->
 *                              <-     ACCEPT (params, data), or REJECT (data) and the end
 *   ... the transport checks that data passes, the connection is up: doorbell bytes
 *   (MSGEP_CM_DOORBELL) in both directions, or, without progress: CHECK -> and <- STATUS (the
 *   transport's counts), in either direction ...
 *   BYE (the transport's final counts) ->  and/or  <-  BYE; then the end of the stream
 *
 * A listener that has no resources for another client sends BUSY, at any time before its answer,
 * and closes; the client retries (cm_client.c).
 *
 * A transport that carries messages itself (cm_route.c) replaces the socket once it has attached
 * the connection: MOVED, from the listener's side, all following messages, and all later handshakes
 * between the two use it, unsealed. The client's end is up when it has received MOVED. GONE, used
 * only there, ends a connection that BYE does not end.
 *
 * If a secret is configured (cm_secret.h), the client's HELLO and the listener's CHALLENGE, each
 * with 32 random bytes as the transport's bytes, come first; all but HELLO and BUSY are sealed.
 *
 * A message is a header of 32 bytes, numbers big-endian, followed by the transport's bytes and the
 * private data of the layer above (which starts with proto/cm_proto.h):
 *
 *  offset size
 *   0  4  magic "RDMC"
 *   4  1  version of this layout and of frame.h (4)
 *   5  1  kind: enum msgep_cm_kind
 *   6  1  transport: id of the sender's transport (struct msgep_transport)
 *   7  1  flags: bit 0: a descriptor travels with the message (unix sockets); bit 1: sealed, 32
 *         bytes of cm_secret.h follow the private data; others 0
 *   8  2  number of transport's bytes after the header, at most MSGEP_PARAMS_MAX
 *  10  2  number of bytes of private data after those, at most MSGEP_CM_DATA; 0 in BYE
 *  12  2  REQUEST: port that names the sender's end; otherwise 0
 *  14  1  REQUEST: 4 or 6, the version of the following address; otherwise 0
 *  15  1  REQUEST: DSCP of the connection's packets, less than 64; otherwise 0. A peer that does
 *         not know it rejects others than 0
 *  16 16  REQUEST: destination address, an IPv4 address followed by zeros;
 *         otherwise 0
 *
 * Only complete messages that pass all checks are processed. Neither side reads beyond the current
 * message; the first byte of a message is never MSGEP_CM_DOORBELL.
 */
#ifndef DOFI_MSGEP_CM_MSG_H
#define DOFI_MSGEP_CM_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cm_secret.h"
#include "msgep/msgep.h"

#define MSGEP_CM_MAGIC 0x52444d43u
#define MSGEP_CM_VERSION 4
#define MSGEP_CM_HDR 32
#define MSGEP_CM_MAX (MSGEP_CM_HDR + MSGEP_PARAMS_MAX + MSGEP_CM_DATA + MSGEP_CM_MAC)
#define MSGEP_CM_DOORBELL 0

enum msgep_cm_kind {
	MSGEP_CM_REQUEST = 1,
	MSGEP_CM_ACCEPT,
	MSGEP_CM_REJECT,
	MSGEP_CM_BYE,
	MSGEP_CM_HELLO,
	MSGEP_CM_CHALLENGE,
	MSGEP_CM_BUSY,
	MSGEP_CM_CHECK,
	MSGEP_CM_STATUS,
	MSGEP_CM_MOVED,
	MSGEP_CM_GONE,
};

struct msgep_cm_msg {
	enum msgep_cm_kind kind;
	uint8_t transport;
	bool has_fd, sealed;
	uint16_t params_len, data_len;
	const uint8_t *params, *data; /* point into the message */
	union dofi_addr to;           /* REQUEST: port 0 */
	uint16_t port;
	uint8_t dscp;
	const uint8_t *mac; /* sealed; NULL: zeros, to be filled in */
};

/* Writes the message into buf (MSGEP_CM_MAX bytes); returns its length. */
size_t msgep_cm_build(uint8_t *buf, const struct msgep_cm_msg *msg);
/* 0, -EPROTO (not our protocol), -EPROTONOSUPPORT (another version), -EBADMSG (malformed, or not
 * exactly one message). */
int msgep_cm_parse(const uint8_t *buf, size_t len, struct msgep_cm_msg *msg);

/* Describes a received message, or one that msgep_cm_parse rejects with err (0: valid), for the
 * log: "message type 3", "version 5", "a malformed message of type 1", "other data (47 45 54
 * 20)". */
#define MSGEP_CM_GOT_TEXT 40
const char *msgep_cm_got_text(const uint8_t *buf, size_t len, int err, char *text);

/* Assembles a message from its bytes as they arrive. */
struct msgep_cm_reader {
	size_t have;
	uint8_t buf[MSGEP_CM_MAX];
};

/* Number of bytes that may be read next, to buf + have; 0: the message is complete. */
size_t msgep_cm_reader_wants(const struct msgep_cm_reader *r);
/* Adds n bytes that have been read. doorbells: drop doorbell bytes before the message. 1: the
 * message is complete; 0: incomplete; or an error of msgep_cm_parse, after which the reader must
 * not be used again. */
int msgep_cm_reader_add(struct msgep_cm_reader *r, size_t n, bool doorbells);

#endif
