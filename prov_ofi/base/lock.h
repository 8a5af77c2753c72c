/* SPDX-License-Identifier: BSD-2-Clause */
/* Locks of objects that posts and looks at queues take: a mutex whose quick path is compiled into
 * its callers, without what a general one has to find out first (its kind, its owner). Two locks
 * are taken per operation, and one for each look at an empty queue; over shared memory a mutex of
 * the C library made a tenth of a message's time. Who finds one taken sleeps in the kernel.
 *
 * In builds for a thread checker they are the mutexes that it knows.
 */
#ifndef DOFI_BASE_LOCK_H
#define DOFI_BASE_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DOFI_LOCK_CHECKED 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define DOFI_LOCK_CHECKED 1
#endif

#ifdef DOFI_LOCK_CHECKED

struct dofi_lock {
	pthread_mutex_t mutex;
};

static inline void dofi_lock_init(struct dofi_lock *l)
{
	pthread_mutex_init(&l->mutex, NULL);
}

static inline void dofi_lock(struct dofi_lock *l)
{
	pthread_mutex_lock(&l->mutex);
}

static inline bool dofi_trylock(struct dofi_lock *l)
{
	return !pthread_mutex_trylock(&l->mutex);
}

static inline void dofi_unlock(struct dofi_lock *l)
{
	pthread_mutex_unlock(&l->mutex);
}

#else

/* Giving it up is two plain accesses: `taken` is stored, then `sleepers` is loaded. The processor
 * may swap them; who goes to sleep sees to it that nobody's are (lock.c). An atomic exchange
 * instead took as long as taking the lock. */
struct dofi_lock {
	_Atomic uint32_t taken;
	_Atomic uint32_t sleepers;	/* 1: somebody sleeps, or is about to */
};

/* Slow paths. */
void dofi_lock_sleep(struct dofi_lock *l);
void dofi_lock_wake(struct dofi_lock *l);

static inline void dofi_lock_init(struct dofi_lock *l)
{
	atomic_init(&l->taken, 0);
	atomic_init(&l->sleepers, 0);
}

/* Always: gcc makes functions of them where it thinks a path rare, which they cost more than
 * their bodies. */
#define DOFI_LOCK_INLINE static inline __attribute__((always_inline))

DOFI_LOCK_INLINE bool dofi_trylock(struct dofi_lock *l)
{
	uint32_t seen = 0;

	return atomic_compare_exchange_strong_explicit(&l->taken, &seen, 1, memory_order_acquire,
						       memory_order_relaxed);
}

DOFI_LOCK_INLINE void dofi_lock(struct dofi_lock *l)
{
	if (__builtin_expect(!dofi_trylock(l), 0))
		dofi_lock_sleep(l);
}

DOFI_LOCK_INLINE void dofi_unlock(struct dofi_lock *l)
{
	atomic_store_explicit(&l->taken, 0, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&l->sleepers, memory_order_relaxed) != 0, 0))
		dofi_lock_wake(l);
}

#endif

/* What one who holds a lock can wait for. */
struct dofi_signal {
	_Atomic uint32_t given;
};

/* Gives up the lock, which is held, until the signal is given; may return without. */
void dofi_signal_await(struct dofi_signal *s, struct dofi_lock *l);
void dofi_signal_all(struct dofi_signal *s);

#endif
