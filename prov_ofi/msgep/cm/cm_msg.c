/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds messages of the handshake, and validates those of peers. */
#include <errno.h>
#include <string.h>

#include "base/be_bytes.h"
#include "msgep/cm/cm_msg.h"

#define HAS_FD 1
#define SEALED 2

static uint8_t *put_address(uint8_t *p, const union dofi_addr *addr)
{
	memset(p, 0, 16);
	if (addr->sa.sa_family == AF_INET6)
		memcpy(p, &addr->in6.sin6_addr, 16);
	else if (addr->sa.sa_family == AF_INET)
		memcpy(p, &addr->in.sin_addr, 4);
	return p + 16;
}

static unsigned int sort_of(const struct rdm_cm_msg *msg)
{
	if (msg->kind != RDM_CM_REQUEST)
		return 0;
	return msg->to.sa.sa_family == AF_INET6 ? 6 : 4;
}

size_t rdm_cm_build(uint8_t *buf, const struct rdm_cm_msg *msg)
{
	uint8_t *p = buf;

	p = dofi_put(p, RDM_CM_MAGIC, 4);
	p = dofi_put(p, RDM_CM_VERSION, 1);
	p = dofi_put(p, msg->kind, 1);
	p = dofi_put(p, msg->wire, 1);
	p = dofi_put(p, (msg->has_fd ? HAS_FD : 0) | (msg->sealed ? SEALED : 0), 1);
	p = dofi_put(p, msg->offer_len, 2);
	p = dofi_put(p, msg->data_len, 2);
	p = dofi_put(p, msg->port, 2);
	p = dofi_put(p, sort_of(msg), 1);
	p = dofi_put(p, 0, 1);
	p = put_address(p, &msg->to);
	if (msg->offer_len)
		memcpy(p, msg->offer, msg->offer_len);
	p += msg->offer_len;
	if (msg->data_len)
		memcpy(p, msg->data, msg->data_len);
	p += msg->data_len;
	if (msg->sealed && msg->mac)
		memcpy(p, msg->mac, RDM_CM_MAC);
	else if (msg->sealed)
		memset(p, 0, RDM_CM_MAC);
	return (size_t)(p - buf) + (msg->sealed ? RDM_CM_MAC : 0);
}

static bool all_zero(const uint8_t *p, size_t n)
{
	while (n--)
		if (*p++)
			return false;
	return true;
}

static bool address_ok(const uint8_t *p)
{
	if (p[15])
		return false;
	if (p[5] != RDM_CM_REQUEST)
		return all_zero(p + 12, 20);
	return dofi_get(p + 12, 2) && (p[14] == 6 || (p[14] == 4 && all_zero(p + 20, 12)));
}

/* The start of a message, as far as it is there, as early as possible. */
static int check_start(const uint8_t *p, size_t have)
{
	static const uint8_t magic[4] = { 'R', 'D', 'M', 'C' };

	if (memcmp(p, magic, have < 4 ? have : 4))
		return -EPROTO;
	return have > 4 && p[4] != RDM_CM_VERSION ? -EPROTONOSUPPORT : 0;
}

/* What goes with what: see cm_msg.h. */
static bool parts_ok(const uint8_t *p, size_t offer, size_t data)
{
	switch (p[5]) {
	case RDM_CM_REQUEST:
	case RDM_CM_ACCEPT:
		return true;
	case RDM_CM_REJECT:
		return !offer && !(p[7] & HAS_FD);
	case RDM_CM_CHECK:
	case RDM_CM_MOVED:
	case RDM_CM_GONE:
		return !offer && !data && !(p[7] & HAS_FD);
	case RDM_CM_BYE:
	case RDM_CM_STATUS:
		return !data && !(p[7] & HAS_FD);
	case RDM_CM_HELLO:
		return offer == RDM_CM_NONCE && !data && !p[7];
	case RDM_CM_CHALLENGE:
		return offer == RDM_CM_NONCE && !data && p[7] == SEALED;
	case RDM_CM_BUSY:
		return !offer && !data && !p[7];
	default:
		return false;
	}
}

/* 0 and the length of the whole message, or what is wrong with its header. */
static int check_header(const uint8_t *p, size_t *total)
{
	size_t offer = (size_t)dofi_get(p + 8, 2), data = (size_t)dofi_get(p + 10, 2);
	int ret = check_start(p, RDM_CM_HDR);

	if (ret)
		return ret;
	if (p[7] & ~(HAS_FD | SEALED) || offer > RDM_OFFER_MAX || data > RDM_CM_DATA ||
	    !address_ok(p) || !parts_ok(p, offer, data))
		return -EBADMSG;
	*total = RDM_CM_HDR + offer + data + (p[7] & SEALED ? RDM_CM_MAC : 0);
	return 0;
}

int rdm_cm_parse(const uint8_t *buf, size_t len, struct rdm_cm_msg *msg)
{
	size_t total;
	int ret = check_start(buf, len);

	if (ret)
		return ret;
	if (len < RDM_CM_HDR)
		return -EBADMSG;
	ret = check_header(buf, &total);
	if (ret)
		return ret;
	if (len != total)
		return -EBADMSG;
	memset(msg, 0, sizeof(*msg));
	msg->kind = buf[5];
	msg->wire = buf[6];
	msg->has_fd = buf[7] & HAS_FD;
	msg->sealed = buf[7] & SEALED;
	msg->offer_len = (uint16_t)dofi_get(buf + 8, 2);
	msg->data_len = (uint16_t)dofi_get(buf + 10, 2);
	msg->offer = buf + RDM_CM_HDR;
	msg->data = msg->offer + msg->offer_len;
	msg->mac = msg->sealed ? msg->data + msg->data_len : NULL;
	msg->port = (uint16_t)dofi_get(buf + 12, 2);
	if (buf[14] == 6) {
		msg->to.sa.sa_family = AF_INET6;
		memcpy(&msg->to.in6.sin6_addr, buf + 16, 16);
	} else if (buf[14] == 4) {
		msg->to.sa.sa_family = AF_INET;
		memcpy(&msg->to.in.sin_addr, buf + 16, 4);
	}
	return 0;
}

size_t rdm_cm_reader_wants(const struct rdm_cm_reader *r)
{
	size_t total;

	if (r->have < RDM_CM_HDR)
		return RDM_CM_HDR - r->have;
	return check_header(r->buf, &total) ? 0 : total - r->have;
}

static void drop_bells(struct rdm_cm_reader *r)
{
	size_t n = 0;

	while (n < r->have && r->buf[n] == RDM_CM_BELL)
		n++;
	r->have -= n;
	memmove(r->buf, r->buf + n, r->have);
}

int rdm_cm_reader_took(struct rdm_cm_reader *r, size_t n, bool bells)
{
	size_t total;
	int ret;

	r->have += n;
	/* A message that has begun has no bell at its start: only what precedes it goes. */
	if (bells)
		drop_bells(r);
	ret = check_start(r->buf, r->have);
	if (ret || r->have < RDM_CM_HDR)
		return ret;
	ret = check_header(r->buf, &total);
	return ret ? ret : r->have == total;
}
