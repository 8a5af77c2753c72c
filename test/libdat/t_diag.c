/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a failed open is reported once, on standard error, and not while probing. */
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

/* Of the paragraph about an unknown name. */
#define UNKNOWN_LINES 5

static char output[8192];

/* Opens an IA and captures the output. */
static DAT_RETURN open_and_capture(const char *name)
{
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	rig_capture_stderr();
	ret = rig_open(name, &ia);
	snprintf(output, sizeof(output), "%s", rig_captured());
	return ret;
}

static void unload_and_capture(void)
{
	rig_capture_stderr();
	rig_unload();
	snprintf(output, sizeof(output), "%s", rig_captured());
}

static bool output_has(const char *text)
{
	bool found = strstr(output, text) != NULL;

	if (!found)
		fprintf(stderr, "\"%s\" is missing in:\n%s", text, output);
	return found;
}

static int count_output_lines(void)
{
	const char *at;
	int n = 0;

	for (at = output; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static void unknown_name(void)
{
	char expected[512];

	rig_load(LINE("alpha", "") LINE("beta", ""));
	open_and_capture("gamma");
	snprintf(expected, sizeof(expected),
		 LIB ": cannot open IA \"gamma\" (" V ", nonthreadsafe): "
		     "DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED\n"
		     "  registry file %s (DAT_OVERRIDE): 2 entries, 0 bad lines\n"
		     "  no entry has this name, version and thread-safety\n"
		     "  known names: \"ofi\", \"alpha\", \"beta\", \"ofi-tcp\", \"ofi-shm\"\n"
		     "  try: use one of the known names; dat_info -l lists all\n",
		 rig_conf_path());
	CHECK_TEXT(output, expected);
	rig_unload();
}

static void success_is_silent(void)
{
	rig_load(LINE("a", "reason=all_is_well"));
	CHECK_RET(open_and_capture("a"), DAT_SUCCESS);
	CHECK_TEXT(output, "");
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	unload_and_capture();
	CHECK_TEXT(output, "");
}

static void similar_names(void)
{
	rig_load(LINE("ofa-v2-eth0", "") LINE("roce0", "") LINE("other", ""));
	open_and_capture("roce1");
	CU_ASSERT(output_has("similar names: \"roce0\"\n"));
	CU_ASSERT(
		output_has("  try: \"roce0\" instead of \"roce1\"; dat_info -l lists all names\n"));
	open_and_capture("Roce0");
	CU_ASSERT(output_has("similar names: \"roce0\"\n"));
	open_and_capture("ofi-tpc");
	CU_ASSERT(output_has("similar names: \"ofi-tcp\", \"ofi\"\n"));
	CU_ASSERT(output_has(
		"  try: \"ofi-tcp\" instead of \"ofi-tpc\"; dat_info -l lists all names\n"));
	rig_unload();
}

static void other_version(void)
{
	rig_load("a " API " threadsafe default FAKE d.1.0 \"\" \"\"\n"
		 "a u3.7 threadsafe default FAKE d.1.0 \"\" \"\"\n");
	open_and_capture("a");
	CU_ASSERT(output_has("the registry has this name as " V " threadsafe, 3.7 threadsafe\n"));
	rig_unload();
}

static void bad_line(void)
{
	char expected[256];

	rig_load("ab " API "\na " API " perhaps default FAKE d.1.0 \"\" \"\"\n");
	open_and_capture("a");
	snprintf(expected, sizeof(expected),
		 "  %s:2: expected threadsafe or nonthreadsafe, found \"perhaps\"\n",
		 rig_conf_path());
	CU_ASSERT(output_has(expected));
	CU_ASSERT(output_has("0 entries, 2 bad lines\n"));
	snprintf(expected, sizeof(expected), "  try: correct %s:2 to: NAME " API " nonthreadsafe",
		 rig_conf_path());
	CU_ASSERT(output_has(expected));
	CU_ASSERT_PTR_NULL(strstr(output, ":1:"));
	rig_unload();
	rig_load("\"a " API " nonthreadsafe default FAKE d.1.0\n");
	open_and_capture("a");
	CU_ASSERT(output_has("0 entries, 1 bad line\n"));
	CU_ASSERT(output_has(":1: expected a closing quote, found the end of the line\n"));
	rig_unload();
}

static void loader_errors(void)
{
	char expected[256];

	rig_load("a " API " nonthreadsafe default /no/such.so d.1.0 \"\" \"\"\n"
		 "a " API " nonthreadsafe default libm.so.6 d.1.0 \"\" \"\"\n");
	open_and_capture("a");
	snprintf(expected, sizeof(expected), "  %s:1: /no/such.so: cannot open shared object file",
		 rig_conf_path());
	CU_ASSERT(output_has(expected));
	snprintf(expected, sizeof(expected), "  %s:2: libm.so.6: dat_provider_init is missing\n",
		 rig_conf_path());
	CU_ASSERT(output_has(expected));
	snprintf(expected, sizeof(expected),
		 "  try: install /no/such.so, or correct the library in %s:1\n", rig_conf_path());
	CU_ASSERT(output_has(expected));
	rig_unload();
	rig_load("a " API " nonthreadsafe default libm.so.6 d.1.0 \"\" \"\"\n");
	open_and_capture("a");
	CU_ASSERT(output_has(
		"  try: name a library other than libm.so.6: it is not a DAT provider\n"));
	rig_unload();
}

static void no_registration(void)
{
	rig_load(LINE("a", "noreg"));
	open_and_capture("a");
	CU_ASSERT(output_has(": its dat_provider_init did not register the name\n"));
	rig_unload();
}

static void provider_reasons(void)
{
	rig_load(LINE("a", "reason=tcp:_no_interface|verbs:_no_device open=0x80030003"));
	open_and_capture("a");
	CU_ASSERT(output_has("DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_DEVICE\n"));
	CU_ASSERT(output_has("  provider: tcp: no interface\n  provider: verbs: no device\n"));
	CU_ASSERT(output_has(" refused: DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_DEVICE\n"));
	rig_unload();
	rig_load(LINE("a", "open=0x80010000") LINE("ab", ""));
	open_and_capture("a");
	CU_ASSERT(output_has(" refused: DAT_ABORT\n"));
	CU_ASSERT_PTR_NULL(strstr(output, "similar names"));
	CU_ASSERT(output_has("  try: dat_info -d a; DAPL_OFI_LOG=4 logs everything\n"));
	rig_unload();
	rig_load(LINE("a", "reason=tcp:_no_interface|try:_this|try:_that open=0x80030003"));
	open_and_capture("a");
	CU_ASSERT(output_has("\n  try: this\n"));
	CU_ASSERT_PTR_NULL(strstr(output, "that"));
	CU_ASSERT_PTR_NULL(strstr(output, "provider: try"));
	rig_unload();
}

static void unreadable_file(void)
{
	setenv("DAT_OVERRIDE", "/no/such/dat.conf", 1);
	rig_load(NULL);
	open_and_capture("ofi");
	CU_ASSERT(output_has("registry file /no/such/dat.conf (DAT_OVERRIDE): "
			     "No such file or directory"));
	CU_ASSERT(output_has("  try: unset DAT_OVERRIDE"));
	rig_unload();
}

static void ten_lines(void)
{
	static char conf[8192];
	int i;

	*conf = '\0';
	for (i = 0; i < 30; i++)
		strcat(conf, "aaa " API " nonthreadsafe default /no/such.so d.1.0 \"\" \"\"\n"
			     "aaa bad\n"
			     "aab " API " nonthreadsafe default FAKE d.1.0 \"\" \"\"\n"
			     "aaa " API " threadsafe default FAKE d.1.0 \"\" \"\"\n");
	rig_load(conf);
	open_and_capture("aaa");
	CU_ASSERT_EQUAL(count_output_lines(), 10);
	CU_ASSERT(output_has("more reasons)\n"));
	rig_unload();
}

/* Control characters of a file or a name must not reach a terminal. */
static void no_control_characters(void)
{
	const char *at;

	rig_load("");
	open_and_capture("x\x1b[2Jy\nz");
	CU_ASSERT_EQUAL(count_output_lines(), UNKNOWN_LINES);
	for (at = output; *at; at++)
		CU_ASSERT(*at == '\n' || (unsigned char)*at >= ' ');
	rig_unload();
}

static void once(void)
{
	rig_load("");
	open_and_capture("a");
	CU_ASSERT_EQUAL(count_output_lines(), UNKNOWN_LINES);
	open_and_capture("a");
	CHECK_TEXT(output, "");
	open_and_capture("b");
	CU_ASSERT_EQUAL(count_output_lines(), UNKNOWN_LINES);
	unload_and_capture();
	CHECK_TEXT(output, "");
}

static void probing_succeeds(void)
{
	rig_load(LINE("a", "open=0x80030003") LINE("b", ""));
	rig_list();
	open_and_capture("a");
	CHECK_TEXT(output, "");
	CHECK_RET(open_and_capture("b"), DAT_SUCCESS);
	CHECK_TEXT(output, "");
	CHECK_RET(dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	unload_and_capture();
	CHECK_TEXT(output, "");
}

static void probing_fails(void)
{
	rig_load(LINE("a", "open=0x80030003") LINE("b", "open=0x80120062"));
	rig_list();
	open_and_capture("a");
	open_and_capture("b");
	CHECK_TEXT(output, "");
	unload_and_capture();
	CU_ASSERT(output_has(LIB ": 2 attempts to open an IA failed and none succeeded\n"));
	CU_ASSERT(output_has("  \"a\": "));
	CU_ASSERT(output_has("  \"b\": "));
	CU_ASSERT(output_has("  try: dat_info -l "));
	CU_ASSERT_EQUAL(count_output_lines(), 4);
}

static void probing_fails_once(void)
{
	rig_load(LINE("a", "open=0x80030003"));
	rig_list();
	open_and_capture("a");
	open_and_capture("a");
	CHECK_TEXT(output, "");
	unload_and_capture();
	CU_ASSERT(output_has(LIB ": cannot open IA \"a\""));
}

static void probing_many(void)
{
	char name[16];
	int i;

	rig_load("");
	rig_list();
	for (i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "none%d", i);
		open_and_capture(name);
		CHECK_TEXT(output, "");
	}
	unload_and_capture();
	CU_ASSERT_EQUAL(count_output_lines(), 10);
	CU_ASSERT(output_has("30 attempts"));
}

static void silenced(void)
{
	setenv("DAT_DBG_TYPE", "0", 1);
	rig_load("");
	open_and_capture("a");
	CHECK_TEXT(output, "");
	rig_list();
	open_and_capture("b");
	unload_and_capture();
	CHECK_TEXT(output, "");
	unsetenv("DAT_DBG_TYPE");
}

static void to_syslog(void)
{
	setenv("DAT_DBG_DEST", "2", 1);
	rig_load("");
	open_and_capture("a");
	CHECK_TEXT(output, "");
	rig_unload();
	setenv("DAT_DBG_DEST", "3", 1);
	rig_load("");
	open_and_capture("a");
	CU_ASSERT_EQUAL(count_output_lines(), UNKNOWN_LINES);
	rig_unload();
	unsetenv("DAT_DBG_DEST");
}

static void mask(void)
{
	setenv("DAT_DBG_TYPE", "0x38", 1);
	rig_load(LINE("a", ""));
	CHECK_RET(open_and_capture("a"), DAT_SUCCESS);
	CU_ASSERT(output_has("init for \"a\" (" V ", nonthreadsafe)\n"));
	CU_ASSERT(output_has("provider registered for \"a\""));
	CU_ASSERT(output_has("dat_ia_openv \"a\" (" V ", nonthreadsafe): 0x00000000\n"));
	open_and_capture("b");
	CU_ASSERT_PTR_NULL(strstr(output, "cannot open"));
	rig_capture_stderr();
	dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG);
	rig_captured();
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
	open_and_capture("a");
	rig_capture_stderr();
	rig_list();
	rig_captured();
	unload_and_capture();
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

	ADD_OURS(s, "an unknown name: the request and the registry file", unknown_name);
	ADD_OURS(s, "a success is silent, whatever the provider reported", success_is_silent);
	ADD_OURS(s, "similar names are suggested", similar_names);
	ADD_OURS(s, "other versions of the name are reported", other_version);
	ADD_OURS(s, "bad lines of this name are reported, others not", bad_line);
	ADD_OURS(s, "file, line and the error of the loader", loader_errors);
	ADD_OURS(s, "an init that does not register is reported", no_registration);
	ADD_OURS(s, "the provider's reasons are reported", provider_reasons);
	ADD_OURS(s, "an unreadable registry file is reported", unreadable_file);
	ADD_OURS(s, "never more than ten lines", ten_lines);
	ADD_OURS(s, "no control characters", no_control_characters);
	ADD_OURS(s, "each failure once", once);
	ADD_OURS(s, "probing: silence when one open succeeds", probing_succeeds);
	ADD_OURS(s, "probing: a summary at the end when none does", probing_fails);
	ADD_OURS(s, "probing: one failure is explained in full", probing_fails_once);
	ADD_OURS(s, "probing: ten lines for any number of failures", probing_many);
	ADD_OURS(s, "DAT_DBG_TYPE=0 silences", silenced);
	ADD_OURS(s, "DAT_DBG_DEST chooses between stream and syslog", to_syslog);
	ADD_OURS(s, "DAT_DBG_TYPE bits select what is logged", mask);
	ADD_OURS(s, "nothing goes to standard output", stdout_untouched);
}
