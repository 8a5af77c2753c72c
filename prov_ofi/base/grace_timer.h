/* SPDX-License-Identifier: BSD-2-Clause */
/* Grace timer: how long a departed peer's data waits for the consumer to take it.
 *
 * As long as he makes progress, and then for a grace; but where others' progress counts as his
 * (they share a receive queue) not for ever. Only time in which somebody looked is counted: a
 * process that gets no CPU has not lost its patience.
 */
#ifndef DOFI_GRACE_TIMER_H
#define DOFI_GRACE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Between two looks. */
#define DOFI_GRACE_TIMER_TICK DOFI_MS(20)
/* Graces at most, where others' progress counts. */
#define DOFI_GRACE_TIMER_SHARED 60

struct dofi_grace_timer {
	uint64_t last, spent, total;	/* ns; last: 0 before the first look */
	uint64_t mark;
};

/* mark: changes when there is progress. */
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
