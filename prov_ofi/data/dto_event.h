/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts a completed operation to its event in the EVD's ring. (hot) */
#ifndef DOFI_DTO_EVENT_H
#define DOFI_DTO_EVENT_H

#include "base/inline.h"
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

/* Queues the event of a completed operation if it generates one. `status` and `recv` are those of
 * the operation; constants in some callers. Caller holds evd->lock. */
ALWAYS_INLINE enum dofi_event_state dofi_dto_queue_event(struct dofi_ep *ep,
							 const struct dofi_dto *dto,
							 struct dofi_evd *evd, uint8_t status,
							 bool recv)
{
	struct dofi_event *e;

	DOFI_ASSERT_LOCKED(&evd->lock);
	if (status && status != DAT_DTO_ERR_FLUSHED) {
		ep->faulted = true;
		dofi_deferred_add(ep, DOFI_DEFERRED_BREAK);
	}
	DOFI_PROBE5(complete, ep, dto->kind, dto->cookie.as_64, status, dto->length);
	if (evd->internal || evd->dying)
		return DOFI_EVENT_NONE;
	if (!status && (dto->flags & DAT_COMPLETION_SUPPRESS_FLAG))
		return DOFI_EVENT_NONE;
	e = dofi_evd_slot(evd);
	if (!e)
		return dofi_dto_defer_event(ep);
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

#endif
