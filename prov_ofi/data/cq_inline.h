/* SPDX-License-Identifier: BSD-2-Clause */
/* Inline parts of completion processing, shared by data/cq.c and data/evd_dequeue.c. */
#ifndef DOFI_CQ_INLINE_H
#define DOFI_CQ_INLINE_H

#include "base/inline.h"
#include "base/log.h"
#include "data/cq.h"
#include "data/dto_event.h"

/* Rewind the ring to slot 0 once the head has passed this index. */
#define DOFI_QUEUE_REWIND 64

/* Reports completed operations at the head of a queue whose EP is open. */
void dofi_queue_report(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_evd *evd);
void dofi_queue_rewind(struct dofi_ep *ep, struct dofi_queue *q);
/* The operation of a completion; NULL: none, or one that is not posted to the fabric. An operation
 * completes once, whatever the fabric reports after it has been flushed. */
ALWAYS_INLINE struct dofi_dto *dofi_cq_dto(void *context)
{
	struct dofi_dto *dto = context;

	if (!dto)
		return NULL; /* first part of a split write (data/dto_submit.c), or no context */
	if (atomic_load_explicit(&dto->state, memory_order_acquire) != DOFI_DTO_POSTED) {
		dofi_log(DOFI_LOG_INFO, "the fabric completed an operation that is not posted");
		return NULL;
	}
	return dto;
}

ALWAYS_INLINE bool dofi_dto_is_done(const struct dofi_dto *dto)
{
	return atomic_load_explicit(&dto->state, memory_order_acquire) == DOFI_DTO_DONE;
}

/* Last step after the head has moved to `head`. */
ALWAYS_INLINE void dofi_queue_rewind_if_empty(struct dofi_ep *ep, struct dofi_queue *q,
					      uint32_t head)
{
	if (head >= DOFI_QUEUE_REWIND &&
	    head == atomic_load_explicit(&q->tail, memory_order_relaxed))
		dofi_queue_rewind(ep, q);
}

#endif
