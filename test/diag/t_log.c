/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests log levels, log files, masks and unknown settings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

#define GOOD "provider=tcp domain=127.0.0.1"
#define UNKNOWN "unknown setting DAPL_OFI_LOGG; did you mean DAPL_OFI_LOG?\n"

TEST(log, unknown_setting_once)
{
	const char *first;

	set_conf(LINE("a", GOOD) LINE("b", GOOD));
	set_env("DAPL_OFI_LOGG", "4");
	ASSERT_EQ(run_player("probe", "a", "b", NULL), 0);
	expect_output(UNKNOWN);
	first = strstr(player_output(), UNKNOWN);
	ASSERT(!strstr(first + 1, UNKNOWN));
}

TEST(log, unknown_setting_like_no_other)
{
	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_SOMETHING_ELSE", "4");
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_no_output();
	set_env("DAPL_OFI_LOG", "2");
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_output("unknown setting DAPL_OFI_SOMETHING_ELSE\n");
}

TEST(log, bad_number)
{
	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_SPIN_US", "fast");
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_output("DAPL_OFI_SPIN_US=fast is not a number from 0 to 10000; 40 is used\n");
}

/* A former name is no unknown setting, and its value is used. */
TEST(log, former_name_of_a_setting)
{
	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_LOG", "2");
	set_env("DAPL_OFI_SILENT_MS", "200");
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_no_output();
	set_env("DAPL_OFI_SILENT_MS", "soon");
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_output("DAPL_OFI_SILENT_MS=soon is not a number from 100 to 3600000; 3000 is used");
}

TEST(log, present_name_wins_over_former_name)
{
	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_LOG", "2");
	set_env("DAPL_OFI_HALF_OPEN_MS", "200");
	set_env("DAPL_OFI_SILENT_MS", "soon");
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_output("DAPL_OFI_SILENT_MS=soon is ignored: DAPL_OFI_HALF_OPEN_MS=200, its present "
		      "name, is set\n");
	ASSERT_EQ(count_output_lines(), 1);
}

TEST(log, misspelt_former_name)
{
	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_SILENTMS", "200");
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_output("unknown setting DAPL_OFI_SILENTMS; did you mean DAPL_OFI_HALF_OPEN_MS?\n");
}

TEST(log, unknown_word_of_an_entry)
{
	set_conf(LINE("a", GOOD " provdier=shm"));
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_output("unknown parameter \"provdier=shm\" is ignored; did you mean provider=?\n");
	set_conf(LINE("a", GOOD " xyz=y"));
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_no_output();
	set_env("DAPL_OFI_LOG", "2");
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_output("unknown parameter \"xyz=y\" is ignored\n");
	/* Device and port of a legacy file are neither parameters nor typing errors. */
	set_conf(LINE("a", GOOD " mlx4_0 1"));
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_no_output();
}

/* All fabrics need it: none opens without it. */
TEST(log, secret_counts_over_tcp)
{
	set_conf(LINE("a", GOOD));
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	set_env("DAPL_OFI_CM_SECRET_FILE", "/no/such/secret");
	ASSERT_EQ(run_player("open", "a", NULL), 1);
	expect_output("DAPL_OFI_CM_SECRET_FILE=/no/such/secret cannot be used: No such file");
}

struct mask {
	const char *rule;
	const char *name;
	const char *value;
	const char *log;
	bool error, warning;
};

/*
 * A bad number or a misspelt setting is an error; a setting that resembles no other is a warning.
 */
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

	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_SOMETHING_ELSE", "4");
	set_env("DAPL_OFI_GRACE_MS", "soon");
	set_env(mask->name, mask->value);
	if (mask->log)
		set_env("DAPL_OFI_LOG", mask->log);
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	ASSERT_EQ(strstr(player_output(), "DAPL_OFI_GRACE_MS=soon is not a number") != NULL,
		  mask->error);
	ASSERT_EQ(strstr(player_output(), "unknown setting DAPL_OFI_SOMETHING_ELSE") != NULL,
		  mask->warning);
}

TEST_ROWS(mask, masks, mask_to_level)

TEST(log, file)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/log", work_dir());
	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_LOGG", "4");
	set_env("DAPL_OFI_LOG", "2");
	set_env("DAPL_OFI_LOG_FILE", path);
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_no_output();
	read_output_file(path);
	expect_output(UNKNOWN);
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	read_output_file(path);
	ASSERT_EQ(count_output_lines(), 2);
}

/* An open of a FIFO for writing would block until it has a reader. */
TEST(log, fifo_without_reader)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/fifo", work_dir());
	ASSERT(!mkfifo(path, 0600));
	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_LOGG", "4");
	set_env("DAPL_OFI_LOG_FILE", path);
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_output("; stderr is used\n");
	expect_output(UNKNOWN);
}

TEST(log, file_that_cannot_be_opened)
{
	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_LOGG", "4");
	set_env("DAPL_OFI_LOG", "2");
	set_env("DAPL_OFI_LOG_FILE", "/no/such/directory/log");
	ASSERT_EQ(run_player("open", "a", NULL), 0);
	expect_output(
		"DAPL_OFI_LOG_FILE=/no/such/directory/log: No such file or directory; stderr is "
		"used\n");
	expect_output(UNKNOWN);
	ASSERT_EQ(count_output_lines(), 2);
}

/* Each process has its own log file, including a forked child. */
TEST(log, file_per_process)
{
	char path[128], command[256];

	snprintf(path, sizeof(path), "%s/trace.%%p", work_dir());
	set_conf(LINE("a", GOOD));
	set_env("DAPL_OFI_TRACE", path);
	ASSERT_EQ(run_player("fork", "a", NULL), 0);
	expect_no_output();
	snprintf(command, sizeof(command),
		 "test \"$(ls %s | grep -c '^trace\\.[1-9][0-9]*$')\" = 2", work_dir());
	ASSERT_EQ(system(command), 0);
}
