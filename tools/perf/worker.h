/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares measuring processes and their parent. */
#ifndef DAT_PERF_WORKER_H
#define DAT_PERF_WORKER_H

#include <sys/types.h>

#include "proc.h"
#include "session.h"

/* The parameters of a measuring process. */
struct perf_worker {
	enum perf_role role;
	const struct perf_plan *plan;
	const struct perf_case *list;
	int n;
	const char *ia;
	const char *addr;
	int chan;
	int close_fd;
	int result;
};

/* The result that the client sends to the parent after each measurement. */
struct perf_result {
	int index;
	int round;
	enum perf_kind kind;
	bool unsupported;
	struct perf_figures figures;
};

/* The main function of a measuring process. */
int perf_work(void *worker);

/* A parent's view of the processes that it has started. */
struct perf_parent {
	pid_t pid[PERF_ROLES];
	struct perf_watch *watch;
	uint64_t beat[PERF_ROLES];
	uint64_t beat_at[PERF_ROLES];
	uint64_t end_at;
	bool ended[PERF_ROLES];
	int stuck_ms;
	int limit_s;
};

int perf_parent_init(struct perf_parent *p, const struct perf_plan *plan, int limit_s);
void perf_parent_fini(struct perf_parent *p);
int perf_parent_start(struct perf_parent *p, struct perf_worker *w, int cpu);

/*
 * 0 while all processes are running or have succeeded; after an error the remaining ones are
 * killed.
 */
int perf_parent_check(struct perf_parent *p);
bool perf_parent_done(const struct perf_parent *p);
void perf_parent_end(struct perf_parent *p, bool failed);

#define PERF_CHECK_MS 100

#endif
