/* SPDX-License-Identifier: BSD-2-Clause */
/* State machine of an EP: applies the transitions of ep_state.def. */
#include <stddef.h>

#include "base/log.h"
#include "object/ep.h"
#include "object/ep_state.h"

struct transition {
	enum dofi_ep_event event;
	DAT_EP_STATE before, after;
};

static const struct transition transitions[] = {
#define DOFI_EP_TRANSITION(event, before, after) \
	{ DOFI_EP_##event, DAT_EP_STATE_##before, DAT_EP_STATE_##after },
#include "object/ep_state.def"
#undef DOFI_EP_TRANSITION
};

static const struct transition *ep_find_transition(DAT_EP_STATE state, enum dofi_ep_event event)
{
	for (size_t i = 0; i < sizeof(transitions) / sizeof(*transitions); i++)
		if (transitions[i].event == event && transitions[i].before == state)
			return &transitions[i];
	return NULL;
}

uint32_t dofi_ep_quota(const struct dofi_ep *ep, const struct dofi_queue *q)
{
	if (ep->state != DAT_EP_STATE_CONNECTED || !ep->conn || ep->conn->shut ||
	    (q == &ep->rq && !ep->max_iov[DOFI_RECV]) || (q == &ep->sq && ep->reads_bar))
		return 0;
	return q->limit < q->depth ? q->limit : q->depth;
}

void dofi_ep_set_quotas(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->lock);
	ep->rq.quota = dofi_ep_quota(ep, &ep->rq);
	ep->sq.quota = dofi_ep_quota(ep, &ep->sq);
}

static void ep_set_state(struct dofi_ep *ep, DAT_EP_STATE state)
{
	ep->state = state;
	ep->counts->state = (uint8_t)state;
	dofi_ep_set_quotas(ep);
}

void dofi_ep_state_init(struct dofi_ep *ep)
{
	ep->state = DAT_EP_STATE_UNCONNECTED;
	ep->counts->state = DAT_EP_STATE_UNCONNECTED;
	ep->rq.quota = ep->sq.quota = 0;
}

bool dofi_ep_transit_locked(struct dofi_ep *ep, enum dofi_ep_event event)
{
	const struct transition *t = ep_find_transition(ep->state, event);

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	DOFI_ASSERT_LOCKED(&ep->lock);
	DOFI_ASSERT(t, "EP %p: event %d (enum dofi_ep_event) in state %d (DAT_EP_STATE)",
		    (void *)ep, (int)event, (int)ep->state);
	if (!t) {
		dofi_log(DOFI_LOG_ERROR, "internal error: EP %p: event %d in state %d", (void *)ep,
			 (int)event, (int)ep->state);
		return false;
	}
	ep_set_state(ep, t->after);
	return true;
}

bool dofi_ep_transit(struct dofi_ep *ep, enum dofi_ep_event event)
{
	bool ok;

	dofi_lock(&ep->lock);
	ok = dofi_ep_transit_locked(ep, event);
	dofi_unlock(&ep->lock);
	return ok;
}

void dofi_ep_state_destroy(struct dofi_ep *ep)
{
	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	dofi_lock(&ep->lock);
	ep_set_state(ep, DAT_EP_STATE_DISCONNECTED);
	dofi_unlock(&ep->lock);
}
