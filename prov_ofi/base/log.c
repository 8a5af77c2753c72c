/* SPDX-License-Identifier: BSD-2-Clause */
/* Filters log messages by level and formats them. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/log_file.h"

typedef void (*report_fn)(const char *text);

static _Atomic(report_fn) report;
static _Thread_local bool quiet;
static _Atomic int most_detailed = DOFI_LOG_ERROR;

/* The registry library looks this symbol up and passes its collector of messages. */
__attribute__((visibility("default"))) void dapl_ofi_set_report(report_fn fn);

void dapl_ofi_set_report(report_fn fn)
{
	report = fn;
}

static struct dofi_log_file file = DOFI_LOG_FILE_INIT("DAPL_OFI_LOG_FILE");

void dofi_log_set_level(long level)
{
	most_detailed = (int)level;
}

void dofi_log_file(const char *path)
{
	dofi_log_file_set(&file, path);
}

void dofi_log(enum dofi_log_level level, const char *fmt, ...)
{
	char text[512], line[560];
	va_list ap;

	if ((int)level > most_detailed)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(line, sizeof(line), "dat-ofi[%ld]: %s\n", (long)getpid(), text);
	dofi_log_file_write(&file, line, strlen(line));
}

void dofi_report_quiet(bool on)
{
	quiet = on;
}

void dofi_report(const char *fmt, ...)
{
	report_fn fn = quiet ? NULL : report;
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (fn)
		fn(text);
	else
		dofi_log(quiet ? DOFI_LOG_INFO : DOFI_LOG_ERROR, "%s", text);
}
