/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares functions that read and print the output files of programs. */
#ifndef RUN_TEXT_H
#define RUN_TEXT_H

#include <stdio.h>
#include <sys/types.h>

/*
 * Reads a file and appends a NUL; NUL bytes in it become blanks. Of a file beyond 32 MiB, reads
 * the end. NULL if it cannot be read; the caller frees it.
 */
char *text_read(const char *path, size_t *len);

/* The start of the last `lines` lines of a text. */
const char *text_tail(const char *text, size_t len, unsigned int lines);

/* Calls `line` for each line, terminated for the time of the call, until it returns nonzero. */
int text_lines(char *text, int (*line)(char *line, void *arg), void *arg);

/*
 * Write text between quotes of JSON, or as XML content; bytes that are not printable UTF-8 become
 * "?".
 */
void text_json(FILE *out, const char *text, size_t len);
void text_xml(FILE *out, const char *text, size_t len);
/* One line for a terminal. */
void text_plain(FILE *out, const char *text, size_t len);

#endif
