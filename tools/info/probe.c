/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a child process with a time limit and collects its output. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"
#include "probe.h"
#include "facts.h"

#define MAX_OUTPUT (1024 * 1024) /* of a child; the rest is discarded */
#define MAX_STDERR_LINE 400      /* characters of a line that are kept */
#define FACTS_FILENO 3           /* in the child */

unsigned int info_time_limit = 20;

/* The output read from a pipe. */
struct stream {
	int fd;
	char *text;
	size_t len;
};

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000L + t.tv_nsec / 1000000;
}

static bool probe_fail(struct info_probe *probe, const char *what)
{
	const char *limit = "";

	if (errno == EMFILE)
		limit = "; try: raise the limit of open files (ulimit -n)";
	else if (errno == EAGAIN)
		limit = "; try: raise the limit of processes (ulimit -u)";
	probe->end =
		info_format("cannot start a child process: %s: %s%s", what, strerror(errno), limit);
	return false;
}

/* In the child: becomes a process group, so that the parent can end its descendants too. */
__attribute__((noreturn)) static void child_run(void (*child)(const void *arg), const void *arg,
						int facts, int errors, pid_t parent)
{
	int null = open("/dev/null", O_RDWR);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	dup2(errors, STDERR_FILENO);
	/* Closes the pipes of other children: the library needs descriptors. */
	dup2(facts, FACTS_FILENO);
	syscall(SYS_close_range, FACTS_FILENO + 1, ~0u, 0);
	info_facts_open(FACTS_FILENO);
	child(arg);
	info_put_text("", "done", "");
	fflush(NULL);
	_exit(0);
}

/* Reads from a pipe; false at its end. */
static bool stream_read(struct stream *s)
{
	char chunk[4096];
	ssize_t n = read(s->fd, chunk, sizeof(chunk));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0)
		return false;
	if (s->len + (size_t)n <= MAX_OUTPUT) {
		s->text = info_realloc(s->text, s->len + (size_t)n + 1, 1);
		memcpy(s->text + s->len, chunk, (size_t)n);
		s->len += (size_t)n;
		s->text[s->len] = '\0';
	}
	return true;
}

/* Checks for the end of the child, without reaping it: its pid must not be reused yet. */
static bool child_has_ended(pid_t pid)
{
	siginfo_t si = { .si_pid = 0 };

	return !waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) && si.si_pid == pid;
}

/*
 * Reads until the child has ended and no output is left; false at the time limit. Polls the child,
 * since its descendants may keep the pipes open.
 */
static bool streams_read(struct stream *facts, struct stream *errors, pid_t pid)
{
	struct pollfd fds[2] = { { facts->fd, POLLIN, 0 }, { errors->fd, POLLIN, 0 } };
	struct stream *streams[2] = { facts, errors };
	long left, end = now_ms() + info_time_limit * 1000L;
	bool ended;
	int i, n;

	for (;;) {
		ended = child_has_ended(pid);
		left = end - now_ms();
		if (left <= 0)
			return ended;
		/* With both pipes closed, the child is about to end. */
		if (ended)
			left = 0;
		else if (fds[0].fd < 0 && fds[1].fd < 0)
			left = 1;
		n = poll(fds, 2, (int)(left < 100 ? left : 100));
		for (i = 0; n > 0 && i < 2; i++)
			if (fds[i].fd >= 0 && fds[i].revents && !stream_read(streams[i]))
				fds[i].fd = -1;
		if (n == 0 && ended)
			return true;
	}
}

static void split_facts(struct info_probe *probe, char *text)
{
	char *line, *save = NULL;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *field[4];
		int n = 0;

		while (n < 4 && (field[n] = strsep(&line, "\t")))
			n++;
		if (n < 4)
			continue;
		probe->facts =
			info_realloc(probe->facts, probe->num_facts + 1, sizeof(*probe->facts));
		probe->facts[probe->num_facts++] =
			(struct info_fact){ *field[0], info_strdup(field[1]), info_strdup(field[2]),
					    info_strdup(field[3]) };
	}
}

static void split_stderr(struct info_probe *probe, char *text)
{
	char *line, *save = NULL;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *at;

		line[strnlen(line, MAX_STDERR_LINE)] = '\0';
		for (at = line; *at; at++)
			if ((unsigned char)*at < ' ' || *at == 0x7f)
				*at = ' ';
		probe->stderr_line = info_realloc(probe->stderr_line, probe->num_stderr_lines + 1,
						  sizeof(*probe->stderr_line));
		probe->stderr_line[probe->num_stderr_lines++] = info_strdup(line);
	}
}

static void probe_set_end(struct info_probe *probe, bool in_time, int status)
{
	if (!in_time)
		probe->end = info_format("no answer within %u seconds", info_time_limit);
	else if (WIFSIGNALED(status))
		probe->end = info_format("the process was ended by signal %d (%s)",
					 WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (!info_probe_fact(probe, "", "done"))
		probe->end =
			info_format("the process ended itself with status %d", WEXITSTATUS(status));
}

static void close_pipe(const int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

bool info_probe_start(struct info_probe *probe, void (*child)(const void *arg), const void *arg)
{
	int fact_pipe[2], error_pipe[2];
	pid_t parent = getpid();

	memset(probe, 0, sizeof(*probe));
	fflush(NULL);
	if (pipe2(fact_pipe, O_CLOEXEC))
		return probe_fail(probe, "pipe");
	if (pipe2(error_pipe, O_CLOEXEC)) {
		probe_fail(probe, "pipe");
		close_pipe(fact_pipe);
		return false;
	}
	probe->pid = fork();
	if (probe->pid < 0) {
		probe_fail(probe, "fork");
		close_pipe(fact_pipe);
		close_pipe(error_pipe);
		return false;
	}
	if (!probe->pid)
		child_run(child, arg, fact_pipe[1], error_pipe[1], parent);
	setpgid(probe->pid, probe->pid);
	close(fact_pipe[1]);
	close(error_pipe[1]);
	probe->fact_fd = fact_pipe[0];
	probe->error_fd = error_pipe[0];
	fcntl(probe->fact_fd, F_SETFL, O_NONBLOCK);
	fcntl(probe->error_fd, F_SETFL, O_NONBLOCK);
	return true;
}

void info_probe_finish(struct info_probe *probe)
{
	struct stream facts = { .fd = probe->fact_fd }, errors = { .fd = probe->error_fd };
	int status = 0;
	bool in_time;

	if (probe->pid <= 0)
		return; /* it was not started */
	in_time = streams_read(&facts, &errors, probe->pid);
	/* Kills the process group: no descendant of the child is left. */
	kill(-probe->pid, SIGKILL);
	kill(probe->pid, SIGKILL);
	while (waitpid(probe->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(facts.fd);
	close(errors.fd);
	if (facts.text)
		split_facts(probe, facts.text);
	if (errors.text)
		split_stderr(probe, errors.text);
	probe_set_end(probe, in_time, status);
	free(facts.text);
	free(errors.text);
}

void info_probe_run(struct info_probe *probe, void (*child)(const void *arg), const void *arg)
{
	info_probe_start(probe, child, arg);
	info_probe_finish(probe);
}

void info_probe_free(struct info_probe *probe)
{
	size_t i;

	for (i = 0; i < probe->num_facts; i++) {
		free(probe->facts[i].group);
		free(probe->facts[i].name);
		free(probe->facts[i].value);
	}
	for (i = 0; i < probe->num_stderr_lines; i++)
		free(probe->stderr_line[i]);
	free(probe->facts);
	free(probe->stderr_line);
	free(probe->end);
	memset(probe, 0, sizeof(*probe));
}

const char *info_probe_fact(const struct info_probe *probe, const char *group, const char *name)
{
	size_t i;

	for (i = 0; i < probe->num_facts; i++)
		if (!strcmp(probe->facts[i].name, name) && !strcmp(probe->facts[i].group, group))
			return probe->facts[i].value;
	return NULL;
}
