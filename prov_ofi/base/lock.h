/* SPDX-License-Identifier: BSD-2-Clause */
/* Mutex of the objects on the data path. Its fast path is inlined into the callers and skips the
 * checks of a general mutex (type, owner). Each operation takes two locks and each poll of an empty
 * queue takes one; over shared memory, mutexes of the C library took a tenth of a message's time.
 * Contended callers sleep in the kernel.
 *
 * dofi_unlock() accesses the lock after another thread can take it. So an object is freed only when
 * its users have released another lock, under which they hold this one.
 *
 * Builds for ThreadSanitizer use pthread mutexes, which it understands. Debug builds record the
 * owner of each lock, including pthread mutexes: sources that take one include this header.
 */
#ifndef DOFI_BASE_LOCK_H
#define DOFI_BASE_LOCK_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/debug.h"

/* First what gcc defines: a header may define __has_feature for it, as 0. */
#if defined(__SANITIZE_THREAD__)
#define DOFI_LOCK_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DOFI_LOCK_CHECKED 1
#endif
#endif

#ifdef DOFI_LOCK_CHECKED

struct dofi_lock {
	pthread_mutex_t mutex;
};

static inline void dofi_lock_prepare(void)
{
}

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
	_Atomic uint32_t sleepers; /* 1: a thread sleeps or is about to */
};

/* Registers the process for that barrier. Once it has several threads, the kernel waits until each
 * processor has switched threads: 10 to 100 ms, and up to 450 ms were measured on a loaded machine.
 * So this is called when an adapter is opened, usually before there are other threads, and not when
 * a thread first has to sleep on a lock. */
void dofi_lock_prepare(void);

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
	return !atomic_exchange_explicit(&l->taken, 1, memory_order_acquire);
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

#ifdef DOFI_DEBUG

#define DOFI_RECORDED(take, l, writing) \
	(dofi_lock_wanted((l), __FILE__, __LINE__), (take)(l), \
	 dofi_lock_taken((l), (writing), __FILE__, __LINE__))
#define DOFI_RELEASED(release, l) (dofi_lock_released((l), __FILE__, __LINE__), (release)(l))

#define dofi_lock(l) DOFI_RECORDED(dofi_lock, l, true)
#define dofi_trylock(l) ((dofi_trylock)(l) && !dofi_lock_taken((l), true, __FILE__, __LINE__))
#define dofi_unlock(l) DOFI_RELEASED(dofi_unlock, l)

static inline int dofi_mutex_trylock(pthread_mutex_t *m, const char *file, int line)
{
	int ret = pthread_mutex_trylock(m);

	return ret ? ret : dofi_lock_taken(m, true, file, line);
}

#define pthread_mutex_init(m, attr) (dofi_lock_forgotten(m), (pthread_mutex_init)((m), (attr)))
#define pthread_mutex_destroy(m) \
	(dofi_lock_wanted((m), __FILE__, __LINE__), (pthread_mutex_destroy)(m))
#define pthread_mutex_lock(m) DOFI_RECORDED(pthread_mutex_lock, m, true)
#define pthread_mutex_trylock(m) dofi_mutex_trylock((m), __FILE__, __LINE__)
#define pthread_mutex_unlock(m) DOFI_RELEASED(pthread_mutex_unlock, m)
#define pthread_rwlock_rdlock(l) DOFI_RECORDED(pthread_rwlock_rdlock, l, false)
#define pthread_rwlock_wrlock(l) DOFI_RECORDED(pthread_rwlock_wrlock, l, true)
#define pthread_rwlock_unlock(l) DOFI_RELEASED(pthread_rwlock_unlock, l)
#define pthread_cond_wait(c, m) (DOFI_ASSERT_LOCKED(m), (pthread_cond_wait)((c), (m)))

#endif

/* Takes a lock while the caller holds that of an object of the same kind; which comes first depends
 * on what the two are used for. ThreadSanitizer would report a wrong order once their memory has
 * been reused the other way round. It disregards locks that are only tried. */
static inline void dofi_lock_second(struct dofi_lock *l)
{
#ifdef DOFI_LOCK_CHECKED
	while (!dofi_trylock(l))
		sched_yield();
#else
	dofi_lock(l);
#endif
}

/* A lock that prefers writers: those that keep reading cannot keep one waiting. A thread that holds
 * it must not lock it again. */
void dofi_rwlock_init(pthread_rwlock_t *lock);

#endif
