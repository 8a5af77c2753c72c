/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of an IA and its provider; parameters of EVD, CNO and LMR. */
#ifndef _UDAT_ATTR_H_
#define _UDAT_ATTR_H_

#include <dat2/dat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an LMR registers. */
typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL = 0,	/* a range of the process's memory */
	DAT_MEM_TYPE_LMR = 1,		/* the memory of another LMR */
	DAT_MEM_TYPE_SHARED_VIRTUAL = 2	/* a range that several processes share */
} DAT_MEM_TYPE;

/* The identity of shared memory: all bytes count, it is no string. */
#define DAT_LMR_COOKIE_SIZE 40
typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

/* Memory that processes with the same identity register once. */
typedef struct dat_shared_memory {
	DAT_PVOID virtual_address;		/* where it starts in this process */
	DAT_LMR_COOKIE shared_memory_id;	/* pointer to its identity */
} DAT_SHARED_MEMORY;

/* The memory of an LMR; the member follows from DAT_MEM_TYPE. */
typedef union dat_region_description {
	DAT_PVOID for_va;			/* VIRTUAL: where it starts */
	DAT_LMR_HANDLE for_lmr_handle;		/* LMR: the LMR to register again */
	DAT_SHARED_MEMORY for_shared_memory;	/* SHARED_VIRTUAL: address and identity */
} DAT_REGION_DESCRIPTION;

/* Members of DAT_LMR_PARAM. */
typedef enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE = 0x001,		/* ia_handle */
	DAT_LMR_FIELD_MEM_TYPE = 0x002,			/* mem_type */
	DAT_LMR_FIELD_REGION_DESC = 0x004,		/* region_desc */
	DAT_LMR_FIELD_LENGTH = 0x008,			/* length */
	DAT_LMR_FIELD_PZ_HANDLE = 0x010,		/* pz_handle */
	DAT_LMR_FIELD_MEM_PRIV = 0x020,			/* mem_priv */
	DAT_LMR_FIELD_VA_TYPE = 0x040,			/* va_type */
	DAT_LMR_FIELD_LMR_CONTEXT = 0x080,		/* lmr_context */
	DAT_LMR_FIELD_RMR_CONTEXT = 0x100,		/* rmr_context */
	DAT_LMR_FIELD_REGISTERED_SIZE = 0x200,		/* registered_size */
	DAT_LMR_FIELD_REGISTERED_ADDRESS = 0x400,	/* registered_address */
	DAT_LMR_FIELD_ALL = 0x7FF			/* all of them */
} DAT_LMR_PARAM_MASK;

/* An LMR. */
typedef struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;		/* IA that it belongs to */
	DAT_MEM_TYPE mem_type;			/* kind of memory */
	DAT_REGION_DESCRIPTION region_desc;	/* the memory */
	DAT_VLEN length;			/* bytes requested */
	DAT_PZ_HANDLE pz_handle;		/* its PZ */
	DAT_MEM_PRIV_FLAGS mem_priv;		/* its rights */
	DAT_VA_TYPE va_type;			/* how peers address it (2.0) */
	DAT_LMR_CONTEXT lmr_context;		/* key for local use */
	DAT_RMR_CONTEXT rmr_context;		/* key for peers; 0 without remote rights */
	DAT_VLEN registered_size;		/* bytes really registered */
	DAT_VADDR registered_address;		/* where the registered range starts */
} DAT_LMR_PARAM;

/*
 * State of an EVD: one of the first two bits with one of the next two. The CONFIG values name
 * the notification that its DTO streams are set to.
 */
typedef enum dat_evd_state {
	DAT_EVD_STATE_ENABLED = 0x01,		/* triggers its CNO */
	DAT_EVD_STATE_DISABLED = 0x02,		/* does not trigger its CNO */
	DAT_EVD_STATE_WAITABLE = 0x04,		/* can be waited on */
	DAT_EVD_STATE_UNWAITABLE = 0x08,	/* cannot be waited on */
	DAT_EVD_STATE_CONFIG_NOTIFY = 0x10,	/* unsignalled */
	DAT_EVD_STATE_CONFIG_SOLICITED = 0x20,	/* solicited wait */
	DAT_EVD_STATE_CONFIG_THRESHOLD = 0x30	/* threshold */
} DAT_EVD_STATE;

/* An EVD. */
struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;	/* IA that it belongs to */
	DAT_COUNT evd_qlen;		/* real length in events */
	DAT_EVD_STATE evd_state;	/* state bits */
	DAT_CNO_HANDLE cno_handle;	/* CNO that it triggers, or DAT_HANDLE_NULL */
	DAT_EVD_FLAGS evd_flags;	/* streams that may feed it */
};

/* Called with instance_data and an EVD that notified; it must not block. */
typedef void (DAT_API *DAT_AGENT_FUNC)(DAT_PVOID, DAT_EVD_HANDLE);

/* Function that a CNO calls when it is triggered: once, then it is taken off. */
typedef struct dat_os_wait_proxy_agent {
	DAT_PVOID instance_data;		/* first argument, the program's own */
	DAT_AGENT_FUNC proxy_agent_func;	/* the function; NULL for none */
} DAT_OS_WAIT_PROXY_AGENT;

/* No agent, as an expression. */
#ifdef __cplusplus
#define DAT_OS_WAIT_PROXY_AGENT_NULL (DAT_OS_WAIT_PROXY_AGENT())
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL \
	(DAT_C_EXTENSION (DAT_OS_WAIT_PROXY_AGENT) { (DAT_PVOID)0, (DAT_AGENT_FUNC)0 })
#endif

/* What a CNO triggers besides waiting threads. New in 2.0. */
typedef enum dat_proxy_type {
	DAT_PROXY_TYPE_NONE = 0,	/* nothing */
	DAT_PROXY_TYPE_AGENT = 1,	/* an agent */
	DAT_PROXY_TYPE_FD = 2		/* a file descriptor */
} DAT_PROXY_TYPE;

/* Members of DAT_CNO_PARAM. PROXY and ALL are no unions of bits: providers fill everything. */
typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE = 0x01,		/* ia_handle */
	DAT_CNO_FIELD_PROXY_TYPE = 0x02,	/* proxy_type */
	DAT_CNO_FIELD_PROXY = 0x03,		/* proxy */
	DAT_CNO_FIELD_ALL = 0x04		/* all of them */
} DAT_CNO_PARAM_MASK;

/* A CNO. 2.0 put a choice in place of the agent. */
typedef struct dat_cno_param {
	DAT_IA_HANDLE ia_handle;		/* IA that it belongs to */
	DAT_PROXY_TYPE proxy_type;		/* member of proxy that counts */
	union {
		DAT_OS_WAIT_PROXY_AGENT agent;	/* its agent */
		DAT_FD fd;			/* its file descriptor */
		DAT_PVOID none;			/* without meaning */
	} proxy;
} DAT_CNO_PARAM;

/*
 * Limits of an IA, the same for all that open it. Numbers of objects are limits of the adapter
 * that all processes share, so creating one can fail earlier.
 *
 * 2.0 made three lengths 32 bits wide (all ones when larger) and added three members.
 */
struct dat_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH];		/* adapter behind the IA */
	char vendor_name[DAT_NAME_MAX_LENGTH];		/* its maker */
	DAT_UINT32 hardware_version_major;		/* version of the hardware */
	DAT_UINT32 hardware_version_minor;		/* likewise */
	DAT_UINT32 firmware_version_major;		/* version of the firmware */
	DAT_UINT32 firmware_version_minor;		/* likewise */
	DAT_IA_ADDRESS_PTR ia_address_ptr;		/* address that peers pass to
							 * dat_ep_connect() */
	DAT_COUNT max_eps;				/* EPs in all states */
	DAT_COUNT max_dto_per_ep;			/* outstanding requests of an EP, and as
							 * many receives */
	DAT_COUNT max_rdma_read_per_ep_in;		/* RDMA reads at once with an EP as
							 * target */
	DAT_COUNT max_rdma_read_per_ep_out;		/* RDMA reads at once from an EP */
	DAT_COUNT max_evds;				/* EVDs */
	DAT_COUNT max_evd_qlen;				/* events in an EVD */
	DAT_COUNT max_iov_segments_per_dto;		/* segments of a send or receive */
	DAT_COUNT max_lmrs;				/* LMRs */
	DAT_SEG_LENGTH max_lmr_block_size;		/* bytes of the largest LMR */
	DAT_VADDR max_lmr_virtual_address;		/* highest address in an LMR */
	DAT_COUNT max_pzs;				/* PZs */
	DAT_SEG_LENGTH max_message_size;		/* bytes of the largest message */
	DAT_SEG_LENGTH max_rdma_size;			/* bytes of the largest RDMA operation */
	DAT_COUNT max_rmrs;				/* RMRs; 0 if there are none */
	DAT_VADDR max_rmr_target_address;		/* highest address in an RMR */
	DAT_COUNT max_srqs;				/* SRQs; 0 if there are none */
	DAT_COUNT max_ep_per_srq;			/* EPs on one SRQ */
	DAT_COUNT max_recv_per_srq;			/* buffers of one SRQ */
	DAT_COUNT max_iov_segments_per_rdma_read;	/* segments of an RDMA read */
	DAT_COUNT max_iov_segments_per_rdma_write;	/* segments of an RDMA write */
	DAT_COUNT max_rdma_read_in;			/* RDMA reads at once as target, all EPs
							 * together */
	DAT_COUNT max_rdma_read_out;			/* RDMA reads at once, all EPs together */
	DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;	/* every EP gets its maximum at the same
							 * time */
	DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed; /* likewise */
	DAT_BOOLEAN zb_supported;			/* memory can be addressed by offset
							 * (2.0) */
	DAT_EXTENSION extension_supported;		/* family of extensions (2.0) */
	DAT_COUNT extension_version;			/* version of that family (2.0) */
	DAT_COUNT num_transport_attr;			/* entries of the next array */
	DAT_NAMED_ATTR *transport_attr;			/* attributes of the transport */
	DAT_COUNT num_vendor_attr;			/* entries of the next array */
	DAT_NAMED_ATTR *vendor_attr;			/* attributes of the vendor */
};

/* Old names of members. */
#define max_mtu_size		max_message_size
#define max_rdma_read_per_ep	max_rdma_read_per_ep_in

/*
 * DAT_IA_ATTR_MASK: one bit per member.
 * 2.0 moved the bits of the last four members. EXTENSIONS_SUPPORTED is another name of
 * EXTENSION.
 */
#define DAT_IA_FIELD_IA_ADAPTER_NAME				DAT_FIELD_BIT(0)
#define DAT_IA_FIELD_IA_VENDOR_NAME				DAT_FIELD_BIT(1)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION			DAT_FIELD_BIT(2)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION			DAT_FIELD_BIT(3)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION			DAT_FIELD_BIT(4)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION			DAT_FIELD_BIT(5)
#define DAT_IA_FIELD_IA_ADDRESS_PTR				DAT_FIELD_BIT(6)
#define DAT_IA_FIELD_IA_MAX_EPS					DAT_FIELD_BIT(7)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP				DAT_FIELD_BIT(8)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN			DAT_FIELD_BIT(9)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT		DAT_FIELD_BIT(10)
#define DAT_IA_FIELD_IA_MAX_EVDS				DAT_FIELD_BIT(11)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN				DAT_FIELD_BIT(12)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO		DAT_FIELD_BIT(13)
#define DAT_IA_FIELD_IA_MAX_LMRS				DAT_FIELD_BIT(14)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE			DAT_FIELD_BIT(15)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS			DAT_FIELD_BIT(16)
#define DAT_IA_FIELD_IA_MAX_PZS					DAT_FIELD_BIT(17)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE			DAT_FIELD_BIT(18)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE				DAT_FIELD_BIT(19)
#define DAT_IA_FIELD_IA_MAX_RMRS				DAT_FIELD_BIT(20)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS			DAT_FIELD_BIT(21)
#define DAT_IA_FIELD_IA_MAX_SRQS				DAT_FIELD_BIT(22)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ				DAT_FIELD_BIT(23)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ			DAT_FIELD_BIT(24)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ		DAT_FIELD_BIT(25)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE		DAT_FIELD_BIT(26)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN			DAT_FIELD_BIT(27)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT			DAT_FIELD_BIT(28)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED	DAT_FIELD_BIT(29)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED	DAT_FIELD_BIT(30)
#define DAT_IA_FIELD_IA_ZB_SUPPORTED				DAT_FIELD_BIT(31)
#define DAT_IA_FIELD_IA_EXTENSIONS_SUPPORTED			DAT_FIELD_BIT(32)
#define DAT_IA_FIELD_IA_EXTENSION				DAT_FIELD_BIT(32)
#define DAT_IA_FIELD_IA_EXTENSION_VERSION			DAT_FIELD_BIT(33)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR			DAT_FIELD_BIT(34)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR				DAT_FIELD_BIT(35)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR				DAT_FIELD_BIT(36)
#define DAT_IA_FIELD_IA_VENDOR_ATTR				DAT_FIELD_BIT(37)
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE				DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define DAT_IA_FIELD_NONE					((DAT_UINT64)0)
#define DAT_IA_FIELD_ALL					(DAT_FIELD_BIT(38) - 1)

#define DAT_IA_ALL DAT_IA_FIELD_ALL	/* old name */

/* How PZs relate to the hardware. */
typedef enum dat_pz_support {
	DAT_PZ_UNIQUE = 0,	/* each one has protection of its own */
	DAT_PZ_SHAREABLE = 1	/* several may share one protection */
} DAT_PZ_SUPPORT;

/* C++ refuses plain variables of a structure with a constant member. */
#ifdef __cplusplus
#define DAT_PROVIDER_CONST
#else
#define DAT_PROVIDER_CONST const
#endif

/* What a provider offers. It fills every member; a caller may pass uninitialised memory. */
struct dat_provider_attr {
	char provider_name[DAT_NAME_MAX_LENGTH];	/* name of the provider */
	DAT_UINT32 provider_version_major;		/* its version */
	DAT_UINT32 provider_version_minor;		/* likewise */
	DAT_UINT32 dapl_version_major;			/* API version; equals the registration */
	DAT_UINT32 dapl_version_minor;			/* likewise */
	DAT_MEM_TYPE lmr_mem_types_supported;		/* kinds of memory, ORed; VIRTUAL goes
							 * without saying */
	DAT_IOV_OWNERSHIP iov_ownership_on_return;	/* whose an IOV is after a post */
	DAT_QOS dat_qos_supported;			/* service levels, ORed */
	DAT_COMPLETION_FLAGS completion_flags_supported; /* completion flags of posts, ORed */
	DAT_BOOLEAN is_thread_safe;			/* calls need no locking; equals the
							 * registration */
	DAT_COUNT max_private_data_size;		/* bytes of private data, 64 or more */
	DAT_BOOLEAN supports_multipath;			/* DAT_CONNECT_MULTIPATH_FLAG works */
	DAT_EP_CREATOR_FOR_PSP ep_creator;		/* side that may supply EPs for a PSP */
	DAT_PZ_SUPPORT pz_support;			/* how PZs relate to the hardware */
	DAT_UINT32 optimal_buffer_alignment;		/* bytes; divides DAT_OPTIMAL_ALIGNMENT */
	/*
	 * [i][j]: streams i and j may share an EVD; order: software, CR, DTO, connection,
	 * RMR bind, asynchronous
	 */
	DAT_PROVIDER_CONST DAT_BOOLEAN evd_stream_merging_supported[6][6];
	DAT_BOOLEAN srq_supported;			/* SRQs exist */
	DAT_COUNT srq_watermarks_supported;		/* 0x001 low, 0x010 soft high, 0x100 hard
							 * high */
	DAT_BOOLEAN srq_ep_pz_difference_supported;	/* an EP and its SRQ may have different
							 * PZs */
	DAT_COUNT srq_info_supported;			/* 0x01 available, 0x10 outstanding
							 * buffers can be reported */
	DAT_COUNT ep_recv_info_supported;		/* 0x01 first, 0x10 second output of
							 * dat_ep_recv_query() */
	DAT_BOOLEAN lmr_sync_req;			/* dat_lmr_sync_rdma_*() are needed */
	DAT_BOOLEAN dto_async_return_guaranteed;	/* faults of DTOs always come as
							 * completions */
	DAT_BOOLEAN rdma_write_for_rdma_read_req;	/* the buffer of an RDMA read must allow
							 * remote writes */
	DAT_BOOLEAN rdma_read_lmr_rmr_context_exposure;	/* an RDMA read shows the sink's key to
							 * the peer (2.0) */
	DAT_RMR_SCOPE rmr_scope_supported;		/* which EPs an RMR can serve (2.0) */
	DAT_BOOLEAN is_signal_safe;			/* calls work in signal handlers (2.0) */
	DAT_BOOLEAN ha_supported;			/* connections can change paths (2.0) */
	DAT_HA_LB ha_loadbalancing;			/* how load is spread (2.0) */
	DAT_COUNT num_provider_specific_attr;		/* entries of the next array */
	DAT_NAMED_ATTR *provider_specific_attr;		/* attributes of the provider */
};

/*
 * DAT_PROVIDER_ATTR_MASK: one bit per member.
 * 2.0 moved the bits of the last two members.
 */
#define DAT_PROVIDER_FIELD_PROVIDER_NAME			DAT_FIELD_BIT(0)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR		DAT_FIELD_BIT(1)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR		DAT_FIELD_BIT(2)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR			DAT_FIELD_BIT(3)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR			DAT_FIELD_BIT(4)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED		DAT_FIELD_BIT(5)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP			DAT_FIELD_BIT(6)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED			DAT_FIELD_BIT(7)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED		DAT_FIELD_BIT(8)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE			DAT_FIELD_BIT(9)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE		DAT_FIELD_BIT(10)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH			DAT_FIELD_BIT(11)
#define DAT_PROVIDER_FIELD_EP_CREATOR				DAT_FIELD_BIT(12)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT				DAT_FIELD_BIT(13)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT		DAT_FIELD_BIT(14)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED		DAT_FIELD_BIT(15)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED			DAT_FIELD_BIT(16)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED		DAT_FIELD_BIT(17)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED	DAT_FIELD_BIT(18)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED			DAT_FIELD_BIT(19)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED		DAT_FIELD_BIT(20)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ				DAT_FIELD_BIT(21)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED		DAT_FIELD_BIT(22)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ		DAT_FIELD_BIT(23)
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE	DAT_FIELD_BIT(24)
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED			DAT_FIELD_BIT(25)
#define DAT_PROVIDER_FIELD_IS_SIGNAL_SAFE			DAT_FIELD_BIT(26)
#define DAT_PROVIDER_FIELD_HA_SUPPORTED				DAT_FIELD_BIT(27)
#define DAT_PROVIDER_FIELD_HA_LB				DAT_FIELD_BIT(28)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR		DAT_FIELD_BIT(29)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR		DAT_FIELD_BIT(30)
#define DAT_PROVIDER_FIELD_ALL					(DAT_FIELD_BIT(31) - 1)
#define DAT_PROVIDER_FIELD_NONE					((DAT_UINT64)0)

#ifdef __cplusplus
}
#endif

#endif /* _UDAT_ATTR_H_ */
