/* SPDX-License-Identifier: BSD-2-Clause */
/* Executes the steps of each side. */
#include <string.h>

#include "scenario_play.h"

#define PATIENT_MS 10000
#define IMPATIENT_MS 200

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

	log_call(p, "connect",
		 dat_ep_connect(p->ep->h, (DAT_IA_ADDRESS_PTR)&p->s->rd.addr, qual, ms * 1000, len,
				len ? data : NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static DAT_CONN_QUAL peer_qual(struct play *p)
{
	return rl_board->value[16 + !p->s->side];
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

/* The request is answered only after the connect has timed out. */
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

int sc_draw(struct play *p, struct sc_piece *piece, size_t most)
{
	int n = 1 + (int)sc_below(&p->seed, SC_MESSAGES);

	for (int i = 0; i < n; i++)
		sc_piece(&p->seed, p->s->scene, most, &piece[i]);
	return n;
}

void sc_receives(struct play *p, const struct sc_piece *piece, int n)
{
	for (int i = 0; i < n; i++)
		sc_recv(p->s, p->n, piece[i].room, piece[i].to);
	want(p, SC_RECV, (unsigned int)n);
}

void sc_sends(struct play *p, const struct sc_piece *piece, int n)
{
	for (int i = 0; i < n; i++)
		sc_send(p->s, p->n, &piece[i], (uint32_t)p->seed + (uint32_t)i, SC_STRICT);
	p->ep->want[SC_REQ] = p->ep->shown[1];
}

static void send_some(struct play *p)
{
	struct sc_piece piece[SC_MESSAGES];
	int n = sc_draw(p, piece, 150000);

	if (p->step->posted) {
		/* Into receives of 4 KiB that were posted before connecting. */
		n = p->step->before[!p->step->by];
		for (int i = 0; i < n; i++)
			sc_piece(&p->seed, p->s->scene, 4096, &piece[i]);
		if (!p->mine)
			want(p, SC_RECV, (unsigned int)n);
	} else if (!p->mine) {
		sc_receives(p, piece, n);
	}
	sc_meet(p->s);
	if (p->mine)
		sc_sends(p, piece, n);
	sc_settle(p->s);
}

static void late_recv(struct play *p)
{
	struct sc_piece piece[SC_MESSAGES];
	int n = sc_draw(p, piece, 150000);

	if (p->mine)
		sc_sends(p, piece, n);
	sc_meet(p->s);
	if (!p->mine)
		sc_receives(p, piece, n);
	sc_settle(p->s);
}

static void both(struct play *p)
{
	struct sc_piece piece[2][SC_MESSAGES];
	int n[2];

	n[0] = sc_draw(p, piece[0], 100000);
	n[1] = sc_draw(p, piece[1], 100000);
	sc_receives(p, piece[!p->mine], n[!p->mine]);
	sc_meet(p->s);
	sc_sends(p, piece[p->mine], n[p->mine]);
	sc_settle(p->s);
}

/* Where a transfer goes to or comes from in the window. */
static size_t place(struct play *p, size_t len)
{
	return sc_below(&p->seed, (uint32_t)(SC_WINDOW - len));
}

/* An empty message marks the arrival of everything before it. */
static void notify(struct play *p, const char *what, size_t off, size_t len)
{
	struct sc_piece empty = { .from = 1, .to = 1 };

	if (p->mine) {
		sc_sends(p, &empty, 1);
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
	int n = sc_draw(p, piece, 200000);

	if (!p->mine)
		sc_receives(p, &empty, 1);
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

/* Rejected posts change nothing. */
static void bad_post(struct play *p)
{
	DAT_LMR_TRIPLET seg[SC_SEGMENTS + 1];
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_RMR_TRIPLET remote;
	struct sc_piece piece[SC_MESSAGES];

	memset(&remote, 0, sizeof(remote));
	(void)sc_segments(p->s, seg, SC_SEGMENTS + 1, 500);
	log_call(p, "too many segments",
		 dat_ep_post_send(p->ep->h, SC_SEGMENTS + 1, seg, cookie,
				  DAT_COMPLETION_DEFAULT_FLAG));
	remote.segment_length = 99;
	log_call(p, "write of 100 into 99",
		 dat_ep_post_rdma_write(p->ep->h, 1, seg, cookie, &remote,
					DAT_COMPLETION_DEFAULT_FLAG));
	seg[0].segment_length = 1u << 30;
	log_call(p, "outside",
		 dat_ep_post_send(p->ep->h, 1, seg, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	seg[0].segment_length = 1;
	seg[0].lmr_context ^= 0x5a5a0000;
	log_call(p, "bad context",
		 dat_ep_post_send(p->ep->h, 1, seg, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	sc_settle(p->s);
	sc_draw(p, piece, 5000);
	if (!p->mine)
		sc_receives(p, piece, 1);
	sc_meet(p->s);
	if (p->mine)
		sc_sends(p, piece, 1);
	sc_settle(p->s);
}

bool sc_play(struct sc_side *s, const struct sc_step *step)
{
	struct play p = { .s = s,
			  .step = step,
			  .n = step->ep,
			  .ep = &s->ep[step->ep],
			  .mine = step->by == s->side,
			  .seed = step->seed };

	rl_activity("step %d, %s", s->step, sc_act_name(step->act));
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
	case SC_SPREAD:
		sc_spread(&p);
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
		sc_too_long(&p);
		break;
	case SC_BAD_KEY:
	case SC_RANGE:
	case SC_NO_RIGHT:
	case SC_FREED_KEY:
		sc_refused(&p);
		break;
	case SC_DISCONNECT:
		sc_disconnect(&p);
		break;
	case SC_DRAIN:
		sc_drain(&p);
		break;
	case SC_UNMATCHED:
		sc_unmatched(&p);
		break;
	case SC_FREE:
		sc_free(&p);
		break;
	case SC_RESET:
	case SC_RENEW:
		sc_renew(&p);
		break;
	case SC_KILL:
	case SC_CLOSE:
		return sc_leave(&p);
	case SC_ACT_COUNT:
		break;
	}
	return true;
}
