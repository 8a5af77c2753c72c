/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a process with a hundred idle connections uses less than one percent of a processor in
 * each way of waiting, also with unread messages. The number of wakeups is independent of the speed
 * of the processor.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdat.h"

enum step { ST_LISTEN, ST_UP, ST_SENT, ST_MEASURED = 8 };

#define EPS 100
#define UNREAD 10
#define USED 10
#define LIMIT 0.01
/* Those of the measurement itself, and of timers of connections. TSan has two threads of its own in
 * a process that has been forked, each of which wakes 10 times a second. */
#define WAKES (RL_SANITIZED ? 25 : 3)

/*
 * With IN_USED_EVD_WAIT each message wakes the waiting thread before the long idle wait; send
 * completions are not read.
 */
enum waiting { IN_EVD_WAIT, IN_USED_EVD_WAIT, IN_CNO_WAIT, IN_NO_CALL };

static const char *const waiting_names[] = { "evd-wait", "used-evd-wait", "cno-wait", "no-call" };

/* For each of the two processes: how it waits, and whether it has unread messages. */
struct idleness {
	const char *name;
	enum waiting how[2];
	bool unread[2];
};

static const struct idleness plans[] = {
	{ "evd-wait+cno-wait", { IN_EVD_WAIT, IN_CNO_WAIT }, { false, false } },
	{ "no-call+evd-wait-unread", { IN_NO_CALL, IN_EVD_WAIT }, { false, true } },
	{ "cno-wait-unread+no-call-unread", { IN_CNO_WAIT, IN_NO_CALL }, { true, true } },
	{ "no-call+used-evd-wait", { IN_NO_CALL, IN_USED_EVD_WAIT }, { false, false } },
};

static _Atomic bool all_used;
/* The peer may leave once it knows of that, and what its end brings about is not looked at. */
static _Atomic bool measured;

struct member {
	const struct idleness *plan;
	int side;
};

static void *wait_on_evd(void *evd)
{
	DAT_EVENT ev;
	DAT_COUNT more;
	DAT_RETURN ret = dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more);

	if (measured)
		return NULL;
	RL_FAIL("an idle wait ended with %s, %s", rd_text(ret),
		ret == DAT_SUCCESS ? rd_event_text(ev.event_number) : "no event");
}

static void *wait_on_used_evd(void *evd)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	for (int i = 0; i < USED; i++) {
		RD_OK(dat_evd_wait(evd, 5000000, 1, &ev, &more));
		RL_CHECK(ev.event_number == DAT_DTO_COMPLETION_EVENT, "%s instead of message %d",
			 rd_event_text(ev.event_number), i);
	}
	atomic_store(&all_used, true);
	return wait_on_evd(evd);
}

static void *wait_on_cno(void *cno)
{
	DAT_EVD_HANDLE evd;
	DAT_RETURN ret = dat_cno_wait(cno, DAT_TIMEOUT_INFINITE, &evd);

	if (measured)
		return NULL;
	RL_FAIL("an idle wait on a CNO ended with %s", rd_text(ret));
}

static void thread(void *(*fn)(void *), void *arg)
{
	pthread_t id;

	RL_CHECK(!pthread_create(&id, NULL, fn, arg), "no thread");
	pthread_detach(id);
}

static void measure(const struct member *m, struct rd *rd)
{
	const char *how = waiting_names[m->plan->how[m->side]];
	unsigned int seconds = 5 * rl_long();
	double cpu, share, wakes;
	uint64_t began;

	rl_activity("settling");
	rl_sleep_ms(500);
	RL_CHECK(all_used || m->plan->how[m->side] != IN_USED_EVD_WAIT, "messages are missing");
	rl_activity("idling");
	wakes = rl_wakes();
	cpu = rl_cpu_seconds(0);
	began = rl_now();
	(void)!poll(NULL, 0, (int)seconds * 1000);
	share = (rl_cpu_seconds(0) - cpu) / ((double)(rl_now() - began) / 1e6);
	wakes = (rl_wakes() - wakes) / seconds;
	rl_note("%d connections, %s%s: %.3f %% of a processor, awake %.1f times a second", EPS, how,
		m->plan->unread[m->side] ? ", unread messages" : "", share * 100, wakes);
	RL_CHECK(share < LIMIT * (RL_SANITIZED ? 4 : 1), "%s%s: %.2f %% of a processor while idle",
		 how, m->plan->unread[m->side] ? " with unread messages" : "", share * 100);
	RL_CHECK(wakes < WAKES, "%s%s: awake %.1f times a second while idle", how,
		 m->plan->unread[m->side] ? " with unread messages" : "", wakes);
	(void)rd;
}

static void play(void *arg)
{
	const struct member *m = arg;
	static char buf[EPS][64];
	DAT_EP_HANDLE ep[EPS];
	struct rd_mem mem;
	DAT_EVENT ev;
	struct rd rd;

	rd_open(&rd, m->plan->how[m->side] == IN_CNO_WAIT ? RD_CNO : 0, 256);
	rd_reg(&rd, &mem, buf, sizeof(buf));
	if (m->side == 0) {
		rd_listen(&rd);
		rl_step(ST_LISTEN, 1);
	} else {
		rl_await(ST_LISTEN, 1, 10000);
	}
	for (int i = 0; i < EPS; i++) {
		rl_activity("connecting number %d", i);
		ep[i] = rd_ep_create(&rd, 4);
		if (!m->plan->unread[m->side] || i >= UNREAD)
			RD_OK(rd_recv(ep[i], &mem, (size_t)i * 64, 64, 1));
		if (m->side == 0)
			rd_accept_up(&rd, ep[i]);
		else
			rd_connect_up(&rd, ep[i]);
	}
	rl_step(ST_UP + m->side * 4, 1);
	rl_await(ST_UP + !m->side * 4, 1, 10000);
	/*
	 * They do not complete before they are read: the queue of the receiver has many endpoints.
	 */
	for (int i = 0; i < UNREAD && m->plan->unread[!m->side]; i++)
		RD_OK(rd_send(ep[i], &mem, 0, 64, 2));
	rl_step(ST_SENT + m->side * 4, 1);
	rl_await(ST_SENT + !m->side * 4, 1, 10000);
	for (int i = 0; i < USED && m->plan->how[!m->side] == IN_USED_EVD_WAIT; i++) {
		rl_sleep_ms(5);
		RD_OK(rd_send(ep[i], &mem, 0, 64, 2));
		rd_expect(rd.req, DAT_DTO_COMPLETION_EVENT, 5000, &ev);
	}
	switch (m->plan->how[m->side]) {
	case IN_USED_EVD_WAIT:
		thread(wait_on_used_evd, rd.recv);
		break;
	case IN_EVD_WAIT:
		thread(wait_on_evd, rd.conn);
		thread(wait_on_evd, rd.recv);
		thread(wait_on_evd, rd.req);
		break;
	case IN_CNO_WAIT: {
		DAT_EVD_HANDLE evd;

		/* The trigger left by the events read so far. */
		while (dat_cno_wait(rd.cno, 0, &evd) == DAT_SUCCESS)
			;
		thread(wait_on_cno, rd.cno);
		break;
	}
	case IN_NO_CALL:
		break;
	}
	measure(m, &rd);
	atomic_store(&measured, true);
	rl_step(ST_MEASURED + m->side, 1);
	rl_await(ST_MEASURED + !m->side, 1, 10000);
	/* Threads are still waiting; other tests cover how that ends. */
	rl_exit_success();
}

static void run(void)
{
	setenv("DAPL_OFI_LOG", "0", 0);
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		struct member m[2] = { { &plans[i], 0 }, { &plans[i], 1 } };

		if (!rl_begin(plans[i].name, 30000 * rl_long()))
			continue;
		rl_start("left", play, &m[0]);
		rl_start("right", play, &m[1]);
		rl_end();
	}
}

int main(int argc, char **argv)
{
	return rl_main(argc, argv, 90, run);
}
