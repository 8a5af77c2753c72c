/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests both libdats in one process, each with its own registry, IAs and version. */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <CUnit/Basic.h>

#include "fake.h"

__attribute__((visibility(
	"default"))) struct fake_state fake_state = { .lock = PTHREAD_MUTEX_INITIALIZER };

static char conf_path[] = "/tmp/libdat-both-XXXXXX";

struct part {
	void *handle;
	const char *(*open)(void);
	const char *(*use)(void);
	const char *(*close)(void);
};

static struct part part[2];

static void write_conf(void)
{
	int fd = mkstemp(conf_path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f)
		abort();
	fprintf(f, "both u1.2 nonthreadsafe default %s fake.1.2 \"one\" \"\"\n", FAKE1_PATH);
	fprintf(f, "both u2.0 nonthreadsafe default %s fake.2.0 \"two\" \"\"\n", FAKE2_PATH);
	fclose(f);
	setenv("DAT_OVERRIDE", conf_path, 1);
}

static void load(struct part *p, const char *path)
{
	p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!p->handle) {
		fprintf(stderr, "%s\n", dlerror());
		abort();
	}
	*(void **)&p->open = dlsym(p->handle, "part_open");
	*(void **)&p->use = dlsym(p->handle, "part_use");
	*(void **)&p->close = dlsym(p->handle, "part_close");
}

static void check(const char *got, const char *expected)
{
	CU_ASSERT_STRING_EQUAL(got, expected);
	if (strcmp(got, expected))
		fprintf(stderr, "got \"%s\", expected \"%s\"\n", got, expected);
}

static void side_by_side(void)
{
	write_conf();
	load(&part[0], PART1_PATH);
	load(&part[1], PART2_PATH);
	check(part[0].open(), "2 entries, open 0x0, ia 0x1");
	check(part[1].open(), "2 entries, open 0x0, ia 0x1");
	check(fake_state.log[0], "init both 1.2 ts=0 [one]");
	check(fake_state.log[2], "init both 2.0 ts=0 [two]");
	check(part[0].use(), "pz_create 0x80fe0034, ep_free DAT_INVALID_HANDLE "
			     "DAT_INVALID_HANDLE_EP, arg1 0x80060024");
	check(part[1].use(), "pz_create 0x80fe0034, ep_free DAT_INVALID_HANDLE "
			     "DAT_INVALID_HANDLE_EP, arg1 0x80060025");
	check(part[0].close(), "close 0x0");
	check(part[1].use(), "pz_create 0x80fe0034, ep_free DAT_INVALID_HANDLE "
			     "DAT_INVALID_HANDLE_EP, arg1 0x80060025");
	check(part[1].close(), "close 0x0");
	CU_ASSERT_EQUAL(fake_state.inits, 2);
	CU_ASSERT_EQUAL(fake_state.finis, 2);
}

static void gone_afterwards(void)
{
	dlclose(part[0].handle);
	dlclose(part[1].handle);
	CU_ASSERT_PTR_NULL(dlopen("libdat.so.1", RTLD_NOW | RTLD_NOLOAD));
	CU_ASSERT_PTR_NULL(dlopen("libdat2.so.2", RTLD_NOW | RTLD_NOLOAD));
	CU_ASSERT_PTR_NULL(dlopen(FAKE1_PATH, RTLD_NOW | RTLD_NOLOAD));
	unlink(conf_path);
}

int main(void)
{
	unsigned int failures;
	CU_pSuite s;

	alarm(60);
	if (CU_initialize_registry() != CUE_SUCCESS)
		return 99;
	s = CU_add_suite("both API versions in one process", NULL, NULL);
	CU_add_test(s, "each library finds its own entry, provider and IA", side_by_side);
	CU_add_test(s, "both unload without a trace", gone_afterwards);
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures();
	CU_cleanup_registry();
	return failures ? 1 : 0;
}
