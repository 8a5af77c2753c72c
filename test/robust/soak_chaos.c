/* SPDX-License-Identifier: BSD-2-Clause */
/* Disturbs the processes of the soak test at random.
 *
 * Options select the kinds (kill=1, ...); chaos=1 selects all that are possible:
 *   kill    kills the active process, stopped or running, and starts another one
 *   freeze  stops a process for up to 1.5 seconds
 *   fds     leaves a process that is set up no descriptor for up to 0.3 seconds
 *   link    the processes are on two hosts (test/fabrics/net.h); their link loses a part of the
 *           frames, or all, for up to a second
 *
 * Only a death may end a connection that no side has disconnected. Only a death and a lack of
 * descriptors may make an attempt to connect fail. Everything else is as without chaos.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../fabrics/fabrics.h"
#include "../fabrics/net.h"
#include "soak.h"

#define FREEZE_MS 1500
#define FDS_MS 300
#define LINK_MS 1000
#define PAUSE_MS 400

static unsigned int counts[4];
static uint64_t seed;

static bool is_over_tcp(void)
{
	return test_fabric() && !strcmp(test_fabric()->name, "tcp");
}

unsigned int soak_chaos_options(void)
{
	static const char *const names[] = { "kill", "freeze", "fds", "link" };
	unsigned int kinds = 0;
	long all = 0;

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		long on = 0;

		rl_option(names[i], &on);
		kinds |= on ? 1u << i : 0;
	}
	rl_option("chaos", &all);
	if (all)
		kinds |= SOAK_KILL | SOAK_FREEZE | SOAK_FDS | (is_over_tcp() ? SOAK_LINK : 0);
	return kinds;
}

void soak_chaos_prepare(void)
{
	char why[160] = "";

	if (!(soak_kinds & SOAK_LINK))
		return;
	if (net_make(why, sizeof(why))) {
		net_carry();
		return;
	}
	rl_note("no link: %s", why);
	soak_kinds &= ~(unsigned int)SOAK_LINK;
}

void soak_chaos_enter(bool active)
{
	if (!(soak_kinds & SOAK_LINK))
		return;
	net_enter(active);
	setenv("DAPL_OFI_DOMAIN", net_wire(0), 1);
}

static unsigned int below(unsigned int n)
{
	return rl_random(&seed) % n;
}

/* Both processes in turn. */
static pid_t any_process(void)
{
	return below(2) ? rl_pid("passive") : soak_shared->active;
}

static void start(void (*active)(void *))
{
	pid_t parent = getpid(), pid = fork();

	RL_CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		active(NULL);
		exit(0);
	}
	soak_shared->active = pid;
}

/* Fails if the active process has ended by itself, and `wait` is WNOHANG: not at all. */
static void reap(int wait)
{
	int status = 0;
	pid_t pid = waitpid(soak_shared->active, &status, wait);

	if (wait && !pid)
		return;
	RL_CHECK(pid == soak_shared->active, "waitpid: %s", strerror(errno));
	RL_CHECK(!wait && WIFEXITED(status) && !WEXITSTATUS(status),
		 "the active process ended with status 0x%x", (unsigned int)status);
}

static void kill_active(void (*active)(void *))
{
	pid_t pid = soak_shared->active;

	if (below(2)) {
		kill(pid, SIGSTOP);
		rl_sleep_ms(below(300));
	}
	/* Set before the death: after it, its connections end at any time. */
	soak_shared->process++;
	kill(pid, SIGKILL);
	RL_CHECK(waitpid(pid, NULL, 0) == pid, "waitpid: %s", strerror(errno));
	start(active);
}

static void freeze(void)
{
	pid_t pid = any_process();

	kill(pid, SIGSTOP);
	rl_sleep_ms(1 + below(FREEZE_MS));
	kill(pid, SIGCONT);
}

static void take_fds(void)
{
	pid_t pid = any_process();
	struct rlimit before, none;
	int n = rl_fds(pid);

	if ((pid != soak_shared->ready[0] && pid != soak_shared->ready[1]) || n <= 0 ||
	    prlimit(pid, RLIMIT_NOFILE, NULL, &before))
		return;
	none = before;
	none.rlim_cur = (rlim_t)n;
	if (prlimit(pid, RLIMIT_NOFILE, &none, NULL))
		return;
	rl_sleep_ms(1 + below(FDS_MS));
	prlimit(pid, RLIMIT_NOFILE, &before, NULL);
}

static void spoil_link(void)
{
	net_lose(0, below(3) ? 1 + (int)below(100) : 1000);
	rl_sleep_ms(1 + below(LINK_MS));
	net_lose(0, 0);
}

static void disturb(void (*active)(void *))
{
	unsigned int kind = below(4);

	if (!(soak_kinds & 1u << kind))
		return;
	counts[kind]++;
	rl_activity("disturbing (%u)", kind);
	if (kind == 0)
		kill_active(active);
	else if (kind == 1)
		freeze();
	else if (kind == 2)
		take_fds();
	else
		spoil_link();
	rl_activity("waiting");
}

void soak_chaos(void (*active)(void *), unsigned int seconds, uint64_t first_seed)
{
	uint64_t end = rl_now() + (uint64_t)seconds * 1000000;

	seed = first_seed;
	start(active);
	while (rl_now() < end) {
		rl_sleep_ms(below(PAUSE_MS));
		reap(WNOHANG);
		disturb(active);
	}
	rl_activity("ending");
	soak_shared->stop = 1;
	reap(0);
	rl_note("%u deaths, %u freezes, %u times without descriptors, %u times a bad link",
		counts[0], counts[1], counts[2], counts[3]);
}
