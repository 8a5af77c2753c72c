/* SPDX-License-Identifier: BSD-2-Clause */
/* What is measured, and in which words do the parts of dat_perf speak of it? */
#ifndef DAT_PERF_H
#define DAT_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum perf_op { PERF_SEND, PERF_WRITE, PERF_READ, PERF_OPS };
enum perf_test { PERF_LAT, PERF_BW, PERF_RATE, PERF_TESTS };
enum perf_mode { PERF_POLL, PERF_WAIT, PERF_MODES };
enum perf_kind { PERF_DAT, PERF_RAW, PERF_KINDS };
enum perf_format { PERF_TABLE, PERF_JSON };

#define PERF_MAX_SIZES 32

/* The command line. */
struct perf_opts {
	const char *ia;
	char fabric[32];
	const char *raw_provider;
	const char *addr;
	unsigned int ops;
	unsigned int tests;
	unsigned int modes;
	unsigned int kinds;
	size_t size[PERF_MAX_SIZES];
	int sizes;
	long iters;
	long warmup;
	int window;
	int rounds;
	int timeout_ms;
	int cpu[2];
	bool pin;
	bool merged;
	bool burst;
	bool raw_delivery;
	bool raw_more;
	bool selfloop;
	bool best;
	enum perf_format format;
};

/* One measurement; it is repeated in rounds, by each kind that is asked for. */
struct perf_case {
	enum perf_test test;
	enum perf_op op;
	enum perf_mode mode;
	size_t size;
	long iters;
	long warmup;
	int window;
	int recv_depth;
};

/* The outcome of one measurement; what a test does not measure is NaN. */
struct perf_figures {
	double lat_min;
	double lat_p50;
	double lat_p99;
	double lat_avg;
	double mbps;
	double rate;
};

/* All rounds of one case, as the reporting process keeps them. */
struct perf_outcome {
	struct perf_figures *round[PERF_KINDS];
	struct perf_figures picked[PERF_KINDS];
};

extern const char *const perf_op_name[PERF_OPS];
extern const char *const perf_test_name[PERF_TESTS];
extern const char *const perf_mode_name[PERF_MODES];
extern const char *const perf_kind_name[PERF_KINDS];

/* options.c */
void perf_options(struct perf_opts *o, int argc, char **argv);
int perf_cases(const struct perf_opts *o, struct perf_case **list);

/* stats.c */
uint64_t perf_now(void);
void perf_figures_none(struct perf_figures *f);
void perf_latency(struct perf_figures *f, double *us, long n);
void perf_pick(struct perf_figures *out, const struct perf_figures *round, int rounds, bool best);

/* output.c */
void perf_report(const struct perf_opts *o, const struct perf_case *list, int n,
		 const struct perf_outcome *out);

/* pair.c, selfloop.c */
int perf_pair(const struct perf_opts *o, const struct perf_case *list, int n);
int perf_selfloop(const struct perf_opts *o, const struct perf_case *list, int n);

#endif
