/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at the endpoints of a queue, between data/cq.c and cq_look.c. All with cq->poll held. */
#ifndef DOFI_RDM_CQ_LOOK_H
#define DOFI_RDM_CQ_LOOK_H

#include "msgep/msgep.h"

/* True if this poll includes what all connections of the fabric's own transport share. */
bool rdm_cq_looks_far(struct rdm_cq *cq);
/* Takes in what has arrived for the busy endpoints and some of the others, or for each. False: not of
 * all of these, other threads were at them. */
bool rdm_cq_look(struct rdm_cq *cq, bool far, bool each, struct rdm_sink *sink);
/* Nothing was there, nor on the network. A caller who polls takes many times as long until its next
 * look as another one takes here. */
bool rdm_cq_comes_now(struct rdm_cq *cq);

/* The transport processes what arrives, whatever endpoint it is for. */
static inline bool rdm_cq_all_dispatched(const struct rdm_cq *cq)
{
	const struct rdm_fabric *fabric = cq->domain->fabric;

	return fabric->wire->dispatches && !fabric->local_wire;
}

#endif
