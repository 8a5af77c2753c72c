/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes the locks before fork(): a child has only the thread that has forked, and would wait for
 * ever for what another one was doing.
 */
#include "config.h"

#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "cancel.h"
#include "iatable.h"
#include "lock.h"
#include "registry.h"
#include "static.h"

/*
 * A thread that forks waits no longer: a signal handler may fork that has interrupted the holder,
 * and a library that is being loaded may wait for the thread that forks.
 */
#define LIMIT_S 1

static pthread_mutex_t *const locks[] = {
	&dati_start_lock,
	&dati_loader_lock,
	&dati_lock,
	&dati_diag_lock,
};
#define NUM (sizeof(locks) / sizeof(locks[0]))

/* One thread forks at a time; otherwise, and after the limit, without the locks. */
static pthread_mutex_t forking = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pthread_t forker;
static bool taken[NUM];
static sigset_t mask; /* of the thread that forks, before */

static double fork_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Tries again and again, since ThreadSanitizer does not know pthread_mutex_clocklock. */
static bool fork_take(pthread_mutex_t *mutex, double end)
{
	const struct timespec pause = { .tv_nsec = 100000 };

	DATI_NO_CANCEL();
	while (pthread_mutex_trylock(mutex)) {
		if (fork_now() >= end)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static void fork_prepare(void)
{
	double end = fork_now() + LIMIT_S;
	sigset_t all, before;

	/* A handler that forks as well would release the locks of this fork. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (!fork_take(&forking, end)) {
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		return;
	}
	mask = before;
	forker = pthread_self();
	for (size_t i = 0; i < NUM; i++)
		taken[i] = fork_take(locks[i], end);
}

static void fork_release(void)
{
	sigset_t before = mask;

	for (size_t i = NUM; i--;)
		if (taken[i])
			pthread_mutex_unlock(locks[i]);
	forker = (pthread_t)0;
	pthread_mutex_unlock(&forking);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void fork_in_parent(void)
{
	if (forker == pthread_self())
		fork_release();
}

/* What other threads were loading or unloading counts as not loaded. */
static void fork_forget_busy(void)
{
	for (struct dati_static *st = dati_static_all(); st; st = st->next) {
		if (st->state != DATI_BUSY || st->busy_thread == pthread_self())
			continue;
		dati_dynamic_remove(&st->info);
		st->library = NULL;
		st->set_report = NULL;
		st->ha_related = NULL;
		st->candidate = NULL;
		st->reports = false;
		st->state = DATI_IDLE;
	}
}

/*
 * Locks that other threads have taken have no owner here. A recursive one cannot be unlocked: its
 * owner is the thread of the parent.
 */
static void fork_in_child(void)
{
	const pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	bool mine = forker == pthread_self();

	for (size_t i = 0; i < NUM; i++) {
		if (mine && taken[i])
			continue;
		pthread_mutex_init(locks[i], NULL);
		taken[i] = false;
	}
	if (mine) {
		fork_release();
	} else {
		forker = (pthread_t)0;
		pthread_mutex_init(&forking, NULL);
	}
	dati_loader_lock = recursive;
	pthread_cond_init(&dati_changed, NULL);
	fork_forget_busy();
	dati_ia_in_child();
}

__attribute__((constructor)) static void fork_start(void)
{
	pthread_atfork(fork_prepare, fork_in_parent, fork_in_child);
}
