/* SPDX-License-Identifier: BSD-2-Clause */
/* How do two processes measure while their parent collects, watches and reports? */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc.h"
#include "session.h"

/* Beyond its own time limit a process has this long to say what was wrong. */
#define GRACE_MS 5000
#define LOOK_MS 100

static const char *const role_name[PERF_ROLES] = { "server", "client" };

/* What a measuring process needs to know. */
struct worker {
	enum perf_role role;
	const struct perf_opts *opts;
	const struct perf_case *list;
	int n;
	int chan;
	int result;
};

/* What the client tells the parent after each measurement. */
struct result {
	int index;
	int round;
	enum perf_kind kind;
	struct perf_figures figures;
};

static int measure(struct worker *w, struct perf_session *ss, const struct perf_case *c,
		   struct perf_figures *f)
{
	int limit = w->opts->timeout_ms;
	int ret;

	perf_stage("prepare");
	ret = perf_refill(ss->side);
	if (!ret)
		ret = perf_barrier(w->chan, limit);
	perf_stage(c->mode == PERF_POLL ? "measure (poll)" : "measure (wait)");
	if (!ret)
		ret = w->role == PERF_CLIENT ? perf_initiate(ss->side, c, f) :
					       perf_respond(ss->side, c);
	return ret ? ret : perf_barrier(w->chan, limit);
}

/* The kinds of one round in turn; each second round turns their order, against drift. */
static int round_of(struct worker *w, struct perf_run *run, struct perf_session *ss, int index,
		    int round)
{
	const struct perf_case *c = &w->list[index];
	bool both = w->opts->kinds == (1u << PERF_KINDS) - 1;
	int k, ret;

	for (k = 0; k < PERF_KINDS; k++) {
		enum perf_kind kind = (enum perf_kind)(round % 2 ? PERF_KINDS - 1 - k : k);
		struct result r = { .index = index, .round = round, .kind = kind };

		if (!(w->opts->kinds & 1u << kind))
			continue;
		ret = 0;
		/* two kinds: nothing of the one may be there while the other is measured */
		if (both || !round)
			ret = perf_session_open(ss, perf_layer_of(kind), run, c, w->role, w->chan);
		if (!ret)
			ret = measure(w, ss, c, &r.figures);
		if (!ret && (both || round == w->opts->rounds - 1))
			ret = perf_session_close(ss, w->chan);
		if (!ret && w->role == PERF_CLIENT)
			ret = perf_put(w->result, &r, sizeof(r));
		if (ret)
			return ret;
	}
	return 0;
}

static int work(void *arg)
{
	struct worker *w = arg;
	struct perf_run run = { .opts = w->opts, .read_limit = INT_MAX };
	struct perf_session ss = { NULL, NULL };
	int i, r, ret;

	snprintf(run.addr, sizeof(run.addr), "%s", w->opts->addr);
	for (i = 0; i < w->n; i++)
		for (r = 0; r < w->opts->rounds; r++) {
			ret = round_of(w, &run, &ss, i, r);
			if (ret)
				return ret;
		}
	perf_stage("exit");
	return 0;
}

/* The parent's view of a run. */
struct parent {
	pid_t pid[PERF_ROLES];
	struct perf_watch *watch;
	uint64_t beat[PERF_ROLES];
	uint64_t beat_at[PERF_ROLES];
	bool ended[PERF_ROLES];
	int limit_ms;
};

/* Returns 0 while the process is well or has ended well. */
static int look_after(struct parent *p, enum perf_role role)
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
					  "killed by signal %d (%s), stage: %s",
					  WTERMSIG(status), strsignal(WTERMSIG(status)),
					  atomic_load(&p->watch[role].stage));
		/* it has printed why */
		return WEXITSTATUS(status) ? -EIO : 0;
	}
	if (beat != p->beat[role] || !p->beat_at[role]) {
		p->beat[role] = beat;
		p->beat_at[role] = now;
		return 0;
	}
	if (now - p->beat_at[role] < (uint64_t)p->limit_ms * 1000000u)
		return 0;
	return perf_error(-ETIMEDOUT, NULL, role_name[role], "stuck for %d ms, stage: %s",
			  p->limit_ms, atomic_load(&p->watch[role].stage));
}

static int look_after_both(struct parent *p)
{
	int a = look_after(p, PERF_SERVER);
	int b = look_after(p, PERF_CLIENT);

	return a ? a : b;
}

/* When one has failed the other gets a moment to say so too. */
static void put_to_rest(struct parent *p, bool failed)
{
	int role, tries;

	for (tries = 0; failed && tries < 3; tries++) {
		poll(NULL, 0, LOOK_MS);
		look_after_both(p);
	}
	for (role = 0; role < PERF_ROLES; role++) {
		if (p->ended[role] || p->pid[role] <= 0)
			continue;
		kill(p->pid[role], SIGKILL);
		waitpid(p->pid[role], NULL, 0);
	}
}

static int collect(struct parent *p, int fd, const struct perf_opts *o, int n,
		   struct perf_outcome *out)
{
	int kinds = __builtin_popcount(o->kinds);
	int want = n * o->rounds * kinds;
	int ret = 0;

	while (!ret && want) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		struct result r;

		if (poll(&pfd, 1, LOOK_MS) > 0 && pfd.revents & POLLIN) {
			ret = perf_get(fd, &r, sizeof(r), LOOK_MS);
			if (ret)
				break;
			out[r.index].round[r.kind][r.round] = r.figures;
			want--;
			continue;
		}
		ret = look_after_both(p);
		if (!ret && p->ended[PERF_CLIENT])
			ret = perf_error(-EIO, NULL, "client", "ended before its last result");
	}
	while (!ret && !(p->ended[PERF_SERVER] && p->ended[PERF_CLIENT])) {
		poll(NULL, 0, LOOK_MS / 10);
		ret = look_after_both(p);
	}
	return ret;
}

static void outcomes_free(struct perf_outcome *out, int n)
{
	int i, k;

	for (i = 0; out && i < n; i++)
		for (k = 0; k < PERF_KINDS; k++)
			free(out[i].round[k]);
	free(out);
}

/* All figures are NaN, also those of a kind that is not measured. */
static struct perf_outcome *outcomes(const struct perf_opts *o, int n)
{
	struct perf_outcome *out = calloc((size_t)n, sizeof(*out));
	int i, k, r;

	for (i = 0; out && i < n; i++)
		for (k = 0; k < PERF_KINDS; k++) {
			perf_figures_none(&out[i].picked[k]);
			out[i].round[k] = calloc((size_t)o->rounds, sizeof(*out[i].round[k]));
			if (!out[i].round[k]) {
				outcomes_free(out, n);
				return NULL;
			}
			for (r = 0; r < o->rounds; r++)
				perf_figures_none(&out[i].round[k][r]);
		}
	return out;
}

static int start(struct parent *p, struct worker *w, const int chan[2], const int result[2])
{
	int role;

	fflush(NULL);
	for (role = 0; role < PERF_ROLES; role++) {
		w->role = (enum perf_role)role;
		w->chan = chan[role];
		w->result = result[1];
		p->pid[role] = perf_spawn(role_name[role], &p->watch[role],
					  w->opts->pin ? w->opts->cpu[role] : -1, work, w);
		if (p->pid[role] < 0)
			return (int)p->pid[role];
	}
	return 0;
}

int perf_pair(const struct perf_opts *o, const struct perf_case *list, int n)
{
	struct worker w = { .opts = o, .list = list, .n = n };
	struct parent p = { .limit_ms = o->timeout_ms * 2 + GRACE_MS };
	struct perf_outcome *out = outcomes(o, n);
	int chan[2], result[2];
	int i, k, ret;

	p.watch = mmap(NULL, sizeof(*p.watch) * PERF_ROLES, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!out || p.watch == MAP_FAILED)
		return perf_error(-ENOMEM, NULL, "start", "out of memory");
	for (i = 0; i < PERF_ROLES; i++)
		atomic_store(&p.watch[i].stage, "start");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, chan) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, result))
		return perf_error(-errno, NULL, "socketpair", "%s", strerror(errno));
	ret = start(&p, &w, chan, result);
	close(chan[0]);
	close(chan[1]);
	close(result[1]);
	if (!ret)
		ret = collect(&p, result[0], o, n, out);
	put_to_rest(&p, ret != 0);
	close(result[0]);
	for (i = 0; !ret && i < n; i++)
		for (k = 0; k < PERF_KINDS; k++)
			perf_pick(&out[i].picked[k], out[i].round[k], o->rounds, o->best);
	if (!ret)
		perf_report(o, list, n, out);
	outcomes_free(out, n);
	munmap(p.watch, sizeof(*p.watch) * PERF_ROLES);
	return ret;
}
