/* SPDX-License-Identifier: BSD-2-Clause */
/* Where lines for people are written: stderr, or a file that the user named. */
#ifndef DOFI_LOG_FILE_H
#define DOFI_LOG_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct dofi_log_file {
	_Atomic bool to_file;
	pthread_mutex_t lock;
	const char *setting;		/* its name, for complaints */
	char path[256];			/* as the user wrote it; empty: stderr */
	int fd;
	pid_t opened_by;
	struct dofi_log_file *next;		/* of those that write files */
	bool listed;
};

#define DOFI_LOG_FILE_INIT(name) { false, PTHREAD_MUTEX_INITIALIZER, name, "", -1, 0, NULL, false }

/* NULL: stderr. "%p" in the path becomes the process id, a forked child's own too. Lines are
 * appended to what is there; a file that cannot be opened is complained about once. */
void dofi_log_file_set(struct dofi_log_file *file, const char *path);
/* Writes one or more whole lines with one call. */
void dofi_log_file_write(struct dofi_log_file *file, const char *text, size_t len);

#endif
