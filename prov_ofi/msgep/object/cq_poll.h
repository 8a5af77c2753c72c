/* SPDX-License-Identifier: BSD-2-Clause */
/* Polls the endpoints of a queue, between fid_cq.c, cq_poll.c and cq_bind.c. Caller holds cq->poll.
 */
#ifndef DOFI_MSGEP_CQ_LOOK_H
#define DOFI_MSGEP_CQ_LOOK_H

#include "msgep/msgep.h"

/* True if a poll of a queue that may have local connections includes the network transport. */
bool msgep_cq_network_due(struct msgep_cq *cq);

/* The same of any queue. All network connections share the transport. */
static inline bool msgep_cq_polls_network(struct msgep_cq *cq)
{
	return !cq->domain->fabric->local_transport || msgep_cq_network_due(cq);
}

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

/* Polls the active endpoints and some of the idle ones, or every one, after the network transport.
 * `news`: the first one that may have news, if the caller knows. False: some were skipped, because
 * other threads held their locks. */
bool msgep_cq_poll_eps(struct msgep_cq *cq, struct msgep_cq_ep *news, bool each,
		       struct msgep_cq_direct *direct);

/* True if the next empty poll polls another queue, too. */
static inline bool msgep_cq_visits_another(const struct msgep_cq *cq)
{
	return (int32_t)(cq->polls - cq->next_visit) >= 0;
}

/* After an empty poll: polls another queue of the domain, whose consumer may be waiting for what
 * arrives in memory while it looks at this queue. */
void msgep_cq_serve_another(struct msgep_cq *cq);

#endif
