/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the table of dat_info --calls: its rows, and the restrictions that the pages state. */
#ifndef INFO_CALLS_H
#define INFO_CALLS_H

#include "probe.h"

/* The group of the facts, and the answer of a call that works. */
#define INFO_CALLS_GROUP "calls"
#define INFO_CALLS_YES "yes"

/* A use of a call that has a row of its own, or the call itself, and what its page restricts. */
struct info_restriction {
	const char *call, *use; /* use NULL: the call itself */
	bool only_20;           /* 1.2 has no such use */
	const char *result;     /* what the call returns where it applies; NULL: no restriction */
	/* The attribute that reports it, and its value then; NULL: none does. */
	const char *group, *attribute, *value;
	const char *why;
	const char *where; /* pages */
};

/* NULL: no page states one. */
const struct info_restriction *info_restriction_find(const char *call, const char *use);
/* Whether the attributes of the adapter report the restriction; `unknown` if none is about it. */
bool info_restriction_applies(const struct info_restriction *restriction,
			      const struct info_probe *probe, bool unknown);

/* A call, or a use of it, of which a fabric may have the one without the other. */
struct info_call {
	char *name;
	char *use;           /* NULL: the call itself */
	bool has[INFO_APIS]; /* the API version has it */
};

/* All calls of both versions, each followed by its uses. */
struct info_call *info_call_rows(size_t *num);
void info_call_rows_free(struct info_call *rows, size_t num);

#endif
