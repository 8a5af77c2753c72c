/* SPDX-License-Identifier: BSD-2-Clause */
/* How do the figures of a run look as a table and as JSON? */
#include <math.h>

#include "config.h"
#include "perf.h"

static double ratio(double dat, double raw)
{
	return raw > 0 ? dat / raw : NAN;
}

/* Tables: a figure that was not measured is a dash. */
static void cell(int width, int digits, double v)
{
	if (isnan(v))
		printf(" %*s", width, "-");
	else
		printf(" %*.*f", width, digits, v);
}

static void table_head(const struct perf_opts *o, const struct perf_case *c)
{
	bool raw = o->kinds & 1u << PERF_RAW;

	if (c->test == PERF_LAT)
		printf("# latency [us], send and write: half round trip, read: whole\n"
		       "# %-8s %-5s %-4s %9s %8s %8s %8s %8s %8s%s\n", "fabric", "op", "mode",
		       "bytes", "iters", "min", "p50", "avg", "p99",
		       raw ? "  raw min  raw p50  raw avg  raw p99  p50 ratio" : "");
	else
		printf("# %s, window %d\n# %-8s %-5s %-4s %9s %8s %10s %10s%s\n",
		       c->test == PERF_BW ? "bandwidth" : "message rate", c->window,
		       "fabric", "op", "mode", "bytes", "iters", "MB/s", "msgs/s",
		       raw ? "   raw MB/s raw msgs/s  ratio" : "");
}

static void lat_cells(const struct perf_figures *f)
{
	cell(8, 2, f->lat_min);
	cell(8, 2, f->lat_p50);
	cell(8, 2, f->lat_avg);
	cell(8, 2, f->lat_p99);
}

static void table_row(const struct perf_opts *o, const struct perf_case *c,
		      const struct perf_outcome *out)
{
	const struct perf_figures *dat = &out->picked[PERF_DAT], *raw = &out->picked[PERF_RAW];
	bool with_raw = o->kinds & 1u << PERF_RAW;

	printf("  %-8s %-5s %-4s %9zu %8ld", o->fabric, perf_op_name[c->op],
	       perf_mode_name[c->mode], c->size, c->iters);
	if (c->test == PERF_LAT) {
		lat_cells(dat);
		if (with_raw) {
			lat_cells(raw);
			cell(10, 3, ratio(dat->lat_p50, raw->lat_p50));
		}
	} else {
		cell(10, 1, dat->mbps);
		cell(10, 0, dat->rate);
		if (with_raw) {
			cell(10, 1, raw->mbps);
			cell(10, 0, raw->rate);
			cell(6, 3, ratio(dat->rate, raw->rate));
		}
	}
	printf("\n");
}

static void table(const struct perf_opts *o, const struct perf_case *list, int n,
		  const struct perf_outcome *out)
{
	int i;

	printf("# dat_perf: %s, %s of %d rounds", o->ia, o->best ? "best" : "median", o->rounds);
	if (o->kinds & 1u << PERF_RAW)
		printf("; raw: libfabric provider %s; ratio: DAT / raw", o->raw_provider);
	printf("\n");
	for (i = 0; i < n; i++) {
		if (!i || list[i].test != list[i - 1].test)
			table_head(o, &list[i]);
		table_row(o, &list[i], &out[i]);
	}
}

/* JSON: a figure that was not measured is null. */
static void field(const char *prefix, const char *name, double v)
{
	printf(", \"%s%s\": ", prefix, name);
	if (isnan(v))
		printf("null");
	else
		printf("%.*f", fabs(v) < 1000 ? 4 : 1, v);
}

static void rounds(const char *prefix, const char *name, const struct perf_figures *f, int n,
		   size_t offset)
{
	int i;

	printf(", \"%s%s\": [", prefix, name);
	for (i = 0; i < n; i++)
		printf("%s%.3f", i ? ", " : "",
		       *(const double *)((const char *)&f[i] + offset));
	printf("]");
}

/* The figures of one kind: latency from one test, rate and bandwidth from another. */
struct row {
	const struct perf_outcome *lat;
	const struct perf_outcome *bw;
	const struct perf_outcome *rate;
};

static double lat_p50(const struct row *r, enum perf_kind k)
{
	return r->lat ? r->lat->picked[k].lat_p50 : NAN;
}

/* A test that was not asked for is stood in for by the other one with a window. */
static double row_mbps(const struct row *r, enum perf_kind k)
{
	return r->bw ? r->bw->picked[k].mbps : r->rate ? r->rate->picked[k].mbps : NAN;
}

static double row_rate(const struct row *r, enum perf_kind k)
{
	return r->rate ? r->rate->picked[k].rate : r->bw ? r->bw->picked[k].rate : NAN;
}

static void json_kind(const struct perf_opts *o, const struct row *r, enum perf_kind k)
{
	const char *prefix = k == PERF_RAW ? "raw_" : "";

	field(prefix, "latency_us", lat_p50(r, k));
	field(prefix, "bandwidth_mbps", row_mbps(r, k));
	field(prefix, "rate_mps", row_rate(r, k));
	if (r->lat) {
		field(prefix, "latency_min_us", r->lat->picked[k].lat_min);
		field(prefix, "latency_avg_us", r->lat->picked[k].lat_avg);
		field(prefix, "latency_p99_us", r->lat->picked[k].lat_p99);
	}
	if (!(o->kinds & 1u << k))
		return;
	if (r->lat)
		rounds(prefix, "latency_us_rounds", r->lat->round[k], o->rounds,
		       offsetof(struct perf_figures, lat_p50));
	if (r->bw)
		rounds(prefix, "bandwidth_mbps_rounds", r->bw->round[k], o->rounds,
		       offsetof(struct perf_figures, mbps));
	if (r->rate)
		rounds(prefix, "rate_mps_rounds", r->rate->round[k], o->rounds,
		       offsetof(struct perf_figures, rate));
}

static void json_row(const struct perf_opts *o, const struct perf_case *c, const struct row *r)
{
	printf("\"fabric\": \"%s\", \"op\": \"%s\", \"size\": %zu, \"mode\": \"%s\"", o->fabric,
	       perf_op_name[c->op], c->size, perf_mode_name[c->mode]);
	json_kind(o, r, PERF_DAT);
	if (!(o->kinds & 1u << PERF_RAW))
		return;
	json_kind(o, r, PERF_RAW);
	field("", "latency_ratio", ratio(lat_p50(r, PERF_DAT), lat_p50(r, PERF_RAW)));
	field("", "bandwidth_ratio", ratio(row_mbps(r, PERF_DAT), row_mbps(r, PERF_RAW)));
	field("", "rate_ratio", ratio(row_rate(r, PERF_DAT), row_rate(r, PERF_RAW)));
}

static const struct perf_outcome *find(const struct perf_case *list, int n,
				       const struct perf_outcome *out, const struct perf_case *c,
				       enum perf_test test)
{
	int i;

	for (i = 0; i < n; i++)
		if (list[i].test == test && list[i].op == c->op && list[i].mode == c->mode &&
		    list[i].size == c->size)
			return &out[i];
	return NULL;
}

/* True where no earlier case has the same operation, mode and size: a row for all tests. */
static bool first_of_row(const struct perf_case *list, int i)
{
	int k;

	for (k = 0; k < i; k++)
		if (list[k].op == list[i].op && list[k].mode == list[i].mode &&
		    list[k].size == list[i].size)
			return false;
	return true;
}

static void json(const struct perf_opts *o, const struct perf_case *list, int n,
		 const struct perf_outcome *out)
{
	const char *sep = "";
	int i;

	printf("{\"tool\": \"dat_perf\", \"version\": \"%s\", \"ia\": \"%s\", \"rounds\": %d, "
	       "\"pick\": \"%s\",\n", PACKAGE_VERSION, o->ia, o->rounds,
	       o->best ? "best" : "median");
	printf(" \"queues\": \"%s\", \"burst\": %s, \"raw_provider\": \"%s\", "
	       "\"raw_delivery\": %s, \"raw_more\": %s,\n \"results\": [",
	       o->merged ? "merged" : "split", o->burst ? "true" : "false", o->raw_provider,
	       o->raw_delivery ? "true" : "false", o->raw_more ? "true" : "false");
	for (i = 0; i < n; i++) {
		const struct perf_case *c = &list[i];
		struct row r = {
			.lat = find(list, n, out, c, PERF_LAT),
			.bw = find(list, n, out, c, PERF_BW),
			.rate = find(list, n, out, c, PERF_RATE),
		};

		if (!first_of_row(list, i))
			continue;
		printf("%s\n  {", sep);
		json_row(o, c, &r);
		printf("}");
		sep = ",";
	}
	printf("\n]}\n");
}

void perf_report(const struct perf_opts *o, const struct perf_case *list, int n,
		 const struct perf_outcome *out)
{
	if (o->format == PERF_JSON)
		json(o, list, n, out);
	else
		table(o, list, n, out);
	if (fflush(stdout))
		perror("dat_perf: standard output");
}
