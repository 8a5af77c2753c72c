/* SPDX-License-Identifier: BSD-2-Clause */
/* How does a thread wait for a lock that is taken? */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/lock.h"

/* Locking is no call that callers expect to change errno. */
static void futex(_Atomic uint32_t *word, int what, uint32_t value)
{
	int kept = errno;

	syscall(SYS_futex, word, what, value, NULL, NULL, 0);
	errno = kept;
}

/* Sleeps while the word is `seen`; may return at any time, so that callers look again. */
static void sleep_on(_Atomic uint32_t *word, uint32_t seen)
{
	futex(word, FUTEX_WAIT_PRIVATE, seen);
}

static void wake(_Atomic uint32_t *word, uint32_t most)
{
	futex(word, FUTEX_WAKE_PRIVATE, most);
}

#ifndef DOFI_LOCK_CHECKED

void dofi_lock_sleep(struct dofi_lock *l)
{
	/* Whoever has slept does not know who else does: it takes the lock as an awaited one. */
	while (atomic_exchange_explicit(&l->word, DOFI_LOCK_AWAITED, memory_order_acquire) !=
	       DOFI_LOCK_FREE)
		sleep_on(&l->word, DOFI_LOCK_AWAITED);
}

void dofi_lock_wake(struct dofi_lock *l)
{
	wake(&l->word, 1);
}

#endif

void dofi_signal_await(struct dofi_signal *s, struct dofi_lock *l)
{
	uint32_t seen = atomic_load(&s->given);

	dofi_unlock(l);
	sleep_on(&s->given, seen);
	dofi_lock(l);
}

void dofi_signal_all(struct dofi_signal *s)
{
	atomic_fetch_add(&s->given, 1);
	wake(&s->given, INT_MAX);
}
