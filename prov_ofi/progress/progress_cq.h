/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues as the progress thread sees them: asleep on, left to their consumers, stalled
 * (enum dofi_evd_progress). For that thread only, with prog_lock held.
 */
#ifndef DOFI_PROGRESS_CQ_H
#define DOFI_PROGRESS_CQ_H

#include "object/evd.h"

/* How soon the thread looks again at what it does not sleep on, at first. */
#define DOFI_TICK_MS 1

/* Looks at every CQ whose turn it is; at all, if the wakeup descriptor was signalled. For how many ms may the thread
 * sleep, for the sake of those it does not sleep on? -1: until something happens. */
int dofi_progress_check_cqs(struct dofi_ia *ia, bool wakeup);
/* The descriptor of a CQ that is slept on became readable. */
void dofi_progress_cq_ready(struct dofi_ia *ia, struct dofi_evd *evd);
/* The CQ is not looked at any more. */
void dofi_progress_forget_cq(struct dofi_ia *ia, struct dofi_evd *evd);
/* The ms until the deadline, rounded up, unless `ms` (-1: for ever) are less. Needs no lock. */
int dofi_progress_timeout(uint64_t deadline, int ms);

#endif
