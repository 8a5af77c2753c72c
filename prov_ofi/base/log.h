/* SPDX-License-Identifier: BSD-2-Clause */
/* Log messages: on stderr or in a file, by default errors only. */
#ifndef DOFI_LOG_H
#define DOFI_LOG_H

#include <stdbool.h>

enum dofi_log_level {
	DOFI_LOG_ERROR = 1,
	DOFI_LOG_WARN,
	DOFI_LOG_INFO,
	DOFI_LOG_DEBUG,
};

void dofi_log(enum dofi_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets the most detailed level that is logged; 0: none. Errors until then. */
void dofi_log_set_level(long level);
/* Sets the file of the messages; NULL: stderr. See base/log_file.h. */
void dofi_log_file(const char *path);

/* Reports why an IA could not be opened: to the registry library if it has set a collector, so that
 * it can print one paragraph, else to the log. */
void dofi_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* While on, reports of the calling thread are log messages of level DOFI_LOG_INFO. */
void dofi_report_quiet(bool on);

#endif
