/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_perf: how fast is a DAT fabric, and what does DAT cost above libfabric? */
#include <stdlib.h>

#include "perf.h"
#include "proc.h"

int main(int argc, char **argv)
{
	struct perf_opts opts;
	struct perf_case *list;
	int n, ret;

	/* a library below libfabric replaces signal handlers at load time unless told not to */
	setenv("IPATH_NO_BACKTRACE", "1", 1);
	perf_options(&opts, argc, argv);
	n = perf_cases(&opts, &list);
	ret = opts.selfloop ? perf_selfloop(&opts, list, n) : perf_pair(&opts, list, n);
	free(list);
	perf_exit(ret);
}
