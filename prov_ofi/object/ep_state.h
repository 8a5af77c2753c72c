/* SPDX-License-Identifier: BSD-2-Clause */
/* State machine of an EP: all changes of its DAT state are transitions of ep_state.def.
 *
 * States change under both cm_lock and ep->lock, so either lock suffices to read them. Another
 * transition is a mistake of this library: debug builds abort; others log it and leave the state
 * as it is, because each state has its own resources and events. A second end of a connection, for
 * example, must not generate a second event.
 */
#ifndef DOFI_EP_STATE_H
#define DOFI_EP_STATE_H

#include <stdbool.h>

#include "base/dat_version.h"

struct dofi_ep;
struct dofi_queue;

/* ep_state.def states when they happen. */
enum dofi_ep_event {
	DOFI_EP_RESERVE,
	DOFI_EP_RELEASE,
	DOFI_EP_REQUEST,
	DOFI_EP_REJECT,
	DOFI_EP_ACCEPT,
	DOFI_EP_CONNECT,
	DOFI_EP_ESTABLISH,
	DOFI_EP_DRAIN,
	DOFI_EP_END,
	DOFI_EP_RESET,
};

/* Initial state. */
void dofi_ep_state_init(struct dofi_ep *ep);
/* False: ep_state.def has no such transition. Caller holds cm_lock and ep->lock. */
bool dofi_ep_transit_locked(struct dofi_ep *ep, enum dofi_ep_event event);
/* The same; takes ep->lock. Caller holds cm_lock. */
bool dofi_ep_transit(struct dofi_ep *ep, enum dofi_ep_event event);
/* The EP is being destroyed, from whatever state: nothing can be posted or submitted any more.
 * Caller holds cm_lock and has invalidated the handle. */
void dofi_ep_state_destroy(struct dofi_ep *ep);

/* Most operations of the queue that the fabric may have at a time if the EP is connected, can hand
 * over and takes operations of one segment; else 0. */
uint32_t dofi_ep_quota(const struct dofi_ep *ep, const struct dofi_queue *q);
/* Sets the quotas of both queues, after a change of what they depend on. Caller holds ep->lock. */
void dofi_ep_set_quotas(struct dofi_ep *ep);

#endif
