/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending: what is queued, in flight, and to be acknowledged. Callers hold ep->lock. */
#ifndef DOFI_MSGEP_PROTO_TX_H
#define DOFI_MSGEP_PROTO_TX_H

#include "msgep/object/proto.h"

/* The first request has been queued: sends as much of it as there is room for. */
void msgep_push_first(struct msgep_ep *ep);
/* True if a message is complete only when it has arrived. */
static inline bool msgep_is_acked(struct msgep_ep *ep)
{
	return ep->transport->arrived && !(ep->transport->is_eager && ep->transport->is_eager(ep));
}
/* Completes messages that have arrived: those that end in that number of frames. */
void msgep_complete_arrived(struct msgep_ep *ep, uint32_t arrived);
/* Enlarges the ring of inflight messages, which is full. False: no memory. */
bool msgep_inflight_grow(struct msgep_ep *ep);
/* True if the inflight ring has room. Checked before a frame that may end a message. */
static inline bool msgep_inflight_has_slot(struct msgep_ep *ep)
{
	return ep->inflight_tail - ep->inflight_head < ep->inflight_capacity ||
	       !ep->transport->arrived || msgep_inflight_grow(ep);
}
static inline void msgep_complete_due(struct msgep_ep *ep)
{
	uint32_t arrived;

	if (ep->inflight_head == ep->inflight_tail)
		return;
	arrived = ep->transport->arrived(ep);
	if (msgep_ep_completes_at(ep, arrived))
		msgep_complete_arrived(ep, arrived);
}
/* A message is entirely in frames: it completes when they have arrived. */
void msgep_inflight_add(struct msgep_ep *ep, void *context, uint64_t total);

/* True if something waits to be put into frames. */
static inline bool msgep_has_pending(const struct msgep_ep *ep)
{
	return msgep_queued(&ep->txq) || ep->target_read_head != ep->target_read_tail || ep->nak ||
	       ep->reported != ep->done || ep->bulk.granted != ep->bulk.tail || ep->too_long;
}

/* Acknowledges what needs no frame for that. */
static inline void msgep_acknowledge(struct msgep_ep *ep)
{
	if (ep->reported == ep->done || ep->nak || !ep->transport->acknowledge)
		return;
	ep->transport->acknowledge(ep, (uint32_t)ep->done);
	ep->reported = ep->done;
}

#endif
