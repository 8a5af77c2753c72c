/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports the attributes of an IA and of its provider. */
#include <stdio.h>
#include <string.h>

#include "cm/cm.h"
#include "base/dat_error.h"
#include "object/limits.h"
#include "object/ia.h"
#include "object/version.h"

#define VERSION_MAJOR 0
#define VERSION_MINOR 1

/* Longest decimal size_t, with its terminator. */
_Static_assert(sizeof(((struct dofi_ia *)0)->mtu) >= 21, "an MTU fits");

static const char *ia_attr_true_if(bool yes)
{
	return yes ? "TRUE" : "FALSE";
}

static const char *ia_attr_or(const char *value, const char *otherwise)
{
	return *value ? value : otherwise;
}

/* Without a device the interface, and without one the fabric. */
static const char *ia_attr_device(const struct dofi_fab *fab)
{
	return ia_attr_or(fab->device, ia_attr_or(fab->netdev, fab->desc->name));
}

/* Existing programs search for the first two on any fabric, the tools of this project for the last
 * two. Without a device the names of a port's attributes exist, too: programs print the values. */
void dofi_attr_name(struct dofi_ia *ia)
{
	const struct dofi_fab *fab = &ia->fab;
	bool ext = dofi_api_extensions(), atomics = ext && fab->atomics;
	const DAT_NAMED_ATTR named[DOFI_NAMED] = {
		{ "DAT_IB_RDMA_READ", "TRUE" },
		{ "DAT_IB_TRANSPORT_MTU", ia->mtu },
		{ "DAT_EXTENSION_INTERFACE", ia_attr_true_if(ext) },
		{ "DAT_IB_FETCH_AND_ADD", ia_attr_true_if(atomics) },
		{ "DAT_IB_CMP_AND_SWAP", ia_attr_true_if(atomics) },
		{ "DAT_IB_IMMED_DATA", ia_attr_true_if(ext && fab->immed) },
		{ "DAT_IB_UD", ia_attr_true_if(dofi_ud_supported(ia)) },
		{ "DAT_COUNTERS", ia_attr_true_if(ext) },
		{ "DAT_COLL_SET_CLOCK", ia_attr_true_if(ext) },
		{ "DAT_COLL_READ_CLOCK", ia_attr_true_if(ext) },
		{ "DAT_COLL_BROADCAST", ia_attr_true_if(ext) },
		{ "DAT_COLL_BARRIER", ia_attr_true_if(ext) },
		{ "DAT_COLL_SCATTER", ia_attr_true_if(ext) },
		{ "DAT_COLL_SCATTERV", ia_attr_true_if(ext) },
		{ "DAT_COLL_GATHER", ia_attr_true_if(ext) },
		{ "DAT_COLL_GATHERV", ia_attr_true_if(ext) },
		{ "DAT_COLL_ALLGATHER", ia_attr_true_if(ext) },
		{ "DAT_COLL_ALLGATHERV", ia_attr_true_if(ext) },
		{ "DAT_COLL_ALLTOALL", ia_attr_true_if(ext) },
		{ "DAT_COLL_ALLTOALLV", ia_attr_true_if(ext) },
		{ "DAT_COLL_REDUCE", ia_attr_true_if(ext) },
		{ "DAT_COLL_ALLREDUCE", ia_attr_true_if(ext) },
		{ "DAT_COLL_REDUCE_SCATTER", ia_attr_true_if(ext) },
		{ "DAT_COLL_SCAN", ia_attr_true_if(ext) },
		{ "DAT_IB_PROVIDER_NAME", "libfabric" },
		{ "DAT_IB_DEVICE_NAME", ia_attr_device(fab) },
		{ "DAT_IB_CONNECTIVITY_MODE", "DIRECT" },
		{ "DAT_IB_NODE_GUID", ia_attr_or(fab->port.node_guid, "0000:0000:0000:0000") },
		{ "DAT_IB_GID",
		  ia_attr_or(fab->port.gid, "0000:0000:0000:0000:0000:0000:0000:0000") },
		{ "DAT_IB_PORT_STATUS", ia_attr_or(fab->port.state, "ACTIVE") },
		{ "DAT_IB_PORT_NUMBER", ia_attr_or(fab->port.number, "1") },
		{ "DAT_OFI_FABRIC", fab->desc->name },
		{ "DAT_OFI_INTERFACE", fab->netdev },
	};

	snprintf(ia->mtu, sizeof(ia->mtu), "%zu", fab->mtu);
	memcpy(ia->named, named, sizeof(named));
	snprintf(ia->counts->name, sizeof(ia->counts->name), "%s", ia->obj.provider->device_name);
	snprintf(ia->counts->fabric, sizeof(ia->counts->fabric), "%s", fab->desc->name);
	snprintf(ia->counts->netdev, sizeof(ia->counts->netdev), "%s", fab->netdev);
}

/* Of libfabric, or where it is not used of this library. */
static void ia_attr_fill_versions(const struct dofi_ia *ia, DAT_IA_ATTR *a)
{
	uint32_t lib = ia->fab.lib_version;

	a->firmware_version_major = lib ? FI_MAJOR(lib) : VERSION_MAJOR;
	a->firmware_version_minor = lib ? FI_MINOR(lib) : VERSION_MINOR;
	snprintf(a->vendor_name, sizeof(a->vendor_name), "%s %u.%u", lib ? "libfabric" : "dat-ofi",
		 (unsigned int)a->firmware_version_major, (unsigned int)a->firmware_version_minor);
}

static void ia_attr_fill_ia_attr(struct dofi_ia *ia, DAT_IA_ATTR *a)
{
	DAT_COUNT rdma_iov = (DAT_COUNT)ia->fab.max_rdma_iov;

	memset(a, 0, sizeof(*a));
	snprintf(a->adapter_name, sizeof(a->adapter_name), "%s", ia->obj.provider->device_name);
	ia_attr_fill_versions(ia, a);
	a->ia_address_ptr = &ia->fab.addr.sa;
	a->max_eps = DOFI_MAX_EPS;
	a->max_dto_per_ep = DOFI_MAX_DTOS;
	a->max_rdma_read_per_ep_in = DOFI_MAX_READS;
	a->max_rdma_read_per_ep_out = DOFI_MAX_READS;
	a->max_evds = DOFI_MAX_EVDS;
	a->max_evd_qlen = DOFI_MAX_EVD_QLEN;
	a->max_iov_segments_per_dto = (DAT_COUNT)ia->fab.max_iov;
	a->max_lmrs = DOFI_MAX_LMRS;
	a->max_lmr_block_size = DOFI_LEN_MAX;
	a->max_lmr_virtual_address = UINT64_MAX;
	a->max_pzs = DOFI_MAX_PZS;
	a->max_message_size = ia->fab.max_size;
	a->max_rdma_size = ia->fab.max_size;
	a->max_srqs = ia->fab.srq_depth ? DOFI_MAX_SRQS : 0;
	a->max_ep_per_srq = DOFI_MAX_EPS;
	a->max_recv_per_srq = DOFI_MAX_SRQ_DTOS;
	a->max_rmrs = DOFI_MAX_LMRS;
	a->max_rmr_target_address = UINT64_MAX;
	a->max_iov_segments_per_rdma_read = rdma_iov;
	a->max_iov_segments_per_rdma_write = rdma_iov;
	/* No limit of the fabric: reads beyond it wait in the endpoint. */
	a->max_rdma_read_in = DOFI_MAX_EPS * DOFI_MAX_READS;
	a->max_rdma_read_out = DOFI_MAX_EPS * DOFI_MAX_READS;
	a->max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
	a->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
	dofi_api_ia_attr(ia, a);
}

/* Every stream may share an EVD with every other. */
static void ia_attr_merge_all(const DAT_BOOLEAN table[6][6])
{
	DAT_BOOLEAN *packet = (DAT_BOOLEAN *)(uintptr_t)table;

	for (int i = 0; i < 36; i++)
		packet[i] = DAT_TRUE;
}

static void ia_attr_fill_provider_attr(struct dofi_ia *ia, DAT_PROVIDER_ATTR *a)
{
	const struct dofi_provider *prov = (const struct dofi_provider *)ia->obj.provider;

	memset((void *)a, 0, sizeof(*a));
	snprintf(a->provider_name, sizeof(a->provider_name), "dat-ofi");
	a->provider_version_major = VERSION_MAJOR;
	a->provider_version_minor = VERSION_MINOR;
	a->dapl_version_major = prov->info.dapl_version_major;
	a->dapl_version_minor = prov->info.dapl_version_minor;
	a->lmr_mem_types_supported = (DAT_MEM_TYPE)(DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL);
	a->iov_ownership_on_return = DAT_IOV_CONSUMER;
	a->dat_qos_supported = dofi_qos_supported(ia);
	a->completion_flags_supported = (DAT_COMPLETION_FLAGS)(DAT_COMPLETION_SUPPRESS_FLAG |
							       DAT_COMPLETION_UNSIGNALLED_FLAG |
							       DAT_COMPLETION_SOLICITED_WAIT_FLAG |
							       DAT_COMPLETION_BARRIER_FENCE_FLAG);
	a->is_thread_safe = prov->info.is_thread_safe;
	a->max_private_data_size = (DAT_COUNT)ia->fab.max_priv;
	a->supports_multipath = DAT_FALSE;
	a->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
	/* Elsewhere the key of a region is good for every connection of the IA. */
	a->pz_support = ia->fab.checks_pz ? DAT_PZ_UNIQUE : DAT_PZ_SHAREABLE;
	a->optimal_buffer_alignment = 64;
	ia_attr_merge_all(a->evd_stream_merging_supported);
	a->srq_supported = ia->fab.srq_depth ? DAT_TRUE : DAT_FALSE;
	a->srq_watermarks_supported = 0x111; /* low, soft high, hard high */
	a->srq_ep_pz_difference_supported = DAT_TRUE;
	a->srq_info_supported = 0x11;     /* available, outstanding */
	a->ep_recv_info_supported = 0x11; /* buffers, span */
	a->lmr_sync_req = DAT_FALSE;
	a->dto_async_return_guaranteed = DAT_FALSE;
	a->rdma_write_for_rdma_read_req = DAT_FALSE;
	a->num_provider_specific_attr = DOFI_NAMED;
	a->provider_specific_attr = ia->named;
	dofi_api_provider_attr(ia, a);
}

DAT_RETURN dofi_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
			 DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK prov_mask,
			 DAT_PROVIDER_ATTR *prov_attr)
{
	struct dofi_ia *ia = dofi_ia_live(handle);

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (ia_mask & ~(DAT_IA_ATTR_MASK)DAT_IA_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (ia_mask && !ia_attr)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (prov_mask & ~(DAT_PROVIDER_ATTR_MASK)DAT_PROVIDER_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (prov_mask && !prov_attr)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (async_evd)
		*async_evd = ia->async_evd;
	if (ia_mask)
		ia_attr_fill_ia_attr(ia, ia_attr);
	if (prov_mask)
		ia_attr_fill_provider_attr(ia, prov_attr);
	return DAT_SUCCESS;
}
