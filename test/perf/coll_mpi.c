/* SPDX-License-Identifier: BSD-2-Clause */
/* The collectives of the benchmark by an MPI. */
#include <mpi.h>
#include <stdint.h>

#include "coll.h"

void coll_start(int argc, char **argv, int *rank, int *size)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, rank);
	MPI_Comm_size(MPI_COMM_WORLD, size);
}

void coll_end(void)
{
	MPI_Finalize();
}

void coll_barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

void coll_broadcast(void *buf, size_t len)
{
	MPI_Bcast(buf, (int)len, MPI_BYTE, 0, MPI_COMM_WORLD);
}

void coll_allreduce(const void *in, void *out, size_t len)
{
	MPI_Allreduce(in, out, (int)(len / sizeof(uint32_t)), MPI_UINT32_T, MPI_SUM,
		      MPI_COMM_WORLD);
}

void coll_alltoall(const void *in, void *out, size_t len)
{
	MPI_Alltoall(in, (int)len, MPI_BYTE, out, (int)len, MPI_BYTE, MPI_COMM_WORLD);
}
