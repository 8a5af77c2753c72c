/* SPDX-License-Identifier: BSD-2-Clause */
/* Which types and calls does a user-level DAT program see? */
#ifndef _UDAT_H_
#define _UDAT_H_

#include <dat2/udat_config.h>
#include <dat2/dat_platform_specific.h>
#include <dat2/dat.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DAT_LMR_COOKIE_SIZE 40
#define DAT_EVD_ASYNC_EXISTS ((DAT_EVD_HANDLE)1)
#define DAT_EVD_OUT_OF_SCOPE ((DAT_EVD_HANDLE)2)
#define DAT_IA_FIELD_IA_EXTENSION ((DAT_UINT64)1 << 32)
#define DAT_IA_FIELD_IA_EXTENSION_VERSION ((DAT_UINT64)1 << 33)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR ((DAT_UINT64)1 << 34)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR ((DAT_UINT64)1 << 35)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR ((DAT_UINT64)1 << 36)
#define DAT_IA_FIELD_IA_VENDOR_ATTR ((DAT_UINT64)1 << 37)
#define DAT_IA_FIELD_ALL (((DAT_UINT64)0x3F << 32) | 0xFFFFFFFFU)
#define DAT_PROVIDER_FIELD_PROVIDER_NAME ((DAT_UINT64)1 << 0)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR ((DAT_UINT64)1 << 1)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR ((DAT_UINT64)1 << 2)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR ((DAT_UINT64)1 << 3)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR ((DAT_UINT64)1 << 4)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED ((DAT_UINT64)1 << 5)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP ((DAT_UINT64)1 << 6)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED ((DAT_UINT64)1 << 7)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED ((DAT_UINT64)1 << 8)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE ((DAT_UINT64)1 << 9)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE ((DAT_UINT64)1 << 10)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH ((DAT_UINT64)1 << 11)
#define DAT_PROVIDER_FIELD_EP_CREATOR ((DAT_UINT64)1 << 12)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT ((DAT_UINT64)1 << 13)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT ((DAT_UINT64)1 << 14)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED ((DAT_UINT64)1 << 15)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED ((DAT_UINT64)1 << 16)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED ((DAT_UINT64)1 << 17)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED ((DAT_UINT64)1 << 18)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED ((DAT_UINT64)1 << 19)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED ((DAT_UINT64)1 << 20)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ ((DAT_UINT64)1 << 21)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED ((DAT_UINT64)1 << 22)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ ((DAT_UINT64)1 << 23)
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE ((DAT_UINT64)1 << 24)
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED ((DAT_UINT64)1 << 25)
#define DAT_PROVIDER_FIELD_IS_SIGNAL_SAFE ((DAT_UINT64)1 << 26)
#define DAT_PROVIDER_FIELD_HA_SUPPORTED ((DAT_UINT64)1 << 27)
#define DAT_PROVIDER_FIELD_HA_LB ((DAT_UINT64)1 << 28)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR ((DAT_UINT64)1 << 29)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR ((DAT_UINT64)1 << 30)
#define DAT_PROVIDER_FIELD_ALL ((DAT_UINT64)0x7FFFFFFFU)
#define DAT_PROVIDER_FIELD_NONE ((DAT_UINT64)0)
#ifdef __cplusplus
#define DAT_OS_WAIT_PROXY_AGENT_NULL (DAT_OS_WAIT_PROXY_AGENT())
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL \
	(DAT_C_EXTENSION (DAT_OS_WAIT_PROXY_AGENT) { (DAT_PVOID)0, (DAT_AGENT_FUNC)0 })
#endif

typedef struct dat_os_wait_proxy_agent DAT_OS_WAIT_PROXY_AGENT;
typedef struct dat_shared_memory DAT_SHARED_MEMORY;
typedef union dat_region_description DAT_REGION_DESCRIPTION;
typedef struct dat_cno_param DAT_CNO_PARAM;

typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL = 0,
	DAT_MEM_TYPE_LMR = 1,
	DAT_MEM_TYPE_SHARED_VIRTUAL = 2
} DAT_MEM_TYPE;

typedef enum dat_evd_state {
	DAT_EVD_STATE_ENABLED = 1,
	DAT_EVD_STATE_DISABLED = 2,
	DAT_EVD_STATE_WAITABLE = 4,
	DAT_EVD_STATE_UNWAITABLE = 8,
	DAT_EVD_STATE_CONFIG_NOTIFY = 0x10,
	DAT_EVD_STATE_CONFIG_SOLICITED = 0x20,
	DAT_EVD_STATE_CONFIG_THRESHOLD = 0x30
} DAT_EVD_STATE;

typedef enum dat_proxy_type {
	DAT_PROXY_TYPE_NONE = 0,
	DAT_PROXY_TYPE_AGENT = 1,
	DAT_PROXY_TYPE_FD = 2
} DAT_PROXY_TYPE;

typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE = 1,
	DAT_CNO_FIELD_PROXY_TYPE = 2,
	DAT_CNO_FIELD_PROXY = 3,
	DAT_CNO_FIELD_ALL = 4
} DAT_CNO_PARAM_MASK;

typedef enum dat_pz_support {
	DAT_PZ_UNIQUE = 0,
	DAT_PZ_SHAREABLE = 1
} DAT_PZ_SUPPORT;

typedef DAT_HANDLE DAT_CNO_HANDLE;
typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

typedef void (DAT_API *DAT_AGENT_FUNC)(
	DAT_PVOID,
	DAT_EVD_HANDLE);

struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COUNT evd_qlen;
	DAT_EVD_STATE evd_state;
	DAT_CNO_HANDLE cno_handle;
	DAT_EVD_FLAGS evd_flags;
};

struct dat_os_wait_proxy_agent {
	DAT_PVOID instance_data;
	DAT_AGENT_FUNC proxy_agent_func;
};

struct dat_shared_memory {
	DAT_PVOID virtual_address;
	DAT_LMR_COOKIE shared_memory_id;
};

union dat_region_description {
	DAT_PVOID for_va;
	DAT_LMR_HANDLE for_lmr_handle;
	DAT_SHARED_MEMORY for_shared_memory;
};

struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_VA_TYPE va_type;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
};

struct dat_cno_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PROXY_TYPE proxy_type;
	union {
		DAT_OS_WAIT_PROXY_AGENT agent;
		DAT_FD fd;
		DAT_PVOID none;
	} proxy;
};

struct dat_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH];
	char vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 hardware_version_major;
	DAT_UINT32 hardware_version_minor;
	DAT_UINT32 firmware_version_major;
	DAT_UINT32 firmware_version_minor;
	DAT_IA_ADDRESS_PTR ia_address_ptr;
	DAT_COUNT max_eps;
	DAT_COUNT max_dto_per_ep;
	DAT_COUNT max_rdma_read_per_ep_in;
	DAT_COUNT max_rdma_read_per_ep_out;
	DAT_COUNT max_evds;
	DAT_COUNT max_evd_qlen;
	DAT_COUNT max_iov_segments_per_dto;
	DAT_COUNT max_lmrs;
	DAT_SEG_LENGTH max_lmr_block_size;
	DAT_VADDR max_lmr_virtual_address;
	DAT_COUNT max_pzs;
	DAT_SEG_LENGTH max_message_size;
	DAT_SEG_LENGTH max_rdma_size;
	DAT_COUNT max_rmrs;
	DAT_VADDR max_rmr_target_address;
	DAT_COUNT max_srqs;
	DAT_COUNT max_ep_per_srq;
	DAT_COUNT max_recv_per_srq;
	DAT_COUNT max_iov_segments_per_rdma_read;
	DAT_COUNT max_iov_segments_per_rdma_write;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
	DAT_BOOLEAN zb_supported;
	DAT_EXTENSION extension_supported;
	DAT_COUNT extension_version;
	DAT_COUNT num_transport_attr;
	DAT_NAMED_ATTR *transport_attr;
	DAT_COUNT num_vendor_attr;
	DAT_NAMED_ATTR *vendor_attr;
};

struct dat_provider_attr {
	char provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 provider_version_major;
	DAT_UINT32 provider_version_minor;
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_MEM_TYPE lmr_mem_types_supported;
	DAT_IOV_OWNERSHIP iov_ownership_on_return;
	DAT_QOS dat_qos_supported;
	DAT_COMPLETION_FLAGS completion_flags_supported;
	DAT_BOOLEAN is_thread_safe;
	DAT_COUNT max_private_data_size;
	DAT_BOOLEAN supports_multipath;
	DAT_EP_CREATOR_FOR_PSP ep_creator;
	DAT_PZ_SUPPORT pz_support;
	DAT_UINT32 optimal_buffer_alignment;
	const DAT_BOOLEAN evd_stream_merging_supported[6][6];
	DAT_BOOLEAN srq_supported;
	DAT_COUNT srq_watermarks_supported;
	DAT_BOOLEAN srq_ep_pz_difference_supported;
	DAT_COUNT srq_info_supported;
	DAT_COUNT ep_recv_info_supported;
	DAT_BOOLEAN lmr_sync_req;
	DAT_BOOLEAN dto_async_return_guaranteed;
	DAT_BOOLEAN rdma_write_for_rdma_read_req;
	DAT_BOOLEAN rdma_read_lmr_rmr_context_exposure;
	DAT_RMR_SCOPE rmr_scope_supported;
	DAT_BOOLEAN is_signal_safe;
	DAT_BOOLEAN ha_supported;
	DAT_HA_LB ha_loadbalancing;
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
};

DAT_EXPORT DAT_RETURN DAT_API dat_lmr_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_MEM_TYPE mem_type,
	IN DAT_REGION_DESCRIPTION region_description,
	IN DAT_VLEN length,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_MEM_PRIV_FLAGS privileges,
	IN DAT_VA_TYPE va_type,
	OUT DAT_LMR_HANDLE *lmr_handle,
	OUT DAT_LMR_CONTEXT *lmr_context,
	OUT DAT_RMR_CONTEXT *rmr_context,
	OUT DAT_VLEN *registered_length,
	OUT DAT_VADDR *registered_address);

DAT_EXPORT DAT_RETURN DAT_API dat_lmr_query(
	IN DAT_LMR_HANDLE lmr_handle,
	IN DAT_LMR_PARAM_MASK lmr_param_mask,
	OUT DAT_LMR_PARAM *lmr_param);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_COUNT evd_min_qlen,
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_EVD_FLAGS evd_flags,
	OUT DAT_EVD_HANDLE *evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_modify_cno(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_CNO_HANDLE cno_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_OS_WAIT_PROXY_AGENT agent,
	OUT DAT_CNO_HANDLE *cno_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_modify_agent(
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_OS_WAIT_PROXY_AGENT agent);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_query(
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_CNO_PARAM_MASK cno_param_mask,
	OUT DAT_CNO_PARAM *cno_param);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_free(
	IN DAT_CNO_HANDLE cno_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_wait(
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_TIMEOUT timeout,
	OUT DAT_EVD_HANDLE *evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_enable(
	IN DAT_EVD_HANDLE evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_wait(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_TIMEOUT Timeout,
	IN DAT_COUNT Threshold,
	OUT DAT_EVENT *event,
	OUT DAT_COUNT *n_more_events);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_disable(
	IN DAT_EVD_HANDLE evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_set_unwaitable(
	IN DAT_EVD_HANDLE evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_clear_unwaitable(
	IN DAT_EVD_HANDLE evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_fd_create(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_FD *fd,
	OUT DAT_CNO_HANDLE *cno_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_trigger(
	IN DAT_CNO_HANDLE cno_handle,
	OUT DAT_EVD_HANDLE *evd_handle_p);

#ifdef __cplusplus
}
#endif

#include <dat2/udat_vendor_specific.h>

#endif /* _UDAT_H_ */
