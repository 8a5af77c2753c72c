/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions: from libfabric's CQ to DAT events, in posting order, each exactly once. */
#ifndef DOFI_CQ_H
#define DOFI_CQ_H

#include "ep.h"

/* Reads one batch of evd's CQ; evd->lock held. Returns the number of entries read. */
unsigned int dofi_cq_pull(struct dofi_evd *evd);
/* May one sleep on the CQ's descriptor? */
bool dofi_cq_may_sleep(struct dofi_evd *evd);
/* The event of a completed operation, if it is due one; false: nobody will dequeue it. */
bool dofi_dto_tell(struct dofi_ep *ep, const struct dofi_dto *dto, struct dofi_evd *evd);
/* Reports what is done at the head of a queue; the lock of its EVD held. */
void dofi_dto_report(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_evd *evd);
/* Both queues, locks taken here; opens the gate (ep->open) first. */
void dofi_dto_open(struct dofi_ep *ep);
/* Completes whatever is still outstanding as flushed. The fabric has let go of it. */
void dofi_dto_flush(struct dofi_ep *ep);
/* Forgets whatever is outstanding without reporting it. */
void dofi_dto_forget(struct dofi_ep *ep);

#endif
