/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests dat_registry_list_providers. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "rig.h"

#define THREE LINE("a", "") LINE("b", "") LINE("c", "")

static DAT_PROVIDER_INFO info[4];
static DAT_PROVIDER_INFO *list[4];

static void begin(void)
{
	int i;

	memset(info, 0x55, sizeof(info));
	for (i = 0; i < 4; i++)
		list[i] = &info[i];
	rig_load(THREE);
}

static void null_count(void)
{
	begin();
	CHECK_RET(dat.registry_list_providers(4, NULL, list), RET_ARG2);
	CHECK_RET(dat.registry_list_providers(0, NULL, NULL), RET_ARG2);
	rig_unload();
}

static void zero_max(void)
{
	DAT_COUNT n = -1;

	begin();
	CHECK_RET(dat.registry_list_providers(0, &n, list), RET_ARG1);
	CU_ASSERT_EQUAL(n, 3);
	n = -1;
	CHECK_RET(dat.registry_list_providers(0, &n, NULL), RET_ARG1);
	CU_ASSERT_EQUAL(n, 3);
	CU_ASSERT_EQUAL(info[0].ia_name[0], 0x55);
	rig_unload();
}

static void null_list(void)
{
	DAT_COUNT n = 77;

	begin();
	CHECK_RET(dat.registry_list_providers(4, &n, NULL), RET_ARG3);
	CU_ASSERT_EQUAL(n, 3);
	n = 77;
	CHECK_RET(dat.registry_list_providers(1, &n, NULL), RET_ARG3);
	CU_ASSERT_EQUAL(n, 3);
	rig_unload();
}

static void null_element(void)
{
	DAT_COUNT n = 77;

	begin();
	list[1] = NULL;
	CHECK_RET(dat.registry_list_providers(4, &n, list), RET_ARG3);
	CU_ASSERT_EQUAL(n, 3);
	rig_unload();
}

/* The element lies after those that would be filled. */
static void null_spare_element(void)
{
	DAT_COUNT n = 77;

	begin();
	list[3] = NULL;
	CHECK_RET(dat.registry_list_providers(4, &n, list), DAT_SUCCESS);
	CU_ASSERT_EQUAL(n, 3);
	rig_unload();
}

static void short_list(void)
{
	DAT_COUNT n = 77;

	begin();
	CHECK_RET(dat.registry_list_providers(2, &n, list), DAT_SUCCESS);
	CU_ASSERT_EQUAL(n, 2);
	CU_ASSERT_STRING_EQUAL(info[0].ia_name, "a");
	CU_ASSERT_STRING_EQUAL(info[1].ia_name, "b");
	CU_ASSERT_EQUAL(info[2].ia_name[0], 0x55);
	rig_unload();
}

static void exact_list(void)
{
	DAT_COUNT n = 77;

	begin();
	CHECK_RET(dat.registry_list_providers(3, &n, list), DAT_SUCCESS);
	CU_ASSERT_EQUAL(n, 3);
	CU_ASSERT_STRING_EQUAL(info[2].ia_name, "c");
	CU_ASSERT_EQUAL(info[2].dapl_version_major, MAJOR);
	CU_ASSERT_EQUAL(info[2].dapl_version_minor, MINOR);
	CU_ASSERT_EQUAL(info[2].is_thread_safe, DAT_FALSE);
	CU_ASSERT_EQUAL(info[3].ia_name[0], 0x55);
	rig_unload();
}

static void unreadable(void)
{
	DAT_COUNT n = 77;

	setenv("DAT_OVERRIDE", "/nonexistent/dat.conf", 1);
	rig_capture_stderr();
	rig_load(NULL);
	memset(info, 0x55, sizeof(info));
	list[0] = &info[0];
	CHECK_RET(dat.registry_list_providers(4, &n, list), DAT_SUCCESS);
	CU_ASSERT_EQUAL(n, 0);
	rig_captured();
	rig_unload();
}

static void loads_nothing(void)
{
	begin();
	CHECK_TEXT(rig_list() ? "listed" : NULL, "listed");
	CHECK_NO_LOG();
	CU_ASSERT_FALSE(rig_fake_mapped());
	rig_unload();
}

void add_list_suite(void)
{
	CU_pSuite s = CU_add_suite("dat_registry_list_providers", NULL, NULL);

	ADD(s, "count pointer NULL: ARG2", null_count);
	ADD(s, "maximum 0: ARG1 and the number of entries", zero_max);
	ADD(s, "list NULL: ARG3 and the number of entries", null_list);
	ADD(s, "a NULL element that would be filled: ARG3 and the number of entries", null_element);
	ADD(s, "a NULL element behind the last entry does no harm", null_spare_element);
	ADD(s, "a list too short is filled and reports its own size", short_list);
	ADD(s, "a list that fits holds name, version and thread-safety", exact_list);
	ADD(s, "an unreadable DAT_OVERRIDE is an empty registry without fallback", unreadable);
	ADD(s, "listing loads no provider", loads_nothing);
}
