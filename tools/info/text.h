/* SPDX-License-Identifier: BSD-2-Clause */
/* Text for people: aligned, and no wider than the terminal. */
#ifndef INFO_TEXT_H
#define INFO_TEXT_H

#include <stddef.h>

/* Prints words from column `at` on; what does not fit goes to lines indented to `indent`. */
__attribute__((format(printf, 3, 4)))
void text_wrap(int at, int indent, const char *format, ...);

/* The greater of a width so far and the length of a text. */
int text_width(int width, const char *text);

#endif
