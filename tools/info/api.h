/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the calls of libdat that this program makes, for the sources compiled once per API
 * version.
 */
#ifndef INFO_API_H
#define INFO_API_H

#include "dati_api.h"
#include "entries.h"

/* Found with dlsym: only a child process ever loads a libdat, and then one of them. */
/* clang-format off */
#define INFO_CALLS(X) \
	X(dat_ia_openv) X(dat_ia_query) X(dat_ia_close) X(dat_strerror) X(dats_get_ia_handle) \
	X(dat_pz_create) X(dat_pz_free) X(dat_evd_create) X(dat_evd_free) \
	X(dat_ep_create) X(dat_ep_query) X(dat_ep_free)
/* clang-format on */

struct info_calls {
#define X(name) __typeof__(name) *name;
	INFO_CALLS(X)
#undef X
};

void info_registry_load(struct info_registry *reg);
const struct info_entry *info_registry_resolve(const char *name, bool threadsafe);
void info_open_report(const struct info_key *key, enum info_open_part parts);

/* Reports the attributes of an open IA as facts. */
void info_attr_report(const struct info_calls *calls, DAT_IA_HANDLE ia);

/* Makes every call of libdat over an open IA, closes it, and reports the results as facts. */
void info_calls_report(void *library, const char *name, DAT_IA_HANDLE ia);

#endif
