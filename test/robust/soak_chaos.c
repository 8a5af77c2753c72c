/* SPDX-License-Identifier: BSD-2-Clause */
/* Disturbs the processes of the soak test at random.
 *
 * Options select the kinds (kill=1, ...); chaos=1 selects all that are possible but those set to 0:
 *   kill    kills the active process, stopped or running, and starts another one
 *   freeze  stops a process for up to 1.5 seconds
 *   fds     leaves a process that is set up no descriptor for up to 0.3 seconds
 *   link    the processes are on two hosts (test/fabrics/net.h); their link loses a part of the
 *           frames, or all, for up to a second
 *   delay   on the same hosts: the link delays all frames by up to 0.2 seconds, for up to a second
 *   memory  all or some allocations by the libraries in a process fail for up to 0.3 seconds
 *   clock   the time of day of a process jumps by up to ten years, forward or back
 *
 * Only a death and a lack of memory may end a connection that no side has disconnected. Only these
 * and a lack of descriptors may make an attempt to connect fail. Everything else is as without
 * chaos.
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
#define DELAY_MS 200 /* of a frame */
#define MEMORY_MS 300
#define PAUSE_MS 400
#define OVER_NET ((unsigned int)(SOAK_LINK | SOAK_DELAY))
#define TEN_YEARS 315360000u

static uint64_t seed;

static bool is_over_tcp(void)
{
	return test_fabric() && !strcmp(test_fabric()->name, "tcp");
}

void soak_chaos_prepare(void)
{
	char why[160] = "";

	if ((soak_kinds & SOAK_MEMORY) && soak_shim_lacks()) {
		rl_note("no lack of memory: %s", soak_shim_lacks());
		soak_kinds &= ~(unsigned int)SOAK_MEMORY;
	}
	if (!(soak_kinds & OVER_NET))
		return;
	if (net_make(why, sizeof(why))) {
		net_carry();
		rl_note("%s loses and delays frames", net_use_netem() ? "netem" : "the carrier");
		return;
	}
	rl_note("no link, no delay: %s", why);
	soak_kinds &= ~OVER_NET;
}

void soak_chaos_enter(bool active)
{
	if (!(soak_kinds & OVER_NET))
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

static void freeze(void (*active)(void *))
{
	pid_t pid = any_process();

	(void)active;
	kill(pid, SIGSTOP);
	rl_sleep_ms(1 + below(FREEZE_MS));
	kill(pid, SIGCONT);
}

static void take_fds(void (*active)(void *))
{
	pid_t pid = any_process();
	struct rlimit before, none;
	int n = rl_fds(pid);

	(void)active;
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

static void spoil_link(void (*active)(void *))
{
	(void)active;
	net_lose(0, below(3) ? 1 + (int)below(100) : 1000);
	rl_sleep_ms(1 + below(LINK_MS));
	net_lose(0, 0);
}

static void delay_frames(void (*active)(void *))
{
	(void)active;
	net_delay(0, 1 + below(DELAY_MS));
	rl_sleep_ms(1 + below(LINK_MS));
	net_delay(0, 0);
}

static void take_memory(void (*active)(void *))
{
	unsigned int side = below(2);

	(void)active;
	soak_shared->refuse[side] = below(2) ? 1 : 2 + below(20);
	rl_sleep_ms(1 + below(MEMORY_MS));
	soak_shared->refuse[side] = 0;
}

/* By seconds, minutes, ... years. The jump lasts until the next one. */
static void set_clock(void (*active)(void *))
{
	uint32_t range = 1 + TEN_YEARS / (1u << below(28));
	int64_t offset = 1 + (int64_t)below(range);

	(void)active;
	soak_shared->clock_offset[below(2)] = below(2) ? offset : -offset;
}

/* In the order of enum soak_chaos. */
static const struct {
	const char *option, *text;
	void (*disturb)(void (*active)(void *));
} kinds[] = {
	{ "kill", "deaths", kill_active },
	{ "freeze", "freezes", freeze },
	{ "fds", "times without descriptors", take_fds },
	{ "link", "times with losses", spoil_link },
	{ "delay", "times with delays", delay_frames },
	{ "memory", "times without memory", take_memory },
	{ "clock", "jumps of the clock", set_clock },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static unsigned int counts[KINDS];

unsigned int soak_chaos_options(void)
{
	unsigned int selected = 0;
	long all = 0;

	rl_option("chaos", &all);
	for (unsigned int i = 0; i < KINDS; i++) {
		long on = all && (is_over_tcp() || !(OVER_NET & 1u << i));

		rl_option(kinds[i].option, &on);
		selected |= on ? 1u << i : 0;
	}
	return selected;
}

static void disturb(void (*active)(void *))
{
	unsigned int kind;

	do
		kind = below(KINDS);
	while (!(soak_kinds & 1u << kind));
	counts[kind]++;
	rl_activity("disturbing: %s", kinds[kind].option);
	kinds[kind].disturb(active);
	rl_activity("waiting");
}

static void report(void)
{
	char line[400] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < KINDS; i++)
		if (soak_kinds & 1u << i)
			len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%u %s",
						len ? ", " : "", counts[i], kinds[i].text);
	rl_note("%s; %u and %u allocations failed; the changed time was read %llu and %llu times",
		line, soak_shared->refused[0], soak_shared->refused[1],
		(unsigned long long)soak_shared->clock_read[0],
		(unsigned long long)soak_shared->clock_read[1]);
}

void soak_chaos(void (*active)(void *), unsigned int seconds, uint64_t first_seed)
{
	uint64_t end = rl_now() + (uint64_t)seconds * 1000000;

	seed = first_seed;
	start(active);
	while (rl_now() < end) {
		rl_sleep_ms(below(PAUSE_MS));
		reap(WNOHANG);
		if (soak_kinds)
			disturb(active);
	}
	rl_activity("ending");
	soak_shared->stop = 1;
	reap(0);
	report();
}
