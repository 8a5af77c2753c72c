/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares calls and types that all levels of DAT share. */
#ifndef _DAT_H_
#define _DAT_H_

/*
 * Programs include udat.h. This header gathers the parts that have nothing to do with
 * user level:
 *
 *	dat_error.h	results
 *	dat_types.h	handles, flags, triplets
 *	dat_param.h	states, attributes and parameters of objects
 *	dat_event.h	events
 *	dat_ia.h	opening and closing an IA; calls on any handle
 *	dat_evd.h	events out of EVDs
 *	dat_mem.h	PZ, LMR, RMR
 *	dat_ep.h	endpoints
 *	dat_cm.h	connections
 *	dat_dto.h	data transfer
 *	dat_srq.h	shared receive queues
 *
 * How to read the comment over a call. "Returns" lists the results other than DAT_SUCCESS as
 * TYPE/SUBTYPE, where the subtype lacks its DAT_ or DAT_INVALID_HANDLE_ or DAT_INVALID_ or
 * DAT_INVALID_STATE_ prefix: DAT_INVALID_HANDLE/IA is DAT_INVALID_HANDLE with subtype
 * DAT_INVALID_HANDLE_IA. All carry DAT_CLASS_ERROR. Any call may return DAT_INTERNAL_ERROR, and
 * one without code DAT_NOT_IMPLEMENTED. After an error outputs are undefined and nothing has
 * changed, unless the comment says otherwise. "States" names states of the EP without
 * DAT_EP_STATE_. Positions of arguments (ARG1, ...) count from 1. All objects named in one call
 * must belong to the same open IA. The last line names the call and the versions of DAT that
 * have it.
 *
 * (2.0) marks members and values that 1.2 lacks.
 */
#include <dat2/dat_error.h>
#include <dat2/dat_types.h>
#include <dat2/dat_param.h>
#include <dat2/dat_event.h>
#include <dat2/dat_ia.h>
#include <dat2/dat_evd.h>
#include <dat2/dat_mem.h>
#include <dat2/dat_ep.h>
#include <dat2/dat_cm.h>
#include <dat2/dat_dto.h>
#include <dat2/dat_srq.h>

#endif /* _DAT_H_ */
