/* SPDX-License-Identifier: BSD-2-Clause */
/* The endpoints of a queue: order, and which may have news. Caller holds cq->poll. */
#ifndef DOFI_MSGEP_CQ_EPS_H
#define DOFI_MSGEP_CQ_EPS_H

#include "msgep/msgep.h"

/* That many endpoints always remain active. */
#define MSGEP_BUSY_LEAST 16u

/* True if a poll polls nothing but active endpoints, which remain so. */
static inline bool msgep_cq_is_plain(const struct msgep_cq *cq)
{
	return cq->n_active == cq->n_eps && cq->n_active < cq->plain_limit;
}

/* False if a poll of the connection would find nothing. Calls nothing. */
static inline bool msgep_ep_may_have_news(const struct msgep_ep *ep)
{
	return msgep_asks_transport(ep) || msgep_watch_shows(ep) ||
	       atomic_load_explicit(&ep->pending, memory_order_relaxed);
}

/* Exchanges two entries. */
static inline void msgep_cq_swap(struct msgep_cq *cq, uint32_t i, uint32_t j)
{
	struct msgep_cq_ep e = cq->eps[i];

	cq->eps[i] = cq->eps[j];
	cq->eps[j] = e;
}

/* Takes the endpoint that was reported first; NULL: there is none (cq_touch.c). */
struct msgep_ep *msgep_cq_next_touched(struct msgep_cq *cq);

/* True if the connection is up, so that its transport is final. */
static inline bool msgep_ep_is_up(const struct msgep_ep *ep)
{
	return atomic_load_explicit(&ep->state, memory_order_acquire) == MSGEP_UP;
}

/* The next active entry, from e on, that may have news; NULL: none. */
static inline struct msgep_cq_ep *msgep_cq_find_news(const struct msgep_cq *cq,
						     struct msgep_cq_ep *e)
{
	const struct msgep_cq_ep *end = cq->eps + cq->n_active;

	for (; e < end; e++)
		if (msgep_ep_may_have_news(e->ep))
			return e;
	return NULL;
}

#endif
