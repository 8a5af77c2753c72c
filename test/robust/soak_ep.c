/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements the endpoints of the soak test: posts, expected data and outstanding operations. */
#include <string.h>

#include "soak.h"

struct message {
	uint32_t gen, seq, len, seed;
};

static uint64_t cookie_of(const struct soak_ep *e, int op)
{
	return (uint64_t)e->gen << 32 | (uint64_t)e->index << 8 | (uint64_t)op;
}

static size_t op_off(const struct soak_ep *e, int op)
{
	return e->base + (size_t)op * SOAK_MSG;
}

void soak_ep_init(struct soak_thread *t, int index)
{
	struct soak_ep *e = &t->ep[index];
	size_t each = (size_t)SOAK_OPS * SOAK_MSG + 3 * SOAK_AREA;

	memset(e, 0, sizeof(*e));
	e->index = index;
	e->gen = soak_shared->process * SOAK_GENERATIONS;
	e->active = t->active;
	e->base = each * (size_t)index;
	e->bufs = (uint8_t *)t->mem.p + e->base;
	e->write_off = e->base + (size_t)SOAK_OPS * SOAK_MSG;
	e->read_off = e->write_off + SOAK_AREA;
	e->area_off = e->read_off + SOAK_AREA;
	e->ep = rd_ep_create(&t->rd, SOAK_REQS);
	e->my_end = &soak_shared->end[t->active][t->number][index];
	e->their_end = &soak_shared->end[!t->active][t->number][index];
	soak_shared->area[t->active][t->number][index].va = (uintptr_t)t->mem.p + e->area_off;
	soak_shared->area[t->active][t->number][index].rctx = t->mem.rctx;
}

static int free_op(const struct soak_ep *e, int first, int last)
{
	for (int i = first; i < last; i++)
		if (!e->op[i].out)
			return i;
	return -1;
}

static void record_op(struct soak_ep *e, int op, enum rd_kind kind, uint32_t len, uint32_t seed)
{
	struct soak_op *o = &e->op[op];

	o->out = true;
	o->kind = kind;
	o->len = len;
	o->seed = seed;
	if (kind == RD_RECV)
		e->out_recvs++;
	else
		e->out_reqs++;
}

void soak_ep_fill(struct soak_thread *t, struct soak_ep *e)
{
	int op;

	while ((op = free_op(e, 0, SOAK_RECVS)) >= 0) {
		record_op(e, op, RD_RECV, SOAK_MSG, 0);
		RD_OK(rd_recv(e->ep, &t->mem, op_off(e, op), SOAK_MSG, cookie_of(e, op)));
	}
}

/*
 * The EP may be disconnected already: then the request is flushed. No requests are posted in
 * DISCONNECT_PENDING or before the connection is established.
 */
static void post_message(struct soak_thread *t, struct soak_ep *e, int op)
{
	struct message m = { e->gen, e->next_send++, 0, rl_random(&t->seed) };
	uint8_t *buf = e->bufs + (size_t)op * SOAK_MSG;

	m.len = (uint32_t)sizeof(m) + rl_random(&t->seed) % (SOAK_MSG - (uint32_t)sizeof(m) + 1);
	memcpy(buf, &m, sizeof(m));
	rl_fill(buf + sizeof(m), m.len - sizeof(m), m.seed);
	record_op(e, op, RD_SEND, m.len, m.seed);
	RD_OK(rd_send(e->ep, &t->mem, op_off(e, op), m.len, cookie_of(e, op)));
}

static void post_rdma(struct soak_thread *t, struct soak_ep *e, int op)
{
	const struct soak_remote *r = &soak_shared->area[!t->active][t->number][e->index];
	bool write = !e->written;
	uint32_t len = SOAK_AREA;

	e->verifying = true;
	if (write) {
		e->written = rl_random(&t->seed) | 1;
		rl_fill((uint8_t *)t->mem.p + e->write_off, len, e->written);
		record_op(e, op, RD_WRITE, len, e->written);
	} else {
		record_op(e, op, RD_READ, len, e->written);
		e->written = 0;
	}
	RD_OK(rd_rdma(e->ep, write, &t->mem, write ? e->write_off : e->read_off, len,
		      cookie_of(e, op), r->va, r->rctx));
}

static void end_connection(struct soak_thread *t, struct soak_ep *e)
{
	e->mine = true;
	e->graceful = rl_random(&t->seed) & 1;
	e->phase = SP_ENDING;
	RD_OK(dat_ep_disconnect(e->ep,
				e->graceful ? DAT_CLOSE_GRACEFUL_FLAG : DAT_CLOSE_ABRUPT_FLAG));
}

void soak_ep_act(struct soak_thread *t, struct soak_ep *e)
{
	int op = free_op(e, SOAK_RECVS, SOAK_OPS);

	if (e->phase != SP_UP || op < 0)
		return;
	if (!e->budget) {
		end_connection(t, e);
		return;
	}
	e->budget--;
	if (!soak_rdma || rl_random(&t->seed) % 4 || e->verifying)
		post_message(t, e, op);
	else
		post_rdma(t, e, op);
}

static void check_message(struct soak_thread *t, struct soak_ep *e, int op, uint64_t len)
{
	const uint8_t *buf = e->bufs + (size_t)op * SOAK_MSG;
	struct message m;

	RL_CHECK(len >= sizeof(m), "a message of %llu bytes", (unsigned long long)len);
	memcpy(&m, buf, sizeof(m));
	RL_CHECK(m.gen == e->gen, "a message of generation %u arrived in %u", m.gen, e->gen);
	RL_CHECK(m.seq == e->next_recv, "got message %u, expected %u", m.seq, e->next_recv);
	RL_CHECK(m.len == len, "message of %u bytes arrived with %llu", m.len,
		 (unsigned long long)len);
	RL_CHECK(rl_differs(buf + sizeof(m), m.len - sizeof(m), m.seed) < 0,
		 "message %u has wrong data", m.seq);
	e->next_recv++;
	t->messages++;
	t->bytes += len;
}

static void succeeded(struct soak_thread *t, struct soak_ep *e, int op,
		      const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	struct soak_op *o = &e->op[op];

	switch (o->kind) {
	case RD_RECV:
		check_message(t, e, op, d->transfered_length);
		break;
	case RD_SEND:
		e->sent_ok++;
		break;
	case RD_READ:
		RL_CHECK(rl_differs((uint8_t *)t->mem.p + e->read_off, o->len, o->seed) < 0,
			 "read back data other than was written");
		/* fall through */
	case RD_WRITE:
		t->rdmas++;
		break;
	}
	if (o->kind != RD_RECV)
		RL_CHECK(d->transfered_length == o->len, "%u bytes posted, %llu transferred",
			 o->len, (unsigned long long)d->transfered_length);
}

void soak_ep_completed(struct soak_thread *t, const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	unsigned long long cookie = d->user_cookie.as_64;
	unsigned int index = cookie >> 8 & 0xff, op = cookie & 0xff;
	struct soak_ep *e;

	RL_CHECK(index < (unsigned int)soak_eps && op < SOAK_OPS, "completion with cookie 0x%llx",
		 cookie);
	e = &t->ep[index];
	RL_CHECK(d->ep_handle == e->ep, "completion 0x%llx names another EP", cookie);
	RL_CHECK(cookie >> 32 == e->gen, "completion of generation %u in generation %u",
		 (unsigned int)(cookie >> 32), e->gen);
	RL_CHECK(e->op[op].out, "operation %u of EP %u completed twice (status %d)", op, index,
		 (int)d->status);
	RL_CHECK(d->status == DAT_DTO_SUCCESS || d->status == DAT_DTO_ERR_FLUSHED,
		 "operation %u of EP %u has status %d", op, index, (int)d->status);
	if (d->status == DAT_DTO_SUCCESS)
		succeeded(t, e, (int)op, d);
	else
		t->flushed++;
	e->op[op].out = false;
	if (e->op[op].kind == RD_WRITE || e->op[op].kind == RD_READ)
		e->verifying = false;
	if (e->op[op].kind == RD_RECV)
		e->out_recvs--;
	else
		e->out_reqs--;
	/* The first messages may be seen before ESTABLISHED, which is on another EVD. */
	if (op < SOAK_RECVS && !e->ended && d->status == DAT_DTO_SUCCESS)
		soak_ep_fill(t, e);
}

void soak_ep_over(struct soak_ep *e, bool broken)
{
	RL_CHECK(!e->ended, "a second event ended generation %u", e->gen);
	e->ended = true;
	e->broken = broken;
	e->ended_at = rl_now();
	e->phase = SP_ENDING;
}

void soak_ep_failed(struct soak_thread *t, struct soak_ep *e, const char *event)
{
	RL_CHECK(e->phase == SP_PENDING && soak_may_fail(e),
		 "%s of EP %d, generation %u in phase %d", event, e->index, e->gen, (int)e->phase);
	e->failed = true;
	t->failed++;
	soak_ep_over(e, false);
}

/*
 * A graceful disconnect completes outstanding requests and loses nothing: the passive side must
 * have received exactly the messages whose sends succeeded.
 */
static void compare_with_peer(struct soak_ep *e)
{
	const struct soak_end *their = e->their_end;

	RL_CHECK(e->mine || their->mine || their->failed || e->rejected,
		 "EP %d, generation %u: %s here, %s there, and neither side has disconnected",
		 e->index, e->gen, e->broken ? "BROKEN" : "DISCONNECTED",
		 their->broken ? "BROKEN" : "DISCONNECTED");
	if (e->mine || !their->mine || !their->graceful)
		return;
	RL_CHECK(e->next_recv == their->sent,
		 "EP %d, generation %u: %u messages arrived, %u sends had succeeded before the "
		 "graceful disconnect; here %s, there %s",
		 e->index, e->gen, e->next_recv, their->sent, e->broken ? "BROKEN" : "DISCONNECTED",
		 their->broken ? "BROKEN" : "DISCONNECTED");
}

bool soak_ep_recycle(struct soak_thread *t, struct soak_ep *e)
{
	if (e->out_recvs || e->out_reqs) {
		RL_CHECK(rl_now() - e->ended_at < (uint64_t)soak_bound(5000) * 1000,
			 "EP %d, generation %u: %d receives and %d requests do not complete",
			 e->index, e->gen, e->out_recvs, e->out_reqs);
		return false;
	}
	if (e->my_end->gen != e->gen) {
		e->my_end->mine = e->mine;
		e->my_end->graceful = e->graceful;
		e->my_end->broken = e->broken;
		e->my_end->failed = e->failed;
		e->my_end->sent = e->sent_ok;
		e->my_end->gen = e->gen;
	}
	if (!e->failed && !soak_partner_died(e) && e->their_end->gen < e->gen) {
		RL_CHECK(rl_now() - e->ended_at < (uint64_t)soak_bound(8000) * 1000,
			 "EP %d, generation %u has not ended at the peer", e->index, e->gen);
		return false;
	}
	/* The peer may have been killed after it has written its end. */
	if (!e->failed && e->their_end->gen == e->gen && !soak_partner_died(e))
		compare_with_peer(e);
	RL_CHECK(rd_state(e->ep) == DAT_EP_STATE_DISCONNECTED, "EP %d is in state %d", e->index,
		 (int)rd_state(e->ep));
	RD_OK(dat_ep_reset(e->ep));
	e->phase = SP_IDLE;
	e->mine = e->graceful = e->ended = e->verifying = false;
	e->failed = e->broken = e->rejected = false;
	e->next_send = e->next_recv = e->sent_ok = e->written = 0;
	(void)t;
	return true;
}
