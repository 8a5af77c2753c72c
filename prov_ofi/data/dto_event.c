/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of operations: what rarely happens. */
#include <string.h>

#include "data/dto_event.h"

struct dofi_srq dofi_no_srq;

void dofi_dto_fill_bind_event(struct dofi_event *e, const struct dofi_dto *dto)
{
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *d = &e->data.rmr_completion_event_data;

	e->number = DAT_RMR_BIND_COMPLETION_EVENT;
	e->recv = false;
	e->srq = NULL;
	d->rmr_handle = dto->rmr;
	memcpy(&d->user_cookie, &dto->cookie, sizeof(d->user_cookie));
	d->status = (DAT_RMR_BIND_COMPLETION_STATUS)dto->status;
}

enum dofi_event_state dofi_dto_defer_event(struct dofi_ep *ep)
{
	if (!(atomic_load(&ep->deferred) & DOFI_DEFERRED_REPORT))
		dofi_log(DOFI_LOG_WARN, "no memory: completions wait until some are dequeued");
	dofi_deferred_add(ep, DOFI_DEFERRED_REPORT);
	return DOFI_EVENT_DEFERRED;
}

void dofi_event_count_receive(struct dofi_ep *ep, struct dofi_event *e)
{
	e->srq = &dofi_no_srq;
	dofi_srq_check_soft_mark(ep);
	dofi_srq_check_hard_mark(ep);
}

/* Only tries ep->lock: a posting thread or a caller of this function may hold it. */
void dofi_queue_rewind(struct dofi_ep *ep, struct dofi_queue *q)
{
	uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);

	if (!dofi_trylock(&ep->lock))
		return;
	/* In other states the queue may be read without either lock. */
	if (ep->state == DAT_EP_STATE_CONNECTED && q->sent == head &&
	    atomic_load_explicit(&q->tail, memory_order_relaxed) == head) {
		atomic_fetch_add_explicit(&q->rewind_base, head, memory_order_relaxed);
		q->sent = 0;
		atomic_store_explicit(&q->tail, 0, memory_order_relaxed);
		atomic_store_explicit(&q->head, 0, memory_order_release);
	}
	dofi_unlock(&ep->lock);
}
