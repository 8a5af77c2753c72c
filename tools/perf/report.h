/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the reports of figures. */
#ifndef DAT_PERF_REPORT_H
#define DAT_PERF_REPORT_H

#include "perf.h"

/* All tests of one operation, mode and size; NULL for tests not selected. */
struct perf_row {
	const struct perf_fabric *fabric;
	const struct perf_case *c;
	const struct perf_outcome *test[PERF_TESTS];
};

/* The next row from `*i` on, whose value begins at 0; false when there is none. */
bool perf_row_next(const struct perf_book *b, const struct perf_fabric *f, int *i,
		   struct perf_row *row);

/* The main figures; a test with a window may substitute for another. */
double perf_row_latency(const struct perf_row *r, enum perf_kind k);
double perf_row_mbps(const struct perf_row *r, enum perf_kind k);
double perf_row_rate(const struct perf_row *r, enum perf_kind k);
double perf_ratio(double dat, double raw);
bool perf_row_unsupported(const struct perf_row *r, enum perf_kind k);

static inline bool perf_has(const struct perf_book *b, enum perf_kind k)
{
	return b->opts->plan.kinds & 1 << k;
}

/* Kinds that DAT is compared with; the queue is a lower bound. */
static inline bool perf_has_ratio(enum perf_kind k)
{
	return k == PERF_RAW || k == PERF_SOCKETS || k == PERF_SHM;
}

/* report.c: 0, or -EIO when the output cannot be written */
int perf_report(const struct perf_book *b);
void perf_report_table(const struct perf_book *b);
void perf_report_osu(const struct perf_book *b);
void perf_report_json(const struct perf_book *b);
void perf_report_csv(const struct perf_book *b);

/* plot.c: 0, or a negative errno after printing the reason */
int perf_plot_possible(void);
int perf_plot(const struct perf_book *b);

/* progress.c: one line on a terminal, nothing anywhere else */
void perf_progress(const char *fabric, const struct perf_case *c, int done, int all);
void perf_progress_end(void);

#endif
