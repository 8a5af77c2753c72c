/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups figures into rows and dispatches to the report formats. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "proc.h"
#include "report.h"

static bool same_row(const struct perf_case *a, const struct perf_case *b)
{
	return a->op == b->op && a->mode == b->mode && a->size == b->size;
}

/* True if no earlier case belongs to the same row. */
static bool first_of_row(const struct perf_case *list, int i)
{
	int k;

	for (k = 0; k < i; k++)
		if (same_row(&list[k], &list[i]))
			return false;
	return true;
}

bool perf_row_next(const struct perf_book *b, const struct perf_fabric *f, int *i,
		   struct perf_row *row)
{
	int k;

	while (*i < b->n && !first_of_row(b->list, *i))
		++*i;
	if (*i >= b->n || !f->out)
		return false;
	memset(row, 0, sizeof(*row));
	row->fabric = f;
	row->c = &b->list[*i];
	for (k = 0; k < b->n; k++)
		if (same_row(&b->list[k], row->c))
			row->test[b->list[k].test] = &f->out[k];
	++*i;
	return true;
}

double perf_row_latency(const struct perf_row *r, enum perf_kind k)
{
	return r->test[PERF_LAT] ? r->test[PERF_LAT]->picked[k].lat_p50 : NAN;
}

double perf_row_mbps(const struct perf_row *r, enum perf_kind k)
{
	const struct perf_outcome *out = r->test[PERF_BW] ? r->test[PERF_BW] : r->test[PERF_RATE];

	return out ? out->picked[k].mbps : NAN;
}

double perf_row_rate(const struct perf_row *r, enum perf_kind k)
{
	const struct perf_outcome *out = r->test[PERF_RATE] ? r->test[PERF_RATE] : r->test[PERF_BW];

	return out ? out->picked[k].rate : NAN;
}

bool perf_row_unsupported(const struct perf_row *r, enum perf_kind k)
{
	int t;

	for (t = 0; t < PERF_TESTS; t++)
		if (r->test[t] && r->test[t]->unsupported[k])
			return true;
	return false;
}

double perf_ratio(double dat, double raw)
{
	return raw > 0 ? dat / raw : NAN;
}

int perf_report(const struct perf_book *b)
{
	static void (*const write_as[PERF_FORMATS])(const struct perf_book *) = {
		[PERF_TABLE] = perf_report_table,
		[PERF_OSU] = perf_report_osu,
		[PERF_JSON] = perf_report_json,
		[PERF_CSV] = perf_report_csv,
	};

	write_as[b->opts->format](b);
	if (fflush(stdout) || ferror(stdout))
		return perf_error(-EIO, NULL, "standard output", "%s", strerror(errno));
	return 0;
}
