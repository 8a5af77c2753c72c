/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks UTF-8: texts of programs and of the system may contain any bytes. */
#ifndef TOOLS_UTF8_H
#define TOOLS_UTF8_H

#include <stddef.h>

/* Length of the sequence at `at`, of which `left` bytes may be read; 0: it is invalid (RFC 3629), a
 * control character beyond ASCII, or no character. */
static inline size_t utf8_length(const unsigned char *at, size_t left)
{
	unsigned long value;
	size_t n, i;

	if (*at < 0x80)
		return 1;
	n = *at >= 0xF0 ? 4 : *at >= 0xE0 ? 3 : *at >= 0xC2 ? 2 : 0;
	if (!n || n > left || *at > 0xF4)
		return 0;
	value = *at & (0x7Fu >> n);
	for (i = 1; i < n; i++) {
		if ((at[i] & 0xC0) != 0x80)
			return 0;
		value = value << 6 | (at[i] & 0x3Fu);
	}
	if ((n == 3 && value < 0x800) || (n == 4 && value < 0x10000) || value > 0x10FFFF ||
	    (value >= 0xD800 && value < 0xE000) || (value >= 0x80 && value < 0xA0) ||
	    (value & 0xFFFE) == 0xFFFE)
		return 0;
	return n;
}

#endif
