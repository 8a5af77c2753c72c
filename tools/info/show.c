/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows all attributes of an adapter. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "json.h"
#include "memory.h"
#include "probe.h"
#include "facts.h"
#include "text.h"

static bool fact_is_first(const struct info_probe *probe, size_t i, bool group_only)
{
	const struct info_fact *f = probe->facts;
	size_t k;

	for (k = 0; k < i; k++)
		if (!strcmp(f[k].group, f[i].group) &&
		    (group_only || !strcmp(f[k].name, f[i].name)))
			return false;
	return true;
}

static const char *fact_text(const struct info_fact *fact)
{
	if (fact->kind == INFO_FACT_FLAG)
		return !strcmp(fact->value, "true") ? "yes" : "no";
	return fact->value;
}

static void print_group(const struct info_probe *probe, const char *group)
{
	int width = 0;
	size_t i;

	printf("\n  %s\n", group);
	for (i = 0; i < probe->num_facts; i++)
		if (!strcmp(probe->facts[i].group, group))
			width = text_width(width, probe->facts[i].name);
	for (i = 0; i < probe->num_facts; i++) {
		const struct info_fact *fact = &probe->facts[i];

		if (!strcmp(fact->group, group))
			text_wrap(printf("    %-*s  ", width, fact->name), width + 6, "%s",
				  fact_text(fact));
	}
}

static void json_group(const struct info_probe *probe, const char *group)
{
	char *name = info_strdup(group), *at;
	size_t i;

	for (at = name; *at; at++)
		if (*at == ' ')
			*at = '_';
	json_object(name);
	free(name);
	for (i = 0; i < probe->num_facts; i++) {
		const struct info_fact *fact = &probe->facts[i];

		if (strcmp(fact->group, group) || !fact_is_first(probe, i, false))
			continue;
		if (fact->kind == INFO_FACT_TEXT)
			json_text(fact->name, fact->value);
		else
			json_raw(fact->name, fact->value);
	}
	json_end();
}

static void each_group(const struct info_probe *probe,
		       void (*visit)(const struct info_probe *probe, const char *group))
{
	size_t i;

	for (i = 0; i < probe->num_facts; i++)
		if (*probe->facts[i].group && fact_is_first(probe, i, true))
			visit(probe, probe->facts[i].group);
}

void info_show_groups(const struct info_probe *probe)
{
	each_group(probe, print_group);
}

static void print_adapter(const struct info_entry *entry, const struct info_attempt *attempt)
{
	int at = printf("%s, API %u.%u, %s: ", entry->name, entry->major, entry->minor,
			entry->threadsafe ? "threadsafe" : "nonthreadsafe");

	if (!attempt->opened) {
		text_wrap(at, 2, "cannot be opened: %s", attempt->reason);
		return;
	}
	text_wrap(at, 2, "opens over %s%s%s", attempt->fabric ? attempt->fabric : "",
		  attempt->fabric ? ", " : "", attempt->device ? attempt->device : "?");
	printf("  entry    %s\n", entry->num_candidates ? entry->candidates[0].origin : "");
	printf("  library  %s\n", attempt->library ? attempt->library : "?");
	info_show_groups(&attempt->probe);
}

static void json_adapter(const struct info_entry *entry, const struct info_attempt *attempt)
{
	json_object(NULL);
	json_text("api", info_api[entry->api].version);
	json_text("name", entry->name);
	json_flag("threadsafe", entry->threadsafe);
	json_text("from", entry->num_candidates ? entry->candidates[0].origin : NULL);
	json_flag("opens", attempt->opened);
	json_text("fabric", attempt->fabric);
	json_text("device", attempt->device);
	json_text("library", attempt->library);
	json_text("reason", attempt->reason);
	if (attempt->opened)
		each_group(&attempt->probe, json_group);
	json_end();
}

/* Shows one adapter; counts those found and those that failed. */
static void show_adapter(const struct info_options *opts, int api, int *found, int *failed)
{
	const struct info_entry *entry = info_registry_find(api, opts->name, opts->threadsafe);
	struct info_open what = { .api = api, .parts = INFO_OPEN_ATTRIBUTES };
	struct info_attempt attempt;

	if (!entry)
		return;
	what.key = info_key_of(entry);
	info_attempt_run(&attempt, &what);
	if (!opts->json && *found)
		putchar('\n');
	++*found;
	*failed += !attempt.opened;
	if (opts->json)
		json_adapter(entry, &attempt);
	else
		print_adapter(entry, &attempt);
	info_attempt_free(&attempt);
}

int info_show(const struct info_options *opts)
{
	int api, found = 0, failed = 0;

	if (opts->json) {
		json_object(NULL);
		json_text("name", opts->name);
		json_array("adapters");
	}
	for (api = 0; api < INFO_APIS; api++)
		if (opts->api[api])
			show_adapter(opts, api, &found, &failed);
	if (opts->json) {
		json_end();
		json_end();
	}
	if (!found)
		fprintf(stderr,
			"dat_info: no entry has the name \"%s\" (%s); "
			"dat_info -d %s shows more\n",
			opts->name, opts->threadsafe ? "threadsafe" : "nonthreadsafe", opts->name);
	return !found || failed;
}
