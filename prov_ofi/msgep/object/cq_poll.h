/* SPDX-License-Identifier: BSD-2-Clause */
/* Polls the endpoints of a queue, between cq.c and cq_poll.c. Caller holds cq->poll. */
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

/* Polls the active endpoints and some of the idle ones, or every one. False: some were skipped,
 * because other threads held their locks. */
bool msgep_cq_poll_eps(struct msgep_cq *cq, bool far, bool each, struct msgep_cq_direct *direct);

/* After an empty poll: polls another queue of the domain, whose consumer may be waiting for what
 * arrives in memory while it looks at this queue. */
void msgep_cq_serve_another(struct msgep_cq *cq);

/* True if the transport processes what arrives for all endpoints. */
static inline bool msgep_cq_all_dispatched(const struct msgep_cq *cq)
{
	const struct msgep_fabric *fabric = cq->domain->fabric;

	return fabric->transport->dispatches && !fabric->local_transport;
}

/* True if polling this queue processes all connections of the domain. */
static inline bool msgep_cq_has_all(const struct msgep_cq *cq)
{
	return cq->n_eps == atomic_load_explicit(&cq->domain->eps, memory_order_relaxed);
}

#endif
