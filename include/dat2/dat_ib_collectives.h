/* SPDX-License-Identifier: BSD-2-Clause */
/* The collective operations that the InfiniBand extension names. */
#ifndef _DAT_IB_COLLECTIVES_H_
#define _DAT_IB_COLLECTIVES_H_

#include <dat2/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Collectives. */
typedef DAT_HANDLE DAT_IB_COLLECTIVE_HANDLE;		/* a group */
typedef unsigned int DAT_IB_COLLECTIVE_RANK;		/* place in a group */
typedef unsigned int DAT_IB_COLLECTIVE_ID;		/* number of a group */
typedef void *DAT_IB_COLLECTIVE_MEMBER;			/* what identifies a process */

/* Event of a collective. */
typedef struct dat_ib_collective_event_data {
	DAT_HANDLE handle;	/* the group */
	DAT_CONTEXT context;	/* user_context of the operation */
} DAT_IB_COLLECTIVE_EVENT_DATA;

/* How the processes of a collective group lie on nodes. */
typedef struct dat_ib_collective_group {
	int local_size;		/* processes on this node */
	int local_rank;		/* place of this one among them */
	int *local_ranks;	/* their ranks in the group */
	int external_size;	/* nodes */
	int external_rank;	/* place of this node among them */
	int *external_ranks;	/* ranks of one process per node */
	int *intranode_table;	/* per rank: place on its node */
	int *internode_table;	/* per rank: its node */
	int is_comm_world;	/* nonzero for the group of all processes */
} DAT_IB_COLLECTIVE_GROUP;

/* Elements of reductions. */
typedef enum dat_ib_collective_data_type {
	DAT_IB_COLLECTIVE_TYPE_INT8 = 0,		/* signed, 8 bits */
	DAT_IB_COLLECTIVE_TYPE_UINT8 = 1,		/* unsigned, 8 bits */
	DAT_IB_COLLECTIVE_TYPE_INT16 = 2,		/* signed, 16 bits */
	DAT_IB_COLLECTIVE_TYPE_UINT16 = 3,		/* unsigned, 16 bits */
	DAT_IB_COLLECTIVE_TYPE_INT32 = 4,		/* signed, 32 bits */
	DAT_IB_COLLECTIVE_TYPE_UINT32 = 5,		/* unsigned, 32 bits */
	DAT_IB_COLLECTIVE_TYPE_INT64 = 6,		/* signed, 64 bits */
	DAT_IB_COLLECTIVE_TYPE_UINT64 = 7,		/* unsigned, 64 bits */
	DAT_IB_COLLECTIVE_TYPE_FLOAT = 8,		/* float */
	DAT_IB_COLLECTIVE_TYPE_DOUBLE = 9,		/* double */
	DAT_IB_COLLECTIVE_TYPE_LONG_DOUBLE = 10,	/* long double */
	DAT_IB_COLLECTIVE_TYPE_SHORT_INT = 11,		/* pair of short and int */
	DAT_IB_COLLECTIVE_TYPE_2INT = 12,		/* pair of ints */
	DAT_IB_COLLECTIVE_TYPE_FLOAT_INT = 13,		/* pair of float and int */
	DAT_IB_COLLECTIVE_TYPE_LONG_INT = 14,		/* pair of long and int */
	DAT_IB_COLLECTIVE_TYPE_DOUBLE_INT = 15		/* pair of double and int */
} DAT_IB_COLLECTIVE_DATA_TYPE;

/* Operations of reductions. */
typedef enum dat_ib_collective_reduce_data_op {
	DAT_IB_COLLECTIVE_REDUCE_OP_MAX = 0,		/* greatest */
	DAT_IB_COLLECTIVE_REDUCE_OP_MIN = 1,		/* least */
	DAT_IB_COLLECTIVE_REDUCE_OP_SUM = 2,		/* sum */
	DAT_IB_COLLECTIVE_REDUCE_OP_PROD = 3,		/* product */
	DAT_IB_COLLECTIVE_REDUCE_OP_LAND = 4,		/* logical and */
	DAT_IB_COLLECTIVE_REDUCE_OP_BAND = 5,		/* bitwise and */
	DAT_IB_COLLECTIVE_REDUCE_OP_LOR = 6,		/* logical or */
	DAT_IB_COLLECTIVE_REDUCE_OP_BOR = 7,		/* bitwise or */
	DAT_IB_COLLECTIVE_REDUCE_OP_LXOR = 8,		/* logical exclusive or */
	DAT_IB_COLLECTIVE_REDUCE_OP_BXOR = 9,		/* bitwise exclusive or */
	DAT_IB_COLLECTIVE_REDUCE_OP_MAXLOC = 10,	/* greatest and where it is */
	DAT_IB_COLLECTIVE_REDUCE_OP_MINLOC = 11		/* least and where it is */
} DAT_IB_COLLECTIVE_REDUCE_DATA_OP;

/* Names of provider attributes; the value is TRUE or FALSE. */
#define DAT_IB_COLL_SET_CLOCK		"DAT_COLL_SET_CLOCK"
#define DAT_IB_COLL_READ_CLOCK		"DAT_COLL_READ_CLOCK"
#define DAT_IB_COLL_BROADCAST		"DAT_COLL_BROADCAST"
#define DAT_IB_COLL_BARRIER		"DAT_COLL_BARRIER"
#define DAT_IB_COLL_SCATTER		"DAT_COLL_SCATTER"
#define DAT_IB_COLL_SCATTERV		"DAT_COLL_SCATTERV"
#define DAT_IB_COLL_GATHER		"DAT_COLL_GATHER"
#define DAT_IB_COLL_GATHERV		"DAT_COLL_GATHERV"
#define DAT_IB_COLL_ALLGATHER		"DAT_COLL_ALLGATHER"
#define DAT_IB_COLL_ALLGATHERV		"DAT_COLL_ALLGATHERV"
#define DAT_IB_COLL_ALLTOALL		"DAT_COLL_ALLTOALL"
#define DAT_IB_COLL_ALLTOALLV		"DAT_COLL_ALLTOALLV"
#define DAT_IB_COLL_REDUCE		"DAT_COLL_REDUCE"
#define DAT_IB_COLL_ALLREDUCE		"DAT_COLL_ALLREDUCE"
#define DAT_IB_COLL_REDUCE_SCATTER	"DAT_COLL_REDUCE_SCATTER"
#define DAT_IB_COLL_SCAN		"DAT_COLL_SCAN"

/*
 * Optional, and seldom offered: providers without them answer DAT_NOT_IMPLEMENTED. The macros
 * pass their arguments on in the order in which they stand, without the handle.
 *
 *	ia_handle		DAT_IA_HANDLE
 *	coll_handle		DAT_IB_COLLECTIVE_HANDLE of a group
 *	progress_func		called to move operations on
 *	member, members		DAT_IB_COLLECTIVE_MEMBER, and an array of them
 *	group_size, self	members of the group, and the own rank
 *	group_id, group_info	DAT_IB_COLLECTIVE_ID, and DAT_IB_COLLECTIVE_GROUP *
 *	evd, pd			where completions go, and the PZ
 *	sendbuf, recvbuf, buf	memory; sizes in bytes, displacements from its start
 *	op, type		of a reduction
 *	root			rank that sends to, or receives from, all
 *	user_context		DAT_CONTEXT, comes back in the event
 *	flags			DAT_COMPLETION_FLAGS
 *
 * [DAT 2.0, IB extension: dat_ib_collective_*]
 */
#define dat_ib_collective_create_member(ia_handle, progress_func, member, member_size) \
	dat_extension_op((ia_handle), DAT_IB_COLLECTIVE_CREATE_MEMBER_OP, \
			 (progress_func), (member), (member_size))

#define dat_ib_collective_free_member(ia_handle, member) \
	dat_extension_op((ia_handle), DAT_IB_COLLECTIVE_FREE_MEMBER_OP, (member))

#define dat_ib_collective_create_group(members, group_size, self, group_id, group_info, \
				       evd, pd, user_context) \
	dat_extension_op((evd), DAT_IB_COLLECTIVE_CREATE_GROUP_OP, (members), (group_size), \
			 (self), (group_id), (group_info), (pd), (user_context))

#define dat_ib_collective_free_group(coll_handle) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_FREE_GROUP_OP)

#define dat_ib_collective_set_clock(coll_handle, clock_value, user_context) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_SET_CLOCK_OP, \
			 (DAT_UINT64)(clock_value), (user_context))

#define dat_ib_collective_read_clock(coll_handle, clock_value) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_READ_CLOCK_OP, (clock_value))

#define dat_ib_collective_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsize, \
				  root, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_SCATTER_OP, (sendbuf), (sendsize), \
			 (recvbuf), (recvsize), (root), (user_context), (flags))

#define dat_ib_collective_scatterv(coll_handle, sendbuf, sendsizes, displs, recvbuf, \
				   recvsize, root, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_SCATTERV_OP, (sendbuf), (sendsizes), \
			 (displs), (recvbuf), (recvsize), (root), (user_context), (flags))

#define dat_ib_collective_gather(coll_handle, sendbuf, sendsize, recvbuf, recvsize, \
				 root, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_GATHER_OP, (sendbuf), (sendsize), \
			 (recvbuf), (recvsize), (root), (user_context), (flags))

#define dat_ib_collective_gatherv(coll_handle, sendbuf, sendsize, recvbufs, recvsizes, \
				  displs, root, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_GATHERV_OP, (sendbuf), (sendsize), \
			 (recvbufs), (recvsizes), (displs), (root), (user_context), (flags))

#define dat_ib_collective_allgather(coll_handle, sendbuf, sendsize, recvbuf, recvsize, \
				    user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_ALLGATHER_OP, (sendbuf), \
			 (sendsize), (recvbuf), (recvsize), (user_context), (flags))

#define dat_ib_collective_allgatherv(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, \
				     displs, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_ALLGATHERV_OP, (sendbuf), \
			 (sendsize), (recvbuf), (recvsizes), (displs), (user_context), (flags))

#define dat_ib_collective_alltoall(coll_handle, sendbuf, sendsize, recvbuf, recvsize, \
				   user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_ALLTOALL_OP, (sendbuf), \
			 (sendsize), (recvbuf), (recvsize), (user_context), (flags))

#define dat_ib_collective_alltoallv(coll_handle, sendbuf, sendsizes, senddspls, recvbuf, \
				    recvsizes, recvdispls, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_ALLTOALLV_OP, (sendbuf), \
			 (sendsizes), (senddspls), (recvbuf), (recvsizes), (recvdispls), \
			 (user_context), (flags))

#define dat_ib_collective_reduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, \
				 type, root, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_REDUCE_OP, (sendbuf), (sendsize), \
			 (recvbuf), (recvsize), (op), (type), (root), (user_context), (flags))

#define dat_ib_collective_allreduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, \
				    type, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_ALLREDUCE_OP, (sendbuf), \
			 (sendsize), (recvbuf), (recvsize), (op), (type), (user_context), \
			 (flags))

#define dat_ib_collective_reduce_scatter(coll_handle, sendbuf, sendsize, recvbuf, \
					 recvsizes, op, type, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP, (sendbuf), \
			 (sendsize), (recvbuf), (recvsizes), (op), (type), (user_context), \
			 (flags))

#define dat_ib_collective_scan(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, \
			       type, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_SCAN_OP, (sendbuf), (sendsize), \
			 (recvbuf), (recvsize), (op), (type), (user_context), (flags))

#define dat_ib_collective_broadcast(coll_handle, buf, size, root, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_BROADCAST_OP, (buf), (size), \
			 (root), (user_context), (flags))

#define dat_ib_collective_barrier(coll_handle, user_context, flags) \
	dat_extension_op((coll_handle), DAT_IB_COLLECTIVE_BARRIER_OP, (user_context), (flags))

#ifdef __cplusplus
}
#endif

#endif /* _DAT_IB_COLLECTIVES_H_ */
