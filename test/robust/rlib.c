/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts players, checks how they end, and decides cases. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
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

struct rl_board *rl_board;

static int self = -1; /* number of this player, -1: the driver */
static char case_name[96];
static struct rl_limit case_limit;
static uint64_t case_began;
static const char *known; /* why the case is known to fail; NULL: it should pass */

/* Verdicts */

void rl_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout);
	va_end(ap);
}

void rl_ok(const char *name)
{
	rl_board->passed++;
	printf("ok %s\n", name);
	fflush(stdout);
}

static void not_ok(const char *name, const char *reason)
{
	rl_board->failed++;
	printf("not ok %s: %s\n", name, reason);
	fflush(stdout);
}

void rl_skip(const char *name, const char *reason)
{
	rl_board->skipped++;
	printf("skip %s: %s\n", name, reason);
	fflush(stdout);
}

/* Keeps the first failure: later ones usually are its consequences. */
static void case_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void case_fail(const char *fmt, ...)
{
	va_list ap;

	if (atomic_exchange(&rl_board->has_failed, 1))
		return;
	va_start(ap, fmt);
	vsnprintf(rl_board->reason, sizeof(rl_board->reason), fmt, ap);
	va_end(ap);
	rl_board->has_reason = 1;
}

void rl_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	char text[240];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	case_fail("%s: %s (%s:%d)", self >= 0 ? rl_board->player[self].name : "driver", text,
		  base ? base + 1 : file, line);
	fflush(stdout);
	_exit(1);
}

void rl_activity(const char *fmt, ...)
{
	va_list ap;

	if (self < 0)
		return;
	va_start(ap, fmt);
	vsnprintf(rl_board->player[self].activity, sizeof(rl_board->player[self].activity), fmt,
		  ap);
	va_end(ap);
}

/* Players */

static pid_t player_start(const char *name, void (*play)(void *), void *arg, bool victim)
{
	int slot = rl_board->players;
	struct rl_player *p;
	pid_t parent = getpid(), pid;

	if (slot == RL_PLAYERS) {
		case_fail("too many players");
		return -1;
	}
	p = &rl_board->player[slot];
	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->victim = victim;
	rl_board->players = slot + 1;
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		case_fail("fork: %s", strerror(errno));
		p->ended = true;
		return -1;
	}
	if (pid > 0) {
		p->pid = pid;
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	self = slot;
	p->pid = getpid();
	play(arg);
	exit(0);
}

pid_t rl_start(const char *name, void (*play)(void *), void *arg)
{
	return player_start(name, play, arg, false);
}

pid_t rl_start_victim(const char *name, void (*play)(void *), void *arg)
{
	return player_start(name, play, arg, true);
}

void rl_exit_success(void)
{
	fflush(stdout);
	_exit(0);
}

void rl_exec(const char *path, const char *arg)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", self);
	setenv("RL_PLAYER", number, 1);
	execl(path, path, arg, (char *)NULL);
	RL_FAIL("cannot run %s: %s", path, strerror(errno));
}

void rl_attach(void)
{
	const char *number = getenv("RL_PLAYER");

	rm_map_board();
	self = number ? atoi(number) : 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

bool rl_begin(const char *name, unsigned int limit_ms)
{
	if (!rm_wanted(name))
		return false;
	snprintf(case_name, sizeof(case_name), "%s", name);
	memset(&rl_board->has_failed, 0, sizeof(*rl_board) - offsetof(struct rl_board, has_failed));
	known = NULL;
	case_began = rl_now();
	case_limit = rl_limit(limit_ms);
	return true;
}

void rl_known_to_fail(const char *fabric, const char *reason)
{
	const struct test_fabric *f = test_fabric();

	if (f && !strcmp(f->name, fabric))
		known = reason;
}

/* The verdict on a case that is known to fail. */
static bool end_known_failure(const char *name)
{
	char text[400];

	if (rl_board->has_failed) {
		snprintf(text, sizeof(text), "known to fail: %.150s (%.200s)", known,
			 rl_board->reason);
		rl_skip(name, text);
		return false;
	}
	snprintf(text, sizeof(text),
		 "it passes but is marked as known to fail (%.200s): remove "
		 "the mark",
		 known);
	not_ok(name, text);
	return false;
}

static void player_ended(struct rl_player *p, int status)
{
	p->ended = true;
	if (WIFEXITED(status) && WEXITSTATUS(status))
		case_fail("%s: ended with status %d while %s", p->name, WEXITSTATUS(status),
			  *p->activity ? p->activity : "starting");
	else if (WIFSIGNALED(status) && !p->victim)
		case_fail("%s: killed by signal %d (%s) while %s", p->name, WTERMSIG(status),
			  strsignal(WTERMSIG(status)), *p->activity ? p->activity : "starting");
	else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		case_fail("%s: killed by signal %d (%s) while %s", p->name, WTERMSIG(status),
			  strsignal(WTERMSIG(status)), *p->activity ? p->activity : "starting");
}

static bool players_running(bool victims)
{
	for (int i = 0; i < rl_board->players; i++)
		if (!rl_board->player[i].ended && rl_board->player[i].victim == victims)
			return true;
	return false;
}

static void players_reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int i = 0; i < rl_board->players; i++)
			if (rl_board->player[i].pid == pid && !rl_board->player[i].ended)
				player_ended(&rl_board->player[i], status);
}

/* The activities of running players; prints their stacks if enabled. */
static const char *player_activities(void)
{
	static char text[256];

	*text = 0;
	for (int i = 0; i < rl_board->players; i++) {
		struct rl_player *p = &rl_board->player[i];
		size_t len = strlen(text);

		if (p->ended || i == self)
			continue;
		snprintf(text + len, sizeof(text) - len, "; %s is %s", p->name,
			 *p->activity ? p->activity : "starting");
		if (getenv("DAT_TEST_STACKS")) {
			char command[128];

			snprintf(command, sizeof(command),
				 "gdb -batch -p %d -ex 'thread apply all bt' >&2 2>/dev/null",
				 (int)p->pid);
			if (system(command))
				rl_note("no stacks of %s", p->name);
		}
	}
	return text;
}

static void kill_players(void)
{
	for (int i = 0; i < rl_board->players; i++)
		if (!rl_board->player[i].ended)
			kill(rl_board->player[i].pid, SIGKILL);
	for (int i = 0; i < rl_board->players; i++)
		if (!rl_board->player[i].ended) {
			waitpid(rl_board->player[i].pid, NULL, 0);
			rl_board->player[i].ended = true;
		}
}

bool rl_end(void)
{
	char name[160];

	while (players_running(false) && !rl_board->has_failed) {
		players_reap();
		if (rl_passed(&case_limit))
			case_fail("time limit exceeded%s", player_activities());
		else
			rl_sleep_ms(1);
	}
	/* The failing player may not have written the reason yet. */
	for (int i = 0; rl_board->has_failed && !rl_board->has_reason && i < 500; i++)
		rl_sleep_ms(1);
	players_reap();
	kill_players();
	snprintf(name, sizeof(name), "%s", case_name);
	if (known)
		return end_known_failure(name);
	if (rl_board->has_failed) {
		not_ok(name, rl_board->reason);
		return false;
	}
	if (rm_verbose())
		rl_note("%s took %.2f s", name, (double)(rl_now() - case_began) / 1e6);
	rl_ok(name);
	return true;
}

/* Steps */

void rl_step(int which, int value)
{
	rl_board->step[which] = value;
}

bool rl_reached(int which, int value, unsigned int ms)
{
	struct rl_limit limit = rl_limit(ms);
	int spins = 0;

	while (rl_board->step[which] < value) {
		if (rl_passed(&limit))
			return false;
		if (++spins > 50)
			usleep(200);
	}
	return true;
}

void rl_await(int which, int value, unsigned int ms)
{
	if (!rl_reached(which, value, ms))
		RL_FAIL("step %d did not reach %d within %u ms%s", which, value, rl_bound(ms),
			player_activities());
}

pid_t rl_pid(const char *name)
{
	for (int tries = 0; tries < 5000; tries++) {
		for (int i = 0; i < rl_board->players; i++)
			if (!strcmp(rl_board->player[i].name, name) && rl_board->player[i].pid)
				return rl_board->player[i].pid;
		rl_sleep_ms(1);
	}
	RL_FAIL("no player %s", name);
}
