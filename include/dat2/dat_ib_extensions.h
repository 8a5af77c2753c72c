/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations that InfiniBand-like providers offer beyond DAT 2.0. */
#ifndef _DAT_IB_EXTENSIONS_H_
#define _DAT_IB_EXTENSIONS_H_

#include <dat2/udat.h>
#include <dat2/dat_ib_collectives.h>
#include <dat2/dat_ib_counters.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Operations go through dat_extension_op(); the macros below supply its arguments. Their
 * events have numbers from DAT_IB_EXTENSION_RANGE_BASE up, and DAT_EVENT.event_extension_data
 * holds a DAT_IB_EXTENSION_EVENT_DATA. An IA that offers them reports DAT_EXTENSION_IB with
 * DAT_IB_EXTENSION_VERSION; named attributes of the provider (DAT_IB_ATTR_*) report which ones
 * work. What is not offered returns DAT_NOT_IMPLEMENTED or DAT_MODEL_NOT_SUPPORTED.
 */
#define DAT_IB_EXTENSION_VERSION 209

/* Of the verbs library; only pointers to it are handled here. */
struct ibv_ah;

/* Events. */
typedef enum dat_ib_event_number {
	DAT_IB_DTO_EVENT = 0x40000,			/* an operation of this header has
							 * completed */
	DAT_IB_UD_CONNECTION_REQUEST_EVENT = 0x40001,	/* a peer requests the address of a UD
							 * endpoint */
	DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED = 0x40002, /* address of a UD endpoint obtained */
	DAT_IB_UD_CONNECTION_REJECT_EVENT = 0x40003,	/* UD address refused */
	DAT_IB_UD_CONNECTION_ERROR_EVENT = 0x40004,	/* UD address not obtained */
	DAT_IB_COLLECTIVE_EVENT = 0x40005		/* a collective operation has completed */
} DAT_IB_EVENT_NUMBER;

/* Operations of dat_extension_op(). */
typedef enum dat_ib_op {
	DAT_IB_FETCH_AND_ADD_OP = 0x0000,		/* dat_ib_post_fetch_and_add() */
	DAT_IB_CMP_AND_SWAP_OP = 0x0001,		/* dat_ib_post_cmp_and_swap() */
	DAT_IB_RDMA_WRITE_IMMED_OP = 0x0002,		/* dat_ib_post_rdma_write_immed() */
	DAT_IB_UD_SEND_OP = 0x0003,			/* dat_ib_post_send_ud() */
	DAT_IB_QUERY_COUNTERS_OP = 0x0004,		/* dat_ib_query_counters() */
	DAT_IB_PRINT_COUNTERS_OP = 0x0005,		/* dat_ib_print_counters() */
	DAT_IB_COLLECTIVE_CREATE_MEMBER_OP = 0x0006,	/* dat_ib_collective_create_member() */
	DAT_IB_COLLECTIVE_FREE_MEMBER_OP = 0x0007,	/* dat_ib_collective_free_member() */
	DAT_IB_COLLECTIVE_CREATE_GROUP_OP = 0x0008,	/* dat_ib_collective_create_group() */
	DAT_IB_COLLECTIVE_FREE_GROUP_OP = 0x0009,	/* dat_ib_collective_free_group() */
	DAT_IB_COLLECTIVE_SET_CLOCK_OP = 0x000A,	/* dat_ib_collective_set_clock() */
	DAT_IB_COLLECTIVE_READ_CLOCK_OP = 0x000B,	/* dat_ib_collective_read_clock() */
	DAT_IB_COLLECTIVE_SCATTER_OP = 0x000C,		/* dat_ib_collective_scatter() */
	DAT_IB_COLLECTIVE_SCATTERV_OP = 0x000D,		/* dat_ib_collective_scatterv() */
	DAT_IB_COLLECTIVE_GATHER_OP = 0x000E,		/* dat_ib_collective_gather() */
	DAT_IB_COLLECTIVE_GATHERV_OP = 0x000F,		/* dat_ib_collective_gatherv() */
	DAT_IB_COLLECTIVE_ALLGATHER_OP = 0x0010,	/* dat_ib_collective_allgather() */
	DAT_IB_COLLECTIVE_ALLGATHERV_OP = 0x0011,	/* dat_ib_collective_allgatherv() */
	DAT_IB_COLLECTIVE_ALLTOALL_OP = 0x0012,		/* dat_ib_collective_alltoall() */
	DAT_IB_COLLECTIVE_ALLTOALLV_OP = 0x0013,	/* dat_ib_collective_alltoallv() */
	DAT_IB_COLLECTIVE_REDUCE_OP = 0x0014,		/* dat_ib_collective_reduce() */
	DAT_IB_COLLECTIVE_ALLREDUCE_OP = 0x0015,	/* dat_ib_collective_allreduce() */
	DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP = 0x0016,	/* dat_ib_collective_reduce_scatter() */
	DAT_IB_COLLECTIVE_SCAN_OP = 0x0017,		/* dat_ib_collective_scan() */
	DAT_IB_COLLECTIVE_BROADCAST_OP = 0x0018,	/* dat_ib_collective_broadcast() */
	DAT_IB_COLLECTIVE_BARRIER_OP = 0x0019,		/* dat_ib_collective_barrier() */
	DAT_IB_START_COUNTERS_OP = 0x001A,		/* dat_ib_start_counter() */
	DAT_IB_STOP_COUNTERS_OP = 0x001B,		/* dat_ib_stop_counter() */
	DAT_IB_UD_CM_FREE_OP = 0x001C,			/* dat_ib_ud_cm_free() */
	DAT_IB_UD_AH_FREE_OP = 0x001D,			/* dat_ib_ud_ah_free() */
	DAT_IB_OPEN_QUERY_OP = 0x1000,			/* dat_ib_open_query() */
	DAT_IB_CLOSE_QUERY_OP = 0x2000			/* dat_ib_close_query() */
} DAT_IB_OP;

/* What an extension event is about. */
typedef enum dat_ib_ext_type {
	DAT_IB_FETCH_AND_ADD = 0,			/* fetch and add has completed */
	DAT_IB_CMP_AND_SWAP = 1,			/* compare and swap has completed */
	DAT_IB_RDMA_WRITE_IMMED = 2,			/* write with immediate data has
							 * completed */
	DAT_IB_RDMA_WRITE_IMMED_DATA = 3,		/* a peer's write with immediate data
							 * used up a receive */
	DAT_IB_RECV_IMMED_DATA = 4,			/* a message with immediate data was
							 * received */
	DAT_IB_UD_CONNECT_REQUEST = 5,			/* request for a UD address */
	DAT_IB_UD_REMOTE_AH = 6,			/* UD address of the passive side */
	DAT_IB_UD_PASSIVE_REMOTE_AH = 7,		/* UD address of the active side */
	DAT_IB_UD_SEND = 8,				/* UD send has completed */
	DAT_IB_UD_RECV = 9,				/* UD message was received */
	DAT_IB_UD_CONNECT_REJECT = 10,			/* UD address was refused */
	DAT_IB_UD_CONNECT_ERROR = 11,			/* UD address was not obtained */
	DAT_IB_COLLECTIVE_CREATE_STATUS = 12,		/* group made or not */
	DAT_IB_COLLECTIVE_CREATE_DATA = 13,		/* group made; data follows */
	DAT_IB_COLLECTIVE_CLOCK_SET_STATUS = 14,	/* clock set or not */
	DAT_IB_COLLECTIVE_SCATTER_STATUS = 15,		/* scatter has ended; likewise below */
	DAT_IB_COLLECTIVE_SCATTERV_STATUS = 16,		/* scatter with several sizes */
	DAT_IB_COLLECTIVE_GATHER_STATUS = 17,		/* gather */
	DAT_IB_COLLECTIVE_GATHERV_STATUS = 18,		/* gather with several sizes */
	DAT_IB_COLLECTIVE_ALLGATHER_STATUS = 19,	/* gather to all */
	DAT_IB_COLLECTIVE_ALLGATHERV_STATUS = 20,	/* gather to all with several sizes */
	DAT_IB_COLLECTIVE_ALLTOALL_STATUS = 21,		/* exchange of all with all */
	DAT_IB_COLLECTIVE_ALLTOALLV_STATUS = 22,	/* exchange with several sizes */
	DAT_IB_COLLECTIVE_REDUCE_STATUS = 23,		/* reduction to one */
	DAT_IB_COLLECTIVE_ALLREDUCE_STATUS = 24,	/* reduction to all */
	DAT_IB_COLLECTIVE_REDUCE_SCATTER_STATUS = 25,	/* reduction, result scattered */
	DAT_IB_COLLECTIVE_SCAN_STATUS = 26,		/* prefix reduction */
	DAT_IB_COLLECTIVE_BROADCAST_STATUS = 27,	/* broadcast */
	DAT_IB_COLLECTIVE_BARRIER_STATUS = 28		/* barrier */
} DAT_IB_EXT_TYPE;

/* How an extended operation ended. */
typedef enum dat_ib_status {
	DAT_OP_SUCCESS = 0,		/* well */
	DAT_IB_OP_ERR = 1,		/* it failed */
	DAT_IB_COLL_COMP_ERR = 2	/* a collective one failed */
} DAT_IB_STATUS;

/* Types of results that extensions add to DAT_RETURN_TYPE. */
typedef enum dat_ib_return {
	DAT_IB_ERR = 0x10000000,		/* fault of an extension */
	DAT_IB_COLLECTIVE_ERR = 0x10000001	/* fault of the collectives */
} DAT_IB_RETURN;

/* Kinds of DTOs that extensions add to DAT_DTOS. */
typedef enum dat_ib_dtos {
	DAT_IB_DTO_RDMA_WRITE_IMMED = 8,	/* write with immediate data */
	DAT_IB_DTO_RECV_IMMED = 9,		/* receive used up by such a write */
	DAT_IB_DTO_FETCH_ADD = 10,		/* fetch and add */
	DAT_IB_DTO_CMP_SWAP = 11,		/* compare and swap */
	DAT_IB_DTO_RECV_MSG_IMMED = 12,		/* receive of a message with immediate data */
	DAT_IB_DTO_SEND_UD = 13,		/* UD send */
	DAT_IB_DTO_RECV_UD = 14,		/* UD receive */
	DAT_IB_DTO_RECV_UD_IMMED = 15,		/* UD receive with immediate data */
	DAT_IB_DTO_COLLECTIVES = 16		/* collective */
} DAT_IB_DTOS;

/* Kinds of objects that extensions add to DAT_HANDLE_TYPE. */
typedef enum dat_ib_handle_type {
	DAT_IB_HANDLE_TYPE_EXT = 12,		/* any of an extension */
	DAT_IB_HANDLE_TYPE_COLLECTIVE = 13	/* group of a collective */
} DAT_IB_HANDLE_TYPE;

/* Streams that extensions add to DAT_EVD_FLAGS. */
typedef enum dat_ib_evd_extension_flags {
	DAT_IB_EVD_EXTENSION_FLAG = 0x200	/* extension events */
} DAT_IB_EVD_EXTENSION_FLAGS;

/* Rights that extensions add to DAT_MEM_PRIV_FLAGS. */
typedef enum dat_ib_mem_priv_flags {
	DAT_IB_MEM_PRIV_REMOTE_ATOMIC = 0x40	/* peers may operate atomically */
} DAT_IB_MEM_PRIV_FLAGS;

/* Services that extensions add to DAT_SERVICE_TYPE. */
typedef enum dat_ib_service_type {
	DAT_IB_SERVICE_TYPE_UD = 1	/* unreliable datagram */
} DAT_IB_SERVICE_TYPE;

/* Address of a UD endpoint. */
typedef struct dat_ib_addr_handle {
	struct ibv_ah *ah;	/* address handle of the transport */
	DAT_UINT32 qpn;		/* number of the remote queue pair */
	DAT_SOCK_ADDR6 ia_addr;	/* address of the remote IA */
} DAT_IB_ADDR_HANDLE;

/* Immediate data. */
typedef struct dat_ib_immed_data {
	DAT_UINT32 data;	/* 32 bits as the peer sent them */
} DAT_IB_IMMED_DATA;

/* What DAT_EVENT.event_extension_data holds. */
typedef struct dat_ib_extension_event_data {
	DAT_IB_EXT_TYPE type;			/* what it is about */
	DAT_IB_STATUS status;			/* how it ended */
	union {
		DAT_IB_IMMED_DATA immed;	/* receives with immediate data */
	} val;
	DAT_C_EXTENSION union {
		DAT_IB_ADDR_HANDLE remote_ah;		/* UD addresses */
		DAT_IB_COLLECTIVE_EVENT_DATA coll;	/* collectives */
	};
	DAT_CONTEXT context;			/* UD: for dat_ib_ud_cm_free() */
} DAT_IB_EXTENSION_EVENT_DATA;

/*
 * Atomic operations on eight bytes of the peer's memory, which needs the right
 * DAT_IB_MEM_PRIV_REMOTE_ATOMIC and an address divisible by eight. The former value arrives
 * in lbuf. States, errors and flags are those of dat_ep_post_rdma_read(); the completion is
 * a DAT_IB_DTO_EVENT on the request EVD.
 *
 *	ep			DAT_EP_HANDLE
 *	add_val			added to the value there
 *	cmp_val, swap_val	swap_val goes there if cmp_val is found
 *	lbuf			DAT_LMR_TRIPLET *, one piece of eight bytes
 *	cookie			DAT_DTO_COOKIE
 *	rbuf			DAT_RMR_TRIPLET *, eight bytes at the peer
 *	flgs			DAT_COMPLETION_FLAGS
 *
 * [DAT 2.0, IB extension: dat_ib_post_fetch_and_add, dat_ib_post_cmp_and_swap]
 */
#define dat_ib_post_fetch_and_add(ep, add_val, lbuf, cookie, rbuf, flgs) \
	dat_extension_op((ep), DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)(add_val), \
			 (lbuf), (cookie), (rbuf), (flgs))

#define dat_ib_post_cmp_and_swap(ep, cmp_val, swap_val, lbuf, cookie, rbuf, flgs) \
	dat_extension_op((ep), DAT_IB_CMP_AND_SWAP_OP, (DAT_UINT64)(cmp_val), \
			 (DAT_UINT64)(swap_val), (lbuf), (cookie), (rbuf), (flgs))

/*
 * RDMA write that also uses up a receive of the peer, whose completion (DAT_IB_DTO_EVENT,
 * type DAT_IB_RDMA_WRITE_IMMED_DATA) carries the 32 bits of idata. Otherwise as
 * dat_ep_post_rdma_write(): size segments in lbuf, one piece rbuf at the peer.
 *
 * [DAT 2.0, IB extension: dat_ib_post_rdma_write_immed]
 */
#define dat_ib_post_rdma_write_immed(ep, size, lbuf, cookie, rbuf, idata, flgs) \
	dat_extension_op((ep), DAT_IB_RDMA_WRITE_IMMED_OP, (DAT_COUNT)(size), \
			 (lbuf), (cookie), (rbuf), (DAT_UINT32)(idata), (flgs))

/*
 * Datagrams, on EPs of service DAT_IB_SERVICE_TYPE_UD. ah_ptr points to the
 * DAT_IB_ADDR_HANDLE of the addressee; ah and cm (a DAT_CONTEXT) come from the event that
 * brought the address and are given back by the two free calls.
 *
 * [DAT 2.0, IB extension: dat_ib_post_send_ud, dat_ib_post_recv_ud, dat_ib_ud_cm_free,
 * dat_ib_ud_ah_free]
 */
#define dat_ib_post_send_ud(ep, segments, lbuf, ah_ptr, cookie, flgs) \
	dat_extension_op((ep), DAT_IB_UD_SEND_OP, (DAT_COUNT)(segments), \
			 (lbuf), (ah_ptr), (cookie), (flgs))

#define dat_ib_post_recv_ud dat_ep_post_recv

#define dat_ib_ud_cm_free(ep, cm) \
	dat_extension_op((ep), DAT_IB_UD_CM_FREE_OP, (cm))

#define dat_ib_ud_ah_free(ep, ah) \
	dat_extension_op((ep), DAT_IB_UD_AH_FREE_OP, (ah))

/*
 * Attributes of an IA without opening it. name is an IA name, ia_handle a DAT_IA_HANDLE *
 * that receives a handle for dat_ib_close_query() only; masks and attributes are those of
 * dat_ia_query().
 *
 * [DAT 2.0, IB extension: dat_ib_open_query, dat_ib_close_query]
 */
#define dat_ib_open_query(name, ia_handle, ia_mask, ia_attr, prov_mask, prov_attr) \
	dat_extension_op(DAT_HANDLE_NULL, DAT_IB_OPEN_QUERY_OP, (name), (ia_handle), \
			 (DAT_IA_ATTR_MASK)(ia_mask), (ia_attr), \
			 (DAT_PROVIDER_ATTR_MASK)(prov_mask), (prov_attr))

#define dat_ib_close_query(ia_handle) \
	dat_extension_op((ia_handle), DAT_IB_CLOSE_QUERY_OP)

/*
 * Read or print counters of an IA, EP or EVD.
 *
 *	dat_handle	the object
 *	cntr		a counter of its kind, or its ALL_COUNTERS
 *	p_cntrs_out	DAT_UINT64 *: one number, or ALL_COUNTERS of them
 *	reset		nonzero sets what was read to zero
 *
 * Returns DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER or DAT_NOT_IMPLEMENTED.
 *
 * [DAT 2.0, IB extension: dat_ib_query_counters, dat_ib_print_counters]
 */
#define dat_ib_query_counters(dat_handle, cntr, p_cntrs_out, reset) \
	dat_extension_op((dat_handle), DAT_IB_QUERY_COUNTERS_OP, (int)(cntr), \
			 (DAT_UINT64 *)(p_cntrs_out), (int)(reset))

#define dat_ib_print_counters(dat_handle, cntr, reset) \
	dat_extension_op((dat_handle), DAT_IB_PRINT_COUNTERS_OP, (int)(cntr), (int)(reset))

/*
 * Start or stop a group of counters of an IA; type is a DAT_IA_COUNTER_TYPE.
 *
 * [DAT 2.0, IB extension: dat_ib_start_counter, dat_ib_stop_counter]
 */
#define dat_ib_start_counter(dat_handle, type) \
	dat_extension_op((dat_handle), DAT_IB_START_COUNTERS_OP, (DAT_IA_COUNTER_TYPE)(type))

#define dat_ib_stop_counter(dat_handle, type) \
	dat_extension_op((dat_handle), DAT_IB_STOP_COUNTERS_OP, (DAT_IA_COUNTER_TYPE)(type))

/* Names of provider attributes; the value is TRUE or FALSE. */
#define DAT_IB_ATTR_COUNTERS		"DAT_COUNTERS"
#define DAT_IB_ATTR_FETCH_AND_ADD	"DAT_IB_FETCH_AND_ADD"
#define DAT_IB_ATTR_CMP_AND_SWAP	"DAT_IB_CMP_AND_SWAP"
#define DAT_IB_ATTR_IMMED_DATA		"DAT_IB_IMMED_DATA"
#define DAT_IB_ATTR_UD			"DAT_IB_UD"

/* Other names. */
#define DAT_QUERY_COUNTERS_OP	DAT_IB_QUERY_COUNTERS_OP
#define DAT_PRINT_COUNTERS_OP	DAT_IB_PRINT_COUNTERS_OP
#define DAT_ATTR_COUNTERS	DAT_IB_ATTR_COUNTERS
#define dat_query_counters	dat_ib_query_counters
#define dat_print_counters	dat_ib_print_counters

/*
 * Words for the results that extensions add: the name of value goes to *message. Results
 * of DAT itself are passed to dat_strerror().
 *
 * [DAT 2.0, IB extension: dat_strerror_extension]
 */
static DAT_INLINE DAT_RETURN dat_strerror_extension(IN DAT_IB_RETURN value,
						    OUT const char **message)
{
	/* DAT_IB_COLLECTIVE_ERR reaches into the subtype: only the class may be cut off. */
	switch ((DAT_RETURN)value & ~(DAT_CLASS_ERROR | DAT_CLASS_WARNING)) {
	case DAT_IB_ERR:
		*message = "DAT_IB_ERR";
		return DAT_SUCCESS;
	case DAT_IB_COLLECTIVE_ERR:
		*message = "DAT_IB_COLLECTIVE_ERR";
		return DAT_SUCCESS;
	default:
		return dat_strerror((DAT_RETURN)value, message, (const char **)0);
	}
}

/*
 * Words for the status of an extension event; DAT_INVALID_PARAMETER if it has none.
 *
 * [DAT 2.0, IB extension: dat_strerror_ext_status]
 */
static DAT_INLINE DAT_RETURN dat_strerror_ext_status(IN DAT_IB_STATUS value,
						     OUT const char **message)
{
	switch (value) {
	case DAT_OP_SUCCESS:
		*message = " ";
		return DAT_SUCCESS;
	case DAT_IB_OP_ERR:
		*message = "DAT_IB_OP_ERR";
		return DAT_SUCCESS;
	case DAT_IB_COLL_COMP_ERR:
		*message = "DAT_IB_COLL_COMP_ERR";
		return DAT_SUCCESS;
	}
	*message = "unknown extension status";
	return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER;
}

#ifdef __cplusplus
}
#endif

#endif /* _DAT_IB_EXTENSIONS_H_ */
