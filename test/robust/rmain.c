/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements the watchdog: environment, time limit and summary line of a test program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../fabrics/fabrics.h"
#include "rlib.h"
#include "rmain.h"

#define BOARD_ENV "RL_BOARD"

static char **args;
static int arg_count;

void rm_map_board(void)
{
	const char *fd = getenv(BOARD_ENV);
	void *mem = MAP_FAILED;

	if (fd)
		mem = mmap(NULL, sizeof(struct rl_board), PROT_READ | PROT_WRITE, MAP_SHARED,
			   atoi(fd), 0);
	if (mem == MAP_FAILED) {
		fprintf(stderr, "no board (%s)\n", fd ? fd : "not started by a driver");
		exit(1);
	}
	rl_board = mem;
}

bool rm_wanted(const char *name)
{
	bool any = false;

	for (int i = 1; i < arg_count; i++) {
		if (args[i][0] == '-' || strchr(args[i], '='))
			continue;
		any = true;
		if (strstr(name, args[i]))
			return true;
	}
	return !any;
}

bool rm_verbose(void)
{
	return rl_option("-v", NULL);
}

bool rl_option(const char *name, long *value)
{
	size_t len = strlen(name);

	for (int i = 1; i < arg_count; i++) {
		if (!strcmp(args[i], name))
			return true;
		if (!strncmp(args[i], name, len) && args[i][len] == '=') {
			if (value)
				*value = strtol(args[i] + len + 1, NULL, 0);
			return true;
		}
	}
	return false;
}

unsigned int rl_long(void)
{
	const char *text = getenv("DAT_TEST_LONG");
	int factor = text ? atoi(text) : 1;

	return factor > 1 ? (unsigned int)factor : 1;
}

/* Entries for both API versions and both thread-safeties. */
static bool write_conf(const char *path, const char *params)
{
	static const char *const safety[] = { "threadsafe", "nonthreadsafe" };
	FILE *f = fopen(path, "w");

	if (!f)
		return false;
	for (int i = 0; i < 2; i++) {
		fprintf(f,
			"%s u2.0 %s default %s/prov_ofi/dat2/.libs/libdaplofi.so.2 dapl.2.0 "
			"\"%s\" \"\"\n",
			RL_IA, safety[i], RL_BUILD, params);
		fprintf(f,
			"%s u1.2 %s default %s/prov_ofi/dat1/.libs/libdaplofi.so.1 dapl.1.2 "
			"\"%s\" \"\"\n",
			RL_IA, safety[i], RL_BUILD, params);
	}
	return !fclose(f);
}

static pid_t start_driver(const char *conf, int board_fd, const sigset_t *mask)
{
	pid_t parent = getpid(), pid = fork();
	char number[16];

	if (pid) {
		if (pid > 0)
			setpgid(pid, pid);
		return pid;
	}
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	sigprocmask(SIG_SETMASK, mask, NULL);
	snprintf(number, sizeof(number), "%d", board_fd);
	setenv(BOARD_ENV, number, 1);
	setenv("DAT_OVERRIDE", conf, 1);
	execv("/proc/self/exe", args);
	perror("execv");
	_exit(1);
}

/* Waits until the driver ends, a signal interrupts, or the time limit: 0, or the signal. */
static int wait_for_driver(pid_t pid, uint64_t deadline, const sigset_t *set, int *status)
{
	for (;;) {
		uint64_t now = rl_now();
		struct timespec left = { 0, 0 };
		int sig;

		if (waitpid(pid, status, WNOHANG) == pid)
			return 0;
		if (now >= deadline)
			return SIGALRM;
		left.tv_sec = (time_t)((deadline - now) / 1000000);
		left.tv_nsec = (long)((deadline - now) % 1000000) * 1000;
		sig = sigtimedwait(set, NULL, &left);
		if (sig > 0 && sig != SIGCHLD)
			return sig;
	}
}

static int watchdog_run(unsigned int limit)
{
	const struct test_fabric *fabric = test_fabric();
	const char *tmp = getenv("TMPDIR");
	char dir[200], conf[220];
	sigset_t set, old;
	int fd, status = 0, sig;
	pid_t pid;

	if (!fabric)
		return 2;
	/* The caller's environment must not override the registry file. */
	unsetenv("DAPL_OFI_PROVIDER");
	fd = memfd_create("board", 0);
	if (fd < 0 || ftruncate(fd, sizeof(struct rl_board)))
		return 1;
	snprintf(conf, sizeof(conf), "%d", fd);
	setenv(BOARD_ENV, conf, 1);
	rm_map_board();
	snprintf(dir, sizeof(dir), "%s/robust-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return 1;
	snprintf(conf, sizeof(conf), "%s/dat.conf", dir);
	if (!write_conf(conf, fabric->params))
		return 1;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &old);
	pid = start_driver(conf, fd, &old);
	if (pid < 0)
		return 1;
	sig = wait_for_driver(pid, rl_now() + (uint64_t)rl_bound(limit * 1000) * 1000, &set,
			      &status);
	if (sig) {
		kill(-pid, SIGKILL);
		waitpid(pid, &status, 0);
		printf("not ok %s: %s\n", args[0],
		       sig == SIGALRM ? "the program exceeded its time limit" : "interrupted");
		rl_board->failed++;
	} else if (status) {
		kill(-pid, SIGKILL);
		printf("not ok %s: the driver ended with status 0x%x\n", args[0], status);
		rl_board->failed++;
	}
	unlink(conf);
	rmdir(dir);
	printf("# over %s\n", fabric->name);
	printf("%d passed, %d failed, %d skipped\n", (int)rl_board->passed, (int)rl_board->failed,
	       (int)rl_board->skipped);
	if (rl_board->failed)
		return 1;
	return rl_board->passed ? 0 : 77;
}

int rl_main(int argc, char **argv, unsigned int limit, void (*run)(void))
{
	args = argv;
	arg_count = argc;
	if (!getenv(BOARD_ENV))
		return watchdog_run(limit * rl_long());
	rm_map_board();
	run();
	return 0;
}
