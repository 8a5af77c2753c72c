/* SPDX-License-Identifier: BSD-2-Clause */
/* Deferred work: what a completion requires but cannot do while it holds an EVD's lock. */
#ifndef DOFI_DEFERRED_WORK_H
#define DOFI_DEFERRED_WORK_H

#include "object/ep.h"

/* Any lock may be held. */
void dofi_deferred_add(struct dofi_ep *ep, uint32_t bits);
/* The EP is being freed: removes it from the list. */
void dofi_deferred_cancel(struct dofi_ep *ep);
/* Executes the collected work. Caller holds no lock. A consumer's thread does not block on cm_lock
 * but leaves the rest to the progress thread. */
void dofi_deferred_run(struct dofi_ia *ia);
/* A receive was posted while the EVD's CQ was stalled by a message without one. */
void dofi_deferred_resume_cq(struct dofi_evd *evd);
/* The first receive was posted: a message may be waiting that the fabric does not report. */
void dofi_deferred_kick_cq(struct dofi_evd *evd);

static inline bool dofi_deferred_pending(struct dofi_ia *ia)
{
	return atomic_load_explicit(&ia->deferred_pending, memory_order_acquire);
}

#endif
