/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters that queries of an EP, RMR, SRQ, PZ, service point or CR return. */
#ifndef _DAT_PARAM_H_
#define _DAT_PARAM_H_

#include <dat2/dat_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Each kind of object has a structure that its query fills and a mask that names
 * the members wanted; a provider may fill more. Pointers in a structure lead into
 * the object and die with it.
 */

/* Special values of counts. */
#define DAT_WATERMARK_INFINITE	(-1)	/* no watermark */
#define DAT_HW_DEFAULT		DAT_WATERMARK_INFINITE
#define DAT_SRQ_LW_DEFAULT	0	/* low watermark of a new SRQ: none */
#define DAT_VALUE_UNKNOWN	(-2)	/* unknown to the provider */

/* States of an EP. Every entry into DISCONNECTED flushes what was posted. */
typedef enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED = 0,			/* new or reset */
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED = 1,	/* reserved for providers, not entered */
	DAT_EP_STATE_RESERVED = 2,			/* held by an RSP that listens */
	DAT_EP_STATE_UNCONFIGURED_RESERVED = 3,		/* reserved for providers, not entered */
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING = 4,	/* its RSP has received a request */
	DAT_EP_STATE_UNCONFIGURED_PASSIVE = 5,		/* reserved for providers, not entered */
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING = 6,	/* connect is under way */
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING = 7,	/* made by the provider for a request on
							 * a PSP */
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE = 8,	/* reserved for providers, not entered */
	DAT_EP_STATE_CONNECTED = 9,			/* data may flow */
	DAT_EP_STATE_DISCONNECT_PENDING = 10,		/* graceful disconnect drains requests */
	DAT_EP_STATE_DISCONNECTED = 11,			/* connection failed or over */
	DAT_EP_STATE_COMPLETION_PENDING = 12,		/* accepted, waits for the transport */
	DAT_EP_STATE_CONNECTED_SINGLE_PATH = 13,	/* connected, one path left (2.0) */
	DAT_EP_STATE_CONNECTED_MULTI_PATH = 14		/* connected on several paths (2.0) */
} DAT_EP_STATE;

#define DAT_EP_STATE_ERROR DAT_EP_STATE_DISCONNECTED	/* old name */

/*
 * Requested attributes of an EP, and those it got.
 *
 * Queue lengths and IOV counts may be granted larger, sizes and RDMA read counts are exact. No
 * value may exceed the like-named one of DAT_IA_ATTR.
 *
 * 2.0 made the two sizes 32 bits wide and moved what follows.
 */
typedef struct dat_ep_attr {
	DAT_SERVICE_TYPE service_type;			/* transport service */
	DAT_SEG_LENGTH max_message_size;		/* largest message sent or received,
							 * bytes */
	DAT_SEG_LENGTH max_rdma_size;			/* largest RDMA operation, bytes */
	DAT_QOS qos;					/* service level */
	DAT_COMPLETION_FLAGS recv_completion_flags;	/* how receives notify */
	DAT_COMPLETION_FLAGS request_completion_flags;	/* how requests notify */
	DAT_COUNT max_recv_dtos;			/* outstanding receives; with SRQ the
							 * hard high watermark */
	DAT_COUNT max_request_dtos;			/* outstanding sends, RDMA operations and
							 * binds together */
	DAT_COUNT max_recv_iov;				/* segments per receive; ignored with SRQ */
	DAT_COUNT max_request_iov;			/* segments per send */
	DAT_COUNT max_rdma_read_in;			/* RDMA reads served at once; 0 leaves it
							 * open */
	DAT_COUNT max_rdma_read_out;			/* RDMA reads issued at once; 0 leaves it
							 * open */
	DAT_COUNT srq_soft_hw;				/* soft high watermark of SRQ buffers
							 * held, or DAT_HW_DEFAULT */
	DAT_COUNT max_rdma_read_iov;			/* segments per RDMA read; 0 means
							 * max_request_iov */
	DAT_COUNT max_rdma_write_iov;			/* segments per RDMA write; 0 means
							 * max_request_iov */
	DAT_COUNT ep_transport_specific_count;		/* entries of the next array */
	DAT_NAMED_ATTR *ep_transport_specific;		/* attributes of the transport; read
							 * during the call */
	DAT_COUNT ep_provider_specific_count;		/* entries of the next array */
	DAT_NAMED_ATTR *ep_provider_specific;		/* attributes of the provider; read
							 * during the call */
} DAT_EP_ATTR;

/* An EP as dat_ep_query() shows it and dat_ep_modify() changes it. */
typedef struct dat_ep_param {
	DAT_IA_HANDLE ia_handle;			/* IA that it belongs to */
	DAT_EP_STATE ep_state;				/* state now */
	DAT_COMM comm;					/* communicator (2.0) */
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;	/* address of the IA */
	DAT_PORT_QUAL local_port_qual;			/* local port, once a connection is being
							 * made */
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;	/* peer, from pending connection to reset */
	DAT_PORT_QUAL remote_port_qual;			/* peer's port; on the active side the
							 * requested qualifier */
	DAT_PZ_HANDLE pz_handle;			/* its PZ or DAT_HANDLE_NULL */
	DAT_EVD_HANDLE recv_evd_handle;			/* EVD of receive completions or
							 * DAT_HANDLE_NULL */
	DAT_EVD_HANDLE request_evd_handle;		/* EVD of request completions or
							 * DAT_HANDLE_NULL */
	DAT_EVD_HANDLE connect_evd_handle;		/* EVD of connection events or
							 * DAT_HANDLE_NULL */
	DAT_SRQ_HANDLE srq_handle;			/* its SRQ or DAT_HANDLE_NULL */
	DAT_EP_ATTR ep_attr;				/* attributes as granted */
} DAT_EP_PARAM;

/*
 * One bit per member, those of ep_attr included.
 * 2.0 put COMM in, which moved the bits from LOCAL_IA_ADDRESS_PTR to SRQ_HANDLE.
 */
typedef DAT_UINT64 DAT_EP_PARAM_MASK;
#define DAT_EP_FIELD_IA_HANDLE				DAT_FIELD_BIT(0)
#define DAT_EP_FIELD_EP_STATE				DAT_FIELD_BIT(1)
#define DAT_EP_FIELD_COMM				DAT_FIELD_BIT(2)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR		DAT_FIELD_BIT(3)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL			DAT_FIELD_BIT(4)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR		DAT_FIELD_BIT(5)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL			DAT_FIELD_BIT(6)
#define DAT_EP_FIELD_PZ_HANDLE				DAT_FIELD_BIT(7)
#define DAT_EP_FIELD_RECV_EVD_HANDLE			DAT_FIELD_BIT(8)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE			DAT_FIELD_BIT(9)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE			DAT_FIELD_BIT(10)
#define DAT_EP_FIELD_SRQ_HANDLE				DAT_FIELD_BIT(11)
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE		DAT_FIELD_BIT(12)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE		DAT_FIELD_BIT(13)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE		DAT_FIELD_BIT(14)
#define DAT_EP_FIELD_EP_ATTR_QOS			DAT_FIELD_BIT(15)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS	DAT_FIELD_BIT(16)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS	DAT_FIELD_BIT(17)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS		DAT_FIELD_BIT(18)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS		DAT_FIELD_BIT(19)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV		DAT_FIELD_BIT(20)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV		DAT_FIELD_BIT(21)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN		DAT_FIELD_BIT(22)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT		DAT_FIELD_BIT(23)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW		DAT_FIELD_BIT(24)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV		DAT_FIELD_BIT(25)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV		DAT_FIELD_BIT(26)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR		DAT_FIELD_BIT(27)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR	DAT_FIELD_BIT(28)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR		DAT_FIELD_BIT(29)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR	DAT_FIELD_BIT(30)
#define DAT_EP_FIELD_EP_ATTR_ALL			(DAT_FIELD_BIT(31) - DAT_FIELD_BIT(12))
#define DAT_EP_FIELD_ALL				(DAT_FIELD_BIT(31) - 1)

/* Members of DAT_RMR_PARAM. */
typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE = 0x01,		/* ia_handle */
	DAT_RMR_FIELD_PZ_HANDLE = 0x02,		/* pz_handle */
	DAT_RMR_FIELD_LMR_TRIPLET = 0x04,	/* lmr_triplet */
	DAT_RMR_FIELD_MEM_PRIV = 0x08,		/* mem_priv */
	DAT_RMR_FIELD_RMR_CONTEXT = 0x10,	/* rmr_context */
	DAT_RMR_FIELD_RMR_SCOPE = 0x20,		/* rmr_scope */
	DAT_RMR_FIELD_VA_TYPE = 0x40,		/* va_type */
	DAT_RMR_FIELD_ALL = 0x7F		/* all of them */
} DAT_RMR_PARAM_MASK;

/* An RMR. An unbound one has no triplet, rights or key. */
typedef struct dat_rmr_param {
	DAT_IA_HANDLE ia_handle;	/* IA that it belongs to */
	DAT_PZ_HANDLE pz_handle;	/* its PZ */
	DAT_LMR_TRIPLET lmr_triplet;	/* memory that it is bound to */
	DAT_MEM_PRIV_FLAGS mem_priv;	/* rights of the binding */
	DAT_RMR_CONTEXT rmr_context;	/* key for peers */
	DAT_RMR_SCOPE rmr_scope;	/* EPs that it serves (2.0) */
	DAT_VA_TYPE va_type;		/* addressing of the binding (2.0) */
} DAT_RMR_PARAM;

/*
 * States of an SRQ.
 *
 * 2.0 swapped the two numbers of 1.2 and added SHUTDOWN.
 */
typedef enum dat_srq_state {
	DAT_SRQ_STATE_ERROR = 0,	/* failed */
	DAT_SRQ_STATE_OPERATIONAL = 1,	/* serves its EPs */
	DAT_SRQ_STATE_SHUTDOWN = 2	/* takes no new EPs */
} DAT_SRQ_STATE;

/* Wishes for an SRQ. */
typedef struct dat_srq_attr {
	DAT_COUNT max_recv_dtos;	/* buffers it can hold; may be granted larger */
	DAT_COUNT max_recv_iov;		/* segments per buffer; may be granted larger */
	DAT_COUNT low_watermark;	/* DAT_SRQ_LW_DEFAULT at creation */
} DAT_SRQ_ATTR;

/* Members of DAT_SRQ_PARAM. */
typedef enum dat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE = 0x01,			/* ia_handle */
	DAT_SRQ_FIELD_SRQ_STATE = 0x02,			/* srq_state */
	DAT_SRQ_FIELD_PZ_HANDLE = 0x04,			/* pz_handle */
	DAT_SRQ_FIELD_MAX_RECV_DTO = 0x08,		/* max_recv_dtos */
	DAT_SRQ_FIELD_MAX_RECV_IOV = 0x10,		/* max_recv_iov */
	DAT_SRQ_FIELD_LOW_WATERMARK = 0x20,		/* low_watermark */
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT = 0x40,	/* available_dto_count */
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT = 0x80,	/* outstanding_dto_count */
	DAT_SRQ_FIELD_ALL = 0xFF			/* all of them */
} DAT_SRQ_PARAM_MASK;

/* An SRQ. Counts unknown to the provider are DAT_VALUE_UNKNOWN. */
typedef struct dat_srq_param {
	DAT_IA_HANDLE ia_handle;		/* IA that it belongs to */
	DAT_SRQ_STATE srq_state;		/* state now */
	DAT_PZ_HANDLE pz_handle;		/* its PZ */
	DAT_COUNT max_recv_dtos;		/* buffers it can hold */
	DAT_COUNT max_recv_iov;			/* segments per buffer */
	DAT_COUNT low_watermark;		/* as armed by dat_srq_set_lw() */
	DAT_COUNT available_dto_count;		/* posted and not yet taken by an EP */
	DAT_COUNT outstanding_dto_count;	/* posted and completion not yet dequeued */
} DAT_SRQ_PARAM;

/* Members of DAT_PZ_PARAM. */
typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE = 0x01,	/* ia_handle */
	DAT_PZ_FIELD_ALL = 0x01		/* all of them */
} DAT_PZ_PARAM_MASK;

/* A PZ. */
typedef struct dat_pz_param {
	DAT_IA_HANDLE ia_handle;	/* IA that it belongs to */
} DAT_PZ_PARAM;

/* Members of DAT_PSP_PARAM. */
typedef enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE = 0x01,		/* ia_handle */
	DAT_PSP_FIELD_CONN_QUAL = 0x02,		/* conn_qual */
	DAT_PSP_FIELD_EVD_HANDLE = 0x04,	/* evd_handle */
	DAT_PSP_FIELD_PSP_FLAGS = 0x08,		/* psp_flags */
	DAT_PSP_FIELD_ALL = 0x0F		/* all of them */
} DAT_PSP_PARAM_MASK;

/* A PSP. */
typedef struct dat_psp_param {
	DAT_IA_HANDLE ia_handle;	/* IA that it belongs to */
	DAT_CONN_QUAL conn_qual;	/* qualifier that it listens on */
	DAT_EVD_HANDLE evd_handle;	/* where requests are reported */
	DAT_PSP_FLAGS psp_flags;	/* source of EPs */
} DAT_PSP_PARAM;

/* Members of DAT_RSP_PARAM. */
typedef enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE = 0x01,		/* ia_handle */
	DAT_RSP_FIELD_CONN_QUAL = 0x02,		/* conn_qual */
	DAT_RSP_FIELD_EVD_HANDLE = 0x04,	/* evd_handle */
	DAT_RSP_FIELD_EP_HANDLE = 0x08,		/* ep_handle */
	DAT_RSP_FIELD_ALL = 0x0F		/* all of them */
} DAT_RSP_PARAM_MASK;

/* An RSP. */
typedef struct dat_rsp_param {
	DAT_IA_HANDLE ia_handle;	/* IA that it belongs to */
	DAT_CONN_QUAL conn_qual;	/* qualifier that it listens on */
	DAT_EVD_HANDLE evd_handle;	/* where the request is reported */
	DAT_EP_HANDLE ep_handle;	/* EP that it holds */
} DAT_RSP_PARAM;

/* Members of DAT_CSP_PARAM. */
typedef enum dat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE = 0x01,		/* ia_handle */
	DAT_CSP_FIELD_COMM = 0x02,		/* comm */
	DAT_CSP_FIELD_IA_ADDRESS = 0x04,	/* address_ptr */
	DAT_CSP_FIELD_EVD_HANDLE = 0x08,	/* evd_handle */
	DAT_CSP_FIELD_ALL = 0x0F		/* all of them */
} DAT_CSP_PARAM_MASK;

/* A CSP. New in 2.0. */
typedef struct dat_csp_param {
	DAT_IA_HANDLE ia_handle;	/* IA that it belongs to */
	DAT_COMM *comm;			/* communicator */
	DAT_IA_ADDRESS_PTR address_ptr;	/* address with port */
	DAT_EVD_HANDLE evd_handle;	/* where requests are reported */
} DAT_CSP_PARAM;

/* Members of DAT_CR_PARAM. */
typedef enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR = 0x01,	/* remote_ia_address_ptr */
	DAT_CR_FIELD_REMOTE_PORT_QUAL = 0x02,		/* remote_port_qual */
	DAT_CR_FIELD_PRIVATE_DATA_SIZE = 0x04,		/* private_data_size */
	DAT_CR_FIELD_PRIVATE_DATA = 0x08,		/* private_data */
	DAT_CR_FIELD_LOCAL_EP_HANDLE = 0x10,		/* local_ep_handle */
	DAT_CR_FIELD_ALL = 0x1F				/* all of them */
} DAT_CR_PARAM_MASK;

/* A connection request. All it points to lives until accept, reject or handoff. */
typedef struct dat_cr_param {
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;	/* address of the requesting IA */
	DAT_PORT_QUAL remote_port_qual;			/* port of the asking EP */
	DAT_COUNT private_data_size;			/* bytes of the next */
	DAT_PVOID private_data;				/* private data of the peer */
	DAT_EP_HANDLE local_ep_handle;			/* EP of the RSP or of the provider, or
							 * DAT_HANDLE_NULL */
} DAT_CR_PARAM;

/* Owner of the array of triplets after a post has returned. */
typedef enum dat_iov_ownership {
	DAT_IOV_CONSUMER = 0,		/* the program's: reuse at will */
	DAT_IOV_PROVIDER_NOMOD = 1,	/* the provider's until completion, not changed */
	DAT_IOV_PROVIDER_MOD = 2	/* the provider's until completion, may be changed */
} DAT_IOV_OWNERSHIP;

/* The side that may supply EPs for requests on a PSP. */
typedef enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER = 0,	/* only the program */
	DAT_PSP_CREATES_EP_IFASKED = 1,	/* either, see DAT_PSP_FLAGS */
	DAT_PSP_CREATES_EP_ALWAYS = 2	/* only the provider */
} DAT_EP_CREATOR_FOR_PSP;

/* What an IA is registered as. */
typedef struct dat_provider_info {
	char ia_name[DAT_NAME_MAX_LENGTH];	/* the argument of dat_ia_open() */
	DAT_UINT32 dapl_version_major;		/* API version: major */
	DAT_UINT32 dapl_version_minor;		/* API version: minor */
	DAT_BOOLEAN is_thread_safe;		/* whether calls need no locking by the program */
} DAT_PROVIDER_INFO;

#ifdef __cplusplus
}
#endif

#endif /* _DAT_PARAM_H_ */
