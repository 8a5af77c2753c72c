/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that frames arrive once, complete and in order, within their windows, and wake sleepers. */
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "rdm_rig.h"

RIG_MODES;

static struct side left, right;

static void frames(const void *arg)
{
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	rig_exchange(&p, &left, &right, 4000 / dt_slow());
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(frames, modes, frames)

/* One channel is full while the other one and the other direction go on. */
static void window(const void *arg)
{
	uint32_t n = 0, w;
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	w = rdm_net_of(&left.domain)->window;
	while (rig_send(&p.a, MSGEP_REQ))
		n++;
	ASSERT_EQ(n, w);
	PUMP_UNTIL(&left, &right, p.b.ep.w.conn->slot[w - 1], 5000000);
	for (int i = 0; i < 1000; i++)
		rig_pump(&left, &right);
	ASSERT(!rig_send(&p.a, MSGEP_REQ));
	for (uint32_t i = 0; i < 3 * w; i++) {
		ASSERT(rig_send(&p.a, MSGEP_ANS));
		PUMP_UNTIL(&left, &right, rig_recv(&p.b, MSGEP_ANS), 5000000);
		rig_flush(&p.b);
		PUMP_UNTIL(&left, &right, rdm_has_credit(p.a.ep.w.conn, MSGEP_ANS), 5000000);
	}
	ASSERT(!rig_send(&p.a, MSGEP_REQ));
	/* After a failed reservation, free space wakes the sender. */
	p.a.woken = 0;
	for (uint32_t i = 0; i < (w + 1) / 2; i++)
		ASSERT(rig_recv(&p.b, MSGEP_REQ));
	ASSERT(!msgep_transport_rdm.ready(&p.a.ep));
	rig_flush(&p.b);
	PUMP_UNTIL(&left, &right, msgep_transport_rdm.ready(&p.a.ep), 5000000);
	ASSERT(p.a.woken > 0);
	ASSERT(!msgep_transport_rdm.quiet(&p.a.ep, true));
	ASSERT(msgep_transport_rdm.quiet(&p.a.ep, false));
	for (n = 0; rig_send(&p.a, MSGEP_REQ); n++)
		;
	ASSERT_EQ(n, (w + 1) / 2);
	PUMP_UNTIL(&left, &right, (rig_recv(&p.b, MSGEP_REQ), p.b.got[MSGEP_REQ] == w + n),
		   5000000);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(window, modes, window)

/* Credit packets alone: one side only receives. */
static void one_way(const void *arg)
{
	uint32_t n = 2000 / dt_slow();
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	while (p.b.got[MSGEP_REQ] < n) {
		while (p.a.sent[MSGEP_REQ] < n && rig_send(&p.a, MSGEP_REQ))
			;
		rig_pump(&left, &right);
		while (rig_recv(&p.b, MSGEP_REQ))
			;
		rig_flush(&p.b);
	}
	ASSERT_EQ(p.b.ep.w.conn->sent[MSGEP_REQ], 0);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(one_way, modes, one_way)

#define MANY 200
static void many(const void *arg)
{
	static struct pair p[MANY];
	struct rdm_net *net;

	rig_open(&left, &right, arg);
	for (int i = 0; i < MANY; i++)
		rig_connect(&p[i], &left, &right);
	net = rdm_net_of(&left.domain);
	ASSERT_EQ(net->n_conns, MANY);
	/* all at once: every window full in both directions */
	for (int i = 0; i < MANY; i++)
		for (int ch = 0; ch < MSGEP_CHANNELS; ch++)
			while (rig_send(&p[i].a, ch) && rig_send(&p[i].b, ch))
				;
	for (int i = 0; i < MANY; i++) {
		for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
			PUMP_UNTIL(&left, &right,
				   (rig_recv(&p[i].b, ch), p[i].b.got[ch] == p[i].a.sent[ch]),
				   10000000);
			PUMP_UNTIL(&left, &right,
				   (rig_recv(&p[i].a, ch), p[i].a.got[ch] == p[i].b.sent[ch]),
				   10000000);
		}
	}
	for (int i = 0; i < MANY; i++) {
		rig_flush(&p[i].a);
		rig_flush(&p[i].b);
		ASSERT_EQ(p[i].a.broken | p[i].b.broken, 0);
	}
	ASSERT_EQ(net->held, 0);
	for (int i = 0; i < MANY; i++)
		rig_disconnect(&p[i]);
	/* Indexes and packets are reused. */
	PUMP_UNTIL(&left, &right, dofi_list_empty(&net->closed), 5000000);
	for (int i = 0; i < MANY; i++)
		rig_connect(&p[i], &left, &right);
	ASSERT_EQ(net->n_conns, MANY);
	for (int i = 0; i < MANY; i += 7)
		rig_exchange(&p[i], &left, &right, 10);
	for (int i = 0; i < MANY; i++)
		rig_disconnect(&p[i]);
	rig_close(&left);
	rig_close(&right);
}
__attribute__((constructor)) static void register_many(void)
{
	static struct dt_case c[3];
	static const char *const names[] = { "many_rxm", "many_constrained", "many_shuffled" };

	for (int i = 0; i < 3; i++) {
		c[i] = (struct dt_case){ .suite = "many",
					 .name = names[i],
					 .fn = many,
					 .arg = &modes[i],
					 .limit_s = 60 };
		dt_register(&c[i]);
	}
}

/* ---- two threads, each with its own side; and a third that only makes progress ---- */

static _Atomic bool over;
static _Atomic int finished_threads;
static struct pair tp;
static uint32_t target;

static void player(void *arg)
{
	struct end *me = arg;
	bool done = false;

	while (!done) {
		msgep_transport_rdm.progress(me->ep.domain, NULL);
		done = true;
		for (int ch = 0; ch < MSGEP_CHANNELS; ch++) {
			while (me->sent[ch] < target && rig_send(me, ch))
				;
			if (msgep_transport_rdm.ready(&me->ep))
				while (rig_recv(me, ch))
					;
			done &= me->sent[ch] == target && me->got[ch] == target;
		}
		rig_flush(me);
	}
	atomic_fetch_add(&finished_threads, 1);
	while (finished_threads < 2)
		msgep_transport_rdm.progress(me->ep.domain, NULL);
}

static void onlooker(void *arg)
{
	(void)arg;
	while (!over) {
		rig_pump(&left, &right);
		msgep_transport_rdm.ready(&tp.a.ep);
		msgep_transport_rdm.ready(&tp.b.ep);
		dt_sleep_us(50);
	}
}

static void threads(const void *arg)
{
	struct dt_thread t[3];

	target = 3000 / dt_slow();
	rig_open(&left, &right, arg);
	rig_connect(&tp, &left, &right);
	dt_thread_start(&t[0], player, &tp.a);
	dt_thread_start(&t[1], player, &tp.b);
	dt_thread_start(&t[2], onlooker, NULL);
	dt_thread_join(&t[0]);
	dt_thread_join(&t[1]);
	over = true;
	dt_thread_join(&t[2]);
	rig_disconnect(&tp);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(threads, modes, threads)

/* ---- sleeping ---- */

static _Atomic bool slept;

static void sleeper(void *arg)
{
	struct pair *p = arg;

	while (p->b.got[MSGEP_REQ] < 20) {
		msgep_transport_rdm.progress(&right.domain, NULL);
		while (rig_recv(&p->b, MSGEP_REQ))
			;
		rig_flush(&p->b);
		if (!msgep_transport_rdm.quiet(&p->b.ep, false) ||
		    !msgep_transport_rdm.may_sleep(&right.domain, true))
			continue;
		/* With a limit: a missed wakeup must be detected. */
		if (p->b.got[MSGEP_REQ] < 20)
			ASSERT(rig_wakes(&right, (int)(10000 * dt_slow())));
	}
	slept = true;
}

static void sleeping(const void *arg)
{
	const struct mode *mode = arg;
	struct dt_thread t;
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	rig_exchange(&p, &left, &right, 4);
	p.a.sent[MSGEP_REQ] = 0;
	p.b.got[MSGEP_REQ] = 0;
	dt_thread_start(&t, sleeper, &p);
	for (int i = 0; i < 20; i++) {
		if (!mode->constrained)
			dt_thread_wait_blocked(&t);
		PUMP_UNTIL(&left, &left, rig_send(&p.a, MSGEP_REQ), 5000000);
		PUMP_UNTIL(&left, &left, !rdm_net_of(&left.domain)->conns[0]->waiting, 5000000);
	}
	/* Some providers send only while the sender polls. */
	PUMP_UNTIL(&left, &left, slept, 15000000);
	dt_thread_join(&t);
	ASSERT_EQ(p.b.got[MSGEP_REQ], 20);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(sleeping, modes, sleeping)

/* While idle, the descriptor does not wake, or at most a thousand times a second. */
static void idle(const void *arg)
{
	const struct mode *mode = arg;
	unsigned int n = 0, refused = 0;
	uint64_t end;
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	rig_exchange(&p, &left, &right, 50);
	for (int i = 0; i < 1000; i++)
		rig_pump(&left, &right);
	for (end = dt_now_us() + 300000; dt_now_us() < end;) {
		msgep_transport_rdm.progress(&right.domain, NULL);
		if (!msgep_transport_rdm.may_sleep(&right.domain, true))
			refused++;
		else
			n += rig_wakes(&right, 50);
	}
	dt_note("%u wake-ups and %u refusals in 300 ms", n, refused);
	ASSERT(refused < 10);
	ASSERT(n <= (mode->constrained ? 310u : 10u));
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(idle, modes, idle)

static bool send_full(struct msgep_ep *ep)
{
	struct msgep_frame *f;
	size_t room = 0;

	dofi_lock(&ep->lock);
	f = msgep_transport_rdm.reserve(ep, MSGEP_REQ, SIZE_MAX, &room);
	if (f) {
		memset(f, 0, sizeof(*f) + room);
		f->len = (uint32_t)room;
		f->kind = MSGEP_MSG;
		f->flags = MSGEP_FIRST | MSGEP_LAST;
		msgep_transport_rdm.commit(ep, MSGEP_REQ, f);
	}
	dofi_unlock(&ep->lock);
	return f;
}

/* A window of packets waits in the fabric, of which a poll may read only one: a poll that has read
 * one is followed by another, not by blocking. The mode that delays packets may block until it
 * delivers them; without a descriptor each wait ends by itself. */
static void looks_on(const void *arg)
{
	unsigned int packets = 0, sleeps = 0, looks = 0;
	const struct mode *mode = arg;
	struct rdm_conn *from, *to;
	struct pair p;

	rig_open(&left, &right, arg);
	rig_connect(&p, &left, &right);
	rig_exchange(&p, &left, &right, 50);
	from = p.a.ep.w.conn;
	to = p.b.ep.w.conn;
	PUMP_UNTIL(&left, &right, to->arrived == from->sent[MSGEP_REQ], 5000000);
	while (send_full(&p.a.ep))
		packets++;
	PUMP_UNTIL(&left, &left, !from->waiting, 5000000);
	while (to->arrived != from->sent[MSGEP_REQ]) {
		ASSERT(++looks < 100000);
		msgep_transport_rdm.progress(&right.domain, NULL);
		/* For large packets the fabric holds only their headers until it requests the
		 * data. */
		if (mode->large)
			msgep_transport_rdm.progress(&left.domain, NULL);
		if (!msgep_transport_rdm.may_sleep(&right.domain, true))
			continue;
		sleeps++;
		if (mode->constrained)
			ASSERT(rig_wakes(&right, 1000));
	}
	dt_note("%u packets, %u looks, %u sleeps", packets, looks, sleeps);
	ASSERT(mode->large || sleeps <= 4);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}
TEST_ROWS(looks_on, modes, looks_on)

static uint64_t next_tick(struct side *s)
{
	struct itimerspec at;

	ASSERT_EQ(timerfd_gettime(rdm_net_of(&s->domain)->timer_fd, &at), 0);
	return (uint64_t)at.it_value.tv_sec * 1000000000u + (uint64_t)at.it_value.tv_nsec;
}

/* Without a descriptor: after an arrival the next poll is soon; during a long wait polls are
 * rare. */
TEST(ticks, are_as_long_as_the_silence)
{
	static const struct mode mode = { "constrained", true, false };
	uint64_t shortest = UINT64_MAX, tick;
	struct rdm_net *net;
	struct pair p;

	rig_open(&left, &right, &mode);
	rig_connect(&p, &left, &right);
	rig_exchange(&p, &left, &right, 4);
	net = rdm_net_of(&right.domain);
	for (int i = 0; i < 50; i++) {
		uint64_t before = net->found_at;

		PUMP_UNTIL(&left, &right, rig_send(&p.a, MSGEP_REQ), 5000000);
		PUMP_UNTIL(&left, &right, net->found_at != before, 5000000);
		PUMP_UNTIL(&right, &right, msgep_transport_rdm.may_sleep(&right.domain, true),
			   5000000);
		tick = next_tick(&right);
		ASSERT(tick <= dofi_now() - net->found_at + DOFI_US(RDM_TICK_US));
		shortest = tick && tick < shortest ? tick : shortest;
		while (rig_recv(&p.b, MSGEP_REQ))
			;
		rig_flush(&p.b);
	}
	dt_note("%llu ns", (unsigned long long)shortest);
	ASSERT(shortest < DOFI_US(500));
	dt_sleep_us(5000);
	PUMP_UNTIL(&right, &right,
		   msgep_transport_rdm.may_sleep(&right.domain, true) &&
			   next_tick(&right) > DOFI_US(500),
		   5000000);
	rig_disconnect(&p);
	rig_close(&left);
	rig_close(&right);
}

int main(int argc, char **argv)
{
	static const struct dt_program prog = { .name = "transport-fab", .fabric = "rxm" };

	return dt_main(argc, argv, &prog);
}
