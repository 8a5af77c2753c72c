/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows progress on a terminal. */
#include <unistd.h>

#include "report.h"

/* Interval between updates. */
#define STEP_NS 200000000u

static bool shown;

void perf_progress(const char *fabric, const struct perf_case *c, int done, int all)
{
	static uint64_t last;
	uint64_t now = perf_now();

	if (!isatty(STDERR_FILENO) || (last && now - last < STEP_NS))
		return;
	last = now;
	shown = true;
	fprintf(stderr, "\r\033[Kdat_perf: %s: %d of %d: %s %s, %s, %zu bytes", fabric, done, all,
		perf_op_name[c->op], perf_test_name[c->test], perf_mode_name[c->mode], c->size);
	fflush(stderr);
}

void perf_progress_end(void)
{
	if (shown)
		fprintf(stderr, "\r\033[K");
	shown = false;
}
