/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints one snapshot of the counters of a process (dat_info -c). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "info.h"
#include "top/top.h"

int info_counters(const struct info_options *opts)
{
	struct top_snapshot snap;
	char *end;
	long pid;

	errno = 0;
	pid = strtol(opts->name, &end, 10);
	if (errno || *end || pid < 1 || pid > 2147483647) {
		fprintf(stderr, "dat_info: -c: \"%s\" is not a process ID (dat_info --help)\n",
			opts->name);
		return 2;
	}
	if (!top_read(&snap, (pid_t)pid)) {
		fputs("dat_info: no memory\n", stderr);
		return 1;
	}
	if (!snap.count) {
		fprintf(stderr,
			"dat_info: process %ld has no counters: it is not a process of this user "
			"with an open adapter, or DAPL_OFI_COUNTER_FILE=0\n",
			pid);
		return 1;
	}
	if (opts->json)
		top_json(stdout, &snap, NULL);
	else
		top_show(stdout, &snap, NULL, TOP_PID, 0);
	top_free(&snap);
	return 0;
}
