/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the threads and peer processes of a case; none survives it. */
#include <ctype.h>
#include "harness_int.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHM_NAMES_MAX 64

/* True if the name contains the number, not as a part of a longer one. */
static bool has_number(const char *name, const char *number)
{
	size_t len = strlen(number);

	for (const char *at = name; (at = strstr(at, number)); at++)
		if ((at == name || !isdigit((unsigned char)at[-1])) &&
		    !isdigit((unsigned char)at[len]))
			return true;
	return false;
}

/* Names in /dev/shm that contain the pid of this process. */
static int own_shm_names(char names[SHM_NAMES_MAX][64])
{
	char pid[16];
	struct dirent *e;
	DIR *d = opendir("/dev/shm");
	int n = 0;

	if (!d)
		return 0;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	while ((e = readdir(d)) && n < SHM_NAMES_MAX)
		if (has_number(e->d_name, pid))
			snprintf(names[n++], 64, "%.63s", e->d_name);
	closedir(d);
	return n;
}

static void check_shm_leaks(const char *name)
{
	char names[SHM_NAMES_MAX][64];

	if (own_shm_names(names) > 0)
		dt_fail(name, 0, "/dev/shm/%s is left", names[0]);
}

void dt_child_run(const struct dt_case *c)
{
	struct dt_fds before;

	dt_fds_get(&before);
	c->fn(c->arg);
	dt_fds_check(&before, c->name, 0);
	check_shm_leaks(c->name);
	exit(0);
}

static void *thread_main(void *arg)
{
	struct dt_thread *t = arg;

	__atomic_store_n(&t->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	t->fn(t->arg);
	return NULL;
}

void dt_thread_start(struct dt_thread *t, void (*fn)(void *arg), void *arg)
{
	t->fn = fn;
	t->arg = arg;
	t->tid = 0;
	ASSERT_EQ(pthread_create(&t->id, NULL, thread_main, t), 0);
}

void dt_thread_join(struct dt_thread *t)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60 * (time_t)dt_slow();
	ASSERT_EQ(pthread_timedjoin_np(t->id, NULL, &end), 0);
}

/* The state letter of a thread: the first one after the parenthesised command name. */
static char thread_state(pid_t tid)
{
	char path[64], buf[256];
	char *p;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	f = fopen(path, "re");
	if (!f)
		return '?';
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = 0;
	p = strrchr(buf, ')');
	return p && p[1] ? p[2] : '?';
}

void dt_thread_wait_blocked(struct dt_thread *t)
{
	int seen = 0;

	DT_UNTIL(__atomic_load_n(&t->tid, __ATOMIC_ACQUIRE), 2000000);
	/* A short sleep on a lock looks the same: require several equal samples in a row. */
	while (seen < 20) {
		seen = thread_state(t->tid) == 'S' ? seen + 1 : 0;
		dt_sleep_us(500);
	}
}

void dt_peer_start(struct dt_peer *p, void (*fn)(int fd, const void *arg), const void *arg)
{
	struct dt_fds before;
	int sv[2];

	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	fflush(NULL);
	p->pid = fork();
	ASSERT(p->pid >= 0);
	if (p->pid == 0) {
		close(sv[0]);
		dt_fds_get(&before);
		fn(sv[1], arg);
		dt_fds_check(&before, "peer", 0);
		check_shm_leaks("peer");
		exit(0);
	}
	close(sv[1]);
	p->fd = sv[0];
}

static int reap_peer(struct dt_peer *p)
{
	uint64_t end = dt_now_us() + 15000000ull * dt_slow();
	int status;
	pid_t got;

	while ((got = waitpid(p->pid, &status, WNOHANG)) == 0) {
		if (dt_now_us() > end)
			FAIL("the peer process did not end in time");
		dt_sleep_us(500);
	}
	ASSERT_EQ(got, p->pid);
	close(p->fd);
	p->fd = -1;
	p->pid = -1;
	return status;
}

void dt_peer_finish(struct dt_peer *p)
{
	int status = reap_peer(p);

	if (WIFSIGNALED(status))
		FAIL("the peer died of signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		FAIL("the peer failed with status %d", WEXITSTATUS(status));
}

void dt_peer_kill(struct dt_peer *p, int sig)
{
	ASSERT_EQ(kill(p->pid, sig), 0);
	if (sig == SIGKILL || sig == SIGTERM)
		reap_peer(p);
}

void dt_put(int fd, const void *data, size_t len)
{
	ASSERT_EQ(send(fd, data, len, MSG_NOSIGNAL), len);
}

void dt_get(int fd, void *data, size_t len)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t have = 0;
	ssize_t n;

	while (have < len) {
		if (poll(&pfd, 1, 30000 * (int)dt_slow()) <= 0)
			FAIL("no data from the other process in time");
		n = read(fd, (char *)data + have, len - have);
		if (n <= 0)
			FAIL("the other process has ended");
		have += (size_t)n;
	}
}

void dt_put_byte(int fd, char what)
{
	dt_put(fd, &what, 1);
}

void dt_expect_byte(int fd, char what)
{
	char got;

	dt_get(fd, &got, 1);
	ASSERT_EQ(got, what);
}
