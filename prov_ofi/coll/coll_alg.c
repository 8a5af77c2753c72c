/* SPDX-License-Identifier: BSD-2-Clause */
/* Barrier, broadcast, scatter and gather: recursive doubling, dissemination and binomial trees.
 *
 * In trees members have numbers relative to the root, which is 0: the parent of v is v without its
 * lowest bit, and the members below v are the next ones, as many as this bit. Long blocks take the
 * direct way instead, because each level of a tree copies them again; a long broadcast is scattered
 * by the tree and then collected in a ring.
 */
#include "coll/coll_sched.h"

/* From this size on a broadcast to more than two members is scattered and collected. */
#define BROADCAST_RING 131072u
/* Blocks of a scatter and a gather up to this size pass through a tree. */
#define TREE_BLOCK 4096u

/* Pairs that send to each other return credits and acknowledgements with their messages. */
void dofi_coll_build_barrier(struct coll_op *op)
{
	uint32_t n = op->group->size, self = op->group->self;
	bool pairs = !(n & (n - 1));

	for (uint32_t d = 1; d < n; d *= 2) {
		dofi_coll_send(op, pairs ? self ^ d : (self + d) % n, NULL, 0);
		dofi_coll_recv(op, pairs ? self ^ d : dofi_coll_before(self, d, n), NULL, 0);
		dofi_coll_round(op);
	}
}

/* A member's place in the tree. */
struct tree {
	uint32_t n, root, v;
	uint32_t span; /* its lowest bit: as many members, with itself, are below it */
};

static struct tree tree_of(const struct coll_op *op, uint32_t root)
{
	const struct coll_group *g = op->group;
	struct tree t = { .n = g->size, .root = root };

	t.v = dofi_coll_before(g->self, root, g->size);
	t.span = 1;
	while (t.span < t.n && !(t.v & t.span))
		t.span *= 2;
	return t;
}

static uint32_t tree_rank(const struct tree *t, uint32_t v)
{
	return (v + t->root) % t->n;
}

/* Number of members from v on, at most `span`. */
static uint32_t tree_count(const struct tree *t, uint32_t v, uint32_t span)
{
	return dofi_coll_min(span, t->n - v);
}

static void broadcast_tree(struct coll_op *op, char *buf, size_t size, uint32_t root)
{
	struct tree t = tree_of(op, root);

	if (t.v)
		dofi_coll_recv(op, tree_rank(&t, t.v - t.span), buf, size);
	dofi_coll_round(op);
	for (uint32_t d = t.span / 2; d; d /= 2)
		if (t.v + d < t.n)
			dofi_coll_send(op, tree_rank(&t, t.v + d), buf, size);
}

/* Parts are numbered relative to the root, like the members. */
static void broadcast_scattered(struct coll_op *op, char *buf, size_t size, uint32_t root)
{
	struct tree t = tree_of(op, root);
	uint32_t next = tree_rank(&t, (t.v + 1) % t.n);
	uint32_t former = tree_rank(&t, dofi_coll_before(t.v, 1, t.n));
	size_t at = dofi_coll_part(size, t.n, t.v), end;

	end = dofi_coll_part(size, t.n, t.v + tree_count(&t, t.v, t.span));
	if (t.v)
		dofi_coll_recv(op, tree_rank(&t, t.v - t.span), buf + at, end - at);
	dofi_coll_round(op);
	for (uint32_t d = t.span / 2; d; d /= 2) {
		if (t.v + d >= t.n)
			continue;
		at = dofi_coll_part(size, t.n, t.v + d);
		end = dofi_coll_part(size, t.n, t.v + d + tree_count(&t, t.v + d, d));
		dofi_coll_send(op, tree_rank(&t, t.v + d), buf + at, end - at);
	}
	dofi_coll_round(op);
	for (uint32_t k = 0; k + 1 < t.n; k++) {
		uint32_t out = dofi_coll_before(t.v, k, t.n);
		uint32_t in = dofi_coll_before(t.v, k + 1, t.n);

		at = dofi_coll_part(size, t.n, out);
		end = dofi_coll_part(size, t.n, out + 1);
		/* The root has everything. */
		if (next != root)
			dofi_coll_send(op, next, buf + at, end - at);
		at = dofi_coll_part(size, t.n, in);
		end = dofi_coll_part(size, t.n, in + 1);
		if (t.v)
			dofi_coll_recv(op, former, buf + at, end - at);
		dofi_coll_round(op);
	}
}

void dofi_coll_build_broadcast(struct coll_op *op, char *buf, size_t size, uint32_t root)
{
	bool ring = size >= BROADCAST_RING && op->group->size > 2;

	dofi_coll_region(op, buf, size, op->group->self != root);
	if (ring)
		broadcast_scattered(op, buf, size, root);
	else
		broadcast_tree(op, buf, size, root);
}

static void scatter_direct(struct coll_op *op, const char *from, char *to, size_t block,
			   uint32_t root)
{
	uint32_t n = op->group->size;

	if (op->group->self != root) {
		dofi_coll_recv(op, root, to, block);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		uint32_t rank = (root + i) % n;

		dofi_coll_send(op, rank, from + rank * block, block);
	}
	if (to)
		dofi_coll_copy(op, to, from + root * block, block);
}

static void scatter_tree(struct coll_op *op, const char *from, char *to, size_t block,
			 uint32_t root)
{
	struct tree t = tree_of(op, root);
	uint32_t count = tree_count(&t, t.v, t.span);
	char *tmp = dofi_coll_tmp(op, count * block);

	if (t.v)
		dofi_coll_recv(op, tree_rank(&t, t.v - t.span), tmp, count * block);
	for (uint32_t i = 0; !t.v && i < t.n; i++)
		dofi_coll_copy(op, tmp + i * block, from + tree_rank(&t, i) * block, block);
	dofi_coll_round(op);
	for (uint32_t d = t.span / 2; d; d /= 2)
		if (t.v + d < t.n)
			dofi_coll_send(op, tree_rank(&t, t.v + d), tmp + d * block,
				       tree_count(&t, t.v + d, d) * block);
	if (to)
		dofi_coll_copy(op, to, tmp, block);
}

void dofi_coll_build_scatter(struct coll_op *op, const char *from, char *to, size_t block,
			     uint32_t root)
{
	const struct coll_group *g = op->group;

	if (g->self == root)
		dofi_coll_region(op, from, g->size * block, false);
	else
		dofi_coll_region(op, to, block, true);
	if (block && block <= TREE_BLOCK && g->size > 2)
		scatter_tree(op, from, to, block, root);
	else
		scatter_direct(op, from, to, block, root);
}

static void gather_direct(struct coll_op *op, const char *from, char *to, size_t block,
			  uint32_t root)
{
	uint32_t n = op->group->size;

	if (op->group->self != root) {
		dofi_coll_send(op, root, from, block);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		uint32_t rank = (root + i) % n;

		dofi_coll_recv(op, rank, to + rank * block, block);
	}
	if (from)
		dofi_coll_copy(op, to + root * block, from, block);
}

static void gather_tree(struct coll_op *op, const char *from, char *to, size_t block, uint32_t root)
{
	struct tree t = tree_of(op, root);
	uint32_t count = tree_count(&t, t.v, t.span);
	char *tmp = dofi_coll_tmp(op, count * block);

	for (uint32_t d = 1; d < t.span; d *= 2)
		if (t.v + d < t.n)
			dofi_coll_recv(op, tree_rank(&t, t.v + d), tmp + d * block,
				       tree_count(&t, t.v + d, d) * block);
	if (t.v)
		dofi_coll_copy(op, tmp, from, block);
	dofi_coll_round(op);
	if (t.v) {
		dofi_coll_send(op, tree_rank(&t, t.v - t.span), tmp, count * block);
		return;
	}
	if (from)
		dofi_coll_copy(op, to + root * block, from, block);
	for (uint32_t i = 1; i < t.n; i++)
		dofi_coll_copy(op, to + tree_rank(&t, i) * block, tmp + i * block, block);
}

void dofi_coll_build_gather(struct coll_op *op, const char *from, char *to, size_t block,
			    uint32_t root)
{
	const struct coll_group *g = op->group;

	if (g->self == root)
		dofi_coll_region(op, to, g->size * block, true);
	else
		dofi_coll_region(op, from, block, false);
	if (block && block <= TREE_BLOCK && g->size > 2)
		gather_tree(op, from, to, block, root);
	else
		gather_direct(op, from, to, block, root);
}

/* The extent of parts in memory. */
static size_t parts_end(const struct coll_parts *p, uint32_t n)
{
	size_t end = 0;

	for (uint32_t i = 0; i < n; i++)
		if ((size_t)p->displ[i] + (size_t)p->size[i] > end)
			end = (size_t)p->displ[i] + (size_t)p->size[i];
	return end;
}

void dofi_coll_build_scatterv(struct coll_op *op, const struct coll_parts *from, char *to,
			      size_t size, uint32_t root)
{
	const struct coll_group *g = op->group;

	if (g->self != root) {
		dofi_coll_region(op, to, size, true);
		dofi_coll_recv(op, root, to, size);
		return;
	}
	dofi_coll_region(op, from->base, parts_end(from, g->size), false);
	for (uint32_t i = 1; i < g->size; i++) {
		uint32_t rank = (root + i) % g->size;

		dofi_coll_send(op, rank, from->base + from->displ[rank], (size_t)from->size[rank]);
	}
	if (to)
		dofi_coll_copy(op, to, from->base + from->displ[root], (size_t)from->size[root]);
}

void dofi_coll_build_gatherv(struct coll_op *op, const char *from, size_t size,
			     const struct coll_parts *to, uint32_t root)
{
	const struct coll_group *g = op->group;

	if (g->self != root) {
		dofi_coll_region(op, from, size, false);
		dofi_coll_send(op, root, from, size);
		return;
	}
	dofi_coll_region(op, to->base, parts_end(to, g->size), true);
	for (uint32_t i = 1; i < g->size; i++) {
		uint32_t rank = (root + i) % g->size;

		dofi_coll_recv(op, rank, to->base + to->displ[rank], (size_t)to->size[rank]);
	}
	if (from)
		dofi_coll_copy(op, to->base + to->displ[root], from, size);
}

/* ---- all to all ---- */

/* Members exchange with at most this number of others at a time. */
#define WINDOW_BYTES 131072u
/* An allgather of up to this size in all takes a logarithmic number of rounds. */
#define BRUCK_TOTAL 32768u

/* Bruck's algorithm: the blocks that a member has double in each round, in the order of the ranks
 * from its own on. */
static void allgather_bruck(struct coll_op *op, const char *from, char *to, size_t block)
{
	uint32_t n = op->group->size, self = op->group->self;
	char *tmp = dofi_coll_tmp(op, n * block);

	dofi_coll_copy(op, tmp, from, block);
	for (uint32_t d = 1; d < n; d *= 2) {
		size_t len = dofi_coll_min(d, n - d) * block;

		dofi_coll_send(op, dofi_coll_before(self, d, n), tmp, len);
		dofi_coll_recv(op, (self + d) % n, tmp + d * block, len);
		dofi_coll_round(op);
	}
	dofi_coll_copy(op, to + self * block, tmp, (n - self) * block);
	dofi_coll_copy(op, to, tmp + (n - self) * block, self * block);
}

static void allgather_ring(struct coll_op *op, char *to, size_t block)
{
	uint32_t n = op->group->size, self = op->group->self;

	for (uint32_t k = 0; k + 1 < n; k++) {
		dofi_coll_send(op, (self + 1) % n, to + dofi_coll_before(self, k, n) * block,
			       block);
		dofi_coll_recv(op, dofi_coll_before(self, 1, n),
			       to + dofi_coll_before(self, k + 1, n) * block, block);
		dofi_coll_round(op);
	}
}

void dofi_coll_build_allgather(struct coll_op *op, const char *from, char *to, size_t block)
{
	uint32_t n = op->group->size, self = op->group->self;

	if (!from)
		from = to + self * block;
	dofi_coll_region(op, to, n * block, true);
	if (n * block <= BRUCK_TOTAL) {
		allgather_bruck(op, from, to, block);
		return;
	}
	dofi_coll_copy(op, to + self * block, from, block);
	allgather_ring(op, to, block);
}

void dofi_coll_build_allgatherv(struct coll_op *op, const char *from, const struct coll_parts *to)
{
	uint32_t n = op->group->size, self = op->group->self;

	dofi_coll_region(op, to->base, parts_end(to, n), true);
	if (from)
		dofi_coll_copy(op, to->base + to->displ[self], from, (size_t)to->size[self]);
	for (uint32_t k = 0; k + 1 < n; k++) {
		uint32_t out = dofi_coll_before(self, k, n);
		uint32_t in = dofi_coll_before(self, k + 1, n);

		dofi_coll_send(op, (self + 1) % n, to->base + to->displ[out],
			       (size_t)to->size[out]);
		dofi_coll_recv(op, dofi_coll_before(self, 1, n), to->base + to->displ[in],
			       (size_t)to->size[in]);
		dofi_coll_round(op);
	}
}

/* Round k: to the k-th next member, from the k-th former one. As many at a time as their size
 * allows, the same number at all members. */
void dofi_coll_build_alltoall(struct coll_op *op, const char *from, char *to, size_t block)
{
	uint32_t n = op->group->size, self = op->group->self;
	uint32_t window = block ? (uint32_t)(WINDOW_BYTES / block) : n;

	dofi_coll_region(op, from, n * block, false);
	dofi_coll_region(op, to, n * block, true);
	dofi_coll_copy(op, to + self * block, from + self * block, block);
	for (uint32_t k = 1; k < n; k++) {
		uint32_t next = (self + k) % n, former = dofi_coll_before(self, k, n);

		dofi_coll_recv(op, former, to + former * block, block);
		dofi_coll_send(op, next, from + next * block, block);
		if (!window || !(k % window))
			dofi_coll_round(op);
	}
}

void dofi_coll_build_alltoallv(struct coll_op *op, const struct coll_parts *from,
			       const struct coll_parts *to)
{
	uint32_t n = op->group->size, self = op->group->self;
	size_t own =
		(size_t)(from->size[self] < to->size[self] ? from->size[self] : to->size[self]);

	dofi_coll_region(op, from->base, parts_end(from, n), false);
	dofi_coll_region(op, to->base, parts_end(to, n), true);
	dofi_coll_copy(op, to->base + to->displ[self], from->base + from->displ[self], own);
	for (uint32_t k = 1; k < n; k++) {
		uint32_t next = (self + k) % n, former = dofi_coll_before(self, k, n);

		dofi_coll_recv(op, former, to->base + to->displ[former], (size_t)to->size[former]);
		dofi_coll_send(op, next, from->base + from->displ[next], (size_t)from->size[next]);
		if (!(k % 8))
			dofi_coll_round(op);
	}
}
