/* SPDX-License-Identifier: BSD-2-Clause */
/* The main function of dat_perf, which measures DAT fabrics and the overhead over libfabric. */
#include <stdlib.h>

#include "perf.h"

int main(int argc, char **argv)
{
	static struct perf_opts opts;

	/* a library that libfabric loads replaces signal handlers unless this is set */
	setenv("IPATH_NO_BACKTRACE", "1", 1);
	perf_options(&opts, argc, argv);
	if (opts.server)
		return perf_serve(&opts);
	return opts.selfloop ? perf_selfloop(&opts) : perf_measure(&opts);
}
