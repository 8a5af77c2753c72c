/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that dat_registry_providers_related combines the results of both providers. */
#include "config.h"

#include <stdlib.h>

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
	rig_load(LINE("a", ""));
	CHECK_RET(related(NULL, "a"), RET_ARG1);
	CHECK_RET(related("a", NULL), RET_ARG2);
	CHECK_RET(dat.registry_providers_related("a", "a", NULL), RET_ARG3);
	CHECK_RET(related("a", "z"), RET_NOT_REGISTERED);
	CHECK_RET(related("z", "a"), RET_NOT_REGISTERED);
	CHECK_RET(related("z", "z"), RET_NOT_REGISTERED);
	CU_ASSERT_EQUAL(answer, 99);
	rig_unload();
}

static void same_name(void)
{
	rig_load(LINE("a", ""));
	CHECK_RET(related("a", "a"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_TRUE);
	CHECK_NO_LOG();
	rig_unload();
}

static void none_open(void)
{
	rig_load(LINE("a", "related=1") LINE("b", "related=1"));
	CHECK_RET(related("a", "b"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_UNKNOWN);
	CHECK_NO_LOG();
	rig_must_open("a");
	CHECK_RET(related("a", "b"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_UNKNOWN);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
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
	ADD_OURS(s, "without open IAs the answer is UNKNOWN, and nothing is loaded", none_open);
	ADD_OURS(s, "both report true: TRUE", both_true);
	ADD_OURS(s, "both report false: FALSE", both_false);
	ADD_OURS(s, "they disagree: CONFLICTING", conflict);
	ADD_OURS(s, "one has no result: UNKNOWN", no_answer);
	ADD_OURS(s, "each provider is queried for the other's name", queried_by_name);
}
