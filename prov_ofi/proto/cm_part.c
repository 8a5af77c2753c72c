/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds and checks parts of connection messages, and puts them together. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/be_bytes.h"
#include "proto/cm_part.h"

static bool part_has_bytes(enum dofi_cm_part_kind kind)
{
	return kind == DOFI_CM_PUT || kind == DOFI_CM_HAVE;
}

size_t dofi_cm_part_build(uint8_t *buf, size_t room, struct dofi_cm_part *part)
{
	size_t left = (size_t)part->total - part->at;
	uint8_t *p = buf;

	part->len = 0;
	if (part_has_bytes(part->kind))
		part->len =
			(uint16_t)(left < room - DOFI_CM_PART_HDR ? left : room - DOFI_CM_PART_HDR);
	p = dofi_put_be(p, DOFI_CM_BRIEF_MAGIC, 1);
	p = dofi_put_be(p, DOFI_CM_BRIEF_VERSION << 5 | (unsigned int)part->kind, 1);
	p = dofi_put_be(p, part->token, 4);
	p = dofi_put_be(p, part_has_bytes(part->kind) ? part->total : 0, 2);
	p = dofi_put_be(p, part->at, 2);
	if (part->len)
		memcpy(p, part->data + part->at, part->len);
	return DOFI_CM_PART_HDR + part->len;
}

int dofi_cm_part_parse(const uint8_t *data, size_t len, struct dofi_cm_part *part)
{
	size_t left;

	if (len < DOFI_CM_PART_HDR || !dofi_cm_is_part(data, len))
		return -EBADMSG;
	memset(part, 0, sizeof(*part));
	part->kind = data[1] & 7;
	part->token = (uint32_t)dofi_get_be(data + 2, 4);
	part->total = (uint16_t)dofi_get_be(data + 6, 2);
	part->at = (uint16_t)dofi_get_be(data + 8, 2);
	if (!part->token || part->kind < DOFI_CM_PUT || part->kind > DOFI_CM_GET)
		return -EBADMSG;
	if (!part_has_bytes(part->kind))
		return part->total || part->at > DOFI_CM_MAX ? -EBADMSG : 0;
	if (part->total > DOFI_CM_MAX || part->at >= part->total || len == DOFI_CM_PART_HDR)
		return -EBADMSG;
	/* A fabric may append bytes to its messages. */
	left = (size_t)part->total - part->at;
	len -= DOFI_CM_PART_HDR;
	part->len = (uint16_t)(len < left ? len : left);
	part->data = data + DOFI_CM_PART_HDR;
	return 0;
}

int dofi_cm_part_add(struct dofi_cm_whole *whole, uint8_t *to, const struct dofi_cm_part *part)
{
	if (!part->at)
		*whole = (struct dofi_cm_whole){ .token = part->token, .total = part->total };
	if (part->token != whole->token || part->total != whole->total || part->at != whole->have)
		return -EBADMSG;
	memcpy(to + part->at, part->data, part->len);
	whole->have = (uint16_t)(whole->have + part->len);
	return whole->have == whole->total;
}

uint32_t dofi_cm_part_token(void)
{
	uint32_t token = 0;

	if (getrandom(&token, sizeof(token), 0) != sizeof(token))
		return 0;
	return token ? token : 1;
}
