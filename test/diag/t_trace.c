/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that DAPL_OFI_TRACE prints all calls of a short session. */
#include <glob.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define GOOD "provider=tcp domain=127.0.0.1"
#define US " [0-9]+\\.[0-9]{3} us$"
#define OK " = DAT_SUCCESS" US

/*
 * The expected lines, in this order, with others in between; %s is the operation of a completion,
 * which 1.2 lacks.
 */
static const char *const expected[] = {
	"dat_ia_open\\(name=\"a\", qlen=8\\) = DAT_SUCCESS \\{async_evd=EVD#[0-9]+, ia=IA#1\\}" US,
	"dat_pz_create\\(ia=IA#1\\) = DAT_SUCCESS \\{pz=PZ#1\\}" US,
	"dat_lmr_create\\(ia=IA#1, type=VIRTUAL, region=0x[0-9a-f]+, length=8192, pz=PZ#1, "
	"rights=ALL.*\\) = DAT_SUCCESS \\{lmr=LMR#1, lmr_context=0x[0-9a-f]+, "
	"rmr_context=0x[0-9a-f]+\\}" US,
	"dat_evd_create\\(ia=IA#1, qlen=16, cno=NULL, flags=CR\\|CONNECTION\\) = DAT_SUCCESS "
	"\\{evd=EVD#[0-9]+\\}" US,
	"dat_evd_create\\(ia=IA#1, qlen=16, cno=NULL, flags=DTO\\)",
	"dat_ep_create\\(ia=IA#1, pz=PZ#1, recv_evd=EVD#[0-9]+, request_evd=EVD#[0-9]+, "
	"connect_evd=EVD#[0-9]+, attr=NULL\\) = DAT_SUCCESS \\{ep=EP#1\\}" US,
	"dat_ia_query\\(ia=IA#1, ia_mask=0x[0-9a-f]+, ia_attr=0x[0-9a-f]+, provider_mask=0x0, "
	"provider_attr=NULL\\)" OK,
	"dat_psp_create_any\\(ia=IA#1, evd=EVD#[0-9]+, flags=CONSUMER\\) = DAT_SUCCESS "
	"\\{qual=[0-9]+, psp=PSP#1\\}" US,
	"dat_ep_connect\\(ep=EP#1, address=127\\.0\\.0\\.1, qual=[0-9]+, timeout=20000000us, "
	"size=7, private=7 bytes, qos=BEST_EFFORT, flags=DEFAULT\\)" OK,
	"dat_evd_wait\\(evd=EVD#[0-9]+, timeout=20000000us, threshold=1\\) \\.\\.\\.$",
	"dat_evd_wait\\(.*\\) = DAT_SUCCESS \\{event=\\{DAT_CONNECTION_REQUEST_EVENT sp=PSP#1 "
	"qual=[0-9]+ cr=CR#1\\}, more=[0-9]+\\}" US,
	"dat_cr_query\\(cr=CR#1, mask=0x[0-9a-f]+\\) = DAT_SUCCESS "
	"\\{param=\\{remote=127\\.0\\.0\\.1 port=[0-9]+ private=7 bytes ep=NULL\\}\\}" US,
	"dat_cr_accept\\(cr=CR#1, ep=EP#2, size=5, private=5 bytes\\)" OK,
	"event=\\{DAT_CONNECTION_EVENT_ESTABLISHED ep=EP#[12] private=[05] bytes\\}",
	"event=\\{DAT_CONNECTION_EVENT_ESTABLISHED ep=EP#[12] private=[05] bytes\\}",
	"dat_evd_dequeue\\(evd=EVD#[0-9]+\\) = DAT_QUEUE_EMPTY" US,
	"dat_evd_dequeue = DAT_QUEUE_EMPTY \\(2 more empty polls\\)$",
	"dat_ep_post_recv\\(ep=EP#2, n=2, iov=\\[0x[0-9a-f]+\\+16 key 0x[0-9a-f]+, "
	"0x[0-9a-f]+\\+100 key 0x[0-9a-f]+\\], cookie=0xc00c1e, flags=DEFAULT\\)" OK,
	"dat_ep_post_rdma_write\\(ep=EP#1, n=1, iov=\\[0x[0-9a-f]+\\+64 key 0x[0-9a-f]+\\], "
	"cookie=0xc00c1e, remote=\\[0x[0-9a-f]+\\+64 key 0x[0-9a-f]+\\], flags=SUPPRESS\\)" OK,
	"dat_ep_post_send\\(ep=EP#1, n=1, iov=\\[0x[0-9a-f]+\\+64 key 0x[0-9a-f]+\\], "
	"cookie=0xc00c1e, flags=DEFAULT\\)" OK,
	"event=\\{DAT_DTO_COMPLETION_EVENT ep=EP#[12]" OPERATION " cookie=0xc00c1e "
	"status=SUCCESS length=64\\}",
	"event=\\{DAT_DTO_COMPLETION_EVENT ep=EP#[12]" OPERATION " cookie=0xc00c1e "
	"status=SUCCESS length=64\\}",
	"dat_ep_disconnect\\(ep=EP#1, flags=GRACEFUL\\)" OK,
	"event=\\{DAT_CONNECTION_EVENT_DISCONNECTED ep=EP#[12] private=0 bytes\\}",
	"event=\\{DAT_CONNECTION_EVENT_DISCONNECTED ep=EP#[12] private=0 bytes\\}",
	"dat_ep_free\\(ep=EP#1\\)" OK,
	"dat_ep_free\\(ep=EP#1\\(freed\\)\\) = DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EP" US,
	"dat_ep_free\\(ep=EP#2\\)" OK,
	"dat_psp_free\\(psp=PSP#1\\)" OK,
	"dat_lmr_free\\(lmr=LMR#1\\)" OK,
	"dat_pz_free\\(pz=PZ#1\\)" OK,
	"dat_ia_close\\(ia=IA#1, flags=GRACEFUL\\)" OK,
};

static bool matches(const char *line, const char *pattern)
{
	regex_t regex;
	bool match;

	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
		FAIL("no pattern: %s", pattern);
	match = !regexec(&regex, line, 0, NULL, 0);
	regfree(&regex);
	return match;
}

static void check_session(void)
{
	size_t next = 0, wanted = sizeof(expected) / sizeof(*expected);
	char line[2048];

	for (const char *at = player_output(); *at && next < wanted; at += strcspn(at, "\n") + 1) {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
		if (!matches(line, "^dat-ofi\\[[0-9]+\\.[0-9]+\\] "
				   "[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{6} dat_"))
			FAIL("no line of a trace: %s", line);
		next += matches(line, expected[next]);
	}
	if (next < wanted)
		FAIL("after %zu lines there is none like:\n%s", next, expected[next]);
}

/* In the order of the player's calls. */
/* clang-format off */
static const char *const flags[] = {
	"rights=NONE", "rights=LOCAL_READ", "rights=REMOTE_READ", "rights=LOCAL_READ\\|REMOTE_READ",
	"rights=LOCAL_WRITE", "rights=REMOTE_READ\\|LOCAL_WRITE", "rights=REMOTE_WRITE",
	"rights=LOCAL_READ\\|LOCAL_WRITE\\|REMOTE_WRITE", "rights=ALL",
	"rights=ALL\\|REMOTE_ATOMIC", "rights=0x80",
	"flags=CR", "flags=DTO\\|CONNECTION",
	"flags=SOFTWARE\\|CR\\|DTO\\|CONNECTION\\|RMR_BIND\\|ASYNC", "flags=EXTENSION",
	"flags=0x1000", "flags=DTO",
	"flags=DEFAULT", "flags=SUPPRESS", "flags=SOLICITED_WAIT\\|UNSIGNALLED",
	"flags=SUPPRESS\\|BARRIER_FENCE\\|EVD_THRESHOLD", "flags=LMR_INVALIDATE_FENCE",
	"flags=0x40", "qos=HIGH_THROUGHPUT\\|ECONOMY", "flags=MULTIPATH\\|MULTIPATH_REQUIRED",
};
/* clang-format on */

TEST(trace, flags_are_told_by_their_names_and_no_others)
{
	const char *at;
	char pattern[128];

	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_TRACE", "1");
	ASSERT_EQ(run_player("flags", "a", NULL), 0);
	at = player_output();
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		regmatch_t found;
		regex_t regex;

		snprintf(pattern, sizeof(pattern), "%s[,)]", flags[i]);
		ASSERT(!regcomp(&regex, pattern, REG_EXTENDED));
		if (regexec(&regex, at, 1, &found, 0))
			FAIL("no %s in:\n%.1000s", pattern, at);
		regfree(&regex);
		at += found.rm_eo - 1;
	}
}

TEST(trace, session_on_stderr)
{
	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_TRACE", "1");
	ASSERT_EQ(run_player("session", "a", NULL), 0);
	check_session();
}

TEST(trace, session_in_a_file)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/trace", work_dir());
	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_TRACE", path);
	ASSERT_EQ(run_player("session", "a", NULL), 0);
	expect_no_output();
	read_output_file(path);
	check_session();
}

TEST(trace, off)
{
	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_TRACE", "0");
	ASSERT_EQ(run_player("session", "a", NULL), 0);
	expect_no_output();
}

TEST(trace, every_slot)
{
	set_conf(LINE("a", GOOD) LINE("b", GOOD));
	ASSERT_EQ(run_player("slots", "a", "b", NULL), 0);
}

/* The provider prints the trace, so it works with another registry library, too. */
TEST(trace, session_over_another_libdat)
{
	static char path[512];
	glob_t found;

	if (glob("/usr/lib/*/" LIB ".so." SOVERSION, 0, NULL, &found))
		dt_skip("no other " LIB " is installed");
	snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
	*strrchr(path, '/') = '\0';
	globfree(&found);
	set_conf(LINE("a", GOOD));
	set_library_path(path);
	set_env("DAPL_OFI_TRACE", "1");
	ASSERT_EQ(run_player("session", "a", NULL), 0);
	check_session();
}
