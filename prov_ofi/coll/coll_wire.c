/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds and checks the messages of the collectives. */
#include <endian.h>
#include <string.h>

#include "base/be_bytes.h"
#include "coll/coll_wire.h"

#define MAGIC 0xda7c0110u

void dofi_coll_put_blob(uint8_t blob[COLL_BLOB], const struct coll_ident *id)
{
	bool v6 = id->addr.sa.sa_family == AF_INET6;
	uint8_t *p = blob;

	memset(blob, 0, COLL_BLOB);
	p = dofi_put_be(p, MAGIC, 4);
	p = dofi_put_be(p, COLL_VERSION, 1);
	p = dofi_put_be(p, id->fabric, 1);
	p = dofi_put_be(p, v6 ? 6 : 4, 2);
	p = dofi_put_be(p, id->qual, 8);
	memcpy(p, id->token, COLL_TOKEN);
	dofi_put_be(blob + COLL_BLOB - 4, id->eager, 4);
	p += COLL_TOKEN;
	if (v6) {
		memcpy(p, &id->addr.in6.sin6_addr, 16);
		dofi_put_be(p + 16, id->addr.in6.sin6_scope_id, 4);
	} else {
		memcpy(p, &id->addr.in.sin_addr, 4);
	}
}

int dofi_coll_blob_version(const uint8_t blob[COLL_BLOB])
{
	return dofi_get_be(blob, 4) == MAGIC ? blob[4] : -1;
}

bool dofi_coll_get_blob(const uint8_t blob[COLL_BLOB], struct coll_ident *id)
{
	uint64_t family = dofi_get_be(blob + 6, 2);

	memset(id, 0, sizeof(*id));
	if (dofi_coll_blob_version(blob) != COLL_VERSION || (family != 4 && family != 6))
		return false;
	id->fabric = blob[5];
	id->qual = dofi_get_be(blob + 8, 8);
	memcpy(id->token, blob + 16, COLL_TOKEN);
	id->eager = (uint32_t)dofi_get_be(blob + COLL_BLOB - 4, 4);
	if (id->eager < COLL_EAGER_LEAST || id->eager > COLL_EAGER_MOST)
		return false;
	if (family == 6) {
		id->addr.in6.sin6_family = AF_INET6;
		memcpy(&id->addr.in6.sin6_addr, blob + 32, 16);
		id->addr.in6.sin6_scope_id = (uint32_t)dofi_get_be(blob + 48, 4);
	} else {
		id->addr.in.sin_family = AF_INET;
		memcpy(&id->addr.in.sin_addr, blob + 32, 4);
	}
	return true;
}

void dofi_coll_put_hello(uint8_t data[COLL_HELLO], const struct coll_hello *hello)
{
	uint8_t *p = dofi_put_be(data, MAGIC, 4);

	p = dofi_put_be(p, COLL_VERSION, 4);
	memcpy(p, hello->token, COLL_TOKEN);
	p = dofi_put_be(p + COLL_TOKEN, hello->group, 4);
	p = dofi_put_be(p, hello->size, 4);
	dofi_put_be(p, hello->rank, 4);
}

bool dofi_coll_get_hello(const void *data, DAT_COUNT len, struct coll_hello *hello)
{
	const uint8_t *p = data;

	if (!data || len < COLL_HELLO || dofi_get_be(p, 4) != MAGIC ||
	    dofi_get_be(p + 4, 4) != COLL_VERSION)
		return false;
	memcpy(hello->token, p + 8, COLL_TOKEN);
	p += 8 + COLL_TOKEN;
	hello->group = (uint32_t)dofi_get_be(p, 4);
	hello->size = (uint32_t)dofi_get_be(p + 4, 4);
	hello->rank = (uint32_t)dofi_get_be(p + 8, 4);
	return true;
}

static void wire_put_64(uint8_t *to, uint64_t value)
{
	value = htobe64(value);
	memcpy(to, &value, sizeof(value));
}

static uint64_t wire_get_64(const uint8_t *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return be64toh(value);
}

void dofi_coll_put_packet(uint8_t hdr[COLL_HDR], const struct coll_packet *p)
{
	wire_put_64(hdr, (uint64_t)p->kind << 56 | (uint64_t)p->type << 48 |
				 (uint64_t)p->credits << 32 | p->seq);
	wire_put_64(hdr + 8, p->length);
	wire_put_64(hdr + 16, p->addr);
	wire_put_64(hdr + 24, (uint64_t)p->key << 32);
}

bool dofi_coll_get_packet(const uint8_t *data, size_t len, struct coll_packet *p)
{
	uint64_t data_len;

	if (len < COLL_HDR || data[0] < COLL_PKT_EAGER || data[0] >= COLL_PKT_END || data[2])
		return false;
	p->kind = (enum coll_packet_kind)data[0];
	p->type = data[1];
	p->credits = data[3];
	p->seq = (uint32_t)wire_get_64(data);
	p->length = wire_get_64(data + 8);
	p->addr = wire_get_64(data + 16);
	p->key = (uint32_t)(wire_get_64(data + 24) >> 32);
	data_len = p->kind == COLL_PKT_EAGER ? p->length : 0;
	return len - COLL_HDR == data_len;
}
