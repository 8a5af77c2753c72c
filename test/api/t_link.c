/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket beside the connections: what does its listener do when descriptors are short? */
#include "rig.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_FDS 256
#define WATCHED 400000u			/* microseconds in which nothing has to be done, */
#define WORK 20000u			/* and CPU time that nothing may take */

/* An adapter without service points has one listener: that for links. Its address. */
static bool link_listener(struct sockaddr_storage *at)
{
	for (int fd = 0; fd < MOST_FDS; fd++) {
		socklen_t len = sizeof(*at);
		int on = 0;
		socklen_t n = sizeof(on);

		if (!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &n) && on &&
		    !getsockname(fd, (struct sockaddr *)at, &len) && at->ss_family == AF_INET)
			return true;
	}
	return false;
}

static uint64_t cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

static int next_fd(void)
{
	int fd = dup(0);

	ASSERT(fd >= 0);
	close(fd);
	return fd;
}

/* A stranger that the process has no descriptor for waits, and the progress thread sleeps. */
TEST_LIMIT(link, stranger_without_a_descriptor_for_it_costs_nothing, 30)
{
	struct sockaddr_storage at;
	struct rlimit old, few;
	uint64_t before;
	struct node n;
	char byte;
	int fd;

	if (!fabric_is("tcp"))
		dt_skip("only tcp has links");
	node_open(&n);
	ASSERT(link_listener(&at));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT(fd >= 0);
	ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = old;
	few.rlim_cur = (rlim_t)next_fd();
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	ASSERT_EQ(connect(fd, (struct sockaddr *)&at, sizeof(struct sockaddr_in)), 0);
	before = cpu_us();
	dt_sleep_us(WATCHED);
	ASSERT(cpu_us() - before < WORK * dt_slow());
	/* Once there are some it is let in, and thrown out for what it says. */
	ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
	ASSERT_EQ(send(fd, "this is no message of ours", 26, MSG_NOSIGNAL), 26);
	ASSERT(recv(fd, &byte, 1, 0) <= 0);
	close(fd);
	node_close(&n);
}
