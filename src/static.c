/* SPDX-License-Identifier: BSD-2-Clause */
/* The static registry: dat.conf, built-in entries and legacy names. */
#include "config.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diag.h"
#include "rank.h"
#include "registry.h"
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

/* Our own entries work unless the program's registry file is missing. */
static bool builtins_resolve(void)
{
	return !source.override || !source.err;
}

static bool all_digits(const char *s)
{
	return *s && s[strspn(s, "0123456789")] == '\0';
}

/* Names that programs carry hard-coded since the days of the adapters that they stand for. */
static bool is_legacy(const char *name)
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

static bool names_device(const char *name)
{
	return !strncmp(name, ON_DEVICE, sizeof(ON_DEVICE) - 1) && name[sizeof(ON_DEVICE) - 1] &&
	       !strpbrk(name, " \t\"");
}

/* "mlx4_0-1u": port 1 of the device mlx4_0, by a connection manager that the letter stands for. */
static void cut_port(char *device)
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
	if (names_device(name)) {
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
		cut_port(domain);
	if (if_nametoindex(domain) || dati_is_rdma_device(domain))
		snprintf(params, size, "domain=%s", domain);
}

/* Names that open although nothing lists them. */
static bool is_unlisted(const char *name)
{
	return is_legacy(name) || names_device(name);
}

static bool own_version(const DAT_PROVIDER_INFO *key)
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

/* A record of this name stands for all names of its version and thread-safety without one. */
static struct dati_static *find_catch_all(const DAT_PROVIDER_INFO *key)
{
	DAT_PROVIDER_INFO any = *key;

	dati_key_set(&any, DATI_CATCH_ALL, key->dapl_version_major, key->dapl_version_minor,
		     key->is_thread_safe);
	return dati_static_find(&any);
}

static void free_entry(struct dati_static *st)
{
	struct dati_way *way;

	while ((way = st->ways)) {
		st->ways = way->next;
		free(way->library);
		free(way->params);
		free(way);
	}
	free(st);
}

/* Something is missing for want of memory. */
static bool starved;

static struct dati_static *new_entry(const DAT_PROVIDER_INFO *info)
{
	struct dati_static *st = calloc(1, sizeof(*st));

	if (st)
		st->info = *info;
	else
		starved = true;
	return st;
}

static void append_entry(struct dati_static *st)
{
	*last_entry = st;
	last_entry = &st->next;
}

static bool append_way(struct dati_static *st, const char *library, const char *params,
		       unsigned int line, bool last_resort)
{
	struct dati_way **at = &st->ways, *way = calloc(1, sizeof(*way));

	if (!way) {
		starved = true;
		return false;
	}
	way->library = strdup(library);
	way->params = params ? strdup(params) : NULL;
	way->line = line;
	way->last_resort = last_resort;
	if (!way->library || (params && !way->params)) {
		free(way->library);
		free(way->params);
		free(way);
		starved = true;
		return false;
	}
	while (*at)
		at = &(*at)->next;
	*at = way;
	return true;
}

/* A second record of a key is one more way to it, tried when the first cannot be loaded. */
static void add_record(const struct dati_conf_entry *record)
{
	struct dati_static *st = dati_static_find(&record->info);
	bool is_new = !st;

	if (is_new)
		st = new_entry(&record->info);
	if (!st)
		return;
	if (!append_way(st, record->library, record->ia_params, record->line, false)) {
		if (is_new)
			free(st);
		return;
	}
	st->listed = strcmp(record->info.ia_name, DATI_CATCH_ALL) != 0;
	if (is_new)
		append_entry(st);
}

/*
 * Behind dead hardware of a legacy name stands our own provider, unless the file says itself
 * what is behind names.
 */
static void add_last_resorts(void)
{
	struct dati_static *st;

	for (st = entries; st; st = st->next)
		if (own_version(&st->info) && is_legacy(st->info.ia_name) &&
		    !find_catch_all(&st->info))
			append_way(st, DATI_OWN_PROVIDER, NULL, 0, true);
}

static void add_builtin(const char *name, const char *params, DAT_BOOLEAN thread_safe)
{
	DAT_PROVIDER_INFO key = { .ia_name = "" };
	struct dati_static *st;

	dati_key_set(&key, name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, thread_safe);
	if (dati_static_find(&key) || find_catch_all(&key))
		return;
	st = new_entry(&key);
	if (!st)
		return;
	if (!append_way(st, DATI_OWN_PROVIDER, params, 0, false)) {
		free(st);
		return;
	}
	st->listed = !source.override;
	append_entry(st);
}

static void add_builtins(void)
{
	size_t i;

	add_last_resorts();
	for (i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
		add_builtin(builtins[i].name, builtins[i].params, DAT_FALSE);
		add_builtin(builtins[i].name, builtins[i].params, DAT_TRUE);
	}
}

/* Programs that ask for a few entries, or try one after the other, see those first that open. */
static void sort_entries(void)
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
			append_entry(st);
		}
	}
}

/* A setuid program does not let its caller choose libraries. */
static void find_source(void)
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

static void log_source(void)
{
	size_t i;

	if (source.err)
		dati_log(DATI_DBG_STATIC, "%s: %s", source.path, dati_conf_error(source.err));
	for (i = 0; i < source.conf.num_bad_kept; i++)
		if (source.conf.bad[i].reason)
			dati_log(DATI_DBG_STATIC, "%s", source.conf.bad[i].reason);
}

static void add_entries(void)
{
	size_t i;

	for (i = 0; i < source.conf.num_entries; i++)
		add_record(&source.conf.entries[i]);
	if (builtins_resolve())
		add_builtins();
	sort_entries();
}

bool dati_static_start(void)
{
	starved = false;
	find_source();
	if (source.err != -ENOMEM)
		add_entries();
	if (source.err == -ENOMEM || starved) {
		dati_static_stop();
		return false;
	}
	log_source();
	return true;
}

/* False when a provider is still loaded: then nothing is freed. */
bool dati_static_stop(void)
{
	struct dati_static *st;

	for (st = entries; st; st = st->next)
		if (st->state != DATI_IDLE || st->visitors)
			return false;
	while ((st = entries)) {
		entries = st->next;
		free_entry(st);
	}
	last_entry = &entries;
	dati_conf_free(&source.conf);
	free(source.path);
	source.path = NULL;
	return true;
}

static struct dati_static *skip_unlisted(struct dati_static *st)
{
	while (st && !st->listed)
		st = st->next;
	return st;
}

struct dati_static *dati_static_first(void)
{
	return skip_unlisted(entries);
}

struct dati_static *dati_static_next(const struct dati_static *st)
{
	return skip_unlisted(st->next);
}

struct dati_static *dati_static_all(void)
{
	return entries;
}

/* The ways of the catch-all; our own provider for a legacy name. */
static bool append_ways(struct dati_static *st, const struct dati_static *catch_all)
{
	const struct dati_way *way;

	if (!catch_all)
		return append_way(st, DATI_OWN_PROVIDER, NULL, 0, false);
	for (way = catch_all->ways; way; way = way->next)
		if (!append_way(st, way->library, way->params, way->line, false))
			return false;
	return true;
}

struct dati_static *dati_static_resolve(const DAT_PROVIDER_INFO *key)
{
	struct dati_static *st = dati_static_find(key), *catch_all;

	if (st)
		return st;
	catch_all = find_catch_all(key);
	if (!catch_all && (!builtins_resolve() || !own_version(key) || !is_unlisted(key->ia_name)))
		return NULL;
	st = new_entry(key);
	if (!st)
		return NULL;
	if (!append_ways(st, catch_all)) {
		free_entry(st);
		return NULL;
	}
	st->transient = true;
	append_entry(st);
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
	free_entry(st);
}

void dati_way_origin(const struct dati_static *st, const struct dati_way *way, char *text,
		     size_t size)
{
	if (way->line)
		snprintf(text, size, "%s:%u", source.path, way->line);
	else if (way->last_resort)
		snprintf(text, size, "built-in entry \"ofi\" as last resort");
	else if (st->transient)
		snprintf(text, size, "built-in entry %s", names_device(st->info.ia_name)
			 ? "\"ofi-verbs\"" : "\"ofi\" for a legacy name");
	else
		snprintf(text, size, "built-in entry \"%s\"", st->info.ia_name);
}
