/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares both copies of the functions that are compiled once per API version. */
#ifndef INFO_API_TABLE_H
#define INFO_API_TABLE_H

#include "entries.h"

void info_registry_load_1(struct info_registry *reg);
void info_registry_load_2(struct info_registry *reg);
const struct info_entry *info_registry_resolve_1(const char *name, bool threadsafe);
const struct info_entry *info_registry_resolve_2(const char *name, bool threadsafe);
void info_open_report_1(const struct info_key *key, enum info_open_part parts);
void info_open_report_2(const struct info_key *key, enum info_open_part parts);

#endif
