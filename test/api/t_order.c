/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of events, and what is visible at each. */
#include <dirent.h>
#include <sched.h>

#include "rig.h"

/* A pair whose passive endpoint has one EVD for everything. */
static DAT_EP_HANDLE merged_ep(struct pair *p, DAT_EVD_HANDLE *evd)
{
	DAT_EP_HANDLE ep;

	*evd = evd_make(&p->node, 64, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	OK(dat_ep_create(p->node.ia, p->node.pz, *evd, *evd, *evd, NULL, &ep));
	return ep;
}

TEST(order, ESTABLISHED_comes_before_the_first_receive_on_a_shared_evd)
{
	DAT_LMR_TRIPLET t;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	struct pair p;
	int i;

	pair_open(&p);
	ep = merged_ep(&p, &evd);
	t = seg(&p.b.buf, 0, 100);
	for (i = 0; i < 20; i++) {
		OK(dat_ep_post_recv(ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
		OK(dat_cr_accept(pair_request(&p), ep, 0, NULL));
		EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
		OK(post_send(&p.a, 0, 100, 2));
		EV_CONN(evd, ESTABLISHED, ep);
		EV_DTO(evd, ep, 1, OP_RECV, 100);
		EV_DTO(p.a.req, p.a.ep, 2, OP_SEND, 100);
		OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
		EV_CONN(p.a.conn, DISCONNECTED, p.a.ep);
		EV_CONN(evd, DISCONNECTED, ep);
		OK(dat_ep_reset(p.a.ep));
		OK(dat_ep_reset(ep));
	}
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	pair_close(&p);
}

TEST(order, active_side_can_be_answered_before_it_reads_ESTABLISHED)
{
	DAT_LMR_TRIPLET t;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_CR_HANDLE cr;
	struct pair p;
	int i;

	pair_open(&p);
	ep = merged_ep(&p, &evd);
	t = seg(&p.a.buf, 0, 100);
	for (i = 0; i < 10; i++) {
		OK(dat_ep_post_recv(ep, 1, &t, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
		OK(connect_to(ep, p.node.attr.ia_address_ptr, p.qual));
		cr = EV_CR(p.cr_evd, p.psp, p.qual);
		OK(dat_cr_accept(cr, p.b.ep, 0, NULL));
		EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
		OK(post_send(&p.b, 0, 100, 2));
		EV_DTO(p.b.req, p.b.ep, 2, OP_SEND, 100);
		/* Both are waiting by now. */
		EV_CONN(evd, ESTABLISHED, ep);
		EV_DTO(evd, ep, 1, OP_RECV, 100);
		OK(dat_ep_disconnect(p.b.ep, DAT_CLOSE_ABRUPT_FLAG));
		EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
		EV_CONN(evd, DISCONNECTED, ep);
		OK(dat_ep_reset(ep));
		OK(dat_ep_reset(p.b.ep));
	}
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	pair_close(&p);
}

TEST(order, successes_come_before_the_end_and_flushes_are_complete_on_a_shared_evd)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	uint64_t next = 0;
	bool ended = false;
	DAT_LMR_TRIPLET t;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_EVENT ev;
	struct pair p;
	int i;

	pair_open(&p);
	ep = merged_ep(&p, &evd);
	OK(dat_cr_accept(pair_request(&p), ep, 0, NULL));
	EV_CONN(evd, ESTABLISHED, ep);
	EV_CONN(p.a.conn, ESTABLISHED, p.a.ep);
	t = seg(&p.b.buf, 0, 100);
	for (i = 0; i < 12; i++)
		OK(dat_ep_post_recv(ep, 1, &t, ck((uint64_t)i), DAT_COMPLETION_DEFAULT_FLAG));
	for (i = 0; i < 5; i++)
		OK(post_send(&p.a, 0, 100, 50));
	for (i = 0; i < 5; i++)
		EV_DTO(p.a.req, p.a.ep, 50, OP_SEND, 100);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	for (i = 0; i < 13; i++) {
		EV_NEXT(evd, &ev);
		if (ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED) {
			ASSERT(!ended);
			ended = true;
			continue;
		}
		ASSERT_EQ(ev.event_number, DAT_DTO_COMPLETION_EVENT);
		d = &ev.event_data.dto_completion_event_data;
		ASSERT_EQ(d->user_cookie.as_64, next);
		ASSERT_EQ(d->status, next < 5 ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED);
		ASSERT(d->status != DAT_DTO_SUCCESS || !ended);
		next++;
	}
	ASSERT(ended);
	EV_NONE(evd);
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	pair_close(&p);
}

TEST(order, software_and_transfer_events_of_one_evd_are_all_there)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_PARAM param;
	DAT_EVENT ev;
	struct pair p;
	uint64_t soft = 0, dto = 0, i;

	pair_open(&p);
	evd = evd_make(&p.node, 64, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	memset(&param, 0, sizeof(param));
	param.recv_evd_handle = evd;
	OK(dat_ep_modify(p.b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	pair_connect(&p);
	for (i = 0; i < 16; i++) {
		OK(post_recv(&p.b, 0, 10, i));
		OK(post_send(&p.a, 0, 10, 99));
		OK(post_se(evd, (uintptr_t)i));
	}
	for (i = 0; i < 32; i++) {
		EV_NEXT(evd, &ev);
		if (ev.event_number == DAT_SOFTWARE_EVENT)
			ASSERT_EQ(number_of(&ev), soft++);
		else
			CHECK_DTO(&ev, evd, p.b.ep, dto++, OP_RECV, 10);
	}
	OK(dat_ep_free(p.b.ep));
	p.b.ep = NULL;
	OK(dat_evd_free(evd));
	pair_close(&p);
}

/* Deadlines that were set in another order expire in their own. The time of a call that is delayed
 * is only known to be between that before it and that after it. */
TEST(order, connect_timeouts_expire_each_at_its_time)
{
	static const DAT_TIMEOUT times[] = { 500000, 100000, 300000, 200000, 400000 };
	uint64_t soonest[5], latest[5], expired = 0;
	struct dt_start start;
	DAT_EP_HANDLE ep[5];
	DAT_EVENT ev;
	struct pair p;
	int i, j;

	pair_open(&p);
	start = dt_start();
	for (i = 0; i < 5; i++) {
		OK(dat_ep_create(p.node.ia, p.node.pz, p.a.recv, p.a.req, p.a.conn, NULL, &ep[i]));
		soonest[i] = dt_now_us() + times[i];
		OK(dat_ep_connect(ep[i], p.node.attr.ia_address_ptr, p.qual, times[i], 0, NULL,
				  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
		latest[i] = dt_now_us() + times[i];
	}
	for (i = 0; i < 5; i++) {
		EV_NEXT(p.a.conn, &ev);
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_TIMED_OUT);
		for (j = 0; ep[j] != ev.event_data.connect_event_data.ep_handle; j++)
			ASSERT(j < 4);
		ASSERT(dt_now_us() >= soonest[j] && dt_in_time(&start, times[j] + 300000u));
		ASSERT(latest[j] >= expired);
		if (soonest[j] > expired)
			expired = soonest[j];
		latest[j] = 0;
	}
	for (i = 0; i < 5; i++)
		OK(dat_ep_free(ep[i]));
	pair_close(&p);
}

/* ---- the thread that queues ESTABLISHED is preempted ---- */

#define LATE_ROUNDS 3

/* Answers one message on each of its connections. */
static void answering_peer(int fd, const void *arg)
{
	struct pair p;
	int i;

	(void)arg;
	pair_open(&p);
	dt_put(fd, &p.qual, sizeof(p.qual));
	for (i = 0; i < LATE_ROUNDS; i++) {
		OK(post_recv(&p.b, 0, 64, 1));
		dt_put_byte(fd, 'r');
		OK(dat_cr_accept(EV_CR(p.cr_evd, p.psp, p.qual), p.b.ep, 0, NULL));
		EV_CONN(p.b.conn, ESTABLISHED, p.b.ep);
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 64);
		OK(post_send(&p.b, 0, 64, 2));
		EV_DTO(p.b.req, p.b.ep, 2, OP_SEND, 64);
		EV_CONN(p.b.conn, DISCONNECTED, p.b.ep);
		OK(dat_ep_reset(p.b.ep));
	}
	pair_close(&p);
}

/* Makes the provider's thread share the processor of this one, and lose it as soon as this one
 * wakes. A low priority of the provider's thread would do that, too, but on a busy machine it would
 * not run for seconds while this one sleeps. Sanitizers spin on locks of their own, which the other
 * thread may hold; there both are equal. */
static void make_progress_late(void)
{
	const struct sched_param urgent = { .sched_priority = 1 };
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *e;
	char path[300], name[16];
	cpu_set_t one;
	int found = 0;

	ASSERT(tasks);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	while ((e = readdir(tasks))) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f) && !strncmp(name, "dat-progress", 12)) {
			ASSERT_EQ(sched_setaffinity(atoi(e->d_name), sizeof(one), &one), 0);
			found++;
		}
		fclose(f);
	}
	closedir(tasks);
	ASSERT(found);
	if (!DT_SANITIZED && sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &urgent))
		dt_skip("real-time priority needs root");
}

/* Takes two events, for a while without giving the processor away. */
static void take_two(DAT_EVD_HANDLE evd, DAT_EVENT ev[2])
{
	uint64_t end = dt_now_us() + 100000;
	int n = 0;

	while (n < 2 && dt_now_us() < end)
		n += dat_evd_dequeue(evd, &ev[n]) == DAT_SUCCESS;
	while (n < 2)
		EV_NEXT(evd, &ev[n++]);
}

TEST_LIMIT(order, an_answer_comes_behind_its_send_right_after_ESTABLISHED, 60)
{
	struct dt_peer peer;
	DAT_LMR_TRIPLET in, out;
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_EVENT ev[2];
	struct pair p;
	int i;

	/* A wait sleeps at once, so that the provider's thread has to see the connection. */
	ASSERT_EQ(setenv("DAPL_OFI_SPIN_US", "0", 1), 0);
	dt_peer_start(&peer, answering_peer, NULL);
	dt_get(peer.fd, &qual, sizeof(qual));
	pair_open(&p);
	evd = evd_make(&p.node, 64, DAT_EVD_DTO_FLAG);
	OK(dat_ep_create(p.node.ia, p.node.pz, evd, evd, p.a.conn, NULL, &ep));
	in = seg(&p.a.buf, 0, 64);
	out = seg(&p.a.buf, 64, 64);
	make_progress_late();
	for (i = 0; i < LATE_ROUNDS; i++) {
		dt_expect_byte(peer.fd, 'r');
		OK(dat_ep_post_recv(ep, 1, &in, ck(1), DAT_COMPLETION_DEFAULT_FLAG));
		OK(connect_to(ep, p.node.attr.ia_address_ptr, qual));
		EV_CONN(p.a.conn, ESTABLISHED, ep);
		OK(dat_ep_post_send(ep, 1, &out, ck(2), DAT_COMPLETION_DEFAULT_FLAG));
		take_two(evd, ev);
		CHECK_DTO(&ev[0], evd, ep, 2, OP_SEND, 64);
		CHECK_DTO(&ev[1], evd, ep, 1, OP_RECV, 64);
		OK(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
		EV_CONN(p.a.conn, DISCONNECTED, ep);
		OK(dat_ep_reset(ep));
	}
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
	pair_close(&p);
	dt_peer_finish(&peer);
}

/* A send waits for the read before its fence; what comes behind it has no fence of its own. */
TEST(order, nothing_overtakes_a_request_that_waits)
{
	struct pair p;
	int i;

	pair_up(&p);
	for (i = 0; i < 20; i++) {
		OK(post_recv(&p.b, 30000, 100, 1));
		OK(post_recv(&p.b, 30100, 100, 2));
		OK(post_read(&p.a, 0, 20000, 3, &p.b, 0));
		OK(post_send_flags(&p.a, 20000, 100, 4, DAT_COMPLETION_BARRIER_FENCE_FLAG));
		OK(post_send(&p.a, 20100, 50, 5));
		OK(post_write(&p.a, 20200, 100, 6, &p.b, 30200));
		EV_DTO(p.b.recv, p.b.ep, 1, OP_RECV, 100);
		EV_DTO(p.b.recv, p.b.ep, 2, OP_RECV, 50);
		EV_DTO(p.a.req, p.a.ep, 3, OP_READ, 20000);
		EV_DTO(p.a.req, p.a.ep, 4, OP_SEND, 100);
		EV_DTO(p.a.req, p.a.ep, 5, OP_SEND, 50);
		EV_DTO(p.a.req, p.a.ep, 6, OP_WRITE, 100);
	}
	pair_close(&p);
}

/* ---- across endpoints ---- */

#define LANES 4
#define LANE_ROUNDS 300

struct lane {
	DAT_EVD_HANDLE req, conn;
	DAT_EP_HANDLE from, to;
};

static void lane_open(struct lane *l, struct pair *p, DAT_EVD_HANDLE shared)
{
	struct node *n = &p->node;

	l->req = evd_make(n, 16, DAT_EVD_DTO_FLAG);
	l->conn = evd_make(n, 8, DAT_EVD_CONNECTION_FLAG);
	OK(dat_ep_create(n->ia, n->pz, l->req, l->req, l->conn, NULL, &l->from));
	OK(dat_ep_create(n->ia, n->pz, shared, l->req, l->conn, NULL, &l->to));
	OK(connect_to(l->from, n->attr.ia_address_ptr, p->qual));
	OK(dat_cr_accept(EV_CR(p->cr_evd, p->psp, p->qual), l->to, 0, NULL));
	for (int i = 0; i < 2; i++) {
		DAT_EVENT ev;

		EV_NEXT(l->conn, &ev);
		ASSERT_EQ(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	}
}

static void lane_close(struct lane *l)
{
	OK(dat_ep_free(l->from));
	OK(dat_ep_free(l->to));
	OK(dat_evd_free(l->conn));
	OK(dat_evd_free(l->req));
}

/* The second message of each lane is posted when the first ones of all lanes are complete: on the
 * queue that the receivers share it comes behind all of those. */
TEST_LIMIT(order, a_send_that_was_complete_is_received_first_on_a_queue_of_several_endpoints, 60)
{
	struct lane lane[LANES];
	DAT_LMR_TRIPLET in, out;
	DAT_EVD_HANDLE shared;
	struct pair p;
	DAT_EVENT ev;
	int i, k;

	pair_open(&p);
	shared = evd_make(&p.node, 64, DAT_EVD_DTO_FLAG);
	for (i = 0; i < LANES; i++)
		lane_open(&lane[i], &p, shared);
	out = seg(&p.a.buf, 0, 16);
	for (k = 0; k < LANE_ROUNDS; k++) {
		for (i = 0; i < 2 * LANES; i++) {
			in = seg(&p.b.buf, (size_t)i * 16, 16);
			OK(dat_ep_post_recv(lane[i % LANES].to, 1, &in, ck((uint64_t)i / LANES),
					    DAT_COMPLETION_DEFAULT_FLAG));
		}
		for (i = 0; i < LANES; i++)
			OK(dat_ep_post_send(lane[i].from, 1, &out, ck(0),
					    DAT_COMPLETION_DEFAULT_FLAG));
		for (i = 0; i < LANES; i++)
			EV_DTO(lane[i].req, lane[i].from, 0, OP_SEND, 16);
		for (i = LANES; i--;)
			OK(dat_ep_post_send(lane[i].from, 1, &out, ck(1),
					    DAT_COMPLETION_DEFAULT_FLAG));
		for (i = LANES; i--;)
			EV_DTO(lane[i].req, lane[i].from, 1, OP_SEND, 16);
		for (i = 0; i < 2 * LANES; i++) {
			EV_NEXT(shared, &ev);
			ASSERT_EQ(dto_of(&ev)->user_cookie.as_64, (uint64_t)i / LANES);
		}
	}
	for (i = 0; i < LANES; i++)
		lane_close(&lane[i]);
	OK(dat_evd_free(shared));
	pair_close(&p);
}
