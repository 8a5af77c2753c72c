/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory: protection zones, coherence, windows for peers. */
#ifndef _DAT_MEM_H_
#define _DAT_MEM_H_

#include <dat2/dat_param.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A PZ defines the memory that an EP may access: buffers of an EP's DTOs and remote
 * accesses that come in through it must lie in LMRs or RMRs of the EP's own PZ. LMRs are
 * created in udat.h.
 */

/*
 * dat_pz_create - create a protection zone.
 *
 *   ia_handle  IA that it shall belong to
 *   pz_handle  out: the PZ
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA                         bad handle
 *   DAT_INVALID_PARAMETER/ARG2                    pz_handle is NULL
 *   DAT_INSUFFICIENT_RESOURCES/RESOURCE_MEMORY    no memory
 *   DAT_INSUFFICIENT_RESOURCES/RESOURCE_PROTECTION_DOMAIN
 *                                                 all PZs are in use
 *
 * [DAT 1.2 / 2.0: dat_pz_create]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_pz_create(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_PZ_HANDLE *pz_handle);

/*
 * dat_pz_query - read the parameters of a PZ.
 *
 *   pz_handle      the PZ
 *   pz_param_mask  members wanted, DAT_PZ_FIELD_*
 *   pz_param       out: the parameters
 *
 * Returns:
 *   DAT_INVALID_HANDLE/PZ       bad handle
 *   DAT_INVALID_PARAMETER/ARG2  undefined bit in the mask
 *   DAT_INVALID_PARAMETER/ARG3  pz_param is NULL
 *
 * [DAT 1.2 / 2.0: dat_pz_query]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_pz_query(
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_PZ_PARAM_MASK pz_param_mask,
	OUT DAT_PZ_PARAM *pz_param);

/*
 * dat_pz_free - destroy a PZ.
 *
 *   pz_handle  the PZ; dead afterwards
 *
 * Returns:
 *   DAT_INVALID_HANDLE/PZ        bad handle
 *   DAT_INVALID_STATE/PZ_IN_USE  an EP, LMR, RMR or SRQ uses it
 *
 * [DAT 1.2 / 2.0: dat_pz_free]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_pz_free(IN DAT_PZ_HANDLE pz_handle);

/*
 * dat_lmr_free - end a registration.
 *
 * Its keys die: using them here is a protection error from now on, a peer that uses them loses
 * the connection. What is in flight may succeed or not.
 *
 *   lmr_handle  the LMR; dead afterwards
 *
 * Returns:
 *   DAT_INVALID_HANDLE/LMR        bad handle
 *   DAT_INVALID_STATE/LMR_IN_USE  an RMR is bound to it
 *
 * [DAT 1.2 / 2.0: dat_lmr_free]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle);

/*
 * dat_lmr_sync_rdma_read - make local writes visible to RDMA reads of peers.
 *
 * To be called after memory was written and before a peer reads it, where
 * DAT_PROVIDER_ATTR.lmr_sync_req is true; elsewhere it only checks its arguments.
 *
 *   ia_handle       IA of the LMRs
 *   local_segments  pieces of memory; may lie in several LMRs and PZs
 *   num_segments    how many
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA  bad handle
 *   DAT_INVALID_PARAMETER  a segment lies outside its LMR, or its key is wrong
 *
 * [DAT 1.2 / 2.0: dat_lmr_sync_rdma_read]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_sync_rdma_read(
	IN DAT_IA_HANDLE ia_handle,
	IN const DAT_LMR_TRIPLET *local_segments,
	IN DAT_VLEN num_segments);

/*
 * dat_lmr_sync_rdma_write - make RDMA writes of peers visible, or keep them from meeting stale
 * local writes.
 *
 * To be called after a peer's write has completed and before the memory is used, and after
 * memory was written locally and before a peer starts to write it; see dat_lmr_sync_rdma_read().
 *
 *   ia_handle       IA of the LMRs
 *   local_segments  pieces of memory; may lie in several LMRs and PZs
 *   num_segments    how many
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA  bad handle
 *   DAT_INVALID_PARAMETER  a segment lies outside its LMR, or its key is wrong
 *
 * [DAT 1.2 / 2.0: dat_lmr_sync_rdma_write]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_sync_rdma_write(
	IN DAT_IA_HANDLE ia_handle,
	IN const DAT_LMR_TRIPLET *local_segments,
	IN DAT_VLEN num_segments);

/*
 * dat_rmr_create - create an RMR, not bound to memory.
 *
 * A heavy call; binding is the light one.
 *
 *   pz_handle   PZ that it shall belong to
 *   rmr_handle  out: the RMR
 *
 * Returns:
 *   DAT_INVALID_HANDLE/PZ       bad handle
 *   DAT_INVALID_PARAMETER/ARG2  rmr_handle is NULL
 *   DAT_INSUFFICIENT_RESOURCES  all RMRs are in use
 *   DAT_MODEL_NOT_SUPPORTED     the provider has no RMRs
 *
 * [DAT 1.2 / 2.0: dat_rmr_create]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_create(
	IN DAT_PZ_HANDLE pz_handle,
	OUT DAT_RMR_HANDLE *rmr_handle);

/*
 * dat_rmr_create_for_ep - create an RMR that serves only the EP it gets bound on.
 *
 *   pz_handle   PZ that it shall belong to
 *   rmr_handle  out: the RMR
 *
 * Returns:
 *   DAT_INVALID_HANDLE/PZ       bad handle
 *   DAT_INVALID_PARAMETER/ARG2  rmr_handle is NULL
 *   DAT_INSUFFICIENT_RESOURCES  all RMRs are in use
 *   DAT_MODEL_NOT_SUPPORTED     not offered, see DAT_PROVIDER_ATTR.rmr_scope_supported
 *
 * [DAT 2.0: dat_rmr_create_for_ep]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_create_for_ep(
	IN DAT_PZ_HANDLE pz_handle,
	OUT DAT_RMR_HANDLE *rmr_handle);

/*
 * dat_rmr_query - read the parameters of an RMR.
 *
 *   rmr_handle      the RMR
 *   rmr_param_mask  members wanted, DAT_RMR_FIELD_*
 *   rmr_param       out: the parameters
 *
 * Returns:
 *   DAT_INVALID_HANDLE/RMR      bad handle
 *   DAT_INVALID_PARAMETER/ARG2  undefined bit, or the triplet of an unbound RMR is wanted
 *   DAT_INVALID_PARAMETER/ARG3  rmr_param is NULL
 *
 * [DAT 1.2 / 2.0: dat_rmr_query]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_query(
	IN DAT_RMR_HANDLE rmr_handle,
	IN DAT_RMR_PARAM_MASK rmr_param_mask,
	OUT DAT_RMR_PARAM *rmr_param);

/*
 * dat_rmr_bind - open a piece of an LMR to the peer of a connection.
 *
 * Posted on the EP's request queue. Later requests of the EP do not start before it has
 * completed, so the new key may be sent at once. The former key of the RMR dies then. If the
 * bind fails after it was accepted, the connection breaks.
 *
 *   rmr_handle        the RMR; same PZ as the EP
 *   lmr_handle        LMR that holds the memory; same PZ as the EP
 *   lmr_triplet       the memory. Length 0 unbinds
 *   mem_priv          remote rights to grant, each of which needs the like local right of the
 *                     LMR. Local rights are ignored
 *   va_type           how the peer addresses the memory
 *   ep_handle         EP whose peer gets access
 *   user_cookie       comes back in the completion
 *   completion_flags  SUPPRESS, UNSIGNALLED, BARRIER_FENCE; see DAT_COMPLETION_FLAGS
 *   context           out: key for the peer; undefined after an unbind
 *
 * States:       EP CONNECTED; on a DISCONNECTED one the bind is flushed.
 * Events:       DAT_RMR_BIND_COMPLETION_EVENT on the EP's request EVD.
 * 2.0 changed:  the LMR is named by handle, and va_type was added.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/RMR, /LMR, /EP  bad handle
 *   DAT_INVALID_STATE/EP_*             state of the EP
 *   DAT_INVALID_PARAMETER/ARG2         range outside the LMR, or wrong PZ or flags for an unbind
 *   DAT_INVALID_PARAMETER/ARG4         flag that the EP does not allow
 *   DAT_PRIVILEGES_VIOLATION           the LMR lacks the local right behind a remote one
 *   DAT_PROTECTION_VIOLATION           the PZs differ
 *   DAT_INSUFFICIENT_RESOURCES         the request queue is full
 *   DAT_MODEL_NOT_SUPPORTED            the provider has no RMRs
 *
 * [DAT 1.2 / 2.0: dat_rmr_bind]
 */
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

/*
 * dat_rmr_free - destroy an RMR, which also ends its binding.
 *
 * Remote use of its key breaks the connection from now on.
 *
 *   rmr_handle  the RMR; dead afterwards
 *
 * Returns:
 *   DAT_INVALID_HANDLE/RMR  bad handle
 *
 * [DAT 1.2 / 2.0: dat_rmr_free]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_free(IN DAT_RMR_HANDLE rmr_handle);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_MEM_H_ */
