/* SPDX-License-Identifier: BSD-2-Clause */
/* Building the schedule of an operation.
 *
 * Memory that steps name must be a declared region, or part of the temporary memory, if a message
 * can be long. A lack of memory is recorded in the operation and reported when it is posted.
 */
#ifndef DOFI_COLL_SCHED_H
#define DOFI_COLL_SCHED_H

#include "coll/coll_int.h"

/* Sends to, or receives from, another member. */
void dofi_coll_send(struct coll_op *op, uint32_t rank, const char *from, size_t len);
void dofi_coll_recv(struct coll_op *op, uint32_t rank, char *to, size_t len);
void dofi_coll_copy(struct coll_op *op, char *to, const char *from, size_t len);
/* Combines `from` into `to` by the operation's function. */
void dofi_coll_combine(struct coll_op *op, char *to, const char *from, size_t len);
/* What follows starts when all steps so far are done. */
void dofi_coll_round(struct coll_op *op);
void dofi_coll_clock(struct coll_op *op, uint32_t rank, bool adjust);

/* Allocates the temporary memory; once per schedule. NULL: none, or of length 0. */
char *dofi_coll_tmp(struct coll_op *op, size_t len);
/* Declares memory of the consumer. `writable`: it may be received into. */
void dofi_coll_region(struct coll_op *op, const void *base, size_t len, bool writable);

/* Part i of `count` in `n` nearly equal parts: where it begins; part n begins at the end. */
static inline size_t dofi_coll_part(size_t count, uint32_t n, uint32_t i)
{
	return count / n * i + (count % n < i ? count % n : i);
}

/* (rank + n - back) modulo n, for back <= n. */
static inline uint32_t dofi_coll_before(uint32_t rank, uint32_t back, uint32_t n)
{
	return (rank + n - back) % n;
}

static inline uint32_t dofi_coll_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* coll_reduce.c: the function of a reduction; NULL: the type does not allow it. *size: bytes of
 * an element. */
coll_reduce_fn *dofi_coll_reduction(DAT_IB_COLLECTIVE_REDUCE_DATA_OP op,
				    DAT_IB_COLLECTIVE_DATA_TYPE type, size_t *size);

/* Algorithms. Sizes are in bytes; `block` is the part of one member. */
void dofi_coll_build_barrier(struct coll_op *op);
void dofi_coll_build_broadcast(struct coll_op *op, char *buf, size_t size, uint32_t root);
void dofi_coll_build_scatter(struct coll_op *op, const char *from, char *to, size_t block,
			     uint32_t root);
void dofi_coll_build_gather(struct coll_op *op, const char *from, char *to, size_t block,
			    uint32_t root);
void dofi_coll_build_allgather(struct coll_op *op, const char *from, char *to, size_t block);

/* Parts of different sizes: that of member i has size[i] bytes at base + displ[i]. */
struct coll_parts {
	char *base;
	const DAT_COUNT *size, *displ;
};

void dofi_coll_build_scatterv(struct coll_op *op, const struct coll_parts *from, char *to,
			      size_t size, uint32_t root);
void dofi_coll_build_gatherv(struct coll_op *op, const char *from, size_t size,
			     const struct coll_parts *to, uint32_t root);
void dofi_coll_build_allgatherv(struct coll_op *op, const char *from, const struct coll_parts *to);
void dofi_coll_build_alltoall(struct coll_op *op, const char *from, char *to, size_t block);
void dofi_coll_build_alltoallv(struct coll_op *op, const struct coll_parts *from,
			       const struct coll_parts *to);

/* Reductions; from == to: in place. */
void dofi_coll_build_reduce(struct coll_op *op, const char *from, char *to, size_t size,
			    uint32_t root);
void dofi_coll_build_allreduce(struct coll_op *op, const char *from, char *to, size_t size);
void dofi_coll_build_reduce_scatter(struct coll_op *op, const char *from, char *to,
				    const DAT_COUNT *sizes, size_t total);
void dofi_coll_build_scan(struct coll_op *op, const char *from, char *to, size_t size);

#endif
