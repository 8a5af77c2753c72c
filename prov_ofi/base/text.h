/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds a line of text piece by piece; text that does not fit is truncated. */
#ifndef DOFI_TEXT_H
#define DOFI_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

struct dofi_text {
	size_t len;
	char buf[2048];
};

__attribute__((format(printf, 2, 3))) static inline void dofi_text_add(struct dofi_text *t,
								       const char *fmt, ...)
{
	size_t room = sizeof(t->buf) - t->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->len, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n < room ? (size_t)n : room - 1;
}

#endif
