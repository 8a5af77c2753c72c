/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates memory; ends the program if there is none. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static void *check_alloc(void *memory)
{
	if (memory)
		return memory;
	fprintf(stderr, "dat_info: out of memory\n");
	exit(1);
}

void *info_calloc(size_t n, size_t size)
{
	return check_alloc(calloc(n, size));
}

void *info_realloc(void *old, size_t n, size_t size)
{
	return check_alloc(reallocarray(old, n, size));
}

char *info_strdup(const char *text)
{
	return check_alloc(strdup(text));
}

char *info_format(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return check_alloc(text);
}
