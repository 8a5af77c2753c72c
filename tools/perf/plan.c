/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes the plan that the client sends, and parses and validates it on the server. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"

/* Increase the number when the format or the cases derived from a plan change. */
#define HEAD "dat_perf protocol 4"

static const struct field {
	const char *name;
	size_t offset;
	long min;
	long max;
} fields[] = {
/* clang-format off */
#define FIELD(name, min, max) { #name, offsetof(struct perf_plan, name), min, max }
	/* clang-format on */
	FIELD(ops, 1, (1 << PERF_ALL_OPS) - 1),
	FIELD(tests, 1, (1 << PERF_TESTS) - 1),
	FIELD(modes, 1, (1 << PERF_MODES) - 1),
	/* queue and memory need both processes on one host */
	FIELD(kinds, 1, 1 << PERF_DAT | 1 << PERF_RAW | 1 << PERF_SOCKETS),
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
	FIELD(eager_limit, 1, PERF_MAX_EAGER),
	FIELD(cached, 0, 1),
#undef FIELD
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* Names are used in a registry entry and passed to libfabric. */
bool perf_name_ok(const char *name)
{
	size_t i, len = strlen(name);

	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_-.;+", name[i]))
			return false;
	return len > 0 && len < PERF_NAME;
}

static long *plan_number(const struct perf_plan *p, size_t i)
{
	return (long *)((char *)(uintptr_t)p + fields[i].offset);
}

int perf_plan_write(const struct perf_plan *p, char *text, size_t text_size)
{
	size_t i, n;
	int s;

	n = (size_t)snprintf(text, text_size, HEAD "\nfabric=%s\nraw_provider=%s\n", p->fabric,
			     p->raw_provider);
	for (i = 0; i < FIELDS && n < text_size; i++)
		n += (size_t)snprintf(text + n, text_size - n, "%s=%ld\n", fields[i].name,
				      *plan_number(p, i));
	for (s = 0; s < p->sizes && n < text_size; s++)
		n += (size_t)snprintf(text + n, text_size - n, "size=%zu\n", p->size[s]);
	if (n < text_size)
		n += (size_t)snprintf(text + n, text_size - n, "\n");
	return n < text_size ? (int)n : -E2BIG;
}

static bool plan_read_name(char *dst, const char *value)
{
	if (!perf_name_ok(value))
		return false;
	snprintf(dst, PERF_NAME, "%s", value);
	return true;
}

static bool plan_read_number(const char *value, long min, long max, long *v)
{
	char *end;

	errno = 0;
	*v = strtol(value, &end, 10);
	return !errno && end != value && !*end && *v >= min && *v <= max;
}

/* Takes one line; `seen` has a bit for each field. */
static bool plan_read_line(struct perf_plan *p, char *line, unsigned long *seen)
{
	char *value = strchr(line, '=');
	size_t i;
	long v;

	if (!value)
		return false;
	*value++ = '\0';
	if (!strcmp(line, "fabric"))
		return plan_read_name(p->fabric, value);
	if (!strcmp(line, "raw_provider"))
		return plan_read_name(p->raw_provider, value);
	if (!strcmp(line, "size")) {
		if (p->sizes == PERF_MAX_SIZES ||
		    !plan_read_number(value, 1, (long)PERF_MAX_MESSAGE, &v))
			return false;
		p->size[p->sizes++] = (size_t)v;
		return true;
	}
	for (i = 0; i < FIELDS; i++)
		if (!strcmp(line, fields[i].name)) {
			*seen |= 1ul << i;
			return plan_read_number(value, fields[i].min, fields[i].max,
						plan_number(p, i));
		}
	return false;
}

/* Parses `text`, which it modifies; rejects values out of range. */
int perf_plan_read(struct perf_plan *p, char *text, char *reason, size_t reason_len)
{
	char *line, *save = NULL;
	unsigned long seen = 0;

	memset(p, 0, sizeof(*p));
	line = strtok_r(text, "\n", &save);
	if (!line || strcmp(line, HEAD)) {
		snprintf(reason, reason_len, "expected \"%s\", got another protocol or version",
			 HEAD);
		return -EPROTO;
	}
	while ((line = strtok_r(NULL, "\n", &save)))
		if (!plan_read_line(p, line, &seen)) {
			snprintf(reason, reason_len, "\"%.40s\" is unknown or out of range", line);
			return -EPROTO;
		}
	if (seen != (1ul << FIELDS) - 1 || !p->sizes || !p->fabric[0] || !p->raw_provider[0]) {
		snprintf(reason, reason_len, "the plan is incomplete");
		return -EPROTO;
	}
	return 0;
}
