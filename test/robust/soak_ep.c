/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements the endpoints of the soak test: outstanding operations, generations and their ends. */
#include <string.h>

#include "soak.h"

#define SRQ_COOKIE (1ull << 63)

void soak_ep_init(struct soak_thread *t, int index)
{
	struct soak_ep *e = &t->ep[index];
	struct soak_remote *r = &soak_shared->remote[t->active][t->number][index];

	memset(e, 0, sizeof(*e));
	e->index = index;
	e->gen = soak_shared->process * SOAK_GENERATIONS;
	e->active = t->active;
	e->base = SOAK_EACH * (size_t)index;
	/* All four combinations of the two sides. */
	e->srq = t->srq && (index >> t->active & 1);
	e->ep = rd_ep_create_srq(&t->rd, SOAK_REQS, e->srq ? t->srq : DAT_HANDLE_NULL);
	if (soak_traffic & ST_RMR)
		RD_OK(dat_rmr_create(t->rd.pz, &e->window.rmr));
	/* The words of the passive side survive an active process, those of this one are new. */
	e->word_known = !t->active || !soak_shared->process;
	e->my_end = &soak_shared->end[t->active][t->number][index];
	e->their_end = &soak_shared->end[!t->active][t->number][index];
	e->added = &soak_shared->added[t->active][t->number][index];
	r->va = (uintptr_t)soak_at(t, e, 0);
	r->rctx = t->mem.rctx;
	r->words = (uintptr_t)t->words.p;
	r->words_rctx = t->words.rctx;
}

/* Operations */

static int free_op(const struct soak_ep *e, int first, int last)
{
	for (int i = first; i < last; i++)
		if (!e->op[i].out)
			return i;
	return -1;
}

struct soak_op *soak_ep_record(struct soak_ep *e, int op, enum soak_kind kind, uint32_t len,
			       uint32_t seed)
{
	struct soak_op *o = &e->op[op];

	memset(o, 0, sizeof(*o));
	o->out = true;
	o->kind = kind;
	o->len = len;
	o->seed = seed;
	o->number = e->posted[kind != SK_RECV]++;
	if (kind == SK_RECV)
		e->out_recvs++;
	else
		e->out_reqs++;
	return o;
}

void soak_ep_fill(struct soak_thread *t, struct soak_ep *e)
{
	int op;

	while (!e->srq && (op = free_op(e, 0, SOAK_RECVS)) >= 0) {
		RD_OK(rd_recv(e->ep, &t->mem, e->base + (size_t)op * SOAK_MSG, SOAK_MSG,
			      soak_cookie(e, op)));
		soak_ep_record(e, op, SK_RECV, SOAK_MSG, 0);
	}
}

static size_t srq_off(long buffer)
{
	return SOAK_EACH * (size_t)soak_eps + (size_t)buffer * SOAK_MSG;
}

void soak_srq_fill(struct soak_thread *t)
{
	for (long i = 0; t->srq && i < soak_eps * SOAK_SRQ_EACH; i++) {
		DAT_LMR_TRIPLET seg = rd_segment(&t->mem, srq_off(i), SOAK_MSG);
		DAT_DTO_COOKIE cookie = { .as_64 = SRQ_COOKIE | (uint64_t)i };

		if (t->srq_out[i])
			continue;
		RD_OK(dat_srq_post_recv(t->srq, 1, &seg, cookie));
		t->srq_out[i] = true;
	}
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
	soak_dto_post(t, e, op);
}

/* A buffer of the SRQ, which belongs to no EP until a message takes it. */
static void completed_from_srq(struct soak_thread *t, const DAT_DTO_COMPLETION_EVENT_DATA *d,
			       const DAT_IB_EXTENSION_EVENT_DATA *ext)
{
	uint64_t buffer = d->user_cookie.as_64 & ~SRQ_COOKIE;
	struct soak_ep *e = NULL;

	RL_CHECK(buffer < (uint64_t)soak_eps * SOAK_SRQ_EACH && t->srq_out[buffer],
		 "buffer %llu of the SRQ completes, which is not posted (status %d)",
		 (unsigned long long)buffer, (int)d->status);
	for (int i = 0; i < soak_eps; i++)
		if (t->ep[i].ep == d->ep_handle)
			e = &t->ep[i];
	RL_CHECK(e && e->srq, "buffer %llu of the SRQ was taken by an EP that does not use it",
		 (unsigned long long)buffer);
	RL_CHECK(e->phase != SP_IDLE && e->phase != SP_RETRY,
		 "an idle EP took buffer %llu of the SRQ (status %d)", (unsigned long long)buffer,
		 (int)d->status);
	RL_CHECK(d->status == DAT_DTO_SUCCESS || d->status == DAT_DTO_ERR_FLUSHED,
		 "buffer %llu of the SRQ has status %d", (unsigned long long)buffer,
		 (int)d->status);
	t->srq_out[buffer] = false;
	if (d->status == DAT_DTO_SUCCESS) {
		t->count[SC_FROM_SRQ]++;
		soak_dto_received(t, e, (uint8_t *)t->mem.p + srq_off((long)buffer), d, ext);
	} else {
		t->count[SC_FLUSHED]++;
	}
	/* Sometimes the queue becomes short. */
	if (rl_random(&t->seed) % 4)
		soak_srq_fill(t);
}

/* The operation with this cookie, which is outstanding and the next of its direction. */
static struct soak_ep *find_op(struct soak_thread *t, unsigned long long cookie, int status,
			       unsigned int *op)
{
	unsigned int index = cookie >> 8 & 0xff;
	struct soak_ep *e;
	uint32_t *next;

	*op = cookie & 0xff;
	RL_CHECK(index < (unsigned int)soak_eps && *op < SOAK_OPS, "completion with cookie 0x%llx",
		 cookie);
	e = &t->ep[index];
	RL_CHECK(cookie >> 32 == e->gen, "completion of generation %u in generation %u",
		 (unsigned int)(cookie >> 32), e->gen);
	RL_CHECK(e->op[*op].out, "operation %u of EP %u completed twice (status %d)", *op, index,
		 status);
	RL_CHECK(status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_FLUSHED,
		 "operation %u of EP %u has status %d", *op, index, status);
	next = &e->completed[e->op[*op].kind != SK_RECV];
	RL_CHECK(e->op[*op].number == *next, "post %u of EP %u completes before post %u",
		 e->op[*op].number, index, *next);
	++*next;
	return e;
}

static void completed(struct soak_thread *t, struct soak_ep *e, unsigned int op, bool success)
{
	if (!success) {
		t->count[SC_FLUSHED]++;
		soak_dto_flushed(e, (int)op);
	}
	e->op[op].out = false;
	if (e->op[op].kind == SK_WRITE || e->op[op].kind == SK_READ)
		e->verifying = false;
	if (e->op[op].kind == SK_RECV)
		e->out_recvs--;
	else
		e->out_reqs--;
	/* The first messages may be seen before ESTABLISHED, which is on another EVD. */
	if (op < SOAK_RECVS && !e->ended && success)
		soak_ep_fill(t, e);
}

static void bind_completed(struct soak_thread *t, const DAT_RMR_BIND_COMPLETION_EVENT_DATA *d)
{
	unsigned int op;
	struct soak_ep *e = find_op(t, d->user_cookie.as_64, (int)d->status, &op);

	RL_CHECK(e->op[op].kind == SK_BIND && d->rmr_handle == e->window.rmr,
		 "operation %u of EP %d, of kind %d, completes as a bind", op, e->index,
		 (int)e->op[op].kind);
	if (d->status == DAT_DTO_SUCCESS)
		soak_window_bound(t, e, (int)op);
	completed(t, e, op, d->status == DAT_DTO_SUCCESS);
}

void soak_ep_completed(struct soak_thread *t, const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;
	bool is_ext = (int)ev->event_number == DAT_IB_DTO_EVENT;
	DAT_IB_EXTENSION_EVENT_DATA ext;
	struct soak_ep *e;
	unsigned int op;

	if (ev->event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
		bind_completed(t, &ev->event_data.rmr_completion_event_data);
		return;
	}
	RL_CHECK(is_ext || ev->event_number == DAT_DTO_COMPLETION_EVENT, "%s on a DTO EVD",
		 rd_event_text(ev->event_number));
	memcpy(&ext, ev->event_extension_data, sizeof(ext));
	if (d->user_cookie.as_64 & SRQ_COOKIE) {
		completed_from_srq(t, d, is_ext ? &ext : NULL);
		return;
	}
	e = find_op(t, d->user_cookie.as_64, (int)d->status, &op);
	RL_CHECK(d->ep_handle == e->ep, "operation %u of EP %d names another EP", op, e->index);
	if (d->status == DAT_DTO_SUCCESS)
		soak_dto_succeeded(t, e, (int)op, d, is_ext ? &ext : NULL);
	completed(t, e, op, d->status == DAT_DTO_SUCCESS);
}

/* Generations */

void soak_ep_begin(struct soak_thread *t, struct soak_ep *e, uint32_t gen)
{
	uint32_t process = gen / SOAK_GENERATIONS;

	e->gen = gen;
	e->budget = 1 + (int)(rl_random(&t->seed) % 60);
	for (int side = 0; side < 2; side++)
		e->refused[side] = soak_shared->refused[side];
	/* The words of a new active process are 0. */
	if (!t->active && process != e->word_process) {
		e->word_least = e->word_most = 0;
		e->added->posted = e->added->done = 0;
	}
	e->word_process = process;
	e->added->process = process;
	soak_ep_fill(t, e);
}

void soak_ep_over(struct soak_thread *t, struct soak_ep *e, bool broken)
{
	RL_CHECK(!e->ended, "a second event ended generation %u", e->gen);
	e->ended = true;
	e->broken = broken;
	e->ended_at = rl_now();
	e->ended_round = t->round;
	e->phase = SP_ENDING;
}

void soak_ep_failed(struct soak_thread *t, struct soak_ep *e, const char *event)
{
	RL_CHECK(e->phase == SP_PENDING && soak_may_fail(e),
		 "%s of EP %d, generation %u in phase %d", event, e->index, e->gen, (int)e->phase);
	e->failed = true;
	t->count[SC_FAILED]++;
	soak_ep_over(t, e, false);
}

/*
 * A graceful disconnect completes outstanding requests and loses nothing: the passive side must
 * have received exactly the messages whose sends succeeded.
 */
static void compare_with_peer(struct soak_thread *t, const struct soak_ep *e)
{
	const struct soak_end *their = e->their_end;

	if (!e->mine && !their->mine && !their->failed && !e->rejected) {
		RL_CHECK(soak_lacked_memory(e),
			 "EP %d, generation %u: %s here, %s there, and neither side has "
			 "disconnected",
			 e->index, e->gen, e->broken ? "BROKEN" : "DISCONNECTED",
			 their->broken ? "BROKEN" : "DISCONNECTED");
		t->count[SC_LOST]++;
	}
	if (e->mine || !their->mine || !their->graceful)
		return;
	/*
	 * A lack of memory may have ended the connection before the disconnect was complete: then
	 * sends were flushed whose messages had arrived. Over a fabric where sends complete before
	 * the message is received, successful ones may be lost as well.
	 */
	if (soak_lacked_memory(e) && (e->next_recv > their->sent || soak_unread))
		return;
	RL_CHECK(e->next_recv == their->sent,
		 "EP %d, generation %u: %u messages arrived, %u sends had succeeded before the "
		 "graceful disconnect; here %s, there %s",
		 e->index, e->gen, e->next_recv, their->sent, e->broken ? "BROKEN" : "DISCONNECTED",
		 their->broken ? "BROKEN" : "DISCONNECTED");
}

static bool is_complete(const struct soak_thread *t, const struct soak_ep *e)
{
	if (e->out_recvs || e->out_reqs) {
		RL_CHECK(rl_now() - e->ended_at < (uint64_t)soak_bound(15000) * 1000,
			 "EP %d, generation %u: %d receives and %d requests do not complete",
			 e->index, e->gen, e->out_recvs, e->out_reqs);
		return false;
	}
	/* What it received from the SRQ is on the EVD before the end, which is on another one. */
	return !e->srq || t->round != e->ended_round;
}

static void publish_end(struct soak_ep *e)
{
	if (e->my_end->gen == e->gen)
		return;
	e->my_end->mine = e->mine;
	e->my_end->graceful = e->graceful;
	e->my_end->broken = e->broken;
	e->my_end->failed = e->failed;
	e->my_end->sent = e->sent_ok;
	e->my_end->gen = e->gen;
}

bool soak_ep_recycle(struct soak_thread *t, struct soak_ep *e)
{
	DAT_RETURN ret;

	if (!is_complete(t, e))
		return false;
	RL_CHECK(!e->repeated || e->failed, "EP %d: generation %u was requested twice", e->index,
		 e->gen);
	publish_end(e);
	if (!e->failed && !soak_partner_died(e) && e->their_end->gen < e->gen) {
		RL_CHECK(rl_now() - e->ended_at < (uint64_t)soak_bound(20000) * 1000,
			 "EP %d, generation %u has not ended at the peer", e->index, e->gen);
		return false;
	}
	/* The peer may have been killed after it has written its end. */
	if (!e->failed && e->their_end->gen == e->gen && !soak_partner_died(e))
		compare_with_peer(t, e);
	RL_CHECK(rd_state(e->ep) == DAT_EP_STATE_DISCONNECTED, "EP %d is in state %d", e->index,
		 (int)rd_state(e->ep));
	ret = dat_ep_reset(e->ep);
	if (soak_lacks(ret))
		return false;
	RL_CHECK(ret == DAT_SUCCESS, "dat_ep_reset returned %s", rd_text(ret));
	e->phase = SP_IDLE;
	e->mine = e->graceful = e->ended = e->verifying = false;
	e->failed = e->broken = e->rejected = e->repeated = false;
	e->next_send = e->next_recv = e->sent_ok = e->written[0] = e->written[1] = 0;
	e->immeds_sent = e->immeds_confirmed = e->immeds_got = 0;
	memset(e->posted, 0, sizeof(e->posted));
	memset(e->completed, 0, sizeof(e->completed));
	e->window.state = SN_FREE;
	e->grant.key = 0;
	return true;
}

void soak_thread_check(struct soak_thread *t)
{
	const uint64_t *words = t->words.p;
	uint64_t posted = 0, done = 0;
	DAT_COUNT out = 0;
	DAT_SRQ_PARAM param;

	for (int i = 0; i < soak_eps; i++) {
		const struct soak_added *a = &soak_shared->added[!t->active][t->number][i];

		if (t->active && a->process != soak_shared->process)
			continue;
		posted += a->posted;
		done += a->done;
	}
	if (words)
		RL_CHECK(words[SOAK_SUM] >= done && words[SOAK_SUM] <= posted,
			 "the sum is %llu; %llu was added, %llu at most",
			 (unsigned long long)words[SOAK_SUM], (unsigned long long)done,
			 (unsigned long long)posted);
	if (!t->srq)
		return;
	for (long i = 0; i < soak_eps * SOAK_SRQ_EACH; i++)
		out += t->srq_out[i];
	RD_OK(dat_srq_query(t->srq, DAT_SRQ_FIELD_ALL, &param));
	RL_CHECK(param.outstanding_dto_count == out ||
			 param.outstanding_dto_count == DAT_VALUE_UNKNOWN,
		 "the SRQ has %d buffers, %d were posted and have not completed",
		 (int)param.outstanding_dto_count, (int)out);
}
