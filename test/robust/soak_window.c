/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Implements the memory windows of the soak test: an EP binds its RMR to a part of its memory and
 * sends the key; the peer uses it and returns it, with or without invalidation; then the owner
 * binds the RMR to another part, or unbinds it.
 */
#include "soak.h"

#define WINDOW_RIGHTS (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* A length of 0 unbinds. */
static void post_bind(struct soak_thread *t, struct soak_ep *e, int op, size_t off, uint32_t len)
{
	DAT_LMR_TRIPLET seg = rd_segment(&t->mem, e->base + OFF_WINDOW + off, len);
	DAT_RMR_COOKIE cookie = { .as_64 = soak_cookie(e, op) };
	DAT_RMR_CONTEXT key = 0;
	DAT_RETURN ret;

	ret = dat_rmr_bind(e->window.rmr, t->mem.lmr, &seg,
			   len ? (DAT_MEM_PRIV_FLAGS)WINDOW_RIGHTS : (DAT_MEM_PRIV_FLAGS)0,
			   DAT_VA_TYPE_VA, e->ep, cookie, DAT_COMPLETION_DEFAULT_FLAG, &key);
	if (!soak_dto_posted(ret, "dat_rmr_bind"))
		return;
	soak_ep_record(e, op, SK_BIND, len, 0);
	if (!len) {
		e->window.bound = false;
		return;
	}
	RL_CHECK(key && key != e->window.key, "a window has the key 0x%x, and had 0x%x before", key,
		 e->window.key);
	e->window.key = key;
	e->window.va = seg.virtual_address;
	e->window.len = len;
	e->window.state = SN_BOUND;
}

static void return_window(struct soak_thread *t, struct soak_ep *e, int op)
{
	struct soak_message m = { .what = rl_random(&t->seed) & 1 ? SW_INVALIDATE : SW_RETURN,
				  .key = e->grant.key };
	uint32_t before = e->next_send;

	soak_dto_send(t, e, op, &m);
	if (e->next_send == before)
		return;
	e->grant.key = 0;
	e->written[1] = 0;
}

static void grant_window(struct soak_thread *t, struct soak_ep *e, int op)
{
	struct soak_message m = { .what = SW_GRANT,
				  .key = e->window.key,
				  .window_len = e->window.len,
				  .window_va = e->window.va };
	uint32_t before = e->next_send;

	soak_dto_send(t, e, op, &m);
	if (e->next_send != before)
		e->window.state = SN_GRANTED;
}

bool soak_window_act(struct soak_thread *t, struct soak_ep *e, int op)
{
	uint32_t off;

	if (e->grant.key && !e->grant.uses && !e->verifying) {
		return_window(t, e, op);
		return true;
	}
	if (e->window.state == SN_BOUND) {
		grant_window(t, e, op);
		return true;
	}
	if (e->window.state != SN_FREE || rl_random(&t->seed) & 1)
		return false;
	off = rl_random(&t->seed) % SOAK_AREA;
	if (e->window.bound && rl_random(&t->seed) % 3 == 0)
		post_bind(t, e, op, 0, 0);
	else
		post_bind(t, e, op, off, 1 + rl_random(&t->seed) % (SOAK_AREA - off));
	return true;
}

void soak_window_received(struct soak_thread *t, struct soak_ep *e, const struct soak_message *m,
			  const DAT_DTO_COMPLETION_EVENT_DATA *d)
{
	if (m->what == SW_INVALIDATE)
		RL_CHECK(d->operation == DAT_DTO_RECEIVE_WITH_INVALIDATE &&
				 d->rmr_context == m->key,
			 "message %u invalidates key 0x%x; it has operation %d and key 0x%x",
			 m->seq, m->key, (int)d->operation, d->rmr_context);
	else
		RL_CHECK(d->operation == DAT_DTO_RECEIVE, "message %u has operation %d", m->seq,
			 (int)d->operation);
	if (m->what == SW_GRANT) {
		RL_CHECK(!e->grant.key, "a second window is granted");
		e->grant.key = m->key;
		e->grant.len = m->window_len;
		e->grant.va = m->window_va;
		e->grant.uses = 1 + (int)(rl_random(&t->seed) % 6);
	}
	if (m->what != SW_RETURN && m->what != SW_INVALIDATE)
		return;
	RL_CHECK(e->window.state == SN_GRANTED && e->window.key == m->key,
		 "the window 0x%x is returned, 0x%x was granted", m->key, e->window.key);
	e->window.state = SN_FREE;
	t->count[SC_WINDOWS]++;
	if (m->what == SW_INVALIDATE) {
		e->window.bound = false;
		t->count[SC_INVALIDATED]++;
	}
}

void soak_window_bound(struct soak_thread *t, struct soak_ep *e, int op)
{
	(void)t;
	/* The peer may have invalidated the key before this completion was read. */
	if (e->op[op].len && e->window.state != SN_FREE)
		e->window.bound = true;
}
