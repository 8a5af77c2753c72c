/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses option values: names, numbers, sizes and fabrics. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "args.h"

/* The fabrics of "--fabrics all". */
/* clang-format off */
static const char *const known_fabric[] = { "tcp", "tcp+shm", "shm", "rxm", "rxm+shm", "verbs",
					   "rxm-verbs", "efa", "psm3", "cxi", "opx" };
/* clang-format on */

void perf_usage(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "dat_perf: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (dat_perf --help)\n");
	exit(2);
}

int perf_name(const char *opt, const char *item, const char *const *name, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (!strcmp(item, name[i]))
			return i;
	perf_usage("--%s: \"%s\" is unknown", opt, item);
}

long perf_names(const char *opt, char *list, const char *const *name, int n)
{
	char *item, *save = NULL;
	long mask = 0;

	for (item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save))
		mask |= !strcmp(item, "all") ? (1L << n) - 1 : 1L << perf_name(opt, item, name, n);
	if (!mask)
		perf_usage("--%s: the list is empty", opt);
	return mask;
}

long perf_number(const char *opt, const char *text, long min, long max)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max)
		perf_usage("--%s: \"%s\" is not a number from %ld to %ld", opt, text, min, max);
	return v;
}

size_t perf_bytes(const char *opt, const char *item, size_t max)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(item, &end, 10);
	if (*end && strchr("kK", *end)) {
		v <<= 10;
		end++;
	} else if (*end && strchr("mM", *end)) {
		v <<= 20;
		end++;
	}
	if (errno || !isdigit((unsigned char)item[0]) || *end || v < 1 || v > max)
		perf_usage("--%s: \"%s\" is not a number of bytes from 1 to %zu%s", opt, item,
			   max >> 20 ? max >> 20 : max >> 10, max >> 20 ? "M" : "K");
	return (size_t)v;
}

static void add_size(struct perf_plan *p, size_t size)
{
	if (p->sizes == PERF_MAX_SIZES)
		perf_usage("--size: more than %d sizes", PERF_MAX_SIZES);
	p->size[p->sizes++] = size;
}

/* "2:1M" is the first size, doubled until the second is passed. */
static void add_range(struct perf_plan *p, char *item)
{
	char *colon = strchr(item, ':');
	size_t from, to;

	if (!colon) {
		add_size(p, perf_bytes("size", item, PERF_MAX_MESSAGE));
		return;
	}
	*colon = '\0';
	from = perf_bytes("size", item, PERF_MAX_MESSAGE);
	to = perf_bytes("size", colon + 1, PERF_MAX_MESSAGE);
	if (from > to)
		perf_usage("--size: %s:%s is empty", item, colon + 1);
	for (; from <= to; from <<= 1)
		add_size(p, from);
}

void perf_sizes(struct perf_plan *p, char *list)
{
	char whole[] = "1:4M";
	char *item, *save = NULL;

	p->sizes = 0;
	if (!strcmp(list, "all"))
		list = whole;
	for (item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save))
		add_range(p, item);
	if (!p->sizes)
		perf_usage("--size: the list is empty");
}

static void add_fabric(struct perf_opts *o, const char *name)
{
	int i;

	for (i = 0; i < o->fabrics; i++)
		if (!strcmp(o->fabric[i], name))
			return;
	if (o->fabrics == PERF_MAX_FABRICS)
		perf_usage("--fabrics: more than %d fabrics", PERF_MAX_FABRICS);
	if (!perf_name_ok(name))
		perf_usage("--fabrics: \"%s\" cannot be the name of a fabric", name);
	snprintf(o->fabric[o->fabrics++], PERF_NAME, "%s", name);
}

void perf_fabrics(struct perf_opts *o, char *list)
{
	char *item, *save = NULL;
	size_t i;

	for (item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		if (strcmp(item, "all")) {
			add_fabric(o, item);
			continue;
		}
		o->any_fabric = true;
		for (i = 0; i < sizeof(known_fabric) / sizeof(known_fabric[0]); i++)
			add_fabric(o, known_fabric[i]);
	}
	if (!o->fabrics)
		perf_usage("--fabrics: the list is empty");
}

/*
 * Fabrics have the names of libfabric's providers, with three exceptions: NAME+shm is shared memory
 * between processes of one host and NAME otherwise; text after a "-" is the name of a device, but
 * not in rxm-verbs.
 */
const char *perf_raw_provider(const char *fabric, bool one_host)
{
	static char provider[PERF_NAME];
	const char *plus = strchr(fabric, '+');

	if (plus && one_host)
		fabric = plus + 1;
	if (!strncmp(fabric, "rxm-verbs", 9))
		return "verbs;ofi_rxm";
	snprintf(provider, sizeof(provider), "%.*s", (int)strcspn(fabric, "+-"), fabric);
	return strcmp(provider, "rxm") && strcmp(provider, "constrained") ? provider
									  : "tcp;ofi_rxm";
}
