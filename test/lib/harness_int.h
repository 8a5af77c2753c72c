/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface between the runner and the child of a case. */
#ifndef DT_HARNESS_INT_H
#define DT_HARNESS_INT_H

#include "harness.h"

enum dt_report_kind {
	DT_REPORT_FAIL,
	DT_REPORT_SKIP,
};

/* Smaller than PIPE_BUF, so that reports of several threads and peers do not mix. */
struct dt_report {
	int kind;
	int line;
	char file[200];
	char text[1500];
};

/* Where this process and its peers report; set in the child of a case. */
extern int dt_report_fd;

/* Runs a case in this process and ends it. */
__attribute__((noreturn)) void dt_child_run(const struct dt_case *c);

#endif
