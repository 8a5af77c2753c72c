/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_perf: the speed of a DAT fabric, and what DAT costs above libfabric. */
#include <stdlib.h>

#include "perf.h"

int main(int argc, char **argv)
{
	static struct perf_opts opts;

	/* a library below libfabric replaces signal handlers at load time unless told not to */
	setenv("IPATH_NO_BACKTRACE", "1", 1);
	perf_options(&opts, argc, argv);
	if (opts.server)
		return perf_serve(&opts);
	return opts.selfloop ? perf_selfloop(&opts) : perf_measure(&opts);
}
