/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands over queued operations when a connection begins, and flushes them when it ends. */
#include "data/cq.h"
#include "data/srq_cq.h"
#include "object/rmr.h"

static void dto_with_queue(struct dofi_ep *ep, struct dofi_queue *q,
			   void (*fn)(struct dofi_ep *, struct dofi_queue *, struct dofi_evd *))
{
	struct dofi_evd *evd = q == &ep->rq ? ep->recv_evd : ep->req_evd;
	uint32_t before;

	dofi_lock(&evd->lock);
	before = evd->notified;
	fn(ep, q, evd);
	dofi_evd_notify(evd, before);
	dofi_unlock(&evd->lock);
}

void dofi_dto_report_done(struct dofi_ep *ep, struct dofi_queue *q)
{
	dto_with_queue(ep, q, dofi_dto_report);
}

void dofi_dto_report_rest(struct dofi_ep *ep)
{
	dofi_dto_report_done(ep, &ep->rq);
	dofi_dto_report_done(ep, &ep->sq);
}

void dofi_dto_open(struct dofi_ep *ep)
{
	atomic_store_explicit(&ep->open, true, memory_order_release);
	dofi_dto_report_rest(ep);
}

static void dto_flush_queue(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_evd *evd)
{
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);

	for (uint32_t i = atomic_load(&q->head); q->dto && i != tail; i++) {
		struct dofi_dto *dto = dofi_queue_at(q, i);

		if (atomic_load(&dto->state) == DOFI_DTO_DONE)
			continue;
		if (ep->ud && q == &ep->rq) {
			dto->kind = DOFI_RECV_UD;
			dto->immed = AF_UNSPEC; /* no source */
		}
		dto->status = DAT_DTO_ERR_FLUSHED;
		atomic_store_explicit(&dto->state, DOFI_DTO_DONE, memory_order_release);
	}
	dofi_dto_report(ep, q, evd);
}

void dofi_dto_flush(struct dofi_ep *ep)
{
	atomic_store_explicit(&ep->open, true, memory_order_release);
	dto_with_queue(ep, &ep->rq, dto_flush_queue);
	dto_with_queue(ep, &ep->sq, dto_flush_queue);
}

void dofi_dto_requeue(struct dofi_ep *ep)
{
	struct dofi_queue *q = &ep->rq;

	dofi_lock(&ep->lock);
	dofi_lock(&ep->recv_evd->lock);
	for (uint32_t i = atomic_load(&q->head); q->dto && i != q->sent; i++) {
		struct dofi_dto *dto = dofi_queue_at(q, i);

		/* The others failed before they were handed over. */
		if (atomic_load(&dto->state) == DOFI_DTO_POSTED ||
		    dto->status == DAT_DTO_ERR_FLUSHED)
			atomic_store_explicit(&dto->state, DOFI_DTO_QUEUED, memory_order_release);
	}
	q->sent = atomic_load(&q->head);
	atomic_store_explicit(&q->waiting, q->sent != atomic_load(&q->tail), memory_order_release);
	dofi_unlock(&ep->recv_evd->lock);
	dofi_unlock(&ep->lock);
}

static void dto_forget_queue(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_evd *evd)
{
	uint64_t n = dofi_queue_count(q);

	(void)evd;
	if (q == &ep->rq) {
		DOFI_COUNT(ep->counts->receives_failed, n);
	} else {
		DOFI_COUNT(ep->counts->requests_done, n);
		DOFI_COUNT(ep->counts->requests_failed, n);
	}
	for (uint32_t i = atomic_load(&q->head); q->dto && i != q->tail; i++) {
		const struct dofi_dto *dto = dofi_queue_at(q, i);

		if (dto->kind == DOFI_BIND)
			dofi_rmr_bind_over(dto->rmr, dto->window);
	}
	for (uint32_t i = 0; q->dto && i <= q->mask; i++)
		atomic_store(&q->dto[i].state, DOFI_DTO_FREE);
	if (ep->srq && q == &ep->rq)
		dofi_srq_forget(ep);
	q->sent = q->tail;
	atomic_store(&q->head, q->tail);
	q->waiting = false;
}

/* Other threads may post meanwhile. */
void dofi_dto_forget(struct dofi_ep *ep)
{
	dofi_lock(&ep->lock);
	dto_with_queue(ep, &ep->rq, dto_forget_queue);
	dto_with_queue(ep, &ep->sq, dto_forget_queue);
	dofi_unlock(&ep->lock);
}
