/* SPDX-License-Identifier: BSD-2-Clause */
/* Slow paths of dofi_lock: waits for a held lock and wakes the waiters. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"

/* Keeps errno: callers do not expect locking to change it. */
static void lock_futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *limit)
{
	int kept = errno;

	syscall(SYS_futex, word, op, value, limit, NULL, 0);
	errno = kept;
}

/* Sleeps while the futex word equals `seen`; may return spuriously, so callers recheck. */
static void lock_sleep_on(_Atomic uint32_t *word, uint32_t seen, const struct timespec *limit)
{
	lock_futex(word, FUTEX_WAIT_PRIVATE, seen, limit);
}

static void lock_wake(_Atomic uint32_t *word, uint32_t most)
{
	lock_futex(word, FUTEX_WAKE_PRIVATE, most, NULL);
}

#ifndef DOFI_LOCK_CHECKED

/* Attempts before the futex call: most locks are held for less time than the call takes. */
#define SPINS 100
/* Without membarrier a wakeup can be missed; the sleeper then retries after this time. */
static const struct timespec retry_interval = { .tv_nsec = 1000000 };

void dofi_lock_prepare(void)
{
	int kept = errno;

	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	errno = kept;
}

/* Memory barrier on all threads of the process: afterwards this thread sees their earlier stores,
 * and their later loads see its stores. False: the kernel does not support or refuses it, or the
 * process has not been registered yet. */
static bool lock_drain_stores(void)
{
	int kept = errno;
	bool ok = !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);

	errno = kept;
	return ok;
}

static bool lock_comes_free(struct dofi_lock *l)
{
	for (int i = 0; i < SPINS; i++)
		if (!atomic_load_explicit(&l->taken, memory_order_relaxed) && (dofi_trylock)(l))
			return true;
	return false;
}

/* Debug builds record the lock in the macro dofi_lock; parentheses avoid its expansion here.
 *
 * Either the owner releases the lock before the barrier and the trylock succeeds, or the owner
 * loads `sleepers` after the barrier and wakes this thread. The owner sets `sleepers` to 0 before
 * the wakeup, so that it makes the system call once, however long the woken thread waits for a
 * processor. */
void dofi_lock_sleep(struct dofi_lock *l)
{
	const struct timespec *limit;

	if (lock_comes_free(l))
		return;
	for (;;) {
		atomic_store(&l->sleepers, 1);
		limit = lock_drain_stores() ? NULL : &retry_interval;
		if ((dofi_trylock)(l))
			return;
		lock_sleep_on(&l->sleepers, 1, limit);
	}
}

/* Wakes all sleepers, because `sleepers` does not count them. */
void dofi_lock_wake(struct dofi_lock *l)
{
	atomic_store(&l->sleepers, 0);
	lock_wake(&l->sleepers, INT_MAX);
}

#endif

void dofi_signal_await(struct dofi_signal *s, struct dofi_lock *l)
{
	uint32_t seen = atomic_load(&s->given);

	DOFI_ASSERT_LOCKED(l);
	dofi_unlock(l);
	lock_sleep_on(&s->given, seen, NULL);
	dofi_lock(l);
}

void dofi_signal_all(struct dofi_signal *s)
{
	atomic_fetch_add(&s->given, 1);
	lock_wake(&s->given, INT_MAX);
}

void dofi_rwlock_init(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}
