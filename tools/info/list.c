/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the registered names, their sources, and whether they open. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "json.h"
#include "memory.h"
#include "probe.h"
#include "text.h"

#define AT_ONCE 6 /* adapters opened in parallel */

const char *info_bad_reason(const struct info_bad *bad)
{
	char mark[32];
	const char *at;

	snprintf(mark, sizeof(mark), ":%u: ", bad->line);
	at = strstr(bad->reason, mark);
	return at ? at + strlen(mark) : bad->reason;
}

void info_registry_json(const struct info_registry *reg)
{
	size_t i;
	int p;

	json_object("registry");
	json_array("files");
	for (p = 0; p < reg->num_places; p++) {
		json_object(NULL);
		json_text("path", reg->place[p].path);
		json_text("by", reg->place[p].reason);
		json_text("error", reg->place[p].err ? strerror(-reg->place[p].err) : NULL);
		json_end();
	}
	json_end();
	json_number("entries", (int64_t)reg->num_records);
	json_array("bad_lines");
	for (i = 0; i < reg->num_bad; i++) {
		json_object(NULL);
		json_number("line", reg->bad[i].line);
		json_text("name", reg->bad[i].name);
		json_text("reason", info_bad_reason(&reg->bad[i]));
		json_end();
	}
	json_end();
	json_end();
}

static void print_registry(const struct info_registry *reg)
{
	const struct info_place *place = info_registry_place(reg);
	size_t i;

	if (place->err && strcmp(place->reason, "DAT_OVERRIDE"))
		text_wrap(0, 2, "no registry file (%s: %s): only built-in entries", place->path,
			  strerror(-place->err));
	else if (place->err)
		text_wrap(0, 2, "registry file %s (DAT_OVERRIDE): %s", place->path,
			  strerror(-place->err));
	else
		printf("registry file %s (%s): %zu %s, %zu bad %s\n", place->path, place->reason,
		       reg->num_records, reg->num_records == 1 ? "entry" : "entries", reg->num_bad,
		       reg->num_bad == 1 ? "line" : "lines");
	for (i = 0; i < reg->num_bad; i++) {
		int at = printf("  line %u: ", reg->bad[i].line);

		text_wrap(at, 4, "%s", info_bad_reason(&reg->bad[i]));
	}
	putchar('\n');
}

/* The origin in short: the lines of the file, or the kind of built-in entry. */
static char *entry_origin(const struct info_entry *entry)
{
	char *text = NULL, *old;
	size_t i;

	if (entry->kind == INFO_ALIAS)
		return info_strdup("alias of ofi");
	for (i = 0; i < entry->num_candidates; i++) {
		const struct info_candidate *candidate = &entry->candidates[i];

		if (!candidate->line)
			continue;
		old = text;
		text = old ? info_format("%s, %u", old, candidate->line)
			   : info_format("line %u", candidate->line);
		free(old);
	}
	if (!text)
		text = info_strdup("built-in");
	if (!entry->listed) {
		old = text;
		text = info_format("%s*", old);
		free(old);
	}
	return text;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "libx.so.2" was requested, "libx.so.2.0.0" is the name of the file. */
static bool same_library(const char *asked, const char *got)
{
	const char *a = base_name(asked), *b = base_name(got);

	return !strncmp(a, b, strlen(a)) || !strncmp(a, b, strlen(b));
}

/* A built-in name of a fabric that this machine lacks may fail. */
static bool entry_may_fail(const struct info_entry *entry)
{
	return entry->kind == INFO_BUILTIN && entry->num_candidates && *entry->candidates[0].params;
}

static char *entry_state(const struct info_entry *entry, const struct info_attempt *attempt)
{
	bool expected = !attempt->library || !entry->num_candidates ||
			same_library(entry->candidates[0].library, attempt->library);

	if (!attempt->opened)
		return info_format("%s: %s", entry_may_fail(entry) ? "not here" : "fails",
				   attempt->reason);
	return info_format("opens: %s%s%s%s%s", attempt->fabric ? attempt->fabric : "",
			   attempt->fabric ? ", " : "", attempt->device ? attempt->device : "",
			   expected ? "" : ", by ", expected ? "" : base_name(attempt->library));
}

static void json_candidates(const struct info_entry *entry)
{
	size_t i;

	json_array("libraries");
	for (i = 0; i < entry->num_candidates; i++) {
		json_object(NULL);
		json_text("library", entry->candidates[i].library);
		json_text("parameters", entry->candidates[i].params);
		json_text("from", entry->candidates[i].origin);
		json_flag("last_resort", entry->candidates[i].last_resort);
		json_end();
	}
	json_end();
}

static void json_entry(const struct info_entry *entry, const struct info_attempt *attempt)
{
	static const char *const kind[] = { "file", "built-in", "alias" };
	char version[32];

	snprintf(version, sizeof(version), "%u.%u", entry->major, entry->minor);
	json_object(NULL);
	json_text("api", version);
	json_text("name", entry->name);
	json_flag("threadsafe", entry->threadsafe);
	json_text("kind", kind[entry->kind]);
	json_text("from", entry->num_candidates ? entry->candidates[0].origin : NULL);
	json_flag("listed", entry->listed);
	json_candidates(entry);
	json_flag("opens", attempt->opened);
	json_text("fabric", attempt->fabric);
	json_text("device", attempt->device);
	json_text("library", attempt->library);
	json_text("reason", attempt->reason);
	json_end();
}

struct columns {
	int name, origin;
	bool hidden; /* true if some entry is unlisted */
	bool failed;
};

static void list_entry(const struct info_entry *entry, const struct info_attempt *attempt,
		       struct columns *c, bool json)
{
	char *origin, *state;
	int at;

	c->failed |= !attempt->opened && !entry_may_fail(entry);
	c->hidden |= !entry->listed;
	if (json) {
		json_entry(entry, attempt);
		return;
	}
	origin = entry_origin(entry);
	state = entry_state(entry, attempt);
	at = printf("%u.%u  %-*s  %-10s  %-*s  ", entry->major, entry->minor, c->name, entry->name,
		    entry->threadsafe ? "yes" : "no", c->origin, origin);
	text_wrap(at, at, "%s", state);
	free(origin);
	free(state);
}

/* The entries to list; NULL ends the array. */
static const struct info_entry **choose_entries(const struct info_options *opts)
{
	const struct info_entry **chosen = info_calloc(1, sizeof(*chosen));
	size_t i, n = 0;
	int api;

	for (api = 0; api < INFO_APIS; api++) {
		const struct info_registry *reg = info_registry(api);

		if (!opts->api[api])
			continue;
		for (i = 0; i < reg->num_entries; i++) {
			if (!info_registry_own(&reg->entries[i]))
				continue;
			chosen = info_realloc(chosen, n + 2, sizeof(*chosen));
			chosen[n++] = &reg->entries[i];
		}
	}
	chosen[n] = NULL;
	return chosen;
}

static void columns_fit(const struct info_entry **entries, struct columns *c)
{
	char *origin;

	for (; *entries; entries++) {
		origin = entry_origin(*entries);
		c->name = text_width(c->name, (*entries)->name);
		c->origin = text_width(c->origin, origin);
		free(origin);
	}
}

/* Opens several adapters in parallel, since an open usually waits. */
static void list_entries(const struct info_entry **entries, struct columns *c, bool json)
{
	struct info_attempt attempt[AT_ONCE];
	size_t begun = 0, done = 0;

	while (entries[done]) {
		for (; entries[begun] && begun < done + AT_ONCE; begun++) {
			struct info_open what = { .api = entries[begun]->api,
						  .key = info_key_of(entries[begun]) };

			if (info_attempt_start(&attempt[begun % AT_ONCE], &what) || begun == done)
				continue;
			/*
			 * Out of descriptors: finish the running attempts, then retry one at a
			 * time.
			 */
			info_attempt_free(&attempt[begun % AT_ONCE]);
			break;
		}
		info_attempt_finish(&attempt[done % AT_ONCE]);
		list_entry(entries[done], &attempt[done % AT_ONCE], c, json);
		info_attempt_free(&attempt[done % AT_ONCE]);
		done++;
	}
}

int info_list(const struct info_options *opts)
{
	const struct info_registry *reg = info_registry(opts->api[1] ? 1 : 0);
	struct columns c = { .name = 4, .origin = 4 };
	const struct info_entry **entries;

	/*
	 * A file named by DAT_OVERRIDE that cannot be read is an error; a missing installed file
	 * is not.
	 */
	c.failed = reg->num_bad || (info_registry_place(reg)->err &&
				    !strcmp(info_registry_place(reg)->reason, "DAT_OVERRIDE"));
	entries = choose_entries(opts);
	if (opts->json) {
		json_object(NULL);
		info_registry_json(reg);
		json_array("entries");
		list_entries(entries, &c, true);
		json_end();
		json_end();
		free(entries);
		return c.failed;
	}
	print_registry(reg);
	columns_fit(entries, &c);
	printf("API  %-*s  THREADSAFE  %-*s  STATE\n", c.name, "NAME", c.origin, "FROM");
	list_entries(entries, &c, false);
	free(entries);
	putchar('\n');
	if (c.hidden)
		puts("* opens by its name, but programs that walk the registry do not see it");
	if (!reg->place[0].err || strcmp(reg->place[0].reason, "DAT_OVERRIDE"))
		text_wrap(0, 0,
			  "Names of old programs (ofa-v2-ib0, OpenIB-cma, ib0, ...) lead to "
			  "\"ofi\" unless an entry has that name; dat_info -d NAME shows it.");
	return c.failed;
}
