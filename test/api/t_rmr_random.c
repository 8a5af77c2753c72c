/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests random sequences of binds and accesses: of several windows, which may overlap, on regions
 * of several sizes. After each step all regions are compared with what they must contain. */
#include "rmr.h"

#define REGIONS 4
#define WINDOWS 6
#define STEPS 400
#define LONGEST 400000

struct window {
	DAT_RMR_HANDLE rmr;
	const struct buf *region; /* NULL: not bound */
	char *image;              /* that of the region */
	size_t off, len;
	int priv;
	DAT_RMR_CONTEXT key, former; /* 0: none */
};

struct state {
	struct pair p;
	struct buf region[REGIONS];
	char *image[REGIONS];
	struct window window[WINDOWS];
	unsigned int seed;
};

static size_t below(struct state *s, size_t n)
{
	return (size_t)rand_r(&s->seed) % n;
}

static void state_open(struct state *s, unsigned int seed)
{
	static const size_t sizes[REGIONS] = { 1, 300, 8192, LONGEST };

	s->seed = seed;
	pair_up(&s->p);
	buf_free(&s->p.a.buf);
	buf_make(&s->p.a.buf, &s->p.node, LONGEST, PRIV_ALL);
	for (int i = 0; i < REGIONS; i++) {
		buf_make(&s->region[i], &s->p.node, sizes[i], PRIV_LOCAL);
		s->image[i] = malloc(sizes[i]);
		ASSERT(s->image[i] != NULL);
		fill(s->image[i], sizes[i], seed);
		memcpy(s->region[i].mem, s->image[i], sizes[i]);
	}
	for (int i = 0; i < WINDOWS; i++) {
		memset(&s->window[i], 0, sizeof(s->window[i]));
		OK(dat_rmr_create(s->p.node.pz, &s->window[i].rmr));
	}
}

static void state_close(struct state *s)
{
	for (int i = 0; i < WINDOWS; i++)
		OK(dat_rmr_free(s->window[i].rmr));
	for (int i = 0; i < REGIONS; i++) {
		buf_free(&s->region[i]);
		free(s->image[i]);
	}
	pair_close(&s->p);
}

static void state_check(const struct state *s)
{
	for (int i = 0; i < REGIONS; i++)
		ASSERT_MEM(s->region[i].mem, s->image[i], s->region[i].len);
}

static void bind_one(struct state *s, struct window *w)
{
	size_t i = below(s, REGIONS);

	w->region = &s->region[i];
	w->image = s->image[i];
	w->off = below(s, w->region->len);
	w->len = 1 + below(s, w->region->len - w->off);
	w->priv = (int[]){ READS, WRITES, READS | WRITES }[below(s, 3)];
	w->former = w->key;
	w->key = window(&s->p.b, w->rmr, w->region, w->off, w->len, w->priv);
	ASSERT(w->key != w->former);
}

static void unbind_one(struct state *s, struct window *w)
{
	if (!w->region)
		return;
	OK(post_unbind(&s->p.b, w->rmr, w->region, 6));
	EV_BIND(s->p.b.req, w->rmr, 6);
	w->region = NULL;
	w->former = w->key;
	w->key = 0;
}

static void access_inside(struct state *s, const struct window *w)
{
	enum op op = below(s, 2) ? OP_WRITE : OP_READ;
	size_t at, len;
	char *mem;

	if (!w->region || !(w->priv & (op == OP_WRITE ? WRITES : READS)))
		return;
	/* All of it, and its first and last bytes, too. */
	at = below(s, 4) ? below(s, w->len) : 0;
	len = below(s, 4) ? 1 + below(s, w->len - at) : w->len - at;
	mem = w->region->mem + w->off + at;
	allowed(&s->p.a, op, mem, (uintptr_t)mem, len, w->key);
	memcpy(w->image + w->off + at, mem, len);
}

/* Bytes beyond either end, another right, or a key that has ended. The part of a write that is
 * inside may arrive. Soft-iWARP serves reads of memory without the right to read. */
static void access_in_vain(struct state *s, const struct window *w)
{
	enum op op = below(s, 2) ? OP_WRITE : OP_READ;
	DAT_RMR_CONTEXT key = w->key;
	size_t len, before = 0, after = 0;
	uintptr_t from;

	if (!w->region)
		return;
	from = (uintptr_t)w->region->mem + w->off;
	if (w->former && !below(s, 3))
		key = w->former;
	else if (w->priv == (READS | WRITES) || below(s, 2))
		*(below(s, 2) ? &before : &after) = below(s, 2) ? 1 : 1 + below(s, 100);
	else if (w->priv == READS)
		op = OP_WRITE;
	else if (fabric_is("iwarp"))
		return;
	else
		op = OP_READ;
	len = before + w->len + after;
	if (len > LONGEST)
		return;
	fill(s->p.a.buf.mem, len, s->seed);
	refused(&s->p, op, from - before, len, key);
	if (key == w->key && op == OP_WRITE && (w->priv & WRITES))
		memcpy(w->image + w->off, w->region->mem + w->off, w->len);
}

static void run_steps(unsigned int seed)
{
	struct state s;

	state_open(&s, seed);
	for (int i = 0; i < STEPS; i++) {
		struct window *w = &s.window[below(&s, WINDOWS)];
		size_t kind = below(&s, 100);

		if (kind < 30)
			bind_one(&s, w);
		else if (kind < 35)
			unbind_one(&s, w);
		else if (kind < 95)
			access_inside(&s, w);
		else
			access_in_vain(&s, w);
		state_check(&s);
	}
	state_close(&s);
}

TEST_LIMIT(rmr_random, binds_and_accesses, 60)
{
	for (unsigned int seed = 1; seed <= (DT_SANITIZED ? 1 : 4); seed++)
		run_steps(seed);
}
