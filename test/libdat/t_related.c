/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_registry_providers_related weighs the answers of both providers. */
#include "config.h"

#include <stdlib.h>

#include "rig.h"

static DAT_HA_RELATIONSHIP answer;

static DAT_RETURN ask(const char *one, const char *two)
{
	answer = (DAT_HA_RELATIONSHIP)99;
	return dat.registry_providers_related((DAT_NAME_PTR)(uintptr_t)one,
					      (DAT_NAME_PTR)(uintptr_t)two, &answer);
}

static void arguments(void)
{
	rig_load(LINE("a", ""));
	CHECK_RET(ask(NULL, "a"), RET_ARG1);
	CHECK_RET(ask("a", NULL), RET_ARG2);
	CHECK_RET(dat.registry_providers_related("a", "a", NULL), RET_ARG3);
	CHECK_RET(ask("a", "z"), RET_NOT_REGISTERED);
	CHECK_RET(ask("z", "a"), RET_NOT_REGISTERED);
	CHECK_RET(ask("z", "z"), RET_NOT_REGISTERED);
	CU_ASSERT_EQUAL(answer, 99);
	rig_unload();
}

static void same_name(void)
{
	rig_load(LINE("a", ""));
	CHECK_RET(ask("a", "a"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_TRUE);
	CHECK_NO_NOTES();
	rig_unload();
}

static void nobody_open(void)
{
	rig_load(LINE("a", "related=1") LINE("b", "related=1"));
	CHECK_RET(ask("a", "b"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_UNKNOWN);
	CHECK_NO_NOTES();
	rig_must_open("a");
	CHECK_RET(ask("a", "b"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, DAT_HA_UNKNOWN);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void weigh(const char *conf, DAT_HA_RELATIONSHIP expected)
{
	rig_load(conf);
	rig_must_open("a");
	rig_must_open("b");
	CHECK_RET(ask("a", "b"), DAT_SUCCESS);
	CU_ASSERT_EQUAL(answer, expected);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)2, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void both_true(void)
{
	weigh(LINE("a", "related=1") LINE("b", "related=1"), DAT_HA_TRUE);
}

static void both_false(void)
{
	weigh(LINE("a", "related=0") LINE("b", "related=0"), DAT_HA_FALSE);
}

static void conflict(void)
{
	weigh(LINE("a", "related=1") LINE("b", "related=0"), DAT_HA_CONFLICTING);
	weigh(LINE("a", "related=0") LINE("b", "related=1"), DAT_HA_CONFLICTING);
}

static void no_answer(void)
{
	weigh(LINE("a", "related=1") LINE("b", ""), DAT_HA_UNKNOWN);
	weigh(LINE("a", "holes") LINE("b", "related=1"), DAT_HA_UNKNOWN);
}

static void asked_by_name(void)
{
	rig_load(LINE("a", "related=1") LINE("b", "related=1"));
	rig_must_open("a");
	rig_must_open("b");
	rig_forget_notes();
	CHECK_RET(ask("a", "b"), DAT_SUCCESS);
	CHECK_NOTES("related a to b", "related b to a");
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)2, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

void add_related_suite(void)
{
	CU_pSuite s = CU_add_suite("dat_registry_providers_related", NULL, NULL);

	ADD_OURS(s, "NULL arguments, names that nobody knows", arguments);
	ADD_OURS(s, "a name is related to itself", same_name);
	ADD_OURS(s, "without open IAs the answer is UNKNOWN, and nothing is loaded", nobody_open);
	ADD_OURS(s, "both say yes: TRUE", both_true);
	ADD_OURS(s, "both say no: FALSE", both_false);
	ADD_OURS(s, "they disagree: CONFLICTING", conflict);
	ADD_OURS(s, "one has no answer: UNKNOWN", no_answer);
	ADD_OURS(s, "each provider is asked about the other's name", asked_by_name);
}
