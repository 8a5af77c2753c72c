/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the harness itself: cases that must fail, and some that must pass; self.sh compares the
 * output of the runner with the expected output.
 */
#include "harness.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TEST(good, passes)
{
	ASSERT(getpid() > 0);
	ASSERT_EQ(2 + 2, 4);
	ASSERT_MEM("abc", "abc", 3);
}

TEST(good, skips)
{
	dt_skip("on purpose");
}

static void echo(int fd, const void *arg)
{
	int number = *(const int *)arg;

	dt_put(fd, &number, sizeof(number));
	dt_expect_byte(fd, 'x');
}

TEST(good, peer_answers)
{
	int sent = 77, got = 0;
	struct dt_peer p;

	dt_peer_start(&p, echo, &sent);
	dt_get(p.fd, &got, sizeof(got));
	ASSERT_EQ(got, sent);
	dt_put_byte(p.fd, 'x');
	dt_peer_finish(&p);
}

static void wait_for_flag(void *arg)
{
	int fd = *(int *)arg;
	char c;

	ASSERT_EQ(read(fd, &c, 1), 1);
}

TEST(good, thread_is_seen_blocked)
{
	struct dt_thread t;
	int fds[2];

	ASSERT_EQ(pipe(fds), 0);
	dt_thread_start(&t, wait_for_flag, &fds[0]);
	dt_thread_wait_blocked(&t);
	ASSERT_EQ(write(fds[1], "x", 1), 1);
	dt_thread_join(&t);
	close(fds[0]);
	close(fds[1]);
}

/* A process on the same processor takes half of its time. */
TEST(good, time_without_a_processor_is_not_counted)
{
	struct dt_start start;
	clock_t used;
	cpu_set_t one;
	pid_t rival;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		dt_skip("cannot stay on one processor");
	rival = fork();
	if (!rival) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			getppid();
	}
	ASSERT(rival > 0);
	start = dt_start();
	used = clock();
	while (clock() - used < CLOCKS_PER_SEC / 5)
		;
	ASSERT(dt_took_us(&start) >= 200000);
	ASSERT(dt_in_time(&start, 250000));
	kill(rival, SIGKILL);
	ASSERT_EQ(waitpid(rival, NULL, 0), rival);
}

static _Atomic bool enough;

static void be_delayed(void *arg)
{
	(void)arg;
	while (!enough)
		getppid();
}

/* Two threads of this process share a processor, and one of them ends. */
TEST(good, delays_of_a_thread_that_has_ended_remain)
{
	struct dt_start start = dt_start(), now;
	struct dt_thread t;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		dt_skip("cannot stay on one processor");
	dt_thread_start(&t, be_delayed, NULL);
	do {
		now = dt_start();
		if (now.at > start.at + 5000000)
			dt_skip("the kernel does not count delays");
	} while (now.delays < start.delays + 100000);
	enough = true;
	dt_thread_join(&t);
	ASSERT(dt_start().delays >= now.delays);
}

TEST(good, time_asleep_is_counted)
{
	struct dt_start start = dt_start();

	dt_sleep_us(200000);
	ASSERT(!dt_in_time(&start, 100000 / dt_slow()));
}

TEST(bad, asserts)
{
	ASSERT_EQ(1, 2);
}

static void assert_here(void *arg)
{
	ASSERT(arg != NULL);
}

TEST(bad, asserts_in_a_thread)
{
	struct dt_thread t;

	dt_thread_start(&t, assert_here, NULL);
	dt_thread_join(&t);
}

static void fail_here(int fd, const void *arg)
{
	(void)fd;
	ASSERT(arg != NULL);
}

TEST(bad, asserts_in_a_peer)
{
	struct dt_peer p;

	dt_peer_start(&p, fail_here, NULL);
	dt_peer_finish(&p);
}

TEST(bad, peer_is_killed)
{
	struct dt_peer p;
	int sent = 1;

	dt_peer_start(&p, echo, &sent);
	kill(p.pid, SIGABRT);
	dt_peer_finish(&p);
}

TEST_LIMIT(bad, hangs, 1)
{
	for (;;)
		pause();
}

static void spin(void *arg)
{
	(void)arg;
	for (;;)
		getppid();
}

/* Its threads wait for a processor more than twice as long as it takes. */
TEST_LIMIT(bad, hangs_and_is_delayed, 1)
{
	struct dt_thread t[5];
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int i = 0; i < 5; i++)
		dt_thread_start(&t[i], spin, NULL);
	dt_thread_join(&t[0]);
}

TEST(bad, dies_of_a_signal)
{
	raise(SIGALRM);
}

TEST(bad, exits)
{
	_exit(3);
}

TEST(bad, prints)
{
	printf("text\n");
	fflush(stdout);
}

TEST(bad, leaves_a_descriptor)
{
	ASSERT(open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0);
}

TEST(bad, condition_never_holds)
{
	DT_UNTIL(getpid() == 0, 1000);
}

int main(int argc, char **argv)
{
	static const struct dt_program prog = { .name = "self", .fabric = "none" };

	return dt_main(argc, argv, &prog);
}
