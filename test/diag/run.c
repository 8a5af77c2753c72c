/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the player and keeps its output. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run.h"

#define MAX_ENV 16

static char dir[64], conf_file[96], output[65536];
static const char *env[MAX_ENV][2];
static size_t num_env;
static void (*child_hook)(void);
static const char *search_path, *program;

static void remove_dir(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		perror(command);
}

/* Each case is a process of its own. */
const char *work_dir(void)
{
	if (!*dir) {
		snprintf(dir, sizeof(dir), "/tmp/diag-test-XXXXXX");
		if (!mkdtemp(dir))
			FAIL("%s: %s", dir, strerror(errno));
		atexit(remove_dir);
	}
	return dir;
}

void set_conf(const char *lines)
{
	FILE *f;

	snprintf(conf_file, sizeof(conf_file), "%s/dat.conf", work_dir());
	f = fopen(conf_file, "w");
	if (!f)
		FAIL("%s: %s", conf_file, strerror(errno));
	fputs(lines, f);
	fclose(f);
	set_env("DAT_OVERRIDE", conf_file);
}

const char *conf_path(void)
{
	return conf_file;
}

void set_env(const char *name, const char *value)
{
	for (size_t i = 0; i < num_env; i++)
		if (!strcmp(env[i][0], name)) {
			env[i][1] = value;
			return;
		}
	ASSERT(num_env < MAX_ENV);
	env[num_env][0] = name;
	env[num_env++][1] = value;
}

void set_child_hook(void (*fn)(void))
{
	child_hook = fn;
}

void set_library_path(const char *path)
{
	search_path = path;
}

void set_program(const char *path)
{
	program = path;
}

/* Clears the environment of the player, except for library paths. */
static void clear_env(void)
{
	static const char *const names[] = { "DAPL_OFI_", "DAT_", "FI_", "DAPL_DBG", "SHIM" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (char **at = environ; *at;) {
			char name[128];

			snprintf(name, sizeof(name), "%.*s", (int)strcspn(*at, "="), *at);
			if (!strncmp(*at, names[i], strlen(names[i])) && !unsetenv(name))
				at = environ;
			else
				at++;
		}
}

static void exec_player(char **argv, int err)
{
	/* stdout of the player is for manual runs. */
	dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 1);
	clear_env();
	for (size_t i = 0; i < num_env; i++)
		setenv(env[i][0], env[i][1], 1);
	if (search_path)
		setenv("LD_LIBRARY_PATH", search_path, 1);
	if (child_hook)
		child_hook();
	dup2(err, 2);
	if (program)
		execv(program, argv);
	else
		execv(search_path ? TEST_PLAYER_ITSELF : TEST_PLAYER, argv);
	_exit(127);
}

int run_player(const char *part, ...)
{
	char *argv[16] = { "player", (char *)(uintptr_t)part };
	int fds[2], status = -1, n = 2;
	size_t len = 0;
	ssize_t got;
	va_list args;
	pid_t pid;

	va_start(args, part);
	while (n < 15 && (argv[n] = va_arg(args, char *)))
		n++;
	va_end(args);
	ASSERT(!pipe(fds));
	fflush(NULL);
	pid = fork();
	if (!pid)
		exec_player(argv, fds[1]);
	close(fds[1]);
	while (len < sizeof(output) - 1 &&
	       (got = read(fds[0], output + len, sizeof(output) - 1 - len)) > 0)
		len += (size_t)got;
	output[len] = '\0';
	close(fds[0]);
	waitpid(pid, &status, 0);
	dt_note("output: %.3000s", output);
	if (!WIFEXITED(status))
		FAIL("the player was killed: status 0x%x", status);
	return WEXITSTATUS(status);
}

const char *player_output(void)
{
	return output;
}

void expect_output(const char *text)
{
	if (!strstr(output, text))
		FAIL("\"%s\" is missing in:\n%.1500s", text, output);
}

void expect_not_in_output(const char *text)
{
	if (strstr(output, text))
		FAIL("\"%s\" is in:\n%.1500s", text, output);
}

void expect_no_output(void)
{
	if (*output)
		FAIL("not silent:\n%.1500s", output);
}

int count_output_lines(void)
{
	int n = 0;

	for (const char *at = output; (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

void read_output_file(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t len;

	if (!f)
		FAIL("%s: %s", path, strerror(errno));
	len = fread(output, 1, sizeof(output) - 1, f);
	output[len] = '\0';
	fclose(f);
}
