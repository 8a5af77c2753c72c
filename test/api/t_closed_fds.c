/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that close all descriptors after they have opened an adapter, as daemons do that start
 * in the wrong order: every wait ends, no thread computes, no file of the program is touched. */
#include "rig.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Longer than any sleep of the library. */
#define US_END 8000000u

struct plan {
	bool connected, graceful;
	bool again; /* what is opened afterwards works */
};

static double cpu_seconds(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

#define FDS 1024

/* The descriptors of the test itself, which stay open. */
static bool kept[FDS];

static void keep_open_fds(void)
{
	for (int fd = 0; fd < FDS; fd++)
		kept[fd] = fcntl(fd, F_GETFD) >= 0;
}

/* ThreadSanitizer follows descriptors, and reports each close of one that a thread uses. */
static void start_peer(struct dt_peer *peer, void (*play)(int, const void *), const void *arg)
{
#ifdef __SANITIZE_THREAD__
	dt_skip("ThreadSanitizer reports the program's close as a race");
#endif
	dt_peer_start(peer, play, arg);
}

/* Closes all others. Returns the greatest number. */
static int close_all(void)
{
	int last = 2;

	for (int fd = 3; fd < FDS; fd++)
		if (!kept[fd] && !close(fd))
			last = fd;
	return last;
}

/* The adapter wakes by itself soon, or not at all: both ways must end. Nothing shows that a thread
 * does not compute but that time passes. */
static void let_it_notice(void)
{
	double before;

	usleep(100000);
	before = cpu_seconds();
	usleep(300000);
	ASSERT(cpu_seconds() - before < 0.15);
}

static void daemon_peer(int fd, const void *arg)
{
	const struct plan *plan = arg;
	struct dt_start start;
	struct pair p;

	(void)fd;
	keep_open_fds();
	pair_open(&p);
	if (plan->connected)
		pair_connect(&p);
	close_all();
	let_it_notice();
	start = dt_start();
	if (plan->graceful)
		pair_close(&p);
	else
		node_abort(&p.node);
	ASSERT(dt_in_time(&start, US_END));
	if (!plan->again)
		return;
	pair_up(&p);
	pair_disconnect(&p);
	pair_close(&p);
}

static void run_plan(struct plan plan)
{
	struct dt_peer peer;

	start_peer(&peer, daemon_peer, &plan);
	dt_peer_finish(&peer);
}

TEST(closed_fds, the_adapter_closes_abruptly_and_no_thread_computes)
{
	run_plan((struct plan){ .connected = false });
	run_plan((struct plan){ .connected = true });
}

TEST(closed_fds, the_adapter_closes_gracefully_after_its_objects_are_freed)
{
	run_plan((struct plan){ .graceful = true });
	run_plan((struct plan){ .connected = true, .graceful = true });
}

TEST(closed_fds, another_adapter_can_be_opened_afterwards)
{
	run_plan((struct plan){ .connected = true, .again = true });
	run_plan((struct plan){ .connected = true, .graceful = true, .again = true });
}

/* ---- threads that wait meanwhile ---- */

struct waiter {
	DAT_EVD_HANDLE evd;
	struct dt_thread thread;
};

static void wait_for_event(void *arg)
{
	struct waiter *w = arg;
	DAT_EVENT ev;
	DAT_COUNT more;
	DAT_RETURN ret = dat_evd_wait(w->evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more);

	/* The end of the connection may have come first. */
	ASSERT(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_ABORT);
}

static void waiters_peer(int fd, const void *arg)
{
	struct waiter w[2];
	struct dt_start start;
	struct pair p;
	double before;

	(void)fd;
	(void)arg;
	keep_open_fds();
	pair_up(&p);
	w[0].evd = p.a.recv;
	w[1].evd = p.cr_evd;
	for (int i = 0; i < 2; i++)
		dt_thread_start(&w[i].thread, wait_for_event, &w[i]);
	for (int i = 0; i < 2; i++)
		dt_thread_wait_blocked(&w[i].thread);
	close_all();
	let_it_notice();
	before = cpu_seconds();
	start = dt_start();
	node_abort(&p.node);
	ASSERT(dt_in_time(&start, 2 * US_END));
	for (int i = 0; i < 2; i++)
		dt_thread_join(&w[i].thread);
	ASSERT(cpu_seconds() - before < 1);
}

TEST(closed_fds, threads_that_wait_for_events_return_when_the_adapter_is_closed)
{
	struct dt_peer peer;

	start_peer(&peer, waiters_peer, NULL);
	dt_peer_finish(&peer);
}

/* ---- files of the program with the same numbers ---- */

/* A forked child closes the descriptors of the library, not those. */
static void check_files_in_child(int last)
{
	int status;
	pid_t pid = fork();

	ASSERT(pid >= 0);
	if (!pid) {
		for (int i = 3; i <= last; i++)
			if (fcntl(i, F_GETFD) < 0)
				_exit(1);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
}

static void files_peer(int fd, const void *arg)
{
	char path[] = "/tmp/dat-closed-XXXXXX";
	struct node n;
	struct side s;
	struct stat st;
	int last, file;

	(void)fd;
	(void)arg;
	keep_open_fds();
	node_open(&n);
	side_make(&s, &n, NULL);
	last = close_all();
	file = mkstemp(path);
	ASSERT(file >= 0);
	while (dup(file) < last)
		;
	let_it_notice();
	check_files_in_child(last);
	node_abort(&n);
	ASSERT(!stat(path, &st));
	unlink(path);
	ASSERT_EQ(st.st_size, 0);
	/* libfabric closes the numbers that it knows. */
	for (int i = 3; i <= last; i++) {
		bool open = fcntl(i, F_GETFD) >= 0;

		ASSERT(open || !fabric_is("shm"));
		if (open && !kept[i])
			close(i);
	}
}

TEST(closed_fds, files_of_the_program_with_the_same_numbers_are_not_touched)
{
	struct dt_peer peer;

	start_peer(&peer, files_peer, NULL);
	dt_peer_finish(&peer);
}
