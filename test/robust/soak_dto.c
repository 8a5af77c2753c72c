/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts the operations of the soak test, and checks the data of those that have succeeded. */
#include <string.h>

#include "soak.h"

bool soak_dto_posted(DAT_RETURN ret, const char *call)
{
	RL_CHECK(ret == DAT_SUCCESS || soak_lacks(ret), "%s returned %s", call, rd_text(ret));
	return ret == DAT_SUCCESS;
}

static const struct soak_remote *remote_of(const struct soak_thread *t, const struct soak_ep *e)
{
	return &soak_shared->remote[!t->active][t->number][e->index];
}

static uint64_t op_off(const struct soak_ep *e, int op)
{
	return e->base + (size_t)op * SOAK_MSG;
}

/* Messages */

void soak_dto_send(struct soak_thread *t, struct soak_ep *e, int op, struct soak_message *m)
{
	uint8_t *buf = soak_at(t, e, (size_t)op * SOAK_MSG);
	DAT_DTO_COOKIE cookie = { .as_64 = soak_cookie(e, op) };
	DAT_LMR_TRIPLET seg;
	DAT_RETURN ret;

	m->gen = e->gen;
	m->seq = e->next_send;
	m->immeds = e->immeds_got;
	m->seed = rl_random(&t->seed);
	m->len = (uint32_t)sizeof(*m) + rl_random(&t->seed) % (SOAK_MSG - (uint32_t)sizeof(*m) + 1);
	memcpy(buf, m, sizeof(*m));
	rl_fill(buf + sizeof(*m), m->len - sizeof(*m), m->seed);
	seg = rd_segment(&t->mem, op_off(e, op), m->len);
	/*
	 * The EP may be disconnected already: then the request is flushed. No requests are posted
	 * in DISCONNECT_PENDING or before the connection is established.
	 */
	if (m->what == SW_INVALIDATE)
		ret = dat_ep_post_send_with_invalidate(
			e->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, m->key);
	else
		ret = dat_ep_post_send(e->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	if (!soak_dto_posted(ret, "posting a send"))
		return;
	soak_ep_record(e, op, SK_SEND, m->len, m->seed);
	e->next_send++;
}

static void check_message(struct soak_thread *t, struct soak_ep *e, const uint8_t *buf,
			  const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	uint64_t len = d->transfered_length;
	struct soak_message m;

	RL_CHECK(len >= sizeof(m), "a message of %llu bytes", (unsigned long long)len);
	memcpy(&m, buf, sizeof(m));
	RL_CHECK(m.gen == e->gen, "a message of generation %u arrived in %u", m.gen, e->gen);
	RL_CHECK(m.seq == e->next_recv, "got message %u, expected %u", m.seq, e->next_recv);
	RL_CHECK(m.len == len, "message of %u bytes arrived with %llu", m.len,
		 (unsigned long long)len);
	RL_CHECK(rl_differs(buf + sizeof(m), m.len - sizeof(m), m.seed) < 0,
		 "message %u has wrong data", m.seq);
	RL_CHECK(m.immeds >= e->immeds_confirmed && m.immeds <= e->immeds_sent,
		 "%u writes with immediate data arrived, %u were posted", m.immeds, e->immeds_sent);
	e->immeds_confirmed = m.immeds;
	soak_window_received(t, e, &m, d);
	t->count[SC_MESSAGES]++;
	t->count[SC_BYTES] += len;
}

/* RDMA writes that are read back, one at a time, to the peer's area or through its window */

static void post_rdma(struct soak_thread *t, struct soak_ep *e, int op)
{
	const struct soak_remote *r = remote_of(t, e);
	bool window = e->grant.key && e->grant.uses && rl_random(&t->seed) & 1;
	bool write = !e->written[window];
	uint32_t len = window ? e->grant.len : SOAK_AREA;
	uint32_t seed = write ? rl_random(&t->seed) | 1 : e->written[window];
	size_t off = write ? OFF_WRITE : OFF_READ;
	struct soak_op *o;
	DAT_RETURN ret;

	if (write)
		rl_fill(soak_at(t, e, off), len, seed);
	ret = rd_rdma(e->ep, write, &t->mem, e->base + off, len, soak_cookie(e, op),
		      window ? e->grant.va : r->va + OFF_AREA, window ? e->grant.key : r->rctx);
	if (!soak_dto_posted(ret, "posting an RDMA operation"))
		return;
	o = soak_ep_record(e, op, write ? SK_WRITE : SK_READ, len, seed);
	(void)o;
	e->verifying = true;
	e->written[window] = write ? seed : 0;
	if (window)
		e->grant.uses--;
}

/* RDMA writes with immediate data, which contains the length and the number of the write */

static uint32_t immed_len(uint32_t immed)
{
	return 1 + (immed >> 8) % SOAK_MSG;
}

static void post_immed(struct soak_thread *t, struct soak_ep *e, int op)
{
	uint32_t immed = rl_random(&t->seed) << 8 | (e->immeds_sent & 0xff);
	uint32_t len = immed_len(immed), slot = e->immeds_sent % SOAK_IMMEDS;
	DAT_DTO_COOKIE cookie = { .as_64 = soak_cookie(e, op) };
	DAT_LMR_TRIPLET seg = rd_segment(&t->mem, op_off(e, op), len);
	DAT_RMR_TRIPLET to = rd_remote(remote_of(t, e)->rctx,
				       remote_of(t, e)->va + OFF_IMMEDS + (uint64_t)slot * SOAK_MSG,
				       len);

	rl_fill(soak_at(t, e, (size_t)op * SOAK_MSG), len, immed ^ e->gen);
	if (!soak_dto_posted(dat_ib_post_rdma_write_immed(e->ep, 1, &seg, cookie, &to, immed,
							  DAT_COMPLETION_DEFAULT_FLAG),
			     "dat_ib_post_rdma_write_immed"))
		return;
	soak_ep_record(e, op, SK_IMMED, len, immed);
	e->immeds_sent++;
	e->next_send++;
}

static void check_immed(struct soak_thread *t, struct soak_ep *e,
			const DAT_DTO_COMPLETION_EVENT_DATA *d,
			const DAT_IB_EXTENSION_EVENT_DATA *ext)
{
	uint32_t immed = ext->val.immed.data, slot = e->immeds_got % SOAK_IMMEDS;

	RL_CHECK((int)d->operation == DAT_IB_DTO_RECV_IMMED &&
			 ext->type == DAT_IB_RDMA_WRITE_IMMED_DATA,
		 "a receive has operation %d and type %d", (int)d->operation, (int)ext->type);
	RL_CHECK((immed & 0xff) == (e->immeds_got & 0xff),
		 "immediate data 0x%x arrived as number %u of generation %u", immed, e->immeds_got,
		 e->gen);
	RL_CHECK(d->transfered_length == immed_len(immed),
		 "a write with immediate data of %u bytes arrived with %llu", immed_len(immed),
		 (unsigned long long)d->transfered_length);
	RL_CHECK(rl_differs(soak_at(t, e, OFF_IMMEDS + (size_t)slot * SOAK_MSG), immed_len(immed),
			    immed ^ e->gen) < 0,
		 "write %u with immediate data has wrong data", e->immeds_got);
	e->immeds_got++;
	t->count[SC_IMMEDS]++;
}

void soak_dto_received(struct soak_thread *t, struct soak_ep *e, const uint8_t *buf,
		       const DAT_DTO_COMPLETION_EVENT_DATA *d,
		       const DAT_IB_EXTENSION_EVENT_DATA *ext)
{
	if (ext)
		check_immed(t, e, d, ext);
	else
		check_message(t, e, buf, d);
	e->next_recv++;
}

/*
 * Atomic operations. Only one EP changes a word, so that each result is known exactly unless an
 * operation was flushed, which may have been executed or not. All EPs of a thread change the sum.
 */

/* What this side has added to the sum: what has completed, and at most. */
static void sum_bounds(const struct soak_thread *t, const struct soak_ep *e, uint64_t *done,
		       uint64_t *posted)
{
	*done = *posted = 0;
	for (int i = 0; i < soak_eps; i++) {
		const struct soak_added *a = t->ep[i].added;

		if (!t->active && a->process != e->added->process)
			continue;
		*done += a->done;
		*posted += a->posted;
	}
}

static void post_atomic(struct soak_thread *t, struct soak_ep *e, int op)
{
	uint64_t least, most, result = ~0ull;
	DAT_DTO_COOKIE cookie = { .as_64 = soak_cookie(e, op) };
	DAT_LMR_TRIPLET seg = rd_segment(&t->mem, op_off(e, op), sizeof(result));
	bool to_sum = rl_random(&t->seed) & 1;
	bool swap = !to_sum && e->word_known && !e->word_out && e->word_least == e->word_most &&
		    rl_random(&t->seed) & 1;
	/* A swap that adds nothing compares with another value. */
	uint32_t add = rl_random(&t->seed) % 1000 + !swap;
	DAT_RMR_TRIPLET word = rd_remote(
		remote_of(t, e)->words_rctx,
		remote_of(t, e)->words + (to_sum ? SOAK_SUM : (uint64_t)e->index) * sizeof(result),
		sizeof(result));
	struct soak_op *o;
	DAT_RETURN ret;

	if (swap && rl_random(&t->seed) % 4 == 0)
		add = 0;
	memcpy(soak_at(t, e, (size_t)op * SOAK_MSG), &result, sizeof(result));
	sum_bounds(t, e, &least, &most);
	/* Before the post: this process may be killed after it. */
	if (to_sum)
		e->added->posted += add;
	if (swap)
		ret = dat_ib_post_cmp_and_swap(e->ep, e->word_least + !add, e->word_least + add,
					       &seg, cookie, &word, DAT_COMPLETION_DEFAULT_FLAG);
	else
		ret = dat_ib_post_fetch_and_add(e->ep, add, &seg, cookie, &word,
						DAT_COMPLETION_DEFAULT_FLAG);
	if (!soak_dto_posted(ret, "posting an atomic operation")) {
		if (to_sum)
			e->added->posted -= add;
		return;
	}
	o = soak_ep_record(e, op, swap ? SK_SWAP : SK_ADD, sizeof(result), 0);
	o->to_sum = to_sum;
	o->add = add;
	o->least = least;
	e->word_out += !to_sum;
}

static void check_atomic(struct soak_thread *t, struct soak_ep *e, int op,
			 const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	const struct soak_op *o = &e->op[op];
	uint64_t result, done, posted;

	RL_CHECK((int)d->operation ==
			 (o->kind == SK_SWAP ? DAT_IB_DTO_CMP_SWAP : DAT_IB_DTO_FETCH_ADD),
		 "an atomic operation completes as operation %d", (int)d->operation);
	memcpy(&result, soak_at(t, e, (size_t)op * SOAK_MSG), sizeof(result));
	t->count[SC_ATOMICS]++;
	if (o->to_sum) {
		sum_bounds(t, e, &done, &posted);
		RL_CHECK(result >= o->least && result + o->add <= posted,
			 "the sum was %llu; %llu had been added, %llu at most",
			 (unsigned long long)result, (unsigned long long)o->least,
			 (unsigned long long)(posted - o->add));
		e->added->done += o->add;
		return;
	}
	e->word_out--;
	RL_CHECK(!e->word_known || (result >= e->word_least && result <= e->word_most),
		 "the word of EP %d was %llu, and %llu to %llu was expected in generation %u",
		 e->index, (unsigned long long)result, (unsigned long long)e->word_least,
		 (unsigned long long)e->word_most, e->gen);
	e->word_known = true;
	e->word_least = e->word_most = result + o->add;
}

/* All kinds */

void soak_dto_post(struct soak_thread *t, struct soak_ep *e, int op)
{
	struct soak_message plain = { .what = SW_PLAIN };
	uint32_t kind = rl_random(&t->seed) % 16;

	if ((soak_traffic & ST_RMR) && soak_window_act(t, e, op))
		return;
	if ((soak_traffic & ST_RDMA) && kind < 4 && !e->verifying)
		post_rdma(t, e, op);
	else if ((soak_traffic & ST_IMMED) && (kind & ~1u) == 4 &&
		 e->immeds_sent - e->immeds_confirmed < SOAK_IMMEDS)
		post_immed(t, e, op);
	else if ((soak_traffic & ST_ATOMICS) && (kind & ~1u) == 6)
		post_atomic(t, e, op);
	else
		soak_dto_send(t, e, op, &plain);
}

void soak_dto_succeeded(struct soak_thread *t, struct soak_ep *e, int op,
			const DAT_DTO_COMPLETION_EVENT_DATA *d,
			const DAT_IB_EXTENSION_EVENT_DATA *ext)
{
	struct soak_op *o = &e->op[op];

	if (o->kind == SK_RECV) {
		soak_dto_received(t, e, soak_at(t, e, (size_t)op * SOAK_MSG), d, ext);
		return;
	}
	RL_CHECK((ext != NULL) == (o->kind == SK_IMMED || o->kind == SK_ADD || o->kind == SK_SWAP),
		 "an operation of kind %d completes %s an event of the extension", (int)o->kind,
		 ext ? "by" : "without");
	RL_CHECK(d->transfered_length == o->len, "%u bytes posted, %llu transferred", o->len,
		 (unsigned long long)d->transfered_length);
	if (o->kind == SK_SEND || o->kind == SK_IMMED)
		e->sent_ok++;
	else if (o->kind == SK_ADD || o->kind == SK_SWAP)
		check_atomic(t, e, op, d);
	else
		t->count[SC_RDMAS]++;
	if (o->kind == SK_READ)
		RL_CHECK(rl_differs(soak_at(t, e, OFF_READ), o->len, o->seed) < 0,
			 "read back data other than was written");
}

void soak_dto_flushed(struct soak_ep *e, int op)
{
	const struct soak_op *o = &e->op[op];

	if ((o->kind != SK_ADD && o->kind != SK_SWAP) || o->to_sum)
		return;
	e->word_out--;
	e->word_most += o->add;
}
