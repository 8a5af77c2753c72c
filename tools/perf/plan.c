/* SPDX-License-Identifier: BSD-2-Clause */
/* The plan that the client sends to the server, and the server's checks of it. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

/* The number grows when anything below, or what follows from a plan, changes. */
#define HEAD "dat_perf protocol 2"

static const struct field {
	const char *name;
	size_t offset;
	long min;
	long max;
} fields[] = {
#define FIELD(name, min, max) { #name, offsetof(struct perf_plan, name), min, max }
	FIELD(ops, 1, (1 << PERF_OPS) - 1),
	FIELD(tests, 1, (1 << PERF_TESTS) - 1),
	FIELD(modes, 1, (1 << PERF_MODES) - 1),
	/* the bare queue needs both processes on one host */
	FIELD(kinds, 1, 1 << PERF_DAT | 1 << PERF_RAW),
	FIELD(iters, 0, PERF_MAX_ITERS),
	FIELD(warmup, -1, PERF_MAX_ITERS),
	FIELD(window, 0, PERF_MAX_WINDOW),
	FIELD(rounds, 1, 1000),
	FIELD(timeout_ms, 1000, 3600000),
	FIELD(eps, 1, PERF_MAX_EPS),
	FIELD(srq, 0, 1),
	FIELD(validate, 0, 1),
	FIELD(merged, 0, 1),
	FIELD(burst, 0, 1),
	FIELD(raw_delivery, 0, 1),
	FIELD(raw_more, 0, 1),
#undef FIELD
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Names go into a registry entry and into libfabric. */
bool perf_name_ok(const char *name)
{
	size_t i, len = strlen(name);

	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_-.;+", name[i]))
			return false;
	return len > 0 && len < PERF_NAME;
}

static long *number_at(const struct perf_plan *p, size_t i)
{
	return (long *)((char *)(uintptr_t)p + fields[i].offset);
}

int perf_plan_write(const struct perf_plan *p, char *text, size_t room)
{
	size_t i, n;
	int s;

	n = (size_t)snprintf(text, room, HEAD "\nfabric=%s\nraw_provider=%s\n", p->fabric,
			     p->raw_provider);
	for (i = 0; i < FIELDS && n < room; i++)
		n += (size_t)snprintf(text + n, room - n, "%s=%ld\n", fields[i].name,
				      *number_at(p, i));
	for (s = 0; s < p->sizes && n < room; s++)
		n += (size_t)snprintf(text + n, room - n, "size=%zu\n", p->size[s]);
	if (n < room)
		n += (size_t)snprintf(text + n, room - n, "\n");
	return n < room ? (int)n : -E2BIG;
}

static bool read_name(char *dst, const char *value)
{
	if (!perf_name_ok(value))
		return false;
	snprintf(dst, PERF_NAME, "%s", value);
	return true;
}

static bool read_number(const char *value, long min, long max, long *v)
{
	char *end;

	errno = 0;
	*v = strtol(value, &end, 10);
	return !errno && end != value && !*end && *v >= min && *v <= max;
}

/* Takes one line; `seen` has a bit for each field. */
static bool read_line(struct perf_plan *p, char *line, unsigned long *seen)
{
	char *value = strchr(line, '=');
	size_t i;
	long v;

	if (!value)
		return false;
	*value++ = '\0';
	if (!strcmp(line, "fabric"))
		return read_name(p->fabric, value);
	if (!strcmp(line, "raw_provider"))
		return read_name(p->raw_provider, value);
	if (!strcmp(line, "size")) {
		if (p->sizes == PERF_MAX_SIZES ||
		    !read_number(value, 1, (long)PERF_MAX_MESSAGE, &v))
			return false;
		p->size[p->sizes++] = (size_t)v;
		return true;
	}
	for (i = 0; i < FIELDS; i++)
		if (!strcmp(line, fields[i].name)) {
			*seen |= 1ul << i;
			return read_number(value, fields[i].min, fields[i].max,
					   number_at(p, i));
		}
	return false;
}

/* Cuts `text` up. Nothing is believed that is not in range. */
int perf_plan_read(struct perf_plan *p, char *text, char *why, size_t why_len)
{
	char *line, *save = NULL;
	unsigned long seen = 0;

	memset(p, 0, sizeof(*p));
	line = strtok_r(text, "\n", &save);
	if (!line || strcmp(line, HEAD)) {
		snprintf(why, why_len, "this side speaks \"%s\", the other one does not", HEAD);
		return -EPROTO;
	}
	while ((line = strtok_r(NULL, "\n", &save)))
		if (!read_line(p, line, &seen)) {
			snprintf(why, why_len, "\"%.40s\" is unknown or out of range", line);
			return -EPROTO;
		}
	if (seen != (1ul << FIELDS) - 1 || !p->sizes || !p->fabric[0] || !p->raw_provider[0]) {
		snprintf(why, why_len, "the plan is incomplete");
		return -EPROTO;
	}
	return 0;
}
