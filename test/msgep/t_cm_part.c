/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests parts of connection messages: any message arrives as it was sent, invalid parts are
 * rejected. */
#include <errno.h>
#include <string.h>

#include "../lib/harness.h"
#include "proto/cm_part.h"

#define ROOM 55 /* verbs */

static void fill_message(uint8_t *msg)
{
	for (size_t i = 0; i < DOFI_CM_MAX; i++)
		msg[i] = (uint8_t)(i * 7 + 1);
}

TEST(cm_part, messages_of_all_lengths_are_put_together)
{
	uint8_t msg[DOFI_CM_MAX], got[DOFI_CM_MAX], buf[ROOM];
	struct dofi_cm_whole whole;
	struct dofi_cm_part part;
	size_t len;
	int ret;

	fill_message(msg);
	for (uint16_t total = 1; total <= DOFI_CM_MAX; total++) {
		memset(got, 0, sizeof(got));
		memset(&whole, 0, sizeof(whole));
		do {
			part = (struct dofi_cm_part){ .kind = DOFI_CM_PUT,
						      .token = 0xfedcba98,
						      .total = total,
						      .at = whole.have,
						      .data = msg };
			len = dofi_cm_part_build(buf, sizeof(buf), &part);
			ASSERT(len <= sizeof(buf) && dofi_cm_is_part(buf, len));
			ASSERT_EQ(dofi_cm_part_parse(buf, len, &part), 0);
			ASSERT_EQ(part.token, 0xfedcba98);
			ret = dofi_cm_part_add(&whole, got, &part);
			ASSERT_EQ(ret, whole.have == total);
		} while (!ret);
		ASSERT_MEM(got, msg, total);
		for (size_t i = total; i < sizeof(got); i++)
			ASSERT_EQ(got[i], 0);
	}
}

TEST(cm_part, bytes_that_a_fabric_appends_are_ignored)
{
	uint8_t msg[DOFI_CM_MAX], buf[ROOM] = { 0 };
	struct dofi_cm_part part = {
		.kind = DOFI_CM_HAVE, .token = 1, .total = 100, .at = 90, .data = msg
	};

	fill_message(msg);
	ASSERT_EQ(dofi_cm_part_build(buf, sizeof(buf), &part), DOFI_CM_PART_HDR + 10);
	ASSERT_EQ(dofi_cm_part_parse(buf, sizeof(buf), &part), 0);
	ASSERT_EQ(part.len, 10);
}

TEST(cm_part, parts_that_are_not_next_change_nothing)
{
	uint8_t msg[DOFI_CM_MAX], got[DOFI_CM_MAX];
	struct dofi_cm_whole whole = { .token = 0 };
	struct dofi_cm_part first = {
		.kind = DOFI_CM_PUT, .token = 5, .total = 100, .len = 45, .data = msg
	};
	struct dofi_cm_part next = { .kind = DOFI_CM_PUT,
				     .token = 5,
				     .total = 100,
				     .at = 45,
				     .len = 45,
				     .data = msg },
			    bad;

	fill_message(msg);
	ASSERT_EQ(dofi_cm_part_add(&whole, got, &next), -EBADMSG);
	ASSERT_EQ(dofi_cm_part_add(&whole, got, &first), 0);
	for (int i = 0; i < 4; i++) {
		bad = next;
		bad.token += i == 0;
		bad.total = (uint16_t)(bad.total + (i == 1));
		bad.at = (uint16_t)(bad.at + (i == 2) - (i == 3));
		ASSERT_EQ(dofi_cm_part_add(&whole, got, &bad), -EBADMSG);
		ASSERT_EQ(whole.have, 45);
	}
	ASSERT_EQ(dofi_cm_part_add(&whole, got, &next), 0);
	ASSERT_EQ(whole.have, 90);
	/* The first one again: the client begins again. */
	ASSERT_EQ(dofi_cm_part_add(&whole, got, &first), 0);
	ASSERT_EQ(whole.have, 45);
}

/* Whatever is parsed can be added without leaving the buffer. */
TEST(cm_part, invalid_parts_are_refused)
{
	uint8_t msg[DOFI_CM_MAX], buf[ROOM], bad[ROOM];
	struct dofi_cm_part part;
	size_t len;

	fill_message(msg);
	for (int kind = 0; kind <= 7; kind++) {
		bool bytes = kind == DOFI_CM_PUT || kind == DOFI_CM_HAVE;

		part = (struct dofi_cm_part){ .kind = (enum dofi_cm_part_kind)kind,
					      .token = 9,
					      .total = DOFI_CM_MAX,
					      .at = 45,
					      .data = msg };
		len = dofi_cm_part_build(buf, sizeof(buf), &part);
		ASSERT_EQ(dofi_cm_part_parse(buf, len, &part),
			  kind >= DOFI_CM_PUT && kind <= DOFI_CM_GET ? 0 : -EBADMSG);
		for (size_t n = 0; n < DOFI_CM_PART_HDR + (bytes ? 1u : 0u); n++)
			ASSERT_EQ(dofi_cm_part_parse(buf, n, &part), -EBADMSG);
		for (size_t i = 0; i < DOFI_CM_PART_HDR; i++) {
			for (unsigned int value = 0; value < 256; value++) {
				memcpy(bad, buf, len);
				bad[i] = (uint8_t)value;
				if (dofi_cm_part_parse(bad, len, &part))
					continue;
				ASSERT(part.token && part.at + part.len <= DOFI_CM_MAX);
				ASSERT(part.at + part.len <= part.total || !part.len);
			}
		}
		memcpy(bad, buf, len);
		memset(bad + 2, 0, 4);
		ASSERT_EQ(dofi_cm_part_parse(bad, len, &part), -EBADMSG);
	}
}

/* A message of another kind, or of another version, is no part. */
TEST(cm_part, other_messages_are_none)
{
	struct dofi_cm_msg msg = { .fabric = DOFI_CM_BRIEF_FABRIC }, got;
	uint8_t buf[DOFI_CM_MAX];
	size_t len;

	for (int kind = DOFI_CM_REQUEST; kind <= DOFI_CM_REJECT; kind++) {
		msg.kind = (enum dofi_cm_kind)kind;
		len = dofi_cm_build(buf, &msg);
		ASSERT(!dofi_cm_is_part(buf, len));
		buf[1] &= 7;
		ASSERT(!dofi_cm_is_part(buf, len));
		buf[1] |= DOFI_CM_BRIEF_VERSION << 5;
		ASSERT(dofi_cm_is_part(buf, len));
		ASSERT_EQ(dofi_cm_parse(buf, len, &got), -EBADMSG);
	}
}
