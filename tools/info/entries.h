/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the entries of libdat's registry in types that both API versions share. */
#ifndef INFO_ENTRIES_H
#define INFO_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>

#define INFO_APIS 2

/* One library that may provide an entry; they are tried in order. */
struct info_candidate {
	char *origin;      /* FILE:LINE, or the built-in entry */
	unsigned int line; /* of the registry file; 0: built-in */
	char *library;
	char *params;
	bool last_resort;
};

enum info_kind {
	INFO_FILE, /* a line of the registry file */
	INFO_BUILTIN,
	INFO_ALIAS, /* a legacy name that maps to "ofi" */
};

struct info_entry {
	int api; /* index: 0 is 1.2, 1 is 2.0 */
	char *name;
	unsigned int major, minor;
	bool threadsafe;
	bool listed; /* visible in a listing of the registry */
	enum info_kind kind;
	struct info_candidate *candidates;
	size_t num_candidates;
};

struct info_bad {
	unsigned int line;
	char *name;
	char *reason; /* FILE:LINE: what is wrong */
};

/* A path that was tried for the registry file. */
struct info_place {
	char *path;
	const char *reason;
	int err; /* negative errno when it could not be read */
};

struct info_registry {
	int api;
	struct info_place place[2]; /* in the order of the search; the last one is used */
	int num_places;
	struct info_entry *entries;
	size_t num_entries;
	size_t num_records; /* entries of the file, including alternatives */
	struct info_bad *bad;
	size_t num_bad;
};

/* The key that libdat looks up. */
struct info_key {
	const char *name;
	unsigned int major, minor;
	bool threadsafe;
};

/* What is reported about an adapter that opens. */
enum info_open_part {
	INFO_OPEN_ONLY,
	INFO_OPEN_ATTRIBUTES,
	INFO_OPEN_CALLS, /* attributes, and the result of every call */
};

/* The functions and names of one API version. */
struct info_api {
	const char *version; /* "1.2" */
	unsigned int major, minor;
	const char *libdat;   /* its SONAME */
	const char *provider; /* our provider's */
	void (*load)(struct info_registry *reg);
	/* The entry of a legacy name; NULL: none. */
	const struct info_entry *(*resolve)(const char *name, bool threadsafe);
	/* In a child process: opens a key, writes facts about it (facts.h), closes it. */
	void (*open_tell)(const struct info_key *key, enum info_open_part parts);
};

extern const struct info_api info_api[INFO_APIS];

/* Read at the first call, then cached. */
struct info_registry *info_registry(int api);
/* Includes aliases; NULL if libdat finds no entry. */
const struct info_entry *info_registry_find(int api, const char *name, bool threadsafe);
/* False for an entry of an API version other than that of the registry's library. */
bool info_registry_own(const struct info_entry *entry);
/* The registry file that is used. */
const struct info_place *info_registry_place(const struct info_registry *reg);
struct info_key info_key_of(const struct info_entry *entry);

#endif
