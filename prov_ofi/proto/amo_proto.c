/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds and checks the messages of software atomic operations. */
#include "base/be_bytes.h"
#include "proto/amo_proto.h"

uint8_t *dofi_amo_put_hello(uint8_t *p, bool active, uint64_t token)
{
	p = dofi_put_be(p, DOFI_AMO_MAGIC, 4);
	p = dofi_put_be(p, DOFI_AMO_VERSION, 1);
	p = dofi_put_be(p, active, 1);
	p = dofi_put_be(p, 0, 2);
	return dofi_put_be(p, token, 8);
}

bool dofi_amo_get_hello(const uint8_t *p, bool *active, uint64_t *token)
{
	*active = p[5];
	*token = dofi_get_be(p + 8, 8);
	return dofi_get_be(p, 4) == DOFI_AMO_MAGIC && p[4] == DOFI_AMO_VERSION && p[5] <= 1 &&
	       !dofi_get_be(p + 6, 2) && *token;
}

uint8_t *dofi_amo_put_request(uint8_t *p, const struct dofi_amo_request *r)
{
	p = dofi_put_be(p, r->op, 1);
	p = dofi_put_be(p, 0, 3);
	p = dofi_put_be(p, r->key, 4);
	p = dofi_put_be(p, r->addr, 8);
	p = dofi_put_be(p, r->operand[0], 8);
	return dofi_put_be(p, r->operand[1], 8);
}

bool dofi_amo_get_request(const uint8_t *p, struct dofi_amo_request *r)
{
	r->op = p[0];
	r->key = (uint32_t)dofi_get_be(p + 4, 4);
	r->addr = dofi_get_be(p + 8, 8);
	r->operand[0] = dofi_get_be(p + 16, 8);
	r->operand[1] = dofi_get_be(p + 24, 8);
	return (p[0] == DOFI_AMO_ADD || p[0] == DOFI_AMO_SWAP) && !dofi_get_be(p + 1, 3) &&
	       (p[0] == DOFI_AMO_SWAP || !r->operand[1]);
}

uint8_t *dofi_amo_put_answer(uint8_t *p, enum dofi_amo_result result, uint64_t value)
{
	p = dofi_put_be(p, result, 1);
	p = dofi_put_be(p, 0, 7);
	return dofi_put_be(p, value, 8);
}

bool dofi_amo_get_answer(const uint8_t *p, enum dofi_amo_result *result, uint64_t *value)
{
	*result = p[0];
	*value = dofi_get_be(p + 8, 8);
	return p[0] >= DOFI_AMO_DONE && p[0] <= DOFI_AMO_MISALIGNED && !dofi_get_be(p + 1, 7) &&
	       (p[0] == DOFI_AMO_DONE || !*value);
}
