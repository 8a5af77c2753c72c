/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats of software atomic operations (object/amo.h): what travels over their sockets.
 *
 * The side that posts operations connects and sends HELLO, then requests, each after the answer to
 * the previous one. All numbers are big-endian.
 *
 *   HELLO    0  4  magic "DOFA"
 *            4  1  version (1)
 *            5  1  1: from the active side of the connection, 0: from the passive side
 *            6  2  zero
 *            8  8  token of the connection
 *   request  0  1  enum dofi_amo_op
 *            1  3  zero
 *            4  4  remote key
 *            8  8  remote address
 *           16  8  operand: added or compared
 *           24  8  operand: swapped in; of an addition 0
 *   answer   0  1  enum dofi_amo_result
 *            1  7  zero
 *            8  8  value before the operation; 0 if it was refused
 *
 * A message of another form ends the socket.
 */
#ifndef DOFI_AMO_PROTO_H
#define DOFI_AMO_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DOFI_AMO_MAGIC 0x444f4641u
#define DOFI_AMO_VERSION 1
#define DOFI_AMO_HELLO 16
#define DOFI_AMO_REQUEST 32
#define DOFI_AMO_ANSWER 16

enum dofi_amo_op { DOFI_AMO_ADD = 1, DOFI_AMO_SWAP };
enum dofi_amo_result { DOFI_AMO_DONE = 1, DOFI_AMO_NO_ACCESS, DOFI_AMO_MISALIGNED };

struct dofi_amo_request {
	enum dofi_amo_op op;
	uint32_t key;
	uint64_t addr;
	uint64_t operand[2];
};

/* Each returns the address after what it has written. */
uint8_t *dofi_amo_put_hello(uint8_t *p, bool active, uint64_t token);
uint8_t *dofi_amo_put_request(uint8_t *p, const struct dofi_amo_request *r);
uint8_t *dofi_amo_put_answer(uint8_t *p, enum dofi_amo_result result, uint64_t value);
/* Each takes as many bytes as the message has. False: it is malformed. */
bool dofi_amo_get_hello(const uint8_t *p, bool *active, uint64_t *token);
bool dofi_amo_get_request(const uint8_t *p, struct dofi_amo_request *r);
bool dofi_amo_get_answer(const uint8_t *p, enum dofi_amo_result *result, uint64_t *value);

#endif
