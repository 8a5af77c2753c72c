/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts, watches and ends processes, with everything that they started. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proc.h"

#define MAX_STARTED 4

int proc_interrupted;

static struct proc *started[MAX_STARTED];
static sigset_t watched, original;

double proc_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void proc_init(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	sigaddset(&watched, SIGINT);
	sigaddset(&watched, SIGTERM);
	sigaddset(&watched, SIGHUP);
	sigprocmask(SIG_BLOCK, &watched, &original);
}

static void proc_add(struct proc *p)
{
	for (int i = 0; i < MAX_STARTED; i++) {
		if (started[i] && started[i] != p && started[i]->running)
			continue;
		started[i] = p;
		return;
	}
}

static void proc_remove(struct proc *p)
{
	for (int i = 0; i < MAX_STARTED; i++)
		if (started[i] == p)
			started[i] = NULL;
}

__attribute__((noreturn)) static void proc_run_child(const char *log, int report,
						     int (*child)(void *arg), void *arg)
{
	int in = open("/dev/null", O_RDONLY), err = 0;
	int out = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigprocmask(SIG_SETMASK, &original, NULL);
	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		err = errno;
	if (in > 2)
		close(in);
	if (out > 2)
		close(out);
	if (!err)
		err = child(arg);
	if (write(report, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int proc_start(struct proc *p, const char *log, int (*child)(void *arg), void *arg)
{
	int report[2], err = 0;

	memset(p, 0, sizeof(*p));
	if (pipe2(report, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	p->pid = fork();
	if (p->pid < 0) {
		err = errno;
		close(report[0]);
		close(report[1]);
		return -err;
	}
	if (!p->pid)
		proc_run_child(log, report[1], child, arg);
	setpgid(p->pid, p->pid);
	close(report[1]);
	p->running = true;
	proc_add(p);
	/* Returns EOF once the child has called exec. */
	if (read(report[0], &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(report[0]);
	if (err) {
		waitpid(p->pid, NULL, 0);
		p->running = false;
		proc_remove(p);
	}
	return -err;
}

static void proc_reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int i = 0; i < MAX_STARTED; i++) {
			if (!started[i] || started[i]->pid != pid)
				continue;
			started[i]->running = false;
			started[i]->status = status;
			started[i] = NULL;
		}
	}
}

void proc_wait(double seconds)
{
	struct timespec ts;
	int sig;

	if (seconds < 0)
		seconds = 0;
	ts.tv_sec = (time_t)seconds;
	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	sig = sigtimedwait(&watched, NULL, &ts);
	if (sig > 0 && sig != SIGCHLD)
		proc_interrupted = sig;
	proc_reap();
}

bool proc_wait_for(struct proc *p, double deadline)
{
	while (p->running && !proc_interrupted && proc_now() < deadline)
		proc_wait(deadline - proc_now());
	return !p->running;
}

/* ---- the tree ---- */

struct member {
	pid_t pid, parent;
	char state;
};

static bool read_stat(const char *path, struct member *m)
{
	char text[512], *end;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The program's name may contain anything. */
	end = strrchr(text, ')');
	return end && sscanf(text, "%d", &m->pid) == 1 &&
	       sscanf(end + 1, " %c %d", &m->state, &m->parent) == 2;
}

static struct member *all_processes(size_t *count)
{
	DIR *dir = opendir("/proc");
	struct member *list = NULL, *more;
	size_t capacity = 0;
	struct dirent *e;
	char path[64];

	*count = 0;
	while (dir && (e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]) || strlen(e->d_name) > 12)
			continue;
		if (*count == capacity) {
			capacity = capacity ? 2 * capacity : 256;
			more = realloc(list, capacity * sizeof(*list));
			if (!more)
				break;
			list = more;
		}
		snprintf(path, sizeof(path), "/proc/%.12s/stat", e->d_name);
		memset(&list[*count], 0, sizeof(*list));
		if (read_stat(path, &list[*count]))
			++*count;
	}
	if (dir)
		closedir(dir);
	return list;
}

/* Moves the descendants of `root` to the front; returns their number. */
static size_t find_tree(struct member *list, size_t count, pid_t root)
{
	size_t found = 0, before;

	do {
		before = found;
		for (size_t i = found; i < count; i++) {
			bool child = list[i].parent == root;
			struct member m = list[i];

			for (size_t j = 0; j < found && !child; j++)
				child = list[j].pid == m.parent;
			if (!child)
				continue;
			list[i] = list[found];
			list[found++] = m;
		}
	} while (found > before);
	return found;
}

unsigned int proc_tree_signal(pid_t root, int sig)
{
	struct member *list;
	unsigned int n = 0;
	size_t count, found;

	list = all_processes(&count);
	found = find_tree(list, count, root);
	for (size_t i = 0; i < count; i++) {
		if (i >= found && (list[i].pid != root || root == getpid()))
			continue;
		if (list[i].state == 'Z' || list[i].state == 'X')
			continue;
		kill(list[i].pid, sig);
		n++;
	}
	free(list);
	return n;
}

unsigned int proc_end_all(void)
{
	unsigned int first = proc_tree_signal(getpid(), SIGKILL), left = first;
	double deadline = proc_now() + 5;

	while (left && proc_now() < deadline) {
		proc_wait(0.01);
		left = proc_tree_signal(getpid(), SIGKILL);
	}
	proc_reap();
	return first;
}

void proc_each(void (*fn)(pid_t pid, void *arg), void *arg)
{
	struct member *list;
	size_t count, found;

	list = all_processes(&count);
	found = find_tree(list, count, getpid());
	for (size_t i = 0; i < found; i++)
		fn(list[i].pid, arg);
	free(list);
}

static void check_awake(pid_t pid, void *arg)
{
	bool *asleep = arg;
	struct dirent *e;
	struct member m;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.12s/stat", pid, e->d_name);
		if (read_stat(path, &m) && (m.state == 'R' || m.state == 'D'))
			*asleep = false;
	}
	if (dir)
		closedir(dir);
}

bool proc_all_asleep(void)
{
	bool asleep = true;

	proc_each(check_awake, &asleep);
	return asleep;
}
