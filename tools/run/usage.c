/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends dat_run because its command line is wrong. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "run.h"

void run_usage(const char *format, ...)
{
	va_list args;

	fputs("dat_run: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("\ndat_run --help lists the options.\n", stderr);
	exit(RUN_USAGE);
}
