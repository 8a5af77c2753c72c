/* SPDX-License-Identifier: BSD-2-Clause */
/* What two providers say to each other while they connect.
 *
 * Each connection message of the fabric (request, acceptance, rejection) begins with this
 * header, all numbers big-endian, followed by the consumer's private data:
 *
 *  offset size
 *   0  4  magic "DOFI"
 *   4  1  version of this layout (1)
 *   5  1  kind: enum dofi_cm_kind
 *   6  1  fabric: wire id of the fabric's row
 *   7  1  DAT version of the sender, major * 10 + minor (information only)
 *   8  2  bytes of header before the private data (40 in version 1)
 *  10  2  bytes of private data
 *  12  8  request: connection qualifier asked for; otherwise 0
 *  20  2  RDMA reads that the sender serves at once
 *  22  2  RDMA reads that the sender issues at once
 *  24  2  rejection: enum dofi_cm_reason; otherwise 0
 *  26  2  port on which the sender's adapter takes links (link.h), 0: none
 *  28  8  number of the sender's adapter, random
 *  36  4  tag that messages to the sender must carry (tag.h), 0: none
 *
 * A peer with another magic, version or fabric is refused. Nothing is believed before the whole
 * message has been checked (dofi_cm_parse).
 */
#ifndef DOFI_CM_PROTO_H
#define DOFI_CM_PROTO_H

#include <stddef.h>
#include <stdint.h>

#define DOFI_CM_MAGIC 0x444f4649u
#define DOFI_CM_VERSION 1
#define DOFI_CM_HDR 40
/* Of any fabric; what one carries says its row. */
#define DOFI_CM_MAX 296

enum dofi_cm_kind { DOFI_CM_REQUEST = 1, DOFI_CM_ACCEPT, DOFI_CM_REJECT };

enum dofi_cm_reason {
	DOFI_CM_BY_PEER = 1,	/* the consumer rejected */
	DOFI_CM_NO_LISTENER,	/* nobody listens on the qualifier */
	DOFI_CM_BACKLOG,	/* the service point's EVD is full */
	DOFI_CM_VERSION_OTHER,	/* magic, version or fabric differ */
	DOFI_CM_RESOURCES,	/* no memory or the like */
};

struct dofi_cm_msg {
	enum dofi_cm_kind kind;
	uint8_t fabric;
	uint8_t api;
	uint16_t priv_len;
	uint64_t qual;
	uint16_t reads_in, reads_out;
	uint16_t reason;
	uint16_t link_port;
	uint64_t number;
	uint32_t tag;
	const uint8_t *priv;		/* points into the message */
};

/* Writes header and private data into buf (DOFI_CM_MAX bytes); returns the length. */
size_t dofi_cm_build(uint8_t *buf, const struct dofi_cm_msg *msg);
/* 0, -EPROTO (not our protocol), -EPROTONOSUPPORT (another version), -EBADMSG (malformed). */
int dofi_cm_parse(const void *buf, size_t len, struct dofi_cm_msg *msg);
const char *dofi_cm_reason_text(unsigned int reason);

#endif
