/* SPDX-License-Identifier: BSD-2-Clause */
/* Tries to open a name: whether it opens, over what, and the words of a failure that tell the
 * reason. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"
#include "probe.h"

#define OUR_PROVIDER "dat-ofi"

/* A dat.conf that exists only for this child: no file has to be made and removed. */
static void use_conf(const char *text)
{
	int fd = memfd_create("dat.conf", 0);
	char path[64];

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		perror("dat_info: dat.conf");
		_exit(1);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("DAT_OVERRIDE", path, 1);
	/* What is asked for is what the text says, not what the environment says. */
	unsetenv("DAPL_OFI_PROVIDER");
	unsetenv("DAPL_OFI_DOMAIN");
}

static void child(const void *arg)
{
	const struct info_open *what = arg;

	/* Errors, and which libraries are entered; on the stream that the parent reads. */
	setenv("DAT_DBG_TYPE", "0x11", 1);
	setenv("DAT_DBG_DEST", "1", 1);
	if (what->conf)
		use_conf(what->conf);
	info_api[what->api].open_tell(&what->key, what->attributes);
}

/* Our provider reports fabric and interface; others name their device. */
static void name_device(struct info_attempt *attempt)
{
	const char *provider = info_probe_fact(&attempt->probe, "", "provider");
	const char *adapter = info_probe_fact(&attempt->probe, "", "adapter");
	const char *fabric = info_probe_fact(&attempt->probe, "", "fabric");
	const char *interface = info_probe_fact(&attempt->probe, "", "interface");

	if (provider && !strcmp(provider, OUR_PROVIDER) && fabric && interface) {
		attempt->fabric = info_strdup(fabric);
		attempt->device = info_strdup(interface);
	} else if (adapter && *adapter) {
		attempt->device = info_strdup(adapter);
	}
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* What libdat says about the place of an entry is told by us anyway. */
static const char *skip_origin(const char *line)
{
	const char *at;

	if (starts(line, "built-in entry")) {
		at = strstr(line, ": ");
		return at ? at + 2 : line;
	}
	/* FILE:LINE: words */
	for (at = line; (at = strchr(at, ':')); at++) {
		const char *digits = at + 1;
		size_t n = strspn(digits, "0123456789");

		if (n && digits[n] == ':' && digits[n + 1] == ' ')
			return digits + n + 2;
	}
	return line;
}

/*
 * The paragraph of a failed open: a headline, then lines that are indented. A provider's own words
 * tell most, then the loader's, then that no entry fits.
 */
static char *find_reason(const struct info_probe *probe)
{
	const char *by_provider = NULL, *by_entry = NULL, *other = NULL;
	size_t i;

	for (i = 0; i < probe->num_said; i++) {
		const char *line = probe->said[i];

		if (!starts(line, "  "))
			continue;
		line += 2;
		if (!by_provider && starts(line, "provider: "))
			by_provider = line + strlen("provider: ");
		else if (starts(line, "no entry "))
			other = line;
		else if (skip_origin(line) != line && !by_entry)
			by_entry = skip_origin(line);
	}
	if (by_provider)
		return info_strdup(by_provider);
	if (by_entry)
		return info_strdup(by_entry);
	return other ? info_strdup(other) : NULL;
}

/* Ours tells which libraries it enters; another one need not. */
static bool is_our_libdat(const struct info_probe *probe)
{
	size_t i;

	for (i = 0; i < probe->num_said; i++)
		if (starts(probe->said[i], "libdat"))
			return true;
	return false;
}

static char *reason_of(const struct info_probe *probe)
{
	const char *libdat = info_probe_fact(probe, "", "libdat");
	const char *missing = info_probe_fact(probe, "", "no_libdat");
	const char *refused = info_probe_fact(probe, "", "refused");
	char *reason;

	if (missing)
		return info_strdup(missing);
	reason = find_reason(probe);
	if (reason)
		return reason;
	if (probe->end)
		return info_strdup(probe->end);
	if (refused && libdat && !is_our_libdat(probe))
		return info_format("%s; the libdat found is not dat-ofi's", refused);
	return info_strdup(refused ? refused : "unknown");
}

bool info_attempt_begin(struct info_attempt *attempt, const struct info_open *what)
{
	memset(attempt, 0, sizeof(*attempt));
	return info_probe_begin(&attempt->probe, child, what);
}

void info_attempt_finish(struct info_attempt *attempt)
{
	const char *library;

	info_probe_finish(&attempt->probe);
	/* A provider that opens and then cannot close is of no use, either. */
	attempt->opened = info_probe_fact(&attempt->probe, "", "opened") && !attempt->probe.end;
	attempt->our_libdat = is_our_libdat(&attempt->probe);
	name_device(attempt);
	library = info_probe_fact(&attempt->probe, "", "library");
	attempt->library = library ? info_strdup(library) : NULL;
	if (!attempt->opened)
		attempt->why = reason_of(&attempt->probe);
}

void info_attempt_run(struct info_attempt *attempt, const struct info_open *what)
{
	info_attempt_begin(attempt, what);
	info_attempt_finish(attempt);
}

void info_attempt_free(struct info_attempt *attempt)
{
	info_probe_free(&attempt->probe);
	free(attempt->fabric);
	free(attempt->device);
	free(attempt->library);
	free(attempt->why);
	memset(attempt, 0, sizeof(*attempt));
}
