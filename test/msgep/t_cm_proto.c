/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that connection messages of proto/ are parsed as they were built, and invalid ones
 * rejected. */
#include <errno.h>
#include <string.h>

#include "../lib/harness.h"
#include "proto/cm_proto.h"

static const uint8_t priv[256] = { 1, 2, 3, 0, 255 };

static struct dofi_cm_msg message(uint8_t fabric, enum dofi_cm_kind kind)
{
	return (struct dofi_cm_msg){ .kind = kind,
				     .fabric = fabric,
				     .priv = priv,
				     .priv_len = 48,
				     .qual = 0x123456789abc,
				     .reads_in = 7,
				     .reads_out = 9,
				     .conn_id = 0x00fedcba,
				     .reason = 3 };
}

static void check_same(const struct dofi_cm_msg *sent)
{
	uint8_t buf[DOFI_CM_MAX + 64] = { 0 };
	size_t len = dofi_cm_build(buf, sent);
	struct dofi_cm_msg got;

	ASSERT(len <= DOFI_CM_MAX);
	ASSERT_EQ(dofi_cm_parse(buf, len, &got), 0);
	ASSERT_EQ(got.kind, sent->kind);
	ASSERT_EQ(got.fabric, sent->fabric);
	ASSERT_EQ(got.conn_id, sent->conn_id);
	ASSERT_EQ(got.amo_port, sent->amo_port);
	ASSERT_EQ(got.amo_token, sent->amo_token);
	ASSERT_EQ(got.priv_len, sent->priv_len);
	ASSERT_MEM(got.priv, sent->priv, sent->priv_len);
	ASSERT(got.priv + got.priv_len <= buf + len);
}

TEST(cm_proto, what_is_built_is_parsed)
{
	static const uint8_t fabrics[] = { 1, DOFI_CM_BRIEF_FABRIC, DOFI_CM_SHM };

	for (size_t i = 0; i < sizeof(fabrics); i++) {
		for (int kind = DOFI_CM_REQUEST; kind <= DOFI_CM_REJECT; kind++) {
			struct dofi_cm_msg msg = message(fabrics[i], (enum dofi_cm_kind)kind);

			if (kind != DOFI_CM_REQUEST)
				msg.qual = 0;
			check_same(&msg);
		}
	}
}

TEST(cm_proto, port_and_token_of_atomic_operations)
{
	static const uint8_t fabrics[] = { 1, DOFI_CM_BRIEF_FABRIC };

	for (size_t i = 0; i < sizeof(fabrics); i++) {
		for (int kind = DOFI_CM_REQUEST; kind <= DOFI_CM_ACCEPT; kind++) {
			struct dofi_cm_msg msg = message(fabrics[i], (enum dofi_cm_kind)kind);

			msg.amo_port = 54321;
			if (kind == DOFI_CM_REQUEST)
				msg.amo_token = 0xfedcba9876543210u;
			else
				msg.qual = 0;
			check_same(&msg);
		}
	}
}

TEST(cm_proto, rejection_with_a_port_is_refused)
{
	struct dofi_cm_msg msg = message(DOFI_CM_BRIEF_FABRIC, DOFI_CM_REJECT), got;
	uint8_t buf[DOFI_CM_MAX];
	size_t len;

	msg.qual = 0;
	len = dofi_cm_build(buf, &msg);
	ASSERT_EQ(dofi_cm_parse(buf, len, &got), 0);
	buf[0] = DOFI_CM_BRIEF_PORT_MAGIC;
	ASSERT_EQ(dofi_cm_parse(buf, len, &got), -EBADMSG);
}

/* Truncated anywhere: either rejected, or the remaining private data lies within the message. */
TEST(cm_proto, message_that_is_cut_is_refused_or_shorter)
{
	static const uint8_t fabrics[] = { 1, DOFI_CM_BRIEF_FABRIC };

	for (size_t i = 0; i < sizeof(fabrics); i++) {
		struct dofi_cm_msg msg = message(fabrics[i], DOFI_CM_REQUEST), got;
		uint8_t buf[DOFI_CM_MAX];
		size_t len = dofi_cm_build(buf, &msg);

		for (size_t n = 0; n < len; n++) {
			if (dofi_cm_parse(buf, n, &got))
				continue;
			ASSERT_EQ(fabrics[i], DOFI_CM_BRIEF_FABRIC);
			ASSERT(got.priv + got.priv_len == buf + n);
		}
	}
}

/* Parsed messages are copied into buffers of DOFI_CM_MAX bytes. */
TEST(cm_proto, message_longer_than_any_is_refused)
{
	static const uint8_t fabrics[] = { 1, DOFI_CM_BRIEF_FABRIC };

	for (size_t i = 0; i < sizeof(fabrics); i++) {
		struct dofi_cm_msg msg = message(fabrics[i], DOFI_CM_REQUEST), got;
		uint8_t buf[DOFI_CM_MAX + 512] = { 0 };

		dofi_cm_build(buf, &msg);
		ASSERT_EQ(dofi_cm_parse(buf, DOFI_CM_MAX, &got), 0);
		for (size_t n = DOFI_CM_MAX + 1; n <= sizeof(buf); n += 17)
			ASSERT_EQ(dofi_cm_parse(buf, n, &got), -EBADMSG);
	}
}

TEST(cm_proto, flags_that_do_not_exist_are_refused)
{
	struct dofi_cm_msg msg = message(DOFI_CM_BRIEF_FABRIC, DOFI_CM_REJECT), got;
	uint8_t buf[DOFI_CM_MAX];
	size_t len;

	msg.qual = 0;
	len = dofi_cm_build(buf, &msg);
	for (unsigned int bit = 0; bit < 3; bit++) {
		buf[1] ^= (uint8_t)(1u << bit);
		ASSERT_EQ(dofi_cm_parse(buf, len, &got), -EBADMSG);
		buf[1] ^= (uint8_t)(1u << bit);
	}
	ASSERT_EQ(dofi_cm_parse(buf, len, &got), 0);
	buf[1] ^= 0x20;
	ASSERT_EQ(dofi_cm_parse(buf, len, &got), -EPROTONOSUPPORT);
}
