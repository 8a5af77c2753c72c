/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for a lock that is held, and wakes the waiters. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"

/* Locking is no call that callers expect to change errno. */
static void lock_futex(_Atomic uint32_t *word, int what, uint32_t value,
		       const struct timespec *limit)
{
	int kept = errno;

	syscall(SYS_futex, word, what, value, limit, NULL, 0);
	errno = kept;
}

/* Sleeps while the word is `seen`; may return at any time, so that callers look again. */
static void lock_sleep_on(_Atomic uint32_t *word, uint32_t seen, const struct timespec *limit)
{
	lock_futex(word, FUTEX_WAIT_PRIVATE, seen, limit);
}

static void lock_wake(_Atomic uint32_t *word, uint32_t most)
{
	lock_futex(word, FUTEX_WAKE_PRIVATE, most, NULL);
}

#ifndef DOFI_LOCK_CHECKED

/* Looks before the kernel is asked: most locks are held for less time than that takes. */
#define LOOKS 100
/* Without the kernel's help a wake can be missed; then a sleeper looks again by himself. */
static const struct timespec nap = { .tv_nsec = 1000000 };

/* What any thread of the process has stored so far is seen from now on, and what it loads from now
 * on is what we have stored. False: the kernel cannot, or does not want to. */
static bool lock_drain_stores(void)
{
	static _Atomic bool registered;
	int kept = errno;
	bool ok;

	if (!atomic_load_explicit(&registered, memory_order_relaxed))
		atomic_store(&registered,
			     !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
				      0, 0));
	ok = !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	errno = kept;
	return ok;
}

static bool lock_comes_free(struct dofi_lock *l)
{
	for (int i = 0; i < LOOKS; i++)
		if (!atomic_load_explicit(&l->taken, memory_order_relaxed) && dofi_trylock(l))
			return true;
	return false;
}

/* Either who has the lock gives it up before the barrier, and we find it free; or he loads
 * `sleepers` after it, and wakes us. He sets it to 0 before, so that he does so once, however long it
 * takes us to get a processor; on who is awake again he spends nothing. */
void dofi_lock_sleep(struct dofi_lock *l)
{
	const struct timespec *limit;

	if (lock_comes_free(l))
		return;
	for (;;) {
		atomic_store(&l->sleepers, 1);
		limit = lock_drain_stores() ? NULL : &nap;
		if (dofi_trylock(l))
			return;
		lock_sleep_on(&l->sleepers, 1, limit);
	}
}

/* All, because `sleepers` does not count them. */
void dofi_lock_wake(struct dofi_lock *l)
{
	atomic_store(&l->sleepers, 0);
	lock_wake(&l->sleepers, INT_MAX);
}

#endif

void dofi_signal_await(struct dofi_signal *s, struct dofi_lock *l)
{
	uint32_t seen = atomic_load(&s->given);

	dofi_unlock(l);
	lock_sleep_on(&s->given, seen, NULL);
	dofi_lock(l);
}

void dofi_signal_all(struct dofi_signal *s)
{
	atomic_fetch_add(&s->given, 1);
	lock_wake(&s->given, INT_MAX);
}
