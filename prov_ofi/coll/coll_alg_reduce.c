/* SPDX-License-Identifier: BSD-2-Clause */
/* Reductions: trees and recursive doubling for few bytes, rings for many.
 *
 * In a ring each member combines one part of the vector, so that each byte is sent twice at most,
 * whatever the number of members. All operations are commutative.
 */
#include <stdlib.h>

#include "coll/coll_sched.h"

/* From this size on, and with at least one element per member, the ring is used. */
#define RING_SIZE 32768u

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

/* Recursive doubling among a power of two of the members; of the others each has a partner, which
 * takes its part before and returns the result after. */
static void doubling(struct coll_op *op, char *acc, char *tmp, size_t size)
{
	uint32_t n = op->group->size, self = op->group->self, p2 = 1, rest, id;

	while (p2 * 2 <= n)
		p2 *= 2;
	rest = n - p2;
	if (self < 2 * rest && !(self & 1)) {
		dofi_coll_send(op, self + 1, acc, size);
		dofi_coll_round(op);
		dofi_coll_recv(op, self + 1, acc, size);
		dofi_coll_round(op);
		return;
	}
	if (self < 2 * rest) {
		dofi_coll_recv(op, self - 1, tmp, size);
		dofi_coll_round(op);
		dofi_coll_combine(op, acc, tmp, size);
	}
	id = self < 2 * rest ? self / 2 : self - rest;
	for (uint32_t d = 1; d < p2; d *= 2) {
		uint32_t other = id ^ d;
		uint32_t rank = other < rest ? 2 * other + 1 : other + rest;

		dofi_coll_recv(op, rank, tmp, size);
		dofi_coll_send(op, rank, acc, size);
		dofi_coll_round(op);
		dofi_coll_combine(op, acc, tmp, size);
	}
	if (self < 2 * rest)
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
	dofi_coll_region(op, to, size, true);
	dofi_coll_copy(op, to, from, size);
	if (use_ring(op, size))
		allreduce_ring(op, to, size);
	else
		doubling(op, to, dofi_coll_tmp(op, size), size);
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
		doubling(op, tmp + part, tmp, total);
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
