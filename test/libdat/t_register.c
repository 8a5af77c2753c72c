/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests how providers are added to and removed from the registry. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "rig.h"

static DAT_PROVIDER table;

static DAT_PROVIDER_INFO make_info(const char *name, unsigned int major, unsigned int minor,
				   DAT_BOOLEAN thread_safe)
{
	DAT_PROVIDER_INFO info;

	memset(&info, 0, sizeof(info));
	strcpy(info.ia_name, name);
	info.dapl_version_major = major;
	info.dapl_version_minor = minor;
	info.is_thread_safe = thread_safe;
	return info;
}

static void add_null_provider(void)
{
	DAT_PROVIDER_INFO info = make_info("x", MAJOR, MINOR, DAT_FALSE);

	rig_load("");
	CHECK_RET(dat.registry_add_provider(NULL, &info), RET_ARG1);
	rig_unload();
}

static void add_null_info(void)
{
	DAT_PROVIDER_INFO info = make_info("x", MAJOR, MINOR, DAT_FALSE);

	rig_load("");
	CHECK_RET(dat.registry_add_provider(&table, NULL), RET_ARG2);
	memset(info.ia_name, 'x', sizeof(info.ia_name));
	CHECK_RET(dat.registry_add_provider(&table, &info), RET_ARG2);
	rig_unload();
}

static void add_twice(void)
{
	DAT_PROVIDER_INFO info = make_info("x", MAJOR, MINOR, DAT_FALSE);
	DAT_PROVIDER_INFO other;

	rig_load("");
	CHECK_RET(dat.registry_add_provider(&table, &info), DAT_SUCCESS);
	CHECK_RET(dat.registry_add_provider(&table, &info), RET_ALREADY_REGISTERED);
	other = make_info("x", MAJOR, MINOR, DAT_TRUE);
	CHECK_RET(dat.registry_add_provider(&table, &other), DAT_SUCCESS);
	CHECK_RET(dat.registry_remove_provider(&table, &other), DAT_SUCCESS);
	other = make_info("x", MAJOR, MINOR + 1, DAT_FALSE);
	CHECK_RET(dat.registry_add_provider(&table, &other), DAT_SUCCESS);
	CHECK_RET(dat.registry_remove_provider(&table, &other), DAT_SUCCESS);
	CHECK_RET(dat.registry_remove_provider(&table, &info), DAT_SUCCESS);
	rig_unload();
}

static void remove_null(void)
{
	DAT_PROVIDER_INFO info = make_info("x", MAJOR, MINOR, DAT_FALSE);

	rig_load("");
	CHECK_RET(dat.registry_remove_provider(NULL, &info), RET_ARG1);
	rig_unload();
}

static void remove_null_info(void)
{
	rig_load("");
	CHECK_RET(dat.registry_remove_provider(&table, NULL), RET_ARG2);
	rig_unload();
}

static void remove_unknown(void)
{
	DAT_PROVIDER_INFO info = make_info("x", MAJOR, MINOR, DAT_FALSE);

	rig_load("");
	CHECK_RET(dat.registry_remove_provider(&table, &info), RET_NOT_REGISTERED);
	CHECK_RET(dat.registry_add_provider(&table, &info), DAT_SUCCESS);
	CHECK_RET(dat.registry_remove_provider(&table, &info), DAT_SUCCESS);
	CHECK_RET(dat.registry_remove_provider(&table, &info), RET_NOT_REGISTERED);
	rig_unload();
}

static void info_is_copied(void)
{
	DAT_PROVIDER_INFO info = make_info("x", MAJOR, MINOR, DAT_FALSE), copy = info;

	rig_load("");
	CHECK_RET(dat.registry_add_provider(&table, &info), DAT_SUCCESS);
	memset(&info, 0, sizeof(info));
	CHECK_RET(dat.registry_remove_provider(&table, &copy), DAT_SUCCESS);
	rig_unload();
}

/* A provider registered by the program: no dat.conf, no library. */
static int own_opens, own_closes;
static struct {
	DAT_PROVIDER *provider;
} own_ia;

static DAT_RETURN own_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			   DAT_IA_HANDLE *ia)
{
	(void)name;
	(void)qlen;
	(void)async_evd;
	own_opens++;
	*ia = &own_ia;
	return DAT_SUCCESS;
}

static DAT_RETURN own_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
			    DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask,
			    DAT_PROVIDER_ATTR *attr)
{
	(void)ia;
	(void)async_evd;
	(void)ia_mask;
	(void)ia_attr;
	if (mask) {
		attr->dapl_version_major = MAJOR;
		attr->dapl_version_minor = MINOR;
		attr->is_thread_safe = DAT_FALSE;
	}
	return DAT_SUCCESS;
}

static DAT_RETURN own_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	(void)ia;
	(void)flags;
	own_closes++;
	return DAT_SUCCESS;
}

static DAT_PROVIDER own_table = {
	.device_name = "mine",
	.ia_open_func = own_open,
	.ia_query_func = own_query,
	.ia_close_func = own_close,
};

static void open_dynamic(void)
{
	DAT_PROVIDER_INFO info = make_info("mine", MAJOR, MINOR, DAT_FALSE);
	DAT_IA_HANDLE ia;

	rig_load("");
	own_ia.provider = &own_table;
	own_opens = own_closes = 0;
	CHECK_RET(dat.registry_add_provider(&own_table, &info), DAT_SUCCESS);
	ia = rig_must_open("mine");
	CU_ASSERT_EQUAL(own_opens, 1);
	CHECK_RET(dat.registry_remove_provider(&own_table, &info), RET_IN_USE);
	CHECK_TEXT(rig_list(), "");
	dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	CU_ASSERT_EQUAL(own_closes, 1);
	CHECK_RET(dat.registry_remove_provider(&own_table, &info), DAT_SUCCESS);
	rig_unload();
}

static void close_dynamic(void)
{
	DAT_PROVIDER_INFO info = make_info("mine", MAJOR, MINOR, DAT_FALSE);
	DAT_IA_HANDLE ia;

	rig_load("");
	own_ia.provider = &own_table;
	CHECK_RET(dat.registry_add_provider(&own_table, &info), DAT_SUCCESS);
	ia = rig_must_open("mine");
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), RET_BAD_IA);
	CHECK_RET(dat.registry_remove_provider(&own_table, &info), DAT_SUCCESS);
	rig_unload();
}

/*
 * An entry of the file with the same key: its init cannot register, the program's provider stays.
 */
static void own_goes_first(void)
{
	DAT_PROVIDER_INFO info = make_info("mine", MAJOR, MINOR, DAT_FALSE);
	DAT_IA_HANDLE ia;
	int i;

	rig_load(LINE("mine", ""));
	own_ia.provider = &own_table;
	own_opens = 0;
	CHECK_RET(dat.registry_add_provider(&own_table, &info), DAT_SUCCESS);
	for (i = 1; i <= 2; i++) {
		ia = rig_must_open("mine");
		CU_ASSERT_EQUAL(own_opens, i);
		CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	}
	CU_ASSERT_EQUAL(fake_state.finis, 0);
	CU_ASSERT_FALSE(rig_fake_mapped());
	CHECK_RET(dat.registry_remove_provider(&own_table, &info), DAT_SUCCESS);
	rig_unload();
}

static void in_use(void)
{
	DAT_PROVIDER_INFO info = make_info("a", MAJOR, MINOR, DAT_FALSE);
	DAT_IA_HANDLE one, two;

	rig_load(LINE("a", ""));
	one = rig_must_open("a");
	two = rig_must_open("a");
	CHECK_RET(dat.registry_remove_provider(&table, &info), RET_IN_USE);
	CHECK_RET(dat.ia_close(one, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.registry_remove_provider(&table, &info), RET_IN_USE);
	CHECK_RET(dat.ia_close(two, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.registry_remove_provider(&table, &info), RET_NOT_REGISTERED);
	rig_unload();
}

void add_register_suite(void)
{
	CU_pSuite s = CU_add_suite("dat_registry_add_provider, remove_provider", NULL, NULL);

	ADD(s, "add: provider NULL gives ARG1", add_null_provider);
	ADD_OURS(s, "add: info NULL or an endless name gives ARG2", add_null_info);
	ADD(s, "add: same name, version and thread-safety is refused", add_twice);
	ADD(s, "remove: provider NULL gives ARG1", remove_null);
	ADD_OURS(s, "remove: info NULL gives ARG2", remove_null_info);
	ADD(s, "remove: what is not registered gives NAME_NOT_REGISTERED", remove_unknown);
	ADD(s, "add keeps a copy of the info", info_is_copied);
	ADD(s, "a provider of the program itself is opened without any entry", open_dynamic);
	ADD_OURS(s, "closing its IA succeeds", close_dynamic);
	ADD_OURS(s, "it goes before an entry of the same name", own_goes_first);
	ADD(s, "remove: PROVIDER_IN_USE while an IA is open", in_use);
}
