/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands queued operations to the fabric. (hot)
 *
 * An operation waits in the ring while there is no connection (receives), after a barrier fence
 * while RDMA reads are outstanding, while the fabric has its maximum of operations, or after
 * libfabric has returned EAGAIN.
 */
#include "data/cq.h"
#include "data/dto_submit.h"
#include "data/ud_message.h"
#include "object/progress_wakeup.h"
#include "object/rmr.h"
#include "object/deferred_work.h"

/* Puts the bind into effect: the new key is valid, and the former is not, before any later request
 * is handed over. */
static void dto_bind_now(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_dto *dto)
{
	dofi_rmr_take_effect(dto->rmr, dto->window, ep);
	dto->window = NULL;
	dto->status = DAT_DTO_SUCCESS;
	q->sent++;
	atomic_store_explicit(&dto->state, DOFI_DTO_DONE, memory_order_release);
	dofi_dto_report_done(ep, q);
}

void dofi_dto_refused(struct dofi_ep *ep, struct dofi_queue *q, ssize_t ret)
{
	struct dofi_dto *dto = dofi_queue_at(q, q->sent);

	dofi_evd_leave(dofi_dto_evd(ep, dto->kind), ep->cq_external_lock);
	atomic_store_explicit(&q->waiting, true, memory_order_release);
	atomic_store_explicit(&dto->state, DOFI_DTO_QUEUED, memory_order_release);
	if (dofi_kind_fetches(dto->kind))
		ep->reads_started--;
	if (ret != -FI_EAGAIN)
		return;
	dofi_deferred_add(ep, DOFI_DEFERRED_SUBMIT);
	dofi_progress_request_deferred(ep->obj.ia);
}

/* Hands the next waiting operation to the fabric. False: it must keep waiting. */
static inline bool dto_submit_next(struct dofi_ep *ep, struct dofi_queue *q)
{
	struct dofi_dto *dto = dofi_queue_at(q, q->sent);

	if (atomic_load_explicit(&dto->state, memory_order_acquire) != DOFI_DTO_QUEUED) {
		q->sent++; /* completed while it waited */
		return true;
	}
	if ((dto->kind != DOFI_RECV && dofi_dto_must_wait(ep, dto->kind, dto->flags)) ||
	    dofi_queue_holds(q, q->sent) >= q->depth)
		return false;
	if (dto->kind == DOFI_BIND) {
		dto_bind_now(ep, q, dto);
		return true;
	}
	return dofi_dto_submit_any(ep, q, dto, dto->kind);
}

/* False: some must keep waiting for completions. */
static bool dto_submit_waiting(struct dofi_ep *ep, struct dofi_queue *q)
{
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	bool connected = dofi_dto_may_submit(ep, q);

	while (connected && q->sent != tail && dto_submit_next(ep, q))
		;
	atomic_store_explicit(&q->waiting, q->sent != tail, memory_order_release);
	return q->sent == tail || !connected;
}

void dofi_dto_submit_queue(struct dofi_ep *ep, struct dofi_queue *q)
{
	bool known = atomic_load_explicit(&q->waiting, memory_order_relaxed);
	struct dofi_evd *evd = q == &ep->rq ? ep->recv_evd : ep->req_evd;

	DOFI_ASSERT_LOCKED(&ep->lock);
	if (ep->ud) {
		dofi_ud_submit(ep, q);
		return;
	}
	if (dto_submit_waiting(ep, q))
		return;
	if (!known) {
		/* The last completion may have been processed before `waiting` was set. Threads
		 * that take this lock later see it. */
		dofi_lock(&evd->lock);
		dofi_unlock(&evd->lock);
		if (dto_submit_waiting(ep, q))
			return;
	}
	dofi_progress_request_deferred(ep->obj.ia);
}

void dofi_dto_submit(struct dofi_ep *ep)
{
	dofi_dto_submit_queue(ep, &ep->rq);
	dofi_dto_submit_queue(ep, &ep->sq);
}
