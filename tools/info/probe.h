/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What did a child process find out?
 *
 * Everything that runs code of other people (libdat, providers, libfabric) runs in a child with a
 * time limit, so that nothing of it can kill or hang this program. What the child wrote to stderr
 * is kept; its stdout leads nowhere.
 */
#ifndef INFO_PROBE_H
#define INFO_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "entries.h"

struct info_fact {
	char kind;		/* see tell.h */
	char *group, *name, *value;
};

struct info_probe {
	struct info_fact *facts;
	size_t num_facts;
	char **said;		/* lines on stderr */
	size_t num_said;
	char *end;		/* how the child came to an early end; NULL: it ended well */
	int pid, fact_fd, error_fd;	/* while it runs */
};

/* Seconds that a child may take. */
extern unsigned int info_time_limit;

/* Several children may run at once; `arg` is not needed any more when begin returns. False: there
 * is no child, for want of descriptors or processes; `end` tells so. */
bool info_probe_begin(struct info_probe *probe, void (*child)(const void *arg), const void *arg);
void info_probe_finish(struct info_probe *probe);
void info_probe_run(struct info_probe *probe, void (*child)(const void *arg), const void *arg);
void info_probe_free(struct info_probe *probe);

/* The value of a fact; NULL when it was not told. */
const char *info_probe_fact(const struct info_probe *probe, const char *group, const char *name);

/* An attempt to open a name. */
struct info_attempt {
	struct info_probe probe;
	bool opened;
	bool our_libdat;		/* it speaks as ours does; another one is silent */
	char *fabric, *device;		/* of our own provider; NULL: not known */
	char *library;			/* that answered */
	char *why;			/* the one reason, when it did not open */
};

struct info_open {
	int api;
	struct info_key key;
	bool attributes;		/* tell them all */
	const char *conf;		/* text to use in place of the user's dat.conf, or NULL */
};

bool info_attempt_begin(struct info_attempt *attempt, const struct info_open *what);
void info_attempt_finish(struct info_attempt *attempt);
void info_attempt_run(struct info_attempt *attempt, const struct info_open *what);
void info_attempt_free(struct info_attempt *attempt);

#endif
