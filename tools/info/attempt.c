/* SPDX-License-Identifier: BSD-2-Clause */
/* Tries to open a name; extracts the fabric and device, or the reason of the failure. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"
#include "probe.h"

#define OUR_PROVIDER "dat-ofi"

/* Uses a dat.conf in a memfd, which exists for this child only. */
static void child_use_conf(const char *text)
{
	int fd = memfd_create("dat.conf", 0);
	char path[64];

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		perror("dat_info: dat.conf");
		_exit(1);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("DAT_OVERRIDE", path, 1);
	/* The environment must not override the entries of the text. */
	unsetenv("DAPL_OFI_PROVIDER");
	unsetenv("DAPL_OFI_DOMAIN");
}

static void attempt_child(const void *arg)
{
	const struct info_open *what = arg;

	/* Logs errors and the libraries that are loaded to stderr, which the parent reads. */
	setenv("DAT_DBG_TYPE", "0x11", 1);
	setenv("DAT_DBG_DEST", "1", 1);
	if (what->conf)
		child_use_conf(what->conf);
	info_api[what->api].open_tell(&what->key, what->parts);
}

/* Our provider reports fabric and interface; others report the name of their device. */
static void attempt_find_device(struct info_attempt *attempt)
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

static bool has_prefix(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Skips the origin of an entry, which this program prints itself. */
static const char *skip_origin(const char *line)
{
	const char *at;

	if (has_prefix(line, "built-in entry")) {
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
 * The report of a failed open has a headline, then indented lines. Prefers a line of the provider,
 * then one of the loader, then that no entry matches.
 */
static char *find_reason(const struct info_probe *probe)
{
	const char *by_provider = NULL, *by_entry = NULL, *other = NULL;
	size_t i;

	for (i = 0; i < probe->num_stderr_lines; i++) {
		const char *line = probe->stderr_line[i];

		if (!has_prefix(line, "  "))
			continue;
		line += 2;
		if (!by_provider && has_prefix(line, "provider: "))
			by_provider = line + strlen("provider: ");
		else if (has_prefix(line, "no entry "))
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

/* Our libdat logs the libraries that it loads; others may not. */
static bool is_our_libdat(const struct info_probe *probe)
{
	size_t i;

	for (i = 0; i < probe->num_stderr_lines; i++)
		if (has_prefix(probe->stderr_line[i], "libdat"))
			return true;
	return false;
}

static char *attempt_reason(const struct info_probe *probe)
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

bool info_attempt_start(struct info_attempt *attempt, const struct info_open *what)
{
	memset(attempt, 0, sizeof(*attempt));
	return info_probe_start(&attempt->probe, attempt_child, what);
}

void info_attempt_finish(struct info_attempt *attempt)
{
	const char *library;

	info_probe_finish(&attempt->probe);
	/* A provider that cannot close its IA has failed as well. */
	attempt->opened = info_probe_fact(&attempt->probe, "", "opened") && !attempt->probe.end;
	attempt->our_libdat = is_our_libdat(&attempt->probe);
	attempt_find_device(attempt);
	library = info_probe_fact(&attempt->probe, "", "library");
	attempt->library = library ? info_strdup(library) : NULL;
	if (!attempt->opened)
		attempt->reason = attempt_reason(&attempt->probe);
}

void info_attempt_run(struct info_attempt *attempt, const struct info_open *what)
{
	info_attempt_start(attempt, what);
	info_attempt_finish(attempt);
}

void info_attempt_free(struct info_attempt *attempt)
{
	info_probe_free(&attempt->probe);
	free(attempt->fabric);
	free(attempt->device);
	free(attempt->library);
	free(attempt->reason);
	memset(attempt, 0, sizeof(*attempt));
}
