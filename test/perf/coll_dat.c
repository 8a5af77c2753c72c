/* SPDX-License-Identifier: BSD-2-Clause */
/* The collectives of the benchmark by this library, between processes that it forks. */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

#include "coll.h"

#define MOST_PROCESSES 64
#define CARD 512
#define WAIT_US 60000000u

/* What identifies a member to the others. */
struct card {
	DAT_COUNT len;
	char member[CARD];
};

static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, evd;
	DAT_IB_COLLECTIVE_MEMBER member;
	DAT_IB_COLLECTIVE_HANDLE group;
	unsigned int rank;
	DAT_COUNT size;
	bool poll;
} me;

static void check(DAT_RETURN ret, const char *call)
{
	const char *type = "?", *subtype = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &type, &subtype);
	coll_fail("%s: %s %s", call, type, subtype);
}

/* ---- processes ---- */

static void move(int fd, void *buf, size_t len, ssize_t (*step)(int fd, void *buf, size_t len))
{
	for (char *at = buf; len;) {
		ssize_t n = step(fd, at, len);

		if (n <= 0)
			coll_fail("a process has ended");
		at += n;
		len -= (size_t)n;
	}
}

static ssize_t put(int fd, void *buf, size_t len)
{
	return send(fd, buf, len, MSG_NOSIGNAL);
}

static ssize_t get(int fd, void *buf, size_t len)
{
	return recv(fd, buf, len, 0);
}

/* In the parent: passes the cards on, and waits for the processes. Does not return. */
static void serve(const int *fds, const pid_t *pids, int size)
{
	static struct card cards[MOST_PROCESSES];
	int bad = 0, status;

	for (int i = 0; i < size; i++)
		move(fds[i], &cards[i], sizeof(cards[i]), get);
	for (int i = 0; i < size; i++)
		move(fds[i], cards, (size_t)size * sizeof(*cards), put);
	for (int i = 0; i < size; i++)
		bad |= waitpid(pids[i], &status, 0) != pids[i] || status;
	exit(bad);
}

static int fork_processes(int size)
{
	int fds[MOST_PROCESSES], pair[2];
	pid_t pids[MOST_PROCESSES];

	for (int i = 0; i < size; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
			coll_fail("socketpair failed");
		pids[i] = fork();
		if (pids[i] < 0)
			coll_fail("fork failed");
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			me.rank = (unsigned int)i;
			close(pair[0]);
			return pair[1];
		}
		close(pair[1]);
		fds[i] = pair[0];
	}
	serve(fds, pids, size);
	return -1;
}

/* ---- the group ---- */

static void await(DAT_IB_EXT_TYPE type)
{
	DAT_IB_EXTENSION_EVENT_DATA ext;
	DAT_EVENT event;
	DAT_COUNT more;

	if (me.poll)
		/* As an MPI does if there are more processes than processors. */
		while (dat_evd_dequeue(me.evd, &event) != DAT_SUCCESS)
			sched_yield();
	else
		check(dat_evd_wait(me.evd, WAIT_US, 1, &event, &more), "dat_evd_wait");
	memcpy(&ext, event.event_extension_data, sizeof(ext));
	if (ext.type != type || ext.status != DAT_OP_SUCCESS)
		coll_fail("event of type %d, status %d", (int)ext.type, (int)ext.status);
	if (type == DAT_IB_COLLECTIVE_CREATE_DATA)
		me.group = ext.coll.handle;
}

static const DAT_CONTEXT context;

void coll_start(int argc, char **argv, int *rank, int *size)
{
	static struct card cards[MOST_PROCESSES];
	DAT_IB_COLLECTIVE_MEMBER all[MOST_PROCESSES];
	char *name = argc > 1 ? argv[1] : (char *)(uintptr_t) "ofi";
	struct card mine;
	int fd;

	*size = me.size = argc > 2 ? atoi(argv[2]) : 8;
	me.poll = argc > 3 && !strcmp(argv[3], "poll");
	if (*size < 1 || *size > MOST_PROCESSES)
		coll_fail("1 to %d processes", MOST_PROCESSES);
	fd = fork_processes(*size);
	*rank = (int)me.rank;
	check(dat_ia_open(name, 8, &me.async, &me.ia), "dat_ia_open");
	check(dat_pz_create(me.ia, &me.pz), "dat_pz_create");
	check(dat_evd_create(me.ia, 8, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)DAT_IB_EVD_EXTENSION_FLAG,
			     &me.evd),
	      "dat_evd_create");
	memset(&mine, 0, sizeof(mine));
	check(dat_ib_collective_create_member(me.ia, NULL, &me.member, &mine.len), "create_member");
	if (mine.len > CARD)
		coll_fail("a member of %d bytes", mine.len);
	memcpy(mine.member, me.member, (size_t)mine.len);
	move(fd, &mine, sizeof(mine), put);
	move(fd, cards, (size_t)*size * sizeof(*cards), get);
	for (int i = 0; i < *size; i++)
		all[i] = cards[i].member;
	check(dat_ib_collective_create_group(all, me.size, me.rank, 1, NULL, me.evd, me.pz,
					     context),
	      "create_group");
	await(DAT_IB_COLLECTIVE_CREATE_DATA);
	coll_barrier();
}

void coll_end(void)
{
	coll_barrier();
	check(dat_ib_collective_free_group(me.group), "free_group");
	check(dat_ib_collective_free_member(me.ia, me.member), "free_member");
	check(dat_evd_free(me.evd), "dat_evd_free");
	check(dat_pz_free(me.pz), "dat_pz_free");
	check(dat_ia_close(me.ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
}

/* ---- operations ---- */

#define FLAGS DAT_COMPLETION_DEFAULT_FLAG

void coll_barrier(void)
{
	check(dat_ib_collective_barrier(me.group, context, FLAGS), "barrier");
	await(DAT_IB_COLLECTIVE_BARRIER_STATUS);
}

void coll_broadcast(void *buf, size_t len)
{
	check(dat_ib_collective_broadcast(me.group, buf, (DAT_COUNT)len, 0u, context, FLAGS),
	      "broadcast");
	await(DAT_IB_COLLECTIVE_BROADCAST_STATUS);
}

void coll_allreduce(const void *in, void *out, size_t len)
{
	check(dat_ib_collective_allreduce(me.group, in, (DAT_COUNT)len, out, (DAT_COUNT)len,
					  DAT_IB_COLLECTIVE_REDUCE_OP_SUM,
					  DAT_IB_COLLECTIVE_TYPE_UINT32, context, FLAGS),
	      "allreduce");
	await(DAT_IB_COLLECTIVE_ALLREDUCE_STATUS);
}

void coll_alltoall(const void *in, void *out, size_t len)
{
	DAT_COUNT all = (DAT_COUNT)len * me.size;

	check(dat_ib_collective_alltoall(me.group, in, all, out, all, context, FLAGS), "alltoall");
	await(DAT_IB_COLLECTIVE_ALLTOALL_STATUS);
}
