/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that dat_registry_providers_related combines the results of both providers. */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rig.h"

static DAT_HA_RELATIONSHIP answer;

static DAT_RETURN related(const char *one, const char *two)
{
	answer = (DAT_HA_RELATIONSHIP)99;
	return dat.registry_providers_related((DAT_NAME_PTR)(uintptr_t)one,
					      (DAT_NAME_PTR)(uintptr_t)two, &answer);
}

static void arguments(void)
{
	char name[DAT_NAME_MAX_LENGTH + 8];

	memset(name, 'a', sizeof(name));
	name[DAT_NAME_MAX_LENGTH] = '\0';
	rig_load(LINE("a", ""));
	CHECK_RET(related(NULL, "a"), RET_ARG1);
	CHECK_RET(related("a", NULL), RET_ARG2);
	CHECK_RET(related(name, "a"), RET_ARG1);
	CHECK_RET(related("a", name), RET_ARG2);
	CHECK_RET(dat.registry_providers_related("a", "a", NULL), RET_ARG3);
	name[DAT_NAME_MAX_LENGTH - 1] = '\0';
	CHECK_RET(related("a", name), RET_NOT_REGISTERED);
	CHECK_RET(related("a", "z"), RET_NOT_REGISTERED);
	CHECK_RET(related("z", "a"), RET_NOT_REGISTERED);
	CHECK_RET(related("z", "z"), RET_NOT_REGISTERED);
	CHECK_RET(related("a", ""), RET_NOT_REGISTERED);
	CHECK_RET(related("", ""), RET_NOT_REGISTERED);
	CU_ASSERT_EQUAL(answer, 99);
	CHECK_NO_LOG();
	rig_unload();
}

static void same_name(void)
{
	rig_load(LINE("a", "related=0 closed=0"));
	CHECK_RET(related("a", "a"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_TRUE);
	CHECK_NO_LOG();
	rig_unload();
}

/* Both names are loaded for the comparison, and nothing stays loaded or registered. */
static void none_open(void)
{
	DAT_PROVIDER table = { .device_name = "a" };
	DAT_PROVIDER_INFO info = { .ia_name = "a",
				   .dapl_version_major = MAJOR,
				   .dapl_version_minor = MINOR,
				   .is_thread_safe = DAT_FALSE };

	rig_load(LINE("a", "closed=1") LINE("b", "closed=0"));
	rig_capture_stderr();
	CHECK_RET(related("a", "b"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_TRUE);
	CHECK_LOG("init a 2.0 ts=0 [closed=1]", "init b 2.0 ts=0 [closed=0]", "compare a to b",
		  "fini b", "fini a");
	CU_ASSERT_FALSE(rig_fake_mapped());
	CHECK_RET(related("b", "a"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_FALSE);
	CHECK_TEXT(rig_captured(), "");
	CHECK_RET(dat.registry_add_provider(&table, &info), DAT_SUCCESS);
	CHECK_RET(dat.registry_remove_provider(&table, &info), DAT_SUCCESS);
	rig_unload();
}

static void none_open_no_answer(void)
{
	rig_load(LINE("a", "") LINE("b", "closed=1") LINE(
		"c", "noreg") "d " API " nonthreadsafe default /nonexistent.so d.1.0 \"\" \"\"\n");
	rig_capture_stderr();
	CHECK_RET(related("a", "b"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_UNKNOWN);
	CHECK_RET(related("b", "c"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_UNKNOWN);
	CHECK_RET(related("b", "d"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_UNKNOWN);
	CHECK_RET(related("d", "b"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_UNKNOWN);
	CU_ASSERT_FALSE(rig_fake_mapped());
	CU_ASSERT_EQUAL(fake_state.inits, fake_state.finis + 1); /* c registers nothing */
	CHECK_TEXT(rig_captured(), "");
	rig_unload();
}

/* One is open: its provider is asked by the call of the standard, the other one's library. */
static void one_open(void)
{
	rig_load(LINE("a", "related=1") LINE("b", "closed=1") LINE("c", "closed=0"));
	rig_must_open("a");
	rig_clear_log();
	CHECK_RET(related("a", "b"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_TRUE);
	CHECK_LOG("init b 2.0 ts=0 [closed=1]", "related a to b", "compare b to a", "fini b");
	CHECK_RET(related("b", "a"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_TRUE);
	CHECK_RET(related("a", "c"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_CONFLICTING);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CU_ASSERT_FALSE(rig_fake_mapped());
	rig_unload();
}

/* A provider that the program has registered has no library to ask. */
static void registered_by_the_program(void)
{
	DAT_PROVIDER table = { .device_name = "mine" };
	DAT_PROVIDER_INFO info = { .ia_name = "mine",
				   .dapl_version_major = MAJOR,
				   .dapl_version_minor = MINOR,
				   .is_thread_safe = DAT_TRUE };

	rig_load(LINE("a", "closed=1"));
	CHECK_RET(dat.registry_add_provider(&table, &info), DAT_SUCCESS);
	CHECK_RET(related("a", "mine"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_UNKNOWN);
	CHECK_RET(related("mine", "mine"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_TRUE);
	CHECK_RET(dat.registry_remove_provider(&table, &info), DAT_SUCCESS);
	rig_unload();
}

/* The entry for one thread at a time comes first, as in dat_ia_open; others are also found. */
static void thread_safe_and_other_version(void)
{
	rig_load("a " API " threadsafe default FAKE fake.1.0 \"closed=1\" \"\"\n"
		 "b " API " threadsafe default FAKE fake.1.0 \"ts\" \"\"\n" LINE(
			 "b", "") "old " OTHER_API
				  " nonthreadsafe default FAKE fake.1.0 \"\" \"\"\n");
	CHECK_RET(related("a", "b"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_TRUE);
	CHECK_LOG("init a 2.0 ts=1 [closed=1]", "init b 2.0 ts=0 []", "compare a to b", "fini b",
		  "fini a");
	CHECK_RET(related("old", "old"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_TRUE);
	CHECK_NO_LOG();
	rig_unload();
}

static void caught_names(void)
{
	rig_load(LINE("*", "closed=1"));
	CHECK_RET(related("x", "y"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_TRUE);
	CHECK_LOG("init x 2.0 ts=0 [closed=1]", "init y 2.0 ts=0 [closed=1]", "compare x to y",
		  "fini y", "fini x");
	rig_unload();
}

/* A legacy name whose hardware is absent opens through our provider, which is loaded alone. */
static void legacy_names(void)
{
	char own[PATH_MAX], original[PATH_MAX];

	snprintf(own, sizeof(own), "%s/libdaplofi.so.2", rig_dir());
	snprintf(original, sizeof(original), "%s/libdapltest.so", rig_dir());
	CU_ASSERT(!symlink(FAKE_PATH, own) && !symlink(FAKE_PATH, original));
	rig_load("ofa-v2-lo " API
		 " nonthreadsafe default libdapltest.so d.1.0 \"gone0 0\" \"\"\n" LINE("a",
										       "closed=1"));
	CHECK_RET(related("a", "ofa-v2-lo"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_TRUE);
	CHECK_LOG("init a 2.0 ts=0 [closed=1]", "init ofa-v2-lo 2.0 ts=0 [domain=lo]",
		  "compare a to ofa-v2-lo", "fini ofa-v2-lo", "fini a");
	CHECK_RET(related("a", "OpenIB-cma"), DAT_SUCCESS);
	CHECK_LOG("init a 2.0 ts=0 [closed=1]", "init OpenIB-cma 2.0 ts=0 []",
		  "compare a to OpenIB-cma", "fini OpenIB-cma", "fini a");
	rig_unload();
	rig_load("ofa-v2-lo " API
		 " nonthreadsafe default libdapltest.so d.1.0 \"lo 0\" \"\"\n" LINE("a", ""));
	CHECK_RET(related("ofa-v2-lo", "a"), DAT_SUCCESS);
	CHECK_LOG("init ofa-v2-lo 2.0 ts=0 [lo 0]", "init a 2.0 ts=0 []", "compare ofa-v2-lo to a",
		  "fini a", "fini ofa-v2-lo");
	rig_unload();
	unlink(own);
	unlink(original);
}

/* A close of the IA by another thread waits until its provider has answered. */
static pthread_t closer;
static bool closed;

static void *close_ia(void *arg)
{
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	__atomic_store_n(&closed, true, __ATOMIC_SEQ_CST);
	return arg;
}

static void start_closer(const char *where, const char *name, void *own)
{
	(void)name;
	(void)own;
	if (strcmp(where, "related"))
		return;
	CU_ASSERT(!pthread_create(&closer, NULL, close_ia, NULL));
	usleep(20000);
	CU_ASSERT_FALSE(__atomic_load_n(&closed, __ATOMIC_SEQ_CST));
}

static void closed_meanwhile(void)
{
	rig_load(LINE("a", "related=1") LINE("b", "closed=1"));
	rig_must_open("a");
	closed = false;
	fake_state.hook = start_closer;
	CHECK_RET(related("a", "b"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_TRUE);
	pthread_join(closer, NULL);
	fake_state.hook = NULL;
	CU_ASSERT(closed);
	rig_unload();
}

static void check_related(const char *conf, DAT_HA_RELATIONSHIP expected)
{
	rig_load(conf);
	rig_must_open("a");
	rig_must_open("b");
	CHECK_RET(related("a", "b"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, expected);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)2, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void both_true(void)
{
	check_related(LINE("a", "related=1") LINE("b", "related=1"), DAT_HA_TRUE);
}

static void both_false(void)
{
	check_related(LINE("a", "related=0") LINE("b", "related=0"), DAT_HA_FALSE);
}

static void conflict(void)
{
	check_related(LINE("a", "related=1") LINE("b", "related=0"), DAT_HA_CONFLICTING);
	check_related(LINE("a", "related=0") LINE("b", "related=1"), DAT_HA_CONFLICTING);
}

static void no_answer(void)
{
	check_related(LINE("a", "related=1") LINE("b", ""), DAT_HA_UNKNOWN);
	check_related(LINE("a", "holes") LINE("b", "related=1"), DAT_HA_UNKNOWN);
}

static void queried_by_name(void)
{
	rig_load(LINE("a", "related=1") LINE("b", "related=1"));
	rig_must_open("a");
	rig_must_open("b");
	rig_clear_log();
	CHECK_RET(related("a", "b"), DAT_SUCCESS);
	CHECK_LOG("related a to b", "related b to a");
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)2, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

void add_related_suite(void)
{
	CU_pSuite s = CU_add_suite("dat_registry_providers_related", NULL, NULL);

	ADD_OURS(s, "NULL arguments, unknown names", arguments);
	ADD_OURS(s, "a name is related to itself", same_name);
	ADD_OURS(s, "without open IAs the library compares, and is unloaded", none_open);
	ADD_OURS(s, "without a result, or a library, the answer is UNKNOWN", none_open_no_answer);
	ADD_OURS(s, "with one open IA its provider and the library are asked", one_open);
	ADD_OURS(s, "a provider of the program's own", registered_by_the_program);
	ADD_OURS(s, "thread-safe entries, and those of another version",
		 thread_safe_and_other_version);
	ADD_OURS(s, "names that a catch-all serves", caught_names);
	ADD_OURS(s, "legacy names", legacy_names);
	ADD_OURS(s, "an IA that another thread closes", closed_meanwhile);
	ADD_OURS(s, "both report true: TRUE", both_true);
	ADD_OURS(s, "both report false: FALSE", both_false);
	ADD_OURS(s, "they disagree: CONFLICTING", conflict);
	ADD_OURS(s, "one has no result: UNKNOWN", no_answer);
	ADD_OURS(s, "each provider is queried for the other's name", queried_by_name);
}
