/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the options and jobs of dat_info. Each job returns 0, or 1 if something does not work.
 */
#ifndef INFO_H
#define INFO_H

#include <stdbool.h>

#include "entries.h"

struct info_options {
	int job;            /* option letter */
	const char *name;   /* of an IA; --report: of its file */
	char *const *names; /* --calls: of IAs, until NULL */
	const char *fabric; /* --report: the only one; NULL: all */
	unsigned int limit; /* --report, --calls: seconds for each program, each adapter */
	const char *output; /* file; NULL: stdout */
	const char *shm_dir;
	bool api[INFO_APIS]; /* versions to include */
	bool threadsafe;
	bool force;
	bool json;
};

int info_list(const struct info_options *opts);
int info_show(const struct info_options *opts);
int info_settings(const struct info_options *opts);
int info_diagnose(const struct info_options *opts);
int info_generate(const struct info_options *opts);
int info_clean(const struct info_options *opts);
int info_counters(const struct info_options *opts);
int info_calls(const struct info_options *opts);
int info_report(const struct info_options *opts);

struct info_probe;
/* Prints all attributes that an attempt to open an adapter has reported. */
void info_show_groups(const struct info_probe *probe);

/* Writes the member "registry": the paths tried for dat.conf, and its bad lines. */
void info_registry_json(const struct info_registry *reg);
/* The reason of a bad line, without the leading FILE:LINE. */
const char *info_bad_reason(const struct info_bad *bad);

#endif
