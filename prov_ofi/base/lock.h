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

enum {
	DOFI_LOCK_FREE,
	DOFI_LOCK_TAKEN,
	DOFI_LOCK_AWAITED,		/* taken, and somebody may sleep until it is free */
};

struct dofi_lock {
	_Atomic uint32_t word;
};

/* Slow paths. */
void dofi_lock_sleep(struct dofi_lock *l);
void dofi_lock_wake(struct dofi_lock *l);

static inline void dofi_lock_init(struct dofi_lock *l)
{
	atomic_init(&l->word, DOFI_LOCK_FREE);
}

static inline bool dofi_trylock(struct dofi_lock *l)
{
	uint32_t seen = DOFI_LOCK_FREE;

	return atomic_compare_exchange_strong_explicit(&l->word, &seen, DOFI_LOCK_TAKEN,
						       memory_order_acquire, memory_order_relaxed);
}

static inline void dofi_lock(struct dofi_lock *l)
{
	if (__builtin_expect(!dofi_trylock(l), 0))
		dofi_lock_sleep(l);
}

static inline void dofi_unlock(struct dofi_lock *l)
{
	if (__builtin_expect(atomic_exchange_explicit(&l->word, DOFI_LOCK_FREE,
						      memory_order_release) != DOFI_LOCK_TAKEN, 0))
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
