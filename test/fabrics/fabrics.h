/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selects the fabric that a test program runs over.
 *
 * DAT_TEST_FABRIC names a line of fabrics.def; DAT_TEST_PARAMS gives IA parameters of its own,
 * whose provider is then the fabric's name unless DAT_TEST_FABRIC gives one, which need not be in
 * the table then. Without either it is the first line.
 */
#ifndef TEST_FABRICS_H
#define TEST_FABRICS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_fabric {
	const char *name;
	const char *params;
	const char *params6;
	const char *builtin;
	const char *traits;
};

static const struct test_fabric test_fabrics[] = {
#define FABRIC(name_, params_, params6_, builtin_, traits_) \
	{ name_, params_, params6_, builtin_, traits_ },
#include "fabrics.def"
#undef FABRIC
};

static inline const struct test_fabric *test_fabric_find(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(test_fabrics) / sizeof(test_fabrics[0]); i++)
		if (strlen(test_fabrics[i].name) == len && !memcmp(test_fabrics[i].name, name, len))
			return &test_fabrics[i];
	return NULL;
}

/* NULL if the environment names a fabric that is not in the table; reported on stderr. */
static inline const struct test_fabric *test_fabric(void)
{
	static struct test_fabric own;
	static char name[32];
	const char *params = getenv("DAT_TEST_PARAMS"), *params6 = getenv("DAT_TEST_PARAMS6");
	const char *wanted = getenv("DAT_TEST_FABRIC"), *at;

	if (wanted && *wanted)
		snprintf(name, sizeof(name), "%s", wanted);
	else if (params && *params && (at = strstr(params, "provider=")))
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 9, " \t;"), at + 9);
	else
		snprintf(name, sizeof(name), "%s", test_fabrics[0].name);
	if (test_fabric_find(name, strlen(name)))
		own = *test_fabric_find(name, strlen(name));
	else if (params && *params)
		own = (struct test_fabric){ name, params, params, "-", "" };
	else {
		fprintf(stderr, "no fabric \"%s\" in test/fabrics/fabrics.def\n", name);
		return NULL;
	}
	own.name = name;
	if (params && *params)
		own.params = params;
	if (params6 && *params6)
		own.params6 = params6;
	return &own;
}

static inline bool test_fabric_has(const struct test_fabric *f, const char *trait)
{
	size_t len = strlen(trait);
	const char *at = f->traits;

	while ((at = strstr(at, trait))) {
		if ((at == f->traits || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
		at += len;
	}
	return false;
}

/* Adapters that this process opens reach local peers over the network, too. */
static inline void test_fabric_network_only(void)
{
	const char *name = test_fabric()->name, *shm = strstr(name, "+shm");
	char network[32];

	if (!shm)
		return;
	snprintf(network, sizeof(network), "%.*s", (int)(shm - name), name);
	setenv("DAPL_OFI_PROVIDER", network, 1);
}

#endif
