/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks of the hot path, held for a few dozen instructions or a copy of at most one ring, and
 * hardly ever contended. They cost half as much as a mutex; on contention the caller yields the
 * CPU, since the holder may need it (lock holder preemption). */
#ifndef DOFI_MSGEP_LOCK_H
#define DOFI_MSGEP_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/lock.h"

struct msgep_lock {
	_Atomic bool taken;
};

static inline void msgep_lock_init(struct msgep_lock *l)
{
	atomic_init(&l->taken, false);
}

static inline bool msgep_trylock(struct msgep_lock *l)
{
	return !atomic_exchange_explicit(&l->taken, true, memory_order_acquire);
}

static inline void msgep_lock(struct msgep_lock *l)
{
	while (!msgep_trylock(l))
		sched_yield();
}

static inline void msgep_unlock(struct msgep_lock *l)
{
	atomic_store_explicit(&l->taken, false, memory_order_release);
}

#ifdef DOFI_DEBUG
#define msgep_lock(l) DOFI_RECORDED(msgep_lock, l, true)
#define msgep_trylock(l) ((msgep_trylock)(l) && !dofi_lock_taken((l), true, __FILE__, __LINE__))
#define msgep_unlock(l) DOFI_RELEASED(msgep_unlock, l)
#endif

#endif
