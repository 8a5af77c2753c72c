/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues as the progress thread sees them: asleep on, left to their consumers, stalled
 * (enum dofi_evd_watch). For that thread only, with prog_lock held.
 */
#ifndef DOFI_WATCH_H
#define DOFI_WATCH_H

#include "object/evd.h"

/* How soon the thread looks again at what it does not sleep on, at first. */
#define DOFI_TICK_MS 1

/* Looks at every CQ whose turn it is; at all, if the bell rang. For how many ms may the thread
 * sleep, for the sake of those it does not sleep on? -1: until something happens. */
int dofi_watch_visit(struct dofi_ia *ia, bool bell);
/* The descriptor of a CQ that is slept on became readable. */
void dofi_watch_ready(struct dofi_ia *ia, struct dofi_evd *evd);
/* The CQ is not looked at any more. */
void dofi_watch_end(struct dofi_ia *ia, struct dofi_evd *evd);
/* The ms until the deadline, rounded up, unless `ms` (-1: for ever) are less. Needs no lock. */
int dofi_watch_until(uint64_t deadline, int ms);

#endif
