/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that the steps of a scenario share. */
#ifndef SCENARIO_PLAY_H
#define SCENARIO_PLAY_H

#include "scenario.h"

/* One step of one side. */
struct play {
	struct sc_side *s;
	const struct sc_step *step;
	int n; /* the endpoint's number */
	struct sc_ep *ep;
	bool mine; /* this side connects, sends, errs or ends */
	uint64_t seed;
};

static inline void want(struct play *p, enum sc_stream stream, unsigned int n)
{
	p->ep->want[stream] += n;
}

static inline void log_call(struct play *p, const char *what, DAT_RETURN ret)
{
	sc_write(p->s->side, p->n, SC_CALL, "step %d %s: %s\n", p->s->step, what, rd_text(ret));
}

/* The pieces of a step, drawn from its seed. */
int sc_draw(struct play *p, struct sc_piece *piece, size_t most);
void sc_receives(struct play *p, const struct sc_piece *piece, int n);
void sc_sends(struct play *p, const struct sc_piece *piece, int n);

/* scenario_spread.c */
void sc_spread(struct play *p);

/* scenario_ends.c */
void sc_too_long(struct play *p);
void sc_refused(struct play *p);
void sc_disconnect(struct play *p);
void sc_drain(struct play *p);
void sc_unmatched(struct play *p);
void sc_free(struct play *p);
void sc_renew(struct play *p);
bool sc_leave(struct play *p);

#endif
