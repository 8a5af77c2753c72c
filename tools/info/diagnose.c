/* SPDX-License-Identifier: BSD-2-Clause */
/* Explains why a name does not open. One step after the other, from the registry file to the
 * fabric. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "fabrics.h"
#include "info.h"
#include "json.h"
#include "memory.h"
#include "probe.h"
#include "steps.h"
#include "text.h"

/* What one diagnosis is about. */
struct subject {
	const struct info_options *opts;
	int api;
	const struct info_registry *reg;
	const struct info_entry *entry;		/* NULL: none */
	struct info_attempt attempt;
};

/* The name may have swallowed the rest of its line for want of a closing quote. */
static bool meant(const struct info_bad *bad, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(bad->name, name, len) && strchr(" \t", bad->name[len]);
}

static void step_registry(struct diagnosis *d, const struct subject *s)
{
	const struct info_registry *reg = s->reg;
	const struct info_place *place;
	size_t i;
	int p;

	steps_begin(d, "registry", reg->num_bad ? STEP_NOTE : STEP_OK);
	for (p = 0; p < reg->num_places; p++) {
		place = &reg->place[p];
		if (place->err)
			steps_say(d, "%s (%s): %s", place->path, place->why,
				  strerror(-place->err));
		else
			steps_say(d, "%s (%s): %zu %s, %zu bad %s", place->path, place->why,
				  reg->num_records, reg->num_records == 1 ? "entry" : "entries",
				  reg->num_bad, reg->num_bad == 1 ? "line" : "lines");
	}
	place = info_registry_place(reg);
	if (place->err && !strcmp(place->why, "DAT_OVERRIDE")) {
		steps_state(d, STEP_FAIL);
		steps_advise(d, "DAT_OVERRIDE names a file that cannot be read: unset it, or "
			     "write one with dat_info -g -o %s", place->path);
	} else if (place->err) {
		steps_say(d, "no registry file: only the built-in entries");
	}
	for (i = 0; i < reg->num_bad; i++) {
		const struct info_bad *bad = &reg->bad[i];

		if (!meant(bad, s->opts->name))
			continue;
		steps_state(d, STEP_FAIL);
		steps_say(d, "line %u is left out: %s", bad->line, info_bad_words(bad));
		steps_advise(d, "correct line %u of %s: %s", bad->line, place->path,
			     info_bad_words(bad));
	}
}

/* The same name in another version or thread-safety; false when there is none. */
static bool say_relatives(struct diagnosis *d, const struct subject *s)
{
	bool any = false;
	size_t i;
	int api;

	for (api = 0; api < INFO_APIS; api++) {
		const struct info_registry *reg = info_registry(api);

		for (i = 0; i < reg->num_entries; i++) {
			const struct info_entry *e = &reg->entries[i];

			if (!info_registry_own(e) || strcmp(e->name, s->opts->name))
				continue;
			steps_say(d, "the name exists for API %u.%u, %s", e->major, e->minor,
				  e->threadsafe ? "threadsafe" : "nonthreadsafe");
			any = true;
		}
	}
	return any;
}

/* libdat has an eye for names that look alike. */
static void say_near_names(struct diagnosis *d, const struct info_probe *probe)
{
	size_t i;

	for (i = 0; i < probe->num_said; i++)
		if (!strncmp(probe->said[i], "  near names: ", 14))
			steps_say(d, "%s", probe->said[i] + 2);
}

static void say_overrides(struct diagnosis *d)
{
	static const char *const names[] = { "DAPL_OFI_PROVIDER", "DAPL_OFI_DOMAIN" };
	const char *value;
	size_t i;

	for (i = 0; i < 2; i++) {
		value = getenv(names[i]);
		if (value && *value)
			steps_say(d, "%s=%s in the environment overrides the entry", names[i],
				  value);
	}
}

static void step_entry(struct diagnosis *d, const struct subject *s)
{
	const struct info_place *place = info_registry_place(s->reg);
	size_t i;

	steps_begin(d, "entry", s->entry ? STEP_OK : STEP_FAIL);
	if (s->entry) {
		for (i = 0; i < s->entry->num_ways; i++)
			steps_say(d, "%s: %s \"%s\"", s->entry->ways[i].origin,
				  s->entry->ways[i].library, s->entry->ways[i].params);
		if (!s->entry->listed && s->entry->kind == INFO_BUILTIN)
			steps_say(d, "not listed: programs that walk the registry do not see it");
		say_overrides(d);
		return;
	}
	steps_say(d, "no entry \"%s\" for API %s, %s", s->opts->name, info_api[s->api].version,
		  s->opts->threadsafe ? "threadsafe" : "nonthreadsafe");
	say_near_names(d, &s->attempt.probe);
	if (say_relatives(d, s))
		steps_advise(d, "add a line for API %s, %s, to %s, or let the program ask for "
			     "what exists", info_api[s->api].version,
			     s->opts->threadsafe ? "threadsafe" : "nonthreadsafe", place->path);
	else
		steps_advise(d, "dat_info -l lists the names that exist; dat_info -g prints "
			     "lines for a dat.conf");
}

/* libdat tells which libraries it entered and what the loader said about the others. */
static void say_libraries(struct diagnosis *d, const struct subject *s)
{
	const struct info_probe *probe = &s->attempt.probe;
	size_t i, k;

	for (i = 0; s->entry && i < s->entry->num_ways; i++) {
		const char *library = s->entry->ways[i].library;
		const char *state = "not tried";
		char *entered = info_format("%s: init for", library);
		char *words = info_format("%s: ", s->entry->ways[i].origin);

		for (k = 0; k < probe->num_said; k++) {
			const char *line = probe->said[k];
			const char *at = strstr(line, words);

			if (strstr(line, entered))
				state = "loaded";
			else if (at == line + 2 && strcmp(state, "loaded"))
				state = at + strlen(words);
		}
		if (strstr(state, library))
			steps_say(d, "%s", state);
		else
			steps_say(d, "%s: %s", library, state);
		free(entered);
		free(words);
	}
}

static bool entered_library(const struct info_probe *probe)
{
	size_t i;

	for (i = 0; i < probe->num_said; i++)
		if (strstr(probe->said[i], ": init for "))
			return true;
	return false;
}

static void step_libdat(struct diagnosis *d, const struct subject *s)
{
	const struct info_probe *probe = &s->attempt.probe;
	const char *libdat = info_probe_fact(probe, "", "libdat");
	const char *missing = info_probe_fact(probe, "", "no_libdat");
	const char *unsearched = info_probe_fact(probe, "", "not_searched");

	steps_begin(d, "libdat", missing ? STEP_FAIL : STEP_OK);
	if (missing) {
		steps_say(d, "%s", missing);
		steps_advise(d, "add the directory of %s to LD_LIBRARY_PATH, or run ldconfig",
			     info_api[s->api].libdat);
		return;
	}
	steps_say(d, "%s", libdat ? libdat : "it did not answer");
	if (unsearched) {
		steps_state(d, STEP_NOTE);
		steps_say(d, "programs do not find it there: LD_LIBRARY_PATH=%s", unsearched);
	}
	if (libdat && !s->attempt.our_libdat) {
		steps_state(d, STEP_NOTE);
		steps_say(d, "this is not the libdat of dat-ofi: it has no built-in entries, and "
			  "does not tell why a name fails");
	}
}

static void step_library(struct diagnosis *d, const struct subject *s)
{
	const struct info_probe *probe = &s->attempt.probe;

	if (!s->entry || !info_probe_fact(probe, "", "libdat"))
		return;
	steps_begin(d, "library", STEP_OK);
	if (s->attempt.opened) {
		steps_say(d, "%s", s->attempt.library ? s->attempt.library : "unknown");
		return;
	}
	if (!s->attempt.our_libdat) {
		steps_state(d, STEP_NOTE);
		steps_say(d, "not known: DAT_DBG_TYPE=0xff makes that libdat talk");
		steps_advise(d, "add the directory of dat-ofi's %s to LD_LIBRARY_PATH, before "
			     "that of the other one", info_api[s->api].libdat);
		return;
	}
	say_libraries(d, s);
	if (entered_library(probe))
		return;
	steps_state(d, STEP_FAIL);
	steps_advise(d, "install the library, or name one that exists (ours: %s; dat_info -g "
		     "prints lines for it)", info_api[s->api].provider);
}

static void step_fabrics(struct diagnosis *d, const struct info_fabrics *fabrics)
{
	bool any = false;
	size_t i;

	steps_begin(d, "libfabric", fabrics->version && !fabrics->why ? STEP_OK : STEP_FAIL);
	steps_shared(d);
	if (fabrics->version)
		steps_say(d, "%s, version %s", fabrics->path ? fabrics->path : "loaded",
			  fabrics->version);
	if (fabrics->why) {
		steps_say(d, "%s", fabrics->why);
		steps_advise(d, fabrics->version ? "see what fi_info says" :
			     "install libfabric (Debian: libfabric1), or add its directory to "
			     "LD_LIBRARY_PATH");
	}
	if (getenv("FI_PROVIDER"))
		steps_say(d, "FI_PROVIDER=%s in the environment hides others",
			  getenv("FI_PROVIDER"));
	steps_begin(d, "fabrics", STEP_OK);
	steps_shared(d);
	for (i = 0; i < fabrics->num; i++) {
		const struct info_fabric *f = &fabrics->list[i];

		any |= f->usable;
		if (f->usable)
			steps_say(d, "%s: can be used, over %s%s%s%s", f->name, f->device,
				  *f->domains ? " (devices: " : "", f->domains,
				  *f->domains ? ")" : "");
		else
			steps_say(d, "%s: %s", f->name, f->why);
	}
	if (any)
		return;
	steps_state(d, d->works ? STEP_NOTE : STEP_FAIL);
	steps_say(d, "none can be used");
}

static void step_addresses(struct diagnosis *d)
{
	struct info_netif *list = info_netifs(), *n;
	bool any = false;

	steps_begin(d, "addresses", STEP_OK);
	steps_shared(d);
	for (n = list; n->name; n++) {
		any |= n->up && n->addresses && !n->loopback;
		steps_say(d, "%s: %s%s", n->name, n->addresses ? n->addresses : "no IP address",
			  n->up ? "" : ", down");
	}
	info_netifs_free(list);
	if (any)
		return;
	steps_state(d, STEP_NOTE);
	steps_say(d, "only peers on this machine can be reached");
}

static void step_memory(struct diagnosis *d)
{
	struct rlimit limit;

	steps_begin(d, "memlock", STEP_OK);
	steps_shared(d);
	if (getrlimit(RLIMIT_MEMLOCK, &limit)) {
		steps_say(d, "unknown");
		return;
	}
	if (limit.rlim_cur == RLIM_INFINITY) {
		steps_say(d, "unlimited");
		return;
	}
	steps_state(d, STEP_NOTE);
	steps_say(d, "%llu KiB: enough for tcp, shm and rxm; RDMA adapters lock what is registered "
		  "(ulimit -l unlimited, or memlock in /etc/security/limits.conf)",
		  (unsigned long long)limit.rlim_cur / 1024);
}

/* The last line of libdat's paragraph: the provider, or libdat itself, knows what to try. */
static void advise_as_told(struct diagnosis *d, const struct info_probe *probe)
{
	static const char begin[] = "  try: ", here[] = "  try: dat_info ";
	size_t i;

	for (i = 0; i < probe->num_said; i++)
		if (!strncmp(probe->said[i], begin, sizeof(begin) - 1) &&
		    strncmp(probe->said[i], here, sizeof(here) - 1))
			steps_advise(d, "%s", probe->said[i] + sizeof(begin) - 1);
}

static void advise_open(struct diagnosis *d, const struct subject *s)
{
	static const struct {
		const char *words, *advice;
	} table[] = {
		{ "is down",
		  "set that interface up (ip link set up dev NAME), and give it an address" },
		{ "has no IP address", "give that interface an address and set it up (ip addr add "
		  "..., ip link set ... up), or name another one with domain= in the entry or "
		  "DAPL_OFI_DOMAIN" },
		{ "no interface or address", "name an interface or address of the list above with "
		  "domain= in the entry or DAPL_OFI_DOMAIN" },
		{ "is not supported", "write a fabric that can be used (see above) after "
		  "provider= in the entry, or set DAPL_OFI_PROVIDER" },
		{ "libfabric cannot be loaded", "install libfabric (Debian: libfabric1), or add "
		  "its directory to LD_LIBRARY_PATH" },
		{ "offers no", "see what fi_info says about that fabric, and unset FI_PROVIDER" },
		{ "no answer within", "the library hangs: replace it, or allow more time with "
		  "--timeout" },
		{ "ended by signal", "the library crashes: replace it, or name another one in the "
		  "entry" },
		{ "ended itself", "the library ends its process: replace it, or name another one "
		  "in the entry" },
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strstr(s->attempt.why, table[i].words))
			steps_advise(d, "%s", table[i].advice);
	if (s->entry && s->entry->num_ways &&
	    !strstr(s->entry->ways[0].library, "libdaplofi."))
		steps_advise(d, "%s finds nothing to open: see to its device, or name %s in the "
			     "entry (dat_info -g prints lines)", s->entry->ways[0].library,
			     info_api[s->api].provider);
	advise_as_told(d, &s->attempt.probe);
	steps_advise(d, "run the program with DAPL_OFI_LOG=4 and DAT_DBG_TYPE=0x3f, which tell "
		     "every step");
}

static void step_open(struct diagnosis *d, const struct subject *s)
{
	const struct info_probe *probe = &s->attempt.probe;
	const char *refused = info_probe_fact(probe, "", "refused");
	size_t i;

	steps_begin(d, "open", s->attempt.opened ? STEP_OK : STEP_FAIL);
	if (s->attempt.opened) {
		steps_say(d, "over %s%s%s", s->attempt.fabric ? s->attempt.fabric : "",
			  s->attempt.fabric ? ", " : "",
			  s->attempt.device ? s->attempt.device : "?");
		steps_advise(d, "dat_info -v %s shows its attributes", s->opts->name);
	} else {
		if (refused)
			steps_say(d, "dat_ia_open: %s", refused);
		steps_say(d, "%s", s->attempt.why);
		if (probe->end && strcmp(probe->end, s->attempt.why))
			steps_say(d, "%s", probe->end);
		advise_open(d, s);
	}
	/* What else was said: log messages of the provider, words of foreign libraries. */
	for (i = 0; i < probe->num_said; i++)
		if (strncmp(probe->said[i], "  ", 2) && strncmp(probe->said[i], "libdat", 6))
			steps_say(d, "said: %s", probe->said[i]);
}

static void diagnose(struct diagnosis *d, struct subject *s, const struct info_fabrics *fabrics)
{
	struct info_open what = { .api = s->api, .key = {
		s->opts->name, info_api[s->api].major, info_api[s->api].minor,
		s->opts->threadsafe } };

	s->reg = info_registry(s->api);
	s->entry = info_registry_find(s->api, s->opts->name, s->opts->threadsafe);
	/* Tried even without an entry: libdat's answer counts, not ours. */
	info_attempt_run(&s->attempt, &what);
	d->works = s->attempt.opened;
	step_registry(d, s);
	step_entry(d, s);
	step_libdat(d, s);
	step_library(d, s);
	step_fabrics(d, fabrics);
	step_addresses(d);
	step_memory(d);
	step_open(d, s);
}

/* True when the name opens, or is not meant for this version. */
static bool report(const struct info_options *opts, int api, const struct info_fabrics *fabrics,
		   bool again)
{
	struct subject s = { .opts = opts, .api = api };
	struct diagnosis d = { .num_steps = 0 };
	bool works;

	diagnose(&d, &s, fabrics);
	works = d.works;
	if (opts->json) {
		json_object(NULL);
		json_text("api", info_api[api].version);
		json_flag("threadsafe", opts->threadsafe);
		steps_json(&d);
		json_text("reason", s.attempt.why);
		json_end();
	} else {
		printf("\"%s\", API %s, %s\n\n", opts->name, info_api[api].version,
		       opts->threadsafe ? "threadsafe" : "nonthreadsafe");
		steps_print(&d, again);
	}
	info_attempt_free(&s.attempt);
	steps_free(&d);
	return works;
}

/* Versions without such an entry are left out, unless none has one. */
static bool wanted(const struct info_options *opts, int api)
{
	bool here, there = false;
	int other;

	if (!opts->api[api])
		return false;
	here = info_registry_find(api, opts->name, opts->threadsafe) != NULL;
	for (other = 0; other < INFO_APIS; other++)
		if (other != api && opts->api[other])
			there |= info_registry_find(other, opts->name, opts->threadsafe) != NULL;
	return here || !there;
}

int info_diagnose(const struct info_options *opts)
{
	struct info_fabrics fabrics;
	bool all = true, first = true;
	int api;

	info_fabrics_find(&fabrics, opts->api[1] ? 1 : 0);
	if (opts->json) {
		json_object(NULL);
		json_text("name", opts->name);
		json_array("diagnoses");
	}
	for (api = 0; api < INFO_APIS; api++) {
		if (!wanted(opts, api))
			continue;
		if (!first && !opts->json)
			putchar('\n');
		all &= report(opts, api, &fabrics, !first);
		first = false;
	}
	if (opts->json) {
		json_end();
		json_end();
	}
	info_fabrics_free(&fabrics);
	return !all;
}
