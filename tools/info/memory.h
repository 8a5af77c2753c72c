/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is there: a tool without memory says so and ends. */
#ifndef INFO_MEMORY_H
#define INFO_MEMORY_H

#include <stddef.h>

void *info_calloc(size_t n, size_t size);
void *info_realloc(void *old, size_t n, size_t size);
char *info_strdup(const char *text);
__attribute__((format(printf, 1, 2)))
char *info_format(const char *format, ...);

#endif
