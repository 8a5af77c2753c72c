/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes log lines to stderr or into a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/log_file.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dofi_log_file *list;

/* Reinitialises the locks: another thread may have held them during the fork. */
static void log_file_in_child(void)
{
	pthread_mutex_init(&list_lock, NULL);
	for (struct dofi_log_file *file = list; file; file = file->next)
		pthread_mutex_init(&file->lock, NULL);
}

static void log_file_enlist(struct dofi_log_file *file)
{
	pthread_mutex_lock(&list_lock);
	if (!list)
		pthread_atfork(NULL, NULL, log_file_in_child);
	if (!file->listed) {
		file->next = list;
		list = file;
	}
	file->listed = true;
	pthread_mutex_unlock(&list_lock);
}

static void log_file_close_file(struct dofi_log_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

void dofi_log_file_set(struct dofi_log_file *file, const char *path)
{
	if (path)
		log_file_enlist(file);
	pthread_mutex_lock(&file->lock);
	if (strcmp(file->path, path ? path : "")) {
		log_file_close_file(file);
		snprintf(file->path, sizeof(file->path), "%s", path ? path : "");
		file->opened_by = 0;
	}
	atomic_store_explicit(&file->to_file, path != NULL, memory_order_release);
	pthread_mutex_unlock(&file->lock);
}

static void log_file_expand(const char *path, char *out, size_t room)
{
	size_t len = 0;

	for (; *path && len + 1 < room; path++) {
		int more = 1;

		if (path[0] == '%' && path[1] == 'p') {
			more = snprintf(out + len, room - len, "%ld", (long)getpid());
			path++;
		} else {
			out[len] = *path;
		}
		len += (size_t)more;
	}
	out[len < room ? len : room - 1] = '\0';
}

/* Opens the file, or in a forked child the child's own file if the path contains "%p". */
static void log_file_open_file(struct dofi_log_file *file)
{
	char path[sizeof(file->path) + 32];

	if (file->opened_by == getpid() || (file->fd >= 0 && !strstr(file->path, "%p")))
		return;
	file->opened_by = getpid();
	log_file_close_file(file);
	log_file_expand(file->path, path, sizeof(path));
	/* O_NONBLOCK: opening a FIFO without a reader fails, and writes to a full one return. */
	file->fd =
		open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
	if (file->fd < 0)
		fprintf(stderr, "dat-ofi[%ld]: %s=%s: %s; stderr is used\n", (long)getpid(),
			file->setting, path, strerror(errno));
}

void dofi_log_file_write(struct dofi_log_file *file, const char *text, size_t len)
{
	int saved = errno;

	DOFI_NO_CANCEL();
	/* One call per line, so that lines of several processes and threads do not mix. */
	if (!atomic_load_explicit(&file->to_file, memory_order_acquire)) {
		fprintf(stderr, "%.*s", (int)len, text);
		errno = saved;
		return;
	}
	pthread_mutex_lock(&file->lock);
	if (*file->path)
		log_file_open_file(file);
	if (file->fd < 0 || write(file->fd, text, len) < 0)
		fprintf(stderr, "%.*s", (int)len, text);
	pthread_mutex_unlock(&file->lock);
	errno = saved;
}
