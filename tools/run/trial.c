/* SPDX-License-Identifier: BSD-2-Clause */
/* One run of a command over one fabric, from its server's start to the verdict. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc.h"
#include "run.h"

#define POLL_MIN_S 0.02
#define POLL_MAX_S 0.1
/* A server makes several sockets while it starts: it is ready when nothing has changed for this
 * long, and nothing in it works; or when nothing has changed for the longer time. */
#define QUIET_S 0.25
#define SETTLED_S 3.0
/* When a client fails because its server crashes, the server may end a moment later. */
#define CRASH_S 0.3
#define TERM_S 2.0
#define STATUS_SKIPPED 77

struct run {
	struct run_trial *trial;
	const struct run_options *opts;
	const struct run_libs *libs;
	struct proc server, client;
	double start, deadline;
	bool as_server;		/* of the process being started */
};

__attribute__((format(printf, 2, 3)))
static void fail(struct run *run, const char *format, ...)
{
	va_list args;

	if (run->trial->verdict == RUN_FAIL)
		return;
	run->trial->verdict = RUN_FAIL;
	va_start(args, format);
	vsnprintf(run->trial->reason, sizeof(run->trial->reason), format, args);
	va_end(args);
}

static bool failed(const struct run *run)
{
	return run->trial->verdict == RUN_FAIL;
}

/* The shell makes way for a simple command, whose end is then seen as it is. */
static int become_server(const char *command)
{
	const char *first = command + strspn(command, " \t");
	bool simple = !strpbrk(command, ";&|()<>{}!\n") &&
		      !memchr(first, '=', strcspn(first, " \t"));
	char *text;

	if (asprintf(&text, "%s%s", simple ? "exec " : "", command) < 0)
		return ENOMEM;
	execl("/bin/sh", "sh", "-c", text, (char *)NULL);
	return errno;
}

static int become(void *arg)
{
	const struct run *run = arg;

	run_place_enter(run->trial, run->libs);
	if (run->as_server)
		return become_server(run->opts->server);
	execvp(run->opts->command[0], run->opts->command);
	return errno;
}

static bool start(struct run *run, bool as_server)
{
	struct proc *p = as_server ? &run->server : &run->client;
	char log[PATH_MAX];
	int err;

	run->as_server = as_server;
	run_path(log, sizeof(log), run->trial, as_server ? RUN_SERVER_LOG : RUN_CLIENT_LOG);
	err = proc_start(p, log, become, run);
	run->trial->pids[as_server] = p->pid;
	if (err)
		fail(run, "cannot run %s: %s", as_server ? "/bin/sh" : run->opts->command[0],
		     strerror(-err));
	return !err;
}

static void fail_late(struct run *run)
{
	unsigned int n = proc_end_all();

	fail(run, "still running after %g s: killed (%u process%s)", run->opts->limit, n,
	     n == 1 ? "" : "es");
}

/* A server that ends badly ends the run at once; one that ends well may have done its part. */
static void watch_server(struct run *run)
{
	char how[RUN_REASON - 64];

	if (!run->opts->server || run->server.running)
		return;
	run_judge_status(run->server.status, how, sizeof(how));
	if (*how)
		fail(run, "server: %s", how);
}

/* ---- readiness ---- */

struct ready {
	struct proc_ports ports;
	double since;		/* when these ports were first seen */
	off_t read;		/* how far its output was looked through */
};

static bool has_said(struct run *run, struct ready *r)
{
	size_t want = strlen(run->opts->ready), room = 65536, len;
	char path[PATH_MAX], *text;
	bool found = false;
	ssize_t n = 1;
	int fd;

	run_path(path, sizeof(path), run->trial, RUN_SERVER_LOG);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	text = fd < 0 ? NULL : malloc(want + room);
	while (text && !found && n > 0) {
		n = pread(fd, text, want + room, r->read);
		len = n > 0 ? (size_t)n : 0;
		found = memmem(text, len, run->opts->ready, want) != NULL;
		if (len <= want)
			break;
		r->read += (off_t)(len - want);
	}
	free(text);
	if (fd >= 0)
		close(fd);
	return found;
}

static bool listens(struct run *run, struct ready *r)
{
	struct proc_ports now;
	double quiet;

	proc_ports_look(&now, run->opts->port);
	if (run->opts->port)
		return now.has_port;
	if (now.count != r->ports.count || now.sum != r->ports.sum) {
		r->ports = now;
		r->since = proc_now();
	}
	if (!now.count)
		return false;
	quiet = proc_now() - r->since;
	return quiet > SETTLED_S || (quiet > QUIET_S && proc_all_asleep());
}

static bool is_ready(struct run *run, struct ready *r)
{
	if (run->opts->wait_s >= 0)
		return proc_now() >= run->start + run->opts->wait_s;
	return run->opts->ready ? has_said(run, r) : listens(run, r);
}

static void await_server(struct run *run)
{
	struct ready r = { .since = run->start };
	double until = run->start + run->opts->ready_limit;
	double pause = POLL_MIN_S;
	char what[RUN_REASON - 64];

	if (run->opts->ready)
		snprintf(what, sizeof(what), "did not print \"%.200s\"", run->opts->ready);
	else if (run->opts->port)
		snprintf(what, sizeof(what), "did not listen on port %u", run->opts->port);
	else
		snprintf(what, sizeof(what), "did not listen on any port");
	for (;;) {
		watch_server(run);
		if (failed(run) || proc_interrupted || is_ready(run, &r))
			return;
		if (!run->server.running && !proc_tree_signal(getpid(), 0))
			fail(run, "server: it ended before its client was started");
		else if (proc_now() >= run->deadline)
			fail_late(run);
		else if (proc_now() >= until)
			fail(run, "server: it %s within %g s", what, run->opts->ready_limit);
		proc_wait(pause);
		/* Looking through /proc costs: servers that take long are asked less often. */
		if (pause < POLL_MAX_S)
			pause *= 1.1;
	}
}

/* ---- the client, and the server's end ---- */

static void run_client(struct run *run)
{
	while (run->client.running && !proc_interrupted && !failed(run)) {
		if (proc_now() >= run->deadline)
			fail_late(run);
		else
			proc_wait(run->deadline - proc_now());
		watch_server(run);
	}
}

static void judge_client(struct run *run)
{
	const struct run_options *opts = run->opts;
	int status = run->client.status;
	char how[RUN_REASON], path[PATH_MAX];

	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_SKIPPED) {
		run->trial->verdict = RUN_SKIP;
		snprintf(run->trial->reason, sizeof(run->trial->reason),
			 "the program says so (exit status %d)", STATUS_SKIPPED);
		return;
	}
	run_judge_status(status, how, sizeof(how));
	if (*how && run->server.running) {
		proc_wait_for(&run->server, proc_now() + CRASH_S);
		watch_server(run);
	}
	if (!*how) {
		run_path(path, sizeof(path), run->trial, RUN_CLIENT_LOG);
		run_judge_output(&opts->expect, &opts->reject, path, how, sizeof(how));
	}
	if (*how)
		fail(run, "%s", how);
}

static void end_server(struct run *run)
{
	const struct run_options *opts = run->opts;
	char how[RUN_REASON - 64], path[PATH_MAX];

	if (opts->server_quits && !failed(run)) {
		if (!proc_wait_for(&run->server, proc_now() + opts->grace) && !proc_interrupted)
			fail(run, "server: still running %g s after its client", opts->grace);
	}
	proc_wait(0);
	watch_server(run);
	if (run->server.running) {
		proc_tree_signal(run->server.pid, SIGTERM);
		proc_wait_for(&run->server, proc_now() + TERM_S);
	}
	run_path(path, sizeof(path), run->trial, RUN_SERVER_LOG);
	run_judge_output(&opts->server_expect, &opts->server_reject, path, how, sizeof(how));
	if (*how && run->trial->verdict == RUN_PASS)
		fail(run, "server: %s", how);
}

void run_trial(struct run_trial *trial, const struct run_options *opts,
	       const struct run_libs *libs)
{
	struct run run = { .trial = trial, .opts = opts, .libs = libs };

	trial->verdict = RUN_PASS;
	trial->ran = true;
	run.start = proc_now();
	run.deadline = run.start + opts->limit;
	if (opts->server && start(&run, true))
		await_server(&run);
	if (!failed(&run) && !proc_interrupted && start(&run, false)) {
		run_client(&run);
		if (!failed(&run) && !proc_interrupted)
			judge_client(&run);
	}
	if (opts->server && run.server.pid)
		end_server(&run);
	proc_end_all();
	if (proc_interrupted)
		fail(&run, "interrupted by SIG%s", sigabbrev_np(proc_interrupted));
	trial->seconds = proc_now() - run.start;
}
