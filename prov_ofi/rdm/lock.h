/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks of the hot path: held for a few dozen instructions, or a copy of at most one ring, and
 * hardly ever contended. Half the price of a mutex; whoever finds one taken gives up the CPU, since
 * its holder may need it. */
#ifndef DOFI_RDM_LOCK_H
#define DOFI_RDM_LOCK_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

struct rdm_lock {
	pthread_spinlock_t spin;
};

static inline void rdm_lock_init(struct rdm_lock *l)
{
	pthread_spin_init(&l->spin, PTHREAD_PROCESS_PRIVATE);
}

static inline void rdm_lock_destroy(struct rdm_lock *l)
{
	pthread_spin_destroy(&l->spin);
}

static inline bool rdm_trylock(struct rdm_lock *l)
{
	return !pthread_spin_trylock(&l->spin);
}

static inline void rdm_lock(struct rdm_lock *l)
{
	while (!rdm_trylock(l))
		sched_yield();
}

static inline void rdm_unlock(struct rdm_lock *l)
{
	pthread_spin_unlock(&l->spin);
}

#endif
