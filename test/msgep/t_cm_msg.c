/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the layout and the validation of handshake messages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

static size_t make(uint8_t *buf, enum msgep_cm_kind kind, uint16_t params, uint16_t data,
		   int family)
{
	static uint8_t bytes[MSGEP_CM_DATA + 1];
	struct msgep_cm_msg msg = { .kind = kind,
				    .transport = 9,
				    .params = bytes,
				    .params_len = params,
				    .data = bytes + 1,
				    .data_len = data };

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 13 + 5);
	if (kind == MSGEP_CM_REQUEST) {
		msg.port = 4711;
		msg.to.sa.sa_family = (sa_family_t)family;
		if (family == AF_INET6)
			msg.to.in6.sin6_addr = in6addr_loopback;
		else
			msg.to.in.sin_addr.s_addr = htonl(0x0a010203);
	}
	return msgep_cm_build(buf, &msg);
}

TEST(msgep_transport, messages_come_back_as_they_were)
{
	static const uint16_t data[] = { 0, 1, 31, MSGEP_CM_DATA };
	uint8_t buf[MSGEP_CM_MAX];
	struct msgep_cm_msg msg;

	for (enum msgep_cm_kind kind = MSGEP_CM_REQUEST; kind <= MSGEP_CM_BYE; kind++) {
		for (size_t i = 0; i < 8; i++) {
			uint16_t d = kind == MSGEP_CM_BYE ? 0 : data[i % 4];
			uint16_t o = kind == MSGEP_CM_REJECT ? 0 : (uint16_t)(i * 27);
			size_t n = make(buf, kind, o, d, i % 2 ? AF_INET6 : AF_INET);

			ASSERT_EQ(n, MSGEP_CM_HDR + o + d);
			ASSERT_EQ(msgep_cm_parse(buf, n, &msg), 0);
			ASSERT_EQ(msg.kind, kind);
			ASSERT_EQ(msg.transport, 9);
			ASSERT_EQ(msg.params_len, o);
			ASSERT_EQ(msg.data_len, d);
			ASSERT(!msg.has_fd);
			if (kind == MSGEP_CM_REQUEST) {
				ASSERT_EQ(msg.port, 4711);
				ASSERT_EQ(msg.to.sa.sa_family, i % 2 ? AF_INET6 : AF_INET);
			}
		}
	}
}

/* Byte by byte, as documented. */
TEST(msgep_transport, layout_is_the_documented_one)
{
	static const uint8_t want[] = {
		'R', 'D', 'M',       'C',        MSGEP_CM_VERSION,
		1,   9,   0,         0,          2,
		0,   1,   4711 >> 8, 4711 & 255, 4,
		0,   10,  1,         2,          3,
		0,   0,   0,         0,          0,
		0,   0,   0,         0,          0,
		0,   0,   5,         18,         18,
	};
	uint8_t buf[MSGEP_CM_MAX];

	ASSERT_EQ(make(buf, MSGEP_CM_REQUEST, 2, 1, AF_INET), sizeof(want));
	ASSERT_MEM(buf, want, sizeof(want));
}

/* Every change of a single byte of the header is detected, or has the meaning that the layout
 * defines. */
TEST(msgep_transport, changed_headers_are_noticed)
{
	static const bool may_differ[MSGEP_CM_HDR] = {
		[6] = true,  [7] = true,  [12] = true, [13] = true,
		[16] = true, [17] = true, [18] = true, [19] = true,
	};
	uint8_t buf[MSGEP_CM_MAX];
	struct msgep_cm_msg msg;
	size_t n = make(buf, MSGEP_CM_REQUEST, 40, 200, AF_INET);

	for (size_t at = 0; at < MSGEP_CM_HDR; at++) {
		for (unsigned int v = 1; v < 256; v++) {
			int ret;

			buf[at] ^= (uint8_t)v;
			ret = msgep_cm_parse(buf, n, &msg);
			if (at < 4)
				ASSERT_EQ(ret, -EPROTO);
			else if (at == 4)
				ASSERT_EQ(ret, -EPROTONOSUPPORT);
			else if (at == 14)
				ASSERT_EQ(ret, buf[at] == 6 ? 0 : -EBADMSG);
			else if (at == 15)
				ASSERT_EQ(ret, buf[at] < 64 ? 0 : -EBADMSG);
			else if (at == 7)
				ASSERT_EQ(ret, buf[at] == 1 ? 0 : -EBADMSG); /* sealed: too short */
			else if (!may_differ[at])
				ASSERT_EQ(ret, -EBADMSG);
			buf[at] ^= (uint8_t)v;
		}
	}
	ASSERT_EQ(msgep_cm_parse(buf, n, &msg), 0);
	ASSERT_EQ(msgep_cm_parse(buf, n - 1, &msg), -EBADMSG);
	ASSERT_EQ(msgep_cm_parse(buf, n + 1, &msg), -EBADMSG);
	buf[12] = buf[13] = 0;
	ASSERT_EQ(msgep_cm_parse(buf, n, &msg), -EBADMSG);
}

/* Two messages in a row, split at every position: each is reassembled, and no excess byte is
 * requested. */
TEST(msgep_transport, reader_puts_together_what_was_cut)
{
	uint8_t stream[2 * MSGEP_CM_MAX + 8];
	size_t first = make(stream, MSGEP_CM_ACCEPT, 10, 20, 0), total;

	memset(stream + first, MSGEP_CM_DOORBELL, 5);
	total = first + 5 + make(stream + first + 5, MSGEP_CM_BYE, 8, 0, 0);
	for (size_t chunk = 1; chunk <= total; chunk++) {
		struct msgep_cm_reader r = { 0 };
		size_t at = 0;
		int done = 0;

		while (done < 2) {
			size_t want = msgep_cm_reader_wants(&r);
			int ret;

			ASSERT(want && want <= sizeof(r.buf) - r.have && at + want <= total);
			if (want > chunk)
				want = chunk;
			memcpy(r.buf + r.have, stream + at, want);
			at += want;
			ret = msgep_cm_reader_add(&r, want, done == 1);
			ASSERT(ret >= 0);
			if (!ret)
				continue;
			ASSERT_EQ(msgep_cm_reader_wants(&r), 0);
			ASSERT_EQ(r.have, done ? total - first - 5 : first);
			ASSERT_EQ(at, done ? total : first);
			done++;
			r.have = 0;
		}
	}
}

TEST(msgep_transport, reader_notices_at_once)
{
	struct msgep_cm_reader r = { .buf = "G" };

	ASSERT_EQ(msgep_cm_reader_add(&r, 1, false), -EPROTO);
	memset(&r, 0, sizeof(r));
	ASSERT_EQ(msgep_cm_reader_add(&r, 1, false), -EPROTO);
	memcpy(r.buf, "RDMC\377", 5);
	r.have = 0;
	ASSERT_EQ(msgep_cm_reader_add(&r, 4, false), 0);
	ASSERT_EQ(msgep_cm_reader_add(&r, 1, false), -EPROTONOSUPPORT);
}
