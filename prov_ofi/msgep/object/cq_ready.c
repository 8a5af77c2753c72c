/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads ready rings, and visits the connections that they name. (hot)
 *
 * A connection that was announced is visited until a visit finds nothing, because one visit does
 * not process all that is there: a batch of frames, and none if another thread holds its lock or
 * if a message waits for a receive.
 */

#include "base/grow.h"
#include "msgep/ready.h"

/* Entries per poll: completions are reported before more is processed. */
#define READY_BATCH 16
#define FIRST_CAPACITY 16u

static inline void ready_activate(struct msgep_ready *r, uint32_t number)
{
	struct msgep_ready_ep *e = &r->eps[number];
	uint32_t n = atomic_load_explicit(&r->n_active, memory_order_relaxed);

	e->due = true;
	if (e->active)
		return;
	e->active = true;
	r->active[n] = number;
	atomic_store_explicit(&r->n_active, n + 1, memory_order_relaxed);
}

static inline void ready_deactivate(struct msgep_ready *r, uint32_t i)
{
	uint32_t n = atomic_load_explicit(&r->n_active, memory_order_relaxed) - 1;

	r->eps[r->active[i]].active = false;
	r->active[i] = r->active[n];
	atomic_store_explicit(&r->n_active, n, memory_order_relaxed);
}

/* Entries have been overwritten: any connection may have been announced. */
static void ready_activate_all(struct msgep_ready *r)
{
	for (uint32_t i = 0; i < r->n_eps; i++)
		if (r->eps[i].ep)
			ready_activate(r, i);
}

/* The peer may write anything: a number that is not in use is skipped. */
static void ready_read_entries(struct msgep_ready *r)
{
	for (int i = 0; i < READY_BATCH; i++) {
		int32_t ahead;
		uint64_t entry = msgep_ready_next(r, &ahead);
		uint32_t number = (uint32_t)entry;

		if (ahead <= 0)
			return;
		atomic_store_explicit(&r->head, (uint32_t)(entry >> 32), memory_order_relaxed);
		if (ahead > 1) {
			ready_activate_all(r);
			return;
		}
		if (number < r->n_eps && r->eps[number].ep)
			ready_activate(r, number);
	}
}

/* True: there may be more. *all: false if it was skipped. */
static inline bool ready_visit(struct msgep_ready_ep *e, struct msgep_cq_direct *direct, bool *all)
{
	struct msgep_ep *ep = e->ep;

	if (atomic_load_explicit(&ep->state, memory_order_acquire) != MSGEP_UP)
		return false;
	if (!e->due && !msgep_ep_has_news(ep))
		/* Frames that wait for a receive are not announced again. `stalled` may change at
		 * any time, and does not tell. */
		return !ep->transport->drained(ep, false);
	if (!dofi_trylock(&ep->lock)) {
		*all = false;
		return true;
	}
	e->due = false;
	ep->cq_direct = direct;
	msgep_proto_progress(ep);
	ep->cq_direct = NULL;
	dofi_unlock(&ep->lock);
	return true;
}

bool msgep_ready_poll(struct msgep_ready *r, struct msgep_cq_direct *direct)
{
	bool all = true;
	uint32_t i = 0;

	if (!dofi_trylock(&r->read_lock))
		return false;
	ready_read_entries(r);
	while (i < atomic_load_explicit(&r->n_active, memory_order_relaxed)) {
		if (ready_visit(&r->eps[r->active[i]], direct, &all))
			i++;
		else
			ready_deactivate(r, i);
	}
	dofi_unlock(&r->read_lock);
	return all;
}

bool msgep_ready_is_quiet(struct msgep_ready *r)
{
	bool quiet;
	int32_t ahead;

	if (!dofi_trylock(&r->read_lock))
		return false;
	msgep_ready_next(r, &ahead);
	quiet = ahead <= 0;
	for (uint32_t i = 0; i < atomic_load_explicit(&r->n_active, memory_order_relaxed) && quiet;
	     i++) {
		const struct msgep_ready_ep *e = &r->eps[r->active[i]];
		struct msgep_ep *ep = e->ep;

		dofi_lock(&ep->lock);
		if (atomic_load(&ep->state) == MSGEP_UP)
			quiet = !e->due && ep->transport->quiet(ep, atomic_load(&ep->pending));
		dofi_unlock(&ep->lock);
	}
	dofi_unlock(&r->read_lock);
	return quiet;
}

/* ---------------------------------------------------------------- connections */

static bool ready_grow(struct msgep_ready *r)
{
	uint32_t n = r->capacity + 1, active = r->capacity;

	return DOFI_TABLE_RESERVE(r->active, active, n, FIRST_CAPACITY, MSGEP_READY_EPS) &&
	       DOFI_TABLE_RESERVE(r->eps, r->capacity, n, FIRST_CAPACITY, MSGEP_READY_EPS);
}

/* Chooses a number for the connection. False: no memory. */
static bool ready_number(struct msgep_ready *r, struct msgep_ep *ep)
{
	uint32_t i = r->n_eps;

	if (r->free_numbers) {
		for (i = 0; r->eps[i].ep; i++)
			;
		r->free_numbers--;
	} else if (i == r->capacity && !ready_grow(r)) {
		return false;
	} else {
		r->n_eps++;
	}
	r->eps[i] = (struct msgep_ready_ep){ .ep = ep };
	ep->ready_number = i;
	return true;
}

void msgep_ready_add(struct msgep_ep *ep)
{
	struct msgep_ready *r = ep->ready;
	bool added;

	DOFI_ASSERT_LOCKED(&ep->eq->lock);
	if (!msgep_cq_attach_ready(r->rx_cq, r) || !msgep_cq_attach_ready(r->tx_cq, r))
		return;
	dofi_lock(&r->read_lock);
	added = ready_number(r, ep);
	dofi_unlock(&r->read_lock);
	if (!added)
		return;
	ep->has_ready_number = true;
	/* What the peer has committed without having seen the number is visible after that. */
	ep->transport->announce(ep, ep->ready_number);
	ep->transport->drain_stores(ep->domain);
	dofi_lock(&r->read_lock);
	ready_activate(r, ep->ready_number);
	dofi_unlock(&r->read_lock);
	msgep_cq_stop_polling(r->rx_cq, ep);
	if (r->tx_cq != r->rx_cq)
		msgep_cq_stop_polling(r->tx_cq, ep);
}

void msgep_ready_remove(struct msgep_ep *ep)
{
	struct msgep_ready *r = ep->ready;

	if (!r || !ep->has_ready_number)
		return;
	dofi_lock(&r->read_lock);
	for (uint32_t i = 0; r->eps[ep->ready_number].active; i++)
		if (r->active[i] == ep->ready_number)
			ready_deactivate(r, i);
	r->eps[ep->ready_number].ep = NULL;
	r->free_numbers++;
	dofi_unlock(&r->read_lock);
	ep->has_ready_number = false;
}
