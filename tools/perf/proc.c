/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts and pins processes; exchanges bytes between them; reports errors. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "perf.h"
#include "proc.h"

static struct perf_watch no_watch;

const char *perf_process_name;
struct perf_watch *perf_alive = &no_watch;
bool perf_parent_reports;

int perf_error(int err, const char *layer, const char *call, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "dat_perf: %s%s%s%s%s: %s\n", perf_process_name ? perf_process_name : "",
		perf_process_name ? ": " : "", layer ? layer : "", layer ? ": " : "", call, text);
	return err;
}

int perf_allowed_cpus(int *cpu, int max)
{
	cpu_set_t set;
	int i, n = 0;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set))
		return 0;
	for (i = 0; i < CPU_SETSIZE && n < max; i++)
		if (CPU_ISSET(i, &set))
			cpu[n++] = i;
	return n;
}

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return perf_error(-errno, NULL, "sched_setaffinity", "processor %d: %s", cpu,
				  strerror(errno));
	return 0;
}

/*
 * After success, runs the exit handlers of the libraries to expose their faults. After a failure,
 * skips them, since objects may be half open.
 */
void perf_exit(int ret)
{
	if (!ret)
		exit(0);
	fflush(stdout);
	_exit(1);
}

pid_t perf_spawn(const char *name, struct perf_watch *watch, int cpu, int (*main)(void *),
		 void *arg)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid < 0)
		return perf_error(-errno, NULL, "fork", "%s", strerror(errno));
	if (pid > 0)
		return pid;
	perf_process_name = name;
	perf_alive = watch;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (cpu >= 0 && pin(cpu))
		_exit(1);
	perf_exit(main(arg));
}

int perf_put(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return perf_error(-errno, NULL, "side channel", "%s", strerror(errno));
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int perf_get(int fd, void *buf, size_t len, int timeout_ms)
{
	char *p = buf;

	while (len) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		ssize_t n = poll(&pfd, 1, timeout_ms);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			return perf_error(-ETIMEDOUT, NULL, "side channel",
					  "no data from the peer for %d ms", timeout_ms);
		n = recv(fd, p, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return perf_error(-errno, NULL, "side channel", "%s", strerror(errno));
		if (n == 0)
			return perf_parent_reports ? -EPIPE
						   : perf_error(-EPIPE, NULL, "side channel",
								"the peer process has ended");
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int perf_barrier(int fd, int timeout_ms)
{
	char c = 'b';
	int ret = perf_put(fd, &c, 1);

	if (!ret)
		ret = perf_get(fd, &c, 1, timeout_ms);
	perf_beat();
	return ret;
}
