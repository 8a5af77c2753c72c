/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages for people: stderr only, silent by default but for errors. */
#ifndef DOFI_LOG_H
#define DOFI_LOG_H

enum dofi_log_level {
	DOFI_LOG_ERROR = 1,
	DOFI_LOG_WARN,
	DOFI_LOG_INFO,
	DOFI_LOG_DEBUG,
};

void dofi_log(enum dofi_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Where messages go; NULL: stderr. See base/log_file.h. */
void dofi_log_file(const char *path);

/* Reasons why an IA could not be opened. They go to the registry library when it asked for
 * them, so that it can print one paragraph; otherwise to stderr. */
void dofi_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
