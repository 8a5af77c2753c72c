/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes SRQ buffers that messages have consumed. (hot) */
#include <string.h>

#include "base/log.h"
#include "data/cq_data.h"
#include "data/dto_event.h"
#include "data/fi_post.h"
#include "data/srq_cq.h"
#include "object/async_evd.h"
#include "object/conn_id.h"
#include "fabric/fab_ops.h"

static void srq_give_back(struct dofi_srq *srq, struct dofi_dto *dto)
{
	struct dofi_dto *top = atomic_load_explicit(&srq->returned, memory_order_relaxed);

	atomic_store_explicit(&dto->state, DOFI_DTO_FREE, memory_order_relaxed);
	do
		dto->next = top;
	while (!atomic_compare_exchange_weak_explicit(&srq->returned, &top, dto,
						      memory_order_release, memory_order_relaxed));
}

static ssize_t srq_post(struct dofi_srq *srq, struct dofi_dto *dto)
{
	struct fi_msg msg;

	if (srq->prefixes.base)
		return srq->obj.ia->fab.desc->ops->recv_prefixed(srq->post_to, &srq->prefixes,
								 dto->prefix_slot, dto);
	msg = dofi_fab_msg(dto);
	/* The fabric may change a long list (msgep/msgep.h), and a buffer that a message has filled
	 * in part is posted again if the message's connection is unknown. */
	if (dto->iov_count > DOFI_IOV_INLINE)
		msg.msg_iov = memcpy(dto->long_iov + srq->max_iov, dto->long_iov,
				     dto->iov_count * sizeof(*dto->long_iov));
	return fi_recvmsg(srq->post_to, &msg, FI_COMPLETION);
}

int dofi_srq_submit(struct dofi_srq *srq, struct dofi_dto *dto)
{
	/* Before the call: another thread may read its completion during the call. */
	atomic_store_explicit(&dto->state, DOFI_DTO_POSTED, memory_order_release);
	return (int)srq_post(srq, dto);
}

/* The consumer has not seen the buffer: it returns to the end of the queue. */
void dofi_srq_unfilled(struct dofi_dto *dto)
{
	if (dofi_srq_submit(dto->srq, dto))
		dofi_log(DOFI_LOG_ERROR, "a receive buffer could not be reposted to its SRQ");
}

static bool srq_may_own(const struct dofi_ep *ep, const struct dofi_dto *dto,
			const struct dofi_evd *evd)
{
	return ep && ep->srq == dto->srq && ep->recv_evd == evd;
}

/* The message announces a part of the value of a later one (object/conn_id.h). False: the
 * connection is unknown. */
static bool srq_take_announcement(const struct dofi_dto *dto, struct dofi_evd *evd, uint32_t data)
{
	uint32_t index = data & ((1u << DOFI_CONN_ID_INDEX_BITS) - 1);
	uint32_t part = data >> DOFI_ANNOUNCEMENT_SHIFT & ((1u << DOFI_ANNOUNCEMENT_BITS) - 1);
	struct dofi_ep *ep = dofi_conn_id_at(&evd->obj.ia->conn_ids, index);

	if (!srq_may_own(ep, dto, evd))
		return false;
	ep->announced.what = data & DOFI_ANNOUNCEMENT_IMMED ? DOFI_ANNOUNCED_IMMED
							    : DOFI_ANNOUNCED_KEY;
	ep->announced.value = ep->announced.value << DOFI_ANNOUNCEMENT_BITS | part;
	return true;
}

/* The message is for no EP: its buffer stays in the SRQ. */
static __attribute__((noinline)) void srq_take_other(struct dofi_dto *dto, struct dofi_evd *evd,
						     uint64_t data)
{
	if (!dofi_cq_data_is_narrow(&evd->obj.ia->fab) || !(data & DOFI_ANNOUNCEMENT) ||
	    !srq_take_announcement(dto, evd, (uint32_t)data))
		dofi_log(DOFI_LOG_WARN,
			 "dropped a message to an SRQ: its connection id is unknown");
	dofi_srq_unfilled(dto);
}

struct dofi_ep *dofi_srq_owner(struct dofi_dto *dto, struct dofi_evd *evd, uint64_t data)
{
	struct dofi_ep *ep = dofi_conn_id_find(&evd->obj.ia->conn_ids, data);

	DOFI_ASSERT_LOCKED(&evd->lock);
	if (srq_may_own(ep, dto, evd))
		return ep;
	srq_take_other(dto, evd, data);
	return NULL;
}

/* Checks the EP's watermarks and the low watermark after the EP has received one more buffer. */
static void srq_check_marks(struct dofi_srq *srq, struct dofi_ep *ep)
{
	int32_t low = atomic_load_explicit(&srq->low_mark, memory_order_relaxed);
	uint32_t taken = atomic_fetch_add(&srq->taken, 1) + 1;

	dofi_srq_check_soft_mark(ep);
	/* `posted` may grow concurrently; then enough buffers are left. */
	if (low > 0 &&
	    atomic_load_explicit(&srq->posted, memory_order_relaxed) - taken < (uint32_t)low &&
	    atomic_exchange(&srq->low_armed, false)) {
		atomic_store(&srq->low_passed, true);
		dofi_deferred_add(ep, DOFI_DEFERRED_MARKS);
	}
}

/* False: deferred. */
static bool srq_report(struct dofi_ep *ep, struct dofi_dto *dto, struct dofi_evd *evd)
{
	struct dofi_srq *srq = dto->srq;
	enum dofi_event_state event_state;

	if (!dto->status)
		dofi_srq_check_hard_mark(ep);

	event_state = dofi_dto_queue_event(ep, dto, evd, true);
	if (event_state == DOFI_EVENT_DEFERRED)
		return false;
	srq_give_back(srq, dto);
	/* Only now: the entry that this frees needs a descriptor. */
	if (event_state == DOFI_EVENT_NONE)
		dofi_srq_dequeued(srq, ep);
	return true;
}

void dofi_srq_report(struct dofi_ep *ep, struct dofi_evd *evd)
{
	struct dofi_dto *dto, *next;

	DOFI_ASSERT_LOCKED(&evd->lock);
	/* Reporting may return the descriptor, and `next` with it. */
	while ((dto = ep->shared.first)) {
		next = dto->next;
		if (!srq_report(ep, dto, evd))
			return;
		ep->shared.first = next;
		if (!next)
			ep->shared.last = &ep->shared.first;
	}
}

uint32_t dofi_srq_unreported(const struct dofi_ep *ep)
{
	uint32_t n = 0;

	for (const struct dofi_dto *dto = ep->shared.first; dto; dto = dto->next)
		n++;
	return n;
}

static inline void srq_append(struct dofi_ep *ep, struct dofi_dto *dto)
{
	srq_check_marks(dto->srq, ep);
	dto->next = NULL;
	*ep->shared.last = dto;
	ep->shared.last = &dto->next;
}

void dofi_srq_keep(struct dofi_ep *ep, struct dofi_dto *dto)
{
	DOFI_ASSERT_LOCKED(&ep->recv_evd->lock);
	srq_append(ep, dto);
}

void dofi_srq_finish(struct dofi_ep *ep, struct dofi_dto *dto, struct dofi_evd *evd)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	/* The EP may just have opened: earlier completions are reported first. */
	srq_append(ep, dto);
	dofi_srq_report(ep, evd);
}

void dofi_srq_forget(struct dofi_ep *ep)
{
	struct dofi_dto *dto = ep->shared.first, *next;

	DOFI_ASSERT_LOCKED(&ep->recv_evd->lock);
	for (; dto; dto = next) {
		next = dto->next;
		srq_give_back(ep->srq, dto);
		dofi_srq_dequeued(ep->srq, ep);
	}
	ep->shared.first = NULL;
	ep->shared.last = &ep->shared.first;
}

void dofi_srq_disown(struct dofi_ep *ep, struct dofi_evd *evd)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	for (uint32_t i = evd->head; i != evd->tail; i++) {
		struct dofi_event *e = &evd->ring[i & (evd->capacity - 1)];

		if (!e->recv || e->data.dto_completion_event_data.ep_handle != ep)
			continue;
		if (e->srq)
			dofi_srq_dequeued(e->srq, ep);
		e->srq = NULL;
		e->recv = false;
	}
}

void dofi_srq_raise(struct dofi_ia *ia, struct dofi_ep *ep)
{
	struct dofi_srq *srq;
	bool freed;

	/* The EP may be freed by another thread meanwhile. */
	dofi_lock(&ep->lock);
	srq = ep->srq;
	freed = !ep->recv_evd;
	dofi_unlock(&ep->lock);
	if (freed)
		return;
	if (atomic_exchange(&ep->shared.soft_passed, false))
		dofi_async_event(ia, DAT_ASYNC_ERROR_EP_BROKEN, ep,
				 DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	if (srq && atomic_exchange(&srq->low_passed, false))
		dofi_async_event(ia, DAT_ASYNC_ERROR_EP_BROKEN, srq, DAT_SRQ_LOW_WATERMARK_EVENT);
}
