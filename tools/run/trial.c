/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a command over one fabric, from the start of its server to the verdict. */
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
/*
 * A server creates several sockets while it starts: it is ready when its sockets have not changed
 * for QUIET_S and all its threads are blocked, or when they have not changed for SETTLED_S.
 */
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
	double trial_start, deadline;
	bool as_server; /* of the process being started */
};

__attribute__((format(printf, 2, 3))) static void trial_fail(struct run *run, const char *format,
							     ...)
{
	va_list args;

	if (run->trial->verdict == RUN_FAIL)
		return;
	run->trial->verdict = RUN_FAIL;
	va_start(args, format);
	vsnprintf(run->trial->reason, sizeof(run->trial->reason), format, args);
	va_end(args);
}

static bool trial_failed(const struct run *run)
{
	return run->trial->verdict == RUN_FAIL;
}

/* exec: the shell is replaced by a simple command, whose status is then seen directly. */
static int exec_server(const char *command)
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

static int exec_command(void *arg)
{
	const struct run *run = arg;

	run_place_enter(run->trial, run->libs);
	if (run->as_server)
		return exec_server(run->opts->server);
	execvp(run->opts->command[0], run->opts->command);
	return errno;
}

static bool trial_start(struct run *run, bool as_server)
{
	struct proc *p = as_server ? &run->server : &run->client;
	char log[PATH_MAX];
	int err;

	run->as_server = as_server;
	run_path(log, sizeof(log), run->trial, as_server ? RUN_SERVER_LOG : RUN_CLIENT_LOG);
	err = proc_start(p, log, exec_command, run);
	run->trial->pids[as_server] = p->pid;
	if (err)
		trial_fail(run, "cannot run %s: %s", as_server ? "/bin/sh" : run->opts->command[0],
			   strerror(-err));
	return !err;
}

static void trial_fail_timeout(struct run *run)
{
	unsigned int n = proc_end_all();

	trial_fail(run, "still running after %g s: killed (%u process%s)", run->opts->limit, n,
		   n == 1 ? "" : "es");
}

/* A server that fails ends the run at once; one that ends with status 0 may be done. */
static void check_server(struct run *run)
{
	char how[RUN_REASON - 64];

	if (!run->opts->server || run->server.running)
		return;
	run_judge_status(run->server.status, how, sizeof(how));
	if (*how)
		trial_fail(run, "server: %s", how);
}

/* ---- readiness ---- */

struct ready {
	struct proc_ports ports;
	double since; /* when these ports were first seen */
	off_t read;   /* offset up to which its output was searched */
};

static bool server_printed(struct run *run, struct ready *r)
{
	size_t want = strlen(run->opts->ready), capacity = 65536, len;
	char path[PATH_MAX], *text;
	bool found = false;
	ssize_t n = 1;
	int fd;

	run_path(path, sizeof(path), run->trial, RUN_SERVER_LOG);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	text = fd < 0 ? NULL : malloc(want + capacity);
	while (text && !found && n > 0) {
		n = pread(fd, text, want + capacity, r->read);
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

static bool server_listens(struct run *run, struct ready *r)
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

static bool server_is_ready(struct run *run, struct ready *r)
{
	if (run->opts->wait_s >= 0)
		return proc_now() >= run->trial_start + run->opts->wait_s;
	return run->opts->ready ? server_printed(run, r) : server_listens(run, r);
}

static void wait_for_server(struct run *run)
{
	struct ready r = { .since = run->trial_start };
	double until = run->trial_start + run->opts->ready_limit;
	double pause = POLL_MIN_S;
	char what[RUN_REASON - 64];

	if (run->opts->ready)
		snprintf(what, sizeof(what), "did not print \"%.200s\"", run->opts->ready);
	else if (run->opts->port)
		snprintf(what, sizeof(what), "did not listen on port %u", run->opts->port);
	else
		snprintf(what, sizeof(what), "did not listen on any port");
	for (;;) {
		check_server(run);
		if (trial_failed(run) || proc_interrupted || server_is_ready(run, &r))
			return;
		if (!run->server.running && !proc_tree_signal(getpid(), 0))
			trial_fail(run, "server: ended before its client was started");
		else if (proc_now() >= run->deadline)
			trial_fail_timeout(run);
		else if (proc_now() >= until)
			trial_fail(run, "server: %s within %g s", what, run->opts->ready_limit);
		proc_wait(pause);
		/* Reading /proc is slow: slow servers are polled less often. */
		if (pause < POLL_MAX_S)
			pause *= 1.1;
	}
}

/* ---- the client, and the server's end ---- */

static void run_client(struct run *run)
{
	while (run->client.running && !proc_interrupted && !trial_failed(run)) {
		if (proc_now() >= run->deadline)
			trial_fail_timeout(run);
		else
			proc_wait(run->deadline - proc_now());
		check_server(run);
	}
}

static void check_client(struct run *run)
{
	const struct run_options *opts = run->opts;
	int status = run->client.status;
	char how[RUN_REASON], path[PATH_MAX];

	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_SKIPPED) {
		run->trial->verdict = RUN_SKIP;
		snprintf(run->trial->reason, sizeof(run->trial->reason),
			 "skipped by the program (exit status %d)", STATUS_SKIPPED);
		return;
	}
	run_judge_status(status, how, sizeof(how));
	if (*how && run->server.running) {
		proc_wait_for(&run->server, proc_now() + CRASH_S);
		check_server(run);
	}
	if (!*how) {
		run_path(path, sizeof(path), run->trial, RUN_CLIENT_LOG);
		run_judge_output(&opts->expect, &opts->reject, path, how, sizeof(how));
	}
	if (*how)
		trial_fail(run, "%s", how);
}

static void end_server(struct run *run)
{
	const struct run_options *opts = run->opts;
	char how[RUN_REASON - 64], path[PATH_MAX];

	if (opts->server_quits && !trial_failed(run)) {
		if (!proc_wait_for(&run->server, proc_now() + opts->grace) && !proc_interrupted)
			trial_fail(run, "server: still running %g s after its client", opts->grace);
	}
	proc_wait(0);
	check_server(run);
	if (run->server.running) {
		proc_tree_signal(run->server.pid, SIGTERM);
		proc_wait_for(&run->server, proc_now() + TERM_S);
	}
	run_path(path, sizeof(path), run->trial, RUN_SERVER_LOG);
	run_judge_output(&opts->server_expect, &opts->server_reject, path, how, sizeof(how));
	if (*how && run->trial->verdict == RUN_PASS)
		trial_fail(run, "server: %s", how);
}

void run_trial(struct run_trial *trial, const struct run_options *opts, const struct run_libs *libs)
{
	struct run run = { .trial = trial, .opts = opts, .libs = libs };

	trial->verdict = RUN_PASS;
	trial->ran = true;
	run.trial_start = proc_now();
	run.deadline = run.trial_start + opts->limit;
	if (opts->server && trial_start(&run, true))
		wait_for_server(&run);
	if (!trial_failed(&run) && !proc_interrupted && trial_start(&run, false)) {
		run_client(&run);
		if (!trial_failed(&run) && !proc_interrupted)
			check_client(&run);
	}
	if (opts->server && run.server.pid)
		end_server(&run);
	proc_end_all();
	if (proc_interrupted)
		trial_fail(&run, "interrupted by SIG%s", sigabbrev_np(proc_interrupted));
	trial->seconds = proc_now() - run.trial_start;
}
