/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that a program with more privileges than its caller ignores the environment of the caller.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "run.h"

#define NOBODY 65534

enum rights { PLAIN, SETUID, SETGID, CAPABILITY };

static const struct row {
	const char *rule;
	enum rights rights;
} rows[] = {
	{ "setuid", SETUID },
	{ "setgid", SETGID },
	{ "with_a_capability", CAPABILITY },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static char path[160], mark[160], file[160], secret[160];

static void drop_privileges(void)
{
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		_exit(126);
}

/* What a file capability is for: to read what the caller may not, here the build tree. */
static int set_capability(void)
{
	struct vfs_cap_data cap;

	memset(&cap, 0, sizeof(cap));
	cap.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
	cap.data[0].permitted = 1u << CAP_DAC_READ_SEARCH | 1u << CAP_DAC_OVERRIDE;
	return setxattr(path, "security.capability", &cap, XATTR_CAPS_SZ_2, 0);
}

static void copy_program(void)
{
	char command[400];

	snprintf(path, sizeof(path), "%s/program", work_dir());
	snprintf(command, sizeof(command), "cp %s %s", TEST_PRIVILEGED, path);
	ASSERT_EQ(system(command), 0);
	ASSERT_EQ(chmod(path, 0755), 0);
}

/* Gives privileges to the copy of the program; skips the case where that is impossible. */
static void install_program(enum rights rights)
{
	struct statvfs fs;

	if (geteuid() != 0)
		dt_skip("needs root to set privileges of a program");
	if (DT_SANITIZED)
		dt_skip("sanitizers use the environment, too");
	/* Other users may enter, read and write here. */
	ASSERT_EQ(chmod(work_dir(), 0777), 0);
	copy_program();
	if (statvfs(path, &fs) || (fs.f_flag & ST_NOSUID))
		dt_skip("%s is mounted nosuid", work_dir());
	if (rights == SETUID)
		ASSERT_EQ(chmod(path, 04755), 0);
	/* Run by root, which can read the build tree: another group is enough. */
	if (rights == SETGID)
		ASSERT(!chown(path, 0, NOBODY) && !chmod(path, 02755));
	if (rights == CAPABILITY && set_capability())
		dt_skip("no capabilities of files: %s", strerror(errno));
	set_program(path);
	set_child_hook(rights == SETUID || rights == CAPABILITY ? drop_privileges : NULL);
	snprintf(mark, sizeof(mark), "%s/mark", work_dir());
	snprintf(file, sizeof(file), "%s/file", work_dir());
}

static bool exists(const char *name)
{
	return !access(name, F_OK);
}

static int open_adapter(const char *ia, bool privileged)
{
	int status;

	unlink(mark);
	unlink(file);
	status = run_player(TEST_PROVIDER, ia, NULL);
	if (privileged && strstr(player_output(), "plain\n"))
		dt_skip("the kernel ignores privileges of programs here");
	expect_output(privileged ? "secure\n" : "plain\n");
	return status;
}

static void libfabric_loads_no_library_of_the_caller(const void *arg)
{
	const struct row *row = arg;

	install_program(PLAIN);
	set_env("HOSTILE_MARK", mark);
	set_env("FI_PROVIDER_PATH", TEST_HOSTILE_DIR);
	set_env("DAPL_OFI_LOG", "2");
	/* Without additional privileges the environment is used. */
	ASSERT_EQ(open_adapter("ofi-rxm", false), 0);
	ASSERT(exists(mark));
	expect_output("remains: FI_PROVIDER_PATH=");
	install_program(row->rights);
	ASSERT_EQ(open_adapter("ofi-rxm", true), 0);
	ASSERT(!exists(mark));
	expect_not_in_output("remains: ");
	expect_output("FI_PROVIDER_PATH is ignored: the program has more rights than its caller\n");
}

static void no_file_of_the_caller_is_written(const void *arg)
{
	static const char *const names[] = {
		"IPATH_DEBUG_FILENAME", "HFI_DEBUG_FILENAME", "PSM_FI_TRACEFILE",
		"VERBS_LOG_FILE",       "DAPL_OFI_LOG_FILE",  "DAPL_OFI_TRACE",
	};
	const struct row *row = arg;

	install_program(row->rights);
	set_env("DAPL_OFI_LOG", "2");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		set_env(names[i], file);
	set_env("VERBS_LOG_LEVEL", "5");
	set_env("HFI_BACKTRACE", "1");
	ASSERT_EQ(open_adapter("ofi-rxm", true), 0);
	if (exists(file))
		FAIL("a file that the caller named was written");
	expect_output(
		"DAPL_OFI_LOG_FILE is ignored: the program has more rights than its caller\n");
}

static void the_caller_chooses_no_fabric(const void *arg)
{
	const struct row *row = arg;

	install_program(PLAIN);
	set_env("DAPL_OFI_PROVIDER", "none");
	ASSERT_EQ(open_adapter("ofi-rxm", false), 1);
	install_program(row->rights);
	set_env("DAPL_OFI_DOMAIN", "none");
	set_env("DAT_OVERRIDE", "/dev/null");
	ASSERT_EQ(open_adapter("ofi-rxm", true), 0);
}

/* Ignoring the setting would accept peers that it should reject. */
static void nothing_opens_without_the_secret_that_is_wanted(const void *arg)
{
	const struct row *row = arg;
	FILE *f;

	install_program(row->rights);
	snprintf(secret, sizeof(secret), "%s/secret", work_dir());
	f = fopen(secret, "w");
	ASSERT(f && fputs("0123456789abcdef", f) >= 0 && !fclose(f));
	set_env("DAPL_OFI_CM_SECRET_FILE", secret);
	ASSERT_EQ(open_adapter("ofi-rxm", true), 1);
	expect_output("DAPL_OFI_CM_SECRET_FILE cannot be used: the program has more rights");
}

#define CASES(suite_) TEST_ROWS(suite_, rows, suite_)
CASES(libfabric_loads_no_library_of_the_caller)
CASES(no_file_of_the_caller_is_written)
CASES(the_caller_chooses_no_fabric)
CASES(nothing_opens_without_the_secret_that_is_wanted)
