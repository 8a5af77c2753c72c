/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections: requested, accepted, rejected, ended. */
#ifndef _DAT_CM_H_
#define _DAT_CM_H_

#include <dat2/dat_param.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Each attempt ends with exactly one event on the EP's connection EVD, and each
 * established connection with exactly one of DISCONNECTED and BROKEN. Private data is at most
 * DAT_PROVIDER_ATTR.max_private_data_size bytes (64 or more), arrives whole, and is copied
 * before the call that sends it returns.
 */

/* Active side */

/*
 * dat_ep_connect - request a connection to a remote IA.
 *
 * The EP goes to ACTIVE_CONNECTION_PENDING; on an error it stays UNCONNECTED. If the attempt
 * fails the EP is DISCONNECTED and posted receives are flushed.
 *
 *   ep_handle           the EP, with PZ, connection EVD and the EVDs of its queues
 *   remote_ia_address   address of the remote IA, any family; copied
 *   remote_conn_qual    qualifier of a service point there
 *   timeout             microseconds to wait for the outcome, not 0
 *   private_data_size   bytes of the next, 0 for none
 *   private_data        goes to the remote connection request; may be NULL if the size is 0
 *   quality_of_service  wish; must be one that the provider supports
 *   connect_flags       whether to use several paths
 *
 * States:       UNCONNECTED.
 * Events:       DAT_CONNECTION_EVENT_ESTABLISHED with private data of the accept; or
 *               PEER_REJECTED, NON_PEER_REJECTED, UNREACHABLE, TIMED_OUT; or DISCONNECTED after
 *               dat_ep_disconnect().
 * 2.0 changed:  flag DAT_CONNECT_MULTIPATH_REQUIRED_FLAG.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP          bad handle
 *   DAT_INVALID_HANDLE/EVD_CONN    the EP has no connection EVD
 *   DAT_INVALID_PARAMETER/ARG2     the address is NULL
 *   DAT_INVALID_PARAMETER/ARG4     timeout 0
 *   DAT_INVALID_PARAMETER/ARG5     private data negative or too long
 *   DAT_INVALID_PARAMETER/ARG6     private data NULL with a size
 *   DAT_INVALID_STATE/EP_NOTREADY  no PZ, or an EVD is missing
 *   DAT_INVALID_STATE/EP_*         state of the EP
 *   DAT_INVALID_ADDRESS            seen to be bad or unreachable at once
 *   DAT_MODEL_NOT_SUPPORTED        quality of service or flag
 *   DAT_INSUFFICIENT_RESOURCES     out of memory or ports
 *
 * [DAT 1.2 / 2.0: dat_ep_connect]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_connect(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_IA_ADDRESS_PTR remote_ia_address,
	IN DAT_CONN_QUAL remote_conn_qual,
	IN DAT_TIMEOUT timeout,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data,
	IN DAT_QOS quality_of_service,
	IN DAT_CONNECT_FLAGS connect_flags);

/*
 * dat_ep_dup_connect - request a connection to the peer of another EP.
 *
 * Otherwise like dat_ep_connect().
 *
 *   ep_handle           the EP to connect
 *   ep_dup_handle       an EP that connected actively and still is; its address and qualifier
 *                       are used
 *   timeout             microseconds, not 0
 *   private_data_size   bytes of the next, 0 for none
 *   private_data        goes to the remote connection request
 *   quality_of_service  wish
 *
 * States:  ep_handle UNCONNECTED, ep_dup_handle CONNECTED.
 * Events:  as dat_ep_connect().
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP          either handle is bad
 *   DAT_INVALID_HANDLE/EVD_CONN    the EP has no connection EVD
 *   DAT_INVALID_PARAMETER/ARG3     timeout 0
 *   DAT_INVALID_PARAMETER/ARG4     private data negative or too long
 *   DAT_INVALID_PARAMETER/ARG5     private data NULL with a size
 *   DAT_INVALID_STATE/EP_NOTREADY  no PZ, or an EVD is missing
 *   DAT_INVALID_STATE/EP_*         state of either EP, or the other one connected passively
 *   DAT_MODEL_NOT_SUPPORTED        quality of service
 *   DAT_INSUFFICIENT_RESOURCES     out of memory or ports
 *
 * [DAT 1.2 / 2.0: dat_ep_dup_connect]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_dup_connect(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EP_HANDLE ep_dup_handle,
	IN DAT_TIMEOUT timeout,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data,
	IN DAT_QOS quality_of_service);

/*
 * dat_ep_common_connect - request a connection through the EP's communicator.
 *
 *   ep_handle          the EP; its comm defines the kind of address
 *   remote_ia_address  remote address with port
 *   timeout            microseconds, not 0
 *   private_data_size  bytes of the next, 0 for none
 *   private_data       goes to the remote connection request
 *
 * States:  UNCONNECTED.
 * Events:  as dat_ep_connect().
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP                         bad handle
 *   DAT_INVALID_PARAMETER/ARG2, /ARG3, /ARG4, /ARG5
 *                                                 address, timeout, private data as in
 *                                                 dat_ep_connect()
 *   DAT_INVALID_STATE/EP_*                        state of the EP
 *   DAT_INVALID_ADDRESS                           as in dat_ep_connect(), or port 0
 *
 * [DAT 2.0: dat_ep_common_connect]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_common_connect(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_IA_ADDRESS_PTR remote_ia_address,
	IN DAT_TIMEOUT timeout,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data);

/*
 * dat_ep_disconnect - end a connection or the making of one.
 *
 *   ep_handle    the EP
 *   close_flags  DAT_CLOSE_ABRUPT_FLAG flushes what is outstanding. DAT_CLOSE_GRACEFUL_FLAG
 *                first completes the requests that are posted, in state DISCONNECT_PENDING, and
 *                takes no new ones
 *
 * States:  CONNECTED, ACTIVE_CONNECTION_PENDING and COMPLETION_PENDING become DISCONNECTED;
 *          DISCONNECT_PENDING is cut short by an abrupt call and not changed by a graceful one;
 *          on DISCONNECTED nothing happens.
 * Events:  DAT_CONNECTION_EVENT_DISCONNECTED here and at the peer (there BROKEN if the link is
 *          dead); flushes.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP       bad handle
 *   DAT_INVALID_PARAMETER/ARG2  unknown flag
 *   DAT_INVALID_STATE/EP_*      UNCONNECTED, RESERVED, PASSIVE_ or TENTATIVE_CONNECTION_PENDING
 *   DAT_INSUFFICIENT_RESOURCES  out of memory
 *
 * [DAT 1.2 / 2.0: dat_ep_disconnect]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_disconnect(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_CLOSE_FLAGS close_flags);

/* Public service points: listeners that stay */

/*
 * dat_psp_create - listen on a qualifier.
 *
 *   ia_handle   IA to listen on
 *   conn_qual   the qualifier
 *   evd_handle  EVD with CR flag; its free room is the backlog
 *   psp_flags   source of EPs; see DAT_PROVIDER_ATTR.ep_creator. With DAT_PSP_PROVIDER_FLAG
 *               each request comes with an EP in state TENTATIVE_CONNECTION_PENDING, to be given
 *               PZ and EVDs by dat_ep_modify() before the accept
 *   psp_handle  out: the PSP
 *
 * Events:  DAT_CONNECTION_REQUEST_EVENT per request, in order of arrival. A request that finds
 *          the EVD full is refused.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA       bad handle
 *   DAT_INVALID_HANDLE/EVD_CR   bad EVD, or one without the CR flag
 *   DAT_INVALID_PARAMETER/ARG2  qualifier out of range
 *   DAT_INVALID_PARAMETER/ARG4  unknown flag
 *   DAT_INVALID_PARAMETER/ARG5  psp_handle is NULL
 *   DAT_CONN_QUAL_IN_USE        another service point listens there
 *   DAT_MODEL_NOT_SUPPORTED     flag not supported
 *   DAT_INSUFFICIENT_RESOURCES  out of memory or listeners
 *
 * [DAT 1.2 / 2.0: dat_psp_create]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_psp_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_CONN_QUAL conn_qual,
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_PSP_FLAGS psp_flags,
	OUT DAT_PSP_HANDLE *psp_handle);

/*
 * dat_psp_create_any - listen on a free qualifier that needs no privilege.
 *
 *   ia_handle   IA to listen on
 *   conn_qual   out: the qualifier
 *   evd_handle  EVD with CR flag
 *   psp_flags   source of EPs
 *   psp_handle  out: the PSP
 *
 * Events:  as dat_psp_create().
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA       bad handle
 *   DAT_INVALID_HANDLE/EVD_CR   bad EVD, or one without the CR flag
 *   DAT_INVALID_PARAMETER/ARG2  conn_qual is NULL
 *   DAT_INVALID_PARAMETER/ARG4  unknown flag
 *   DAT_INVALID_PARAMETER/ARG5  psp_handle is NULL
 *   DAT_CONN_QUAL_UNAVAILABLE   none is free
 *   DAT_MODEL_NOT_SUPPORTED     flag not supported
 *   DAT_INSUFFICIENT_RESOURCES  out of memory or listeners
 *
 * [DAT 1.2 / 2.0: dat_psp_create_any]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_psp_create_any(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_CONN_QUAL *conn_qual,
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_PSP_FLAGS psp_flags,
	OUT DAT_PSP_HANDLE *psp_handle);

/*
 * dat_psp_query - read the parameters of a PSP.
 *
 *   psp_handle      the PSP
 *   psp_param_mask  members wanted, DAT_PSP_FIELD_*
 *   psp_param       out: the parameters
 *
 * Returns:
 *   DAT_INVALID_HANDLE/PSP      bad handle
 *   DAT_INVALID_PARAMETER/ARG2  undefined bit in the mask
 *   DAT_INVALID_PARAMETER/ARG3  psp_param is NULL
 *
 * [DAT 1.2 / 2.0: dat_psp_query]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_psp_query(
	IN DAT_PSP_HANDLE psp_handle,
	IN DAT_PSP_PARAM_MASK psp_param_mask,
	OUT DAT_PSP_PARAM *psp_param);

/*
 * dat_psp_free - stop listening.
 *
 * Requests reported before stay good and can be accepted; later ones find no listener.
 *
 *   psp_handle  the PSP; dead afterwards
 *
 * Returns:
 *   DAT_INVALID_HANDLE/PSP  bad handle
 *
 * [DAT 1.2 / 2.0: dat_psp_free]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_psp_free(IN DAT_PSP_HANDLE psp_handle);

/* Reserved service points: listeners for one request and one EP */

/*
 * dat_rsp_create - listen once, with an EP set aside for the request.
 *
 * The EP becomes RESERVED, and PASSIVE_CONNECTION_PENDING with the first request, after which
 * it no longer listens. The RSP stays until it is freed.
 *
 *   ia_handle   IA to listen on
 *   conn_qual   the qualifier
 *   ep_handle   EP in state UNCONNECTED
 *   evd_handle  EVD with CR flag
 *   rsp_handle  out: the RSP
 *
 * Events:  one DAT_CONNECTION_REQUEST_EVENT.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA, /EP  bad handle
 *   DAT_INVALID_HANDLE/EVD_CR   bad EVD, or one without the CR flag
 *   DAT_INVALID_PARAMETER/ARG2  qualifier out of range
 *   DAT_INVALID_PARAMETER/ARG5  rsp_handle is NULL
 *   DAT_INVALID_STATE/EP_*      state of the EP
 *   DAT_CONN_QUAL_IN_USE        another service point listens there
 *   DAT_INSUFFICIENT_RESOURCES  out of memory or listeners
 *
 * [DAT 1.2 / 2.0: dat_rsp_create]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rsp_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_CONN_QUAL conn_qual,
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EVD_HANDLE evd_handle,
	OUT DAT_RSP_HANDLE *rsp_handle);

/*
 * dat_rsp_query - read the parameters of an RSP.
 *
 *   rsp_handle      the RSP
 *   rsp_param_mask  members wanted, DAT_RSP_FIELD_*
 *   rsp_param       out: the parameters
 *
 * Returns:
 *   DAT_INVALID_HANDLE/RSP      bad handle
 *   DAT_INVALID_PARAMETER/ARG2  undefined bit in the mask
 *   DAT_INVALID_PARAMETER/ARG3  rsp_param is NULL
 *
 * [DAT 1.2 / 2.0: dat_rsp_query]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rsp_query(
	IN DAT_RSP_HANDLE rsp_handle,
	IN DAT_RSP_PARAM_MASK rsp_param_mask,
	OUT DAT_RSP_PARAM *rsp_param);

/*
 * dat_rsp_free - destroy an RSP.
 *
 * An EP that is still RESERVED becomes UNCONNECTED; a request reported before stays good.
 *
 *   rsp_handle  the RSP; dead afterwards
 *
 * Returns:
 *   DAT_INVALID_HANDLE/RSP  bad handle
 *
 * [DAT 1.2 / 2.0: dat_rsp_free]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rsp_free(IN DAT_RSP_HANDLE rsp_handle);

/* Common service points: listeners on an address. New in 2.0 */

/*
 * dat_csp_create - listen on an address of a communicator.
 *
 *   ia_handle   IA to listen on
 *   comm        communicator: AF_INET or AF_INET6, SOCK_STREAM, 0 or IPPROTO_TCP
 *   address     address of the IA, or the wildcard address, with port; port 0: any free one
 *   evd_handle  EVD with CR flag
 *   csp_handle  out: the CSP
 *
 * Events:  DAT_CONNECTION_REQUEST_EVENT per request, sp_handle.csp_handle naming the CSP.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA                     bad handle
 *   DAT_INVALID_HANDLE/EVD_CR                 bad EVD, or one without the CR flag
 *   DAT_INVALID_PARAMETER/ARG2, /ARG3, /ARG5  NULL
 *   DAT_COMM_NOT_SUPPORTED                    the provider lacks the communicator
 *   DAT_INVALID_ADDRESS                       no address, not of comm's domain, not the IA's
 *   DAT_PORT_IN_USE                           another service point listens there
 *   DAT_CONN_QUAL_UNAVAILABLE                 no port is free
 *
 * [DAT 2.0: dat_csp_create]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_csp_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_COMM *comm,
	IN DAT_IA_ADDRESS_PTR address,
	IN DAT_EVD_HANDLE evd_handle,
	OUT DAT_CSP_HANDLE *csp_handle);

/*
 * dat_csp_query - read the parameters of a CSP.
 *
 *   csp_handle      the CSP
 *   csp_param_mask  members wanted, DAT_CSP_FIELD_*
 *   csp_param       out: the parameters
 *
 * Returns:
 *   DAT_INVALID_HANDLE/CSP      bad handle
 *   DAT_INVALID_PARAMETER/ARG2  undefined bit in the mask
 *   DAT_INVALID_PARAMETER/ARG3  csp_param is NULL
 *
 * [DAT 2.0: dat_csp_query]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_csp_query(
	IN DAT_CSP_HANDLE csp_handle,
	IN DAT_CSP_PARAM_MASK csp_param_mask,
	OUT DAT_CSP_PARAM *csp_param);

/*
 * dat_csp_free - stop listening.
 *
 *   csp_handle  the CSP; dead afterwards
 *
 * Returns:
 *   DAT_INVALID_HANDLE/CSP  bad handle
 *
 * [DAT 2.0: dat_csp_free]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_csp_free(IN DAT_CSP_HANDLE csp_handle);

/* Connection requests: made by the provider, ended by accept, reject or handoff */

/*
 * dat_cr_query - read the parameters of a connection request.
 *
 *   cr_handle      the request
 *   cr_param_mask  members wanted, DAT_CR_FIELD_*
 *   cr_param       out: the parameters; what they point to lives as long as the request
 *
 * Returns:
 *   DAT_INVALID_HANDLE/CR       bad handle
 *   DAT_INVALID_PARAMETER/ARG2  undefined bit in the mask
 *   DAT_INVALID_PARAMETER/ARG3  cr_param is NULL
 *
 * [DAT 1.2 / 2.0: dat_cr_query]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cr_query(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_CR_PARAM_MASK cr_param_mask,
	OUT DAT_CR_PARAM *cr_param);

/*
 * dat_cr_accept - accept a connection request.
 *
 * The request is used up and the EP becomes COMPLETION_PENDING; on an error nothing changes.
 *
 *   cr_handle          the request; dead afterwards
 *   ep_handle          EP to connect; DAT_HANDLE_NULL if the request has one. PZ, connection EVD
 *                      and EVDs of the queues must be set
 *   private_data_size  bytes of the next, 0 for none
 *   private_data       goes to the active side's ESTABLISHED event
 *
 * States:  own EP: UNCONNECTED. EP of the request: TENTATIVE_ or PASSIVE_CONNECTION_PENDING.
 * Events:  DAT_CONNECTION_EVENT_ESTABLISHED, without private data, or ACCEPT_COMPLETION_ERROR.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/CR          bad handle
 *   DAT_INVALID_HANDLE/EP          bad handle, none though one is needed, or one too many
 *   DAT_INVALID_PARAMETER/ARG3     private data negative or too long
 *   DAT_INVALID_PARAMETER/ARG4     private data NULL with a size
 *   DAT_INVALID_STATE/EP_NOTREADY  no PZ, or an EVD is missing
 *   DAT_INVALID_STATE/EP_*         state of the EP
 *   DAT_INSUFFICIENT_RESOURCES     out of memory
 *
 * [DAT 1.2 / 2.0: dat_cr_accept]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cr_accept(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data);

/*
 * dat_cr_reject - refuse a connection request.
 *
 * An EP that the provider made is gone; the EP of an RSP becomes UNCONNECTED.
 *
 *   cr_handle          the request; dead afterwards
 *   private_data_size  bytes of the next, 0 for none
 *   private_data       goes to the active side's PEER_REJECTED event
 *
 * Events:       DAT_CONNECTION_EVENT_PEER_REJECTED at the active side.
 * 2.0 changed:  private data was added.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/CR       bad handle
 *   DAT_INVALID_PARAMETER/ARG2  private data negative or too long
 *   DAT_INVALID_PARAMETER/ARG3  private data NULL with a size
 *
 * [DAT 1.2 / 2.0: dat_cr_reject]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cr_reject(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data);

/*
 * dat_cr_handoff - pass a connection request on to another qualifier of the IA.
 *
 *   cr_handle  the request; dead afterwards
 *   handoff    a qualifier with another listener
 *
 * Events:  DAT_CONNECTION_REQUEST_EVENT at the service point there.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/CR       bad handle
 *   DAT_INVALID_PARAMETER/ARG2  no service point listens there
 *   DAT_MODEL_NOT_SUPPORTED     not offered
 *
 * [DAT 1.2 / 2.0: dat_cr_handoff]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_cr_handoff(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_CONN_QUAL handoff);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_CM_H_ */
