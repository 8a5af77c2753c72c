/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds handshake messages, and validates received ones. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/be_bytes.h"
#include "msgep/cm/cm_msg.h"

#define HAS_FD 1
#define SEALED 2

static uint8_t *cm_msg_put_address(uint8_t *p, const union dofi_addr *addr)
{
	memset(p, 0, 16);
	if (addr->sa.sa_family == AF_INET6)
		memcpy(p, &addr->in6.sin6_addr, 16);
	else if (addr->sa.sa_family == AF_INET)
		memcpy(p, &addr->in.sin_addr, 4);
	return p + 16;
}

static unsigned int cm_msg_format(const struct msgep_cm_msg *msg)
{
	if (msg->kind != MSGEP_CM_REQUEST)
		return 0;
	return msg->to.sa.sa_family == AF_INET6 ? 6 : 4;
}

size_t msgep_cm_build(uint8_t *buf, const struct msgep_cm_msg *msg)
{
	uint8_t *p = buf;

	p = dofi_put_be(p, MSGEP_CM_MAGIC, 4);
	p = dofi_put_be(p, MSGEP_CM_VERSION, 1);
	p = dofi_put_be(p, msg->kind, 1);
	p = dofi_put_be(p, msg->transport, 1);
	p = dofi_put_be(p, (msg->has_fd ? HAS_FD : 0) | (msg->sealed ? SEALED : 0), 1);
	p = dofi_put_be(p, msg->params_len, 2);
	p = dofi_put_be(p, msg->data_len, 2);
	p = dofi_put_be(p, msg->port, 2);
	p = dofi_put_be(p, cm_msg_format(msg), 1);
	p = dofi_put_be(p, msg->dscp, 1);
	p = cm_msg_put_address(p, &msg->to);
	if (msg->params_len)
		memcpy(p, msg->params, msg->params_len);
	p += msg->params_len;
	if (msg->data_len)
		memcpy(p, msg->data, msg->data_len);
	p += msg->data_len;
	if (msg->sealed && msg->mac)
		memcpy(p, msg->mac, MSGEP_CM_MAC);
	else if (msg->sealed)
		memset(p, 0, MSGEP_CM_MAC);
	return (size_t)(p - buf) + (msg->sealed ? MSGEP_CM_MAC : 0);
}

static bool cm_msg_all_zero(const uint8_t *p, size_t n)
{
	while (n--)
		if (*p++)
			return false;
	return true;
}

static bool cm_msg_address_ok(const uint8_t *p)
{
	if (p[5] != MSGEP_CM_REQUEST)
		return cm_msg_all_zero(p + 12, 20);
	return dofi_get_be(p + 12, 2) && p[15] < 64 &&
	       (p[14] == 6 || (p[14] == 4 && cm_msg_all_zero(p + 20, 12)));
}

/* Checks the bytes of a header that have arrived, to reject bad input early. */
static int cm_msg_check_start(const uint8_t *p, size_t have)
{
	static const uint8_t magic[4] = { 'R', 'D', 'M', 'C' };

	if (memcmp(p, magic, have < 4 ? have : 4))
		return -EPROTO;
	return have > 4 && p[4] != MSGEP_CM_VERSION ? -EPROTONOSUPPORT : 0;
}

/* Checks the combination of parts for each kind: see cm_msg.h. */
static bool cm_msg_parts_ok(const uint8_t *p, size_t params, size_t data)
{
	switch (p[5]) {
	case MSGEP_CM_REQUEST:
	case MSGEP_CM_ACCEPT:
		return true;
	case MSGEP_CM_REJECT:
		return !params && !(p[7] & HAS_FD);
	case MSGEP_CM_CHECK:
	case MSGEP_CM_MOVED:
	case MSGEP_CM_GONE:
		return !params && !data && !(p[7] & HAS_FD);
	case MSGEP_CM_BYE:
	case MSGEP_CM_STATUS:
		return !data && !(p[7] & HAS_FD);
	case MSGEP_CM_HELLO:
		return params == MSGEP_CM_NONCE && !data && !p[7];
	case MSGEP_CM_CHALLENGE:
		return params == MSGEP_CM_NONCE && !data && p[7] == SEALED;
	case MSGEP_CM_BUSY:
		return !params && !data && !p[7];
	default:
		return false;
	}
}

/* 0 and the length of the whole message, or a header error. */
static int cm_msg_check_header(const uint8_t *p, size_t *total)
{
	size_t params = (size_t)dofi_get_be(p + 8, 2), data = (size_t)dofi_get_be(p + 10, 2);
	int ret = cm_msg_check_start(p, MSGEP_CM_HDR);

	if (ret)
		return ret;
	if (p[7] & ~(HAS_FD | SEALED) || params > MSGEP_PARAMS_MAX || data > MSGEP_CM_DATA ||
	    !cm_msg_address_ok(p) || !cm_msg_parts_ok(p, params, data))
		return -EBADMSG;
	*total = MSGEP_CM_HDR + params + data + (p[7] & SEALED ? MSGEP_CM_MAC : 0);
	return 0;
}

int msgep_cm_parse(const uint8_t *buf, size_t len, struct msgep_cm_msg *msg)
{
	size_t total;
	int ret = cm_msg_check_start(buf, len);

	if (ret)
		return ret;
	if (len < MSGEP_CM_HDR)
		return -EBADMSG;
	ret = cm_msg_check_header(buf, &total);
	if (ret)
		return ret;
	if (len != total)
		return -EBADMSG;
	memset(msg, 0, sizeof(*msg));
	msg->kind = buf[5];
	msg->transport = buf[6];
	msg->has_fd = buf[7] & HAS_FD;
	msg->sealed = buf[7] & SEALED;
	msg->params_len = (uint16_t)dofi_get_be(buf + 8, 2);
	msg->data_len = (uint16_t)dofi_get_be(buf + 10, 2);
	msg->params = buf + MSGEP_CM_HDR;
	msg->data = msg->params + msg->params_len;
	msg->mac = msg->sealed ? msg->data + msg->data_len : NULL;
	msg->port = (uint16_t)dofi_get_be(buf + 12, 2);
	msg->dscp = buf[15];
	if (buf[14] == 6) {
		msg->to.sa.sa_family = AF_INET6;
		memcpy(&msg->to.in6.sin6_addr, buf + 16, 16);
	} else if (buf[14] == 4) {
		msg->to.sa.sa_family = AF_INET;
		memcpy(&msg->to.in.sin_addr, buf + 16, 4);
	}
	return 0;
}

const char *msgep_cm_got_text(const uint8_t *buf, size_t len, int err, char *text)
{
	if (err == -EPROTONOSUPPORT && len > 4)
		snprintf(text, MSGEP_CM_GOT_TEXT, "version %u", buf[4]);
	else if (err == -EPROTO && len >= 4)
		snprintf(text, MSGEP_CM_GOT_TEXT, "other data (%02x %02x %02x %02x)", buf[0],
			 buf[1], buf[2], buf[3]);
	else if (err && len > 5)
		snprintf(text, MSGEP_CM_GOT_TEXT, "a malformed message of type %u", buf[5]);
	else if (err)
		snprintf(text, MSGEP_CM_GOT_TEXT, "%zu bytes of other data", len);
	else
		snprintf(text, MSGEP_CM_GOT_TEXT, "message type %u", buf[5]);
	return text;
}

size_t msgep_cm_reader_wants(const struct msgep_cm_reader *r)
{
	size_t total;

	if (r->have < MSGEP_CM_HDR)
		return MSGEP_CM_HDR - r->have;
	return cm_msg_check_header(r->buf, &total) ? 0 : total - r->have;
}

static void cm_msg_skip_doorbells(struct msgep_cm_reader *r)
{
	size_t n = 0;

	while (n < r->have && r->buf[n] == MSGEP_CM_DOORBELL)
		n++;
	r->have -= n;
	memmove(r->buf, r->buf + n, r->have);
}

int msgep_cm_reader_add(struct msgep_cm_reader *r, size_t n, bool doorbells)
{
	size_t total;
	int ret;

	r->have += n;
	/* No message starts with a doorbell byte: only preceding doorbells are dropped. */
	if (doorbells)
		cm_msg_skip_doorbells(r);
	ret = cm_msg_check_start(r->buf, r->have);
	if (ret || r->have < MSGEP_CM_HDR)
		return ret;
	ret = cm_msg_check_header(r->buf, &total);
	return ret ? ret : r->have == total;
}
