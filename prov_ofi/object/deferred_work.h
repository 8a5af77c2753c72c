/* SPDX-License-Identifier: BSD-2-Clause */
/* Deferred work: what a completion requires but cannot do while it holds an EVD's lock.
 *
 * Completions add it to a list of the IA. Calls that have released their locks, and the progress
 * thread, execute it (progress/deferred_run.c).
 */
#ifndef DOFI_DEFERRED_WORK_H
#define DOFI_DEFERRED_WORK_H

#include "object/ep.h"

/* Any lock may be held. */
void dofi_deferred_add(struct dofi_ep *ep, uint32_t bits);
/* The EP is being freed: removes it from the list. */
void dofi_deferred_cancel(struct dofi_ep *ep);

static inline bool dofi_deferred_pending(struct dofi_ia *ia)
{
	return atomic_load_explicit(&ia->deferred_pending, memory_order_acquire);
}

static inline bool dofi_deferred_has_eps(struct dofi_ia *ia)
{
	return atomic_load_explicit(&ia->deferred_pending, memory_order_acquire) & DOFI_PENDING_EPS;
}

/* True: the caller is to run the collectives, although it need not poll for a group. */
static inline bool dofi_deferred_take_coll(struct dofi_ia *ia)
{
	return (atomic_load_explicit(&ia->deferred_pending, memory_order_relaxed) &
		DOFI_PENDING_COLL) &&
	       (atomic_fetch_and(&ia->deferred_pending, ~DOFI_PENDING_COLL) & DOFI_PENDING_COLL);
}

/* Executes the collected work. Caller holds no lock. A consumer's thread does not block on cm_lock
 * but leaves the rest to the progress thread. */
static inline void dofi_deferred_run(struct dofi_ia *ia)
{
	ia->run_deferred(ia);
}

/* For the execution: takes the next EP with its work from the list. `life` is that of the EP at
 * this time. NULL: none left. */
struct dofi_ep *dofi_deferred_take(struct dofi_ia *ia, uint32_t *bits, uint32_t *life);
/* True if all that is left is requests which the fabric has refused. */
bool dofi_deferred_is_refused(struct dofi_ia *ia);
/* Puts back work that could not be done, unless the EP has been freed or reset since. */
void dofi_deferred_put_back(struct dofi_ia *ia, struct dofi_ep *ep, uint32_t bits, uint32_t life);

#endif
