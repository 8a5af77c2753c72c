/* SPDX-License-Identifier: BSD-2-Clause */
/* Mutexes of the whole library, unlike those of objects, across fork().
 *
 * A child has the memory of its parent's threads, but only the thread that has forked: a mutex that
 * another one held would stay locked, and what it guards unfinished, so that the child could not
 * open an adapter, or not even exit. The thread that forks therefore takes these first. Objects of
 * the parent are not used in the child.
 */
#ifndef DOFI_FORK_LOCK_H
#define DOFI_FORK_LOCK_H

#include <pthread.h>
#include <stdbool.h>

/* The order in which a thread takes more than one of them. */
enum dofi_fork_rank {
	DOFI_FORK_LOAD,
	DOFI_FORK_COLL,
	DOFI_FORK_PROVIDERS,
	DOFI_FORK_SIW,
	DOFI_FORK_ASYNC,
	DOFI_FORK_SLAB,
	DOFI_FORK_COUNTER_FILE,
	DOFI_FORK_COUNT_BASE,
	DOFI_FORK_ENV,
	DOFI_FORK_DIAG_PORT,
};

struct dofi_fork_lock {
	struct dofi_fork_lock *next;
	pthread_mutex_t *mutex;
	enum dofi_fork_rank rank;
	bool taken; /* by the thread that forks */
};

void dofi_fork_lock_add(struct dofi_fork_lock *lock);

/* After the definition of a static mutex. */
/* clang-format off */
#define DOFI_FORK_LOCK(mutex_, rank_) \
	__attribute__((constructor)) static void mutex_##_across_fork(void) \
	{ \
		static struct dofi_fork_lock entry = { NULL, &(mutex_), (rank_), false }; \
		dofi_fork_lock_add(&entry); \
	}
/* clang-format on */

#endif
