/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies libdat's registry into structures that are common to both API versions. Compiled once per
 * API version, together with conf.c and static.c of libdat: there is no second parser. One source
 * file cannot include the headers of both API versions, therefore the data is copied.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "dati_api.h"
#include "diag.h"
#include "memory.h"
#include "registry.h"
#include "static.h"
#include "entries.h"

#define API_INDEX (DAT_API_MAJOR - 1)

/* Discards the log of libdat's sources: this program prints the same facts itself. */
void dati_log(unsigned int type, const char *format, ...)
{
	(void)type;
	(void)format;
}

static void add_place(struct info_registry *reg, const char *path, const char *reason, int err)
{
	struct info_place *place = &reg->place[reg->num_places++];

	place->path = info_strdup(path);
	place->reason = reason;
	place->err = err;
}

static void fill_places(struct info_registry *reg, const struct dati_source *source)
{
	const char *path = source->path ? source->path : "dat.conf";
	struct dati_conf conf;
	int err;

	if (source->override) {
		add_place(reg, path, "DAT_OVERRIDE", source->err);
		return;
	}
	if (strcmp(path, DATI_CONF_PATH)) {
		err = dati_conf_read(&conf, DATI_CONF_PATH);
		if (!err)
			dati_conf_free(&conf);
		add_place(reg, DATI_CONF_PATH, "configured", err);
	}
	add_place(reg, path, reg->num_places ? "fallback" : "configured", source->err);
}

static void fill_bad(struct info_registry *reg, const struct dati_conf *conf)
{
	size_t i;

	reg->bad = info_calloc(conf->num_bad_kept + 1, sizeof(*reg->bad));
	for (i = 0; i < conf->num_bad_kept; i++) {
		reg->bad[i].line = conf->bad[i].line;
		reg->bad[i].name = info_strdup(conf->bad[i].name ? conf->bad[i].name : "");
		reg->bad[i].reason = info_strdup(conf->bad[i].reason ? conf->bad[i].reason : "");
	}
	reg->num_bad = conf->num_bad_kept;
}

static void fill_candidate(struct info_candidate *to, const struct dati_static *st,
			   const struct dati_candidate *from)
{
	char origin[512], params[DAT_NAME_MAX_LENGTH + 16];

	dati_candidate_origin(st, from, origin, sizeof(origin));
	to->origin = info_strdup(origin);
	to->line = from->line;
	to->library = info_strdup(from->library);
	to->last_resort = from->last_resort;
	if (from->params) {
		to->params = info_strdup(from->params);
		return;
	}
	dati_legacy_params(st->info.ia_name, params, sizeof(params));
	to->params = info_strdup(params);
}

static void fill_entry(struct info_entry *to, const struct dati_static *st)
{
	const struct dati_candidate *candidate;
	size_t n = 0;

	to->api = API_INDEX;
	to->name = info_strdup(st->info.ia_name);
	to->major = st->info.dapl_version_major;
	to->minor = st->info.dapl_version_minor;
	to->threadsafe = st->info.is_thread_safe;
	to->listed = st->listed;
	for (candidate = st->candidates; candidate; candidate = candidate->next)
		n++;
	to->candidates = info_calloc(n + 1, sizeof(*to->candidates));
	for (candidate = st->candidates; candidate; candidate = candidate->next)
		fill_candidate(&to->candidates[to->num_candidates++], st, candidate);
	if (st->transient)
		to->kind = INFO_ALIAS;
	else
		to->kind = st->candidates && st->candidates->line ? INFO_FILE : INFO_BUILTIN;
}

void info_registry_load(struct info_registry *reg)
{
	const struct dati_source *source;
	const struct dati_static *st;
	size_t n = 0;

	dati_static_start();
	source = dati_static_source();
	reg->api = API_INDEX;
	fill_places(reg, source);
	reg->num_records = source->conf.num_entries;
	fill_bad(reg, &source->conf);
	for (st = dati_static_all(); st; st = st->next)
		n++;
	reg->entries = info_calloc(n + 1, sizeof(*reg->entries));
	for (st = dati_static_all(); st; st = st->next)
		fill_entry(&reg->entries[reg->num_entries++], st);
}

const struct info_entry *info_registry_resolve(const char *name, bool threadsafe)
{
	DAT_PROVIDER_INFO key = { .ia_name = "" };
	const struct dati_static *st;
	struct info_entry *entry;

	if (strlen(name) >= sizeof(key.ia_name))
		return NULL;
	dati_key_set(&key, name, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
		     threadsafe ? DAT_TRUE : DAT_FALSE);
	st = dati_static_resolve(&key);
	if (!st)
		return NULL;
	entry = info_calloc(1, sizeof(*entry));
	fill_entry(entry, st);
	return entry;
}
