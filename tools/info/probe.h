/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares child processes that run foreign code (libdat, providers, libfabric) under a time
 * limit, so that it cannot kill or hang this program. The stderr of the child is kept; its stdout
 * is discarded.
 */
#ifndef INFO_PROBE_H
#define INFO_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "entries.h"

struct info_fact {
	char kind; /* see facts.h */
	char *group, *name, *value;
};

struct info_probe {
	struct info_fact *facts;
	size_t num_facts;
	char **stderr_line; /* lines on stderr */
	size_t num_stderr_lines;
	char *end;                  /* how the child ended early; NULL: it ended normally */
	int pid, fact_fd, error_fd; /* while it is running */
};

/* The time limit of a child in seconds. */
extern unsigned int info_time_limit;

/*
 * Several children may run at once; `arg` may be freed when start returns. False: no child could
 * be started; `end` has the reason.
 */
bool info_probe_start(struct info_probe *probe, void (*child)(const void *arg), const void *arg);
void info_probe_finish(struct info_probe *probe);
void info_probe_run(struct info_probe *probe, void (*child)(const void *arg), const void *arg);
void info_probe_free(struct info_probe *probe);

/* The value of a fact; NULL if it was not reported. */
const char *info_probe_fact(const struct info_probe *probe, const char *group, const char *name);

/* An attempt to open a name. */
struct info_attempt {
	struct info_probe probe;
	bool opened;
	bool our_libdat;       /* libdat is the one of dat-ofi */
	char *fabric, *device; /* of our own provider; NULL: unknown */
	char *library;         /* that was loaded */
	char *reason;          /* the main reason, if it did not open */
};

struct info_open {
	int api;
	struct info_key key;
	enum info_open_part parts;
	const char *conf; /* text to use in place of the user's dat.conf, or NULL */
};

bool info_attempt_start(struct info_attempt *attempt, const struct info_open *what);
void info_attempt_finish(struct info_attempt *attempt);
void info_attempt_run(struct info_attempt *attempt, const struct info_open *what);
void info_attempt_free(struct info_attempt *attempt);

#endif
