/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and shows the output files of programs. */
#ifndef RUN_TEXT_H
#define RUN_TEXT_H

#include <stdio.h>
#include <sys/types.h>

/* The whole file and a terminating NUL; NUL bytes in it become blanks. Of a file beyond all reason
 * the end is read. NULL if it cannot be read; to be freed. */
char *text_read(const char *path, size_t *len);

/* Where the last `lines` lines of a text begin. */
const char *text_tail(const char *text, size_t len, unsigned int lines);

/* Calls `line` for each line, terminated for the time of the call, until it returns nonzero. */
int text_lines(char *text, int (*line)(char *line, void *arg), void *arg);

/* Text between quotes of JSON, or as XML content; what is no printable UTF-8 becomes "?". */
void text_json(FILE *out, const char *text, size_t len);
void text_xml(FILE *out, const char *text, size_t len);
/* One line for a terminal. */
void text_plain(FILE *out, const char *text, size_t len);

#endif
