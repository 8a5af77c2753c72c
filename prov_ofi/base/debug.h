/* SPDX-License-Identifier: BSD-2-Clause */
/* Assertions of debug builds (configure --enable-debug); in other builds they vanish, and their
 * arguments are not evaluated.
 *
 * Each thread records the locks that it holds, of all types (base/lock.h). The record
 * belongs to the thread, so it needs no lock. A wait on a condition variable leaves it unchanged:
 * the thread executes nothing until it has the lock again.
 */
#ifndef DOFI_BASE_DEBUG_H
#define DOFI_BASE_DEBUG_H

#include <stdbool.h>

#ifdef DOFI_DEBUG

/* Prints place, expression and values, and aborts. */
void dofi_assert_failed(const char *file, int line, const char *expr, const char *values, ...)
	__attribute__((noreturn, cold, format(printf, 4, 5)));

/* The arguments after the condition print the values concerned. */
#define DOFI_ASSERT(cond, ...) \
	((cond) ? (void)0 : dofi_assert_failed(__FILE__, __LINE__, #cond, __VA_ARGS__))

#define DOFI_ASSERT_LOCKED(lock) \
	dofi_assert_locked((const void *)(lock), false, __FILE__, __LINE__, #lock)
#define DOFI_ASSERT_LOCKED_IF(cond, lock) ((cond) ? DOFI_ASSERT_LOCKED(lock) : (void)0)
/* A pthread_rwlock_t, for writing. */
#define DOFI_ASSERT_WRITE_LOCKED(lock) \
	dofi_assert_locked((const void *)(lock), true, __FILE__, __LINE__, #lock)
/* The thread holds no lock, except perhaps this one (NULL: none). */
#define DOFI_ASSERT_NO_LOCK_BUT(lock) \
	dofi_assert_no_lock((const void *)(lock), __FILE__, __LINE__, #lock)

void dofi_assert_locked(const void *lock, bool writing, const char *file, int line,
			const char *name);
void dofi_assert_no_lock(const void *but, const char *file, int line, const char *name);

/* Called by the locks. wanted: before waiting for it; released: before releasing it. */
void dofi_lock_wanted(const void *lock, const char *file, int line);
/* Returns 0, like the locks of the C library. */
int dofi_lock_taken(const void *lock, bool writing, const char *file, int line);
void dofi_lock_released(const void *lock, const char *file, int line);
/* The lock has been initialised: in a forked child perhaps while it is recorded as held. */
void dofi_lock_forgotten(const void *lock);

#else

#define DOFI_ASSERT(cond, ...) ((void)0)
#define DOFI_ASSERT_LOCKED(lock) ((void)0)
#define DOFI_ASSERT_LOCKED_IF(cond, lock) ((void)0)
#define DOFI_ASSERT_WRITE_LOCKED(lock) ((void)0)
#define DOFI_ASSERT_NO_LOCK_BUT(lock) ((void)0)

#endif

#endif
