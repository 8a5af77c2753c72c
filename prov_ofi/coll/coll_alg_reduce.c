/* SPDX-License-Identifier: BSD-2-Clause */
/* Reductions: trees and recursive doubling for few bytes; halving and rings for many.
 *
 * With halving and in a ring each member combines one part of the vector, so that each byte is sent
 * twice at most, whatever the number of members. All operations are commutative.
 */
#include <stdlib.h>

#include "coll/coll_sched.h"

/* From this size on, and with at least one element per member, the ring is used by reduce and
 * reduce_scatter. */
#define RING_SIZE 32768u
/* From this size on an allreduce is halved, */
#define HALVING_SIZE 16384u
/* and from this one on a pair halves it, which saves no bytes, and a ring is used unless the number
 * of members is a power of two: others send everything twice to begin and to end. */
#define ALLREDUCE_LONG 524288u

static bool use_ring(const struct coll_op *op, size_t size)
{
	return size >= RING_SIZE && op->group->size > 2 && size / op->elem >= op->group->size;
}

/* Parts of a vector of `size` bytes, in whole elements. */
static size_t part_at(const struct coll_op *op, size_t size, uint32_t i)
{
	return dofi_coll_part(size / op->elem, op->group->size, i) * op->elem;
}

/* Combines the parts of the vector `acc` of all members in n - 1 rounds; afterwards this member has
 * the result of part `self`. at[i]: where part i begins. */
static void ring_combine(struct coll_op *op, char *acc, char *tmp, const size_t *at)
{
	uint32_t n = op->group->size, self = op->group->self;

	for (uint32_t k = 0; k + 1 < n; k++) {
		uint32_t out = dofi_coll_before(self, (1 + k) % n, n);
		uint32_t in = dofi_coll_before(self, (2 + k) % n, n);
		size_t len = at[in + 1] - at[in];

		dofi_coll_send(op, (self + 1) % n, acc + at[out], at[out + 1] - at[out]);
		dofi_coll_recv(op, dofi_coll_before(self, 1, n), tmp, len);
		dofi_coll_round(op);
		dofi_coll_combine(op, acc + at[in], tmp, len);
	}
	dofi_coll_round(op);
}

/* Collects the parts in all members; part `self` is complete. */
static void ring_collect(struct coll_op *op, char *acc, const size_t *at)
{
	uint32_t n = op->group->size, self = op->group->self;

	for (uint32_t k = 0; k + 1 < n; k++) {
		uint32_t out = dofi_coll_before(self, k, n);
		uint32_t in = dofi_coll_before(self, k + 1, n);

		dofi_coll_send(op, (self + 1) % n, acc + at[out], at[out + 1] - at[out]);
		dofi_coll_recv(op, dofi_coll_before(self, 1, n), acc + at[in], at[in + 1] - at[in]);
		dofi_coll_round(op);
	}
}

/* The bounds of equal parts; NULL: no memory. */
static size_t *equal_parts(struct coll_op *op, size_t size)
{
	uint32_t n = op->group->size;
	size_t *at = malloc((n + 1) * sizeof(*at));

	op->no_memory |= !at;
	for (uint32_t i = 0; at && i <= n; i++)
		at[i] = part_at(op, size, i);
	return at;
}

static size_t longest_part(const size_t *at, uint32_t n)
{
	size_t most = 0;

	for (uint32_t i = 0; i < n; i++)
		if (at[i + 1] - at[i] > most)
			most = at[i + 1] - at[i];
	return most;
}

/* ---- reduce ---- */

static void reduce_tree(struct coll_op *op, const char *from, char *to, size_t size, uint32_t root)
{
	uint32_t n = op->group->size, v = dofi_coll_before(op->group->self, root, n);
	char *tmp = dofi_coll_tmp(op, v ? 2 * size : size);
	char *acc = v ? tmp + size : to;

	dofi_coll_copy(op, acc, from, size);
	for (uint32_t d = 1; d < n; d *= 2) {
		if (v & d) {
			dofi_coll_send(op, (v - d + root) % n, acc, size);
			return;
		}
		if (v + d >= n)
			continue;
		dofi_coll_recv(op, (v + d + root) % n, tmp, size);
		dofi_coll_round(op);
		dofi_coll_combine(op, acc, tmp, size);
	}
}

static void reduce_ring(struct coll_op *op, const char *from, char *to, size_t size, uint32_t root)
{
	uint32_t n = op->group->size, self = op->group->self;
	size_t *at = equal_parts(op, size), part;
	char *tmp, *acc;

	if (!at)
		return;
	part = longest_part(at, n);
	tmp = dofi_coll_tmp(op, self == root ? part : part + size);
	acc = self == root ? to : tmp + part;
	dofi_coll_copy(op, acc, from, size);
	ring_combine(op, acc, tmp, at);
	if (self != root)
		dofi_coll_send(op, root, acc + at[self], at[self + 1] - at[self]);
	for (uint32_t i = 1; self == root && i < n; i++) {
		uint32_t rank = (root + i) % n;

		dofi_coll_recv(op, rank, to + at[rank], at[rank + 1] - at[rank]);
	}
	free(at);
}

void dofi_coll_build_reduce(struct coll_op *op, const char *from, char *to, size_t size,
			    uint32_t root)
{
	if (op->group->self == root)
		dofi_coll_region(op, to, size, true);
	if (use_ring(op, size))
		reduce_ring(op, from, to, size, root);
	else
		reduce_tree(op, from, to, size, root);
}

/* ---- allreduce ---- */

/* A power of two of the members combine; of the others each has a partner among them, which takes
 * its operands before and returns the result after. */
struct core {
	uint32_t size, rest; /* their number; that of the others, which are members 0, 2, 4, ... */
	uint32_t id;         /* this member's place among them */
};

static uint32_t core_rank(const struct core *c, uint32_t id)
{
	return id < c->rest ? 2 * id + 1 : id + c->rest;
}

/* Each round combines everything with another member. */
static void core_doubling(struct coll_op *op, const struct core *c, char *acc, char *tmp,
			  size_t size)
{
	for (uint32_t d = 1; d < c->size; d *= 2) {
		uint32_t rank = core_rank(c, c->id ^ d);

		dofi_coll_recv(op, rank, tmp, size);
		dofi_coll_send(op, rank, acc, size);
		dofi_coll_round(op);
		dofi_coll_combine(op, acc, tmp, size);
	}
}

/* Begin of part i of a vector of `size` bytes; the core has as many parts as members. */
static size_t core_part(const struct coll_op *op, const struct core *c, size_t size, uint32_t i)
{
	return dofi_coll_part(size / op->elem, c->size, i) * op->elem;
}

/* Each round combines one half of the parts of the round before; then the rounds are taken back, to
 * collect the results. */
static void core_halving(struct coll_op *op, const struct core *c, char *acc, char *tmp,
			 size_t size)
{
	for (uint32_t d = c->size / 2; d; d /= 2) {
		uint32_t rank = core_rank(c, c->id ^ d), mine = c->id & ~(d - 1);
		size_t in = core_part(op, c, size, mine);
		size_t in_len = core_part(op, c, size, mine + d) - in;
		size_t out = core_part(op, c, size, mine ^ d);
		size_t out_len = core_part(op, c, size, (mine ^ d) + d) - out;

		dofi_coll_recv(op, rank, tmp, in_len);
		dofi_coll_send(op, rank, acc + out, out_len);
		dofi_coll_round(op);
		dofi_coll_combine(op, acc + in, tmp, in_len);
	}
	for (uint32_t d = 1; d < c->size; d *= 2) {
		uint32_t rank = core_rank(c, c->id ^ d), mine = c->id & ~(d - 1);
		size_t out = core_part(op, c, size, mine);
		size_t out_len = core_part(op, c, size, mine + d) - out;
		size_t in = core_part(op, c, size, mine ^ d);
		size_t in_len = core_part(op, c, size, (mine ^ d) + d) - in;

		dofi_coll_recv(op, rank, acc + in, in_len);
		dofi_coll_send(op, rank, acc + out, out_len);
		dofi_coll_round(op);
	}
}

static void allreduce_core(struct coll_op *op, char *acc, char *tmp, size_t size)
{
	uint32_t self = op->group->self;
	struct core c = { .size = 1 };

	while (c.size * 2 <= op->group->size)
		c.size *= 2;
	c.rest = op->group->size - c.size;
	if (self < 2 * c.rest && !(self & 1)) {
		dofi_coll_send(op, self + 1, acc, size);
		dofi_coll_round(op);
		dofi_coll_recv(op, self + 1, acc, size);
		dofi_coll_round(op);
		return;
	}
	if (self < 2 * c.rest) {
		dofi_coll_recv(op, self - 1, tmp, size);
		dofi_coll_round(op);
		dofi_coll_combine(op, acc, tmp, size);
	}
	c.id = self < 2 * c.rest ? self / 2 : self - c.rest;
	if (size < (c.size > 2 ? HALVING_SIZE : ALLREDUCE_LONG))
		core_doubling(op, &c, acc, tmp, size);
	else
		core_halving(op, &c, acc, tmp, size);
	if (self < 2 * c.rest)
		dofi_coll_send(op, self - 1, acc, size);
	dofi_coll_round(op);
}

static void allreduce_ring(struct coll_op *op, char *to, size_t size)
{
	size_t *at = equal_parts(op, size);
	char *tmp;

	if (!at)
		return;
	tmp = dofi_coll_tmp(op, longest_part(at, op->group->size));
	ring_combine(op, to, tmp, at);
	ring_collect(op, to, at);
	free(at);
}

void dofi_coll_build_allreduce(struct coll_op *op, const char *from, char *to, size_t size)
{
	uint32_t n = op->group->size;

	dofi_coll_region(op, to, size, true);
	dofi_coll_copy(op, to, from, size);
	if (size >= ALLREDUCE_LONG && (n & (n - 1)) && use_ring(op, size))
		allreduce_ring(op, to, size);
	else
		allreduce_core(op, to, dofi_coll_tmp(op, size), size);
}

/* ---- reduce_scatter ---- */

void dofi_coll_build_reduce_scatter(struct coll_op *op, const char *from, char *to,
				    const DAT_COUNT *sizes, size_t total)
{
	uint32_t n = op->group->size, self = op->group->self;
	size_t *at = malloc((n + 1) * sizeof(*at)), part;
	char *tmp;

	op->no_memory |= !at;
	if (!at)
		return;
	at[0] = 0;
	for (uint32_t i = 0; i < n; i++)
		at[i + 1] = at[i] + (size_t)sizes[i];
	part = total < RING_SIZE ? total : longest_part(at, n);
	tmp = dofi_coll_tmp(op, part + total);
	dofi_coll_copy(op, tmp + part, from, total);
	if (total < RING_SIZE)
		allreduce_core(op, tmp + part, tmp, total);
	else
		ring_combine(op, tmp + part, tmp, at);
	dofi_coll_copy(op, to, tmp + part + at[self], at[self + 1] - at[self]);
	free(at);
}

/* ---- scan ---- */

/* In each round a member learns what another group of as many members has combined, and adds it to
 * its result if their ranks are lower. */
void dofi_coll_build_scan(struct coll_op *op, const char *from, char *to, size_t size)
{
	uint32_t n = op->group->size, self = op->group->self;
	char *tmp = dofi_coll_tmp(op, 2 * size), *all = tmp + size;

	dofi_coll_copy(op, to, from, size);
	dofi_coll_copy(op, all, from, size);
	for (uint32_t d = 1; d < n; d *= 2) {
		uint32_t other = self ^ d;

		if (other >= n)
			continue;
		dofi_coll_recv(op, other, tmp, size);
		dofi_coll_send(op, other, all, size);
		dofi_coll_round(op);
		dofi_coll_combine(op, all, tmp, size);
		if (other < self)
			dofi_coll_combine(op, to, tmp, size);
	}
}
