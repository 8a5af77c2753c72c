/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the figures as JSON and CSV. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "config.h"
#include "report.h"

/* All figures of a row for one kind, in the order of the CSV columns. */
static const struct {
	const char *name;
	enum perf_test test;
	size_t offset;
} figure[] = {
/* clang-format off */
#define FIGURE(name, test, member) { name, test, offsetof(struct perf_figures, member) }
	/* clang-format on */
	FIGURE("latency_min_us", PERF_LAT, lat_min),
	FIGURE("latency_max_us", PERF_LAT, lat_max),
	FIGURE("latency_avg_us", PERF_LAT, lat_avg),
	FIGURE("latency_stdev_us", PERF_LAT, lat_stdev),
	FIGURE("latency_p50_us", PERF_LAT, lat_p50),
	FIGURE("latency_p90_us", PERF_LAT, lat_p90),
	FIGURE("latency_p99_us", PERF_LAT, lat_p99),
	FIGURE("latency_p999_us", PERF_LAT, lat_p999),
	FIGURE("bandwidth_peak_mbps", PERF_BW, peak_mbps),
	FIGURE("bibw_mbps", PERF_BIBW, mbps),
#undef FIGURE
};

#define FIGURES (sizeof(figure) / sizeof(figure[0]))

static const char *const prefix[PERF_KINDS] = { "", "raw_", "sockets_", "queue_", "memory_" };

/* Ratios to libfabric have no prefix. */
static const char *const ratio_prefix[PERF_KINDS] = { "", "", "sockets_", "", "memory_" };

static double figure_of(const struct perf_row *r, enum perf_kind k, size_t i)
{
	const struct perf_outcome *out = r->test[figure[i].test];

	return out ? *(const double *)((const char *)&out->picked[k] + figure[i].offset) : NAN;
}

/* JSON: a figure that was not measured is null. */
static void field(const char *before, const char *name, double v)
{
	printf(", \"%s%s\": ", before, name);
	if (isnan(v))
		printf("null");
	else
		printf("%.*f", fabs(v) < 1000 ? 4 : 1, v);
}

/* Escapes a string: reasons contain messages of libraries. */
static void string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(iscntrl((unsigned char)*text) ? ' ' : *text);
	}
	putchar('"');
}

static void rounds(const char *before, const char *name, const struct perf_outcome *out,
		   enum perf_kind k, long n, size_t offset)
{
	double v;
	long i;

	if (!out)
		return;
	printf(", \"%s%s\": [", before, name);
	for (i = 0; i < n; i++) {
		v = *(const double *)((const char *)&out->round[k][i] + offset);
		printf(isnan(v) ? "%snull" : "%s%.3f", i ? ", " : "", v);
	}
	printf("]");
}

static void json_kind(const struct perf_book *b, const struct perf_row *r, enum perf_kind k)
{
	long n = b->opts->plan.rounds;
	size_t i;

	field(prefix[k], "latency_us", perf_row_latency(r, k));
	field(prefix[k], "bandwidth_mbps", perf_row_mbps(r, k));
	field(prefix[k], "rate_mps", perf_row_rate(r, k));
	for (i = 0; i < FIGURES; i++)
		if (r->test[figure[i].test])
			field(prefix[k], figure[i].name, figure_of(r, k, i));
	if (!perf_has(b, k))
		return;
	rounds(prefix[k], "latency_us_rounds", r->test[PERF_LAT], k, n,
	       offsetof(struct perf_figures, lat_p50));
	rounds(prefix[k], "bandwidth_mbps_rounds", r->test[PERF_BW], k, n,
	       offsetof(struct perf_figures, mbps));
	rounds(prefix[k], "rate_mps_rounds", r->test[PERF_RATE], k, n,
	       offsetof(struct perf_figures, rate));
	if (perf_row_unsupported(r, k))
		printf(", \"%snote\": \"not supported\"", prefix[k]);
}

struct ratios {
	double latency;
	double bandwidth;
	double rate;
};

static struct ratios ratios_of(const struct perf_row *r, enum perf_kind k)
{
	return (struct ratios){
		.latency = perf_ratio(perf_row_latency(r, PERF_DAT), perf_row_latency(r, k)),
		.bandwidth = perf_ratio(perf_row_mbps(r, PERF_DAT), perf_row_mbps(r, k)),
		.rate = perf_ratio(perf_row_rate(r, PERF_DAT), perf_row_rate(r, k)),
	};
}

static const char *truth(long v)
{
	return v ? "true" : "false";
}

static void json_row(const struct perf_book *b, const struct perf_row *r)
{
	const struct perf_plan *p = &b->opts->plan;
	struct ratios ratio;
	int k;

	printf("\"fabric\": \"%s\", \"op\": \"%s\", \"size\": %zu, \"mode\": \"%s\", \"eps\": %ld, "
	       "\"srq\": %s, \"validated\": %s, \"iterations\": %ld",
	       r->fabric->name, perf_op_name[r->c->op], r->c->size, perf_mode_name[r->c->mode],
	       p->eps, truth(p->srq), truth(p->validate), r->c->iters);
	json_kind(b, r, PERF_DAT);
	for (k = PERF_DAT + 1; k < PERF_KINDS; k++) {
		if (!perf_has(b, (enum perf_kind)k))
			continue;
		json_kind(b, r, (enum perf_kind)k);
		if (!perf_has_ratio((enum perf_kind)k))
			continue;
		ratio = ratios_of(r, (enum perf_kind)k);
		field(ratio_prefix[k], "latency_ratio", ratio.latency);
		field(ratio_prefix[k], "bandwidth_ratio", ratio.bandwidth);
		field(ratio_prefix[k], "rate_ratio", ratio.rate);
	}
}

static void json_missing(const struct perf_book *b)
{
	const char *sep = "";
	int f;

	printf(" \"not_measured\": [");
	for (f = 0; f < b->fabrics; f++) {
		if (b->fabric[f].out)
			continue;
		printf("%s{\"fabric\": \"%s\", \"reason\": ", sep, b->fabric[f].name);
		string(b->fabric[f].reason);
		printf("}");
		sep = ", ";
	}
	printf("],\n");
}

void perf_report_json(const struct perf_book *b)
{
	const struct perf_opts *o = b->opts;
	const struct perf_plan *p = &o->plan;
	const char *sep = "";
	struct perf_row row;
	int f, i;

	printf("{\"tool\": \"dat_perf\", \"version\": \"%s\", \"ia\": ", PACKAGE_VERSION);
	string(o->fabrics ? "" : o->ia);
	printf(", \"server\": ");
	string(o->host ? o->host : "");
	printf(", \"rounds\": %ld, \"pick\": \"%s\",\n", p->rounds, o->best ? "best" : "median");
	printf(" \"queues\": \"%s\", \"burst\": %s, \"raw_provider\": \"%s\", "
	       "\"raw_delivery\": %s, \"raw_more\": %s,\n",
	       p->merged ? "merged" : "split", truth(p->burst), b->fabric[0].raw_provider,
	       truth(p->raw_delivery), truth(p->raw_more));
	if (p->ops >> PERF_OPS)
		printf(" \"eager_limit\": %ld, \"registration\": \"%s\",\n", p->eager_limit,
		       p->cached ? "cached" : "message");
	json_missing(b);
	printf(" \"results\": [");
	for (f = 0; f < b->fabrics; f++)
		for (i = 0; perf_row_next(b, &b->fabric[f], &i, &row);) {
			printf("%s\n  {", sep);
			json_row(b, &row);
			printf("}");
			sep = ",";
		}
	printf("\n]}\n");
}

/* CSV: a figure that was not measured is an empty field. */
static void csv_value(double v)
{
	if (isnan(v))
		printf(",");
	else
		printf(",%.4f", v);
}

static void csv_head(const struct perf_book *b)
{
	size_t i;
	int k;

	printf("fabric,op,size,mode,eps,srq,iterations");
	for (k = 0; k < PERF_KINDS; k++) {
		if (k != PERF_DAT && !perf_has(b, (enum perf_kind)k))
			continue;
		printf(",%slatency_us,%sbandwidth_mbps,%srate_mps", prefix[k], prefix[k],
		       prefix[k]);
		for (i = 0; i < FIGURES; i++)
			printf(",%s%s", prefix[k], figure[i].name);
	}
	for (k = 0; k < PERF_KINDS; k++)
		if (perf_has(b, (enum perf_kind)k) && perf_has_ratio((enum perf_kind)k))
			printf(",%slatency_ratio,%sbandwidth_ratio,%srate_ratio", ratio_prefix[k],
			       ratio_prefix[k], ratio_prefix[k]);
	printf("\n");
}

static void csv_row(const struct perf_book *b, const struct perf_row *r)
{
	struct ratios ratio;
	size_t i;
	int k;

	printf("%s,%s,%zu,%s,%ld,%ld,%ld", r->fabric->name, perf_op_name[r->c->op], r->c->size,
	       perf_mode_name[r->c->mode], b->opts->plan.eps, b->opts->plan.srq, r->c->iters);
	for (k = 0; k < PERF_KINDS; k++) {
		if (k != PERF_DAT && !perf_has(b, (enum perf_kind)k))
			continue;
		csv_value(perf_row_latency(r, (enum perf_kind)k));
		csv_value(perf_row_mbps(r, (enum perf_kind)k));
		csv_value(perf_row_rate(r, (enum perf_kind)k));
		for (i = 0; i < FIGURES; i++)
			csv_value(figure_of(r, (enum perf_kind)k, i));
	}
	for (k = 0; k < PERF_KINDS; k++) {
		if (!perf_has(b, (enum perf_kind)k) || !perf_has_ratio((enum perf_kind)k))
			continue;
		ratio = ratios_of(r, (enum perf_kind)k);
		csv_value(ratio.latency);
		csv_value(ratio.bandwidth);
		csv_value(ratio.rate);
	}
	printf("\n");
}

void perf_report_csv(const struct perf_book *b)
{
	struct perf_row row;
	int f, i;

	csv_head(b);
	for (f = 0; f < b->fabrics; f++)
		for (i = 0; perf_row_next(b, &b->fabric[f], &i, &row);)
			csv_row(b, &row);
}
