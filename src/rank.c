/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranks registry entries by whether they can open, without opening any: those that can are listed
 * first. Undecidable entries count as able to open.
 */
#include "config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank.h"

#define LOADER_CACHE "/etc/ld.so.cache"
/* The prefix of the libraries of the original DAPL, and of others with the same parameters. */
#define FAMILY "libdapl"
#define OWN_FAMILY "libdaplofi.so"

/* ---- the library ---- */

static bool dir_has_library(const char *dir, const char *library)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", dir, library) < (int)sizeof(path) &&
	       !access(path, R_OK);
}

/* Searches LD_LIBRARY_PATH, the program's RUNPATH and the system's directories. */
static bool library_in_search_path(const char *library)
{
	void *program = dlopen(NULL, RTLD_LAZY);
	Dl_serinfo size, *info = NULL;
	bool found;

	if (program && !dlinfo(program, RTLD_DI_SERINFOSIZE, &size))
		info = malloc(size.dls_size);
	found = !info; /* undecidable */
	if (info) {
		info->dls_size = size.dls_size;
		info->dls_cnt = size.dls_cnt;
		if (!dlinfo(program, RTLD_DI_SERINFO, info))
			for (unsigned int i = 0; i < info->dls_cnt && !found; i++)
				found = dir_has_library(info->dls_serpath[i].dls_name, library);
	}
	free(info);
	if (program)
		dlclose(program);
	return found;
}

/* The loader's cache holds the paths of all libraries in the directories of ld.so.conf. */
static bool library_in_loader_cache(const char *library)
{
	char end[PATH_MAX];
	int len = snprintf(end, sizeof(end), "/%s", library);
	int fd = open(LOADER_CACHE, O_RDONLY | O_CLOEXEC);
	bool found = false;
	struct stat st;
	void *map;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_size > 0 && len < (int)sizeof(end)) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			found = memmem(map, (size_t)st.st_size, end, (size_t)len + 1) != NULL;
			munmap(map, (size_t)st.st_size);
		}
	}
	close(fd);
	return found;
}

/* Caches the last lookup: most entries of a file name the same library as the previous entry. */
struct library_lookup {
	const char *library;
	bool exists;
};

static bool library_exists(const char *library, struct library_lookup *last)
{
	/* load.c searches more places for it. */
	if (!strcmp(library, DATI_OWN_PROVIDER))
		return true;
	if (strchr(library, '/'))
		return !access(library, R_OK);
	if (!last->library || strcmp(last->library, library)) {
		last->exists = library_in_search_path(library) || library_in_loader_cache(library);
		last->library = library;
	}
	return last->exists;
}

/* ---- the hardware that the parameters name ---- */

bool dati_is_rdma_device(const char *name)
{
	char path[DAT_NAME_MAX_LENGTH + sizeof(DATI_RDMA_DEVICES)];

	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) >= DAT_NAME_MAX_LENGTH)
		return false;
	snprintf(path, sizeof(path), DATI_RDMA_DEVICES "%s", name);
	return !access(path, F_OK);
}

static bool has_rdma_device(const char *family)
{
	DIR *dir = opendir(DATI_RDMA_DEVICES);
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = *entry->d_name != '.' && !strncmp(entry->d_name, family, strlen(family));
	if (dir)
		closedir(dir);
	return found;
}

/* Addresses and host names are not checked. */
static bool device_exists(const char *name, bool hosts)
{
	return !*name || (hosts && strpbrk(name, ".:")) || if_nametoindex(name) ||
	       dati_is_rdma_device(name);
}

/* Copies the value of `key`; "" if it is missing. */
static void param_get(const char *params, const char *key, char *value, size_t size)
{
	const char *at = strstr(params, key);

	*value = '\0';
	if (at && (at == params || strchr(" \t;", at[-1])))
		snprintf(value, size, "%.*s", (int)strcspn(at + strlen(key), " \t;"),
			 at + strlen(key));
}

static bool own_params_can_open(const char *params)
{
	char value[DAT_NAME_MAX_LENGTH];

	param_get(params, "provider=", value, sizeof(value));
	if ((!strcmp(value, "verbs") && !has_rdma_device("")) ||
	    (!strcmp(value, "efa") && !has_rdma_device("efa")))
		return false;
	param_get(params, "domain=", value, sizeof(value));
	return device_exists(value, true);
}

/* Parameters of the original DAPL, such as "mlx4_0 1" or "ib0 0": device and port, or interface. */
static bool dapl_params_can_open(const char *params)
{
	char device[DAT_NAME_MAX_LENGTH];

	snprintf(device, sizeof(device), "%.*s", (int)strcspn(params, " \t"), params);
	return device_exists(device, true);
}

static bool candidate_can_open(const struct dati_candidate *candidate, struct library_lookup *last)
{
	const char *slash = strrchr(candidate->library, '/');
	const char *name = slash ? slash + 1 : candidate->library;

	if (candidate->last_resort)
		return true;
	if (!library_exists(candidate->library, last))
		return false;
	if (!candidate->params || strncmp(name, FAMILY, strlen(FAMILY)))
		return true;
	return strncmp(name, OWN_FAMILY, strlen(OWN_FAMILY))
		       ? dapl_params_can_open(candidate->params)
		       : own_params_can_open(candidate->params);
}

bool dati_only_last_resort(const struct dati_static *st)
{
	struct library_lookup last = { .library = NULL };
	const struct dati_candidate *candidate;
	bool has_last_resort = false;

	for (candidate = st->candidates; candidate; candidate = candidate->next)
		if (candidate->last_resort)
			has_last_resort = true;
		else if (candidate_can_open(candidate, &last))
			return false;
	return has_last_resort;
}

static unsigned int entry_rank(const struct dati_static *st, struct library_lookup *last)
{
	const struct dati_candidate *candidate;

	if (st->info.dapl_version_major != DAT_VERSION_MAJOR ||
	    st->info.dapl_version_minor != DAT_VERSION_MINOR)
		return DATI_RANKS - 1;
	for (candidate = st->candidates; candidate; candidate = candidate->next)
		if (candidate_can_open(candidate, last))
			return 0;
	return 1;
}

void dati_rank(struct dati_static *entries)
{
	struct library_lookup last = { .library = NULL };

	for (; entries; entries = entries->next)
		entries->rank = entry_rank(entries, &last);
}
