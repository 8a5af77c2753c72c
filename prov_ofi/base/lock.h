/* SPDX-License-Identifier: BSD-2-Clause */
/* Mutex of the objects on the data path. Its fast path is inlined into the callers and skips the
 * checks of a general mutex (type, owner). Each operation takes two locks and each poll of an empty
 * queue takes one; over shared memory, mutexes of the C library took a tenth of a message's time.
 * Contended callers sleep in the kernel.
 *
 * Builds for ThreadSanitizer use pthread mutexes, which it understands.
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

/* Unlocking takes two plain accesses: a store to `taken`, then a load of `sleepers`. The processor
 * may reorder them; the sleeping thread compensates with a barrier on all threads (lock.c). An
 * atomic exchange instead took as long as acquiring the lock. */
struct dofi_lock {
	_Atomic uint32_t taken;
	_Atomic uint32_t sleepers;	/* 1: a thread sleeps or is about to */
};

/* Slow paths. */
void dofi_lock_sleep(struct dofi_lock *l);
void dofi_lock_wake(struct dofi_lock *l);

static inline void dofi_lock_init(struct dofi_lock *l)
{
	atomic_init(&l->taken, 0);
	atomic_init(&l->sleepers, 0);
}

/* Always inlined: gcc otherwise emits calls on paths that it considers rare, and the call costs
 * more than the body. */
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

/* Condition variable for use with dofi_lock. */
struct dofi_signal {
	_Atomic uint32_t given;
};

/* Releases the lock, sleeps until the signal is raised and takes the lock again; may return
 * spuriously. Caller holds the lock. */
void dofi_signal_await(struct dofi_signal *s, struct dofi_lock *l);
void dofi_signal_all(struct dofi_signal *s);

#endif
