/* SPDX-License-Identifier: BSD-2-Clause */
/* Min-heap of deadlines. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/timer.h"

static void timer_put(struct dofi_timers *all, size_t slot, struct dofi_timer *t)
{
	all->heap[slot] = t;
	t->slot = slot;
}

static void timer_sift_up(struct dofi_timers *all, size_t slot)
{
	struct dofi_timer *t = all->heap[slot];

	while (slot > 0) {
		size_t up = (slot - 1) / 2;

		if (all->heap[up]->when <= t->when)
			break;
		timer_put(all, slot, all->heap[up]);
		slot = up;
	}
	timer_put(all, slot, t);
}

static void timer_sift_down(struct dofi_timers *all, size_t slot)
{
	struct dofi_timer *t = all->heap[slot];

	for (;;) {
		size_t down = slot * 2 + 1;

		if (down >= all->count)
			break;
		if (down + 1 < all->count && all->heap[down + 1]->when < all->heap[down]->when)
			down++;
		if (t->when <= all->heap[down]->when)
			break;
		timer_put(all, slot, all->heap[down]);
		slot = down;
	}
	timer_put(all, slot, t);
}

void dofi_timer_init(struct dofi_timer *t, void (*fire)(struct dofi_timer *))
{
	t->when = DOFI_NEVER;
	t->fire = fire;
}

int dofi_timer_add(struct dofi_timers *all, struct dofi_timer *t, void (*fire)(struct dofi_timer *))
{
	if (!DOFI_TABLE_RESERVE(all->heap, all->capacity, all->users + 1, 64, UINT32_MAX))
		return -ENOMEM;
	all->users++;
	dofi_timer_init(t, fire);
	return 0;
}

void dofi_timer_drop(struct dofi_timers *all, struct dofi_timer *t)
{
	dofi_timer_cancel(all, t);
	all->users--;
}

void dofi_timer_cancel(struct dofi_timers *all, struct dofi_timer *t)
{
	struct dofi_timer *last;

	if (t->when == DOFI_NEVER)
		return;
	t->when = DOFI_NEVER;
	last = all->heap[--all->count];
	if (last == t)
		return;
	timer_put(all, t->slot, last);
	timer_sift_up(all, last->slot);
	timer_sift_down(all, last->slot);
}

void dofi_timer_arm(struct dofi_timers *all, struct dofi_timer *t, uint64_t when)
{
	dofi_timer_cancel(all, t);
	if (when == DOFI_NEVER)
		return;
	t->when = when;
	timer_put(all, all->count++, t);
	timer_sift_up(all, t->slot);
}

uint64_t dofi_timers_run(struct dofi_timers *all, uint64_t now)
{
	while (all->count && all->heap[0]->when <= now) {
		struct dofi_timer *t = all->heap[0];

		dofi_timer_cancel(all, t);
		t->fire(t);
	}
	return all->count ? all->heap[0]->when : DOFI_NEVER;
}

void dofi_timers_free(struct dofi_timers *all)
{
	free(all->heap);
	all->heap = NULL;
	all->count = all->capacity = 0;
}
