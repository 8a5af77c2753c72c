/* SPDX-License-Identifier: BSD-2-Clause */
/* Inline parts of completing an operation and of its event. (hot) */
#ifndef DOFI_DTO_EVENT_H
#define DOFI_DTO_EVENT_H

#include "base/inline.h"
#include "base/log.h"
#include "base/probe.h"
#include "object/deferred_work.h"
#include "object/srq.h"

enum dofi_event_state {
	DOFI_EVENT_NONE, /* no event: nothing will be dequeued */
	DOFI_EVENT_QUEUED,
	DOFI_EVENT_DEFERRED, /* no memory: DOFI_DEFERRED_REPORT retries */
};

/* Receives of EPs without SRQ that have watermarks are counted as if from this queue, which has no
 * other use. */
extern struct dofi_srq dofi_no_srq;

void dofi_dto_fill_bind_event(struct dofi_event *e, const struct dofi_dto *dto);
/* The EVD's ring cannot grow: no memory. The operation stays at the head of its queue and is
 * reported when the ring has a free entry. */
enum dofi_event_state dofi_dto_defer_event(struct dofi_ep *ep);
/* Accounts for a message that has consumed a receive of such an EP; `e` is its event. */
void dofi_event_count_receive(struct dofi_ep *ep, struct dofi_event *e);

/* `kind` is that of the operation; a constant in some callers. */
ALWAYS_INLINE void dofi_dto_fill(DAT_DTO_COMPLETION_EVENT_DATA *d, struct dofi_ep *ep,
				 const struct dofi_dto *dto, int kind, uint8_t status)
{
	d->ep_handle = ep;
	d->user_cookie = dto->cookie;
	d->status = (DAT_DTO_COMPLETION_STATUS)status;
	d->transfered_length = (dofi_len_t)(status ? 0 : dto->length);
	dofi_dto_extra(d, kind, dto->inv_key);
}

ALWAYS_INLINE void dto_fill_event(struct dofi_event *e, struct dofi_ep *ep,
				  const struct dofi_dto *dto, uint8_t status, bool recv)
{
	e->number = dofi_dto_event(dto->kind);
	if (dto->kind == DOFI_RECV_UD)
		e->source = dto->source;
	e->immed = dto->immed;
	dofi_dto_fill(&e->data.dto_completion_event_data, ep, dto, dto->kind, status);
	e->recv = recv;
	e->srq = recv && dto->shared ? dto->srq : NULL;
}

/* Counts an operation that has completed. Caller holds evd->lock. */
ALWAYS_INLINE void dofi_dto_count_done(struct dofi_ep_slot *slot, int kind, uint64_t bytes,
				       uint8_t status, bool recv)
{
	if (!recv)
		DOFI_COUNT(slot->requests_done, 1);
	if (status) {
		DOFI_COUNT(*(recv ? &slot->receives_failed : &slot->requests_failed), 1);
	} else if (recv) {
		struct dofi_tally *t = kind <= DOFI_RECV_INVALIDATE ? &slot->received
				       : kind == DOFI_RECV_IMMED    ? &slot->write_immed_received
								    : &slot->ud_received;

		DOFI_COUNT(t->n, 1);
		DOFI_COUNT(t->bytes, bytes);
	}
}

/* True if the completion notifies: DAT 1.2/2.0, completion flags. Errors always do. */
ALWAYS_INLINE bool dto_event_notifies(const struct dofi_ep *ep, const struct dofi_dto *dto,
				      uint8_t status, bool recv)
{
	if (status)
		return true;
	if (recv && (ep->attr.recv_completion_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG))
		return dto->solicited;
	return !(dto->flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

ALWAYS_INLINE enum dofi_event_state dto_queue_event(struct dofi_ep *ep, const struct dofi_dto *dto,
						    struct dofi_evd *evd, uint8_t status, bool recv)
{
	struct dofi_event *e = NULL;

	DOFI_ASSERT_LOCKED(&evd->lock);
	if (status && status != DAT_DTO_ERR_FLUSHED) {
		ep->faulted = true;
		dofi_deferred_add(ep, DOFI_DEFERRED_BREAK);
	}
	DOFI_PROBE5(complete, ep, dto->kind, dto->cookie.as_64, status, dto->length);
	if (!evd->internal && !evd->dying &&
	    (status || !(dto->flags & DAT_COMPLETION_SUPPRESS_FLAG))) {
		e = dofi_evd_slot(evd);
		if (!e)
			return dofi_dto_defer_event(ep);
	}
	dofi_dto_count_done(ep->counts, dto->kind, dto->length, status, recv);
	if (!e)
		return DOFI_EVENT_NONE;
	if (!recv && dto->kind == DOFI_BIND)
		dofi_dto_fill_bind_event(e, dto);
	else
		dto_fill_event(e, ep, dto, status, recv);
	if (recv && ep->has_watermarks && !status)
		dofi_event_count_receive(ep, e);
	e->notify = dto_event_notifies(ep, dto, status, recv);
	dofi_evd_commit(evd, e);
	return DOFI_EVENT_QUEUED;
}

/* Counts a completed operation and queues its event, if it generates one. `recv`: the operation is
 * a receive; a constant in some callers. Caller holds evd->lock. */
ALWAYS_INLINE enum dofi_event_state dofi_dto_queue_event(struct dofi_ep *ep,
							 const struct dofi_dto *dto,
							 struct dofi_evd *evd, bool recv)
{
	/* The usual status as a constant saves a tenth of the instructions. */
	return dto->status ? dto_queue_event(ep, dto, evd, dto->status, recv)
			   : dto_queue_event(ep, dto, evd, DAT_DTO_SUCCESS, recv);
}

/* Rewind the ring to slot 0 once the head has passed this index. */
#define DOFI_QUEUE_REWIND 64

/* Rewinds the ring if it is empty. Caller holds evd->lock. */
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
