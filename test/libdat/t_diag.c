/* SPDX-License-Identifier: BSD-2-Clause */
/* A failed open is explained once, briefly, on standard error, and never while probing. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rig.h"

#if DAT_API_MAJOR == 1
#define V "1.2"
#define LIB "libdat"
#else
#define V "2.0"
#define LIB "libdat2"
#endif

/* Of the paragraph about a name that nobody knows. */
#define UNKNOWN_LINES 5

static char told[8192];

/* Opens and keeps what was said about it. */
static DAT_RETURN open_and_listen(const char *name)
{
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	rig_catch_stderr();
	ret = rig_open(name, &ia);
	snprintf(told, sizeof(told), "%s", rig_caught());
	return ret;
}

static void unload_and_listen(void)
{
	rig_catch_stderr();
	rig_unload();
	snprintf(told, sizeof(told), "%s", rig_caught());
}

static bool says(const char *text)
{
	bool found = strstr(told, text) != NULL;

	if (!found)
		fprintf(stderr, "\"%s\" is missing in:\n%s", text, told);
	return found;
}

static int lines_told(void)
{
	const char *at;
	int n = 0;

	for (at = told; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static void unknown_name(void)
{
	char expected[512];

	rig_load(LINE("alpha", "") LINE("beta", ""));
	open_and_listen("gamma");
	snprintf(expected, sizeof(expected),
		 LIB ": cannot open IA \"gamma\" (" V ", nonthreadsafe): "
		 "DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED\n"
		 "  registry file %s (DAT_OVERRIDE): 2 entries, 0 bad lines\n"
		 "  no entry has this name, version and thread-safety\n"
		 "  known names: \"ofi\", \"alpha\", \"beta\", \"ofi-tcp\", \"ofi-shm\"\n"
		 "  try: use one of the known names; dat_info -l lists all\n", rig_conf_path());
	CHECK_TEXT(told, expected);
	rig_unload();
}

static void success_is_silent(void)
{
	rig_load(LINE("a", "say=all_is_well"));
	CHECK_RET(open_and_listen("a"), DAT_SUCCESS);
	CHECK_TEXT(told, "");
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	unload_and_listen();
	CHECK_TEXT(told, "");
}

static void near_names(void)
{
	rig_load(LINE("ofa-v2-eth0", "") LINE("roce0", "") LINE("other", ""));
	open_and_listen("roce1");
	CU_ASSERT(says("similar names: \"roce0\"\n"));
	CU_ASSERT(says("  try: \"roce0\" instead of \"roce1\"; dat_info -l lists all names\n"));
	open_and_listen("Roce0");
	CU_ASSERT(says("similar names: \"roce0\"\n"));
	open_and_listen("ofi-tpc");
	CU_ASSERT(says("similar names: \"ofi-tcp\", \"ofi\"\n"));
	CU_ASSERT(says("  try: \"ofi-tcp\" instead of \"ofi-tpc\"; dat_info -l lists all names\n"));
	rig_unload();
}

static void other_version(void)
{
	rig_load("a " API " threadsafe default FAKE d.1.0 \"\" \"\"\n"
		 "a u3.7 threadsafe default FAKE d.1.0 \"\" \"\"\n");
	open_and_listen("a");
	CU_ASSERT(says("the registry has this name as " V " threadsafe, 3.7 threadsafe\n"));
	rig_unload();
}

static void bad_line(void)
{
	char expected[256];

	rig_load("ab " API "\na " API " perhaps default FAKE d.1.0 \"\" \"\"\n");
	open_and_listen("a");
	snprintf(expected, sizeof(expected),
		 "  %s:2: expected threadsafe or nonthreadsafe, found \"perhaps\"\n",
		 rig_conf_path());
	CU_ASSERT(says(expected));
	CU_ASSERT(says("0 entries, 2 bad lines\n"));
	snprintf(expected, sizeof(expected), "  try: correct %s:2 to: NAME " API " nonthreadsafe",
		 rig_conf_path());
	CU_ASSERT(says(expected));
	CU_ASSERT_PTR_NULL(strstr(told, ":1:"));
	rig_unload();
	rig_load("\"a " API " nonthreadsafe default FAKE d.1.0\n");
	open_and_listen("a");
	CU_ASSERT(says("0 entries, 1 bad line\n"));
	CU_ASSERT(says(":1: expected a closing quote, found the end of the line\n"));
	rig_unload();
}

static void loader_words(void)
{
	char expected[256];

	rig_load("a " API " nonthreadsafe default /no/such.so d.1.0 \"\" \"\"\n"
		 "a " API " nonthreadsafe default libm.so.6 d.1.0 \"\" \"\"\n");
	open_and_listen("a");
	snprintf(expected, sizeof(expected), "  %s:1: /no/such.so: cannot open shared object file",
		 rig_conf_path());
	CU_ASSERT(says(expected));
	snprintf(expected, sizeof(expected), "  %s:2: libm.so.6: dat_provider_init is missing\n",
		 rig_conf_path());
	CU_ASSERT(says(expected));
	snprintf(expected, sizeof(expected),
		 "  try: install /no/such.so, or correct the library in %s:1\n", rig_conf_path());
	CU_ASSERT(says(expected));
	rig_unload();
	rig_load("a " API " nonthreadsafe default libm.so.6 d.1.0 \"\" \"\"\n");
	open_and_listen("a");
	CU_ASSERT(says("  try: name a library other than libm.so.6: it is not a DAT provider\n"));
	rig_unload();
}

static void no_registration(void)
{
	rig_load(LINE("a", "noreg"));
	open_and_listen("a");
	CU_ASSERT(says(": its dat_provider_init did not register the name\n"));
	rig_unload();
}

static void provider_reasons(void)
{
	rig_load(LINE("a", "say=tcp:_no_interface|verbs:_no_device open=0x80030003"));
	open_and_listen("a");
	CU_ASSERT(says("DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_DEVICE\n"));
	CU_ASSERT(says("  provider: tcp: no interface\n  provider: verbs: no device\n"));
	CU_ASSERT(says(" refused: DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_DEVICE\n"));
	rig_unload();
	rig_load(LINE("a", "open=0x80010000") LINE("ab", ""));
	open_and_listen("a");
	CU_ASSERT(says(" refused: DAT_ABORT\n"));
	CU_ASSERT_PTR_NULL(strstr(told, "similar names"));
	CU_ASSERT(says("  try: dat_info -d a; DAPL_OFI_LOG=4 logs everything\n"));
	rig_unload();
	rig_load(LINE("a", "say=tcp:_no_interface|try:_this|try:_that open=0x80030003"));
	open_and_listen("a");
	CU_ASSERT(says("\n  try: this\n"));
	CU_ASSERT_PTR_NULL(strstr(told, "that"));
	CU_ASSERT_PTR_NULL(strstr(told, "provider: try"));
	rig_unload();
}

static void unreadable_file(void)
{
	setenv("DAT_OVERRIDE", "/no/such/dat.conf", 1);
	rig_load(NULL);
	open_and_listen("ofi");
	CU_ASSERT(says("registry file /no/such/dat.conf (DAT_OVERRIDE): "
		       "No such file or directory"));
	CU_ASSERT(says("  try: unset DAT_OVERRIDE"));
	rig_unload();
}

static void ten_lines(void)
{
	static char conf[8192];
	int i;

	*conf = '\0';
	for (i = 0; i < 30; i++)
		strcat(conf, "aaa " API " nonthreadsafe default /no/such.so d.1.0 \"\" \"\"\n"
		       "aaa bad\n" "aab " API " nonthreadsafe default FAKE d.1.0 \"\" \"\"\n"
		       "aaa " API " threadsafe default FAKE d.1.0 \"\" \"\"\n");
	rig_load(conf);
	open_and_listen("aaa");
	CU_ASSERT_EQUAL(lines_told(), 10);
	CU_ASSERT(says("more reasons)\n"));
	rig_unload();
}

/* A terminal must not be steered by what a file or a name holds. */
static void no_control_characters(void)
{
	const char *at;

	rig_load("");
	open_and_listen("x\x1b[2Jy\nz");
	CU_ASSERT_EQUAL(lines_told(), UNKNOWN_LINES);
	for (at = told; *at; at++)
		CU_ASSERT(*at == '\n' || (unsigned char)*at >= ' ');
	rig_unload();
}

static void once(void)
{
	rig_load("");
	open_and_listen("a");
	CU_ASSERT_EQUAL(lines_told(), UNKNOWN_LINES);
	open_and_listen("a");
	CHECK_TEXT(told, "");
	open_and_listen("b");
	CU_ASSERT_EQUAL(lines_told(), UNKNOWN_LINES);
	unload_and_listen();
	CHECK_TEXT(told, "");
}

static void probing_succeeds(void)
{
	rig_load(LINE("a", "open=0x80030003") LINE("b", ""));
	rig_list();
	open_and_listen("a");
	CHECK_TEXT(told, "");
	CHECK_RET(open_and_listen("b"), DAT_SUCCESS);
	CHECK_TEXT(told, "");
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	unload_and_listen();
	CHECK_TEXT(told, "");
}

static void probing_fails(void)
{
	rig_load(LINE("a", "open=0x80030003") LINE("b", "open=0x80120062"));
	rig_list();
	open_and_listen("a");
	open_and_listen("b");
	CHECK_TEXT(told, "");
	unload_and_listen();
	CU_ASSERT(says(LIB ": 2 attempts to open an IA failed and none succeeded\n"));
	CU_ASSERT(says("  \"a\": "));
	CU_ASSERT(says("  \"b\": "));
	CU_ASSERT(says("  try: dat_info -l "));
	CU_ASSERT_EQUAL(lines_told(), 4);
}

static void probing_fails_once(void)
{
	rig_load(LINE("a", "open=0x80030003"));
	rig_list();
	open_and_listen("a");
	open_and_listen("a");
	CHECK_TEXT(told, "");
	unload_and_listen();
	CU_ASSERT(says(LIB ": cannot open IA \"a\""));
}

static void probing_many(void)
{
	char name[16];
	int i;

	rig_load("");
	rig_list();
	for (i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "none%d", i);
		open_and_listen(name);
		CHECK_TEXT(told, "");
	}
	unload_and_listen();
	CU_ASSERT_EQUAL(lines_told(), 10);
	CU_ASSERT(says("30 attempts"));
}

static void silenced(void)
{
	setenv("DAT_DBG_TYPE", "0", 1);
	rig_load("");
	open_and_listen("a");
	CHECK_TEXT(told, "");
	rig_list();
	open_and_listen("b");
	unload_and_listen();
	CHECK_TEXT(told, "");
	unsetenv("DAT_DBG_TYPE");
}

static void to_syslog(void)
{
	setenv("DAT_DBG_DEST", "2", 1);
	rig_load("");
	open_and_listen("a");
	CHECK_TEXT(told, "");
	rig_unload();
	setenv("DAT_DBG_DEST", "3", 1);
	rig_load("");
	open_and_listen("a");
	CU_ASSERT_EQUAL(lines_told(), UNKNOWN_LINES);
	rig_unload();
	unsetenv("DAT_DBG_DEST");
}

static void mask(void)
{
	setenv("DAT_DBG_TYPE", "0x38", 1);
	rig_load(LINE("a", ""));
	CHECK_RET(open_and_listen("a"), DAT_SUCCESS);
	CU_ASSERT(says("init for \"a\" (" V ", nonthreadsafe)\n"));
	CU_ASSERT(says("provider registered for \"a\""));
	CU_ASSERT(says("dat_ia_openv \"a\" (" V ", nonthreadsafe): 0x00000000\n"));
	open_and_listen("b");
	CU_ASSERT_PTR_NULL(strstr(told, "cannot open"));
	rig_catch_stderr();
	dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG);
	rig_caught();
	rig_unload();
	unsetenv("DAT_DBG_TYPE");
}

/* Standard output belongs to the program. */
static void stdout_untouched(void)
{
	int saved, fds[2];
	char byte;

	fflush(stdout);
	CU_ASSERT_FALSE_FATAL(pipe(fds));
	saved = dup(1);
	dup2(fds[1], 1);
	close(fds[1]);
	setenv("DAT_DBG_TYPE", "0xff", 1);
	rig_load(LINE("a", "open=0x80030003") "bad\n");
	open_and_listen("a");
	rig_catch_stderr();
	rig_list();
	rig_caught();
	unload_and_listen();
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	CU_ASSERT_EQUAL(read(fds[0], &byte, 1), 0);
	close(fds[0]);
	unsetenv("DAT_DBG_TYPE");
}

void add_diag_suite(void)
{
	CU_pSuite s = CU_add_suite("diagnosis", NULL, NULL);

	ADD_OURS(s, "an unknown name: what was asked, of which file", unknown_name);
	ADD_OURS(s, "a success is silent, whatever the provider said", success_is_silent);
	ADD_OURS(s, "names that look alike are offered", near_names);
	ADD_OURS(s, "other versions of the name are told", other_version);
	ADD_OURS(s, "bad lines of this name are told, others not", bad_line);
	ADD_OURS(s, "file, line and the loader's words", loader_words);
	ADD_OURS(s, "an init that does not register is told", no_registration);
	ADD_OURS(s, "the provider's own reasons are told", provider_reasons);
	ADD_OURS(s, "an unreadable registry file is told", unreadable_file);
	ADD_OURS(s, "never more than ten lines", ten_lines);
	ADD_OURS(s, "no control characters", no_control_characters);
	ADD_OURS(s, "each failure once", once);
	ADD_OURS(s, "probing: silence when one open succeeds", probing_succeeds);
	ADD_OURS(s, "probing: a summary at the end when none does", probing_fails);
	ADD_OURS(s, "probing: one failure is explained in full", probing_fails_once);
	ADD_OURS(s, "probing: ten lines for any number of failures", probing_many);
	ADD_OURS(s, "DAT_DBG_TYPE=0 silences", silenced);
	ADD_OURS(s, "DAT_DBG_DEST chooses between stream and syslog", to_syslog);
	ADD_OURS(s, "DAT_DBG_TYPE bits select what is told", mask);
	ADD_OURS(s, "nothing goes to standard output", stdout_untouched);
}
