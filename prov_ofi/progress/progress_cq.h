/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress thread's handling of completion queues: armed, left to their consumers, stalled (enum
 * dofi_evd_progress). Called by that thread only. Caller holds prog_lock.
 */
#ifndef DOFI_PROGRESS_CQ_H
#define DOFI_PROGRESS_CQ_H

#include "object/evd.h"

/* Initial interval between checks of CQs on which the thread does not block. */
#define DOFI_TICK_MS 1

/* Checks each CQ that is due; all, if the wakeup descriptor was signalled. Returns for how many ms
 * the thread may block, as required by the CQs that are not armed; -1: indefinitely. */
int dofi_progress_check_cqs(struct dofi_ia *ia, bool wakeup);
/* The descriptor of an armed CQ became readable. */
void dofi_progress_cq_ready(struct dofi_ia *ia, struct dofi_evd *evd);
/* The ms until the deadline, rounded up, or `ms` (-1: indefinitely) if less. Needs no lock. */
int dofi_progress_timeout(uint64_t deadline, int ms);

#endif
