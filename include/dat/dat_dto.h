/* SPDX-License-Identifier: BSD-2-Clause */
/* Data transfer: send, receive, RDMA read, RDMA write. */
#ifndef _DAT_DTO_H_
#define _DAT_DTO_H_

#include <dat/dat_event.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Posts do not block. A buffer belongs to the provider until its completion, the array of
 * triplets as DAT_PROVIDER_ATTR.iov_ownership_on_return says. Requests complete in the order
 * in which they were posted; memory faults are found by the post or reported by the
 * completion. An RDMA read may still be running while later requests execute: fence them
 * if they depend on it. Data of an RDMA write is in place when the receive of a later send
 * completes.
 */

/*
 * dat_ep_post_send - send a message.
 *
 * It takes one receive buffer of the peer, in order.
 *
 *   ep_handle         the EP
 *   num_segments      length of the IOV, at most the EP's max_request_iov; 0 sends an empty
 *                     message
 *   local_iov         pieces of memory with local read right, in the EP's PZ; NULL if there are
 *                     none
 *   user_cookie       comes back in the completion
 *   completion_flags  SUPPRESS, SOLICITED_WAIT, UNSIGNALLED, BARRIER_FENCE; see
 *                     DAT_COMPLETION_FLAGS
 *
 * States:  CONNECTED; on DISCONNECTED flushed at once.
 * Events:  DAT_DTO_COMPLETION_EVENT on the request EVD.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP       bad handle
 *   DAT_INVALID_STATE/EP_*      state of the EP
 *   DAT_INVALID_PARAMETER       too many segments, one outside its LMR, or a flag that is not
 *                               allowed
 *   DAT_LENGTH_ERROR            longer than the EP's max_message_size
 *   DAT_PROTECTION_VIOLATION    LMR and EP are of different PZs
 *   DAT_PRIVILEGES_VIOLATION    no LMR with this key, or not the right
 *   DAT_INSUFFICIENT_RESOURCES  max_request_dtos are outstanding
 *
 * [DAT 1.2 / 2.0: dat_ep_post_send]
 */
extern DAT_RETURN dat_ep_post_send(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN DAT_COMPLETION_FLAGS completion_flags);

/*
 * dat_ep_post_recv - post a buffer for a message.
 *
 * A longer message than fits completes with DAT_DTO_ERR_LOCAL_LENGTH and breaks the connection.
 *
 *   ep_handle         the EP; not one with SRQ
 *   num_segments      length of the IOV, at most the EP's max_recv_iov; 0 for an empty message
 *   local_iov         pieces of memory with local write right, filled in order
 *   user_cookie       comes back in the completion
 *   completion_flags  UNSIGNALLED; see DAT_COMPLETION_FLAGS
 *
 * States:  any; on DISCONNECTED flushed at once.
 * Events:  DAT_DTO_COMPLETION_EVENT on the receive EVD, in the order of the posts.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP         bad handle
 *   DAT_INVALID_STATE/SRQ_IN_USE  the EP receives from an SRQ
 *   DAT_INVALID_PARAMETER         too many segments, one outside its LMR, or a flag that is not
 *                                 allowed
 *   DAT_PROTECTION_VIOLATION      LMR and EP are of different PZs
 *   DAT_PRIVILEGES_VIOLATION      no LMR with this key, or not the right
 *   DAT_INSUFFICIENT_RESOURCES    max_recv_dtos are outstanding
 *
 * [DAT 1.2 / 2.0: dat_ep_post_recv]
 */
extern DAT_RETURN dat_ep_post_recv(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN DAT_COMPLETION_FLAGS completion_flags);

/*
 * dat_ep_post_rdma_read - read memory of the peer.
 *
 * The peer serves max_rdma_read_in reads at once. Posting more risks the connection, so the
 * two programs should agree on the number.
 *
 *   ep_handle         the EP
 *   num_segments      length of the IOV
 *   local_iov         pieces of memory with local write right; together at least as long as
 *                     remote_iov
 *   user_cookie       comes back in the completion
 *   remote_iov        one piece of the peer's memory, with remote read right
 *   completion_flags  SUPPRESS, UNSIGNALLED, BARRIER_FENCE
 *
 * States:  CONNECTED; on DISCONNECTED flushed at once.
 * Events:  DAT_DTO_COMPLETION_EVENT on the request EVD; none at the peer. A fault over there
 *          gives DAT_DTO_ERR_REMOTE_ACCESS and breaks the connection.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP       bad handle
 *   DAT_INVALID_STATE/EP_*      state of the EP
 *   DAT_INVALID_PARAMETER       too many segments, one outside its LMR, remote_iov NULL, or a
 *                               flag that is not allowed
 *   DAT_LENGTH_ERROR            the local memory is too short, or the length above the EP's
 *                               max_rdma_size
 *   DAT_PROTECTION_VIOLATION    LMR and EP are of different PZs
 *   DAT_PRIVILEGES_VIOLATION    no LMR with this key, or not the right
 *   DAT_INSUFFICIENT_RESOURCES  max_request_dtos are outstanding
 *
 * [DAT 1.2 / 2.0: dat_ep_post_rdma_read]
 */
extern DAT_RETURN dat_ep_post_rdma_read(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN const DAT_RMR_TRIPLET *remote_iov,
	IN DAT_COMPLETION_FLAGS completion_flags);

/*
 * dat_ep_post_rdma_write - write memory of the peer.
 *
 *   ep_handle         the EP
 *   num_segments      length of the IOV
 *   local_iov         pieces of memory with local read right
 *   user_cookie       comes back in the completion
 *   remote_iov        one piece of the peer's memory, with remote write right; at least as long
 *                     as local_iov together
 *   completion_flags  SUPPRESS, UNSIGNALLED, BARRIER_FENCE
 *
 * States:  CONNECTED; on DISCONNECTED flushed at once.
 * Events:  DAT_DTO_COMPLETION_EVENT on the request EVD; none at the peer. A fault over there
 *          gives DAT_DTO_ERR_REMOTE_ACCESS and breaks the connection.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP       bad handle
 *   DAT_INVALID_STATE/EP_*      state of the EP
 *   DAT_INVALID_PARAMETER       too many segments, one outside its LMR, remote_iov NULL, or a
 *                               flag that is not allowed
 *   DAT_LENGTH_ERROR            the remote memory is too short, or the length above the EP's
 *                               max_rdma_size
 *   DAT_PROTECTION_VIOLATION    LMR and EP are of different PZs
 *   DAT_PRIVILEGES_VIOLATION    no LMR with this key, or not the right
 *   DAT_INSUFFICIENT_RESOURCES  max_request_dtos are outstanding
 *
 * [DAT 1.2 / 2.0: dat_ep_post_rdma_write]
 */
extern DAT_RETURN dat_ep_post_rdma_write(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN const DAT_RMR_TRIPLET *remote_iov,
	IN DAT_COMPLETION_FLAGS completion_flags);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_DTO_H_ */
