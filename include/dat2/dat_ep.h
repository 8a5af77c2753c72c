/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: created, modified, queried, reset, freed. */
#ifndef _DAT_EP_H_
#define _DAT_EP_H_

#include <dat2/dat_param.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Calls that make and end connections are in dat_cm.h, data transfer is in dat_dto.h.
 * Which call is allowed in which state (x: yes, f: accepted and flushed at once):
 *
 *                            UNCONN  RESERV  PASSIVE TENTAT  ACTIVE  COMPL   CONN    DISCP   DISCON
 *   connect, dup_connect       x
 *   disconnect                                                 x       x       x       x       x
 *   reset                      x                                                               x
 *   free                       x                               x       x       x       x       x
 *   modify PZ                  x                       x
 *   modify EVDs, attributes    x       x       x       x
 *   query, get_status, ...     x       x       x       x       x       x       x       x       x
 *   post_recv                  x       x       x       x       x       x       x       x       f
 *   other posts, rmr_bind                                                      x               f
 *   rsp_create                 x
 *   cr_accept with own EP      x
 *   cr_accept with its EP                      x       x
 *
 * A call in any other state returns DAT_INVALID_STATE with the subtype of the state,
 * written DAT_INVALID_STATE/EP_* below.
 */

/*
 * dat_ep_create - create an EP in state UNCONNECTED.
 *
 *   ia_handle                      IA that it shall belong to
 *   pz_handle                      its PZ; DAT_HANDLE_NULL for now, but needed to connect
 *   recv_completion_evd_handle     EVD with DTO flag for receives; DAT_HANDLE_NULL if there are
 *                                  to be none
 *   request_completion_evd_handle  EVD with DTO flag (and RMR_BIND if binds are posted) for
 *                                  requests; DAT_HANDLE_NULL if there are to be none
 *   connect_evd_handle             EVD with CONNECTION flag; DAT_HANDLE_NULL for now
 *   ep_attributes                  what is wanted, or NULL for the provider's defaults. A queue
 *                                  has a length above 0 exactly if it has an EVD, and an IOV
 *                                  length if it has one
 *   ep_handle                      out: the EP
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA, /PZ                    bad handle
 *   DAT_INVALID_HANDLE/EVD_RECV, /EVD_REQUEST, /EVD_CONN
 *                                                 bad EVD, or one without the needed flag
 *   DAT_INVALID_PARAMETER/ARG6                    an attribute is above the IA's limit, does not
 *                                                 fit the EVDs, or is a completion flag that is
 *                                                 no attribute
 *   DAT_INVALID_PARAMETER/ARG7                    ep_handle is NULL
 *   DAT_INSUFFICIENT_RESOURCES/RESOURCE_MEMORY, /RESOURCE_TEP
 *                                                 no memory or no endpoint left
 *   DAT_MODEL_NOT_SUPPORTED                       service type or quality of service
 *
 * [DAT 1.2 / 2.0: dat_ep_create]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_EVD_HANDLE recv_completion_evd_handle,
	IN DAT_EVD_HANDLE request_completion_evd_handle,
	IN DAT_EVD_HANDLE connect_evd_handle,
	IN const DAT_EP_ATTR *ep_attributes,
	OUT DAT_EP_HANDLE *ep_handle);

/*
 * dat_ep_create_with_srq - create an EP whose receives come from an SRQ.
 *
 * The SRQ stays its source of buffers for life, also after dat_ep_reset().
 *
 *   ia_handle           IA that it shall belong to
 *   pz_handle           its PZ; other than the SRQ's only if DAT_PROVIDER_ATTR allows it
 *   recv_evd_handle     EVD with DTO flag for receives
 *   request_evd_handle  EVD with DTO flag for requests, or DAT_HANDLE_NULL
 *   connect_evd_handle  EVD with CONNECTION flag; DAT_HANDLE_NULL for now
 *   srq_handle          the SRQ
 *   ep_attributes       what is wanted, or NULL for defaults; max_recv_dtos and srq_soft_hw are
 *                       watermarks of SRQ buffers held (-1 for none), max_recv_iov is ignored
 *   ep_handle           out: the EP
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA, /PZ, /SRQ              bad handle
 *   DAT_INVALID_HANDLE/EVD_RECV, /EVD_REQUEST, /EVD_CONN
 *                                                 bad EVD, or one without the needed flag
 *   DAT_INVALID_PARAMETER/ARG2                    the PZs may not differ
 *   DAT_INVALID_PARAMETER/ARG7                    an attribute is not acceptable, as in
 *                                                 dat_ep_create()
 *   DAT_INVALID_PARAMETER/ARG8                    ep_handle is NULL
 *   DAT_INVALID_STATE/SRQ_SHUTDOWN                the SRQ is shut down
 *   DAT_INSUFFICIENT_RESOURCES/RESOURCE_MEMORY, /RESOURCE_TEP
 *                                                 no memory or no endpoint left
 *   DAT_MODEL_NOT_SUPPORTED                       no SRQs, or no watermarks
 *
 * [DAT 1.2 / 2.0: dat_ep_create_with_srq]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_create_with_srq(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_EVD_HANDLE recv_evd_handle,
	IN DAT_EVD_HANDLE request_evd_handle,
	IN DAT_EVD_HANDLE connect_evd_handle,
	IN DAT_SRQ_HANDLE srq_handle,
	IN const DAT_EP_ATTR *ep_attributes,
	OUT DAT_EP_HANDLE *ep_handle);

/*
 * dat_ep_query - read the parameters of an EP.
 *
 *   ep_handle      the EP
 *   ep_param_mask  members wanted, DAT_EP_FIELD_*
 *   ep_param       out: the parameters. Addresses live as long as the EP; the remote ones mean
 *                  something from a pending connection until the EP is disconnected
 *
 * States:  any.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP       bad handle
 *   DAT_INVALID_PARAMETER/ARG2  undefined bit in the mask
 *   DAT_INVALID_PARAMETER/ARG3  ep_param is NULL
 *
 * [DAT 1.2 / 2.0: dat_ep_query]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_query(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EP_PARAM_MASK ep_param_mask,
	OUT DAT_EP_PARAM *ep_param);

/*
 * dat_ep_modify - change parameters of an EP: all that the mask names, or none.
 *
 * IA, state, addresses and ports cannot be changed.
 *
 *   ep_handle      the EP
 *   ep_param_mask  members to change, DAT_EP_FIELD_*
 *   ep_param       the new values
 *
 * States:  the PZ: UNCONNECTED, TENTATIVE_CONNECTION_PENDING. EVDs and attributes: those two,
 *          RESERVED and PASSIVE_CONNECTION_PENDING. Receive completion flags: in addition no
 *          receive posted yet. Attributes of transport and provider: UNCONNECTED, elsewhere as
 *          these define.
 * Events:  receives already posted that do not fit a new PZ complete with
 *          DAT_DTO_ERR_LOCAL_PROTECTION.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP       bad handle
 *   DAT_INVALID_PARAMETER/ARG2  the mask names a member that cannot be changed
 *   DAT_INVALID_PARAMETER/ARG3  ep_param NULL, or a value in it is bad
 *   DAT_INVALID_STATE/EP_*      state of the EP
 *
 * [DAT 1.2 / 2.0: dat_ep_modify]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_modify(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EP_PARAM_MASK ep_param_mask,
	IN const DAT_EP_PARAM *ep_param);

/*
 * dat_ep_get_status - take a snapshot of an EP. Each output may be NULL.
 *
 *   ep_handle     the EP
 *   ep_state      out: its state
 *   recv_idle     out: DAT_TRUE if no receive is outstanding
 *   request_idle  out: DAT_TRUE if no request is outstanding
 *
 * States:  any.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP  bad handle
 *
 * [DAT 1.2 / 2.0: dat_ep_get_status]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_get_status(
	IN DAT_EP_HANDLE ep_handle,
	OUT DAT_EP_STATE *ep_state,
	OUT DAT_BOOLEAN *recv_idle,
	OUT DAT_BOOLEAN *request_idle);

/*
 * dat_ep_reset - make a disconnected EP fit for a new connection.
 *
 * The EP becomes UNCONNECTED; completions not yet dequeued may get lost. On an unconnected EP
 * nothing happens, posted receives stay. May block until the transport lets go.
 *
 *   ep_handle  the EP
 *
 * States:  DISCONNECTED, UNCONNECTED.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP   bad handle
 *   DAT_INVALID_STATE/EP_*  any other state
 *
 * [DAT 1.2 / 2.0: dat_ep_reset]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_reset(IN DAT_EP_HANDLE ep_handle);

/*
 * dat_ep_free - destroy an EP, aborting its connection or the making of one.
 *
 * Outstanding operations may or may not complete visibly. In the three states that forbid it the
 * RSP must be freed, or the CR rejected, before.
 *
 *   ep_handle  the EP; dead afterwards
 *
 * States:  all but RESERVED, PASSIVE_CONNECTION_PENDING, TENTATIVE_CONNECTION_PENDING.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP   bad handle
 *   DAT_INVALID_STATE/EP_*  one of those three
 *
 * [DAT 1.2 / 2.0: dat_ep_free]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_free(IN DAT_EP_HANDLE ep_handle);

/*
 * dat_ep_recv_query - count the receive buffers of an EP. Each output may be NULL, or come out
 * as DAT_VALUE_UNKNOWN.
 *
 *   ep_handle        the EP
 *   nbufs_allocated  out: buffers that the EP holds and has not completed
 *   bufs_alloc_span  out: receives that will complete if all that arrives now does; never below
 *                    the former
 *
 * States:  any.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP    bad handle
 *   DAT_MODEL_NOT_SUPPORTED  the provider knows neither
 *
 * [DAT 1.2 / 2.0: dat_ep_recv_query]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_recv_query(
	IN DAT_EP_HANDLE ep_handle,
	OUT DAT_COUNT *nbufs_allocated,
	OUT DAT_COUNT *bufs_alloc_span);

/*
 * dat_ep_set_watermark - bound the SRQ buffers that an EP may hold.
 *
 * A mark that is passed already works at once.
 *
 *   ep_handle            the EP
 *   soft_high_watermark  passing it raises one event, until set again; -1 for none
 *   hard_high_watermark  passing it breaks the connection; -1 for none
 *
 * States:  any.
 * Events:  soft: DAT_ASYNC_ERROR_EP_BROKEN, reason DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT. Hard:
 *          DAT_CONNECTION_EVENT_BROKEN.
 *
 * Returns:
 *   DAT_INVALID_HANDLE/EP              bad handle
 *   DAT_INVALID_PARAMETER/ARG2, /ARG3  not -1 and not in range
 *   DAT_MODEL_NOT_SUPPORTED            no watermarks, see
 *                                      DAT_PROVIDER_ATTR.srq_watermarks_supported
 *
 * [DAT 1.2 / 2.0: dat_ep_set_watermark]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ep_set_watermark(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT soft_high_watermark,
	IN DAT_COUNT hard_high_watermark);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_EP_H_ */
