/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts completions to DAT events. (hot) */
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "base/log.h"
#include "data/amo.h"
#include "data/cq.h"
#include "data/cq_data.h"
#include "data/dto_event.h"
#include "data/srq_cq.h"
#include "object/rmr.h"
#include "object/conn_id.h"
#include "object/deferred_work.h"
#include "fabric/fab_ops.h"

#define SERVICE_LIMIT 512
/* The same for the progress thread, which comes back soon. */
#define PROGRESS_LIMIT 64
/* Bounds the drain while peers keep filling the CQ. */
#define DRAIN_ROUNDS 1024

/* Reports the head of the queue, which is done. False: deferred. */
ALWAYS_INLINE bool cq_report_head(struct dofi_ep *ep, struct dofi_queue *q, uint32_t head,
				  struct dofi_dto *dto, struct dofi_evd *evd, bool recv)
{
	/* No success follows a failure. A fabric may complete a send although the peer has stopped
	 * receiving at the previous operation. */
	if (q->failed && !recv)
		dto->status = DAT_DTO_ERR_FLUSHED;
	if (dto->status != DAT_DTO_SUCCESS)
		q->failed = true;
	if (dofi_dto_queue_event(ep, dto, evd, recv) == DOFI_EVENT_DEFERRED)
		return false;
	if (!recv && dto->kind == DOFI_BIND)
		dofi_rmr_bind_over(dto->rmr, dto->window);
	atomic_store_explicit(&dto->state, DOFI_DTO_FREE, memory_order_relaxed);
	atomic_store_explicit(&q->head, head + 1, memory_order_release);
	return true;
}

ALWAYS_INLINE void cq_report(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_evd *evd,
			     bool recv)
{
	uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
	struct dofi_dto *dto;

	DOFI_ASSERT_LOCKED(&evd->lock);
	for (; dofi_dto_is_done(dto = dofi_queue_at(q, head)); head++)
		if (!cq_report_head(ep, q, head, dto, evd, recv))
			return;
	dofi_queue_rewind_if_empty(ep, q, head);
}

void dofi_queue_report(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_evd *evd)
{
	cq_report(ep, q, evd, q == &ep->rq);
}

void dofi_dto_report(struct dofi_ep *ep, struct dofi_queue *q, struct dofi_evd *evd)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	if (!atomic_load_explicit(&ep->open, memory_order_acquire))
		return;
	if (ep->srq && q == &ep->rq)
		dofi_srq_report(ep, evd);
	if (q->dto)
		dofi_queue_report(ep, q, evd);
}

/* An operation has ended whose EP is not open yet. If it has received a message, no later one is
 * reported before: its sender may have known that this one was complete. False: the CQ must not be
 * read any further. */
static __attribute__((noinline)) bool cq_await_establishment(struct dofi_ep *ep,
							     struct dofi_evd *evd, bool message)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	dofi_deferred_add(ep, DOFI_DEFERRED_EQ);
	if (!message)
		return true;
	if (!ep->heard_at)
		ep->heard_at = dofi_now();
	evd->awaited = ep;
	evd->no_read = true;
	return false;
}

/* Processes the end of the operation at the fabric. False: no further completion may be processed.
 * Caller holds evd->lock. */
ALWAYS_INLINE bool cq_finish(struct dofi_dto *dto, struct dofi_evd *evd, uint8_t status, bool recv)
{
	struct dofi_ep *ep = dto->ep;
	struct dofi_queue *q = recv ? &ep->rq : &ep->sq;

	DOFI_ASSERT_LOCKED(&evd->lock);
	dto->status = status;
	if (recv && dto->shared) {
		atomic_store_explicit(&dto->state, DOFI_DTO_DONE, memory_order_relaxed);
		if (!atomic_load_explicit(&ep->open, memory_order_acquire)) {
			dofi_srq_keep(ep, dto);
			return cq_await_establishment(ep, evd, !status);
		}
		dofi_srq_finish(ep, dto, evd);
		return true;
	}
	if (!recv && dofi_kind_fetches(dto->kind))
		atomic_fetch_add_explicit(&ep->reads_done, 1, memory_order_release);
	atomic_store_explicit(&dto->state, DOFI_DTO_DONE, memory_order_release);
	if (!atomic_load_explicit(&ep->open, memory_order_acquire))
		return cq_await_establishment(ep, evd, recv && !status);
	cq_report(ep, q, evd, recv);
	if (atomic_load_explicit(&q->waiting, memory_order_acquire))
		dofi_deferred_add(ep, DOFI_DEFERRED_SUBMIT);
	if (!recv && atomic_load_explicit(&ep->graceful, memory_order_acquire))
		dofi_deferred_add(ep, DOFI_DEFERRED_DRAINED);
	return true;
}

void dofi_dto_finish(struct dofi_dto *dto, uint8_t status)
{
	struct dofi_evd *evd = dto->ep->req_evd;
	uint32_t before;

	dofi_lock(&evd->lock);
	before = evd->notified;
	cq_finish(dto, evd, status, false);
	dofi_evd_notify(evd, before);
	dofi_unlock(&evd->lock);
}

/* A write with immediate data consumed the receive. */
static void cq_has_immed(struct dofi_dto *dto, size_t *len)
{
	dto->kind = DOFI_RECV_IMMED;
	/* 1.2 has no such completions: report a receive of 0 bytes. */
	if (DOFI_API == 12)
		*len = 0;
}

static uint8_t cq_invalidate(struct dofi_dto *dto, uint32_t key)
{
	dto->inv_key = key;
	dto->kind = DOFI_RECV_INVALIDATE;
	return dofi_rmr_invalidate(dto->ep, key) ? DAT_DTO_SUCCESS : DAT_DTO_ERR_LOCAL_PROTECTION;
}

/* The message, or the write, has the value that the peer has announced. Caller holds the lock of
 * the receive EVD. */
static uint8_t cq_take_announced(struct dofi_dto *dto, uint64_t data, size_t *len)
{
	struct dofi_ep *ep = dto->ep;
	uint8_t what = ep->announced.what;
	uint32_t value = ep->announced.value;

	DOFI_ASSERT_LOCKED(&ep->recv_evd->lock);
	ep->announced.what = DOFI_ANNOUNCED_NOTHING;
	ep->announced.value = 0;
	dto->solicited = data & DOFI_DATA_SOLICITED;
	if (what == DOFI_ANNOUNCED_KEY)
		return cq_invalidate(dto, value);
	if (what != DOFI_ANNOUNCED_IMMED)
		return DAT_DTO_ERR_BAD_RESPONSE;
	dto->immed = value;
	cq_has_immed(dto, len);
	return DAT_DTO_SUCCESS;
}

/* Applies the effects of the completion data on this side. `flags`: those of the completion. */
static __attribute__((noinline)) uint8_t cq_read_data(struct dofi_dto *dto,
						      const struct dofi_fab *fab, uint64_t flags,
						      uint64_t data, size_t *len)
{
	uint32_t key;

	if (dofi_cq_data_has_announced(dto, fab, data))
		return cq_take_announced(dto, data, len);
	if (flags & FI_REMOTE_WRITE) {
		dofi_cq_data_read_immed(dto, fab, data);
		cq_has_immed(dto, len);
		return DAT_DTO_SUCCESS;
	}
	key = dofi_cq_data_read_msg(dto, fab, data);
	return key ? cq_invalidate(dto, key) : DAT_DTO_SUCCESS;
}

ALWAYS_INLINE bool cq_complete_recv(struct dofi_evd *evd, struct dofi_dto *dto,
				    const struct fi_cq_data_entry *entry)
{
	bool has_data = entry->flags & FI_REMOTE_CQ_DATA;
	uint64_t data = has_data ? entry->data : 0;
	uint8_t status = DAT_DTO_SUCCESS;
	uint64_t flags = entry->flags;
	size_t len = entry->len;

	if (evd->has_msg_prefix)
		status = evd->obj.ia->fab.desc->ops->read_prefix(evd, dto, &len, &data, &flags);
	if (dto->shared) {
		dto->ep = dofi_srq_owner(dto, evd, data);
		if (!dto->ep)
			return true;
	}
	if (!status && (has_data || data))
		status = cq_read_data(dto, &evd->obj.ia->fab, flags, data, &len);
	if (len > dto->length && dto->kind != DOFI_RECV_IMMED)
		status = DAT_DTO_ERR_LOCAL_LENGTH;
	dto->length = len;
	return cq_finish(dto, evd, status, true);
}

/* False: the following ones must wait. */
ALWAYS_INLINE bool cq_complete(struct dofi_evd *evd, const struct fi_cq_data_entry *entry)
{
	struct dofi_dto *dto = dofi_cq_dto(entry->op_context);

	if (!dto)
		return true;
	if (dto->kind == DOFI_RECV)
		return cq_complete_recv(evd, dto, entry);
	if (dto->kind >= DOFI_FETCH_ADD && dto->ep->amo.on) {
		dofi_amo_flushed(dto);
		return true;
	}
	return cq_finish(dto, evd, DAT_DTO_SUCCESS, false);
}

static __attribute__((noinline)) bool cq_complete_error(struct dofi_evd *evd)
{
	const struct dofi_fab *fab = &evd->obj.ia->fab;
	struct fi_cq_err_entry err;
	struct dofi_dto *dto;
	uint8_t status;
	bool early;

	DOFI_NO_CANCEL();
	memset(&err, 0, sizeof(err));
	if (fi_cq_readerr(evd->cq, &err, 0) < 0)
		return false;
	dto = dofi_cq_dto(err.op_context);
	if (!dto)
		return true;
	status = fab->desc->ops->cq_status(evd, dto, &err);
	early = status == DAT_DTO_ERR_FLUSHED && fab->early_flush;
	if (dto->shared && early) {
		dofi_srq_unfilled(dto);
		return true;
	}
	if (dto->shared) {
		dto->ep = dofi_srq_owner(dto, evd, err.flags & FI_REMOTE_CQ_DATA ? err.data : 0);
		if (!dto->ep)
			return true;
	}
	if (status != DAT_DTO_ERR_FLUSHED)
		dofi_log(DOFI_LOG_INFO, "operation failed: %s (%d)", dofi_error_text(err.err),
			 err.prov_errno);
	else if (early && !atomic_load_explicit(&dto->ep->ending, memory_order_acquire))
		dofi_deferred_add(dto->ep, DOFI_DEFERRED_FLUSHED);
	cq_finish(dto, evd, status, dofi_dto_receives(dto));
	return true;
}

/* Processes evd->entry from i to n - 1; returns the end of those processed. */
ALWAYS_INLINE unsigned int cq_complete_entries(struct dofi_evd *evd, ssize_t i, ssize_t n)
{
	for (; i < n; i++) {
		if (cq_complete(evd, &evd->entry[i]))
			continue;
		evd->rest = (uint8_t)(i + 1);
		evd->rest_end = (uint8_t)n;
		return (unsigned int)i + 1;
	}
	return (unsigned int)n;
}

unsigned int dofi_cq_process(struct dofi_evd *evd, ssize_t n)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	if (n <= 0)
		return n == -FI_EAVAIL && cq_complete_error(evd) ? 1 : 0;
	return cq_complete_entries(evd, 0, n);
}

struct dofi_ep *dofi_cq_awaited(struct dofi_evd *evd, uint64_t *since)
{
	struct dofi_ep *ep;

	dofi_lock(&evd->lock);
	ep = evd->awaited;
	if (ep)
		*since = ep->heard_at;
	dofi_unlock(&evd->lock);
	return ep;
}

void dofi_cq_resume(struct dofi_evd *evd)
{
	uint32_t before;

	dofi_lock(&evd->lock);
	before = evd->notified;
	evd->awaited = NULL;
	evd->no_read = false;
	cq_complete_entries(evd, evd->rest, evd->rest_end);
	dofi_evd_notify(evd, before);
	/* A waiter reads the rest. */
	dofi_evd_wake_locked(evd);
	dofi_unlock(&evd->lock);
}

unsigned int dofi_evd_service(struct dofi_evd *evd, unsigned int *requests)
{
	unsigned int total = 0, n, most = requests ? PROGRESS_LIMIT : SERVICE_LIMIT;
	uint32_t before, tail;

	dofi_lock(&evd->lock);
	before = evd->notified;
	tail = evd->tail;
	do {
		n = dofi_cq_read_batch(evd);
		total += n;
	} while (n && total < most);
	for (; requests && tail != evd->tail; tail++)
		*requests += !evd->ring[tail & (evd->capacity - 1)].recv;
	dofi_evd_notify(evd, before);
	dofi_unlock(&evd->lock);
	return total;
}

void dofi_evd_drain(struct dofi_evd *evd)
{
	for (int i = 0; i < DRAIN_ROUNDS && dofi_evd_service(evd, NULL) >= SERVICE_LIMIT; i++)
		;
}

bool dofi_cq_may_sleep(struct dofi_evd *evd)
{
	struct fid *fid = &evd->cq->fid;

	DOFI_ASSERT_LOCKED(&evd->lock);
	DOFI_NO_CANCEL();
	return !fi_trywait(evd->obj.ia->fab.fabric, &fid, 1);
}
