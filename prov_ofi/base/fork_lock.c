/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes the mutexes of the library before fork(), and releases them in both processes. */
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/fork_lock.h"

/* A thread that forks waits no longer for all of them: a signal handler may fork that has
 * interrupted the holder of one. */
#define LIMIT DOFI_MS(1000)

static struct dofi_fork_lock *locks; /* by rank */
static bool installed;

/* One thread forks at a time; otherwise, and after the limit, without the locks. */
static pthread_mutex_t forking = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pthread_t forker; /* the holder of `forking`; 0: none */
static sigset_t mask;            /* its signal mask before */

/* Tries again and again, since ThreadSanitizer does not know pthread_mutex_clocklock. */
static bool fork_lock_take(pthread_mutex_t *mutex, uint64_t end)
{
	const struct timespec pause = { .tv_nsec = 100000 };

	DOFI_NO_CANCEL();
	while (pthread_mutex_trylock(mutex)) {
		if (dofi_now() >= end)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static void fork_prepare(void)
{
	uint64_t end = dofi_now() + LIMIT;
	sigset_t all, before;

	/* A handler that forks as well would release the locks of this fork. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (!fork_lock_take(&forking, end)) {
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		return;
	}
	mask = before;
	atomic_store(&forker, pthread_self());
	for (struct dofi_fork_lock *l = locks; l; l = l->next)
		l->taken = fork_lock_take(l->mutex, end);
}

static bool fork_is_mine(void)
{
	return atomic_load(&forker) == pthread_self();
}

static void fork_release(void)
{
	sigset_t before = mask;

	for (struct dofi_fork_lock *l = locks; l; l = l->next)
		if (l->taken)
			pthread_mutex_unlock(l->mutex);
	atomic_store(&forker, (pthread_t)0);
	pthread_mutex_unlock(&forking);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void fork_in_parent(void)
{
	if (fork_is_mine())
		fork_release();
}

/* Those that other threads have taken have no owner here. */
static void fork_in_child(void)
{
	bool mine = fork_is_mine();

	for (struct dofi_fork_lock *l = locks; l; l = l->next) {
		if (mine && l->taken)
			continue;
		pthread_mutex_init(l->mutex, NULL);
		l->taken = false;
	}
	if (mine) {
		fork_release();
	} else {
		atomic_store(&forker, (pthread_t)0);
		pthread_mutex_init(&forking, NULL);
	}
}

void dofi_fork_lock_add(struct dofi_fork_lock *lock)
{
	struct dofi_fork_lock **at = &locks;

	while (*at && (*at)->rank < lock->rank)
		at = &(*at)->next;
	lock->next = *at;
	*at = lock;
	if (!installed)
		pthread_atfork(fork_prepare, fork_in_parent, fork_in_child);
	installed = true;
}
