/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at the endpoints of a queue, between data/cq.c and cq_look.c. All with cq->poll held. */
#ifndef DOFI_MSGEP_CQ_LOOK_H
#define DOFI_MSGEP_CQ_LOOK_H

#include "msgep/msgep.h"

/* True if this poll includes what all connections of the fabric's own transport share. */
bool msgep_cq_polls_network(struct msgep_cq *cq);
/* Takes in what has arrived for the busy endpoints and some of the others, or for each. False: not of
 * all of these, other threads were at them. */
bool msgep_cq_poll_eps(struct msgep_cq *cq, bool far, bool each, struct msgep_cq_direct *direct);
/* Nothing was there, nor on the network. A caller who polls takes many times as long until its next
 * look as another one takes here. */
bool msgep_cq_news(struct msgep_cq *cq);

/* The transport processes what arrives, whatever endpoint it is for. */
static inline bool msgep_cq_all_dispatched(const struct msgep_cq *cq)
{
	const struct msgep_fabric *fabric = cq->domain->fabric;

	return fabric->transport->dispatches && !fabric->local_transport;
}

#endif
