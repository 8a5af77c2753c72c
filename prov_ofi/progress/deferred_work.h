/* SPDX-License-Identifier: BSD-2-Clause */
/* What a completion makes necessary but must not do itself, because it holds an EVD's lock. */
#ifndef DOFI_DEFERRED_WORK_H
#define DOFI_DEFERRED_WORK_H

#include "object/ep.h"

/* Any lock may be held. */
void dofi_deferred_add(struct dofi_ep *ep, uint32_t bits);
/* The EP goes away: it is on no list afterwards. */
void dofi_deferred_cancel(struct dofi_ep *ep);
/* Does what has been collected; no lock held. A consumer's thread does not wait for cm_lock but
 * leaves the rest to the progress thread. */
void dofi_deferred_run(struct dofi_ia *ia);
/* A receive was posted while the EVD's CQ was left alone because of a message without one. */
void dofi_deferred_resume_cq(struct dofi_evd *evd);
/* One was posted where there was none: a message may wait that the fabric tells nobody about. */
void dofi_deferred_kick_cq(struct dofi_evd *evd);

static inline bool dofi_deferred_pending(struct dofi_ia *ia)
{
	return atomic_load_explicit(&ia->deferred_pending, memory_order_acquire);
}

#endif
