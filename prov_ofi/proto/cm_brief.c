/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds and checks connection messages in the short format of RDMA devices.
 *
 * The layout is described in proto/cm_proto.h.
 */
#include <errno.h>
#include <string.h>

#include "base/be_bytes.h"
#include "proto/cm_proto.h"

#define WIDE 4u       /* bit of byte 1: the qualifier has more than 16 bits */
#define MOVED 2u      /* bit of byte 1: the port is not the qualifier's low 16 bits */
#define DATAGRAM 1u   /* bit of byte 1: of datagram endpoints */
#define BEYOND_PORT 6 /* bytes of a wide qualifier without its low 16 bits */

size_t dofi_cm_brief_build(uint8_t *buf, const struct dofi_cm_msg *msg)
{
	unsigned int what = DOFI_CM_BRIEF_VERSION << 5 | (unsigned int)msg->kind << 3;
	bool request = msg->kind == DOFI_CM_REQUEST;
	bool port = msg->amo_port && msg->kind != DOFI_CM_REJECT;
	uint8_t *p = dofi_put_be(buf, port ? DOFI_CM_BRIEF_PORT_MAGIC : DOFI_CM_BRIEF_MAGIC, 1);

	if (msg->qual >> 16)
		what |= WIDE;
	if (request && msg->port_moved)
		what |= MOVED;
	if (msg->datagram)
		what |= DATAGRAM;
	p = dofi_put_be(p, what, 1);
	p = dofi_put_be(p, msg->kind == DOFI_CM_REJECT ? msg->reason : msg->reads_in, 1);
	p = dofi_put_be(p, msg->reads_out, 1);
	p = dofi_put_be(p, msg->conn_id, 3);
	if (what & WIDE)
		p = dofi_put_be(p, msg->qual >> 16, BEYOND_PORT);
	if (port)
		p = dofi_put_be(p, msg->amo_port, DOFI_CM_AMO_PORT);
	if (port && request)
		p = dofi_put_be(p, msg->amo_token, DOFI_CM_AMO_TOKEN);
	if (msg->priv_len)
		memcpy(p, msg->priv, msg->priv_len);
	return (size_t)(p - buf) + msg->priv_len;
}

/* The fields that not every header has; returns the address after them. */
static const uint8_t *brief_get_optional(const uint8_t *p, bool wide, bool port, bool token,
					 struct dofi_cm_msg *msg)
{
	if (wide) {
		msg->qual = dofi_get_be(p, BEYOND_PORT) << 16;
		p += BEYOND_PORT;
	}
	if (port) {
		msg->amo_port = (uint16_t)dofi_get_be(p, DOFI_CM_AMO_PORT);
		p += DOFI_CM_AMO_PORT;
	}
	if (token) {
		msg->amo_token = dofi_get_be(p, DOFI_CM_AMO_TOKEN);
		p += DOFI_CM_AMO_TOKEN;
	}
	return p;
}

int dofi_cm_brief_parse(const void *buf, size_t len, struct dofi_cm_msg *msg)
{
	const uint8_t *p = buf;
	bool request, wide, port, token;
	size_t hdr = DOFI_CM_BRIEF;

	if (len < 2 || len > DOFI_CM_MAX)
		return -EBADMSG;
	if (p[1] >> 5 != DOFI_CM_BRIEF_VERSION)
		return -EPROTONOSUPPORT;
	memset(msg, 0, sizeof(*msg));
	msg->kind = p[1] >> 3 & 3;
	request = msg->kind == DOFI_CM_REQUEST;
	wide = p[1] & WIDE;
	port = p[0] == DOFI_CM_BRIEF_PORT_MAGIC;
	token = port && request;
	hdr += (wide ? BEYOND_PORT : 0) + (port ? DOFI_CM_AMO_PORT : 0) +
	       (token ? DOFI_CM_AMO_TOKEN : 0);
	if (len < hdr || msg->kind < DOFI_CM_REQUEST ||
	    (msg->kind == DOFI_CM_REJECT && (port || (p[1] & DATAGRAM))) ||
	    (!request && (p[1] & (WIDE | MOVED))))
		return -EBADMSG;
	msg->fabric = DOFI_CM_BRIEF_FABRIC;
	msg->brief = true;
	msg->port_moved = p[1] & MOVED;
	msg->datagram = p[1] & DATAGRAM;
	if (msg->kind == DOFI_CM_REJECT)
		msg->reason = p[2];
	else
		msg->reads_in = p[2];
	msg->reads_out = p[3];
	msg->conn_id = (uint32_t)dofi_get_be(p + 4, 3);
	msg->priv = brief_get_optional(p + DOFI_CM_BRIEF, wide, port, token, msg);
	msg->priv_len = (uint16_t)(len - hdr);
	return 0;
}
