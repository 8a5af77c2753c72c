/* SPDX-License-Identifier: BSD-2-Clause */
/* Destination of log and trace lines: stderr or a file that the user names. */
#ifndef DOFI_LOG_FILE_H
#define DOFI_LOG_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/lock.h"

struct dofi_log_file {
	_Atomic bool to_file;
	pthread_mutex_t lock;
	const char *setting; /* its name, for error messages */
	char path[256];      /* as the user wrote it; empty: stderr */
	int fd;
	pid_t opened_by;
	struct dofi_log_file *next; /* in the list of those that write files */
	bool listed;
};

/* clang-format off */
#define DOFI_LOG_FILE_INIT(name) { false, PTHREAD_MUTEX_INITIALIZER, name, "", -1, 0, NULL, false }
/* clang-format on */

/* NULL: stderr. "%p" in the path is replaced by the process ID, in a forked child by the child's.
 * Lines are appended to an existing file; a failure to open the file is reported once. */
void dofi_log_file_set(struct dofi_log_file *file, const char *path);
/* Writes one or more complete lines with one call. */
void dofi_log_file_write(struct dofi_log_file *file, const char *text, size_t len);

#endif
