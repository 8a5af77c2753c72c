/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#ifndef _DAT_SRQ_H_
#define _DAT_SRQ_H_

#include <dat2/dat_param.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A connected EP takes a buffer when a message arrives for it; the completion goes to that
 * EP's receive EVD and names the EP. Per connection messages keep their order, buffers
 * may be taken in any order. At a disconnect the buffers that the EP took are flushed, the
 * others stay. Providers without SRQs (DAT_PROVIDER_ATTR.srq_supported) answer
 * DAT_MODEL_NOT_SUPPORTED.
 */

/*
 * dat_srq_create - create an SRQ.
 *
 *   ia_handle   IA that it shall belong to
 *   pz_handle   PZ of its buffers
 *   srq_attr    length and IOV wanted, both may be granted larger; low_watermark
 *               DAT_SRQ_LW_DEFAULT
 *   srq_handle  out: the SRQ
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA, /PZ                    bad handle
 *   DAT_INVALID_PARAMETER/ARG3                    srq_attr NULL, or a value in it is bad
 *   DAT_INVALID_PARAMETER/ARG4                    srq_handle is NULL
 *   DAT_INSUFFICIENT_RESOURCES/RESOURCE_MEMORY, /RESOURCE_SRQ
 *                                                 no memory, or all SRQs are in use
 *   DAT_MODEL_NOT_SUPPORTED                       no SRQs
 *
 * [DAT 1.2 / 2.0: dat_srq_create]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_SRQ_ATTR *srq_attr,
	OUT DAT_SRQ_HANDLE *srq_handle);

/*
 * dat_srq_free - destroy an SRQ and forget its buffers.
 *
 *   srq_handle  the SRQ; dead afterwards
 *
 * Returns:
 *   DAT_INVALID_HANDLE/SRQ        bad handle
 *   DAT_INVALID_STATE/SRQ_IN_USE  an EP uses it
 *
 * [DAT 1.2 / 2.0: dat_srq_free]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_free(IN DAT_SRQ_HANDLE srq_handle);

/*
 * dat_srq_post_recv - add a buffer.
 *
 *   srq_handle    the SRQ
 *   num_segments  length of the IOV, at most max_recv_iov
 *   local_iov     pieces of memory with local write right, in the SRQ's PZ
 *   user_cookie   comes back in the completion
 *
 * States:  any state of the SRQ.
 * Events:  DAT_DTO_COMPLETION_EVENT on the receive EVD of whichever EP uses it.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/SRQ      bad handle
 *   DAT_INVALID_PARAMETER       too many segments, or one outside its LMR
 *   DAT_PROTECTION_VIOLATION    LMR and SRQ are of different PZs
 *   DAT_PRIVILEGES_VIOLATION    no LMR with this key, or not the right
 *   DAT_INSUFFICIENT_RESOURCES  max_recv_dtos buffers wait in the queue already
 *
 * [DAT 1.2 / 2.0: dat_srq_post_recv]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_post_recv(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie);

/*
 * dat_srq_query - read the parameters of an SRQ.
 *
 *   srq_handle      the SRQ
 *   srq_param_mask  members wanted, DAT_SRQ_FIELD_*
 *   srq_param       out: the parameters
 *
 * Returns:
 *   DAT_INVALID_HANDLE/SRQ      bad handle
 *   DAT_INVALID_PARAMETER/ARG2  undefined bit in the mask
 *   DAT_INVALID_PARAMETER/ARG3  srq_param is NULL
 *
 * [DAT 1.2 / 2.0: dat_srq_query]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_query(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_SRQ_PARAM_MASK srq_param_mask,
	OUT DAT_SRQ_PARAM *srq_param);

/*
 * dat_srq_resize - change the length of an SRQ.
 *
 *   srq_handle        the SRQ
 *   srq_max_recv_dto  buffers that it shall hold; more may be granted
 *
 * Returns:
 *   DAT_INVALID_HANDLE/SRQ      bad handle
 *   DAT_INVALID_PARAMETER/ARG2  not positive, or above DAT_IA_ATTR.max_recv_per_srq
 *   DAT_INVALID_STATE           more buffers are outstanding, or the low watermark is not below
 *                               it
 *   DAT_INSUFFICIENT_RESOURCES  no memory
 *
 * [DAT 1.2 / 2.0: dat_srq_resize]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_resize(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_COUNT srq_max_recv_dto);

/*
 * dat_srq_set_lw - request one event when buffers run low.
 *
 * It comes at once if they already are; call again for the next one.
 *
 *   srq_handle     the SRQ
 *   low_watermark  fewer available buffers than this raise the event; at most max_recv_dtos
 *
 * Events:  DAT_ASYNC_ERROR_EP_BROKEN for the SRQ, reason DAT_SRQ_LOW_WATERMARK_EVENT.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/SRQ      bad handle
 *   DAT_INVALID_PARAMETER/ARG2  out of range
 *   DAT_MODEL_NOT_SUPPORTED     no low watermarks
 *
 * [DAT 1.2 / 2.0: dat_srq_set_lw]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_srq_set_lw(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_COUNT low_watermark);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_SRQ_H_ */
