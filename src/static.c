/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds the static registry of dat.conf, built-in entries and legacy names. */
#include "config.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "key.h"
#include "rank.h"
#include "static.h"

#ifndef DATI_CONF_PATH
#error "DATI_CONF_PATH must name the installed dat.conf"
#endif
#define FALLBACK_CONF_PATH "/etc/dat.conf"

static const struct {
	const char *name;
	const char *params;
} builtins[] = {
#define BUILTIN(name, params) { name, params },
#include "builtins.def"
#undef BUILTIN
};

static struct dati_source source;
static struct dati_static *entries, **last_entry = &entries;

const struct dati_source *dati_static_source(void)
{
	return &source;
}

/* Built-in entries are disabled if DAT_OVERRIDE names a file that cannot be read. */
static bool builtins_enabled(void)
{
	return !source.override || !source.err;
}

static bool all_digits(const char *s)
{
	return *s && s[strspn(s, "0123456789")] == '\0';
}

/* Names of former adapters that programs have hard-coded. */
static bool name_is_legacy(const char *name)
{
	static const char *const families[] = { "ofa-", "OpenIB-" };
	static const char *const numbered[] = { "ib", "nes" };
	size_t i, len;

	for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		len = strlen(families[i]);
		if (!strncmp(name, families[i], len) && name[len])
			return true;
	}
	for (i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
		len = strlen(numbered[i]);
		if (!strncmp(name, numbered[i], len) && all_digits(name + len))
			return true;
	}
	return !strcmp(name, "ccil");
}

/* "ofi-verbs-mlx5_0": the built-in entry "ofi-verbs" on that device, interface or address. */
#define ON_DEVICE "ofi-verbs-"

static bool name_is_verbs_device(const char *name)
{
	return !strncmp(name, ON_DEVICE, sizeof(ON_DEVICE) - 1) && name[sizeof(ON_DEVICE) - 1] &&
	       !strpbrk(name, " \t\"");
}

/* "mlx4_0-1u": port 1 of the device mlx4_0, with a connection manager that the letter selects. */
static void strip_port(char *device)
{
	char *dash = strrchr(device, '-');
	size_t digits = dash ? strspn(dash + 1, "0123456789") : 0;

	if (digits && (!dash[1 + digits] || !dash[2 + digits]))
		*dash = '\0';
}

void dati_legacy_params(const char *name, char *params, size_t size)
{
	static const char *const prefixes[] = { "ofa-v2-", "OpenIB-" };
	char domain[DAT_NAME_MAX_LENGTH] = "";
	size_t i, len;

	*params = '\0';
	if (name_is_verbs_device(name)) {
		snprintf(params, size, "provider=verbs domain=%s", name + sizeof(ON_DEVICE) - 1);
		return;
	}
	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		len = strlen(prefixes[i]);
		if (!strncmp(name, prefixes[i], len))
			snprintf(domain, sizeof(domain), "%s", name + len);
	}
	if (!*domain)
		return;
	if (!if_nametoindex(domain) && !dati_is_rdma_device(domain))
		strip_port(domain);
	if (if_nametoindex(domain) || dati_is_rdma_device(domain))
		snprintf(params, size, "domain=%s", domain);
}

/* Names that open although they are not listed. */
static bool name_is_unlisted(const char *name)
{
	return name_is_legacy(name) || name_is_verbs_device(name);
}

static bool key_is_own_version(const DAT_PROVIDER_INFO *key)
{
	return key->dapl_version_major == DAT_VERSION_MAJOR &&
	       key->dapl_version_minor == DAT_VERSION_MINOR;
}

struct dati_static *dati_static_find(const DAT_PROVIDER_INFO *key)
{
	struct dati_static *st;

	for (st = entries; st; st = st->next)
		if (dati_key_equal(&st->info, key))
			break;
	return st;
}

/* A record named "*" serves all names of its version and thread-safety that have no record. */
static struct dati_static *entry_find_catch_all(const DAT_PROVIDER_INFO *key)
{
	DAT_PROVIDER_INFO any = *key;

	dati_key_set(&any, DATI_CATCH_ALL, key->dapl_version_major, key->dapl_version_minor,
		     key->is_thread_safe);
	return dati_static_find(&any);
}

static void entry_free(struct dati_static *st)
{
	struct dati_candidate *candidate;

	while ((candidate = st->candidates)) {
		st->candidates = candidate->next;
		free(candidate->library);
		free(candidate->params);
		free(candidate);
	}
	free(st);
}

/* An allocation failed: the list is incomplete. */
static bool out_of_memory;

static struct dati_static *entry_new(const DAT_PROVIDER_INFO *info)
{
	struct dati_static *st = calloc(1, sizeof(*st));

	if (st)
		st->info = *info;
	else
		out_of_memory = true;
	return st;
}

static void entry_append(struct dati_static *st)
{
	*last_entry = st;
	last_entry = &st->next;
}

static bool entry_add_candidate(struct dati_static *st, const char *library, const char *params,
				unsigned int line, bool last_resort)
{
	struct dati_candidate **at = &st->candidates, *candidate = calloc(1, sizeof(*candidate));

	if (!candidate) {
		out_of_memory = true;
		return false;
	}
	candidate->library = strdup(library);
	candidate->params = params ? strdup(params) : NULL;
	candidate->line = line;
	candidate->last_resort = last_resort;
	if (!candidate->library || (params && !candidate->params)) {
		free(candidate->library);
		free(candidate->params);
		free(candidate);
		out_of_memory = true;
		return false;
	}
	while (*at)
		at = &(*at)->next;
	*at = candidate;
	return true;
}

/* A second record of a key adds a candidate, which is tried when the first cannot be loaded. */
static void entry_add_record(const struct dati_conf_entry *record)
{
	struct dati_static *st = dati_static_find(&record->info);
	bool is_new = !st;

	if (is_new)
		st = entry_new(&record->info);
	if (!st)
		return;
	if (!entry_add_candidate(st, record->library, record->ia_params, record->line, false)) {
		if (is_new)
			free(st);
		return;
	}
	st->listed = strcmp(record->info.ia_name, DATI_CATCH_ALL) != 0;
	if (is_new)
		entry_append(st);
}

/*
 * Adds our own provider as last resort of legacy names, whose hardware may be absent, unless the
 * file has a catch-all.
 */
static void entries_add_last_resorts(void)
{
	struct dati_static *st;

	for (st = entries; st; st = st->next)
		if (key_is_own_version(&st->info) && name_is_legacy(st->info.ia_name) &&
		    !entry_find_catch_all(&st->info))
			entry_add_candidate(st, DATI_OWN_PROVIDER, NULL, 0, true);
}

static void entry_add_builtin(const char *name, const char *params, DAT_BOOLEAN thread_safe)
{
	DAT_PROVIDER_INFO key = { .ia_name = "" };
	struct dati_static *st;

	dati_key_set(&key, name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, thread_safe);
	if (dati_static_find(&key) || entry_find_catch_all(&key))
		return;
	st = entry_new(&key);
	if (!st)
		return;
	if (!entry_add_candidate(st, DATI_OWN_PROVIDER, params, 0, false)) {
		free(st);
		return;
	}
	st->listed = !source.override;
	entry_append(st);
}

static void entries_add_builtins(void)
{
	size_t i;

	entries_add_last_resorts();
	for (i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
		entry_add_builtin(builtins[i].name, builtins[i].params, DAT_FALSE);
		entry_add_builtin(builtins[i].name, builtins[i].params, DAT_TRUE);
	}
}

/* Lists entries that can open first, for programs that read a few entries or try them in order. */
static void entries_sort(void)
{
	struct dati_static *from = entries, *st;

	dati_rank(from);
	entries = NULL;
	last_entry = &entries;
	for (unsigned int rank = 0; rank < DATI_RANKS; rank++) {
		struct dati_static **at = &from;

		while (*at) {
			st = *at;
			if (st->rank != rank) {
				at = &st->next;
				continue;
			}
			*at = st->next;
			st->next = NULL;
			entry_append(st);
		}
	}
}

/* secure_getenv: the caller of a setuid program must not choose libraries. */
static void source_read(void)
{
	const char *override = secure_getenv("DAT_OVERRIDE");

	source.override = override != NULL;
	source.path = strdup(override ? override : DATI_CONF_PATH);
	source.err = source.path ? dati_conf_read(&source.conf, source.path) : -ENOMEM;
	if (!source.err || override || !strcmp(DATI_CONF_PATH, FALLBACK_CONF_PATH))
		return;
	free(source.path);
	source.path = strdup(FALLBACK_CONF_PATH);
	source.err = source.path ? dati_conf_read(&source.conf, source.path) : -ENOMEM;
}

static void source_log(void)
{
	size_t i;

	if (source.err)
		dati_log(DATI_DBG_STATIC, "%s: %s", source.path, dati_conf_error(source.err));
	for (i = 0; i < source.conf.num_bad_kept; i++)
		if (source.conf.bad[i].reason)
			dati_log(DATI_DBG_STATIC, "%s", source.conf.bad[i].reason);
}

static void entries_build(void)
{
	size_t i;

	for (i = 0; i < source.conf.num_entries; i++)
		entry_add_record(&source.conf.entries[i]);
	if (builtins_enabled())
		entries_add_builtins();
	entries_sort();
}

bool dati_static_start(void)
{
	out_of_memory = false;
	source_read();
	if (source.err != -ENOMEM)
		entries_build();
	if (source.err == -ENOMEM || out_of_memory) {
		dati_static_stop();
		return false;
	}
	source_log();
	return true;
}

/* Returns false and frees nothing while a provider is loaded. */
bool dati_static_stop(void)
{
	struct dati_static *st;

	for (st = entries; st; st = st->next)
		if (st->state != DATI_IDLE || st->holders)
			return false;
	while ((st = entries)) {
		entries = st->next;
		entry_free(st);
	}
	last_entry = &entries;
	dati_conf_free(&source.conf);
	free(source.path);
	source.path = NULL;
	return true;
}

static struct dati_static *entry_skip_unlisted(struct dati_static *st)
{
	while (st && !st->listed)
		st = st->next;
	return st;
}

struct dati_static *dati_static_first(void)
{
	return entry_skip_unlisted(entries);
}

struct dati_static *dati_static_next(const struct dati_static *st)
{
	return entry_skip_unlisted(st->next);
}

struct dati_static *dati_static_all(void)
{
	return entries;
}

/* Adds the candidates of the catch-all, or our own provider for a legacy name. */
static bool entry_copy_candidates(struct dati_static *st, const struct dati_static *catch_all)
{
	const struct dati_candidate *candidate;

	if (!catch_all)
		return entry_add_candidate(st, DATI_OWN_PROVIDER, NULL, 0, false);
	for (candidate = catch_all->candidates; candidate; candidate = candidate->next)
		if (!entry_add_candidate(st, candidate->library, candidate->params, candidate->line,
					 false))
			return false;
	return true;
}

bool dati_static_serves(const DAT_PROVIDER_INFO *key)
{
	return dati_static_find(key) || entry_find_catch_all(key) ||
	       (builtins_enabled() && key_is_own_version(key) && name_is_unlisted(key->ia_name));
}

struct dati_static *dati_static_resolve(const DAT_PROVIDER_INFO *key)
{
	struct dati_static *st = dati_static_find(key);

	if (st || !dati_static_serves(key))
		return st;
	st = entry_new(key);
	if (!st)
		return NULL;
	if (!entry_copy_candidates(st, entry_find_catch_all(key))) {
		entry_free(st);
		return NULL;
	}
	st->transient = true;
	entry_append(st);
	return st;
}

void dati_static_drop(struct dati_static *st)
{
	struct dati_static **at = &entries;

	while (*at != st)
		at = &(*at)->next;
	*at = st->next;
	if (last_entry == &st->next)
		last_entry = at;
	entry_free(st);
}

void dati_candidate_origin(const struct dati_static *st, const struct dati_candidate *candidate,
			   char *text, size_t size)
{
	if (candidate->line)
		snprintf(text, size, "%s:%u", source.path, candidate->line);
	else if (candidate->last_resort)
		snprintf(text, size, "built-in entry \"ofi\" as last resort");
	else if (st->transient)
		snprintf(text, size, "built-in entry %s",
			 name_is_verbs_device(st->info.ia_name) ? "\"ofi-verbs\""
								: "\"ofi\" for a legacy name");
	else
		snprintf(text, size, "built-in entry \"%s\"", st->info.ia_name);
}
