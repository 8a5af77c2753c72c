/* SPDX-License-Identifier: BSD-2-Clause */
/* Detects measuring processes that have died, hang or take too long. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "worker.h"

/* Grace period after a process's own time limit, for its error message. */
#define GRACE_MS 5000

static const char *const role_name[PERF_ROLES] = { "server", "client" };

int perf_parent_init(struct perf_parent *p, const struct perf_plan *plan, int limit_s)
{
	int i;

	memset(p, 0, sizeof(*p));
	p->stuck_ms = (int)plan->timeout_ms * 2 + GRACE_MS;
	p->limit_s = limit_s;
	p->end_at = perf_now() + (uint64_t)limit_s * 1000000000u;
	p->watch = mmap(NULL, sizeof(*p->watch) * PERF_ROLES, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p->watch == MAP_FAILED)
		return perf_error(-ENOMEM, NULL, "start", "out of memory");
	for (i = 0; i < PERF_ROLES; i++) {
		atomic_store(&p->watch[i].stage, "start");
		p->ended[i] = true;
	}
	return 0;
}

void perf_parent_fini(struct perf_parent *p)
{
	munmap(p->watch, sizeof(*p->watch) * PERF_ROLES);
}

int perf_parent_start(struct perf_parent *p, struct perf_worker *w, int cpu)
{
	fflush(NULL);
	p->pid[w->role] = perf_spawn(role_name[w->role], &p->watch[w->role], cpu, perf_work, w);
	if (p->pid[w->role] < 0)
		return (int)p->pid[w->role];
	p->ended[w->role] = false;
	return 0;
}

static int check_child(struct perf_parent *p, enum perf_role role)
{
	uint64_t beat = atomic_load(&p->watch[role].beat);
	uint64_t now = perf_now();
	int status;

	if (p->ended[role])
		return 0;
	if (waitpid(p->pid[role], &status, WNOHANG) == p->pid[role]) {
		p->ended[role] = true;
		if (WIFSIGNALED(status))
			return perf_error(-EIO, NULL, role_name[role],
					  "killed by signal %d (%s), stage: %s", WTERMSIG(status),
					  strsignal(WTERMSIG(status)),
					  atomic_load(&p->watch[role].stage));
		/* it has printed the reason */
		return WEXITSTATUS(status) ? -EIO : 0;
	}
	if (beat != p->beat[role] || !p->beat_at[role]) {
		p->beat[role] = beat;
		p->beat_at[role] = now;
		return 0;
	}
	if (now - p->beat_at[role] < (uint64_t)p->stuck_ms * 1000000u)
		return 0;
	return perf_error(-ETIMEDOUT, NULL, role_name[role], "stuck for %d ms, stage: %s",
			  p->stuck_ms, atomic_load(&p->watch[role].stage));
}

static int check_children(struct perf_parent *p)
{
	int a = check_child(p, PERF_SERVER);
	int b = check_child(p, PERF_CLIENT);

	return a ? a : b;
}

int perf_parent_check(struct perf_parent *p)
{
	int ret = check_children(p);

	if (ret || perf_parent_done(p) || perf_now() < p->end_at)
		return ret;
	return perf_error(-ETIMEDOUT, NULL, "run", "not finished within %d s (--limit)",
			  p->limit_s);
}

bool perf_parent_done(const struct perf_parent *p)
{
	return p->ended[PERF_SERVER] && p->ended[PERF_CLIENT];
}

/* After a failure of one, the other has a moment to print its error. */
void perf_parent_end(struct perf_parent *p, bool failed)
{
	int role, tries;

	for (tries = 0; failed && tries < 3; tries++) {
		poll(NULL, 0, PERF_CHECK_MS);
		check_children(p);
	}
	for (role = 0; role < PERF_ROLES; role++) {
		if (p->ended[role])
			continue;
		kill(p->pid[role], SIGKILL);
		waitpid(p->pid[role], NULL, 0);
		p->ended[role] = true;
	}
}
