/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares the collectives that the benchmark measures; coll_dat.c and coll_mpi.c have them. */
#ifndef TEST_PERF_COLL_H
#define TEST_PERF_COLL_H

#include <stddef.h>

/* Starts the processes; returns in each of them. */
void coll_start(int argc, char **argv, int *rank, int *size);
void coll_end(void);

/* Each returns when the operation is complete in this process. Lengths in bytes. */
void coll_barrier(void);
void coll_broadcast(void *buf, size_t len);                 /* from rank 0 */
void coll_allreduce(const void *in, void *out, size_t len); /* sum of 32-bit integers */
void coll_alltoall(const void *in, void *out, size_t len);  /* to each process */

__attribute__((noreturn, format(printf, 1, 2))) void coll_fail(const char *format, ...);

#endif
