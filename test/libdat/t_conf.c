/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the lexical rules of dat.conf. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig.h"

#if DAT_API_MAJOR == 1
#define VER "1.2"
#else
#define VER "2.0"
#endif
#define GOOD(name) name " " API " nonthreadsafe default lib.so dapl.2.0 \"p\" \"\"\n"
#define SEEN(name) name "/" VER "/0 "
#if DAT_API_MAJOR == 1
#define OWN_FIRST(v12, v20) v12 v20
#else
#define OWN_FIRST(v12, v20) v20 v12
#endif
#define HEAD(name) name " " API " nonthreadsafe default lib.so dapl.2.0 "
#define NAME_255 \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" \
	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"

/* X(function, rule, text of the file, names that must be listed) */
/* clang-format off */
#define SHARED_CASES(X) \
	X(blanks, "blanks and tabs separate, leading ones allowed", \
	  " \t a\t" API "  nonthreadsafe \tdefault lib.so dapl.2.0 \"\"\t\"\" \n", SEEN("a")) \
	X(empty_lines, "empty and blank lines are ignored", \
	  "\n  \t\n" GOOD("a") "\n\n" GOOD("b") "\n", SEEN("a") SEEN("b")) \
	X(empty_file, "an empty file is an empty registry", "", "") \
	X(comments, "# at the start of a token is a comment", \
	  "# c\n  # c\n" HEAD("a") "\"\" \"\" # ninth\n" HEAD("b") "\"\" \"\" #c\n", \
	  SEEN("a") SEEN("b")) \
	X(early_comment, "a comment that cuts a record drops it", \
	  HEAD("a") "\"\" # \"\"\n" GOOD("b"), SEEN("b")) \
	X(hash_inside, "# inside a token or a string is ordinary", \
	  GOOD("a#b") "\"c # d\" " API " nonthreadsafe default lib.so dapl.2.0 \"#\" \"#\"\n", \
	  SEEN("a#b") SEEN("c # d")) \
	X(quoted_blanks, "a quoted token may hold blanks", GOOD("\"a b\tc\""), SEEN("a b\tc")) \
	X(quoted_fields, "any field may be quoted", \
	  "\"a\" \"" API "\" \"nonthreadsafe\" \"default\" \"lib.so\" \"dapl.2.0\" \"\" \"\"\n", \
	  SEEN("a")) \
	X(glued_quotes, "a closing quote ends the token", \
	  "\"a\"" API " nonthreadsafe default lib.so dapl.2.0 \"\"\"\"\n", SEEN("a")) \
	X(escapes, "inside quotes a backslash makes the next character literal", \
	  GOOD("\"a\\\"b\\\\c\\nd\""), SEEN("a\"b\\cnd")) \
	X(bare_backslash, "outside quotes a backslash does not join tokens", \
	  GOOD("a\\ b") GOOD("c\\d"), SEEN("c\\d")) \
	X(open_quote, "a newline inside quotes drops the record, the rest is a new one", \
	  HEAD("a") "\"\" \"x\n" GOOD("b") GOOD("c"), SEEN("b") SEEN("c")) \
	X(open_quote_rest, "the rest of a cut string is read as a record", \
	  HEAD("a") "\"\" \"x\n" HEAD("b") "\"\" \"\"\ny\"\n" GOOD("c"), SEEN("b") SEEN("c")) \
	X(continuation, "backslash-newline continues nothing: both lines drop", \
	  "a " API " nonthreadsafe default \\\nlib.so dapl.2.0 \"\" \"\"\n" GOOD("b"), SEEN("b")) \
	X(continuation_end, "a backslash behind the eighth field is a ninth one", \
	  HEAD("a") "\"\" \"\" \\\n" GOOD("b"), SEEN("b")) \
	X(carriage_return, "a carriage return before the newline drops the record", \
	  HEAD("a") "\"\" \"\"\r\n" HEAD("b") "\"\" \"\" \r\n" GOOD("c"), SEEN("c")) \
	X(few_fields, "fewer than eight fields drop the record only", \
	  "a\n" HEAD("b") "\"\"\n" GOOD("c"), SEEN("c")) \
	X(many_fields, "more than eight fields drop the record only", \
	  HEAD("a") "\"\" \"\" ninth\n" GOOD("b"), SEEN("b")) \
	X(no_newline, "the last line needs no newline", GOOD("a") HEAD("b") "\"\" \"\"", \
	  SEEN("a") SEEN("b")) \
	X(trailing, "keywords are compared as prefixes", \
	  "a " API " nonthreadsafeQ defaultQ lib.so dapl.2.0 \"\" \"\"\n" \
	  "b " API " threadsafely default lib.so dapl.2.0 \"\" \"\"\n", \
	  SEEN("a") "b/" VER "/1 ") \
	X(keywords, "unknown keywords drop the record", \
	  "a " API " unsafe default lib.so dapl.2.0 \"\" \"\"\n" \
	  "b " API " THREADSAFE default lib.so dapl.2.0 \"\" \"\"\n" \
	  "c " API " nonthreadsafe xdefault lib.so dapl.2.0 \"\" \"\"\n" GOOD("d"), SEEN("d")) \
	X(api_letter, "an API field without u or k drops the record", \
	  "a 2.0 nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n" \
	  "b U2.0 nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n" GOOD("c"), SEEN("c")) \
	X(api_junk, "an API version with anything behind it drops the record", \
	  "a " API "x nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n" \
	  "b " API ".1 nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n" \
	  "c udat nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n" GOOD("d"), SEEN("d")) \
	X(provider_version, "a provider version without two numbers drops the record", \
	  "a " API " nonthreadsafe default lib.so dapl \"\" \"\"\n" \
	  "b " API " nonthreadsafe default lib.so dapl.2 \"\" \"\"\n" \
	  "c " API " nonthreadsafe default lib.so 2.0 \"\" \"\"\n" \
	  "d " API " nonthreadsafe default lib.so dapl.2.x \"\" \"\"\n" \
	  "e " API " nonthreadsafe default lib.so .2.0 \"\" \"\"\n" \
	  "f " API " nonthreadsafe default lib.so a.b.2.0 \"\" \"\"\n" GOOD("g"), SEEN("g")) \
	X(kernel, "k entries disappear", \
	  "a k2.0 nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n" GOOD("b"), SEEN("b")) \
	X(nondefault, "nondefault entries disappear", \
	  "a " API " nonthreadsafe nondefault lib.so dapl.2.0 \"\" \"\"\n" GOOD("b"), SEEN("b")) \
	X(both_versions, "both API versions are listed by both libraries, the own one first", \
	  "x u2.0 nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n" \
	  "x u1.2 nonthreadsafe default lib.so dapl.1.2 \"\" \"\"\n" \
	  "y u1.2 threadsafe default lib.so dapl.1.2 \"\" \"\"\n" \
	  "w u2.0 threadsafe default lib.so dapl.2.0 \"\" \"\"\n", \
	  OWN_FIRST("x/1.2/0 y/1.2/1 ", "x/2.0/0 w/2.0/1 ")) \
	X(duplicates, "entries equal in name, version and thread-safety are listed once", \
	  GOOD("a") GOOD("b") GOOD("a") \
	  "a " API " threadsafe default lib.so dapl.2.0 \"\" \"\"\n", \
	  SEEN("a") SEEN("b") "a/" VER "/1 ") \
	X(name_length, "a name of 255 characters fits, one of 256 drops the record", \
	  GOOD(NAME_255) GOOD("n" NAME_255) GOOD("b"), SEEN(NAME_255) SEEN("b"))

/* What the original libdat accepts by accident, or what is unspecified. */
#define OUR_CASES(X) \
	X(api_minor, "an API version without a minor drops the record", \
	  "a u2 nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n" \
	  "b u2. nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n" GOOD("c"), SEEN("c")) \
	X(bare_return, "a carriage return drops the record behind a bare word, too", \
	  HEAD("a") "\"\" x\r\n" GOOD("b"), SEEN("b")) \
	X(empty_words, "an empty name or library drops the record", \
	  GOOD("\"\"") "a " API " nonthreadsafe default \"\" dapl.2.0 \"\" \"\"\n" GOOD("b"), \
	  SEEN("b"))
/* clang-format on */

#define FUNCTION(id, rule, conf, names) \
	static void id(void) \
	{ \
		rig_load(conf); \
		CHECK_TEXT(rig_list(), names); \
		rig_unload(); \
	}
SHARED_CASES(FUNCTION)
OUR_CASES(FUNCTION)

/* The reasons are logged if DAT_DBG_TYPE selects the static registry. */
static void check_reasons(const char *conf, const char *const *reasons)
{
	char expected[4096] = "", line[512];
	const char *caught;
	size_t i;

	for (i = 0; reasons[i]; i++) {
		snprintf(line, sizeof(line), "libdat%s: %s:%s\n", DAT_API_MAJOR == 1 ? "" : "2",
			 rig_conf_path(), reasons[i]);
		strcat(expected, line);
	}
	setenv("DAT_DBG_TYPE", "4", 1);
	rig_load(conf);
	rig_capture_stderr();
	rig_list();
	caught = rig_captured();
	CHECK_TEXT(caught, expected);
	rig_unload();
	unsetenv("DAT_DBG_TYPE");
}

static void reasons(void)
{
	static const char *const expected[] = {
		"2: expected an API version such as u2.0, found \"x2.0\"",
		"3: expected threadsafe or nonthreadsafe, found \"unsafe\"",
		"4: expected default or nondefault, found \"never\"",
		"5: expected a provider version such as dapl.2.0, found \"v2\"",
		"6: expected the IA parameters, found the end of the line",
		"7: expected the end of the line, found \"ninth\"",
		"8: expected a closing quote, found the end of the line",
		"9: expected the end of the line, found a carriage return",
		"10: expected an IA name of 1 to 255 characters, found \"\"",
		"11: expected a library name, found \"\"",
		"12: expected an API version such as u2.0, found \"a?[31mb\"",
		NULL,
	};

	/* clang-format off */
	check_reasons(GOOD("good")
		      "a x2.0 nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n"
		      "a " API " unsafe default lib.so dapl.2.0 \"\" \"\"\n"
		      "a " API " nonthreadsafe never lib.so dapl.2.0 \"\" \"\"\n"
		      "a " API " nonthreadsafe default lib.so v2 \"\" \"\"\n"
		      "a " API " nonthreadsafe default lib.so dapl.2.0\n"
		      HEAD("a") "\"\" \"\" ninth\n"
		      HEAD("a") "\"\" \"open\n"
		      HEAD("a") "\"\" \"\"\r\n"
		      "\"\" " API " nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n"
		      "a " API " nonthreadsafe default \"\" dapl.2.0 \"\" \"\"\n"
		      "a \"a\x1b[31mb\" nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n",
		      expected);
	/* clang-format on */
}

static void long_line(void)
{
	static const char *const expected[] = {
		"1: expected a line of at most 4096 bytes, found 5001",
		NULL,
	};
	char *conf = malloc(8192);

	memset(conf, 'x', 5001);
	strcpy(conf + 5001, "\n" GOOD("b"));
	check_reasons(conf, expected);
	rig_load(conf);
	CHECK_TEXT(rig_list(), SEEN("b"));
	rig_unload();
	free(conf);
}

/* Of an oversized file the beginning is read, up to the line that is cut. */
static void long_file(void)
{
	size_t size = 1100 * 1024, len;
	char *conf = malloc(size + 1);

	len = (size_t)sprintf(conf, "%s", GOOD("a"));
	memset(conf + len, '#', size - len);
	for (; len + 1024 < size; len += 1024)
		conf[len + 1023] = '\n';
	strcpy(conf + size - strlen(GOOD("z")), GOOD("z"));
	rig_load(conf);
	CHECK_TEXT(rig_list(), SEEN("a"));
	rig_unload();
	free(conf);
}

static void many_entries(void)
{
	char *conf = malloc(1100 * 80), *at = conf;
	DAT_COUNT n = 0;
	int i;

	for (i = 0; i < 1100; i++)
		at += sprintf(at, "n%d %s threadsafe default l d.1.0 \"\" \"\"\n", i, API);
	rig_load(conf);
	CHECK_RET(dat.registry_list_providers(0, &n, NULL), RET_ARG1);
	CU_ASSERT_EQUAL(n, 1024);
	rig_unload();
	free(conf);
}

static void nul_byte(void)
{
	FILE *f;

	f = fopen(rig_conf_path(), "w");
	fwrite("a\0b", 1, 3, f);
	fputs(" " API " nonthreadsafe default lib.so dapl.2.0 \"\" \"\"\n" GOOD("b"), f);
	fclose(f);
	setenv("DAT_OVERRIDE", rig_conf_path(), 1);
	rig_load(NULL);
	CHECK_TEXT(rig_list(), SEEN("b"));
	rig_unload();
}

static void directory(void)
{
	setenv("DAT_OVERRIDE", "/tmp", 1);
	rig_load(NULL);
	CHECK_TEXT(rig_list(), "");
	rig_unload();
}

/* Without a writer: an open that waits for one would block indefinitely. */
static void fifo(void)
{
	char path[64] = "/tmp/libdat-fifo-XXXXXX", expected[128];
	DAT_IA_HANDLE ia;

	CU_ASSERT_FATAL(mkdtemp(path) != NULL);
	strcat(path, "/fifo");
	CU_ASSERT_FATAL(!mkfifo(path, 0600));
	setenv("DAT_OVERRIDE", path, 1);
	rig_load(NULL);
	rig_capture_stderr();
	rig_open("a", &ia);
	snprintf(expected, sizeof(expected),
		 "registry file %s (DAT_OVERRIDE): not a regular "
		 "file\n",
		 path);
	CU_ASSERT(strstr(rig_captured(), expected) != NULL);
	rig_unload();
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

/* Endless devices are rejected; the null device is an empty file. */
static void devices(void)
{
	setenv("DAT_OVERRIDE", "/dev/zero", 1);
	rig_load(NULL);
	CHECK_TEXT(rig_list(), "");
	rig_unload();
	setenv("DAT_OVERRIDE", "/dev/null", 1);
	setenv("DAT_DBG_TYPE", "4", 1);
	rig_load(NULL);
	rig_capture_stderr();
	CHECK_TEXT(rig_list(), "");
	CHECK_TEXT(rig_captured(), "");
	rig_unload();
	unsetenv("DAT_DBG_TYPE");
}

/* The installed example. */
static void sample(void)
{
	setenv("DAT_OVERRIDE", SAMPLE_CONF_PATH, 1);
	setenv("DAT_DBG_TYPE", "4", 1);
	rig_load(NULL);
	rig_capture_stderr();
	CHECK_TEXT(rig_list(),
		   OWN_FIRST("ofi-tcp/1.2/0 ofi-tcp/1.2/1 ofi-shm/1.2/0 ofi-shm/1.2/1 ",
			     "ofi-tcp/2.0/0 ofi-tcp/2.0/1 ofi-shm/2.0/0 ofi-shm/2.0/1 "));
	CHECK_TEXT(rig_captured(), "");
	rig_unload();
	unsetenv("DAT_DBG_TYPE");
}

/* Random bytes: must not crash, and must give a bounded list. */
static void noise(void)
{
	static const char alphabet[] = "a \t\"\\#\n\ru2.0k1,nonthreadsafe default";
	char *conf = malloc(20001);
	unsigned int seed = 12345, i, round;

	for (round = 0; round < 8; round++) {
		for (i = 0; i < 20000; i++) {
			seed = seed * 1103515245 + 12345;
			conf[i] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
		}
		conf[20000] = '\0';
		rig_load(conf);
		CU_ASSERT_STRING_NOT_EQUAL(rig_list(), "failed");
		rig_unload();
	}
	free(conf);
}

void add_conf_suite(void)
{
	CU_pSuite s = CU_add_suite("dat.conf: lexical rules", NULL, NULL);

#define ADD_SHARED(id, rule, conf, names) ADD(s, rule, id);
#define ADD_OWN(id, rule, conf, names) ADD_OURS(s, rule, id);
	SHARED_CASES(ADD_SHARED)
	OUR_CASES(ADD_OWN)
	ADD_OURS(s, "each bad line is named as FILE:LINE: expected, found", reasons);
	ADD_OURS(s, "a line of more than 4096 bytes is dropped", long_line);
	ADD_OURS(s, "data beyond 1 MiB is not read", long_file);
	ADD_OURS(s, "at most 1024 entries are kept", many_entries);
	ADD_OURS(s, "a line with a NUL byte is dropped", nul_byte);
	ADD_OURS(s, "a directory is not a registry file", directory);
	ADD_OURS(s, "a FIFO is not a registry file, and does not block", fifo);
	ADD_OURS(s, "devices are not registry files, except the null device", devices);
	ADD_OURS(s, "the example that is installed has no bad line", sample);
	ADD_OURS(s, "random bytes do not crash", noise);
}
