/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with secrets, and logs of the processes that use them. */
#include "secret_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/harness.h"

#define SECRET "DAPL_OFI_CM_SECRET_FILE"

static char dir[64];
static pid_t owner;

static void remove_dir(void)
{
	char command[80];

	/* The peer process ends earlier. */
	if (getpid() != owner)
		return;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		perror(command);
}

static const char *file_of(const char *name)
{
	static char path[2][128];
	static int turn;

	turn ^= 1;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

void secret_files(void)
{
	static const char *const names[] = { "good", "same", "other" };
	static const char *const text[] = { "a secret of good length\n", "a secret of good length",
					    "a secret of good lengtH\n" };

	snprintf(dir, sizeof(dir), "/tmp/dat-ofi-secret-XXXXXX");
	ASSERT(mkdtemp(dir));
	owner = getpid();
	atexit(remove_dir);
	for (size_t i = 0; i < 3; i++) {
		int fd = open(file_of(names[i]), O_WRONLY | O_CREAT, 0600);

		ASSERT(fd >= 0);
		ASSERT_EQ(write(fd, text[i], strlen(text[i])), strlen(text[i]));
		close(fd);
	}
}

void secret_choose(const char *secret, const char *log)
{
	int fd = open(file_of(log), O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (secret)
		setenv(SECRET, file_of(secret), 1);
	else
		unsetenv(SECRET);
	setenv("DAPL_OFI_LOG", "2", 1);
	/* To standard error: a log file stays open until the process ends. */
	ASSERT(fd >= 0 && dup2(fd, 2) == 2);
	close(fd);
}

bool secret_log_says(const char *log, const char *words)
{
	char text[8192] = "";
	FILE *f = fopen(file_of(log), "r");

	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
	}
	return strstr(text, words);
}
