/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers of one IA in a binary heap. Caller holds the owner's lock. */
#ifndef DOFI_TIMER_H
#define DOFI_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

struct dofi_timer {
	uint64_t when; /* DOFI_NEVER: not armed */
	size_t slot;   /* index in the heap while armed */
	void (*fire)(struct dofi_timer *timer);
};

struct dofi_timers {
	struct dofi_timer **heap;
	size_t count, users;
	uint32_t capacity;
};

void dofi_timer_init(struct dofi_timer *t, void (*fire)(struct dofi_timer *));
/* The same, and reserves its entry in the heap, so that arming cannot fail. 0 or -ENOMEM. */
int dofi_timer_add(struct dofi_timers *all, struct dofi_timer *t,
		   void (*fire)(struct dofi_timer *));
/* Cancels it, and frees the entry. */
void dofi_timer_drop(struct dofi_timers *all, struct dofi_timer *t);
void dofi_timer_arm(struct dofi_timers *all, struct dofi_timer *t, uint64_t when);
void dofi_timer_cancel(struct dofi_timers *all, struct dofi_timer *t);
/* Fires the expired timers, disarming each first; returns the next deadline or DOFI_NEVER. */
uint64_t dofi_timers_run(struct dofi_timers *all, uint64_t now);
void dofi_timers_free(struct dofi_timers *all);

#endif
