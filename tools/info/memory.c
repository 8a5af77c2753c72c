/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocation that ends the program when there is no memory. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static void *need(void *memory)
{
	if (memory)
		return memory;
	fprintf(stderr, "dat_info: out of memory\n");
	exit(1);
}

void *info_calloc(size_t n, size_t size)
{
	return need(calloc(n, size));
}

void *info_realloc(void *old, size_t n, size_t size)
{
	return need(reallocarray(old, n, size));
}

char *info_strdup(const char *text)
{
	return need(strdup(text));
}

char *info_format(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return need(text);
}
