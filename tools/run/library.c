/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the libdat and the provider that belong to this program. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

#if !defined(RUN_BINDIR) || !defined(RUN_LIBDIR)
#error "RUN_BINDIR and RUN_LIBDIR must name where things are installed"
#endif

static const char *const libdat_name[2] = { "libdat.so.1", "libdat2.so.2" };
static const char *const provider_name[2] = { "libdaplofi.so.1", "libdaplofi.so.2" };

/* Paths relative to the top of a build tree, and to a folder of libraries. */
/* clang-format off */
static const char *const build_dirs[] = {
	".libs", "prov_ofi/dat1/.libs", "prov_ofi/dat2/.libs", NULL,
};
/* clang-format on */
static const char *const plain_dirs[] = { ".", NULL };

static void find_library(char *found, const char *root, const char *dir, const char *name)
{
	char path[3 * PATH_MAX];

	if (*found)
		return;
	snprintf(path, sizeof(path), "%s/%s/%s", root, dir, name);
	if (access(path, R_OK) || strlen(path) >= PATH_MAX)
		return;
	/* Keeps the name in the folder: the target of the link has another name. */
	if (!strcmp(dir, "."))
		snprintf(path, sizeof(path), "%s/%s", root, name);
	strcpy(found, path);
}

/* True if at least one API version is complete. */
static bool search_dirs(struct run_libs *libs, const char *root, const char *const *dirs)
{
	char real[PATH_MAX];
	bool complete = false;

	if (!realpath(root, real))
		return false;
	memset(libs, 0, sizeof(*libs));
	for (int api = 0; api < 2; api++) {
		for (int i = 0; dirs[i]; i++) {
			find_library(libs->libdat[api], real, dirs[i], libdat_name[api]);
			find_library(libs->provider[api], real, dirs[i], provider_name[api]);
		}
		if (*libs->libdat[api] && *libs->provider[api])
			complete = true;
		else
			*libs->libdat[api] = *libs->provider[api] = '\0';
	}
	return complete;
}

static bool search_libdir(struct run_libs *libs, const char *dir)
{
	return search_dirs(libs, dir, plain_dirs) || search_dirs(libs, dir, build_dirs);
}

/* The relative path from bindir to libdir, for an installation that was moved. */
static void path_to_libdir(char *path, size_t size, const char *bin)
{
	const char *from = RUN_BINDIR, *to = RUN_LIBDIR;
	size_t common = 0, i, len;

	for (i = 0; from[i] && from[i] == to[i]; i++)
		if (from[i] == '/')
			common = i + 1;
	snprintf(path, size, "%s", bin);
	for (from += common; *from; from++)
		if (*from == '/' || !from[1]) {
			len = strlen(path);
			snprintf(path + len, size - len, "/..");
		}
	len = strlen(path);
	snprintf(path + len, size - len, "/%s", to + common);
}

static bool search_around(struct run_libs *libs, const char *self)
{
	char dir[PATH_MAX], path[2 * PATH_MAX], *slash;

	strcpy(dir, self);
	for (int up = 0; up < 4 && (slash = strrchr(dir, '/')); up++) {
		*slash = '\0';
		if (search_dirs(libs, dir, build_dirs))
			return true;
	}
	strcpy(dir, self);
	*strrchr(dir, '/') = '\0';
	path_to_libdir(path, sizeof(path), dir);
	return search_dirs(libs, path, plain_dirs);
}

bool run_libs_find(struct run_libs *libs, const char *libdir, char *reason, size_t size)
{
	char self[PATH_MAX];
	ssize_t len;

	if (libdir) {
		if (search_libdir(libs, libdir))
			return true;
		snprintf(reason, size, "no pair of libdat and libdaplofi in %s", libdir);
		return false;
	}
	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len > 0 && self[0] == '/') {
		self[len] = '\0';
		if (search_around(libs, self))
			return true;
	}
	if (search_dirs(libs, RUN_LIBDIR, plain_dirs))
		return true;
	snprintf(reason, size,
		 "no libdat with libdaplofi next to this program or in %s; "
		 "name their folder with --libdir",
		 RUN_LIBDIR);
	return false;
}
