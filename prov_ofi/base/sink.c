/* SPDX-License-Identifier: BSD-2-Clause */
/* How do lines get to stderr or into a file? */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/sink.h"

static void close_file(struct dofi_sink *sink)
{
	if (sink->fd >= 0)
		close(sink->fd);
	sink->fd = -1;
}

void dofi_sink_set(struct dofi_sink *sink, const char *path)
{
	pthread_mutex_lock(&sink->lock);
	if (strcmp(sink->path, path ? path : "")) {
		close_file(sink);
		snprintf(sink->path, sizeof(sink->path), "%s", path ? path : "");
		sink->opened_by = 0;
	}
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
	sink->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
	if (sink->fd < 0)
		fprintf(stderr, "dat-ofi[%ld]: %s=%s: %s; stderr is used\n", (long)getpid(),
			sink->setting, path, strerror(errno));
}

void dofi_sink_write(struct dofi_sink *sink, const char *text, size_t len)
{
	int saved = errno;

	pthread_mutex_lock(&sink->lock);
	if (*sink->path)
		open_file(sink);
	/* One call, so that lines of several processes and threads stay whole. */
	if (sink->fd < 0 || write(sink->fd, text, len) < 0)
		fprintf(stderr, "%.*s", (int)len, text);
	pthread_mutex_unlock(&sink->lock);
	errno = saved;
}
