/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress thread's handling of completion queues: armed, left to consumers, stalled (enum
 * dofi_evd_progress). Called by that thread only. Caller holds prog_lock.
 */
#ifndef DOFI_PROGRESS_CQ_H
#define DOFI_PROGRESS_CQ_H

#include "object/evd.h"

/* Interval at which the thread repeats what it could not do. */
#define DOFI_TICK_MS 1

/* First step of a round: decides who has the lease. `kinds`: set of the events' enum dofi_key. */
void dofi_progress_look(struct dofi_ia *ia, unsigned int kinds);
/* The descriptor of an armed CQ became readable. */
void dofi_progress_cq_ready(struct dofi_ia *ia, struct dofi_evd *evd);
/* Takes over the CQs that are not left to consumers. Returns for how many ms the thread may block,
 * as required by stalled CQs; -1: indefinitely. */
int dofi_progress_check_cqs(struct dofi_ia *ia, unsigned int kinds);
/* Last step of a round: the period of a lease that has been granted in it begins. No lock. */
void dofi_progress_begin_lease(struct dofi_ia *ia);
/* The ms until the deadline, rounded up, or `ms` (-1: indefinitely) if less. Needs no lock. */
int dofi_progress_timeout(uint64_t deadline, int ms);

#endif
