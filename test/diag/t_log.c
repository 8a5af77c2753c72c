/* SPDX-License-Identifier: BSD-2-Clause */
/* Log levels, files, masks and names of settings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

#define GOOD "provider=tcp domain=127.0.0.1"
#define UNKNOWN "DAPL_OFI_LOGG is no setting; did you mean DAPL_OFI_LOG?\n"

TEST(log, unknown_setting_once)
{
	const char *first;

	give_conf(LINE("a", GOOD) LINE("b", GOOD));
	give_env("DAPL_OFI_LOGG", "4");
	ASSERT_EQ(play("probe", "a", "b", NULL), 0);
	must_say(UNKNOWN);
	first = strstr(told(), UNKNOWN);
	ASSERT(!strstr(first + 1, UNKNOWN));
}

TEST(log, unknown_setting_like_no_other)
{
	give_conf(LINE("a", GOOD));
	give_env("DAPL_OFI_SOMETHING_ELSE", "4");
	ASSERT_EQ(play("open", "a", NULL), 0);
	must_be_silent();
	give_env("DAPL_OFI_LOG", "2");
	ASSERT_EQ(play("open", "a", NULL), 0);
	must_say("DAPL_OFI_SOMETHING_ELSE is no setting\n");
}

TEST(log, bad_number)
{
	give_conf(LINE("a", GOOD));
	give_env("DAPL_OFI_SPIN_US", "fast");
	ASSERT_EQ(play("open", "a", NULL), 0);
	must_say("DAPL_OFI_SPIN_US=fast is no number from 0 to 10000; 40 is used\n");
}

TEST(log, unknown_word_of_an_entry)
{
	give_conf(LINE("a", GOOD " provdier=shm"));
	ASSERT_EQ(play("open", "a", NULL), 0);
	must_say("\"provdier=shm\" is no parameter of an adapter and is ignored; did you mean "
		 "provider=?\n");
	give_conf(LINE("a", GOOD " xyz=y"));
	ASSERT_EQ(play("open", "a", NULL), 0);
	must_be_silent();
	give_env("DAPL_OFI_LOG", "2");
	ASSERT_EQ(play("open", "a", NULL), 0);
	must_say("\"xyz=y\" is no parameter of an adapter and is ignored\n");
	/* Device and port of an old file are none of ours, and no slip. */
	give_conf(LINE("a", GOOD " mlx4_0 1"));
	ASSERT_EQ(play("open", "a", NULL), 0);
	must_be_silent();
}

/* Every fabric asks for it: none opens without. */
TEST(log, secret_counts_over_tcp)
{
	give_conf(LINE("a", GOOD));
	ASSERT_EQ(play("open", "a", NULL), 0);
	give_env("DAPL_OFI_CM_SECRET_FILE", "/no/such/secret");
	ASSERT_EQ(play("open", "a", NULL), 1);
	must_say("DAPL_OFI_CM_SECRET_FILE=/no/such/secret cannot be used: No such file");
}

struct mask {
	const char *rule;
	const char *name;
	const char *value;
	const char *log;
	bool error, warning;
};

/* A bad number is an error, as is a misspelt setting; one that resembles no other is a warning. */
static const struct mask masks[] = {
	{ "dapl_none", "DAPL_DBG_TYPE", "0", NULL, false, false },
	{ "dapl_errors", "DAPL_DBG_TYPE", "0x1", NULL, true, false },
	{ "dapl_warnings", "DAPL_DBG_TYPE", "0x2", NULL, true, true },
	{ "dapl_all", "DAPL_DBG_TYPE", "0xffff", NULL, true, true },
	{ "dat_errors", "DAT_DBG_TYPE", "0x1", NULL, true, false },
	{ "dat_more", "DAT_DBG_TYPE", "0x3", NULL, true, true },
	{ "no_number", "DAPL_DBG_TYPE", "all", NULL, true, false },
	{ "our_level_wins", "DAPL_DBG_TYPE", "0xffff", "1", true, false },
};

static void mask_to_level(const void *row)
{
	const struct mask *mask = row;

	give_conf(LINE("a", GOOD));
	give_env("DAPL_OFI_SOMETHING_ELSE", "4");
	give_env("DAPL_OFI_GRACE_MS", "soon");
	give_env(mask->name, mask->value);
	if (mask->log)
		give_env("DAPL_OFI_LOG", mask->log);
	ASSERT_EQ(play("open", "a", NULL), 0);
	ASSERT_EQ(strstr(told(), "DAPL_OFI_GRACE_MS=soon is no number") != NULL, mask->error);
	ASSERT_EQ(strstr(told(), "DAPL_OFI_SOMETHING_ELSE is no setting") != NULL, mask->warning);
}

TEST_ROWS(mask, masks, mask_to_level)

TEST(log, file)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/log", work_dir());
	give_conf(LINE("a", GOOD));
	give_env("DAPL_OFI_LOGG", "4");
	give_env("DAPL_OFI_LOG", "2");
	give_env("DAPL_OFI_LOG_FILE", path);
	ASSERT_EQ(play("open", "a", NULL), 0);
	must_be_silent();
	read_instead(path);
	must_say(UNKNOWN);
	ASSERT_EQ(play("open", "a", NULL), 0);
	read_instead(path);
	ASSERT_EQ(lines_told(), 2);
}

/* A writer of a FIFO would wait for its reader. */
TEST(log, fifo_without_reader)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/fifo", work_dir());
	ASSERT(!mkfifo(path, 0600));
	give_conf(LINE("a", GOOD));
	give_env("DAPL_OFI_LOGG", "4");
	give_env("DAPL_OFI_LOG_FILE", path);
	ASSERT_EQ(play("open", "a", NULL), 0);
	must_say("; stderr is used\n");
	must_say(UNKNOWN);
}

TEST(log, file_that_cannot_be_opened)
{
	give_conf(LINE("a", GOOD));
	give_env("DAPL_OFI_LOGG", "4");
	give_env("DAPL_OFI_LOG", "2");
	give_env("DAPL_OFI_LOG_FILE", "/no/such/directory/log");
	ASSERT_EQ(play("open", "a", NULL), 0);
	must_say("DAPL_OFI_LOG_FILE=/no/such/directory/log: No such file or directory; stderr is "
		 "used\n");
	must_say(UNKNOWN);
	ASSERT_EQ(lines_told(), 2);
}

/* Each process has its file, and a forked child is a process. */
TEST(log, file_per_process)
{
	char path[128], command[256];

	snprintf(path, sizeof(path), "%s/trace.%%p", work_dir());
	give_conf(LINE("a", GOOD));
	give_env("DAPL_OFI_TRACE", path);
	ASSERT_EQ(play("fork", "a", NULL), 0);
	must_be_silent();
	snprintf(command, sizeof(command),
		 "test \"$(ls %s | grep -c '^trace\\.[1-9][0-9]*$')\" = 2", work_dir());
	ASSERT_EQ(system(command), 0);
}
