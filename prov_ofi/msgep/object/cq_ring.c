/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of a completion queue: completions are added to it and wake its readers. (hot) */
#include "base/grow.h"
#include "msgep/msgep.h"
#include "msgep/wait.h"

void msgep_cq_wake(struct msgep_cq *cq)
{
	if (!atomic_load_explicit(&cq->armed, memory_order_seq_cst) ||
	    !atomic_exchange(&cq->armed, false))
		return;
	msgep_wait_signal(cq->signal);
}

void msgep_cq_wake_watching(struct msgep_domain *domain)
{
	struct msgep_cq *cq;

	dofi_lock(&domain->wait_lock);
	cq = atomic_load(&domain->wait_cq);
	if (cq)
		msgep_cq_wake(cq);
	dofi_unlock(&domain->wait_lock);
}

static bool cq_grow(struct msgep_cq *cq, uint32_t head, uint32_t tail)
{
	return DOFI_RING_GROW(cq->ring, cq->capacity, head, tail, 1, UINT32_MAX);
}

/* Caller holds cq->lock, and the ring has room. */
static void cq_put(struct msgep_cq *cq, void *context, uint64_t flags, uint64_t len, uint64_t data,
		   int err)
{
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	struct msgep_completion *c = &cq->ring[tail & (cq->capacity - 1)];

	DOFI_ASSERT_LOCKED(&cq->lock);
	DOFI_ASSERT(tail - cq->head < cq->capacity, "CQ %p: head %u, tail %u, capacity %u",
		    (void *)cq, cq->head, tail, cq->capacity);
	c->entry.op_context = context;
	c->entry.flags = flags;
	c->entry.len = len;
	c->entry.data = data;
	c->err = err;
	atomic_store_explicit(&cq->tail, tail + 1, memory_order_release);
}

/* No memory for a larger ring. An operation without a context needs no completion. */
static void cq_hold(struct msgep_cq *cq, void *context, uint64_t flags, uint64_t len, uint64_t data,
		    int err)
{
	struct msgep_held *held = context;

	if (!held)
		return;
	*held = (struct msgep_held){ .flags = flags, .len = len, .data = data, .err = err };
	*cq->held_end = held;
	cq->held_end = &held->next;
}

void msgep_cq_refill(struct msgep_cq *cq)
{
	struct msgep_held *held;

	DOFI_ASSERT_LOCKED(&cq->lock);
	while ((held = cq->held) && cq->tail - cq->head < cq->capacity) {
		cq->held = held->next;
		if (!cq->held)
			cq->held_end = &cq->held;
		cq_put(cq, held, held->flags, held->len, held->data, held->err);
	}
}

void msgep_cq_push(struct msgep_cq *cq, void *context, uint64_t flags, uint64_t len, uint64_t data,
		   int err)
{
	uint32_t head, tail;

	dofi_lock(&cq->lock);
	head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	if (cq->held || (tail - head == cq->capacity && !cq_grow(cq, head, tail)))
		cq_hold(cq, context, flags, len, data, err);
	else
		cq_put(cq, context, flags, len, data, err);
	dofi_unlock(&cq->lock);
	msgep_cq_wake(cq);
}
