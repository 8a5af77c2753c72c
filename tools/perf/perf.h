/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares plans, cases and figures, which the parts of dat_perf share. */
#ifndef DAT_PERF_H
#define DAT_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* clang-format off */
enum perf_op {
	PERF_SEND, PERF_WRITE, PERF_READ, PERF_IMMED, PERF_FADD, PERF_CSWAP, PERF_OPS,
	/* patterns of transports, which consist of several operations */
	PERF_EAGER = PERF_OPS, PERF_TWO_QUEUES, PERF_HALO, PERF_ALL_OPS,
};
/* clang-format on */
enum perf_test { PERF_LAT, PERF_BW, PERF_BIBW, PERF_RATE, PERF_TESTS };
enum perf_mode { PERF_POLL, PERF_WAIT, PERF_CNO, PERF_MEMORY, PERF_MODES };
/* PERF_SHM: hand-written shared memory */
enum perf_kind { PERF_DAT, PERF_RAW, PERF_SOCKETS, PERF_QUEUE, PERF_SHM, PERF_KINDS };
enum perf_format { PERF_TABLE, PERF_OSU, PERF_JSON, PERF_CSV, PERF_FORMATS };

#define PERF_MAX_SIZES 32
#define PERF_MAX_EPS 10000
#define PERF_MAX_FABRICS 16
#define PERF_MAX_WINDOW 4096
#define PERF_MAX_ITERS 100000000
#define PERF_MAX_MESSAGE ((size_t)1 << 30)
#define PERF_MAX_EAGER 65536
#define PERF_NAME 64

/* The plan that both processes agree on; the client sends it to the server. */
struct perf_plan {
	long ops;
	long tests;
	long modes;
	long kinds;
	long iters;
	long warmup;
	long window;
	long rounds;
	long timeout_ms;
	long eps;
	long srq;
	long validate;
	long merged;
	long burst;
	long raw_delivery;
	long raw_more;
	long eager_limit;
	long cached;
	long sizes;
	size_t size[PERF_MAX_SIZES];
	char fabric[PERF_NAME];
	char raw_provider[PERF_NAME];
};

/* The command line. */
struct perf_opts {
	struct perf_plan plan;
	const char *ia;
	const char *host;
	const char *bind;
	const char *port;
	const char *domain;
	const char *addr;
	const char *plot;
	char fabric[PERF_MAX_FABRICS][PERF_NAME];
	int fabrics;
	bool any_fabric;
	bool any_op;
	bool server;
	bool once;
	bool selfloop;
	bool best;
	bool raw_only;
	bool pin;
	bool cpus_given;
	int cpu[2];
	int limit_s;
	enum perf_format format;
};

/* One measurement; repeated in rounds, for each kind. */
struct perf_case {
	enum perf_test test;
	enum perf_op op;
	enum perf_mode mode;
	size_t size;
	long iters;
	long warmup;
	int window;
	int recv_depth;
	int eps;
	bool merged;
	bool queue_per_ep;   /* the two queues belong to one endpoint each, in turn */
	size_t longest_rdma; /* 0: as long as a buffer */
};

/* The figures of one measurement; NaN for those that the test does not measure. */
struct perf_figures {
	double lat_min;
	double lat_max;
	double lat_p50;
	double lat_avg;
	double lat_stdev;
	double lat_p90;
	double lat_p99;
	double lat_p999;
	double mbps;
	double peak_mbps;
	double rate;
};

/* All rounds of one case, as the reporting process keeps them. */
struct perf_outcome {
	struct perf_figures *round[PERF_KINDS];
	struct perf_figures picked[PERF_KINDS];
	bool unsupported[PERF_KINDS];
};

/* One fabric: `out` has an outcome for each case, or is NULL and `reason` is set. */
struct perf_fabric {
	char name[PERF_NAME];
	char raw_provider[PERF_NAME];
	char reason[512];
	struct perf_outcome *out;
};

/* All data of a report. */
struct perf_book {
	const struct perf_opts *opts;
	const struct perf_case *list;
	int n;
	struct perf_fabric fabric[PERF_MAX_FABRICS];
	int fabrics;
};

/* Each of these completes a receive of the peer. */
static inline bool perf_takes_receive(enum perf_op op)
{
	return op == PERF_SEND || op == PERF_IMMED;
}

/* Atomic operations always use eight bytes. */
static inline bool perf_atomic(enum perf_op op)
{
	return op == PERF_FADD || op == PERF_CSWAP;
}

/* Operations that fetch data from a passive peer. */
static inline bool perf_fetches(enum perf_op op)
{
	return op == PERF_READ || perf_atomic(op);
}

static inline bool perf_is_pattern(enum perf_op op)
{
	return op >= PERF_OPS;
}

/* Patterns are not compared with libfabric or the queue, operations not with the others. */
static inline bool perf_kind_applies(enum perf_kind kind, enum perf_op op)
{
	bool pattern_only = kind == PERF_SOCKETS || kind == PERF_SHM;

	return kind == PERF_DAT || pattern_only == perf_is_pattern(op);
}

#define PERF_PATTERNS (PERF_ALL_OPS - PERF_OPS)

extern const char *const perf_op_name[PERF_ALL_OPS];
extern const char *const perf_test_name[PERF_TESTS];
extern const char *const perf_mode_name[PERF_MODES];
extern const char *const perf_kind_name[PERF_KINDS];
extern const char *const perf_format_name[PERF_FORMATS];

/* options.c, help.c, cases.c */
extern const char perf_help[];
void perf_options(struct perf_opts *o, int argc, char **argv);
int perf_cases(const struct perf_plan *p, bool selfloop, struct perf_case **list);

/* stats.c */
uint64_t perf_now(void);
void perf_figures_none(struct perf_figures *f);
void perf_latency(struct perf_figures *f, double *us, long n);
void perf_pick(struct perf_figures *out, const struct perf_figures *round, int rounds, bool best);

/* pair.c, selfloop.c, serve.c: called by main; they return the exit status */
int perf_measure(const struct perf_opts *o);
int perf_selfloop(const struct perf_opts *o);
int perf_serve(const struct perf_opts *o);

#endif
