/* SPDX-License-Identifier: BSD-2-Clause */
/* Prepares the registry and environment of a command, in which all IA names map to the fabric. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

/* Listed for programs that read the registry first; "*" serves all other names. */
static const char *const names[] = { "ofi", "ofa-v2-lo", "ofa-v2-ib0", "OpenIB-cma", "*" };
static const char *const api_name[2] = { "1.2", "2.0" };

void run_path(char *path, size_t size, const struct run_trial *trial, const char *file)
{
	snprintf(path, size, "%s/%s", trial->dir, file);
}

static void quote(FILE *f, const char *text)
{
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

static void write_entry(FILE *f, const char *name, int api, const char *threads,
			const struct run_trial *trial, const struct run_libs *libs)
{
	fprintf(f, "%s u%s %s default ", name, api_name[api], threads);
	quote(f, libs->provider[api]);
	fprintf(f, " dat-ofi.%s ", api_name[api]);
	quote(f, trial->fabric->params);
	fputs(" \"\"\n", f);
}

/* Removes the output of an earlier run from a reused folder. */
static void remove_old_output(const struct run_trial *trial)
{
	static const char *const files[] = {
		RUN_CLIENT_LOG,
		RUN_SERVER_LOG,
		RUN_NORMAL,
		RUN_DIFF,
	};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		run_path(path, sizeof(path), trial, files[i]);
		unlink(path);
	}
}

int run_place_make(struct run_trial *trial, const struct run_libs *libs)
{
	char path[PATH_MAX];
	FILE *f;

	if (mkdir(trial->dir, 0700) && errno != EEXIST)
		return -errno;
	remove_old_output(trial);
	run_path(path, sizeof(path), trial, RUN_CONF);
	f = fopen(path, "we");
	if (!f)
		return -errno;
	fprintf(f, "# Written by dat_run: every name leads to fabric %s.\n", trial->fabric->name);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		for (int api = 1; api >= 0; api--) {
			if (!*libs->provider[api])
				continue;
			write_entry(f, names[i], api, "nonthreadsafe", trial, libs);
			write_entry(f, names[i], api, "threadsafe", trial, libs);
		}
	}
	return fclose(f) ? -errno : 0;
}

/* Appends the folder of a library to a path list, unless the list has it. */
static void add_dir(char *list, size_t size, const char *library)
{
	const char *slash = strrchr(library, '/');
	size_t len = slash ? (size_t)(slash - library) : 0, used = strlen(list);
	const char *at;

	if (!len)
		return;
	for (at = list; *at; at += strcspn(at, ":"), at += *at == ':')
		if (strcspn(at, ":") == len && !memcmp(at, library, len))
			return;
	snprintf(list + used, size - used, "%s%.*s", used ? ":" : "", (int)len, library);
}

/* In the child, before exec: unsets the variables that would override the registry. */
void run_place_enter(const struct run_trial *trial, const struct run_libs *libs)
{
	const char *before = getenv("LD_LIBRARY_PATH");
	char list[4 * PATH_MAX + 8] = "", path[PATH_MAX], *all = NULL;

	for (int api = 0; api < 2; api++) {
		add_dir(list, sizeof(list), libs->libdat[api]);
		add_dir(list, sizeof(list), libs->provider[api]);
	}
	if (before && *before && asprintf(&all, "%s:%s", list, before) > 0)
		setenv("LD_LIBRARY_PATH", all, 1);
	else
		setenv("LD_LIBRARY_PATH", list, 1);
	free(all);
	run_path(path, sizeof(path), trial, RUN_CONF);
	setenv("DAT_OVERRIDE", path, 1);
	unsetenv("DAPL_OFI_PROVIDER");
	unsetenv("DAPL_OFI_DOMAIN");
	setenv("DAT_RUN_FABRIC", trial->fabric->name, 1);
}
