/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the steps of dat_ia_close, and the IA table in both directions. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "rig.h"

#if DAT_API_MAJOR == 1
#define CLOSE_QUERY "query ia=0 provider=3ffffff evd=none"
#define TO_VALUE(h) ((unsigned long)(h))
#else
#define CLOSE_QUERY "query ia=0 provider=7fffffff evd=none"
#define TO_VALUE(h) ((DAT_IA_HANDLE)(h))
#endif

static void bad_handles(void)
{
	DAT_IA_HANDLE ia;
	int stray;

	rig_load(LINE("a", ""));
	CHECK_RET(dat.ia_close(DAT_HANDLE_NULL, DAT_CLOSE_ABRUPT_FLAG), RET_BAD_IA);
	ia = rig_must_open("a");
	rig_clear_log();
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)7, DAT_CLOSE_ABRUPT_FLAG), RET_BAD_IA);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)&stray, DAT_CLOSE_ABRUPT_FLAG), RET_BAD_IA);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)~0ul, DAT_CLOSE_ABRUPT_FLAG), RET_BAD_IA);
	CHECK_NO_LOG();
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), RET_BAD_IA);
	rig_unload();
}

static void flags_pass(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", ""));
	ia = rig_must_open("a");
	rig_clear_log();
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_LOG(CLOSE_QUERY, "close flags=0", "fini a");
	rig_unload();
}

static void refused(void)
{
	DAT_IA_HANDLE ia, own = DAT_HANDLE_NULL;

	rig_load(LINE("a", "close=0x80070050"));
	ia = rig_must_open("a");
	rig_clear_log();
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), 0x80070050u);
	CHECK_LOG(CLOSE_QUERY, "close flags=1");
	CHECK_RET(dat.get_ia_handle(TO_VALUE(ia), &own), DAT_SUCCESS);
	CU_ASSERT_PTR_EQUAL(own, fake_state.last_own);
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

/* The key is rebuilt from the attributes; if they differ, no entry is found to unload. */
static void wrong_version_child(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", "ver=7.3"));
	ia = rig_must_open("a");
	rig_clear_log();
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), RET_NOT_REGISTERED);
	CHECK_LOG(CLOSE_QUERY, "close flags=0");
	CU_ASSERT_TRUE(rig_fake_mapped());
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), RET_BAD_IA);
}

static void wrong_thread_safety_child(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", "ts=1"));
	ia = rig_must_open("a");
	rig_clear_log();
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), RET_NOT_REGISTERED);
	CHECK_LOG(CLOSE_QUERY, "close flags=0");
	CU_ASSERT_TRUE(rig_fake_mapped());
}

/* If the query fails, the provider is not closed. */
static void query_fails_child(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", "query=0x80040000"));
	ia = rig_must_open("a");
	rig_clear_log();
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), 0x80040000u);
	CHECK_LOG(CLOSE_QUERY);
}

static void wrong_version(void)
{
	rig_in_child(wrong_version_child);
}

static void wrong_thread_safety(void)
{
	rig_in_child(wrong_thread_safety_child);
}

static void query_fails(void)
{
	rig_in_child(query_fails_child);
}

static DAT_IA_HANDLE seen_in_open, seen_in_query;
static DAT_RETURN ret_in_query, ret_in_close;

static void look_up(const char *where, const char *name, void *own)
{
	(void)name;
	if (!strcmp(where, "query"))
		ret_in_query = dat.get_ia_handle(TO_VALUE(own), &seen_in_query);
	if (!strcmp(where, "close"))
		ret_in_close = dat.get_ia_handle(TO_VALUE(own), &seen_in_open);
}

static void translate(void)
{
	DAT_IA_HANDLE ia, out;
	int stray;

	rig_load(LINE("a", ""));
	rig_must_open("a");
	ia = rig_must_open("a");
	out = DAT_HANDLE_NULL;
	CHECK_RET(dat.get_ia_handle(TO_VALUE(2), &out), DAT_SUCCESS);
	CU_ASSERT_PTR_EQUAL(out, fake_state.last_own);
	CHECK_RET(dat.get_ia_handle(TO_VALUE(7), &out), RET_BAD_IA);
	CHECK_RET(dat.get_ia_handle(TO_VALUE(0), &out), RET_BAD_IA);
	CHECK_RET(dat.get_ia_handle(TO_VALUE(&stray), &out), RET_BAD_IA);
	CU_ASSERT(rig_foreign || out == fake_state.last_own);
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.get_ia_handle(TO_VALUE(2), &out), RET_BAD_IA);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void translate_own(void)
{
	DAT_IA_HANDLE ia, out = DAT_HANDLE_NULL;

	rig_load(LINE("a", ""));
	rig_must_open("a");
	ia = rig_must_open("a");
	CHECK_RET(dat.get_ia_handle(TO_VALUE(fake_state.last_own), &out), DAT_SUCCESS);
	CU_ASSERT_PTR_EQUAL(out, ia);
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void translate_null(void)
{
	rig_load(LINE("a", ""));
	rig_must_open("a");
	CHECK_RET(dat.get_ia_handle(TO_VALUE(1), NULL), RET_ARG2);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

/* The provider may look up its IA in the query after an open and in every later call. */
static void translate_inside(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", ""));
	fake_state.hook = look_up;
	ret_in_query = ret_in_close = RET_BAD_IA;
	seen_in_query = seen_in_open = DAT_HANDLE_NULL;
	ia = rig_must_open("a");
	if (DAT_API_MAJOR >= 2) {
		CHECK_RET(ret_in_query, DAT_SUCCESS);
		CU_ASSERT_PTR_EQUAL(seen_in_query, ia);
	}
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(ret_in_query, DAT_SUCCESS);
	CHECK_RET(ret_in_close, DAT_SUCCESS);
	CU_ASSERT_PTR_EQUAL(seen_in_open, ia);
	rig_unload();
}

static DAT_RETURN second_close;

static void close_again(const char *where, const char *name, void *own)
{
	(void)name;
	(void)own;
	if (strcmp(where, "close"))
		return;
	fake_state.hook = NULL;
	second_close = dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG);
}

static void close_twice(void)
{
	rig_load(LINE("a", ""));
	rig_must_open("a");
	fake_state.hook = close_again;
	second_close = DAT_SUCCESS;
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(second_close, RET_BAD_IA);
	CU_ASSERT_EQUAL(fake_state.closes, 1);
	rig_unload();
}

void add_close_suite(void)
{
	CU_pSuite s = CU_add_suite("dat_ia_close, dats_get_ia_handle", NULL, NULL);

	ADD(s, "1: NULL, a number out of use, a stray pointer, a closed IA", bad_handles);
	ADD(s, "2-4: query, close, fini", flags_pass);
	ADD(s, "3: a refused close changes nothing", refused);
	ADD(s, "2: a failing query ends the close", query_fails);
	ADD(s, "4: attributes with another version: NAME_NOT_REGISTERED, stays loaded",
	    wrong_version);
	ADD(s, "4: attributes with another thread-safety: likewise", wrong_thread_safety);
	ADD(s, "translation: a slot number gives the provider's IA", translate);
	if (DAT_API_MAJOR >= 2)
		ADD(s, "translation: the provider's IA gives the slot number", translate_own);
	else
		ADD_OURS(s, "translation: the provider's IA gives the slot number", translate_own);
	ADD_OURS(s, "translation: a NULL result pointer gives ARG2", translate_null);
	if (DAT_API_MAJOR >= 2)
		ADD(s, "translation: works from the query behind the open on", translate_inside);
	else
		ADD_OURS(s, "translation: works from the query of the close on", translate_inside);
	ADD_OURS(s, "1: a close from inside a close finds no IA", close_twice);
}
