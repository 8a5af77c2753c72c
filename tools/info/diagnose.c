/* SPDX-License-Identifier: BSD-2-Clause */
/* Diagnoses why a name does not open, step by step from the registry file to the fabric. */
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

/* The subject of one diagnosis. */
struct subject {
	const struct info_options *opts;
	int api;
	const struct info_registry *reg;
	const struct info_entry *entry; /* NULL: none */
	struct info_attempt attempt;
};

/* Without its closing quote, the name field holds the rest of the line. */
static bool bad_line_matches(const struct info_bad *bad, const char *name)
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
			steps_add_line(d, "%s (%s): %s", place->path, place->reason,
				       strerror(-place->err));
		else
			steps_add_line(d, "%s (%s): %zu %s, %zu bad %s", place->path, place->reason,
				       reg->num_records,
				       reg->num_records == 1 ? "entry" : "entries", reg->num_bad,
				       reg->num_bad == 1 ? "line" : "lines");
	}
	place = info_registry_place(reg);
	if (place->err && !strcmp(place->reason, "DAT_OVERRIDE")) {
		steps_state(d, STEP_FAIL);
		steps_advise(d,
			     "DAT_OVERRIDE names a file that cannot be read: unset it, or "
			     "write one with dat_info -g -o %s",
			     place->path);
	} else if (place->err) {
		steps_add_line(d, "no registry file: only the built-in entries");
	}
	for (i = 0; i < reg->num_bad; i++) {
		const struct info_bad *bad = &reg->bad[i];

		if (!bad_line_matches(bad, s->opts->name))
			continue;
		steps_state(d, STEP_FAIL);
		steps_add_line(d, "line %u is ignored: %s", bad->line, info_bad_reason(bad));
		steps_advise(d, "correct line %u of %s: %s", bad->line, place->path,
			     info_bad_reason(bad));
	}
}

/* Adds the entries of this name with another version or thread-safety; false if there are none. */
static bool add_related_entries(struct diagnosis *d, const struct subject *s)
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
			steps_add_line(d, "the name exists for API %u.%u, %s", e->major, e->minor,
				       e->threadsafe ? "threadsafe" : "nonthreadsafe");
			any = true;
		}
	}
	return any;
}

/* Takes the similar names from the report of libdat. */
static void add_similar_names(struct diagnosis *d, const struct info_probe *probe)
{
	size_t i;

	for (i = 0; i < probe->num_stderr_lines; i++)
		if (!strncmp(probe->stderr_line[i], "  similar names: ", 17))
			steps_add_line(d, "%s", probe->stderr_line[i] + 2);
}

static void add_overrides(struct diagnosis *d)
{
	static const char *const names[] = { "DAPL_OFI_PROVIDER", "DAPL_OFI_DOMAIN" };
	const char *value;
	size_t i;

	for (i = 0; i < 2; i++) {
		value = getenv(names[i]);
		if (value && *value)
			steps_add_line(d, "%s=%s in the environment overrides the entry", names[i],
				       value);
	}
}

static void step_entry(struct diagnosis *d, const struct subject *s)
{
	const struct info_place *place = info_registry_place(s->reg);
	size_t i;

	steps_begin(d, "entry", s->entry ? STEP_OK : STEP_FAIL);
	if (s->entry) {
		for (i = 0; i < s->entry->num_candidates; i++)
			steps_add_line(d, "%s: %s \"%s\"", s->entry->candidates[i].origin,
				       s->entry->candidates[i].library,
				       s->entry->candidates[i].params);
		if (!s->entry->listed && s->entry->kind == INFO_BUILTIN)
			steps_add_line(d,
				       "not listed: programs that walk the registry do not see it");
		add_overrides(d);
		return;
	}
	steps_add_line(d, "no entry \"%s\" for API %s, %s", s->opts->name, info_api[s->api].version,
		       s->opts->threadsafe ? "threadsafe" : "nonthreadsafe");
	add_similar_names(d, &s->attempt.probe);
	if (add_related_entries(d, s))
		steps_advise(d,
			     "add a line for API %s, %s, to %s, or let the program ask for "
			     "what exists",
			     info_api[s->api].version,
			     s->opts->threadsafe ? "threadsafe" : "nonthreadsafe", place->path);
	else
		steps_advise(d, "dat_info -l lists the names that exist; dat_info -g prints "
				"lines for a dat.conf");
}

/* libdat logs the libraries that it loaded and the error of the loader for the others. */
static void add_libraries(struct diagnosis *d, const struct subject *s)
{
	const struct info_probe *probe = &s->attempt.probe;
	size_t i, k;

	for (i = 0; s->entry && i < s->entry->num_candidates; i++) {
		const char *library = s->entry->candidates[i].library;
		const char *state = "not tried";
		char *loaded = info_format("%s: init for", library);
		char *text = info_format("%s: ", s->entry->candidates[i].origin);

		for (k = 0; k < probe->num_stderr_lines; k++) {
			const char *line = probe->stderr_line[k];
			const char *at = strstr(line, text);

			if (strstr(line, loaded))
				state = "loaded";
			else if (at == line + 2 && strcmp(state, "loaded"))
				state = at + strlen(text);
		}
		if (strstr(state, library))
			steps_add_line(d, "%s", state);
		else
			steps_add_line(d, "%s: %s", library, state);
		free(loaded);
		free(text);
	}
}

static bool library_was_loaded(const struct info_probe *probe)
{
	size_t i;

	for (i = 0; i < probe->num_stderr_lines; i++)
		if (strstr(probe->stderr_line[i], ": init for "))
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
		steps_add_line(d, "%s", missing);
		steps_advise(d, "add the directory of %s to LD_LIBRARY_PATH, or run ldconfig",
			     info_api[s->api].libdat);
		return;
	}
	steps_add_line(d, "%s", libdat ? libdat : "no result from the child process");
	if (unsearched) {
		steps_state(d, STEP_NOTE);
		steps_add_line(d, "programs do not find it there: LD_LIBRARY_PATH=%s", unsearched);
	}
	if (libdat && !s->attempt.our_libdat) {
		steps_state(d, STEP_NOTE);
		steps_add_line(d,
			       "this is not the libdat of dat-ofi: it has no built-in entries, and "
			       "does not report why a name fails");
	}
}

static void step_library(struct diagnosis *d, const struct subject *s)
{
	const struct info_probe *probe = &s->attempt.probe;

	if (!s->entry || !info_probe_fact(probe, "", "libdat"))
		return;
	steps_begin(d, "library", STEP_OK);
	if (s->attempt.opened) {
		steps_add_line(d, "%s", s->attempt.library ? s->attempt.library : "unknown");
		return;
	}
	if (!s->attempt.our_libdat) {
		steps_state(d, STEP_NOTE);
		steps_add_line(d, "unknown: set DAT_DBG_TYPE=0xff to make that libdat log");
		steps_advise(d,
			     "add the directory of dat-ofi's %s to LD_LIBRARY_PATH, before "
			     "that of the other one",
			     info_api[s->api].libdat);
		return;
	}
	add_libraries(d, s);
	if (library_was_loaded(probe))
		return;
	steps_state(d, STEP_FAIL);
	steps_advise(d,
		     "install the library, or name one that exists (ours: %s; dat_info -g "
		     "prints lines for it)",
		     info_api[s->api].provider);
}

static void step_fabrics(struct diagnosis *d, const struct info_fabrics *fabrics)
{
	static const char install[] = "install libfabric (Debian: libfabric1), or add its "
				      "directory to LD_LIBRARY_PATH";
	bool any = false;
	size_t i;

	/* The adapter may not need it. */
	steps_begin(d, "libfabric",
		    fabrics->version && !fabrics->reason ? STEP_OK
		    : d->works                           ? STEP_NOTE
							 : STEP_FAIL);
	steps_shared(d);
	if (fabrics->version)
		steps_add_line(d, "%s, version %s", fabrics->path ? fabrics->path : "loaded",
			       fabrics->version);
	if (fabrics->reason) {
		steps_add_line(d, "%s", fabrics->reason);
		if (!d->works)
			steps_advise(d, fabrics->version ? "check the output of fi_info" : install);
	}
	if (getenv("FI_PROVIDER"))
		steps_add_line(d, "FI_PROVIDER=%s in the environment hides others",
			       getenv("FI_PROVIDER"));
	steps_begin(d, "fabrics", STEP_OK);
	steps_shared(d);
	for (i = 0; i < fabrics->num; i++) {
		const struct info_fabric *f = &fabrics->list[i];

		any |= f->usable;
		if (f->usable)
			steps_add_line(d, "%s: can be used, over %s%s%s%s", f->name, f->device,
				       *f->domains ? " (devices: " : "", f->domains,
				       *f->domains ? ")" : "");
		else
			steps_add_line(d, "%s: %s", f->name, f->reason);
	}
	if (any)
		return;
	steps_state(d, d->works ? STEP_NOTE : STEP_FAIL);
	steps_add_line(d, "none can be used");
}

static void step_addresses(struct diagnosis *d)
{
	struct info_netif *list = info_netifs(), *n;
	bool any = false;

	steps_begin(d, "addresses", STEP_OK);
	steps_shared(d);
	for (n = list; n->name; n++) {
		any |= n->up && n->addresses && !n->loopback;
		steps_add_line(d, "%s: %s%s", n->name,
			       n->addresses ? n->addresses : "no IP address",
			       n->up ? "" : ", down");
	}
	info_netifs_free(list);
	if (any)
		return;
	steps_state(d, STEP_NOTE);
	steps_add_line(d, "only peers on this machine can be reached");
}

static void step_memory(struct diagnosis *d)
{
	struct rlimit limit;

	steps_begin(d, "memlock", STEP_OK);
	steps_shared(d);
	if (getrlimit(RLIMIT_MEMLOCK, &limit)) {
		steps_add_line(d, "unknown");
		return;
	}
	if (limit.rlim_cur == RLIM_INFINITY) {
		steps_add_line(d, "unlimited");
		return;
	}
	steps_state(d, STEP_NOTE);
	steps_add_line(d,
		       "%llu KiB: enough for tcp, shm and rxm; RDMA adapters lock what is "
		       "registered (ulimit -l unlimited, or memlock in /etc/security/limits.conf)",
		       (unsigned long long)limit.rlim_cur / 1024);
}

/* Takes the remedy from the last line of libdat's report. */
static void advise_from_libdat(struct diagnosis *d, const struct info_probe *probe)
{
	static const char begin[] = "  try: ", here[] = "  try: dat_info ";
	size_t i;

	for (i = 0; i < probe->num_stderr_lines; i++)
		if (!strncmp(probe->stderr_line[i], begin, sizeof(begin) - 1) &&
		    strncmp(probe->stderr_line[i], here, sizeof(here) - 1))
			steps_advise(d, "%s", probe->stderr_line[i] + sizeof(begin) - 1);
}

static void advise_open(struct diagnosis *d, const struct subject *s)
{
	static const struct {
		const char *text, *advice;
	} table[] = {
		{ "is down",
		  "set that interface up (ip link set up dev NAME), and give it an address" },
		{ "has no IP address",
		  "give that interface an address and set it up (ip addr add "
		  "..., ip link set ... up), or name another one with domain= in the entry or "
		  "DAPL_OFI_DOMAIN" },
		{ "no interface or address", "name an interface or address of the list above with "
					     "domain= in the entry or DAPL_OFI_DOMAIN" },
		{ "is not supported", "write a fabric that can be used (see above) after "
				      "provider= in the entry, or set DAPL_OFI_PROVIDER" },
		{ "libfabric cannot be loaded", "install libfabric (Debian: libfabric1), or add "
						"its directory to LD_LIBRARY_PATH" },
		{ "offers no", "check the output of fi_info for that fabric, and "
			       "unset FI_PROVIDER" },
		{ "no answer within", "the library hangs: replace it, or allow more time with "
				      "--timeout" },
		{ "ended by signal", "the library crashes: replace it, or name another one in the "
				     "entry" },
		{ "ended itself", "the library ends its process: replace it, or name another one "
				  "in the entry" },
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strstr(s->attempt.reason, table[i].text))
			steps_advise(d, "%s", table[i].advice);
	if (s->entry && s->entry->num_candidates &&
	    !strstr(s->entry->candidates[0].library, "libdaplofi."))
		steps_advise(d,
			     "%s opens no device: check its device, or name %s in the "
			     "entry (dat_info -g prints lines)",
			     s->entry->candidates[0].library, info_api[s->api].provider);
	advise_from_libdat(d, &s->attempt.probe);
	steps_advise(d, "run the program with DAPL_OFI_LOG=4 and DAT_DBG_TYPE=0x3f, which log "
			"every step");
}

static void step_open(struct diagnosis *d, const struct subject *s)
{
	const struct info_probe *probe = &s->attempt.probe;
	const char *refused = info_probe_fact(probe, "", "refused");
	size_t i;

	steps_begin(d, "open", s->attempt.opened ? STEP_OK : STEP_FAIL);
	if (s->attempt.opened) {
		steps_add_line(d, "over %s%s%s", s->attempt.fabric ? s->attempt.fabric : "",
			       s->attempt.fabric ? ", " : "",
			       s->attempt.device ? s->attempt.device : "?");
		steps_advise(d, "dat_info -v %s shows its attributes", s->opts->name);
	} else {
		if (refused)
			steps_add_line(d, "dat_ia_open: %s", refused);
		steps_add_line(d, "%s", s->attempt.reason);
		if (probe->end && strcmp(probe->end, s->attempt.reason))
			steps_add_line(d, "%s", probe->end);
		advise_open(d, s);
	}
	/* Adds all other output: log messages of the provider and messages of other libraries. */
	for (i = 0; i < probe->num_stderr_lines; i++)
		if (strncmp(probe->stderr_line[i], "  ", 2) &&
		    strncmp(probe->stderr_line[i], "libdat", 6))
			steps_add_line(d, "output: %s", probe->stderr_line[i]);
}

static void diagnose(struct diagnosis *d, struct subject *s, const struct info_fabrics *fabrics)
{
	struct info_open what = { .api = s->api,
				  .key = { s->opts->name, info_api[s->api].major,
					   info_api[s->api].minor, s->opts->threadsafe } };

	s->reg = info_registry(s->api);
	s->entry = info_registry_find(s->api, s->opts->name, s->opts->threadsafe);
	/* Tries even without an entry: libdat decides. */
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

/* True if the name opens, or is not meant for this version. */
static bool diagnose_api(const struct info_options *opts, int api,
			 const struct info_fabrics *fabrics, bool again)
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
		json_text("reason", s.attempt.reason);
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

/* Skips versions without such an entry, unless no version has one. */
static bool api_is_wanted(const struct info_options *opts, int api)
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
		if (!api_is_wanted(opts, api))
			continue;
		if (!first && !opts->json)
			putchar('\n');
		all &= diagnose_api(opts, api, &fabrics, !first);
		first = false;
	}
	if (opts->json) {
		json_end();
		json_end();
	}
	info_fabrics_free(&fabrics);
	return !all;
}
