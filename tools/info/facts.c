/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the facts of a child process to the pipe that its parent reads. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "facts.h"

static int facts_fd = -1;

void info_facts_open(int fd)
{
	facts_fd = fd;
}

/*
 * Replaces control characters, which would end a field or line: other providers choose their
 * attribute names freely.
 */
static void sanitize(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from && n + 1 < size; from++)
		to[n++] = iscntrl((unsigned char)*from) ? ' ' : *from;
	to[n] = '\0';
}

/* Writes each fact at once: it reaches the parent even if the child crashes next. */
static void put_fact(char kind, const char *group, const char *name, const char *value)
{
	char line[2048], clean_name[256], clean_value[1536];
	const char *at = line;
	ssize_t n;
	int len;

	sanitize(clean_name, sizeof(clean_name), name);
	sanitize(clean_value, sizeof(clean_value), value);
	len = snprintf(line, sizeof(line), "%c\t%s\t%s\t%s\n", kind, group, clean_name,
		       clean_value);
	if (len >= (int)sizeof(line))
		return;
	while (len > 0 && (n = write(facts_fd, at, (size_t)len)) > 0) {
		at += n;
		len -= (int)n;
	}
}

void info_put_text(const char *group, const char *name, const char *value)
{
	put_fact(INFO_FACT_TEXT, group, name, value ? value : "");
}

void info_put_number(const char *group, const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	put_fact(INFO_FACT_NUMBER, group, name, text);
}

void info_put_count(const char *group, const char *name, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	put_fact(INFO_FACT_NUMBER, group, name, text);
}

void info_put_flag(const char *group, const char *name, bool value)
{
	put_fact(INFO_FACT_FLAG, group, name, value ? "true" : "false");
}
