/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests collectives between processes: operations, the death of a member, how often they sleep. */
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "coll_rig.h"

#define PROCS 8
#define BLOB_MOST 256
#define LONG_SIZE 300000
#define US_WORK 20000 /* more than 18 periods of the lease (progress/progress_cq.c) */
#define LEASE_US 900  /* a period (object/progress_wakeup.h) */
#define BARRIERS 20

struct card {
	DAT_COUNT size;
	char blob[BLOB_MOST];
};

/* What a process is to do; its rank comes over the socket. */
struct job {
	unsigned int rounds;
	bool killed; /* a member dies during the rounds */
	bool polls;  /* members do not wait, but poll in turns */
	long sleeps; /* the most of a process in that many rounds */
};

struct proc {
	unsigned int rank;
	struct node n;
	DAT_EVD_HANDLE evd;
	DAT_IB_COLLECTIVE_MEMBER member;
	DAT_IB_COLLECTIVE_HANDLE group;
	struct card card[PROCS];
	int fd;
};

static void proc_join(struct proc *p, int fd)
{
	DAT_IB_COLLECTIVE_MEMBER list[PROCS];
	struct card mine;

	memset(p, 0, sizeof(*p));
	memset(&mine, 0, sizeof(mine));
	p->fd = fd;
	dt_get(fd, &p->rank, sizeof(p->rank));
	node_open(&p->n);
	p->evd = evd_make(&p->n, 8, DAT_IB_EVD_EXTENSION_FLAG);
	OK(dat_ib_collective_create_member(p->n.ia, NULL, &p->member, &mine.size));
	ASSERT(mine.size <= BLOB_MOST);
	memcpy(mine.blob, p->member, (size_t)mine.size);
	dt_put(fd, &mine, sizeof(mine));
	dt_get(fd, p->card, sizeof(p->card));
	for (unsigned int i = 0; i < PROCS; i++)
		list[i] = p->card[i].blob;
	OK(dat_ib_collective_create_group(list, PROCS, p->rank, 42, NULL, p->evd, p->n.pz, ctx(1)));
	p->group = EV_COLL(p->evd, CREATE_DATA, 1);
	dt_put_byte(fd, 'g');
	dt_expect_byte(fd, 'g');
}

static void proc_leave(struct proc *p)
{
	OK(dat_ib_collective_free_group(p->group));
	OK(dat_ib_collective_free_member(p->n.ia, p->member));
	OK(dat_evd_free(p->evd));
	node_close(&p->n);
}

/* One allreduce; false: it has failed. */
static bool proc_reduce(struct proc *p, uint32_t *in, uint32_t *out, DAT_COUNT size, unsigned int k)
{
	DAT_IB_EXTENSION_EVENT_DATA x;
	DAT_COUNT more;
	DAT_EVENT ev;

	OK(dat_ib_collective_allreduce(
		p->group, in, size, out, size, DAT_IB_COLLECTIVE_REDUCE_OP_SUM,
		DAT_IB_COLLECTIVE_TYPE_UINT32, ctx(k), DAT_COMPLETION_DEFAULT_FLAG));
	OK(dat_evd_wait(p->evd, US_GROUP * dt_slow(), 1, &ev, &more));
	ASSERT_EQ(more, 0);
	memcpy(&x, ev.event_extension_data, sizeof(x));
	ASSERT_EQ((int)ev.event_number, DAT_IB_COLLECTIVE_EVENT);
	ASSERT_EQ(x.coll.context.as_64, k);
	ASSERT_EQ(x.type, DAT_IB_COLLECTIVE_ALLREDUCE_STATUS);
	return x.status == DAT_OP_SUCCESS;
}

static void proc_work(int fd, const void *arg)
{
	const struct job *job = arg;
	static uint32_t in[LONG_SIZE / 4], out[LONG_SIZE / 4];
	unsigned int k = 0;
	struct proc p;

	proc_join(&p, fd);
	for (; k < job->rounds; k++) {
		DAT_COUNT size = k % 3 == 2 ? LONG_SIZE : 4 << k % 8;

		for (DAT_COUNT i = 0; i < size / 4; i++)
			in[i] = p.rank + k + (uint32_t)i;
		if (!proc_reduce(&p, in, out, size, k))
			break;
		for (DAT_COUNT i = 0; i < size / 4; i++)
			ASSERT_EQ(out[i], 28 + PROCS * (k + (uint32_t)i));
	}
	if (job->killed) {
		ASSERT(k < job->rounds);
		/* And so do all others. */
		ASSERT(!proc_reduce(&p, in, out, 4, k + 1));
		ASSERT(!proc_reduce(&p, in, out, LONG_SIZE, k + 2));
	} else {
		ASSERT_EQ(k, job->rounds);
	}
	EV_EMPTY(p.evd);
	proc_leave(&p);
	dt_put_byte(fd, 'e');
}

static long proc_sleeps(void)
{
	struct rusage r;

	ASSERT_EQ(getrusage(RUSAGE_SELF, &r), 0);
	return r.ru_nvcsw;
}

/* Real-time priority, so that a loaded machine does not take the processor from the members. */
static void proc_pin(void)
{
	const struct sched_param urgent = { .sched_priority = 1 };
	cpu_set_t all, first;
	int cpu = 0;

	ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&first);
	CPU_SET(cpu, &first);
	ASSERT_EQ(sched_setaffinity(0, sizeof(first), &first), 0);
	ASSERT_EQ(sched_setscheduler(0, SCHED_RR, &urgent), 0);
}

static void proc_barrier(struct proc *p, unsigned int k)
{
	OK(dat_ib_collective_barrier(p->group, ctx(k), DAT_COMPLETION_DEFAULT_FLAG));
	EV_COLL(p->evd, BARRIER_STATUS, k);
}

static void proc_poll_barrier(struct proc *p, unsigned int k)
{
	DAT_IB_EXTENSION_EVENT_DATA x;
	DAT_EVENT ev;

	OK(dat_ib_collective_barrier(p->group, ctx(k), DAT_COMPLETION_DEFAULT_FLAG));
	while (dat_evd_dequeue(p->evd, &ev))
		sched_yield();
	memcpy(&x, ev.event_extension_data, sizeof(x));
	ASSERT_EQ(x.type, DAT_IB_COLLECTIVE_BARRIER_STATUS);
	ASSERT_EQ(x.coll.context.as_64, k);
	ASSERT_EQ(x.status, DAT_OP_SUCCESS);
}

/* The thread looks at the queues once in a period of the lease if calls are as far apart, which is
 * the time of a barrier if the machine is slow. */
static void proc_check_sleeps(long sleeps, long most, unsigned int barriers, uint64_t us)
{
	long periods = (long)(us / LEASE_US);

	dt_note("%ld sleeps in %u barriers, %ld periods", sleeps, barriers, periods);
	if (sleeps > most && sleeps > periods)
		FAIL("%ld sleeps in %u barriers, %ld periods, %ld permitted", sleeps, barriers,
		     periods, most);
}

/* Barriers of processes that share a processor: neither they nor their progress threads sleep at
 * each message, as they do if a waiting member keeps the processor until it sleeps. */
static void proc_wait_in_turns(int fd, const void *arg)
{
	const struct job *job = arg;
	struct proc p;
	uint64_t began = 0;
	long before = 0, sleeps;

	proc_pin();
	proc_join(&p, fd);
	for (unsigned int k = 0; k < 2 * job->rounds; k++) {
		if (k == job->rounds) {
			before = proc_sleeps();
			began = dt_now_us();
		}
		if (job->polls)
			proc_poll_barrier(&p, k);
		else
			proc_barrier(&p, k);
	}
	sleeps = proc_sleeps() - before;
	proc_check_sleeps(sleeps, job->sleeps, job->rounds, dt_now_us() - began);
	proc_leave(&p);
	dt_put_byte(fd, 'e');
}

/* Members that read no queue of the group for longer than the progress thread leaves all queues to
 * consumers without a look, and then wait for a few barriers. The thread serves the first barrier,
 * and must not be woken for each of the others, too. */
static void proc_wait_after_other_work(int fd, const void *arg)
{
	const struct job *job = arg;
	DAT_EVD_HANDLE other;
	struct proc p;
	long sleeps = 0;
	uint64_t us = 0;
	unsigned int k = 0;

	proc_pin();
	proc_join(&p, fd);
	other = evd_make(&p.n, 8, DAT_EVD_DTO_FLAG);
	for (unsigned int i = 0; i < job->rounds; i++) {
		uint64_t end = dt_now_us() + US_WORK;
		long before;

		while (dt_now_us() < end) {
			EV_EMPTY(other);
			sched_yield();
		}
		proc_barrier(&p, k++);
		before = proc_sleeps();
		us -= dt_now_us();
		for (unsigned int n = 0; n < BARRIERS; n++)
			proc_barrier(&p, k++);
		us += dt_now_us();
		sleeps += proc_sleeps() - before;
	}
	proc_check_sleeps(sleeps, job->rounds * BARRIERS / 4, job->rounds * BARRIERS, us);
	OK(dat_evd_free(other));
	proc_leave(&p);
	dt_put_byte(fd, 'e');
}

static void procs_start(struct dt_peer peer[PROCS], const struct job *job,
			void (*work)(int fd, const void *arg))
{
	struct card card[PROCS];

	for (unsigned int i = 0; i < PROCS; i++) {
		dt_peer_start(&peer[i], work, job);
		dt_put(peer[i].fd, &i, sizeof(i));
	}
	for (unsigned int i = 0; i < PROCS; i++)
		dt_get(peer[i].fd, &card[i], sizeof(card[i]));
	for (unsigned int i = 0; i < PROCS; i++)
		dt_put(peer[i].fd, card, sizeof(card));
	for (unsigned int i = 0; i < PROCS; i++)
		dt_expect_byte(peer[i].fd, 'g');
	for (unsigned int i = 0; i < PROCS; i++)
		dt_put_byte(peer[i].fd, 'g');
}

static void procs_run(const struct job *job, void (*work)(int fd, const void *arg))
{
	struct dt_peer peer[PROCS];

	procs_start(peer, job, work);
	for (unsigned int i = 0; i < PROCS; i++)
		dt_expect_byte(peer[i].fd, 'e');
	for (unsigned int i = 0; i < PROCS; i++)
		dt_peer_finish(&peer[i]);
}

TEST_LIMIT(coll_proc, eight_processes_reduce, 60)
{
	static const struct job job = { .rounds = 60 };

	procs_run(&job, proc_work);
}

static void procs_share_a_processor(const struct job *job)
{
	if (geteuid())
		dt_skip("real-time priority needs root");
	/* Members that are slowed down take each other for threads that compute. */
	if (dt_slow() > 1)
		dt_skip("time limits are scaled by %u", dt_slow());
	procs_run(job, proc_wait_in_turns);
}

TEST_LIMIT(coll_proc, members_that_share_a_processor_seldom_sleep, 60)
{
	static const struct job job = { .rounds = 100, .sleeps = 100 };

	procs_share_a_processor(&job);
}

/* Polls keep the lease: else the progress threads take the queue over after each of its periods. */
TEST_LIMIT(coll_proc, members_that_share_a_processor_and_poll_seldom_sleep, 60)
{
	static const struct job job = { .rounds = 500, .sleeps = 200, .polls = true };

	procs_share_a_processor(&job);
}

TEST_LIMIT(coll_proc, members_that_return_from_other_work_seldom_sleep, 60)
{
	static const struct job job = { .rounds = 30 };

	if (geteuid())
		dt_skip("real-time priority needs root");
	if (dt_slow() > 1)
		dt_skip("time limits are scaled by %u", dt_slow());
	procs_run(&job, proc_wait_after_other_work);
}

/* The others notice within the time that each waits for an event. */
static void kill_one(unsigned int victim, int sig)
{
	static const struct job job = { .rounds = 10000000, .killed = true };
	struct dt_peer peer[PROCS];

	procs_start(peer, &job, proc_work);
	dt_sleep_us(100000);
	dt_peer_kill(&peer[victim], sig);
	for (unsigned int i = 0; i < PROCS; i++)
		if (i != victim)
			dt_expect_byte(peer[i].fd, 'e');
	for (unsigned int i = 0; i < PROCS; i++)
		if (i != victim)
			dt_peer_finish(&peer[i]);
}

TEST_LIMIT(coll_proc, death_of_the_first_member, 60)
{
	kill_one(0, SIGKILL);
}

TEST_LIMIT(coll_proc, death_of_a_middle_member, 60)
{
	kill_one(5, SIGKILL);
}
