/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that one shared receive queue with 64 endpoints and four posting threads accounts for every
 * buffer, while peers connect, send, disconnect and are killed at random.
 *
 * Options: seconds=N, messages=N (ends earlier when that many have been verified), seed=N,
 * kills=0 (no peer is killed).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "srqstress.h"

struct ss_shared *ss_shared;
long ss_seed = 1;

/* After the time, until each endpoint has been connected once. */
#define LONGEST_US 60000000u

static long seconds = 5, messages, kills = 1;

static pid_t start_peer(uint32_t thread, uint32_t epoch)
{
	pid_t parent = getpid(), pid;

	RL_CHECK(epoch < SS_EPOCHS, "too many peers");
	fflush(NULL);
	pid = fork();
	RL_CHECK(pid >= 0, "fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	ss_peer(thread, epoch);
	exit(0);
}

static void wait_for_peer(pid_t pid, bool victim)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		RL_CHECK(errno == EINTR, "waitpid: %s", strerror(errno));
	if (victim && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return;
	RL_CHECK(!status, "a peer ended with status 0x%x", (unsigned int)status);
}

/* On a machine under load the hub may not have had enough connections at the end of the time. */
static bool is_done(uint64_t end)
{
	uint64_t now = rl_now();

	if (messages && ss_shared->messages >= (uint64_t)messages)
		return true;
	return now >= end && (ss_shared->connections > SS_EPS || now >= end + LONGEST_US);
}

/* Keeps a peer of each thread running, and kills one from time to time. */
static void manage_peers(void *arg)
{
	uint64_t end, seed = (uint64_t)ss_seed * 7 + 5, victims = 0;
	uint32_t epoch[SS_THREADS], next = 0;
	pid_t pid[SS_THREADS];

	(void)arg;
	rl_await(0, 1, 20000);
	for (uint32_t i = 0; i < SS_THREADS; i++) {
		epoch[i] = ++next;
		pid[i] = start_peer(i, epoch[i]);
	}
	rl_activity("killing");
	end = rl_now() + (uint64_t)seconds * 1000000;
	while (!is_done(end)) {
		uint32_t i = rl_random(&seed) % SS_THREADS;

		rl_sleep_ms(rl_bound(150 + rl_random(&seed) % 500));
		if (!kills)
			continue;
		ss_shared->killed[epoch[i]] = true;
		kill(pid[i], SIGKILL);
		wait_for_peer(pid[i], true);
		victims++;
		epoch[i] = ++next;
		pid[i] = start_peer(i, epoch[i]);
	}
	rl_activity("waiting for the peers");
	ss_shared->stop = 1;
	for (uint32_t i = 0; i < SS_THREADS; i++)
		wait_for_peer(pid[i], false);
	ss_shared->peers_gone = 1;
	rl_note("%llu messages, %llu peers killed", (unsigned long long)ss_shared->messages,
		(unsigned long long)victims);
	RL_CHECK(!messages || ss_shared->messages >= (uint64_t)messages, "too slow");
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 0);
	rl_option("seconds", &seconds);
	rl_option("messages", &messages);
	rl_option("seed", &ss_seed);
	rl_option("kills", &kills);
	seconds *= (long)rl_long();
	if (!rl_begin("64-endpoints-4-threads", (unsigned int)(seconds + 120) * 1000))
		return;
	ss_shared = rl_shared(sizeof(*ss_shared));
	rl_start("hub", ss_hub, NULL);
	rl_start("manager", manage_peers, NULL);
	rl_end();
	rl_unshare(ss_shared, sizeof(*ss_shared));
}

int main(int argc, char **argv)
{
	long requested = seconds;

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "seconds=", 8))
			requested = atol(argv[i] + 8);
	return rl_main(argc, argv, (unsigned int)requested + 150, run);
}
