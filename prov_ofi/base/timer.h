/* SPDX-License-Identifier: BSD-2-Clause */
/* Deadlines of one IA: a binary heap. The owner's lock protects it. */
#ifndef DOFI_TIMER_H
#define DOFI_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

struct dofi_timer {
	uint64_t when;		/* DOFI_NEVER: not armed */
	size_t slot;		/* place in the heap while armed */
	void (*fire)(struct dofi_timer *timer);
};

struct dofi_timers {
	struct dofi_timer **heap;
	size_t count, room;
};

void dofi_timer_init(struct dofi_timer *t, void (*fire)(struct dofi_timer *));
/* Makes sure that `n` timers can be armed, so that arming itself cannot fail. */
int dofi_timers_reserve(struct dofi_timers *all, size_t n);
void dofi_timer_arm(struct dofi_timers *all, struct dofi_timer *t, uint64_t when);
void dofi_timer_cancel(struct dofi_timers *all, struct dofi_timer *t);
/* Fires what is due, each timer disarmed first; returns the next deadline or DOFI_NEVER. */
uint64_t dofi_timers_run(struct dofi_timers *all, uint64_t now);
void dofi_timers_free(struct dofi_timers *all);

#endif
