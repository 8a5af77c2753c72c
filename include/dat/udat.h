/* SPDX-License-Identifier: BSD-2-Clause */
/* The header that DAT programs include, and the calls that exist at user level only. */
#ifndef _UDAT_H_
#define _UDAT_H_

#include <dat/udat_config.h>
#include <dat/dat_platform_specific.h>
#include <dat/dat.h>
#include <dat/udat_attr.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values of *async_event_handle in dat_ia_openv(). */
#define DAT_EVD_ASYNC_EXISTS	((DAT_EVD_HANDLE)1)	/* in: some process has an EVD */
#define DAT_EVD_OUT_OF_SCOPE	((DAT_EVD_HANDLE)2)	/* out: it cannot be reached from here */

/* Memory */

/*
 * dat_lmr_create - register memory for DTOs and remote access.
 *
 * The memory must exist and stays registered until dat_lmr_free(). The provider pins what it
 * needs.
 *
 *   ia_handle           IA that it shall belong to
 *   mem_type            which kind of memory
 *   region_description  the memory, by its kind
 *   length              bytes, > 0; ignored for DAT_MEM_TYPE_LMR
 *   pz_handle           its PZ
 *   privileges          rights, ORed; may be none. Remote rights must be named
 *   lmr_handle          out: the LMR
 *   lmr_context         out: key for local triplets
 *   rmr_context         out: key for peers, 0 without remote rights; lives as long as the LMR
 *   registered_length   out, may be NULL: bytes really registered
 *   registered_address  out, may be NULL: where the registered range starts
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA, /PZ                    bad handle
 *   DAT_INVALID_HANDLE/LMR                        DAT_MEM_TYPE_LMR with a bad handle
 *   DAT_INVALID_PARAMETER/ARG2                    unknown kind of memory
 *   DAT_LENGTH_ERROR                              length 0
 *   DAT_INVALID_PARAMETER/ARG6                    unknown right
 *   DAT_INVALID_PARAMETER/ARG7                    lmr_handle is NULL
 *   DAT_INVALID_STATE                             the memory is not shared
 *   DAT_PRIVILEGES_VIOLATION                      the process itself may not access the range
 *   DAT_INSUFFICIENT_RESOURCES/RESOURCE_MEMORY, /RESOURCE_MEMORY_REGION
 *                                                 no memory, or too many LMRs
 *   DAT_MODEL_NOT_SUPPORTED                       kind of memory or addressing not offered
 *
 * [DAT 1.2 / 2.0: dat_lmr_create]
 */
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

/*
 * dat_lmr_query - read the parameters of an LMR.
 *
 *   lmr_handle      the LMR
 *   lmr_param_mask  members wanted, DAT_LMR_FIELD_*
 *   lmr_param       out: the parameters
 *
 * Returns:
 *   DAT_INVALID_HANDLE/LMR      bad handle
 *   DAT_INVALID_PARAMETER/ARG2  undefined bit in the mask
 *   DAT_INVALID_PARAMETER/ARG3  lmr_param is NULL
 *
 * [DAT 1.2 / 2.0: dat_lmr_query]
 */
extern DAT_RETURN dat_lmr_query(
	IN DAT_LMR_HANDLE lmr_handle,
	IN DAT_LMR_PARAM_MASK lmr_param_mask,
	OUT DAT_LMR_PARAM *lmr_param);

/*
 * Event dispatchers
 *
 * An event that arrives is queued; if it notifies it releases the thread that waits on the
 * EVD, or else triggers the EVD's CNO while the EVD is enabled. When the queue
 * is full the event is dropped, and DAT_ASYNC_ERROR_EVD_OVERFLOW is reported.
 */

/*
 * dat_evd_create - create an EVD, enabled and waitable.
 *
 *   ia_handle     IA that it shall belong to
 *   evd_min_qlen  least length in events, 1 to DAT_IA_ATTR.max_evd_qlen
 *   cno_handle    CNO to trigger, or DAT_HANDLE_NULL
 *   evd_flags     streams that may feed it, ORed; the provider's evd_stream_merging_supported
 *                 must allow each pair
 *   evd_handle    out: the EVD
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA, /CNO                 bad handle
 *   DAT_INVALID_PARAMETER/ARG2                  length not positive
 *   DAT_INVALID_PARAMETER/ARG4                  no or unknown streams, or a mix not offered
 *   DAT_INVALID_PARAMETER/ARG5                  evd_handle is NULL
 *   DAT_INSUFFICIENT_RESOURCES/RESOURCE_TEVD    length above the maximum, or too many EVDs
 *   DAT_INSUFFICIENT_RESOURCES/RESOURCE_MEMORY  no memory
 *
 * [DAT 1.2 / 2.0: dat_evd_create]
 */
extern DAT_RETURN dat_evd_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_COUNT evd_min_qlen,
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_EVD_FLAGS evd_flags,
	OUT DAT_EVD_HANDLE *evd_handle);

/*
 * dat_evd_modify_cno - give an EVD another CNO.
 *
 * Events that arrive during the call may trigger either; disable the EVD around it to avoid
 * that. Events that are queued already do not trigger the new one.
 *
 *   evd_handle  the EVD
 *   cno_handle  the CNO, or DAT_HANDLE_NULL for none
 *
 * Returns:
 *   DAT_INVALID_HANDLE      bad EVD
 *   DAT_INVALID_HANDLE/CNO  bad CNO
 *
 * [DAT 1.2 / 2.0: dat_evd_modify_cno]
 */
extern DAT_RETURN dat_evd_modify_cno(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_CNO_HANDLE cno_handle);

/*
 * dat_evd_enable - let an EVD trigger its CNO. No effect if it does, or on waiting threads.
 *
 *   evd_handle  the EVD
 *
 * Returns:
 *   DAT_INVALID_HANDLE  bad handle
 *
 * [DAT 1.2 / 2.0: dat_evd_enable]
 */
extern DAT_RETURN dat_evd_enable(IN DAT_EVD_HANDLE evd_handle);

/*
 * dat_evd_disable - keep an EVD from triggering its CNO.
 *
 * A notification under way may still come. No effect on waiting threads.
 *
 *   evd_handle  the EVD
 *
 * Returns:
 *   DAT_INVALID_HANDLE  bad handle
 *
 * [DAT 1.2 / 2.0: dat_evd_disable]
 */
extern DAT_RETURN dat_evd_disable(IN DAT_EVD_HANDLE evd_handle);

/*
 * dat_evd_wait - wait until an EVD holds some events, then take the first.
 *
 * One thread may wait; meanwhile no other may wait or dequeue, and the CNO is not triggered.
 * If the call does not succeed no event is taken.
 *
 *   evd_handle     the EVD
 *   timeout        microseconds; 0 looks once, DAT_TIMEOUT_INFINITE never gives up
 *   threshold      events to wait for, 1 to the length of the EVD; more than 1 only if its DTO
 *                  streams notify by threshold
 *   event          out: the first event
 *   n_more_events  out: events left; also set after DAT_TIMEOUT_EXPIRED and DAT_INTERRUPTED_CALL
 *
 * Returns:
 *   DAT_TIMEOUT_EXPIRED                too few events came in time
 *   DAT_INTERRUPTED_CALL               a signal came
 *   DAT_ABORT                          the EVD or its IA went away
 *   DAT_INVALID_HANDLE                 bad handle
 *   DAT_INVALID_PARAMETER/ARG3         threshold out of range
 *   DAT_INVALID_PARAMETER/ARG4, /ARG5  an output is NULL
 *   DAT_INVALID_STATE/EVD_UNWAITABLE   the EVD is unwaitable, or became so during the wait
 *   DAT_INVALID_STATE                  another thread waits, or it is an asynchronous EVD that
 *                                      overflowed
 *
 * [DAT 1.2 / 2.0: dat_evd_wait]
 */
extern DAT_RETURN dat_evd_wait(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_TIMEOUT timeout,
	IN DAT_COUNT threshold,
	OUT DAT_EVENT *event,
	OUT DAT_COUNT *n_more_events);

/*
 * dat_evd_set_unwaitable - forbid waiting on an EVD. Threads that wait return DAT_INVALID_STATE;
 * dequeue and CNO go on working.
 *
 *   evd_handle  the EVD
 *
 * Returns:
 *   DAT_INVALID_HANDLE  bad handle
 *
 * [DAT 1.2 / 2.0: dat_evd_set_unwaitable]
 */
extern DAT_RETURN dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle);

/*
 * dat_evd_clear_unwaitable - allow waiting on an EVD again.
 *
 *   evd_handle  the EVD
 *
 * Returns:
 *   DAT_INVALID_HANDLE  bad handle
 *
 * [DAT 1.2 / 2.0: dat_evd_clear_unwaitable]
 */
extern DAT_RETURN dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle);

/*
 * Consumer notification objects
 *
 * A CNO wakes its waiters, and calls its agent, when one of its EVDs notifies. It
 * remembers a single trigger, so a thread that wakes up must poll all of its EVDs.
 */

/*
 * dat_cno_create - create a CNO.
 *
 *   ia_handle   IA that it shall belong to
 *   agent       called at the next trigger, or DAT_OS_WAIT_PROXY_AGENT_NULL
 *   cno_handle  out: the CNO
 *
 * Returns:
 *   DAT_INVALID_HANDLE/IA       bad handle
 *   DAT_INVALID_PARAMETER/ARG3  cno_handle is NULL
 *   DAT_INSUFFICIENT_RESOURCES  no memory
 *
 * [DAT 1.2 / 2.0: dat_cno_create]
 */
extern DAT_RETURN dat_cno_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_OS_WAIT_PROXY_AGENT agent,
	OUT DAT_CNO_HANDLE *cno_handle);

/*
 * dat_cno_modify_agent - replace the agent of a CNO.
 *
 *   cno_handle  the CNO
 *   agent       called at the next trigger, besides releasing waiters; or
 *               DAT_OS_WAIT_PROXY_AGENT_NULL
 *
 * Returns:
 *   DAT_INVALID_HANDLE/CNO  bad handle
 *
 * [DAT 1.2 / 2.0: dat_cno_modify_agent]
 */
extern DAT_RETURN dat_cno_modify_agent(
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_OS_WAIT_PROXY_AGENT agent);

/*
 * dat_cno_query - read the parameters of a CNO.
 *
 *   cno_handle      the CNO
 *   cno_param_mask  members wanted, DAT_CNO_FIELD_*
 *   cno_param       out: the parameters
 *
 * Returns:
 *   DAT_INVALID_HANDLE/CNO      bad handle
 *   DAT_INVALID_PARAMETER/ARG2  not a mask
 *   DAT_INVALID_PARAMETER/ARG3  cno_param is NULL
 *
 * [DAT 1.2 / 2.0: dat_cno_query]
 */
extern DAT_RETURN dat_cno_query(
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_CNO_PARAM_MASK cno_param_mask,
	OUT DAT_CNO_PARAM *cno_param);

/*
 * dat_cno_wait - wait until a CNO is triggered.
 *
 * A trigger that is pending is taken at once. Several threads may wait; how many a trigger
 * releases is open.
 *
 *   cno_handle  the CNO
 *   timeout     microseconds; 0 looks once, DAT_TIMEOUT_INFINITE never gives up
 *   evd_handle  out: an EVD that notified, as a hint; DAT_HANDLE_NULL after a timeout or when
 *               the IA is closed
 *
 * Returns:
 *   DAT_QUEUE_EMPTY             not triggered in time
 *   DAT_INTERRUPTED_CALL        a signal came
 *   DAT_INVALID_HANDLE/CNO      bad handle
 *   DAT_INVALID_PARAMETER/ARG3  evd_handle is NULL
 *   DAT_INVALID_STATE/CNO_DEAD  the CNO is being torn down
 *
 * [DAT 1.2 / 2.0: dat_cno_wait]
 */
extern DAT_RETURN dat_cno_wait(
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_TIMEOUT timeout,
	OUT DAT_EVD_HANDLE *evd_handle);

/*
 * dat_cno_free - destroy a CNO.
 *
 * A waiting thread is brought out by a software event on an EVD of the CNO.
 *
 *   cno_handle  the CNO; dead afterwards
 *
 * Returns:
 *   DAT_INVALID_HANDLE/CNO        bad handle
 *   DAT_INVALID_STATE/CNO_IN_USE  an EVD still refers to it, or a thread waits on it
 *
 * [DAT 1.2 / 2.0: dat_cno_free]
 */
extern DAT_RETURN dat_cno_free(IN DAT_CNO_HANDLE cno_handle);

#ifdef __cplusplus
}
#endif

#include <dat/udat_vendor_specific.h>

#endif /* _UDAT_H_ */
