/* SPDX-License-Identifier: BSD-2-Clause */
/* Wakes the progress thread (progress/progress.h). Any lock may be held. */
#ifndef DOFI_PROGRESS_WAKEUP_H
#define DOFI_PROGRESS_WAKEUP_H

#include "base/clock.h"
#include "object/ia.h"

/* Makes the thread check everything again. */
void dofi_progress_wakeup(struct dofi_ia *ia);
/* True if the program has closed the descriptors on which the thread sleeps and by which it is
 * woken: nothing of the adapter makes progress any more. System calls until that is known. */
bool dofi_progress_lost(struct dofi_ia *ia);
/* True if the caller is the IA's progress thread (a consumer's agent runs in it). */
bool dofi_progress_is_me(struct dofi_ia *ia);
/* Longest period of the consumers' lease (progress/progress_cq.c), in ns. The thread serves all CQs
 * a period after the last look of a consumer's call at the clock, and a millisecond after its last
 * call at the latest. A device makes progress itself: only what depends on completions that no
 * consumer reads waits for the thread, which would compete with consumers that poll on every
 * processor. */
static inline uint64_t dofi_progress_period(const struct dofi_ia *ia)
{
	return ia->prog.automatic ? DOFI_MS(8) : DOFI_US(900);
}

/* Consumers' calls restart the timer after that part of a period: each restart delays a message,
 * each end of a period wakes the thread. */
#define DOFI_EXTEND_AFTER(period) ((period)*3 / 4)

/* Starts the timer; 0 ns: stops it. */
void dofi_progress_set_timer(struct dofi_ia *ia, uint64_t ns);
/* A consumer reads CQs, or waits for it. */
void dofi_progress_renew_lease(struct dofi_ia *ia, uint64_t now);
/* A consumer that waited for an EVD returns, or sleeps no longer on it: the thread looks at the CQs
 * again if it has left some to waiters. */
void dofi_progress_waiter_left(struct dofi_ia *ia);
/* A posted operation is deferred until completions, which its consumer may not poll: the thread
 * reads them at the end of the period, which is not extended. */
void dofi_progress_request_deferred(struct dofi_ia *ia);

#endif
