/* SPDX-License-Identifier: BSD-2-Clause */
/* Polls the endpoints of a queue. Caller holds cq->poll. */
#ifndef DOFI_MSGEP_CQ_POLL_H
#define DOFI_MSGEP_CQ_POLL_H

#include "msgep/object/cq_eps.h"

/* True if a poll of a queue that may have local connections includes the network transport. */
bool msgep_cq_network_due(struct msgep_cq *cq);

/* The same of any queue. All network connections share the transport. */
static inline bool msgep_cq_polls_network(struct msgep_cq *cq)
{
	return !cq->domain->fabric->local_transport || msgep_cq_network_due(cq);
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
