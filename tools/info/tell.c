/* SPDX-License-Identifier: BSD-2-Clause */
/* How a child process writes its facts. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tell.h"

static int tell_fd = -1;

void info_tell_to(int fd)
{
	tell_fd = fd;
}

/* Foreign providers name their attributes as they like: no byte may end a line or a field. */
static void clean(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from && n + 1 < size; from++)
		to[n++] = iscntrl((unsigned char)*from) ? ' ' : *from;
	to[n] = '\0';
}

/* One write per fact: it is told whatever happens next. */
static void tell(char kind, const char *group, const char *name, const char *value)
{
	char line[2048], clean_name[256], clean_value[1536];
	const char *at = line;
	ssize_t n;
	int len;

	clean(clean_name, sizeof(clean_name), name);
	clean(clean_value, sizeof(clean_value), value);
	len = snprintf(line, sizeof(line), "%c\t%s\t%s\t%s\n", kind, group, clean_name,
		       clean_value);
	if (len >= (int)sizeof(line))
		return;
	while (len > 0 && (n = write(tell_fd, at, (size_t)len)) > 0) {
		at += n;
		len -= (int)n;
	}
}

void info_tell(const char *group, const char *name, const char *value)
{
	tell(INFO_TELL_TEXT, group, name, value ? value : "");
}

void info_tell_number(const char *group, const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	tell(INFO_TELL_NUMBER, group, name, text);
}

void info_tell_count(const char *group, const char *name, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	tell(INFO_TELL_NUMBER, group, name, text);
}

void info_tell_flag(const char *group, const char *name, bool value)
{
	tell(INFO_TELL_FLAG, group, name, value ? "true" : "false");
}
