/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls on event dispatchers that all levels of DAT share. */
#ifndef _DAT_EVD_H_
#define _DAT_EVD_H_

#include <dat2/dat_event.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * An EVD is a bounded queue of events. Creating, waiting on and notifying from one are
 * user-level matters: udat.h. A NULL EVD handle gives DAT_INVALID_HANDLE with subtype
 * EVD_REQUEST whatever the EVD is for.
 */
typedef struct dat_evd_param DAT_EVD_PARAM;	/* in udat_attr.h */

/* Members of DAT_EVD_PARAM. */
typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE = 0x01,	/* ia_handle */
	DAT_EVD_FIELD_EVD_QLEN = 0x02,	/* evd_qlen */
	DAT_EVD_FIELD_EVD_STATE = 0x04,	/* evd_state */
	DAT_EVD_FIELD_CNO = 0x08,	/* cno_handle */
	DAT_EVD_FIELD_EVD_FLAGS = 0x10,	/* evd_flags */
	DAT_EVD_FIELD_ALL = 0x1F	/* all of them */
} DAT_EVD_PARAM_MASK;

/*
 * dat_evd_dequeue - take the first event from an EVD without waiting.
 *
 * Disabled and unwaitable EVDs can be read, too. Each event is delivered once; callers at the
 * same time may see events out of order.
 *
 *   evd_handle  the EVD
 *   event       out: the event
 *
 * Returns:
 *   DAT_QUEUE_EMPTY             there is none
 *   DAT_INVALID_HANDLE          bad handle
 *   DAT_INVALID_PARAMETER/ARG2  event is NULL
 *   DAT_INVALID_STATE           a thread waits on the EVD, or it is an asynchronous EVD that
 *                               overflowed
 *
 * [DAT 1.2 / 2.0: dat_evd_dequeue]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_dequeue(
	IN DAT_EVD_HANDLE evd_handle,
	OUT DAT_EVENT *event);

/*
 * dat_evd_post_se - queue a software event.
 *
 *   evd_handle  an EVD with DAT_EVD_SOFTWARE_FLAG
 *   event       its number must be DAT_SOFTWARE_EVENT; the event data is copied, not what it
 *               points to
 *
 * Events:  DAT_SOFTWARE_EVENT on evd_handle; it notifies.
 *
 * Returns:
 *   DAT_QUEUE_FULL              no room; the event is not queued and no overflow is declared
 *   DAT_INVALID_HANDLE          bad handle
 *   DAT_INVALID_PARAMETER/ARG1  the EVD takes no software events
 *   DAT_INVALID_PARAMETER/ARG2  event NULL, or another number
 *
 * [DAT 1.2 / 2.0: dat_evd_post_se]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_post_se(
	IN DAT_EVD_HANDLE evd_handle,
	IN const DAT_EVENT *event);

/*
 * dat_evd_query - read the parameters of an EVD.
 *
 *   evd_handle      the EVD
 *   evd_param_mask  members wanted, DAT_EVD_FIELD_*
 *   evd_param       out: the parameters
 *
 * Returns:
 *   DAT_INVALID_HANDLE          bad handle
 *   DAT_INVALID_PARAMETER/ARG2  undefined bit in the mask
 *   DAT_INVALID_PARAMETER/ARG3  evd_param is NULL
 *
 * [DAT 1.2 / 2.0: dat_evd_query]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_query(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_EVD_PARAM_MASK evd_param_mask,
	OUT DAT_EVD_PARAM *evd_param);

/*
 * dat_evd_resize - change the length of an EVD.
 *
 * No event is lost.
 *
 *   evd_handle    the EVD
 *   evd_min_qlen  least new length in events, 1 to DAT_IA_ATTR.max_evd_qlen; more may be granted
 *
 * Returns:
 *   DAT_INVALID_HANDLE          bad handle
 *   DAT_INVALID_PARAMETER/ARG2  not positive, or above the maximum
 *   DAT_INVALID_STATE           more events are queued than would fit
 *   DAT_INSUFFICIENT_RESOURCES  no memory
 *
 * [DAT 1.2 / 2.0: dat_evd_resize]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_resize(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_COUNT evd_min_qlen);

/*
 * dat_evd_free - destroy an EVD and the events in it.
 *
 *   evd_handle  the EVD; dead afterwards
 *
 * Returns:
 *   DAT_INVALID_HANDLE            bad handle
 *   DAT_INVALID_STATE/EVD_IN_USE  an EP, a service point or the IA feeds it, or a thread waits
 *                                 on it
 *
 * [DAT 1.2 / 2.0: dat_evd_free]
 */
DAT_EXPORT DAT_RETURN DAT_API dat_evd_free(IN DAT_EVD_HANDLE evd_handle);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_EVD_H_ */
