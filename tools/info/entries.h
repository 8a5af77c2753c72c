/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries of libdat's registry, in terms that both API versions share. */
#ifndef INFO_ENTRIES_H
#define INFO_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>

#define INFO_APIS 2

/* One library that may provide an entry; they are tried in order. */
struct info_way {
	char *origin;		/* FILE:LINE, or what of ours it is */
	unsigned int line;	/* of the registry file; 0: ours */
	char *library;
	char *params;
	bool last_resort;
};

enum info_kind {
	INFO_FILE,		/* a line of the registry file */
	INFO_BUILTIN,
	INFO_ALIAS		/* a name of old programs that leads to "ofi" */
};

struct info_entry {
	int api;		/* index: 0 is 1.2, 1 is 2.0 */
	char *name;
	unsigned int major, minor;
	bool threadsafe;
	bool listed;		/* programs that walk the registry see it */
	enum info_kind kind;
	struct info_way *ways;
	size_t num_ways;
};

struct info_bad {
	unsigned int line;
	char *name;
	char *reason;		/* FILE:LINE: what is wrong */
};

/* A place where the registry file was looked for. */
struct info_place {
	char *path;
	const char *why;
	int err;		/* negative errno when it could not be read */
};

struct info_registry {
	int api;
	struct info_place place[2];	/* in the order of looking; the last one counts */
	int num_places;
	struct info_entry *entries;
	size_t num_entries;
	size_t num_records;	/* entries of the file, alternatives counted */
	struct info_bad *bad;
	size_t num_bad;
};

/* What libdat looks up. */
struct info_key {
	const char *name;
	unsigned int major, minor;
	bool threadsafe;
};

/* What differs between the two copies of the program's DAT side. */
struct info_api {
	const char *version;		/* "1.2" */
	unsigned int major, minor;
	const char *libdat;		/* its SONAME */
	const char *provider;		/* our provider's */
	void (*load)(struct info_registry *reg);
	/* The entry that a name of old programs gets; NULL: none. */
	const struct info_entry *(*resolve)(const char *name, bool threadsafe);
	/* For a child process: opens a key, tells facts about it (tell.h), closes it. */
	void (*open_tell)(const struct info_key *key, bool attributes);
};

extern const struct info_api info_api[INFO_APIS];

/* Read at the first call and kept. */
struct info_registry *info_registry(int api);
/* Aliases included; NULL: libdat would not find any. */
const struct info_entry *info_registry_find(int api, const char *name, bool threadsafe);
/* False for an entry of an API version that this registry's library is not for. */
bool info_registry_own(const struct info_entry *entry);
/* The file that counts. */
const struct info_place *info_registry_place(const struct info_registry *reg);
struct info_key info_key_of(const struct info_entry *entry);

#endif
