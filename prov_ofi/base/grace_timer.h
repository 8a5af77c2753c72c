/* SPDX-License-Identifier: BSD-2-Clause */
/* Grace timer: limits how long data of a peer that has ended the connection waits for the consumer.
 *
 * The grace period restarts whenever the consumer makes progress. Where progress of other EPs
 * counts as well (they share a receive queue), the total time is limited, too. Only time between
 * checks counts, at most two ticks each: a process that gets no CPU does not time out.
 */
#ifndef DOFI_GRACE_TIMER_H
#define DOFI_GRACE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Interval between two checks. */
#define DOFI_GRACE_TIMER_TICK DOFI_MS(20)
/* Limit of the total time, in grace periods, where progress of other EPs counts. */
#define DOFI_GRACE_TIMER_SHARED 60

struct dofi_grace_timer {
	uint64_t last, spent, total; /* ns; last: 0 before the first check */
	uint64_t mark;
};

/* True if the time is over. `mark` changes whenever there is progress. */
static inline bool dofi_grace_timer_ends(struct dofi_grace_timer *p, uint64_t mark, uint64_t grace,
					 bool shared)
{
	uint64_t now = dofi_now(), step = p->last ? now - p->last : 0;

	if (step > 2 * DOFI_GRACE_TIMER_TICK)
		step = 2 * DOFI_GRACE_TIMER_TICK;
	p->spent = p->last && mark == p->mark ? p->spent + step : 0;
	p->total += step;
	p->last = now;
	p->mark = mark;
	return p->spent >= grace || (shared && p->total >= DOFI_GRACE_TIMER_SHARED * grace);
}

#endif
