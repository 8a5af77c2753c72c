/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares allocation that never returns NULL: without memory the program prints an error and
 * exits.
 */
#ifndef INFO_MEMORY_H
#define INFO_MEMORY_H

#include <stddef.h>

void *info_calloc(size_t n, size_t size);
void *info_realloc(void *old, size_t n, size_t size);
char *info_strdup(const char *text);
__attribute__((format(printf, 1, 2))) char *info_format(const char *format, ...);

#endif
