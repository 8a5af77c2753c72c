/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks up names in the registry of each API version. */
#include "config.h"

#include <string.h>

#include "api_table.h"
#include "entries.h"

const struct info_api info_api[INFO_APIS] = {
	{ "1.2", 1, 2, "libdat.so.1", "libdaplofi.so.1", info_registry_load_1,
	  info_registry_resolve_1, info_open_report_1 },
	{ "2.0", 2, 0, "libdat2.so.2", "libdaplofi.so.2", info_registry_load_2,
	  info_registry_resolve_2, info_open_report_2 },
};

struct info_registry *info_registry(int api)
{
	static struct info_registry registry[INFO_APIS];
	struct info_registry *reg = &registry[api];

	if (!reg->num_places)
		info_api[api].load(reg);
	return reg;
}

/* Both registries read the same file; each is used for the entries of its own version. */
bool info_registry_own(const struct info_entry *entry)
{
	return entry->major == info_api[entry->api].major;
}

/* Keeps the last result: a job looks up a single name. */
static const struct info_entry *find_alias(int api, const char *name, bool threadsafe)
{
	static const struct info_entry *last[INFO_APIS];

	if (!last[api] || strcmp(last[api]->name, name) || last[api]->threadsafe != threadsafe)
		last[api] = info_api[api].resolve(name, threadsafe);
	return last[api];
}

const struct info_entry *info_registry_find(int api, const char *name, bool threadsafe)
{
	const struct info_registry *reg = info_registry(api);
	size_t i;

	for (i = 0; i < reg->num_entries; i++) {
		const struct info_entry *entry = &reg->entries[i];

		if (entry->major == info_api[api].major && entry->minor == info_api[api].minor &&
		    entry->threadsafe == threadsafe && !strcmp(entry->name, name))
			return entry;
	}
	return find_alias(api, name, threadsafe);
}

struct info_key info_key_of(const struct info_entry *entry)
{
	return (struct info_key){ entry->name, entry->major, entry->minor, entry->threadsafe };
}

const struct info_place *info_registry_place(const struct info_registry *reg)
{
	return &reg->place[reg->num_places - 1];
}
