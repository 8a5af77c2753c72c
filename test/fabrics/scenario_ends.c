/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends the connections of a scenario, and resets their endpoints. */
#include <signal.h>
#include <stdlib.h>

#include "scenario_play.h"

static void receives_to_flush(struct play *p, uint32_t most)
{
	int n[2] = { (int)sc_below(&p->seed, most), (int)sc_below(&p->seed, most) };

	/* The buffers of an SRQ outlive an endpoint. */
	for (int i = 0; !p->s->srq && i < n[p->s->side]; i++)
		sc_recv(p->s, p->n, 100, 1);
}

void sc_too_long(struct play *p)
{
	struct sc_piece fits = { .from = 2, .to = 2 }, big = { .from = 1, .to = 1 };

	fits.len = fits.room = sc_below(&p->seed, 500);
	big.room = sc_size(&p->seed, 2000);
	big.len = big.room + 1 + sc_size(&p->seed, 60000);
	if (p->mine) {
		receives_to_flush(p, 3);
	} else {
		sc_recv(p->s, p->n, fits.room, fits.to);
		sc_recv(p->s, p->n, big.room, big.to);
		receives_to_flush(p, 3);
	}
	sc_meet(p->s);
	if (p->mine) {
		sc_send(p->s, p->n, &fits, 1, SC_STRICT);
		sc_send(p->s, p->n, &big, 2, SC_OPEN_TOO_LONG);
	} else if (p->s->srq) {
		want(p, SC_RECV, 2);
	}
	sc_want_end(p->s, p->n, p->mine ? SC_OPEN_PEER_END : SC_STRICT);
	sc_settle(p->s);
}

/* An access that the target does not allow, and what is posted behind it. */
void sc_refused(struct play *p)
{
	struct sc_side *s = p->s;
	uint64_t va = rl_board->va[!s->side];
	DAT_RMR_CONTEXT rctx = rl_board->rctx[!s->side];
	_Atomic uint64_t *words = &rl_board->value[!s->side * 4];
	bool write = sc_below(&p->seed, 2);
	struct sc_piece piece = { .len = 1 + sc_below(&p->seed, 4000), .from = 1, .to = 1 };
	struct rd_mem gone;

	piece.room = piece.len;
	receives_to_flush(p, 4);
	if (p->step->act == SC_FREED_KEY && !p->mine) {
		rd_reg(&s->rd, &gone, s->mem.p, 8192);
		rl_board->value[18] = (uintptr_t)gone.p;
		rl_board->value[19] = gone.rctx;
		rd_unreg(&gone);
	}
	sc_meet(s);
	if (p->mine) {
		switch (p->step->act) {
		case SC_RANGE:
			va += SC_WINDOW - piece.len + 1;
			break;
		case SC_NO_RIGHT:
			va = words[write ? 0 : 2];
			rctx = (DAT_RMR_CONTEXT)words[write ? 1 : 3];
			break;
		case SC_FREED_KEY:
			va = rl_board->value[18];
			rctx = (DAT_RMR_CONTEXT)rl_board->value[19];
			break;
		default:
			rctx ^= 0x33440000u;
		}
		sc_rdma(s, p->n, write, &piece, 3, va, rctx);
	}
	sc_want_end(s, p->n, p->mine ? SC_STRICT : SC_OPEN_PEER_END);
	sc_settle(s);
}

void sc_disconnect(struct play *p)
{
	receives_to_flush(p, 5);
	sc_meet(p->s);
	if (p->mine)
		log_call(p, "disconnect",
			 dat_ep_disconnect(p->ep->h, p->step->graceful ? DAT_CLOSE_GRACEFUL_FLAG
								       : DAT_CLOSE_ABRUPT_FLAG));
	sc_want_end(p->s, p->n, SC_STRICT);
	sc_settle(p->s);
}

/* A graceful disconnect completes requests that do not wait for the peer. */
void sc_drain(struct play *p)
{
	struct sc_piece piece[SC_MESSAGES];
	int n = sc_draw(p, piece, 150000);

	for (int i = 0; i < n; i++)
		piece[i].flags &= ~DAT_COMPLETION_SUPPRESS_FLAG;
	if (!p->mine)
		sc_receives(p, piece, n);
	sc_meet(p->s);
	if (p->mine) {
		sc_sends(p, piece, n);
		log_call(p, "disconnect", dat_ep_disconnect(p->ep->h, DAT_CLOSE_GRACEFUL_FLAG));
	}
	sc_want_end(p->s, p->n, SC_STRICT);
	sc_settle(p->s);
}

/* Small messages without a receive, so that no fabric waits for buffer space. */
static void unmatched_sends(struct play *p)
{
	struct sc_piece piece = { .from = 1, .to = 1 };
	int n = 1 + (int)sc_below(&p->seed, 4);

	for (int i = 0; i < n; i++) {
		piece.len = sc_below(&p->seed, 2000);
		if (p->mine)
			sc_send(p->s, p->n, &piece, (uint32_t)i, SC_OPEN_UNMATCHED);
	}
}

void sc_unmatched(struct play *p)
{
	unmatched_sends(p);
	if (p->mine)
		receives_to_flush(p, 4);
	sc_meet(p->s);
	if (p->mine)
		log_call(p, "disconnect", dat_ep_disconnect(p->ep->h, DAT_CLOSE_ABRUPT_FLAG));
	sc_want_end(p->s, p->n, p->mine ? SC_STRICT : SC_OPEN_PEER_END);
	sc_settle(p->s);
}

void sc_free(struct play *p)
{
	if (!p->mine)
		receives_to_flush(p, 4);
	sc_meet(p->s);
	if (p->mine) {
		log_call(p, "free", dat_ep_free(p->ep->h));
		sc_ep_open(p->s, p->n);
		/* Completions of a freed endpoint may be lost: there are none to lose. */
		p->ep->shown[0] = p->ep->got[SC_RECV];
		p->ep->shown[1] = p->ep->got[SC_REQ];
		sc_want_all(p->s, p->n);
	} else {
		sc_want_end(p->s, p->n, SC_STRICT);
	}
	sc_settle(p->s);
}

/* Between two connections. What is posted on a disconnected endpoint is flushed at once. */
void sc_renew(struct play *p)
{
	struct sc_piece piece = { .len = 5, .room = 5, .from = 1, .to = 1 };
	bool ended = rd_state(p->ep->h) == DAT_EP_STATE_DISCONNECTED;

	if (ended && !p->s->srq) {
		sc_recv(p->s, p->n, 5, 1);
		want(p, SC_RECV, 1);
	}
	if (ended) {
		sc_sends(p, &piece, 1);
		log_call(p, "disconnect again", dat_ep_disconnect(p->ep->h, DAT_CLOSE_ABRUPT_FLAG));
	}
	sc_settle(p->s);
	if (p->step->act == SC_RESET) {
		log_call(p, "reset", dat_ep_reset(p->ep->h));
	} else {
		log_call(p, "free", dat_ep_free(p->ep->h));
		sc_ep_open(p->s, p->n);
	}
	p->ep->end = SC_STRICT;
	p->ep->ended = false;
	sc_clock_reset(p->s, p->n);
	sc_settle(p->s);
}

/* The end of a process, or of its adapter, ends all its connections. */
bool sc_leave(struct play *p)
{
	struct sc_side *s = p->s;

	for (int i = 0; i < s->scene->eps; i++) {
		struct play each = *p;

		each.n = i;
		each.ep = &s->ep[i];
		if (!each.ep->up)
			continue;
		if (!p->mine) {
			receives_to_flush(&each, 4);
			each.mine = p->step->act == SC_KILL;
			unmatched_sends(&each);
		}
	}
	sc_meet(s);
	if (p->mine && p->step->act == SC_KILL)
		raise(SIGKILL);
	if (p->mine) {
		log_call(p, "close", dat_ia_close(s->rd.ia, DAT_CLOSE_ABRUPT_FLAG));
		free(s->mem.p);
		free(s->may_read.p);
		s->meeting++;
		rl_step(s->side, s->meeting);
		return false;
	}
	if (p->step->act == SC_KILL)
		rl_step(!s->side, s->meeting + 1);
	for (int i = 0; i < s->scene->eps; i++)
		if (s->ep[i].up)
			sc_want_end(s, i, p->step->act == SC_KILL ? SC_OPEN_PEER_END : SC_STRICT);
	sc_settle(s);
	return true;
}
