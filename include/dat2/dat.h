/* SPDX-License-Identifier: BSD-2-Clause */
/* Which types and calls do user and kernel level of DAT share? */
#ifndef _DAT_H_
#define _DAT_H_

#include <dat2/udat_config.h>
#include <dat2/dat_platform_specific.h>
#include <dat2/dat_error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DAT_NAME_MAX_LENGTH 0x100
#define DAT_IB_EXTENSION 1
#define DAT_IW_EXTENSION 2
#define DAT_HA_LB_NONE 0
#define DAT_HA_LB_INTERCOMM 1
#define DAT_HA_LB_INTRACOMM 2
#define DAT_TIMEOUT_INFINITE ((DAT_TIMEOUT)~0U)
#define DAT_HANDLE_NULL ((DAT_HANDLE)0)
#define DAT_CONNECT_MULTIPATH_REQUESTED_FLAG DAT_CONNECT_MULTIPATH_FLAG
#define DAT_CLOSE_DEFAULT DAT_CLOSE_ABRUPT_FLAG
#define DAT_MEM_PRIV_READ_FLAG 3
#define DAT_MEM_PRIV_WRITE_FLAG 48
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define DAT_IA_FIELD_IA_ADAPTER_NAME ((DAT_UINT64)1 << 0)
#define DAT_IA_FIELD_IA_VENDOR_NAME ((DAT_UINT64)1 << 1)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION ((DAT_UINT64)1 << 2)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION ((DAT_UINT64)1 << 3)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION ((DAT_UINT64)1 << 4)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION ((DAT_UINT64)1 << 5)
#define DAT_IA_FIELD_IA_ADDRESS_PTR ((DAT_UINT64)1 << 6)
#define DAT_IA_FIELD_IA_MAX_EPS ((DAT_UINT64)1 << 7)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP ((DAT_UINT64)1 << 8)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN ((DAT_UINT64)1 << 9)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT ((DAT_UINT64)1 << 10)
#define DAT_IA_FIELD_IA_MAX_EVDS ((DAT_UINT64)1 << 11)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN ((DAT_UINT64)1 << 12)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO ((DAT_UINT64)1 << 13)
#define DAT_IA_FIELD_IA_MAX_LMRS ((DAT_UINT64)1 << 14)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE ((DAT_UINT64)1 << 15)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS ((DAT_UINT64)1 << 16)
#define DAT_IA_FIELD_IA_MAX_PZS ((DAT_UINT64)1 << 17)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE ((DAT_UINT64)1 << 18)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE ((DAT_UINT64)1 << 19)
#define DAT_IA_FIELD_IA_MAX_RMRS ((DAT_UINT64)1 << 20)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS ((DAT_UINT64)1 << 21)
#define DAT_IA_FIELD_IA_MAX_SRQS ((DAT_UINT64)1 << 22)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ ((DAT_UINT64)1 << 23)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ ((DAT_UINT64)1 << 24)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ ((DAT_UINT64)1 << 25)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE ((DAT_UINT64)1 << 26)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN ((DAT_UINT64)1 << 27)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT ((DAT_UINT64)1 << 28)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED ((DAT_UINT64)1 << 29)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED ((DAT_UINT64)1 << 30)
#define DAT_IA_FIELD_IA_ZB_SUPPORTED ((DAT_UINT64)1 << 31)
#define DAT_IA_FIELD_IA_EXTENSIONS_SUPPORTED ((DAT_UINT64)1 << 32)
#define DAT_IA_ALL DAT_IA_FIELD_ALL
#define DAT_IA_FIELD_NONE ((DAT_UINT64)0)
#define DAT_EP_STATE_ERROR DAT_EP_STATE_DISCONNECTED
#define DAT_EP_FIELD_IA_HANDLE ((DAT_UINT64)1 << 0)
#define DAT_EP_FIELD_EP_STATE ((DAT_UINT64)1 << 1)
#define DAT_EP_FIELD_COMM ((DAT_UINT64)1 << 2)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR ((DAT_UINT64)1 << 3)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL ((DAT_UINT64)1 << 4)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR ((DAT_UINT64)1 << 5)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL ((DAT_UINT64)1 << 6)
#define DAT_EP_FIELD_PZ_HANDLE ((DAT_UINT64)1 << 7)
#define DAT_EP_FIELD_RECV_EVD_HANDLE ((DAT_UINT64)1 << 8)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE ((DAT_UINT64)1 << 9)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE ((DAT_UINT64)1 << 10)
#define DAT_EP_FIELD_SRQ_HANDLE ((DAT_UINT64)1 << 11)
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE ((DAT_UINT64)1 << 12)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE ((DAT_UINT64)1 << 13)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE ((DAT_UINT64)1 << 14)
#define DAT_EP_FIELD_EP_ATTR_QOS ((DAT_UINT64)1 << 15)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS ((DAT_UINT64)1 << 16)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS ((DAT_UINT64)1 << 17)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS ((DAT_UINT64)1 << 18)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS ((DAT_UINT64)1 << 19)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV ((DAT_UINT64)1 << 20)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV ((DAT_UINT64)1 << 21)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN ((DAT_UINT64)1 << 22)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT ((DAT_UINT64)1 << 23)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW ((DAT_UINT64)1 << 24)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV ((DAT_UINT64)1 << 25)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV ((DAT_UINT64)1 << 26)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR ((DAT_UINT64)1 << 27)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR ((DAT_UINT64)1 << 28)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR ((DAT_UINT64)1 << 29)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR ((DAT_UINT64)1 << 30)
#define DAT_EP_FIELD_EP_ATTR_ALL ((DAT_UINT64)0x7FFFF000U)
#define DAT_EP_FIELD_ALL ((DAT_UINT64)0x7FFFFFFFU)
#define DAT_WATERMARK_INFINITE (-1)
#define DAT_HW_DEFAULT DAT_WATERMARK_INFINITE
#define DAT_SRQ_LW_DEFAULT 0
#define DAT_VALUE_UNKNOWN (-2)
#define DAT_DTO_LENGTH_ERROR DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE DAT_DTO_ERR_FLUSHED
#define DAT_RMR_BIND_SUCCESS DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE DAT_DTO_ERR_FLUSHED
#define DAT_OPEN_EXTENSION_BASE 0x1000
#define DAT_CLOSE_EXTENSION_BASE 0x2000
#define max_rdma_read_per_ep max_rdma_read_per_ep_in
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP DAT_IA_FIELD_IA_MAX_DTO_PER_EP_IN
#define max_mtu_size max_message_size
#define DAT_RMR_BIND_COMPLETION_STATUS DAT_DTO_COMPLETION_STATUS

typedef struct dat_named_attr DAT_NAMED_ATTR;
typedef union dat_context DAT_CONTEXT;
typedef struct dat_provider_attr DAT_PROVIDER_ATTR;
typedef struct dat_evd_param DAT_EVD_PARAM;
typedef struct dat_lmr_param DAT_LMR_PARAM;
typedef struct dat_lmr_triplet DAT_LMR_TRIPLET;
typedef struct dat_rmr_triplet DAT_RMR_TRIPLET;
typedef struct dat_rmr_param DAT_RMR_PARAM;
typedef struct dat_ia_attr DAT_IA_ATTR;
typedef struct dat_ep_attr DAT_EP_ATTR;
typedef struct dat_ep_param DAT_EP_PARAM;
typedef struct dat_srq_attr DAT_SRQ_ATTR;
typedef struct dat_srq_param DAT_SRQ_PARAM;
typedef struct dat_pz_param DAT_PZ_PARAM;
typedef struct dat_psp_param DAT_PSP_PARAM;
typedef struct dat_rsp_param DAT_RSP_PARAM;
typedef struct dat_csp_param DAT_CSP_PARAM;
typedef struct dat_cr_param DAT_CR_PARAM;
typedef struct dat_dto_completion_event_data DAT_DTO_COMPLETION_EVENT_DATA;
typedef struct dat_rmr_bind_completion_event_data DAT_RMR_BIND_COMPLETION_EVENT_DATA;
typedef union dat_sp_handle DAT_SP_HANDLE;
typedef struct dat_cr_arrival_event_data DAT_CR_ARRIVAL_EVENT_DATA;
typedef struct dat_connection_event_data DAT_CONNECTION_EVENT_DATA;
typedef struct dat_asynch_error_event_data DAT_ASYNCH_ERROR_EVENT_DATA;
typedef struct dat_software_event_data DAT_SOFTWARE_EVENT_DATA;
typedef union dat_event_data DAT_EVENT_DATA;
typedef struct dat_event DAT_EVENT;
typedef struct dat_provider_info DAT_PROVIDER_INFO;

typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR = 0,
	DAT_HANDLE_TYPE_EP = 1,
	DAT_HANDLE_TYPE_EVD = 2,
	DAT_HANDLE_TYPE_IA = 3,
	DAT_HANDLE_TYPE_LMR = 4,
	DAT_HANDLE_TYPE_PSP = 5,
	DAT_HANDLE_TYPE_PZ = 6,
	DAT_HANDLE_TYPE_RMR = 7,
	DAT_HANDLE_TYPE_RSP = 8,
	DAT_HANDLE_TYPE_CNO = 9,
	DAT_HANDLE_TYPE_SRQ = 10,
	DAT_HANDLE_TYPE_CSP = 11,
	DAT_HANDLE_TYPE_EXTENSION_BASE = 12
} DAT_HANDLE_TYPE;

typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE = 1,
	DAT_EVD_FIELD_EVD_QLEN = 2,
	DAT_EVD_FIELD_EVD_STATE = 4,
	DAT_EVD_FIELD_CNO = 8,
	DAT_EVD_FIELD_EVD_FLAGS = 0x10,
	DAT_EVD_FIELD_ALL = 0x1f
} DAT_EVD_PARAM_MASK;

enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE = 1,
	DAT_LMR_FIELD_MEM_TYPE = 2,
	DAT_LMR_FIELD_REGION_DESC = 4,
	DAT_LMR_FIELD_LENGTH = 8,
	DAT_LMR_FIELD_PZ_HANDLE = 0x10,
	DAT_LMR_FIELD_MEM_PRIV = 0x20,
	DAT_LMR_FIELD_VA_TYPE = 0x40,
	DAT_LMR_FIELD_LMR_CONTEXT = 0x80,
	DAT_LMR_FIELD_RMR_CONTEXT = 0x100,
	DAT_LMR_FIELD_REGISTERED_SIZE = 0x200,
	DAT_LMR_FIELD_REGISTERED_ADDRESS = 0x400,
	DAT_LMR_FIELD_ALL = 0x7ff
};

typedef enum dat_boolean {
	DAT_FALSE = 0,
	DAT_TRUE = 1
} DAT_BOOLEAN;

typedef enum dat_completion_flags {
	DAT_COMPLETION_DEFAULT_FLAG = 0,
	DAT_COMPLETION_SUPPRESS_FLAG = 1,
	DAT_COMPLETION_SOLICITED_WAIT_FLAG = 2,
	DAT_COMPLETION_UNSIGNALLED_FLAG = 4,
	DAT_COMPLETION_BARRIER_FENCE_FLAG = 8,
	DAT_COMPLETION_EVD_THRESHOLD_FLAG = 0x10,
	DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG = 0x20
} DAT_COMPLETION_FLAGS;

typedef enum dat_dtos {
	DAT_DTO_SEND = 0,
	DAT_DTO_RDMA_WRITE = 1,
	DAT_DTO_RDMA_READ = 2,
	DAT_DTO_RECEIVE = 3,
	DAT_DTO_RECEIVE_WITH_INVALIDATE = 4,
	DAT_DTO_BIND_MW = 5,
	DAT_DTO_LMR_FMR = 6,
	DAT_DTO_LMR_INVALIDATE = 7,
	DAT_DTO_EXTENSION_BASE = 8
} DAT_DTOS;

typedef enum dat_qos {
	DAT_QOS_BEST_EFFORT = 0,
	DAT_QOS_HIGH_THROUGHPUT = 1,
	DAT_QOS_LOW_LATENCY = 2,
	DAT_QOS_ECONOMY = 4,
	DAT_QOS_PREMIUM = 8
} DAT_QOS;

typedef enum dat_connect_flags {
	DAT_CONNECT_DEFAULT_FLAG = 0,
	DAT_CONNECT_MULTIPATH_FLAG = 1,
	DAT_CONNECT_MULTIPATH_REQUIRED_FLAG = 2
} DAT_CONNECT_FLAGS;

typedef enum dat_close_flags {
	DAT_CLOSE_ABRUPT_FLAG = 0,
	DAT_CLOSE_GRACEFUL_FLAG = 1
} DAT_CLOSE_FLAGS;

typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG = 1,
	DAT_EVD_CR_FLAG = 0x10,
	DAT_EVD_DTO_FLAG = 0x20,
	DAT_EVD_CONNECTION_FLAG = 0x40,
	DAT_EVD_RMR_BIND_FLAG = 0x80,
	DAT_EVD_ASYNC_FLAG = 0x100,
	DAT_EVD_DEFAULT_FLAG = 0x1f0,
	DAT_EVD_EXTENSION_BASE = 0x200
} DAT_EVD_FLAGS;

typedef enum dat_psp_flags {
	DAT_PSP_CONSUMER_FLAG = 0,
	DAT_PSP_PROVIDER_FLAG = 1
} DAT_PSP_FLAGS;

typedef enum dat_mem_priv_flags {
	DAT_MEM_PRIV_NONE_FLAG = 0,
	DAT_MEM_PRIV_LOCAL_READ_FLAG = 1,
	DAT_MEM_PRIV_REMOTE_READ_FLAG = 2,
	DAT_MEM_PRIV_LOCAL_WRITE_FLAG = 0x10,
	DAT_MEM_PRIV_REMOTE_WRITE_FLAG = 0x20,
	DAT_MEM_PRIV_ALL_FLAG = 0x33,
	DAT_MEM_PRIV_EXTENSION_BASE = 0x40
} DAT_MEM_PRIV_FLAGS;

typedef enum dat_va_type {
	DAT_VA_TYPE_VA = 0,
	DAT_VA_TYPE_ZB = 1
} DAT_VA_TYPE;

typedef enum dat_rmr_scope {
	DAT_RMR_SCOPE_EP = 0,
	DAT_RMR_SCOPE_PZ = 1,
	DAT_RMR_SCOPE_ANY = 2
} DAT_RMR_SCOPE;

typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE = 1,
	DAT_RMR_FIELD_PZ_HANDLE = 2,
	DAT_RMR_FIELD_LMR_TRIPLET = 4,
	DAT_RMR_FIELD_MEM_PRIV = 8,
	DAT_RMR_FIELD_RMR_CONTEXT = 0x10,
	DAT_RMR_FIELD_RMR_SCOPE = 0x20,
	DAT_RMR_FIELD_VA_TYPE = 0x40,
	DAT_RMR_FIELD_ALL = 0x7f
} DAT_RMR_PARAM_MASK;

typedef enum dat_iov_ownership {
	DAT_IOV_CONSUMER = 0,
	DAT_IOV_PROVIDER_NOMOD = 1,
	DAT_IOV_PROVIDER_MOD = 2
} DAT_IOV_OWNERSHIP;

typedef enum dat_ep_creator_for_psp {
	DAT_PSP_CREATES_EP_NEVER = 0,
	DAT_PSP_CREATES_EP_IFASKED = 1,
	DAT_PSP_CREATES_EP_ALWAYS = 2
} DAT_EP_CREATOR_FOR_PSP;

typedef enum dat_extension {
	DAT_EXTENSION_NONE = 0,
	DAT_EXTENSION_IB = 1,
	DAT_EXTENSION_IW = 2
} DAT_EXTENSION;

typedef enum dat_service_type {
	DAT_SERVICE_TYPE_RC = 0,
	DAT_SERVICE_TYPE_EXTENSION_BASE = 1
} DAT_SERVICE_TYPE;

typedef enum dat_ep_state {
	DAT_EP_STATE_UNCONNECTED = 0,
	DAT_EP_STATE_UNCONFIGURED_UNCONNECTED = 1,
	DAT_EP_STATE_RESERVED = 2,
	DAT_EP_STATE_UNCONFIGURED_RESERVED = 3,
	DAT_EP_STATE_PASSIVE_CONNECTION_PENDING = 4,
	DAT_EP_STATE_UNCONFIGURED_PASSIVE = 5,
	DAT_EP_STATE_ACTIVE_CONNECTION_PENDING = 6,
	DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING = 7,
	DAT_EP_STATE_UNCONFIGURED_TENTATIVE = 8,
	DAT_EP_STATE_CONNECTED = 9,
	DAT_EP_STATE_DISCONNECT_PENDING = 10,
	DAT_EP_STATE_DISCONNECTED = 11,
	DAT_EP_STATE_COMPLETION_PENDING = 12,
	DAT_EP_STATE_CONNECTED_SINGLE_PATH = 13,
	DAT_EP_STATE_CONNECTED_MULTI_PATH = 14
} DAT_EP_STATE;

typedef enum dat_srq_state {
	DAT_SRQ_STATE_ERROR = 0,
	DAT_SRQ_STATE_OPERATIONAL = 1,
	DAT_SRQ_STATE_SHUTDOWN = 2
} DAT_SRQ_STATE;

typedef enum dat_srq_param_mask {
	DAT_SRQ_FIELD_IA_HANDLE = 1,
	DAT_SRQ_FIELD_SRQ_STATE = 2,
	DAT_SRQ_FIELD_PZ_HANDLE = 4,
	DAT_SRQ_FIELD_MAX_RECV_DTO = 8,
	DAT_SRQ_FIELD_MAX_RECV_IOV = 0x10,
	DAT_SRQ_FIELD_LOW_WATERMARK = 0x20,
	DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT = 0x40,
	DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT = 0x80,
	DAT_SRQ_FIELD_ALL = 0xff
} DAT_SRQ_PARAM_MASK;

typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE = 1,
	DAT_PZ_FIELD_ALL = 1
} DAT_PZ_PARAM_MASK;

typedef enum dat_psp_param_mask {
	DAT_PSP_FIELD_IA_HANDLE = 1,
	DAT_PSP_FIELD_CONN_QUAL = 2,
	DAT_PSP_FIELD_EVD_HANDLE = 4,
	DAT_PSP_FIELD_PSP_FLAGS = 8,
	DAT_PSP_FIELD_ALL = 15
} DAT_PSP_PARAM_MASK;

typedef enum dat_rsp_param_mask {
	DAT_RSP_FIELD_IA_HANDLE = 1,
	DAT_RSP_FIELD_CONN_QUAL = 2,
	DAT_RSP_FIELD_EVD_HANDLE = 4,
	DAT_RSP_FIELD_EP_HANDLE = 8,
	DAT_RSP_FIELD_ALL = 15
} DAT_RSP_PARAM_MASK;

typedef enum dat_csp_param_mask {
	DAT_CSP_FIELD_IA_HANDLE = 1,
	DAT_CSP_FIELD_COMM = 2,
	DAT_CSP_FIELD_IA_ADDRESS = 4,
	DAT_CSP_FIELD_EVD_HANDLE = 8,
	DAT_CSP_FIELD_ALL = 15
} DAT_CSP_PARAM_MASK;

typedef enum dat_cr_param_mask {
	DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR = 1,
	DAT_CR_FIELD_REMOTE_PORT_QUAL = 2,
	DAT_CR_FIELD_PRIVATE_DATA_SIZE = 4,
	DAT_CR_FIELD_PRIVATE_DATA = 8,
	DAT_CR_FIELD_LOCAL_EP_HANDLE = 0x10,
	DAT_CR_FIELD_ALL = 0x1f
} DAT_CR_PARAM_MASK;

typedef enum dat_dto_completion_status {
	DAT_DTO_SUCCESS = 0,
	DAT_DTO_ERR_FLUSHED = 1,
	DAT_DTO_ERR_LOCAL_LENGTH = 2,
	DAT_DTO_ERR_LOCAL_EP = 3,
	DAT_DTO_ERR_LOCAL_PROTECTION = 4,
	DAT_DTO_ERR_BAD_RESPONSE = 5,
	DAT_DTO_ERR_REMOTE_ACCESS = 6,
	DAT_DTO_ERR_REMOTE_RESPONDER = 7,
	DAT_DTO_ERR_TRANSPORT = 8,
	DAT_DTO_ERR_RECEIVER_NOT_READY = 9,
	DAT_DTO_ERR_PARTIAL_PACKET = 10,
	DAT_RMR_OPERATION_FAILED = 11,
	DAT_DTO_ERR_LOCAL_MM_ERROR = 12
} DAT_DTO_COMPLETION_STATUS;

typedef enum ia_async_error_reason {
	DAT_IA_CATASTROPHIC_ERROR = 0,
	DAT_IA_OTHER_ERROR = 1
} DAT_IA_ASYNC_ERROR_REASON;

typedef enum ep_async_error_reason {
	DAT_EP_TRANSFER_TO_ERROR = 0,
	DAT_EP_OTHER_ERROR = 1,
	DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT = 2
} DAT_EP_ASYNC_ERROR_REASON;

typedef enum evd_async_error_reason {
	DAT_EVD_OVERFLOW_ERROR = 0,
	DAT_EVD_OTHER_ERROR = 1
} DAT_EVD_ASYNC_ERROR_REASON;

typedef enum srq_async_error_reason {
	DAT_SRQ_TRANSFER_TO_ERROR = 0,
	DAT_SRQ_OTHER_ERROR = 1,
	DAT_SRQ_LOW_WATERMARK_EVENT = 2
} DAT_SRQ_ASYNC_ERROR_REASON;

typedef enum lmr_async_error_reason {
	DAT_LMR_OTHER_ERROR = 0
} DAT_LMR_ASYNC_ERROR_REASON;

typedef enum rmr_async_error_reason {
	DAT_RMR_OTHER_ERROR = 0
} DAT_RMR_ASYNC_ERROR_REASON;

typedef enum pz_async_error_reason {
	DAT_PZ_OTHER_ERROR = 0
} DAT_PZ_ASYNC_ERROR_REASON;

typedef enum dat_event_number {
	DAT_DTO_COMPLETION_EVENT = 1,
	DAT_RMR_BIND_COMPLETION_EVENT = 0x1001,
	DAT_CONNECTION_REQUEST_EVENT = 0x2001,
	DAT_CONNECTION_EVENT_ESTABLISHED = 0x4001,
	DAT_CONNECTION_EVENT_PEER_REJECTED = 0x4002,
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED = 0x4003,
	DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR = 0x4004,
	DAT_CONNECTION_EVENT_DISCONNECTED = 0x4005,
	DAT_CONNECTION_EVENT_BROKEN = 0x4006,
	DAT_CONNECTION_EVENT_TIMED_OUT = 0x4007,
	DAT_CONNECTION_EVENT_UNREACHABLE = 0x4008,
	DAT_ASYNC_ERROR_EVD_OVERFLOW = 0x8001,
	DAT_ASYNC_ERROR_IA_CATASTROPHIC = 0x8002,
	DAT_ASYNC_ERROR_EP_BROKEN = 0x8003,
	DAT_ASYNC_ERROR_TIMED_OUT = 0x8004,
	DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR = 0x8005,
	DAT_HA_DOWN_TO_1 = 0x8101,
	DAT_HA_UP_TO_MULTI_PATH = 0x8102,
	DAT_SOFTWARE_EVENT = 0x10001,
	DAT_EXTENSION_EVENT = 0x20000,
	DAT_IB_EXTENSION_RANGE_BASE = 0x40000,
	DAT_IW_EXTENSION_RANGE_BASE = 0x80000
} DAT_EVENT_NUMBER;

typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;
typedef char *DAT_NAME_PTR;
typedef DAT_UINT32 DAT_HA_LB;
typedef DAT_CONTEXT DAT_DTO_COOKIE;
typedef DAT_CONTEXT DAT_RMR_COOKIE;
typedef DAT_UINT32 DAT_TIMEOUT;
typedef DAT_PVOID DAT_HANDLE;
typedef DAT_HANDLE DAT_CR_HANDLE;
typedef DAT_HANDLE DAT_EP_HANDLE;
typedef DAT_HANDLE DAT_EVD_HANDLE;
typedef DAT_HANDLE DAT_IA_HANDLE;
typedef DAT_HANDLE DAT_LMR_HANDLE;
typedef DAT_HANDLE DAT_PSP_HANDLE;
typedef DAT_HANDLE DAT_PZ_HANDLE;
typedef DAT_HANDLE DAT_RMR_HANDLE;
typedef DAT_HANDLE DAT_RSP_HANDLE;
typedef DAT_HANDLE DAT_SRQ_HANDLE;
typedef DAT_HANDLE DAT_CSP_HANDLE;
typedef DAT_SOCK_ADDR *DAT_IA_ADDRESS_PTR;
typedef DAT_UINT64 DAT_CONN_QUAL;
typedef DAT_UINT64 DAT_PORT_QUAL;
typedef DAT_UINT32 DAT_LMR_CONTEXT;
typedef DAT_UINT32 DAT_RMR_CONTEXT;
typedef DAT_UINT64 DAT_VLEN;
typedef DAT_UINT64 DAT_VADDR;
typedef DAT_UINT32 DAT_SEG_LENGTH;
typedef enum dat_lmr_param_mask DAT_LMR_PARAM_MASK;
typedef DAT_UINT64 DAT_IA_ATTR_MASK;
typedef DAT_UINT64 DAT_EP_PARAM_MASK;
typedef int DAT_EXTENDED_OP;

struct dat_named_attr {
	const char *name;
	const char *value;
};

union dat_context {
	DAT_PVOID as_ptr;
	DAT_UINT64 as_64;
	DAT_UVERYLONG as_index;
};

struct dat_lmr_triplet {
	DAT_VADDR virtual_address;
	DAT_SEG_LENGTH segment_length;
	DAT_LMR_CONTEXT lmr_context;
};

struct dat_rmr_triplet {
	DAT_VADDR virtual_address;
	DAT_SEG_LENGTH segment_length;
	DAT_RMR_CONTEXT rmr_context;
};

struct dat_rmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PZ_HANDLE pz_handle;
	DAT_LMR_TRIPLET lmr_triplet;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_RMR_CONTEXT rmr_context;
	DAT_RMR_SCOPE rmr_scope;
	DAT_VA_TYPE va_type;
};

struct dat_ep_attr {
	DAT_SERVICE_TYPE service_type;
	DAT_SEG_LENGTH max_message_size;
	DAT_SEG_LENGTH max_rdma_size;
	DAT_QOS qos;
	DAT_COMPLETION_FLAGS recv_completion_flags;
	DAT_COMPLETION_FLAGS request_completion_flags;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_request_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT max_request_iov;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_COUNT srq_soft_hw;
	DAT_COUNT max_rdma_read_iov;
	DAT_COUNT max_rdma_write_iov;
	DAT_COUNT ep_transport_specific_count;
	DAT_NAMED_ATTR *ep_transport_specific;
	DAT_COUNT ep_provider_specific_count;
	DAT_NAMED_ATTR *ep_provider_specific;
};

struct dat_ep_param {
	DAT_IA_HANDLE ia_handle;
	DAT_EP_STATE ep_state;
	DAT_COMM comm;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_PORT_QUAL local_port_qual;
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_PZ_HANDLE pz_handle;
	DAT_EVD_HANDLE recv_evd_handle;
	DAT_EVD_HANDLE request_evd_handle;
	DAT_EVD_HANDLE connect_evd_handle;
	DAT_SRQ_HANDLE srq_handle;
	DAT_EP_ATTR ep_attr;
};

struct dat_srq_attr {
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
};

struct dat_srq_param {
	DAT_IA_HANDLE ia_handle;
	DAT_SRQ_STATE srq_state;
	DAT_PZ_HANDLE pz_handle;
	DAT_COUNT max_recv_dtos;
	DAT_COUNT max_recv_iov;
	DAT_COUNT low_watermark;
	DAT_COUNT available_dto_count;
	DAT_COUNT outstanding_dto_count;
};

struct dat_pz_param {
	DAT_IA_HANDLE ia_handle;
};

struct dat_psp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_PSP_FLAGS psp_flags;
};

struct dat_rsp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_CONN_QUAL conn_qual;
	DAT_EVD_HANDLE evd_handle;
	DAT_EP_HANDLE ep_handle;
};

struct dat_csp_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COMM *comm;
	DAT_IA_ADDRESS_PTR address_ptr;
	DAT_EVD_HANDLE evd_handle;
};

struct dat_cr_param {
	DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
	DAT_PORT_QUAL remote_port_qual;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
	DAT_EP_HANDLE local_ep_handle;
};

struct dat_dto_completion_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_DTO_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
	DAT_SEG_LENGTH transfered_length;
	DAT_DTOS operation;
	DAT_RMR_CONTEXT rmr_context;
};

struct dat_rmr_bind_completion_event_data {
	DAT_RMR_HANDLE rmr_handle;
	DAT_RMR_COOKIE user_cookie;
	DAT_DTO_COMPLETION_STATUS status;
};

union dat_sp_handle {
	DAT_RSP_HANDLE rsp_handle;
	DAT_PSP_HANDLE psp_handle;
	DAT_CSP_HANDLE csp_handle;
};

struct dat_cr_arrival_event_data {
	DAT_SP_HANDLE sp_handle;
	DAT_IA_ADDRESS_PTR local_ia_address_ptr;
	DAT_CONN_QUAL conn_qual;
	DAT_CR_HANDLE cr_handle;
	DAT_BOOLEAN truncate_flag;
};

struct dat_connection_event_data {
	DAT_EP_HANDLE ep_handle;
	DAT_COUNT private_data_size;
	DAT_PVOID private_data;
};

struct dat_asynch_error_event_data {
	DAT_HANDLE dat_handle;
	DAT_COUNT reason;
};

struct dat_software_event_data {
	DAT_PVOID pointer;
};

union dat_event_data {
	DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;
	DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;
	DAT_CONNECTION_EVENT_DATA connect_event_data;
	DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;
	DAT_SOFTWARE_EVENT_DATA software_event_data;
};

struct dat_event {
	DAT_EVENT_NUMBER event_number;
	DAT_EVD_HANDLE evd_handle;
	DAT_EVENT_DATA event_data;
	DAT_UINT64 event_extension_data[8];
};

struct dat_provider_info {
	char ia_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_BOOLEAN is_thread_safe;
};

DAT_EXPORT DAT_RETURN DAT_API dat_ia_openv(
	IN const DAT_NAME_PTR name,
	IN DAT_COUNT async_event_qlen,
	INOUT DAT_EVD_HANDLE *async_event_handle,
	OUT DAT_IA_HANDLE *ia_handle,
	IN DAT_UINT32 dapl_major,
	IN DAT_UINT32 dapl_minor,
	IN DAT_BOOLEAN thread_safety);

DAT_EXPORT DAT_RETURN DAT_API dat_ia_query(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_EVD_HANDLE *async_evd_handle,
	IN DAT_IA_ATTR_MASK ia_attr_mask,
	OUT DAT_IA_ATTR *ia_attr,
	IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
	OUT DAT_PROVIDER_ATTR *provider_attr);

DAT_EXPORT DAT_RETURN DAT_API dat_ia_close(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_CLOSE_FLAGS ia_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_set_consumer_context(
	IN DAT_HANDLE dat_handle,
	IN DAT_CONTEXT context);

DAT_EXPORT DAT_RETURN DAT_API dat_get_consumer_context(
	IN DAT_HANDLE dat_handle,
	OUT DAT_CONTEXT *context);

DAT_EXPORT DAT_RETURN DAT_API dat_get_handle_type(
	IN DAT_HANDLE dat_handle,
	OUT DAT_HANDLE_TYPE *type);

DAT_EXPORT DAT_RETURN DAT_API dat_cr_query(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_CR_PARAM_MASK cr_param_mask,
	OUT DAT_CR_PARAM *cr_param);

DAT_EXPORT DAT_RETURN DAT_API dat_cr_accept(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data);

DAT_EXPORT DAT_RETURN DAT_API dat_cr_reject(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data);

DAT_EXPORT DAT_RETURN DAT_API dat_cr_handoff(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_CONN_QUAL handoff);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_resize(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_COUNT evd_min_qlen);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_post_se(
	IN DAT_EVD_HANDLE evd_handle,
	IN const DAT_EVENT *event);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_dequeue(
	IN DAT_EVD_HANDLE evd_handle,
	OUT DAT_EVENT *event);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_query(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_EVD_PARAM_MASK evd_param_mask,
	OUT DAT_EVD_PARAM *evd_param);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_free(
	IN DAT_EVD_HANDLE evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_EVD_HANDLE recv_completion_evd_handle,
	IN DAT_EVD_HANDLE request_completion_evd_handle,
	IN DAT_EVD_HANDLE connect_evd_handle,
	IN const DAT_EP_ATTR *ep_attributes,
	OUT DAT_EP_HANDLE *ep_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_query(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EP_PARAM_MASK ep_param_mask,
	OUT DAT_EP_PARAM *ep_param);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_modify(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EP_PARAM_MASK ep_param_mask,
	IN const DAT_EP_PARAM *ep_param);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_connect(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_IA_ADDRESS_PTR remote_ia_address,
	IN DAT_CONN_QUAL remote_conn_qual,
	IN DAT_TIMEOUT timeout,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data,
	IN DAT_QOS quality_of_service,
	IN DAT_CONNECT_FLAGS connect_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_dup_connect(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EP_HANDLE ep_dup_handle,
	IN DAT_TIMEOUT timeout,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data,
	IN DAT_QOS quality_of_service);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_common_connect(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_IA_ADDRESS_PTR remote_ia_address,
	IN DAT_TIMEOUT timeout,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_disconnect(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_CLOSE_FLAGS close_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_send(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN DAT_COMPLETION_FLAGS completion_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_send_with_invalidate(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN DAT_COMPLETION_FLAGS completion_flags,
	IN DAT_BOOLEAN invalidate_flag,
	IN DAT_RMR_CONTEXT rmr_context);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_recv(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN DAT_COMPLETION_FLAGS completion_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_rdma_read(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN const DAT_RMR_TRIPLET *remote_iov,
	IN DAT_COMPLETION_FLAGS completion_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_rdma_read_to_rmr(
	IN DAT_EP_HANDLE ep_handle,
	IN const DAT_RMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN const DAT_RMR_TRIPLET *remote_iov,
	IN DAT_COMPLETION_FLAGS completion_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_post_rdma_write(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN const DAT_RMR_TRIPLET *remote_iov,
	IN DAT_COMPLETION_FLAGS completion_flags);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_get_status(
	IN DAT_EP_HANDLE ep_handle,
	OUT DAT_EP_STATE *ep_state,
	OUT DAT_BOOLEAN *recv_idle,
	OUT DAT_BOOLEAN *request_idle);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_free(
	IN DAT_EP_HANDLE ep_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_reset(
	IN DAT_EP_HANDLE ep_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_create_with_srq(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_EVD_HANDLE recv_evd_handle,
	IN DAT_EVD_HANDLE request_evd_handle,
	IN DAT_EVD_HANDLE connect_evd_handle,
	IN DAT_SRQ_HANDLE srq_handle,
	IN const DAT_EP_ATTR *ep_attributes,
	OUT DAT_EP_HANDLE *ep_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_recv_query(
	IN DAT_EP_HANDLE ep_handle,
	OUT DAT_COUNT *nbufs_allocated,
	OUT DAT_COUNT *bufs_alloc_span);

DAT_EXPORT DAT_RETURN DAT_API dat_ep_set_watermark(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT soft_high_watermark,
	IN DAT_COUNT hard_high_watermark);

DAT_EXPORT DAT_RETURN DAT_API dat_lmr_free(
	IN DAT_LMR_HANDLE lmr_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_lmr_sync_rdma_read(
	IN DAT_IA_HANDLE ia_handle,
	IN const DAT_LMR_TRIPLET *local_segments,
	IN DAT_VLEN num_segments);

DAT_EXPORT DAT_RETURN DAT_API dat_lmr_sync_rdma_write(
	IN DAT_IA_HANDLE ia_handle,
	IN const DAT_LMR_TRIPLET *local_segments,
	IN DAT_VLEN num_segments);

DAT_EXPORT DAT_RETURN DAT_API dat_rmr_create(
	IN DAT_PZ_HANDLE pz_handle,
	OUT DAT_RMR_HANDLE *rmr_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_rmr_create_for_ep(
	IN DAT_PZ_HANDLE pz_handle,
	OUT DAT_RMR_HANDLE *rmr_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_rmr_query(
	IN DAT_RMR_HANDLE rmr_handle,
	IN DAT_RMR_PARAM_MASK rmr_param_mask,
	OUT DAT_RMR_PARAM *rmr_param);

DAT_EXPORT DAT_RETURN DAT_API dat_rmr_bind(
	IN DAT_RMR_HANDLE rmr_handle,
	IN DAT_LMR_HANDLE lmr_handle,
	IN const DAT_LMR_TRIPLET *lmr_triplet,
	IN DAT_MEM_PRIV_FLAGS mem_priv,
	IN DAT_VA_TYPE va_type,
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_RMR_COOKIE user_cookie,
	IN DAT_COMPLETION_FLAGS completion_flags,
	OUT DAT_RMR_CONTEXT *context);

DAT_EXPORT DAT_RETURN DAT_API dat_rmr_free(
	IN DAT_RMR_HANDLE rmr_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_psp_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_CONN_QUAL conn_qual,
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_PSP_FLAGS psp_flags,
	OUT DAT_PSP_HANDLE *psp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_psp_create_any(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_CONN_QUAL *conn_qual,
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_PSP_FLAGS psp_flags,
	OUT DAT_PSP_HANDLE *psp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_psp_query(
	IN DAT_PSP_HANDLE psp_handle,
	IN DAT_PSP_PARAM_MASK psp_param_mask,
	OUT DAT_PSP_PARAM *psp_param);

DAT_EXPORT DAT_RETURN DAT_API dat_psp_free(
	IN DAT_PSP_HANDLE psp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_rsp_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_CONN_QUAL conn_qual,
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EVD_HANDLE evd_handle,
	OUT DAT_RSP_HANDLE *rsp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_rsp_query(
	IN DAT_RSP_HANDLE rsp_handle,
	IN DAT_RSP_PARAM_MASK rsp_param_mask,
	OUT DAT_RSP_PARAM *rsp_param);

DAT_EXPORT DAT_RETURN DAT_API dat_rsp_free(
	IN DAT_RSP_HANDLE rsp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_csp_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_COMM *comm,
	IN DAT_IA_ADDRESS_PTR address,
	IN DAT_EVD_HANDLE evd_handle,
	OUT DAT_CSP_HANDLE *csp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_csp_query(
	IN DAT_CSP_HANDLE csp_handle,
	IN DAT_CSP_PARAM_MASK csp_param_mask,
	OUT DAT_CSP_PARAM *csp_param);

DAT_EXPORT DAT_RETURN DAT_API dat_csp_free(
	IN DAT_CSP_HANDLE csp_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_pz_create(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_PZ_HANDLE *pz_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_pz_query(
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_PZ_PARAM_MASK pz_param_mask,
	OUT DAT_PZ_PARAM *pz_param);

DAT_EXPORT DAT_RETURN DAT_API dat_pz_free(
	IN DAT_PZ_HANDLE pz_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_srq_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_SRQ_ATTR *srq_attr,
	OUT DAT_SRQ_HANDLE *srq_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_srq_free(
	IN DAT_SRQ_HANDLE srq_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_srq_post_recv(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie);

DAT_EXPORT DAT_RETURN DAT_API dat_srq_query(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_SRQ_PARAM_MASK srq_param_mask,
	OUT DAT_SRQ_PARAM *srq_param);

DAT_EXPORT DAT_RETURN DAT_API dat_srq_resize(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_COUNT srq_max_recv_dto);

DAT_EXPORT DAT_RETURN DAT_API dat_srq_set_lw(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_COUNT low_watermark);

DAT_EXPORT DAT_RETURN DAT_API dat_extension_op(
	IN DAT_HANDLE handle,
	IN DAT_EXTENDED_OP ext_op,
	...);

DAT_EXPORT DAT_RETURN DAT_API dat_registry_list_providers(
	IN DAT_COUNT max_to_return,
	OUT DAT_COUNT *entries_returned,
	OUT DAT_PROVIDER_INFO *(dat_provider_list[]));

DAT_EXPORT DAT_RETURN DAT_API dat_strerror(
	IN DAT_RETURN value,
	OUT const char **major_message,
	OUT const char **minor_message);

#define dat_ia_open(name, qlen, async_evd, ia) \
	dat_ia_openv((name), (qlen), (async_evd), (ia), \
		     DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)

#ifdef __cplusplus
}
#endif

#endif /* _DAT_H_ */
