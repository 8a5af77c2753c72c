/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of what each completion goes through, whoever reads it: data/cq.c and data/evd_dequeue.c. */
#ifndef DOFI_CQ_INLINE_H
#define DOFI_CQ_INLINE_H

#include "base/inline.h"
#include "base/log.h"
#include "data/cq.h"

/* So far a queue goes before it begins anew. */
#define DOFI_QUEUE_REWIND 64

/* Reports all that is done at the head of a queue, whose EP is open. */
void dofi_queue_report(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_evd *evd);
void dofi_queue_rewind(struct dofi_ep *ep, struct dofi_queue *q);
/* The word of a received message, and the message, if that came with it, to where it was posted.
 * DAT_DTO_COMPLETION_STATUS; may be asked again. */
uint8_t dofi_cq_read_prefix(struct dofi_evd *evd, struct dofi_dto *dto, size_t *len,
			    uint64_t *data);

/* The context of a completion must be an operation that the fabric has: libfabric 1.17 (tcp) can
 * deliver one twice, or none at all, after a disconnect in the middle of a read response. */
ALWAYS_INLINE struct dofi_dto *dofi_cq_dto(void *context)
{
	struct dofi_dto *dto = context;

	if (!dto)
		return NULL;	/* the front part of a write (data/dto_submit.c), or nothing at all */
	if (atomic_load_explicit(&dto->state, memory_order_acquire) != DOFI_DTO_POSTED) {
		dofi_log(DOFI_LOG_INFO, "the fabric completed an operation that it does not have");
		return NULL;
	}
	return dto;
}

ALWAYS_INLINE bool dofi_dto_is_done(const struct dofi_dto *dto)
{
	return atomic_load_explicit(&dto->state, memory_order_acquire) == DOFI_DTO_DONE;
}

/* The last thing that is done when the head has moved to `head`. */
ALWAYS_INLINE void dofi_queue_rewind_if_empty(struct dofi_ep *ep, struct dofi_queue *q,
					      uint32_t head)
{
	if (head >= DOFI_QUEUE_REWIND &&
	    head == atomic_load_explicit(&q->tail, memory_order_relaxed))
		dofi_queue_rewind(ep, q);
}

/* `kind` is the operation's, and a constant to some callers. */
ALWAYS_INLINE void dofi_dto_fill(DAT_DTO_COMPLETION_EVENT_DATA *d, struct dofi_ep *ep,
				 const struct dofi_dto *dto, int kind, uint8_t status)
{
	d->ep_handle = ep;
	d->user_cookie = dto->cookie;
	d->status = (DAT_DTO_COMPLETION_STATUS)status;
	d->transfered_length = (dofi_len_t)(status ? 0 : dto->length);
	dofi_dto_extra(d, kind, dto->inv_key);
}

#endif
