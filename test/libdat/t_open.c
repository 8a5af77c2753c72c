/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the order of the steps of dat_ia_openv, and how it undoes them. */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

#if DAT_API_MAJOR == 1
#define V "1.2"
#define AND_QUERY /* 1.2 does not look at a new IA */
#define CLOSE_QUERY "query ia=0 provider=3ffffff evd=none"
#else
#define V "2.0"
#define AND_QUERY , "query ia=3fffffffff provider=0 evd=none"
#define CLOSE_QUERY "query ia=0 provider=7fffffff evd=none"
#endif

static void bad_name(void)
{
	char name[300];
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)99;

	rig_load(LINE("a", ""));
	CHECK_RET(rig_open(NULL, &ia), RET_ARG1);
	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	CHECK_RET(rig_open(name, &ia), RET_ARG1);
	name[255] = '\0';
	rig_capture_stderr();
	CHECK_RET(rig_open(name, &ia), RET_NOT_REGISTERED);
	rig_captured();
	CU_ASSERT_PTR_EQUAL(ia, (DAT_IA_HANDLE)99);
	CHECK_NO_LOG();
	rig_unload();
}

static void null_ia(void)
{
	rig_load(LINE("a", ""));
	CHECK_RET(rig_open("a", NULL), RET_BAD_IA);
	CHECK_RET(rig_open(NULL, NULL), RET_ARG1);
	CHECK_NO_LOG();
	rig_unload();
}

static void unknown_name(void)
{
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)99;

	rig_load(LINE("a", ""));
	rig_capture_stderr();
	CHECK_RET(rig_open("b", &ia), RET_NOT_REGISTERED);
	CHECK_RET(rig_open("A", &ia), RET_NOT_REGISTERED);
	CHECK_RET(rig_open("", &ia), RET_NOT_REGISTERED);
	rig_captured();
	CU_ASSERT_PTR_EQUAL(ia, (DAT_IA_HANDLE)99);
	CHECK_NO_LOG();
	rig_unload();
}

static void exact_version(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", ""));
	rig_capture_stderr();
	CHECK_RET(dat.ia_openv("a", 8, &evd, &ia, MAJOR, MINOR + 1, DAT_FALSE), RET_NOT_REGISTERED);
	CHECK_RET(dat.ia_openv("a", 8, &evd, &ia, MAJOR, MINOR - 1, DAT_FALSE), RET_NOT_REGISTERED);
	CHECK_RET(dat.ia_openv("a", 8, &evd, &ia, MAJOR + 1, MINOR, DAT_FALSE), RET_NOT_REGISTERED);
	CHECK_RET(dat.ia_openv("a", 8, &evd, &ia, MAJOR, MINOR, DAT_TRUE), RET_NOT_REGISTERED);
	rig_captured();
	CHECK_NO_LOG();
	rig_unload();
}

static void thread_safety(void)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	rig_load("a " API " threadsafe default FAKE fake.1.0 \"one\" \"\"\n" LINE("a", "two"));
	CHECK_RET(dat.ia_openv("a", 8, &evd, &ia, MAJOR, MINOR, DAT_TRUE), DAT_SUCCESS);
	CHECK_LOG("init a " V " ts=1 [one]", "open a qlen=8 evd=given" AND_QUERY);
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_clear_log();
	CHECK_RET(dat.ia_openv("a", 8, &evd, &ia, MAJOR, MINOR, DAT_FALSE), DAT_SUCCESS);
	CHECK_LOG("init a " V " ts=0 [two]", "open a qlen=8 evd=given" AND_QUERY);
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void sequence(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", "ib0 0"));
	CU_ASSERT_FALSE(rig_fake_mapped());
	ia = rig_must_open("a");
	CU_ASSERT_TRUE(rig_fake_mapped());
	CHECK_LOG("init a " V " ts=0 [ib0 0]", "open a qlen=8 evd=given" AND_QUERY);
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	CHECK_LOG(CLOSE_QUERY, "close flags=1", "fini a");
	CU_ASSERT_FALSE(rig_fake_mapped());
	rig_unload();
}

/* The lookup binds the library to this program permanently. */
static void global_symbols_child(void)
{
	rig_load(LINE("a", ""));
	CU_ASSERT_PTR_NULL(dlsym(RTLD_DEFAULT, "dat_provider_init"));
	rig_must_open("a");
	CU_ASSERT_PTR_NOT_NULL(dlsym(RTLD_DEFAULT, "dat_provider_init"));
}

static void global_symbols(void)
{
	rig_in_child(global_symbols_child);
}

static void no_async_evd(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", ""));
	CHECK_RET(dat.ia_openv("a", -3, NULL, &ia, MAJOR, MINOR, DAT_FALSE), DAT_SUCCESS);
	CHECK_LOG("init a " V " ts=0 []", "open a qlen=-3 evd=none" AND_QUERY);
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void slots(void)
{
	DAT_IA_HANDLE one, two, three;

	rig_load(LINE("a", "") LINE("b", ""));
	one = rig_must_open("a");
	two = rig_must_open("b");
	three = rig_must_open("a");
	CU_ASSERT_PTR_EQUAL(one, (DAT_IA_HANDLE)1);
	CU_ASSERT_PTR_EQUAL(two, (DAT_IA_HANDLE)2);
	CU_ASSERT_PTR_EQUAL(three, (DAT_IA_HANDLE)3);
	CHECK_RET(dat.ia_close(two, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_PTR_EQUAL(rig_must_open("a"), (DAT_IA_HANDLE)2);
	CHECK_RET(dat.ia_close(one, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_PTR_EQUAL(rig_must_open("b"), (DAT_IA_HANDLE)1);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)2, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)3, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void many(void)
{
	uintptr_t i;

	rig_load(LINE("a", ""));
	fake_state.log_off = true;
	for (i = 1; i <= 300; i++)
		CU_ASSERT_PTR_EQUAL(rig_must_open("a"), (DAT_IA_HANDLE)i);
	for (i = 1; i <= 300; i++)
		CHECK_RET(dat.ia_close((DAT_IA_HANDLE)i, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_EQUAL(fake_state.inits, 1);
	CU_ASSERT_EQUAL(fake_state.finis, 1);
	CU_ASSERT_EQUAL(fake_state.closes, 300);
	rig_unload();
}

static void use_counts(void)
{
	DAT_IA_HANDLE a1, a2, b;

	rig_load(LINE("a", "") LINE("b", ""));
	fake_state.log_off = true;
	a1 = rig_must_open("a");
	a2 = rig_must_open("a");
	CU_ASSERT_EQUAL(fake_state.inits, 1);
	b = rig_must_open("b");
	CU_ASSERT_EQUAL(fake_state.inits, 2);
	CHECK_RET(dat.ia_close(a1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_EQUAL(fake_state.finis, 0);
	CHECK_RET(dat.ia_close(a2, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_EQUAL(fake_state.finis, 1);
	CU_ASSERT_TRUE(rig_fake_mapped());
	CHECK_RET(dat.ia_close(b, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_EQUAL(fake_state.finis, 2);
	CU_ASSERT_FALSE(rig_fake_mapped());
	rig_unload();
}

static void failed_open(void)
{
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)99;

	rig_load(LINE("a", "open=0x80030003"));
	rig_capture_stderr();
	CHECK_RET(rig_open("a", &ia), 0x80030003u);
	rig_captured();
	CU_ASSERT_PTR_EQUAL(ia, (DAT_IA_HANDLE)99);
	rig_unload();
}

/* The original 1.2 kept the counts raised here; dropping them is right in both. */
static void failed_open_drops(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", "open=0x80030003"));
	rig_capture_stderr();
	rig_open("a", &ia);
	rig_captured();
	CHECK_LOG("init a " V " ts=0 [open=0x80030003]", "open a qlen=8 evd=given", "fini a");
	CU_ASSERT_FALSE(rig_fake_mapped());
	rig_unload();
}

/* The value is returned unchanged, even without the class bit. */
static void bare_failure(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", "open=0x90000"));
	rig_capture_stderr();
	CHECK_RET(rig_open("a", &ia), 0x90000u);
	rig_captured();
	rig_unload();
}

static void no_registration(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", "noreg"));
	rig_capture_stderr();
	CHECK_RET(rig_open("a", &ia), RET_NOT_REGISTERED);
	rig_captured();
	CHECK_LOG("init a " V " ts=0 [noreg]");
	rig_unload();
}

static void no_registration_unloads(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", "noreg"));
	rig_capture_stderr();
	rig_open("a", &ia);
	rig_open("a", &ia);
	rig_captured();
	CHECK_LOG("init a " V " ts=0 [noreg]", "init a " V " ts=0 [noreg]");
	CU_ASSERT_FALSE(rig_fake_mapped());
	rig_unload();
}

static void missing_library(void)
{
	DAT_IA_HANDLE ia;

	rig_load("a " API " nonthreadsafe default /nonexistent.so d.1.0 \"\" \"\"\n");
	rig_capture_stderr();
	CHECK_RET(rig_open("a", &ia), RET_NOT_REGISTERED);
	rig_captured();
	rig_unload();
}

/* A system library that is not a provider. */
static void no_provider(void)
{
	DAT_IA_HANDLE ia;

	rig_load("a " API " nonthreadsafe default libm.so.6 d.1.0 \"\" \"\"\n");
	rig_capture_stderr();
	CHECK_RET(rig_open("a", &ia), RET_NOT_REGISTERED);
	rig_captured();
	rig_unload();
}

static void chained(void)
{
	DAT_IA_HANDLE ia;

	rig_load("a " API
		 " nonthreadsafe default /nonexistent.so d.1.0 \"one\" \"\"\n" LINE("a", "two")
			 LINE("a", "three"));
	rig_capture_stderr();
	ia = rig_must_open("a");
	rig_captured();
	CHECK_LOG("init a " V " ts=0 [two]", "open a qlen=8 evd=given" AND_QUERY);
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

/* Only loading counts: no further candidate is tried if the provider itself fails. */
static void chained_refusal(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", "open=0x80030003") LINE("a", "two"));
	rig_capture_stderr();
	CHECK_RET(rig_open("a", &ia), 0x80030003u);
	rig_captured();
	rig_unload();
}

static void chained_no_registration(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", "noreg") LINE("a", "two"));
	rig_capture_stderr();
	CHECK_RET(rig_open("a", &ia), RET_NOT_REGISTERED);
	rig_captured();
	CHECK_LOG("init a " V " ts=0 [noreg]");
	rig_unload();
}

static void reopened(void)
{
	DAT_IA_HANDLE ia;
	int i;

	rig_load(LINE("a", ""));
	fake_state.log_off = true;
	for (i = 1; i <= 5; i++) {
		ia = rig_must_open("a");
		CU_ASSERT_PTR_EQUAL(ia, (DAT_IA_HANDLE)1);
		CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
		CU_ASSERT_EQUAL(fake_state.inits, i);
		CU_ASSERT_EQUAL(fake_state.finis, i);
	}
	rig_unload();
}

/* A registration that fini leaves would point into an unmapped library. */
static void sloppy_fini(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", "keep"));
	fake_state.log_off = true;
	ia = rig_must_open("a");
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_FALSE(rig_fake_mapped());
	ia = rig_must_open("a");
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

/* The library stays mapped for another name; the registration must still be removed. */
static void sloppy_shared_fini(void)
{
	DAT_IA_HANDLE ia, other;

	rig_load(LINE("a", "keep") LINE("b", ""));
	other = rig_must_open("b");
	ia = rig_must_open("a");
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_TRUE(rig_fake_mapped());
	ia = rig_must_open("a");
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_EQUAL(fake_state.inits, 3);
	CU_ASSERT_EQUAL(fake_state.finis, 3);
	rig_unload();
}

/* A provider that opens its own name in init would deadlock. */
static DAT_RETURN inner_result;

static void open_in_init(const char *where, const char *name, void *own)
{
	DAT_IA_HANDLE ia;

	(void)own;
	if (strcmp(where, "init"))
		return;
	fake_state.hook = NULL;
	inner_result = rig_open(name, &ia);
}

static void recursive(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", ""));
	fake_state.hook = open_in_init;
	inner_result = DAT_SUCCESS;
	rig_capture_stderr();
	ia = rig_must_open("a");
	rig_captured();
	CHECK_RET(inner_result, RET_NOT_REGISTERED);
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

void add_open_suite(void)
{
	CU_pSuite s = CU_add_suite("dat_ia_openv", NULL, NULL);

	ADD(s, "1: name NULL or of 256 characters gives ARG1", bad_name);
	ADD(s, "2: ia pointer NULL gives the IA handle error, after the name", null_ia);
	ADD(s, "4: an unknown name gives NAME_NOT_REGISTERED and loads nothing", unknown_name);
	ADD(s, "4: other versions or thread-safety do not match", exact_version);
	ADD(s, "4: entries that differ in thread-safety alone are distinguished", thread_safety);
	ADD(s, "5-9: load, init, open, query; last close ends with fini, dlclose", sequence);
	ADD(s, "5: the library's symbols are global", global_symbols);
	ADD(s, "7: queue length and EVD pointer go through unchecked", no_async_evd);
	ADD(s, "8: slots count from 1, the lowest free one is reused", slots);
	ADD(s, "8: the table grows", many);
	ADD(s, "5: init once per name, fini once per init, whatever is open", use_counts);
	ADD(s, "7: the provider's failure is passed on, the handle not written", failed_open);
	if (DAT_API_MAJOR >= 2)
		ADD(s, "7: a failed open drops the counts: fini runs", failed_open_drops);
	else
		ADD_OURS(s, "7: a failed open drops the counts: fini runs", failed_open_drops);
	ADD(s, "7: a failure without class bit is a failure", bare_failure);
	ADD(s, "6: an init that does not register: NAME_NOT_REGISTERED, no fini", no_registration);
	ADD_OURS(s, "6: such a library is unloaded and tried again next time",
		 no_registration_unloads);
	ADD(s, "5: a library that cannot be loaded: NAME_NOT_REGISTERED", missing_library);
	ADD(s, "5: a library without init and fini: NAME_NOT_REGISTERED", no_provider);
	ADD(s, "5: equal entries are tried until one can be loaded", chained);
	ADD(s, "5: once loaded, the chain ends even if the provider refuses", chained_refusal);
	ADD(s, "5: nor if its init does not register", chained_no_registration);
	ADD(s, "5: a name can be opened again after its last close", reopened);
	ADD_OURS(s, "5: a registration that fini forgot is removed", sloppy_fini);
	ADD_OURS(s, "5: also when the library stays for another name", sloppy_shared_fini);
	ADD_OURS(s, "5: an open of the same name from inside init is refused", recursive);
}
