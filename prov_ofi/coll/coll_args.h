/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of collective operations: each function takes those of one call, checks them, and
 * builds the schedule of the operation.
 *
 * The number of a wrong argument is its position in the macro of dat_ib_collectives.h.
 */
#ifndef DOFI_COLL_ARGS_H
#define DOFI_COLL_ARGS_H

#include <stdarg.h>

#include "base/dat_error.h"
#include "coll/coll_sched.h"

#define COLL_BAD(n) DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

/* coll_args.c */
/* Takes the arguments that all operations have at the end. False: bad flags. */
bool dofi_coll_args_tail(struct coll_op *op, va_list args);
/* True if no number of the array, one per member, is negative. */
bool dofi_coll_args_array_ok(const struct coll_group *g, const DAT_COUNT *array);
uint64_t dofi_coll_args_total(const struct coll_group *g, const DAT_COUNT *sizes);
DAT_RETURN dofi_coll_args_barrier(struct coll_op *op, va_list args);
DAT_RETURN dofi_coll_args_broadcast(struct coll_op *op, va_list args);
DAT_RETURN dofi_coll_args_scatter(struct coll_op *op, va_list args);
DAT_RETURN dofi_coll_args_scatterv(struct coll_op *op, va_list args);
DAT_RETURN dofi_coll_args_gather(struct coll_op *op, va_list args);
DAT_RETURN dofi_coll_args_gatherv(struct coll_op *op, va_list args);
DAT_RETURN dofi_coll_args_allgather(struct coll_op *op, va_list args);
DAT_RETURN dofi_coll_args_allgatherv(struct coll_op *op, va_list args);
DAT_RETURN dofi_coll_args_alltoall(struct coll_op *op, va_list args);
DAT_RETURN dofi_coll_args_alltoallv(struct coll_op *op, va_list args);

/* coll_args_reduce.c */
DAT_RETURN dofi_coll_args_reduce(struct coll_op *op, va_list args);
/* allreduce and scan. */
DAT_RETURN dofi_coll_args_reduce_all(struct coll_op *op, va_list args);
DAT_RETURN dofi_coll_args_reduce_scatter(struct coll_op *op, va_list args);

#endif
