/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares text output that is aligned and wrapped to the width of the terminal. */
#ifndef INFO_TEXT_H
#define INFO_TEXT_H

#include <stddef.h>

/* Prints text from column `at`; wraps it to lines indented by `indent`. */
__attribute__((format(printf, 3, 4))) void text_wrap(int at, int indent, const char *format, ...);

/* The maximum of a width and the length of a text. */
int text_width(int width, const char *text);

#endif
