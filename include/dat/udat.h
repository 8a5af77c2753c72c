/* SPDX-License-Identifier: BSD-2-Clause */
/* Which types and calls does a user-level DAT program see? */
#ifndef _UDAT_H_
#define _UDAT_H_

#include <dat/udat_config.h>
#include <dat/dat_platform_specific.h>
#include <dat/dat.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DAT_LMR_COOKIE_SIZE 40
#define DAT_EVD_ASYNC_EXISTS ((DAT_EVD_HANDLE)1)
#define DAT_EVD_OUT_OF_SCOPE ((DAT_EVD_HANDLE)2)
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
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR ((DAT_UINT64)1 << 24)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR ((DAT_UINT64)1 << 25)
#define DAT_PROVIDER_FIELD_ALL ((DAT_UINT64)0x3FFFFFFU)
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

typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE = 1,
	DAT_CNO_FIELD_AGENT = 2,
	DAT_CNO_FIELD_ALL = 3
} DAT_CNO_PARAM_MASK;

typedef enum dat_pz_support {
	DAT_PZ_UNIQUE = 0,
	DAT_PZ_SHAREABLE = 1
} DAT_PZ_SUPPORT;

typedef DAT_HANDLE DAT_CNO_HANDLE;
typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

typedef void (*DAT_AGENT_FUNC)(
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
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
};

struct dat_cno_param {
	DAT_IA_HANDLE ia_handle;
	DAT_OS_WAIT_PROXY_AGENT agent;
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
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
};

extern DAT_RETURN dat_lmr_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_MEM_TYPE mem_type,
	IN DAT_REGION_DESCRIPTION region_description,
	IN DAT_VLEN length,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_MEM_PRIV_FLAGS privileges,
	OUT DAT_LMR_HANDLE *lmr_handle,
	OUT DAT_LMR_CONTEXT *lmr_context,
	OUT DAT_RMR_CONTEXT *rmr_context,
	OUT DAT_VLEN *registered_length,
	OUT DAT_VADDR *registered_address);

extern DAT_RETURN dat_evd_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_COUNT evd_min_qlen,
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_EVD_FLAGS evd_flags,
	OUT DAT_EVD_HANDLE *evd_handle);

extern DAT_RETURN dat_evd_modify_cno(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_CNO_HANDLE cno_handle);

extern DAT_RETURN dat_cno_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_OS_WAIT_PROXY_AGENT agent,
	OUT DAT_CNO_HANDLE *cno_handle);

extern DAT_RETURN dat_cno_modify_agent(
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_OS_WAIT_PROXY_AGENT agent);

extern DAT_RETURN dat_cno_query(
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_CNO_PARAM_MASK cno_param_mask,
	OUT DAT_CNO_PARAM *cno_param);

extern DAT_RETURN dat_cno_free(
	IN DAT_CNO_HANDLE cno_handle);

extern DAT_RETURN dat_cno_wait(
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_TIMEOUT timeout,
	OUT DAT_EVD_HANDLE *evd_handle);

extern DAT_RETURN dat_evd_enable(
	IN DAT_EVD_HANDLE evd_handle);

extern DAT_RETURN dat_evd_wait(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_TIMEOUT Timeout,
	IN DAT_COUNT Threshold,
	OUT DAT_EVENT *event,
	OUT DAT_COUNT *n_more_events);

extern DAT_RETURN dat_evd_disable(
	IN DAT_EVD_HANDLE evd_handle);

extern DAT_RETURN dat_evd_set_unwaitable(
	IN DAT_EVD_HANDLE evd_handle);

extern DAT_RETURN dat_evd_clear_unwaitable(
	IN DAT_EVD_HANDLE evd_handle);

#ifdef __cplusplus
}
#endif

#include <dat/udat_vendor_specific.h>

#endif /* _UDAT_H_ */
