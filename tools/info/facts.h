/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares how a child process passes facts to its parent: one per line on a pipe, as kind, group,
 * name and value, separated by tabs. The parent reads what was written before the child ended,
 * whichever way it ended.
 */
#ifndef INFO_FACTS_H
#define INFO_FACTS_H

#include <stdbool.h>
#include <stdint.h>

/* Called once in the child, before the first fact. */
void info_facts_open(int fd);

void info_put_text(const char *group, const char *name, const char *value);
void info_put_number(const char *group, const char *name, uint64_t value);
/* Signed numbers: -1 means "no limit" or "none". */
void info_put_count(const char *group, const char *name, int64_t value);
void info_put_flag(const char *group, const char *name, bool value);

#define INFO_FACT_TEXT 's'
#define INFO_FACT_NUMBER 'n'
#define INFO_FACT_FLAG 'b'

#endif
