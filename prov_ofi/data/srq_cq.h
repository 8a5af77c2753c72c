/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues: their EPs, and completions of their buffers, from data/cq.c through
 * data/srq_cq.c to the event (data/dto_event.h). Unless stated otherwise, the caller of the latter
 * holds the lock of the EP's receive EVD.
 */
#ifndef DOFI_SRQ_CQ_H
#define DOFI_SRQ_CQ_H

#include "object/srq.h"

/* Attach the EP to the SRQ from which it receives; detach it. */
void dofi_srq_attach(struct dofi_srq *srq, struct dofi_ep *ep);
void dofi_srq_detach(struct dofi_ep *ep);
void dofi_srq_destroy(struct dofi_srq *srq);

/* ---- data/srq_cq.c ---- */

/* Posts a buffer to the fabric. Needs no lock of an EVD. */
int dofi_srq_submit(struct dofi_srq *srq, struct dofi_dto *dto);

/* Reposts a buffer that the fabric returned without a message. */
void dofi_srq_unfilled(struct dofi_dto *dto);
/* Returns the EP to which a completed buffer belongs. NULL: none; the buffer was reposted. A
 * message that announces a value belongs to none. */
struct dofi_ep *dofi_srq_owner(struct dofi_dto *dto, struct dofi_evd *evd, uint64_t data);
/* Reports the completed operation; the EP is open. */
void dofi_srq_finish(struct dofi_ep *ep, struct dofi_dto *dto, struct dofi_evd *evd);
/* Queues it until the EP opens. */
void dofi_srq_keep(struct dofi_ep *ep, struct dofi_dto *dto);
/* Reports the queued operations. */
void dofi_srq_report(struct dofi_ep *ep, struct dofi_evd *evd);
/* Returns the number of operations that wait for the EP to open. */
uint32_t dofi_srq_unreported(const struct dofi_ep *ep);
/* Discards the queued operations. */
void dofi_srq_forget(struct dofi_ep *ep);
/* Stops counting the receives in the EVD, for the SRQ and for a new EP with this handle. */
void dofi_srq_disown(struct dofi_ep *ep, struct dofi_evd *evd);
/* Raises the events of watermarks that were passed. Caller holds no lock that ranks below cm_lock
 * (object/ia.h). */
void dofi_srq_raise(struct dofi_ia *ia, struct dofi_ep *ep);

#endif
