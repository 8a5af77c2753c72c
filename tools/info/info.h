/* SPDX-License-Identifier: BSD-2-Clause */
/* What dat_info is asked to do. Each job returns 0 or, when something does not work, 1. */
#ifndef INFO_H
#define INFO_H

#include <stdbool.h>

#include "entries.h"

struct info_options {
	int job;		/* option letter */
	const char *name;	/* of an IA */
	const char *output;	/* file; NULL: stdout */
	const char *shm_dir;
	bool api[INFO_APIS];	/* versions to look at */
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

/* "registry": where dat.conf was looked for, and what is wrong in it. */
void info_registry_json(const struct info_registry *reg);
/* FILE:LINE: away from what is wrong with a line. */
const char *info_bad_words(const struct info_bad *bad);

#endif
