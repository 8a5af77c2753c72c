/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores and loads the integers of wire formats: big-endian, unaligned. */
#ifndef DOFI_BE_BYTES_H
#define DOFI_BE_BYTES_H

#include <stdint.h>

/* Returns the address after the number. */
static inline uint8_t *dofi_put_be(uint8_t *p, uint64_t value, int bytes)
{
	while (bytes--)
		*p++ = (uint8_t)(value >> bytes * 8);
	return p;
}

static inline uint64_t dofi_get_be(const uint8_t *p, int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *p++;
	return value;
}

#endif
