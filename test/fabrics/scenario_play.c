/* SPDX-License-Identifier: BSD-2-Clause */
/* What does each side do in a step? */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

#define PATIENT_MS 10000
#define IMPATIENT_MS 200

/* One step of one side. */
struct play {
	struct sc_side *s;
	const struct sc_step *step;
	int n;				/* the endpoint's number */
	struct sc_ep *ep;
	bool mine;			/* this side connects, sends, errs or ends */
	uint64_t seed;
};

static void want(struct play *p, enum sc_stream stream, unsigned int n)
{
	p->ep->want[stream] += n;
}

static void log_call(struct play *p, const char *what, DAT_RETURN ret)
{
	sc_write(p->s->side, p->n, SC_CALL, "step %d %s: %s\n", p->s->step, what, rd_text(ret));
}

/* Connecting */

static int private_data(struct play *p, unsigned char *data)
{
	int len = (int)sc_below(&p->seed, SC_PRIVATE + 1);

	for (int i = 0; i < len; i++)
		data[i] = (unsigned char)rl_random(&p->seed);
	return len;
}

static void post_before(struct play *p)
{
	for (int i = 0; i < p->step->before[p->s->side]; i++)
		sc_recv(p->s, p->n, 4096, 1 + i % SC_SEGMENTS);
}

static void ask(struct play *p, DAT_CONN_QUAL qual, unsigned int ms)
{
	unsigned char data[SC_PRIVATE];
	int len = private_data(p, data);

	log_call(p, "connect", dat_ep_connect(p->ep->h, (DAT_IA_ADDRESS_PTR)&p->s->rd.addr, qual,
					      ms * 1000, len, len ? data : NULL,
					      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static DAT_CONN_QUAL peer_qual(struct play *p)
{
	return rl_board->word[16 + !p->s->side];
}

static DAT_CR_HANDLE request(struct play *p)
{
	DAT_CR_HANDLE cr = rd_request(&p->s->rd, 6000);
	DAT_CR_PARAM param;

	RD_OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	sc_write(p->s->side, p->n, SC_CR, "step %d request, private data %d:%08x\n", p->s->step,
		 (int)param.private_data_size,
		 sc_hash(SC_HASH, param.private_data, (size_t)param.private_data_size));
	return cr;
}

static void connect_ep(struct play *p)
{
	unsigned char data[SC_PRIVATE];
	DAT_CR_HANDLE cr;
	int len;

	post_before(p);
	sc_meet(p->s);
	want(p, SC_CONN, 1);
	if (p->mine) {
		ask(p, peer_qual(p), PATIENT_MS);
		if (p->step->act == SC_SP_GONE)
			sc_meet(p->s);
		sc_settle(p->s);
		return;
	}
	cr = request(p);
	if (p->step->act == SC_SP_GONE) {
		/* What was reported stays; the new service point is for the next. */
		log_call(p, "psp_free", dat_psp_free(p->s->rd.psp));
		sc_listen(p->s);
		sc_meet(p->s);
	}
	(void)private_data(p, data);
	len = private_data(p, data);
	log_call(p, "accept", dat_cr_accept(cr, p->ep->h, len, len ? data : NULL));
	sc_settle(p->s);
}

static void reject(struct play *p)
{
	unsigned char data[SC_PRIVATE];
	DAT_CR_HANDLE cr;
	int len;

	if (p->mine) {
		post_before(p);
		sc_want_end(p->s, p->n, SC_STRICT);
		ask(p, peer_qual(p), PATIENT_MS);
	} else {
		cr = request(p);
		(void)private_data(p, data);
		len = private_data(p, data);
		log_call(p, "reject", dat_cr_reject(cr, len, len ? data : NULL));
	}
	sc_settle(p->s);
}

static void wrong_qual(struct play *p)
{
	if (p->mine) {
		post_before(p);
		sc_want_end(p->s, p->n, SC_STRICT);
		ask(p, peer_qual(p) | 0x5300000000u, PATIENT_MS);
	}
	sc_settle(p->s);
}

/* The request is answered only when nobody waits for that any more. */
static void unanswered(struct play *p)
{
	bool impatient = p->step->act == SC_NO_ANSWER;
	DAT_CR_HANDLE cr = NULL;

	if (p->mine) {
		post_before(p);
		sc_want_end(p->s, p->n, SC_STRICT);
		ask(p, peer_qual(p), impatient ? IMPATIENT_MS : PATIENT_MS);
	} else {
		cr = request(p);
	}
	sc_meet(p->s);
	if (p->mine && !impatient)
		log_call(p, "disconnect", dat_ep_disconnect(p->ep->h, DAT_CLOSE_ABRUPT_FLAG));
	sc_settle(p->s);
	if (cr)
		log_call(p, "reject", dat_cr_reject(cr, 0, NULL));
	sc_settle(p->s);
}

/* Transfers */

static int draw(struct play *p, struct sc_piece *piece, size_t most)
{
	int n = 1 + (int)sc_below(&p->seed, SC_MESSAGES);

	for (int i = 0; i < n; i++)
		sc_piece(&p->seed, p->s->scene, most, &piece[i]);
	return n;
}

static void receives(struct play *p, const struct sc_piece *piece, int n)
{
	for (int i = 0; i < n; i++)
		sc_recv(p->s, p->n, piece[i].room, piece[i].to);
	want(p, SC_RECV, (unsigned int)n);
}

static void sends(struct play *p, const struct sc_piece *piece, int n)
{
	for (int i = 0; i < n; i++)
		sc_send(p->s, p->n, &piece[i], (uint32_t)p->seed + (uint32_t)i, SC_STRICT);
	p->ep->want[SC_REQ] = p->ep->shown[1];
}

static void send_some(struct play *p)
{
	struct sc_piece piece[SC_MESSAGES];
	int n = draw(p, piece, 150000);

	if (p->step->posted) {
		/* Into receives of 4 KiB that were posted before connecting. */
		n = p->step->before[!p->step->by];
		for (int i = 0; i < n; i++)
			sc_piece(&p->seed, p->s->scene, 4096, &piece[i]);
		if (!p->mine)
			want(p, SC_RECV, (unsigned int)n);
	} else if (!p->mine) {
		receives(p, piece, n);
	}
	sc_meet(p->s);
	if (p->mine)
		sends(p, piece, n);
	sc_settle(p->s);
}

static void late_recv(struct play *p)
{
	struct sc_piece piece[SC_MESSAGES];
	int n = draw(p, piece, 150000);

	if (p->mine)
		sends(p, piece, n);
	sc_meet(p->s);
	if (!p->mine)
		receives(p, piece, n);
	sc_settle(p->s);
}

static void both(struct play *p)
{
	struct sc_piece piece[2][SC_MESSAGES];
	int n[2];

	n[0] = draw(p, piece[0], 100000);
	n[1] = draw(p, piece[1], 100000);
	receives(p, piece[!p->mine], n[!p->mine]);
	sc_meet(p->s);
	sends(p, piece[p->mine], n[p->mine]);
	sc_settle(p->s);
}

/* Where a transfer goes to or comes from in the window. */
static size_t place(struct play *p, size_t len)
{
	return sc_below(&p->seed, (uint32_t)(SC_WINDOW - len));
}

/* An empty message says that everything before it is there. */
static void notify(struct play *p, const char *what, size_t off, size_t len)
{
	struct sc_piece empty = { .from = 1, .to = 1 };

	if (p->mine) {
		sends(p, &empty, 1);
		sc_settle(p->s);
		return;
	}
	sc_settle(p->s);
	if (len)
		sc_write(p->s->side, p->n, SC_CALL, "step %d %s: window %zu:%08x\n", p->s->step,
			 what, len, sc_hash(SC_HASH, (char *)p->s->mem.p + SC_PIECES + off, len));
}

/* Writes, reads, or both in turns; the last request is a message. */
static void rdma(struct play *p)
{
	uint64_t va = rl_board->va[!p->s->side];
	DAT_RMR_CONTEXT rctx = rl_board->rctx[!p->s->side];
	struct sc_piece piece[SC_MESSAGES], empty = { .from = 1, .to = 1 };
	size_t first = SC_WINDOW, last = 0, off;
	int n = draw(p, piece, 200000);

	if (!p->mine)
		receives(p, &empty, 1);
	sc_meet(p->s);
	for (int i = 0; i < n; i++) {
		bool write = p->step->act == SC_WRITE ||
			     (p->step->act == SC_MIXED && sc_below(&p->seed, 2));

		off = place(p, piece[i].len);
		/* A read could be overtaken by a later write to the same place. */
		piece[i].flags |= p->step->act == SC_MIXED ? DAT_COMPLETION_BARRIER_FENCE_FLAG : 0;
		if (write && off < first)
			first = off;
		if (write && off + piece[i].len > last)
			last = off + piece[i].len;
		if (p->mine)
			sc_rdma(p->s, p->n, write, &piece[i], (uint32_t)p->seed, va + off, rctx);
	}
	notify(p, "written", first, last > first ? last - first : 0);
}

/* Posts that are refused at once do no harm. */
static void bad_post(struct play *p)
{
	DAT_LMR_TRIPLET seg[SC_SEGMENTS + 1];
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_RMR_TRIPLET remote;
	struct sc_piece piece[SC_MESSAGES];

	memset(&remote, 0, sizeof(remote));
	(void)sc_segments(p->s, seg, SC_SEGMENTS + 1, 500);
	log_call(p, "too many segments", dat_ep_post_send(p->ep->h, SC_SEGMENTS + 1, seg, cookie,
		 DAT_COMPLETION_DEFAULT_FLAG));
	remote.segment_length = 99;
	log_call(p, "write of 100 into 99", dat_ep_post_rdma_write(p->ep->h, 1, seg, cookie,
		 &remote, DAT_COMPLETION_DEFAULT_FLAG));
	seg[0].segment_length = 1u << 30;
	log_call(p, "outside", dat_ep_post_send(p->ep->h, 1, seg, cookie,
		 DAT_COMPLETION_DEFAULT_FLAG));
	seg[0].segment_length = 1;
	seg[0].lmr_context ^= 0x5a5a0000;
	log_call(p, "bad context", dat_ep_post_send(p->ep->h, 1, seg, cookie,
		 DAT_COMPLETION_DEFAULT_FLAG));
	sc_settle(p->s);
	draw(p, piece, 5000);
	if (!p->mine)
		receives(p, piece, 1);
	sc_meet(p->s);
	if (p->mine)
		sends(p, piece, 1);
	sc_settle(p->s);
}

/* Ends */

static void receives_to_flush(struct play *p, uint32_t most)
{
	int n[2] = { (int)sc_below(&p->seed, most), (int)sc_below(&p->seed, most) };

	/* The buffers of an SRQ outlive an endpoint. */
	for (int i = 0; !p->s->srq && i < n[p->s->side]; i++)
		sc_recv(p->s, p->n, 100, 1);
}

static void too_long(struct play *p)
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
static void refused(struct play *p)
{
	struct sc_side *s = p->s;
	uint64_t va = rl_board->va[!s->side];
	DAT_RMR_CONTEXT rctx = rl_board->rctx[!s->side];
	_Atomic uint64_t *words = &rl_board->word[!s->side * 4];
	bool write = sc_below(&p->seed, 2);
	struct sc_piece piece = { .len = 1 + sc_below(&p->seed, 4000), .from = 1, .to = 1 };
	struct rd_mem gone;

	piece.room = piece.len;
	receives_to_flush(p, 4);
	if (p->step->act == SC_FREED_KEY && !p->mine) {
		rd_reg(&s->rd, &gone, s->mem.p, 8192);
		rl_board->word[18] = (uintptr_t)gone.p;
		rl_board->word[19] = gone.rctx;
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
			va = rl_board->word[18];
			rctx = (DAT_RMR_CONTEXT)rl_board->word[19];
			break;
		default:
			rctx ^= 0x33440000u;
		}
		sc_rdma(s, p->n, write, &piece, 3, va, rctx);
	}
	sc_want_end(s, p->n, p->mine ? SC_STRICT : SC_OPEN_PEER_END);
	sc_settle(s);
}

static void disconnect(struct play *p)
{
	receives_to_flush(p, 5);
	sc_meet(p->s);
	if (p->mine)
		log_call(p, "disconnect", dat_ep_disconnect(p->ep->h, p->step->graceful ?
			 DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG));
	sc_want_end(p->s, p->n, SC_STRICT);
	sc_settle(p->s);
}

/* A graceful end lets requests complete that have what they need. */
static void drain(struct play *p)
{
	struct sc_piece piece[SC_MESSAGES];
	int n = draw(p, piece, 150000);

	for (int i = 0; i < n; i++)
		piece[i].flags &= ~DAT_COMPLETION_SUPPRESS_FLAG;
	if (!p->mine)
		receives(p, piece, n);
	sc_meet(p->s);
	if (p->mine) {
		sends(p, piece, n);
		log_call(p, "disconnect", dat_ep_disconnect(p->ep->h, DAT_CLOSE_GRACEFUL_FLAG));
	}
	sc_want_end(p->s, p->n, SC_STRICT);
	sc_settle(p->s);
}

/* Small messages for which there is no receive, so that no fabric waits for room. */
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

static void unmatched(struct play *p)
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

static void free_ep(struct play *p)
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
static void renew(struct play *p)
{
	struct sc_piece piece = { .len = 5, .room = 5, .from = 1, .to = 1 };
	bool ended = rd_state(p->ep->h) == DAT_EP_STATE_DISCONNECTED;

	if (ended && !p->s->srq) {
		sc_recv(p->s, p->n, 5, 1);
		want(p, SC_RECV, 1);
	}
	if (ended) {
		sends(p, &piece, 1);
		log_call(p, "disconnect again", dat_ep_disconnect(p->ep->h,
			 DAT_CLOSE_ABRUPT_FLAG));
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
	sc_settle(p->s);
}

/* The end of a process, or of its adapter, ends all its connections. */
static bool leave(struct play *p)
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

bool sc_play(struct sc_side *s, const struct sc_step *step)
{
	struct play p = { .s = s, .step = step, .n = step->ep, .ep = &s->ep[step->ep],
			  .mine = step->by == s->side, .seed = step->seed };

	rl_at("step %d, %s", s->step, sc_act_name(step->act));
	s->used = 0;
	switch (step->act) {
	case SC_CONNECT:
	case SC_SP_GONE:
		connect_ep(&p);
		break;
	case SC_REJECT:
		reject(&p);
		break;
	case SC_WRONG_QUAL:
		wrong_qual(&p);
		break;
	case SC_NO_ANSWER:
	case SC_GIVE_UP:
		unanswered(&p);
		break;
	case SC_SEND:
		send_some(&p);
		break;
	case SC_LATE_RECV:
		late_recv(&p);
		break;
	case SC_BOTH:
		both(&p);
		break;
	case SC_WRITE:
	case SC_READ:
	case SC_MIXED:
		rdma(&p);
		break;
	case SC_BAD_POST:
		bad_post(&p);
		break;
	case SC_TOO_LONG:
		too_long(&p);
		break;
	case SC_BAD_KEY:
	case SC_RANGE:
	case SC_NO_RIGHT:
	case SC_FREED_KEY:
		refused(&p);
		break;
	case SC_DISCONNECT:
		disconnect(&p);
		break;
	case SC_DRAIN:
		drain(&p);
		break;
	case SC_UNMATCHED:
		unmatched(&p);
		break;
	case SC_FREE:
		free_ep(&p);
		break;
	case SC_RESET:
	case SC_RENEW:
		renew(&p);
		break;
	case SC_KILL:
	case SC_CLOSE:
		return leave(&p);
	case SC_ACT_COUNT:
		break;
	}
	return true;
}
