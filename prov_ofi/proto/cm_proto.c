/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds connection messages, and validates those of peers. */
#include <errno.h>
#include <string.h>

#include "base/be_bytes.h"
#include "proto/cm_proto.h"

#define DATAGRAM 0x80u /* bit of the kind */

size_t dofi_cm_build(uint8_t *buf, const struct dofi_cm_msg *msg)
{
	uint8_t *p = buf;

	if (msg->fabric == DOFI_CM_BRIEF_FABRIC)
		return dofi_cm_brief_build(buf, msg);
	p = dofi_put_be(p, DOFI_CM_MAGIC, 4);
	p = dofi_put_be(p, DOFI_CM_VERSION, 1);
	p = dofi_put_be(p, msg->kind | (msg->datagram ? DATAGRAM : 0), 1);
	p = dofi_put_be(p, msg->fabric, 1);
	p = dofi_put_be(p, msg->api, 1);
	p = dofi_put_be(p, DOFI_CM_HDR, 2);
	p = dofi_put_be(p, msg->priv_len, 2);
	p = dofi_put_be(p, msg->qual, 8);
	p = dofi_put_be(p, msg->reads_in, 2);
	p = dofi_put_be(p, msg->reads_out, 2);
	p = dofi_put_be(p, msg->reason, 2);
	p = dofi_put_be(p, msg->amo_port, 2);
	p = dofi_put_be(p, msg->amo_token, 8);
	p = dofi_put_be(p, msg->conn_id, 4);
	if (msg->priv_len)
		memcpy(p, msg->priv, msg->priv_len);
	return DOFI_CM_HDR + msg->priv_len;
}

int dofi_cm_parse(const void *buf, size_t len, struct dofi_cm_msg *msg)
{
	const uint8_t *p = buf;
	size_t hdr;

	if (len && (*p == DOFI_CM_BRIEF_MAGIC || *p == DOFI_CM_BRIEF_PORT_MAGIC))
		return dofi_cm_brief_parse(buf, len, msg);
	if (len < 5 || dofi_get_be(p, 4) != DOFI_CM_MAGIC)
		return -EPROTO;
	if (p[4] != DOFI_CM_VERSION)
		return -EPROTONOSUPPORT;
	if (len < DOFI_CM_HDR || len > DOFI_CM_MAX)
		return -EBADMSG;
	hdr = dofi_get_be(p + 8, 2);
	memset(msg, 0, sizeof(*msg));
	msg->priv_len = (uint16_t)dofi_get_be(p + 10, 2);
	msg->kind = p[5] & ~DATAGRAM;
	msg->datagram = p[5] & DATAGRAM;
	if (msg->kind < DOFI_CM_REQUEST || msg->kind > DOFI_CM_REJECT || hdr < DOFI_CM_HDR ||
	    hdr + msg->priv_len > len || (msg->datagram && msg->kind == DOFI_CM_REJECT))
		return -EBADMSG;
	msg->fabric = p[6];
	msg->api = p[7];
	msg->qual = dofi_get_be(p + 12, 8);
	msg->reads_in = (uint16_t)dofi_get_be(p + 20, 2);
	msg->reads_out = (uint16_t)dofi_get_be(p + 22, 2);
	msg->reason = (uint16_t)dofi_get_be(p + 24, 2);
	msg->amo_port = (uint16_t)dofi_get_be(p + 26, 2);
	msg->amo_token = dofi_get_be(p + 28, 8);
	msg->conn_id = (uint32_t)dofi_get_be(p + 36, 4);
	msg->priv = p + hdr;
	return 0;
}

bool dofi_cm_fabrics_match(uint8_t a, uint8_t b)
{
	const uint8_t network = (uint8_t)~DOFI_CM_AND_SHM;

	return (a & network) == (b & network) || (a == DOFI_CM_SHM && (b & DOFI_CM_AND_SHM)) ||
	       (b == DOFI_CM_SHM && (a & DOFI_CM_AND_SHM));
}

const char *dofi_cm_reason_text(unsigned int reason)
{
	switch (reason) {
	case DOFI_CM_BY_PEER:
		return "rejected by the peer's program";
	case DOFI_CM_NO_LISTENER:
		return "no service point of the peer has this qualifier";
	case DOFI_CM_BACKLOG:
		return "the peer's queue of connection requests is full";
	case DOFI_CM_VERSION_OTHER:
		return "the peer uses another protocol version or fabric";
	case DOFI_CM_RESOURCES:
		return "the peer lacks resources";
	case DOFI_CM_NO_SECRET:
		return "the peer has no secret";
	case DOFI_CM_SECRET_WANTED:
		return "the peer expects a secret";
	case DOFI_CM_SECRET_OTHER:
		return "the peer does not recognise the handshake";
	case DOFI_CM_NO_DATAGRAMS:
		return "the peer's service point takes no requests of datagram endpoints";
	default:
		return "unknown reason";
	}
}
