/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the fabrics that libfabric finds and that our provider can use. */
#include "config.h"

#include <dlfcn.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabrics.h"
#include "libfabric.h"
#include "memory.h"
#include "probe.h"
#include "facts.h"

#define FABRIC "fabric"
#define PROBE_NAME "dat_info"
/* Implemented by dat-ofi: needs no libfabric. */
#define SHM "shm"
/* The suffix of a network combined with shared memory. */
#define AND_SHM "+" SHM
/* Always listed: without a device libfabric does not report it. */
#define VERBS "verbs"

/* In the child: puts the path of libfabric, its version, and its providers with their domains. */
static void put_fabrics(const void *arg)
{
	struct info_libfabric lib;
	const char *why = info_libfabric_load(&lib);
	struct fi_info *info;
	char text[64];
	Dl_info file;

	(void)arg;
	if (why) {
		info_put_text("", "no_libfabric", why);
		return;
	}
	if (dladdr(*(void **)&lib.version, &file))
		info_put_text("", "path", file.dli_fname);
	snprintf(text, sizeof(text), "%u.%u", FI_MAJOR(lib.version()), FI_MINOR(lib.version()));
	info_put_text("", "version", text);
	if (lib.ret)
		info_put_text("", "no_fabric", lib.error_text(-lib.ret));
	for (info = lib.list; info; info = info->next)
		info_put_text(FABRIC, info->fabric_attr->prov_name, info->domain_attr->name);
}

static struct info_fabric *fabric_find(struct info_fabrics *fabrics, const char *name)
{
	struct info_fabric *fabric;
	size_t i;

	for (i = 0; i < fabrics->num; i++)
		if (!strcmp(fabrics->list[i].name, name))
			return &fabrics->list[i];
	fabrics->list = info_realloc(fabrics->list, fabrics->num + 1, sizeof(*fabrics->list));
	fabric = &fabrics->list[fabrics->num++];
	memset(fabric, 0, sizeof(*fabric));
	fabric->name = info_strdup(name);
	fabric->domains = info_strdup("");
	return fabric;
}

static void fabric_add_domain(struct info_fabric *fabric, const char *domain)
{
	size_t len = strlen(domain);
	const char *at = fabric->domains;
	char *old = fabric->domains;

	while ((at = strstr(at, domain))) {
		if ((at == old || at[-1] == ' ') && (!at[len] || at[len] == ','))
			return;
		at += len;
	}
	fabric->domains = *old ? info_format("%s, %s", old, domain) : info_strdup(domain);
	free(old);
}

static void fabric_probe_start(struct info_attempt *attempt, const struct info_fabric *fabric,
			       int api)
{
	char *conf = info_conf_line(api, PROBE_NAME, false, fabric->name, NULL);
	struct info_open what = {
		.api = api,
		.key = { PROBE_NAME, info_api[api].major, info_api[api].minor, false },
		.conf = conf,
	};

	info_attempt_start(attempt, &what);
	free(conf);
}

static void fabric_probe_finish(struct info_attempt *attempt, struct info_fabric *fabric)
{
	info_attempt_finish(attempt);
	fabric->usable = attempt->opened;
	if (attempt->opened)
		fabric->device = info_strdup(attempt->device ? attempt->device : "");
	else if (strstr(attempt->reason, "is not supported"))
		fabric->reason = info_strdup("dat-ofi does not use it");
	else
		fabric->reason = info_strdup(attempt->reason);
	info_attempt_free(attempt);
}

/*
 * Probes each fabric by opening it with our provider. Probes run in parallel, since an open is
 * usually waiting.
 */
static void fabrics_probe(struct info_fabrics *fabrics, int api)
{
	struct info_attempt *attempts = info_calloc(fabrics->num + 1, sizeof(*attempts));
	size_t i;

	for (i = 0; i < fabrics->num; i++)
		fabric_probe_start(&attempts[i], &fabrics->list[i], api);
	for (i = 0; i < fabrics->num; i++)
		fabric_probe_finish(&attempts[i], &fabrics->list[i]);
	free(attempts);
}

static bool has_both(const char *fabric)
{
	static const char *const names[] = { "tcp", "efa", "psm3", "cxi", "opx" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(fabric, names[i]))
			return true;
	return false;
}

/*
 * The preference order of the adapter "ofi", then the others. A registry file is written in this
 * order, since many programs use its first entry.
 */
static int fabric_rank(const char *fabric)
{
	static const char *const order[] = { VERBS,         "efa" AND_SHM,  "cxi" AND_SHM,
					     "opx" AND_SHM, "psm3" AND_SHM, "tcp" AND_SHM,
					     "tcp",         "rxm" AND_SHM };
	int num = sizeof(order) / sizeof(*order), i;

	for (i = 0; i < num && strcmp(fabric, order[i]); i++)
		;
	return i;
}

static int by_rank(const void *a, const void *b)
{
	const struct info_fabric *one = a, *two = b;
	int diff = fabric_rank(one->name) - fabric_rank(two->name);

	return diff ? diff : strcmp(one->name, two->name);
}

void info_fabrics_find(struct info_fabrics *fabrics, int api)
{
	const char *missing, *none, *version, *path;
	struct info_probe probe;
	size_t i;

	memset(fabrics, 0, sizeof(*fabrics));
	info_probe_run(&probe, put_fabrics, NULL);
	for (i = 0; i < probe.num_facts; i++) {
		const struct info_fact *fact = &probe.facts[i];
		char *name;

		if (strcmp(fact->group, FABRIC))
			continue;
		/*
		 * Skips the utility providers that libfabric layers over others, except those that
		 * are fabrics of dat-ofi.
		 */
		if (!strcmp(fact->name, "tcp;ofi_rxm")) {
			fabric_add_domain(fabric_find(fabrics, "rxm"), fact->value);
			fabric_add_domain(fabric_find(fabrics, "rxm" AND_SHM), fact->value);
		} else if (!strcmp(fact->name, "verbs;ofi_rxm")) {
			fabric_add_domain(fabric_find(fabrics, "rxm-verbs"), fact->value);
			fabric_add_domain(fabric_find(fabrics, "rxm-verbs" AND_SHM), fact->value);
		}
		name = info_format("%.*s", (int)strcspn(fact->name, ";"), fact->name);
		fabric_add_domain(fabric_find(fabrics, name), fact->value);
		if (has_both(name)) {
			char *both = info_format("%s" AND_SHM, name);

			fabric_add_domain(fabric_find(fabrics, both), fact->value);
			free(both);
		}
		free(name);
	}
	version = info_probe_fact(&probe, "", "version");
	path = info_probe_fact(&probe, "", "path");
	missing = info_probe_fact(&probe, "", "no_libfabric");
	none = info_probe_fact(&probe, "", "no_fabric");
	fabrics->version = version ? info_strdup(version) : NULL;
	fabrics->path = path ? info_strdup(path) : NULL;
	if (missing || none || probe.end)
		fabrics->reason = info_strdup(missing ? missing : none ? none : probe.end);
	info_probe_free(&probe);
	fabric_find(fabrics, SHM);
	if (fabrics->version)
		fabric_find(fabrics, VERBS);
	if (fabrics->num)
		qsort(fabrics->list, fabrics->num, sizeof(*fabrics->list), by_rank);
	fabrics_probe(fabrics, api);
}

void info_fabrics_free(struct info_fabrics *fabrics)
{
	size_t i;

	for (i = 0; i < fabrics->num; i++) {
		free(fabrics->list[i].name);
		free(fabrics->list[i].domains);
		free(fabrics->list[i].reason);
		free(fabrics->list[i].device);
	}
	free(fabrics->list);
	free(fabrics->version);
	free(fabrics->path);
	free(fabrics->reason);
}

char *info_conf_line(int api, const char *name, bool threadsafe, const char *fabric,
		     const char *domain)
{
	return info_format("%s u%s %s default %s dapl.%s \"provider=%s%s%s\" \"\"\n", name,
			   info_api[api].version, threadsafe ? "threadsafe" : "nonthreadsafe",
			   info_api[api].provider, info_api[api].version, fabric,
			   domain ? " domain=" : "", domain ? domain : "");
}
