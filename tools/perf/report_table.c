/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the figures as tables, in our format and in that of the OSU benchmarks. */
#include <math.h>
#include <string.h>

#include "report.h"
#include "args.h"

/* A figure that was not measured is a dash. */
static void print_cell(int width, int digits, double v)
{
	if (isnan(v))
		printf(" %*s", width, "-");
	else
		printf(" %*.*f", width, digits, v);
}

static void lat_head(const char *kind)
{
	printf("%s %8s %8s %10s %8s %8s %8s %8s %8s", kind, "t_min", "t_max", "t_typical", "t_avg",
	       "t_stdev", "90%", "99%", "99.9%");
}

static int name_width(const struct perf_book *b)
{
	int f, width = (int)strlen("fabric");

	for (f = 0; f < b->fabrics; f++)
		if ((int)strlen(b->fabric[f].name) > width)
			width = (int)strlen(b->fabric[f].name);
	return width;
}

static int op_width(const struct perf_book *b)
{
	int i, width = 5;

	for (i = 0; i < b->n; i++)
		if ((int)strlen(perf_op_name[b->list[i].op]) > width)
			width = (int)strlen(perf_op_name[b->list[i].op]);
	return width;
}

/* The columns of a kind other than DAT. */
static void kind_head(enum perf_kind k, enum perf_test test)
{
	char name[32];

	snprintf(name, sizeof(name), " | %s:", perf_kind_name[k]);
	if (test == PERF_LAT) {
		lat_head(name);
		printf(" %9s", perf_has_ratio(k) ? "p50 ratio" : "DAT above");
	} else {
		printf("%s %10s %10s %9s", name, "BW peak", "BW average", "MsgRate");
		if (perf_has_ratio(k))
			printf(" %6s", "ratio");
	}
}

static void table_head(const struct perf_book *b, const struct perf_case *c)
{
	static const char *const title[PERF_TESTS] = {
		"latency [us], half round trip; read, fadd, cswap: whole; halo: one exchange",
		"bandwidth",
		"bidirectional bandwidth",
		"message rate",
	};

	int k;

	printf("# %s", title[c->test]);
	if (c->test != PERF_LAT)
		printf(" [10^6 bytes/s, 10^6 messages/s], window %d", c->window);
	printf("\n# %-*s %-*s %-6s %9s %11s", name_width(b), "fabric", op_width(b), "op", "mode",
	       "#bytes", "#iterations");
	if (c->test == PERF_LAT)
		lat_head("");
	else
		printf(" %10s %10s %9s", "BW peak", "BW average", "MsgRate");
	for (k = PERF_DAT + 1; k < PERF_KINDS; k++)
		if (perf_has(b, (enum perf_kind)k))
			kind_head((enum perf_kind)k, c->test);
	printf("\n");
}

static void lat_cells(const struct perf_figures *f)
{
	print_cell(8, 2, f->lat_min);
	print_cell(8, 2, f->lat_max);
	print_cell(10, 2, f->lat_p50);
	print_cell(8, 2, f->lat_avg);
	print_cell(8, 2, f->lat_stdev);
	print_cell(8, 2, f->lat_p90);
	print_cell(8, 2, f->lat_p99);
	print_cell(8, 2, f->lat_p999);
}

static void bw_cells(const struct perf_figures *f)
{
	print_cell(10, 2, f->peak_mbps);
	print_cell(10, 2, f->mbps);
	print_cell(9, 6, f->rate / 1e6);
}

static void kind_cells(const struct perf_outcome *out, enum perf_kind k, enum perf_test test)
{
	const struct perf_figures *dat = &out->picked[PERF_DAT], *other = &out->picked[k];

	printf(" | %*s", (int)strlen(perf_kind_name[k]) + 1, "");
	if (test == PERF_LAT) {
		lat_cells(other);
		print_cell(9, 3,
			   perf_has_ratio(k) ? perf_ratio(dat->lat_p50, other->lat_p50)
					     : dat->lat_p50 - other->lat_p50);
	} else {
		bw_cells(other);
		if (perf_has_ratio(k))
			print_cell(6, 3, perf_ratio(dat->rate, other->rate));
	}
}

static void table_row(const struct perf_book *b, const struct perf_fabric *f, int i)
{
	const struct perf_case *c = &b->list[i];
	int k;

	printf("  %-*s %-*s %-6s %9zu %11ld", name_width(b), f->name, op_width(b),
	       perf_op_name[c->op], perf_mode_name[c->mode], c->size, c->iters);
	(c->test == PERF_LAT ? lat_cells : bw_cells)(&f->out[i].picked[PERF_DAT]);
	for (k = PERF_DAT + 1; k < PERF_KINDS; k++)
		if (perf_has(b, (enum perf_kind)k))
			kind_cells(&f->out[i], (enum perf_kind)k, c->test);
	for (k = 0; k < PERF_KINDS; k++)
		if (k != PERF_QUEUE && f->out[i].unsupported[k])
			printf("  %s: not supported", k == PERF_DAT ? "DAT" : perf_kind_name[k]);
	printf("\n");
}

/* Prints why fabrics were not measured. */
static void table_missing(const struct perf_book *b)
{
	int f;

	for (f = 0; f < b->fabrics; f++)
		if (!b->fabric[f].out)
			printf("# %s: not measured: %s\n", b->fabric[f].name, b->fabric[f].reason);
}

static void table_title(const struct perf_book *b)
{
	const struct perf_opts *o = b->opts;
	const struct perf_plan *p = &o->plan;

	printf("# dat_perf: %s%s%s, %s of %ld rounds, %ld EP%s%s%s", o->fabrics ? "fabrics" : o->ia,
	       o->host ? " with " : "", o->host ? o->host : "", o->best ? "best" : "median",
	       p->rounds, p->eps, p->eps > 1 ? "s" : "", p->srq ? ", SRQ" : "",
	       p->validate ? ", validated" : "");
	if (perf_has(b, PERF_RAW))
		printf("; raw: libfabric provider %s; ratio: DAT / raw",
		       p->raw_provider[0]      ? p->raw_provider
		       : o->fabrics            ? "of the fabric"
		       : perf_has(b, PERF_DAT) ? "of the adapter"
					       : b->fabric[0].raw_provider);
	printf("\n");
	table_missing(b);
}

void perf_report_table(const struct perf_book *b)
{
	int i, f, first, end;

	table_title(b);
	for (first = 0; first < b->n; first = end) {
		table_head(b, &b->list[first]);
		for (end = first; end < b->n && b->list[end].test == b->list[first].test;)
			end++;
		for (f = 0; f < b->fabrics; f++)
			for (i = first; b->fabric[f].out && i < end; i++)
				table_row(b, &b->fabric[f], i);
	}
}

static double osu_figure(const struct perf_case *c, const struct perf_figures *f)
{
	return c->test == PERF_LAT ? f->lat_avg : f->mbps;
}

static void osu_head(const struct perf_book *b, const struct perf_fabric *f,
		     const struct perf_case *c)
{
	static const char *const title[PERF_TESTS] = {
		"Latency",
		"Bandwidth",
		"Bi-Directional Bandwidth",
		"Bandwidth / Message Rate",
	};
	static const char *const kind_title[PERF_KINDS] = {
		"DAT", "Raw", "Sockets", "Queue", "Memory",
	};

	int k;

	printf("# DAT %s Test, fabric %s, %s, %s\n", title[c->test], f->name, perf_op_name[c->op],
	       perf_mode_name[c->mode]);
	printf("%-10s%18s", "# Size",
	       c->test == PERF_LAT    ? "Latency (us)"
	       : c->test == PERF_RATE ? "MB/s"
				      : "Bandwidth (MB/s)");
	if (c->test == PERF_RATE)
		printf("%18s", "Messages/s");
	for (k = PERF_DAT + 1; k < PERF_KINDS; k++)
		if (perf_has(b, (enum perf_kind)k) && perf_has_ratio((enum perf_kind)k))
			printf("%18s%10s", kind_title[k], "Ratio");
	printf("\n");
}

static void osu_row(const struct perf_book *b, const struct perf_fabric *f, int i)
{
	const struct perf_figures *dat = &f->out[i].picked[PERF_DAT];
	const struct perf_case *c = &b->list[i];
	double other;
	int k;

	printf("%-9zu", c->size);
	print_cell(17, 2, osu_figure(c, dat));
	if (c->test == PERF_RATE)
		print_cell(17, 2, dat->rate);
	for (k = PERF_DAT + 1; k < PERF_KINDS; k++) {
		if (!perf_has(b, (enum perf_kind)k) || !perf_has_ratio((enum perf_kind)k))
			continue;
		other = osu_figure(c, &f->out[i].picked[k]);
		print_cell(17, 2, other);
		print_cell(9, 3, perf_ratio(osu_figure(c, dat), other));
	}
	printf("\n");
}

void perf_report_osu(const struct perf_book *b)
{
	const struct perf_case *c, *last;
	int f, i;

	table_missing(b);
	for (f = 0; f < b->fabrics; f++) {
		last = NULL;
		for (i = 0; b->fabric[f].out && i < b->n; i++) {
			c = &b->list[i];
			if (!last || c->test != last->test || c->op != last->op ||
			    c->mode != last->mode)
				osu_head(b, &b->fabric[f], c);
			osu_row(b, &b->fabric[f], i);
			last = c;
		}
	}
}
