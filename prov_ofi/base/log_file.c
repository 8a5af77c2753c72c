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
static struct dofi_sink *list;

/* Another thread may have been writing while this child was forked. */
static void in_child(void)
{
	pthread_mutex_init(&list_lock, NULL);
	for (struct dofi_sink *sink = list; sink; sink = sink->next)
		pthread_mutex_init(&sink->lock, NULL);
}

static void enlist(struct dofi_sink *sink)
{
	pthread_mutex_lock(&list_lock);
	if (!list)
		pthread_atfork(NULL, NULL, in_child);
	if (!sink->listed) {
		sink->next = list;
		list = sink;
	}
	sink->listed = true;
	pthread_mutex_unlock(&list_lock);
}

static void close_file(struct dofi_sink *sink)
{
	if (sink->fd >= 0)
		close(sink->fd);
	sink->fd = -1;
}

void dofi_sink_set(struct dofi_sink *sink, const char *path)
{
	if (path)
		enlist(sink);
	pthread_mutex_lock(&sink->lock);
	if (strcmp(sink->path, path ? path : "")) {
		close_file(sink);
		snprintf(sink->path, sizeof(sink->path), "%s", path ? path : "");
		sink->opened_by = 0;
	}
	atomic_store_explicit(&sink->to_file, path != NULL, memory_order_release);
	pthread_mutex_unlock(&sink->lock);
}

static void expand(const char *path, char *out, size_t room)
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

/* A forked child with a file per process gets its own. */
static void open_file(struct dofi_sink *sink)
{
	char path[sizeof(sink->path) + 32];

	if (sink->opened_by == getpid() || (sink->fd >= 0 && !strstr(sink->path, "%p")))
		return;
	sink->opened_by = getpid();
	close_file(sink);
	expand(sink->path, path, sizeof(path));
	/* A FIFO that nobody reads is an error, and one that is full takes no more. */
	sink->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
			0666);
	if (sink->fd < 0)
		fprintf(stderr, "dat-ofi[%ld]: %s=%s: %s; stderr is used\n", (long)getpid(),
			sink->setting, path, strerror(errno));
}

void dofi_sink_write(struct dofi_sink *sink, const char *text, size_t len)
{
	int saved = errno;

	DOFI_NO_CANCEL();
	/* One call, so that lines of several processes and threads stay whole. */
	if (!atomic_load_explicit(&sink->to_file, memory_order_acquire)) {
		fprintf(stderr, "%.*s", (int)len, text);
		errno = saved;
		return;
	}
	pthread_mutex_lock(&sink->lock);
	if (*sink->path)
		open_file(sink);
	if (sink->fd < 0 || write(sink->fd, text, len) < 0)
		fprintf(stderr, "%.*s", (int)len, text);
	pthread_mutex_unlock(&sink->lock);
	errno = saved;
}
