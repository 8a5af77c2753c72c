/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds and checks the connection messages that a shared secret authenticates. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>

#include "base/be_bytes.h"
#include "proto/cm_seal.h"

#define V6 1u
#define REQUEST_HEAD 1
#define ACCEPT_HEAD 5
#define REJECT_HEAD 3

static bool seal_random_bytes(uint8_t *to)
{
	return getrandom(to, DOFI_SEAL_RANDOM, 0) == DOFI_SEAL_RANDOM;
}

/* `more`, `msg`: the two parts of the text. */
static bool seal_make_mac(const struct dofi_seal *s, const struct msgep_secret *secret, char label,
			  struct iovec more, struct iovec msg, uint8_t *mac)
{
	const struct iovec part[] = {
		{ &label, 1 },
		{ (void *)(uintptr_t)s->hello, s->hello_len },
		{ (void *)(uintptr_t)s->random, sizeof(s->random) },
		more,
		msg,
	};

	return msgep_secret_mac(secret, part, sizeof(part) / sizeof(part[0]), mac);
}

static struct iovec seal_text_of(const uint8_t *data, size_t len)
{
	return (struct iovec){ (void *)(uintptr_t)data, len };
}

static const struct iovec nothing;

/* Length of the MAC that follows a message of that length: at most what the fabric has room for,
 * unless the message has more private data than one of the fabric carries. */
static size_t seal_mac_len(const struct dofi_sealer *by, size_t priv, size_t len)
{
	size_t left = by->max_len > len ? by->max_len - len : 0;

	return left < DOFI_SEAL_MAC && priv <= by->one_priv ? left : DOFI_SEAL_MAC;
}

/* Length of the private data of a received message. head: bytes before it; low: its length modulo
 * 256. */
static int seal_priv_len(const struct dofi_sealer *by, size_t head, uint8_t low, size_t len,
			 size_t *priv)
{
	*priv = low;
	if (len <= by->max_len)
		return low > by->one_priv || head + low > len ? -EBADMSG : 0;
	if (len < head + DOFI_SEAL_MAC)
		return -EBADMSG;
	*priv = len - head - DOFI_SEAL_MAC;
	return (uint8_t)*priv != low || *priv <= by->one_priv || *priv > by->max_priv ? -EBADMSG
										      : 0;
}

/* Appends the MAC to the message; returns the total length, 0: there is no space for it. */
static size_t seal_append(const struct dofi_sealer *by, uint8_t *msg, size_t priv, size_t len,
			  const uint8_t *mac)
{
	size_t n = seal_mac_len(by, priv, len);

	if (!n || len + n > DOFI_CM_MAX)
		return 0;
	memcpy(msg + len, mac, n);
	return len + n;
}

/* `len`: length of the message without its MAC; `have`: length of what was received. */
static int seal_compare(const struct dofi_sealer *by, const uint8_t *msg, size_t priv, size_t len,
			size_t have, const uint8_t *mac)
{
	size_t n = seal_mac_len(by, priv, len);

	if (!n || have < len + n)
		return -EBADMSG;
	return msgep_secret_equal(mac, msg + len, n) ? 0 : -EACCES;
}

/* ---------------------------------------------------------------- HELLO and CHALLENGE */

static uint8_t *seal_put_address(uint8_t *p, const union dofi_addr *addr)
{
	memset(p, 0, 16);
	if (addr->sa.sa_family == AF_INET6)
		memcpy(p, &addr->in6.sin6_addr, 16);
	else
		memcpy(p, &addr->in.sin_addr, 4);
	return p + 16;
}

size_t dofi_seal_hello(struct dofi_seal *s, const struct dofi_cm_msg *msg,
		       const union dofi_addr *to, uint8_t *buf)
{
	uint8_t *p = s->hello;

	s->on = s->proven = false;
	p = dofi_put_be(p, DOFI_SEAL_HELLO, 1);
	p = dofi_put_be(p, DOFI_SEAL_VERSION, 1);
	p = dofi_put_be(p, msg->fabric, 1);
	p = dofi_put_be(p, to->sa.sa_family == AF_INET6 ? V6 : 0, 1);
	if (!seal_random_bytes(p))
		return 0;
	p += DOFI_SEAL_RANDOM;
	p = dofi_put_be(p, msg->qual, 8);
	p = dofi_put_be(p, msg->reads_in, 2);
	p = dofi_put_be(p, msg->reads_out, 2);
	p = dofi_put_be(p, msg->conn_id, 3);
	p = dofi_put_be(p, (uint8_t)msg->priv_len, 1);
	p = seal_put_address(p, to);
	p = dofi_put_be(p, msg->amo_port, 2);
	s->hello_len = (uint8_t)(p - s->hello);
	s->on = true;
	memcpy(buf, s->hello, s->hello_len);
	return s->hello_len;
}

static void seal_get_address(const uint8_t *p, bool v6, union dofi_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->sa.sa_family = v6 ? AF_INET6 : AF_INET;
	if (v6)
		memcpy(&addr->in6.sin6_addr, p, 16);
	else
		memcpy(&addr->in.sin_addr, p, 4);
}

int dofi_seal_open_hello(struct dofi_seal *s, const uint8_t *data, size_t len,
			 struct dofi_cm_msg *msg, union dofi_addr *to)
{
	const size_t want = DOFI_SEAL_HELLO_MAX;

	memset(s, 0, sizeof(*s));
	if (len >= 2 && data[1] != DOFI_SEAL_VERSION)
		return -EPROTONOSUPPORT;
	if (len < want || (data[3] & ~V6))
		return -EBADMSG;
	memcpy(s->hello, data, want);
	s->hello_len = (uint8_t)want;
	s->on = true;
	memset(msg, 0, sizeof(*msg));
	msg->kind = DOFI_CM_REQUEST;
	msg->fabric = data[2];
	msg->qual = dofi_get_be(data + 20, 8);
	msg->reads_in = (uint16_t)dofi_get_be(data + 28, 2);
	msg->reads_out = (uint16_t)dofi_get_be(data + 30, 2);
	msg->conn_id = (uint32_t)dofi_get_be(data + 32, 3);
	seal_get_address(data + 36, data[3] & V6, to);
	msg->amo_port = (uint16_t)dofi_get_be(data + 52, 2);
	return 0;
}

size_t dofi_seal_challenge(struct dofi_seal *s, const struct msgep_secret *secret, uint8_t *buf)
{
	uint8_t *p = dofi_put_be(buf, DOFI_SEAL_CHALLENGED, 1);
	uint8_t mac[MSGEP_CM_MAC];

	p = dofi_put_be(p, DOFI_SEAL_VERSION, 1);
	if (!seal_random_bytes(s->random) || !seal_make_mac(s, secret, 'h', nothing, nothing, mac))
		return 0;
	memcpy(p, s->random, DOFI_SEAL_RANDOM);
	memcpy(p + DOFI_SEAL_RANDOM, mac, DOFI_SEAL_MAC);
	return DOFI_SEAL_CHALLENGE;
}

int dofi_seal_open_challenge(struct dofi_seal *s, const struct msgep_secret *secret,
			     const uint8_t *data, size_t len)
{
	uint8_t mac[MSGEP_CM_MAC];

	if (len >= 2 && data[1] != DOFI_SEAL_VERSION)
		return -EPROTONOSUPPORT;
	if (len < DOFI_SEAL_CHALLENGE)
		return -EBADMSG;
	memcpy(s->random, data + 2, DOFI_SEAL_RANDOM);
	if (!seal_make_mac(s, secret, 'h', nothing, nothing, mac) ||
	    !msgep_secret_equal(mac, data + 2 + DOFI_SEAL_RANDOM, DOFI_SEAL_MAC))
		return -EACCES;
	s->proven = true;
	return 0;
}

uint64_t dofi_seal_token(const struct dofi_seal *s, const struct msgep_secret *secret)
{
	uint8_t mac[MSGEP_CM_MAC];

	return seal_make_mac(s, secret, 't', nothing, nothing, mac) ? dofi_get_be(mac, 8) : 0;
}

/* ---------------------------------------------------------------- REQUEST and its answers */

size_t dofi_seal_request(struct dofi_seal *s, const struct dofi_sealer *by, const void *priv,
			 size_t len, uint8_t *buf)
{
	uint8_t mac[MSGEP_CM_MAC];

	buf[0] = DOFI_SEAL_REQUEST;
	if (len)
		memcpy(buf + REQUEST_HEAD, priv, len);
	if (!seal_make_mac(s, by->secret, 'r', seal_text_of(priv, len), nothing, mac))
		return 0;
	memcpy(s->request_mac, mac, sizeof(s->request_mac));
	return seal_append(by, buf, len, REQUEST_HEAD + len, mac);
}

int dofi_seal_open_request(struct dofi_seal *s, const struct dofi_sealer *by, const uint8_t *data,
			   size_t len, size_t *priv)
{
	uint8_t mac[MSGEP_CM_MAC];
	int ret = seal_priv_len(by, REQUEST_HEAD, s->hello[35], len, priv);

	if (ret)
		return ret;
	if (!seal_make_mac(s, by->secret, 'r', seal_text_of(data + REQUEST_HEAD, *priv), nothing,
			   mac))
		return -EACCES;
	ret = seal_compare(by, data, *priv, REQUEST_HEAD + *priv, len, mac);
	if (!ret)
		memcpy(s->request_mac, mac, sizeof(s->request_mac));
	return ret;
}

static bool seal_mac_of_answer(const struct dofi_seal *s, const struct dofi_sealer *by,
			       bool accepts, const uint8_t *msg, size_t len, uint8_t *mac)
{
	return seal_make_mac(s, by->secret, accepts ? 'a' : 'j',
			     seal_text_of(s->request_mac, sizeof(s->request_mac)),
			     seal_text_of(msg, len), mac);
}

size_t dofi_seal_answer(const struct dofi_seal *s, const struct dofi_sealer *by,
			const struct dofi_cm_msg *msg, uint8_t *buf)
{
	bool accepts = msg->kind == DOFI_CM_ACCEPT;
	uint8_t *p = buf, mac[MSGEP_CM_MAC];
	size_t len;

	if (accepts) {
		p = dofi_put_be(p, (uint8_t)msg->priv_len, 1);
		p = dofi_put_be(p, msg->reads_in < 255 ? msg->reads_in : 255, 1);
		p = dofi_put_be(p, msg->conn_id, 3);
		p = dofi_put_be(p, msg->amo_port, (int)by->amo_port_len);
	} else {
		p = dofi_put_be(p, DOFI_SEAL_REJECT, 1);
		p = dofi_put_be(p, msg->reason, 1);
		p = dofi_put_be(p, (uint8_t)msg->priv_len, 1);
	}
	if (msg->priv_len)
		memcpy(p, msg->priv, msg->priv_len);
	len = (size_t)(p - buf) + msg->priv_len;
	return seal_mac_of_answer(s, by, accepts, buf, len, mac)
		       ? seal_append(by, buf, msg->priv_len, len, mac)
		       : 0;
}

int dofi_seal_open_answer(const struct dofi_seal *s, const struct dofi_sealer *by,
			  enum dofi_cm_kind kind, const uint8_t *data, size_t len,
			  struct dofi_cm_msg *msg)
{
	bool accepts = kind == DOFI_CM_ACCEPT;
	size_t head = accepts ? ACCEPT_HEAD + by->amo_port_len : REJECT_HEAD, priv;
	uint8_t mac[MSGEP_CM_MAC];
	int ret;

	memset(msg, 0, sizeof(*msg));
	if (len < head)
		return -EBADMSG;
	msg->kind = kind;
	msg->fabric = s->hello[2];
	ret = seal_priv_len(by, head, accepts ? data[0] : data[2], len, &priv);
	if (ret)
		return ret;
	msg->priv_len = (uint16_t)priv;
	msg->priv = data + head;
	ret = seal_mac_of_answer(s, by, accepts, data, head + priv, mac)
		      ? seal_compare(by, data, priv, head + priv, len, mac)
		      : -EACCES;
	if (ret)
		return ret;
	if (!accepts) {
		msg->reason = data[1];
		return 0;
	}
	msg->reads_in = data[1];
	msg->conn_id = (uint32_t)dofi_get_be(data + 2, 3);
	msg->amo_port = (uint16_t)dofi_get_be(data + ACCEPT_HEAD, (int)by->amo_port_len);
	return 0;
}
