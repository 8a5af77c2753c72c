/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests dat_extension_op. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "rig.h"

#define NOT_IMPLEMENTED 0xBFFF0000u

static void not_enabled(void)
{
	int stray;

	rig_load(LINE("a", ""));
	rig_must_open("a");
	rig_clear_log();
	CHECK_RET(dat.extension_op((DAT_HANDLE)1, 5, 77), NOT_IMPLEMENTED);
	CHECK_RET(dat.extension_op((DAT_HANDLE)7, 5, 77), NOT_IMPLEMENTED);
	CHECK_RET(dat.extension_op((DAT_HANDLE)&stray, 5, 77), NOT_IMPLEMENTED);
	CHECK_RET(dat.extension_op((DAT_HANDLE)&stray, DAT_CLOSE_EXTENSION_BASE, 77),
		  NOT_IMPLEMENTED);
	CHECK_NO_LOG();
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void null_handle(void)
{
	rig_load(LINE("a", "ext"));
	CHECK_RET(dat.extension_op(DAT_HANDLE_NULL, 5, 77), 0x8005001Bu);
	rig_must_open("a");
	CHECK_RET(dat.extension_op(DAT_HANDLE_NULL, 5, 77), 0x8005001Bu);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static bool reached(void *own, DAT_EXTENDED_OP op, int value)
{
	return fake_state.slot == 80 && fake_state.handle == own && fake_state.num_args == 3 &&
	       !memcmp(fake_state.arg[2], &op, sizeof(op)) &&
	       !memcmp(fake_state.arg[3], &value, sizeof(value));
}

static void by_ia(void)
{
	rig_load(LINE("a", "ext"));
	rig_must_open("a");
	CHECK_RET(dat.extension_op((DAT_HANDLE)1, 5, 77), FAKE_ANSWER(80));
	CU_ASSERT(reached(fake_state.last_own, 5, 77));
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void by_object(void)
{
	struct {
		const DAT_PROVIDER *provider;
	} object;

	rig_load(LINE("a", "ext"));
	rig_must_open("a");
	object.provider = *(const DAT_PROVIDER **)fake_state.last_own;
	CHECK_RET(dat.extension_op(&object, 6, 78), FAKE_ANSWER(80));
	CU_ASSERT(reached(&object, 6, 78));
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

/* Once one provider supports extensions, calls on any other are passed as well. */
static void whole_process(void)
{
	rig_load(LINE("a", "") LINE("b", "ext"));
	rig_must_open("a");
	CHECK_RET(dat.extension_op((DAT_HANDLE)1, 5, 77), NOT_IMPLEMENTED);
	rig_must_open("b");
	CHECK_RET(dat.extension_op((DAT_HANDLE)1, 5, 77), FAKE_ANSWER(80));
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)2, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.extension_op((DAT_HANDLE)1, 5, 77), FAKE_ANSWER(80));
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void no_slot(void)
{
	rig_load(LINE("a", "holes ext"));
	rig_must_open("a");
	CHECK_RET(dat.extension_op((DAT_HANDLE)1, 5, 77), NOT_IMPLEMENTED);
	CHECK_RET(dat.extension_op((DAT_HANDLE)7, 5, 77), 0x8005001Bu);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void open_null_name(void)
{
	rig_load(LINE("a", ""));
	CHECK_RET(dat.extension_op(DAT_HANDLE_NULL, DAT_OPEN_EXTENSION_BASE, NULL), 0x80050027u);
	rig_unload();
}

static void open_unknown_name(void)
{
	rig_load(LINE("a", ""));
	CHECK_RET(dat.extension_op(DAT_HANDLE_NULL, DAT_OPEN_EXTENSION_BASE, "b"),
		  RET_NOT_REGISTERED);
	CHECK_NO_LOG();
	rig_unload();
}

static void open_refused(void)
{
	void *object = NULL;

	rig_load(LINE("a", "open=0x80030003"));
	CHECK_RET(dat.extension_op(DAT_HANDLE_NULL, DAT_OPEN_EXTENSION_BASE, "a", &object),
		  DAT_CLASS_ERROR | DAT_INVALID_PARAMETER);
	CHECK_LOG("init a 2.0 ts=0 [open=0x80030003]", "extension open a op=1000", "fini a");
	CU_ASSERT_FALSE(rig_fake_mapped());
	rig_unload();
}

/* The provider stays loaded from the open to the close operation, regardless of IAs. */
static void open_and_close(void)
{
	void *object = NULL;

	rig_load(LINE("a", "ext"));
	CHECK_RET(dat.extension_op(DAT_HANDLE_NULL, DAT_OPEN_EXTENSION_BASE | 3, "a", &object),
		  DAT_SUCCESS);
	CHECK_LOG("init a 2.0 ts=0 [ext]", "extension open a op=1003");
	CU_ASSERT_PTR_NOT_NULL_FATAL(object);
	rig_must_open("a");
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_clear_log();
	CU_ASSERT_TRUE(rig_fake_mapped());
	CHECK_RET(dat.extension_op(object, DAT_CLOSE_EXTENSION_BASE | 4, 9), DAT_SUCCESS);
	CHECK_LOG("extension close op=2004 arg=9", "fini a");
	CU_ASSERT_FALSE(rig_fake_mapped());
	rig_unload();
}

/* A program that opens no IA can make both calls; the handle of an IA is none of the second. */
static void open_alone(void)
{
	void *object = NULL;

	rig_load(LINE("a", ""));
	CHECK_RET(dat.extension_op(DAT_HANDLE_NULL, DAT_OPEN_EXTENSION_BASE | 3, "a", &object),
		  DAT_SUCCESS);
	CU_ASSERT_PTR_NOT_NULL_FATAL(object);
	CHECK_RET(dat.extension_op(object, DAT_CLOSE_EXTENSION_BASE | 4, 9), DAT_SUCCESS);
	CHECK_LOG("init a 2.0 ts=0 []", "extension open a op=1003", "extension close op=2004 arg=9",
		  "fini a");
	rig_must_open("a");
	CHECK_RET(dat.extension_op((DAT_HANDLE)1, DAT_CLOSE_EXTENSION_BASE | 4, 9), 0x8005001Bu);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

void add_extension_suite(void)
{
	CU_pSuite s = CU_add_suite("dat_extension_op", NULL, NULL);

	ADD(s, "a handle without any extensions enabled: NOT_IMPLEMENTED", not_enabled);
	ADD(s, "a NULL handle: INVALID_HANDLE1", null_handle);
	ADD(s, "an IA number is translated, op and arguments go through", by_ia);
	ADD(s, "an object leads to its provider", by_object);
	ADD(s, "one provider enables them for the whole process", whole_process);
	ADD_OURS(s, "a provider without the slot: NOT_IMPLEMENTED", no_slot);
	ADD(s, "open form: name NULL", open_null_name);
	ADD(s, "open form: an unknown name", open_unknown_name);
	ADD(s, "open form: a refusal drops the counts", open_refused);
	ADD(s, "open form loads, close form unloads", open_and_close);
	ADD_OURS(s, "open and close form without an IA", open_alone);
}
