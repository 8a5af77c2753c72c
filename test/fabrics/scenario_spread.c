/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends on all endpoints of a scenario in turns, many of the messages after others are complete. */
#include <sched.h>

#include "scenario_play.h"

#define MESSAGES 32
#define SPINS 200
#define SMALL 12000
#define LARGE 100000

/* The messages of one direction. */
struct spread {
	int n, others; /* others: messages of endpoints other than `late` */
	int late;      /* the receiver posts for this endpoint last; -1: there is none */
	struct {
		int ep;
		bool after; /* after all before it are complete, except those of `late` */
		struct sc_piece piece;
	} message[MESSAGES];
};

static void draw(struct play *p, struct spread *d, bool srq)
{
	int up[SC_EPS], ups = 0;

	for (int i = 0; i < p->s->scene->eps; i++)
		if (p->s->ep[i].up)
			up[ups++] = i;
	/* Any message may take any receive of an SRQ. */
	d->late = ups > 1 && sc_below(&p->seed, 2) && !srq ? up[sc_below(&p->seed, (uint32_t)ups)]
							   : -1;
	d->n = MESSAGES;
	d->others = 0;
	for (int i = 0; i < MESSAGES; i++) {
		struct sc_piece *piece = &d->message[i].piece;

		d->message[i].ep = up[sc_below(&p->seed, (uint32_t)ups)];
		d->message[i].after = sc_below(&p->seed, 4) > 0;
		sc_piece(&p->seed, p->s->scene, i % 16 == 7 && !srq ? LARGE : SMALL, piece);
		if (srq)
			piece->room = SMALL;
		if (sc_below(&p->seed, 4))
			piece->flags &= ~DAT_COMPLETION_SUPPRESS_FLAG;
		d->others += d->message[i].ep != d->late;
	}
}

static void post_receives(struct play *p, const struct spread *d, bool late)
{
	for (int i = 0; i < d->n; i++) {
		int ep = d->message[i].ep;

		if ((ep == d->late) == late) {
			sc_recv(p->s, ep, d->message[i].piece.room, d->message[i].piece.to);
			p->s->ep[ep].want[SC_RECV]++;
		}
	}
}

/* All sends but those of the late endpoint are complete. */
static bool sent(struct play *p, int late)
{
	for (int i = 0; i < p->s->scene->eps; i++)
		if (i != late && p->s->ep[i].got[SC_REQ] < p->s->ep[i].shown[1])
			return false;
	return true;
}

static void await_sent(struct play *p, int late)
{
	struct rl_limit limit = rl_limit(SC_WAIT_MS);

	for (int spins = 0; sc_sweep(p->s), !sent(p, late); spins++) {
		RL_CHECK(!rl_passed(&limit), "step %d: sends do not complete", p->s->step);
		/* A quick sender is one that can overtake its own messages. */
		if (spins < SPINS)
			sched_yield();
		else
			sc_sleep(p->s, SC_REQ);
	}
}

static void send_all(struct play *p, const struct spread *d)
{
	for (int i = 0; i < d->n; i++) {
		if (d->message[i].after)
			await_sent(p, d->late);
		sc_send(p->s, d->message[i].ep, &d->message[i].piece,
			(uint32_t)p->seed + (uint32_t)i, SC_STRICT);
	}
	for (int i = 0; i < p->s->scene->eps; i++)
		p->s->ep[i].want[SC_REQ] = p->s->ep[i].shown[1];
}

/* Half of the other messages have been received. */
static void await_others(struct play *p, const struct spread *d, unsigned int before)
{
	struct rl_limit limit = rl_limit(SC_WAIT_MS);

	for (;;) {
		unsigned int got = 0;

		sc_sweep(p->s);
		for (int i = 0; i < p->s->scene->eps; i++)
			got += p->s->ep[i].got[SC_RECV];
		if (got - before >= (unsigned int)d->others / 2)
			return;
		RL_CHECK(!rl_passed(&limit), "step %d: %u of %d messages", p->s->step, got - before,
			 d->others);
		sc_sleep(p->s, SC_RECV);
	}
}

void sc_spread(struct play *p)
{
	struct spread d[2];
	bool both = sc_below(&p->seed, 2);
	unsigned int before = 0;

	/* From the side that begins, and back. */
	draw(p, &d[0], p->s->scene->srq[!p->step->by]);
	draw(p, &d[1], p->s->scene->srq[p->step->by]);
	for (int i = 0; i < p->s->scene->eps; i++)
		before += p->s->ep[i].got[SC_RECV];
	if (!p->mine || both)
		post_receives(p, &d[p->mine], false);
	sc_meet(p->s);
	if (p->mine || both)
		send_all(p, &d[!p->mine]);
	if (!p->mine || both) {
		await_others(p, &d[p->mine], before);
		post_receives(p, &d[p->mine], true);
	}
	sc_settle(p->s);
}
