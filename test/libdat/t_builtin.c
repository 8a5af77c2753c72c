/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests names that open without an entry: built-in names, legacy names of absent hardware, names
 * caught by "*".
 */
#include "config.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig.h"

#if DAT_API_MAJOR == 1
#define V "1.2"
#define OTHER_V "2.0"
#define OWN_LIBRARY "libdaplofi.so.1"
#else
#define V "2.0"
#define OTHER_V "1.2"
#define OWN_LIBRARY "libdaplofi.so.2"
#endif
#define BOTH(name) name "/" V "/0 " name "/" V "/1 "
#define OF_FABRICS BOTH("ofi-tcp") BOTH("ofi-shm") BOTH("ofi-rxm") OF_DEVICES
#define OF_DEVICES BOTH("ofi-verbs") BOTH("ofi-efa")
#define BUILTINS BOTH("ofi") OF_FABRICS
/* A library that the loader finds. */
#define FOUND(name, params) \
	name " " API " nonthreadsafe default libc.so.6 d.1.0 \"" params "\" \"\"\n"
#define OWN(name, params) \
	name " " API " nonthreadsafe default " OWN_LIBRARY " d.1.0 \"" params "\" \"\"\n"
#define DEAD(name, params) \
	name " " API " nonthreadsafe default /nonexistent.so d.1.0 \"" params "\" \"\"\n"

static char own_library[PATH_MAX];
static char conf_text[4096];

/* Installs the fake as our provider in the rig's directory, which the loader searches first. */
static int place_provider(void)
{
	snprintf(own_library, sizeof(own_library), "%s/" OWN_LIBRARY, rig_dir());
	return symlink(FAKE_PATH, own_library);
}

static int remove_provider(void)
{
	unlink(own_library);
	return 0;
}

/* Loads the library that was built with a dat.conf in the build tree. */
static void load_with_system_conf(const char *conf)
{
	FILE *f;

	unlink(SYSTEM_CONF_PATH);
	if (conf) {
		f = fopen(SYSTEM_CONF_PATH, "w");
		if (!f)
			abort();
		fputs(conf, f);
		fclose(f);
	}
	rig_load_path(LIBDAT_CONF_PATH, NULL);
}

static void end_system_conf(void)
{
	rig_unload();
	unlink(SYSTEM_CONF_PATH);
}

/* True if the first log line is the init of this name with these parameters, and the IA closes. */
static bool opens_as(const char *name, const char *params)
{
	char expected[160];
	DAT_IA_HANDLE ia;
	bool ok;

	rig_clear_log();
	if (rig_open(name, &ia) != DAT_SUCCESS)
		return false;
	snprintf(expected, sizeof(expected), "init %s " V " ts=0 [%s]", name, params);
	ok = !strcmp(fake_state.log[0], expected);
	if (!ok)
		fprintf(stderr, "%s\n", fake_state.log[0]);
	return dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS && ok;
}

static bool fails(const char *name)
{
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	rig_capture_stderr();
	ret = rig_open(name, &ia);
	rig_captured();
	return ret == RET_NOT_REGISTERED;
}

static void listed_behind_file(void)
{
	load_with_system_conf(FOUND("a", ""));
	CHECK_TEXT(rig_list(), "a/" V "/0 " BUILTINS);
	end_system_conf();
}

/* Programs that read a few entries get those that can open. */
static void own_version_first(void)
{
	load_with_system_conf("x " OTHER_API " nonthreadsafe default libc.so.6 d.1.0 \"\" \"\"\n"
			      "ofi " OTHER_API
			      " threadsafe default libc.so.6 d.1.0 \"\" \"\"\n" FOUND("a", ""));
	CHECK_TEXT(rig_list(), "a/" V "/0 " BUILTINS "x/" OTHER_V "/0 ofi/" OTHER_V "/1 ");
	end_system_conf();
}

static void dead_ones_behind(void)
{
	char card[160];

	/* A provider of the original DAPL exists, its device does not. */
	snprintf(card, sizeof(card), "%s/libdaplcard.so", rig_dir());
	CU_ASSERT_FALSE(symlink(FAKE_PATH, card));
	/* clang-format off */
	snprintf(conf_text, sizeof(conf_text),
		 DEAD("path", "")
		 "bare " API " nonthreadsafe default libno-such.so.7 d.1.0 \"\" \"\"\n"
		 "card " API " nonthreadsafe default %s d.1.0 \"mlx9_0 1\" \"\"\n"
		 "nic " API " nonthreadsafe default %s d.1.0 \"lo 0\" \"\"\n"
		 OWN("device", "provider=verbs domain=nosuch0")
		 OWN("interface", "provider=tcp domain=nosuch1")
		 OWN("alive", "provider=tcp domain=lo")
		 OWN("address", "provider=tcp domain=127.0.0.1") FOUND("a", "x"), card, card);
	/* clang-format on */
	rig_load(conf_text);
	CHECK_TEXT(rig_list(),
		   "nic/" V "/0 alive/" V "/0 address/" V "/0 a/" V "/0 "
		   "path/" V "/0 bare/" V "/0 card/" V "/0 device/" V "/0 interface/" V "/0 ");
	rig_unload();
	unlink(card);
}

static void dead_ones_behind_builtins(void)
{
	const char *names;

	load_with_system_conf(DEAD("path", ""));
	names = rig_list();
	CU_ASSERT_PTR_EQUAL(strstr(names, BOTH("ofi") BOTH("ofi-tcp") BOTH("ofi-shm")), names);
	CU_ASSERT_PTR_NOT_NULL(strstr(names, "path/" V "/0 "));
	end_system_conf();
}

/* One candidate is enough; legacy names also have our provider. */
static void second_candidate_counts(void)
{
	rig_load(DEAD("gone", "") DEAD("twice", "") FOUND("twice", "") DEAD("ofa-v2-mlx9_0", ""));
	CHECK_TEXT(rig_list(), "twice/" V "/0 ofa-v2-mlx9_0/" V "/0 gone/" V "/0 ");
	rig_unload();
}

static void file_wins(void)
{
	load_with_system_conf("ofi " API " threadsafe default libc.so.6 d.1.0 \"\" \"\"\n");
	CHECK_TEXT(rig_list(), "ofi/" V "/1 ofi/" V "/0 " OF_FABRICS);
	end_system_conf();
	load_with_system_conf("ofi " OTHER_API " threadsafe default x d.1.0 \"\" \"\"\n");
	CU_ASSERT_PTR_NOT_NULL(strstr(rig_list(), BUILTINS));
	end_system_conf();
}

/* Without the installed file, /etc/dat.conf is read, which may exist on this machine. */
static void fallback(void)
{
	static const char builtins[] = BUILTINS;
	char wanted[8192 + sizeof(builtins)], *item;
	const char *got;
	size_t len;

	setenv("DAT_OVERRIDE", "/etc/dat.conf", 1);
	rig_load(NULL);
	snprintf(wanted, sizeof(wanted), "%s%s", rig_list(), builtins);
	rig_unload();
	load_with_system_conf(NULL);
	got = rig_list();
	/* All of both; the order depends on the hardware of this machine. */
	CU_ASSERT_EQUAL(strlen(got), strlen(wanted));
	for (item = wanted; *item; item += len) {
		len = strcspn(item, " ") + 1;
		CU_ASSERT_PTR_NOT_NULL(memmem(got, strlen(got), item, len));
	}
	end_system_conf();
}

static void no_fallback(void)
{
	load_with_system_conf("# nothing\n");
	CHECK_TEXT(rig_list(), BUILTINS);
	end_system_conf();
}

static void override_hides(void)
{
	rig_load("");
	CHECK_TEXT(rig_list(), "");
	CU_ASSERT(opens_as("ofi", ""));
	CU_ASSERT(opens_as("ofi-tcp", "provider=tcp"));
	CU_ASSERT(opens_as("ofi-shm", "provider=shm"));
	CU_ASSERT(opens_as("ofi-rxm", "provider=rxm"));
	CU_ASSERT(opens_as("ofi-efa", "provider=efa"));
	rig_unload();
}

static void no_file_no_names(void)
{
	static const char *const paths[] = { "/nonexistent/dat.conf", "" };
	int i;

	for (i = 0; i < 2; i++) {
		setenv("DAT_OVERRIDE", paths[i], 1);
		rig_load(NULL);
		CU_ASSERT(fails("ofi"));
		CU_ASSERT(fails("ofi-tcp"));
		CU_ASSERT(fails("ofa-v2-ib0"));
		CHECK_TEXT(rig_list(), "");
		CHECK_NO_LOG();
		rig_unload();
	}
}

static void thread_safe(void)
{
	DAT_IA_HANDLE ia;

	load_with_system_conf("");
	CHECK_RET(dat.ia_openv("ofi-tcp", 8, NULL, &ia, MAJOR, MINOR, DAT_TRUE), DAT_SUCCESS);
	CHECK_TEXT(fake_state.log[0], "init ofi-tcp " V " ts=1 [provider=tcp]");
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	end_system_conf();
}

static void legacy_names(void)
{
	static const char *const names[] = {
		"ofa-v2-ib0",
		"ofa-v2-mlx4_0-1u",
		"ofa-v2-x",
		"OpenIB-cma",
		"OpenIB-mthca0-1",
		"ib0",
		"ib12",
		"ccil",
		"nes0",
		"nes7",
		"ofa-x",
	};
	static const char *const other_names[] = {
		"ofa-", "ofa", "OpenIB-", "OpenIB", "openib-cma",  "ib",      "ib0x",
		"ibx",  "nes", "nes0.1",  "ccil0",  "xofa-v2-ib0", "ofi-udp", "",
	};
	size_t i;

	load_with_system_conf("");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CU_ASSERT(opens_as(names[i], ""));
	for (i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
		CU_ASSERT(fails(other_names[i]));
	CHECK_TEXT(rig_list(), BUILTINS);
	end_system_conf();
}

static void legacy_interface(void)
{
	load_with_system_conf("");
	CU_ASSERT(opens_as("ofa-v2-lo", "domain=lo"));
	CU_ASSERT(opens_as("ofa-v2-lo-1u", "domain=lo"));
	CU_ASSERT(opens_as("OpenIB-lo-1", "domain=lo"));
	CU_ASSERT(opens_as("ofa-v2-no_such_if", ""));
	CU_ASSERT(opens_as("ofa-v2-no_such_if-1u", ""));
	end_system_conf();
}

static void verbs_devices(void)
{
	static const char *const other_names[] = { "ofi-verbs-", "ofi-verbs- x", "ofi-tcp-lo" };
	size_t i;

	load_with_system_conf("");
	CU_ASSERT(opens_as("ofi-verbs", "provider=verbs"));
	CU_ASSERT(opens_as("ofi-verbs-lo", "provider=verbs domain=lo"));
	CU_ASSERT(opens_as("ofi-verbs-mlx5_0", "provider=verbs domain=mlx5_0"));
	for (i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
		CU_ASSERT(fails(other_names[i]));
	CHECK_TEXT(rig_list(), BUILTINS);
	end_system_conf();
}

static void legacy_version(void)
{
	DAT_IA_HANDLE ia;

	load_with_system_conf("");
	rig_capture_stderr();
	CHECK_RET(dat.ia_openv("ofa-v2-x", 8, NULL, &ia, 3 - MAJOR, 2 - MINOR, DAT_FALSE),
		  RET_NOT_REGISTERED);
	rig_captured();
	CHECK_NO_LOG();
	end_system_conf();
}

static void legacy_in_file(void)
{
	rig_load(LINE("ofa-v2-ib0", "from file"));
	CU_ASSERT(opens_as("ofa-v2-ib0", "from file"));
	rig_unload();
}

/* The name exists while one of its IAs is open. */
static void legacy_uses(void)
{
	DAT_IA_HANDLE one, two;

	rig_load("");
	one = rig_must_open("ib0");
	two = rig_must_open("ib0");
	CU_ASSERT_EQUAL(fake_state.inits, 1);
	CHECK_RET(dat.ia_close(one, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_EQUAL(fake_state.finis, 0);
	CHECK_RET(dat.ia_close(two, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_EQUAL(fake_state.finis, 1);
	CHECK_TEXT(rig_list(), "");
	rig_unload();
}

static void dead_library(void)
{
	rig_load(DEAD("ofa-v2-ib0", "dead") DEAD("a", "dead"));
	CU_ASSERT(opens_as("ofa-v2-ib0", ""));
	CU_ASSERT(fails("a"));
	rig_unload();
}

static void dead_hardware(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("ofa-v2-lo", "open=0x80120062"));
	rig_capture_stderr();
	ia = rig_must_open("ofa-v2-lo");
	CHECK_TEXT(rig_captured(), "");
	CU_ASSERT_STRING_EQUAL(fake_state.log[0], "init ofa-v2-lo " V " ts=0 [open=0x80120062]");
	CU_ASSERT_STRING_EQUAL(fake_state.log[2], "fini ofa-v2-lo");
	CU_ASSERT_STRING_EQUAL(fake_state.log[3], "init ofa-v2-lo " V " ts=0 [domain=lo]");
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_EQUAL(fake_state.inits, 2);
	CU_ASSERT_EQUAL(fake_state.finis, 2);
	rig_unload();
}

static void dead_init(void)
{
	rig_load(LINE("ib0", "noreg"));
	rig_must_open("ib0");
	CU_ASSERT_STRING_EQUAL(fake_state.log[1], "init ib0 " V " ts=0 []");
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

/* Our provider is tried once, whether the library or the open failed. */
static void dead_twice(void)
{
	DAT_IA_HANDLE ia;

	rig_load(DEAD("ib0", "dead") LINE("ib1", "open=0x80120062"));
	fake_state.open_answer = 0x80030003u;
	rig_capture_stderr();
	CHECK_RET(rig_open("ib0", &ia), 0x80030003u);
	CHECK_LOG("init ib0 " V " ts=0 []", "open ib0 qlen=8 evd=given", "fini ib0");
	CHECK_RET(rig_open("ib1", &ia), 0x80120062u);
	CU_ASSERT_EQUAL(fake_state.lines, 6);
	CHECK_RET(rig_open("ib2", &ia), 0x80030003u);
	rig_captured();
	CU_ASSERT_EQUAL(fake_state.inits, 4);
	CU_ASSERT_EQUAL(fake_state.finis, 4);
	rig_unload();
}

/* While the first library has open IAs, its hardware is present. */
static void alive_but_refusing(void)
{
	DAT_IA_HANDLE one, two;

	rig_load(LINE("ib0", "mine"));
	one = rig_must_open("ib0");
	rig_clear_log();
	fake_state.open_answer = 0x80030003u;
	rig_capture_stderr();
	CHECK_RET(rig_open("ib0", &two), 0x80030003u);
	rig_captured();
	CHECK_LOG("open ib0 qlen=8 evd=given");
	CHECK_RET(dat.ia_close(one, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_unload();
}

static void dead_other_version(void)
{
	DAT_IA_HANDLE ia;

	rig_load("ib0 " OTHER_API " nonthreadsafe default /nonexistent.so d.1.0 \"\" \"\"\n");
	rig_capture_stderr();
	CHECK_RET(dat.ia_openv("ib0", 8, NULL, &ia, 3 - MAJOR, 2 - MINOR, DAT_FALSE),
		  RET_NOT_REGISTERED);
	rig_captured();
	CHECK_NO_LOG();
	rig_unload();
}

static void dead_other_name(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", "open=0x80120062") LINE("ofi", "open=0x80120063"));
	rig_capture_stderr();
	CHECK_RET(rig_open("a", &ia), 0x80120062u);
	CHECK_RET(rig_open("ofi", &ia), 0x80120063u);
	rig_captured();
	CU_ASSERT_EQUAL(fake_state.inits, 2);
	rig_unload();
}

/* Without our provider, the result of the configured one is returned. */
static void no_last_resort(void)
{
	DAT_IA_HANDLE ia;

	remove_provider();
	if (dlopen(OWN_LIBRARY, RTLD_NOW)) {
		fprintf(stderr, "skipped: " OWN_LIBRARY " is installed\n");
	} else {
		rig_load(LINE("ofa-v2-x", "open=0x80120062"));
		rig_capture_stderr();
		CHECK_RET(rig_open("ofa-v2-x", &ia), 0x80120062u);
		rig_captured();
		CU_ASSERT_EQUAL(fake_state.finis, 1);
		rig_unload();
	}
	place_provider();
}

/* libdat also searches its own directory, which the loader does not. */
static void next_to_libdat(void)
{
	char directory[128], library[160], provider[160];

	remove_provider();
	if (dlopen(OWN_LIBRARY, RTLD_NOW)) {
		fprintf(stderr, "skipped: " OWN_LIBRARY " is installed\n");
		place_provider();
		return;
	}
	snprintf(directory, sizeof(directory), "%s/next", rig_dir());
	snprintf(library, sizeof(library), "%s/libdat-copy.so", directory);
	snprintf(provider, sizeof(provider), "%s/" OWN_LIBRARY, directory);
	CU_ASSERT_FALSE(mkdir(directory, 0700));
	CU_ASSERT_FALSE(symlink(rig_library(), library));
	CU_ASSERT_FALSE(symlink(FAKE_PATH, provider));
	rig_load_path(library, "");
	CU_ASSERT(opens_as("ofi", ""));
	rig_unload();
	place_provider();
}

/* A file may name our library without a path; it is found in the same places. */
static void named_in_file(void)
{
	rig_load("x " API " nonthreadsafe default " OWN_LIBRARY " d.1.0 \"mine\" \"\"\n");
	CU_ASSERT(opens_as("x", "mine"));
	rig_unload();
}

static void any_name(void)
{
	static const char *const names[] = {
		"a", "whatever it is", "ofi", "ofi-tcp", "ofa-v2-lo", "OpenIB-cma", "ib0", "*", "",
	};
	size_t i;

	rig_load(LINE("listed", "own") LINE("*", "caught"));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CU_ASSERT(opens_as(names[i], "caught"));
	CU_ASSERT(opens_as("listed", "own"));
	CHECK_TEXT(rig_list(), "listed/" V "/0 ");
	rig_unload();
}

/* Also in the installed file; names of other versions are unaffected. */
static void any_name_of_a_kind(void)
{
	DAT_IA_HANDLE ia;

	load_with_system_conf("* " API " nonthreadsafe default " OWN_LIBRARY
			      " d.1.0 \"caught\" \"\"\n");
	CHECK_TEXT(rig_list(), "ofi/" V "/1 ofi-tcp/" V "/1 ofi-shm/" V "/1 ofi-rxm/" V "/1 "
			       "ofi-verbs/" V "/1 ofi-efa/" V "/1 ");
	CU_ASSERT(opens_as("ofi-tcp", "caught"));
	rig_clear_log();
	CHECK_RET(dat.ia_openv("ofi-tcp", 8, NULL, &ia, MAJOR, MINOR, DAT_TRUE), DAT_SUCCESS);
	CHECK_TEXT(fake_state.log[0], "init ofi-tcp " V " ts=1 [provider=tcp]");
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	rig_capture_stderr();
	CHECK_RET(dat.ia_openv("a", 8, NULL, &ia, MAJOR, MINOR, DAT_TRUE), RET_NOT_REGISTERED);
	CHECK_RET(dat.ia_openv("a", 8, NULL, &ia, 3 - MAJOR, 2 - MINOR, DAT_FALSE),
		  RET_NOT_REGISTERED);
	CU_ASSERT_PTR_NULL(strstr(rig_captured(), "*"));
	end_system_conf();
}

/* A file with a catch-all disables the last resort. */
static void any_name_refused(void)
{
	DAT_IA_HANDLE ia;

	rig_load(LINE("ib0", "open=0x80120062") LINE("*", "open=0x80120063"));
	rig_capture_stderr();
	CHECK_RET(rig_open("ib0", &ia), 0x80120062u);
	CHECK_RET(rig_open("ib1", &ia), 0x80120063u);
	CHECK_RET(rig_open("ofi", &ia), 0x80120063u);
	rig_captured();
	CU_ASSERT_EQUAL(fake_state.inits, 3);
	CU_ASSERT_EQUAL(fake_state.finis, 3);
	rig_unload();
}

static void any_name_several_ways(void)
{
	rig_load(DEAD("*", "dead") LINE("*", "second"));
	CU_ASSERT(opens_as("a", "second"));
	CU_ASSERT(opens_as("ib0", "second"));
	rig_unload();
	rig_load(DEAD("*", "dead"));
	CU_ASSERT(fails("a"));
	CU_ASSERT(fails("ib0"));
	rig_unload();
}

static void any_name_uses(void)
{
	DAT_IA_HANDLE one, two, other;

	rig_load(LINE("*", "caught"));
	one = rig_must_open("x");
	two = rig_must_open("x");
	other = rig_must_open("y");
	CU_ASSERT_EQUAL(fake_state.inits, 2);
	CHECK_RET(dat.ia_close(one, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CHECK_RET(dat.ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_EQUAL(fake_state.finis, 1);
	CHECK_RET(dat.ia_close(two, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	CU_ASSERT_EQUAL(fake_state.finis, 2);
	CHECK_TEXT(rig_list(), "");
	rig_unload();
}

void add_builtin_suite(void)
{
	CU_pSuite s =
		CU_add_suite("built-in entries, legacy names", place_provider, remove_provider);

	ADD_OURS(s, "built-in entries are listed after those of the file", listed_behind_file);
	ADD(s, "entries of another API version come last", own_version_first);
	ADD(s, "entries that cannot open come after those that may", dead_ones_behind);
	ADD(s, "... and after the built-in ones", dead_ones_behind_builtins);
	ADD(s, "an entry with several libraries needs one", second_candidate_counts);
	ADD_OURS(s, "an entry of the file replaces its built-in twin", file_wins);
	ADD_OURS(s, "no installed dat.conf: /etc/dat.conf is read", fallback);
	ADD_OURS(s, "an installed dat.conf: /etc/dat.conf is not read", no_fallback);
	ADD_OURS(s, "DAT_OVERRIDE hides them from the list, not from open", override_hides);
	ADD_OURS(s, "DAT_OVERRIDE empty or unreadable: no name resolves", no_file_no_names);
	ADD_OURS(s, "built-in entries exist thread-safe, too", thread_safe);
	ADD_OURS(s, "legacy names open ofi under the requested name, unlisted", legacy_names);
	ADD_OURS(s, "ofa-v2-<interface> means that interface", legacy_interface);
	ADD_OURS(s, "ofi-verbs-<device or interface> means that, unlisted", verbs_devices);
	ADD_OURS(s, "legacy names belong to the library's own version", legacy_version);
	ADD_OURS(s, "an entry of the file goes before the legacy rule", legacy_in_file);
	ADD_OURS(s, "a legacy name lives as long as its IAs", legacy_uses);
	ADD_OURS(s, "legacy name, library missing: ofi; other names fail", dead_library);
	ADD_OURS(s, "legacy name, provider refuses: ofi, without a message", dead_hardware);
	ADD_OURS(s, "legacy name, init does not register: ofi", dead_init);
	ADD_OURS(s, "ofi refuses, too: it is tried once", dead_twice);
	ADD_OURS(s, "legacy name in use: a refusal is a refusal", alive_but_refusing);
	ADD_OURS(s, "legacy name of the other API version: no last resort", dead_other_version);
	ADD_OURS(s, "other names fail as their provider reports", dead_other_name);
	ADD_OURS(s, "if ofi fails as well, the first answer counts", no_last_resort);
	ADD_OURS(s, "our provider is found in the directory of libdat", next_to_libdat);
	ADD_OURS(s, "a file may name our provider without a path", named_in_file);
	ADD_OURS(s, "* catches every name without an entry, unlisted", any_name);
	ADD_OURS(s, "* catches names of its version and thread-safety only", any_name_of_a_kind);
	ADD_OURS(s, "a file with * leaves no last resort", any_name_refused);
	ADD_OURS(s, "several * are tried in order", any_name_several_ways);
	ADD_OURS(s, "a caught name lives as long as its IAs", any_name_uses);
}
