/* SPDX-License-Identifier: BSD-2-Clause */
/* The locks of posts and polls of queues (base/lock.h): mutual exclusion, and no thread sleeps
 * indefinitely. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "base/lock.h"
#include "rig.h"

#define THREADS 4
#define ROUNDS 100000

static struct dofi_lock lock;
static struct dofi_signal sign;
static unsigned int counted, tried, inside, over;

static void enter(void)
{
	ASSERT_EQ(inside, 0);
	inside = 1;
}

static void leave(void)
{
	inside = 0;
	dofi_unlock(&lock);
}

/* Sometimes it is held for longer than waiters spin. */
static void *count(void *arg)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		dofi_lock(&lock);
		enter();
		counted++;
		if (i % 1000 == 0)
			sched_yield();
		leave();
		if (i % 16 || !dofi_trylock(&lock))
			continue;
		enter();
		tried++;
		leave();
	}
	return arg;
}

TEST(lock, threads_are_inside_one_at_a_time)
{
	pthread_t thread[THREADS];
	int i;

	dofi_lock_prepare();
	dofi_lock_init(&lock);
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(pthread_create(&thread[i], NULL, count, NULL), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	ASSERT_EQ(counted, THREADS * ROUNDS);
	ASSERT(tried > 0 && tried <= THREADS * (ROUNDS / 16 + 1));
}

TEST(lock, a_taken_lock_is_not_taken_again)
{
	dofi_lock_init(&lock);
	ASSERT(dofi_trylock(&lock));
	ASSERT(!dofi_trylock(&lock));
	errno = ERANGE;
	dofi_unlock(&lock);
	ASSERT_EQ(errno, ERANGE);
	ASSERT(dofi_trylock(&lock));
	dofi_unlock(&lock);
}

static void *wait_for_sign(void *arg)
{
	dofi_lock(&lock);
	while (!over)
		dofi_signal_await(&sign, &lock);
	counted++;
	dofi_unlock(&lock);
	return arg;
}

TEST(lock, a_signal_releases_all_who_await_it)
{
	pthread_t thread[THREADS];
	int i;

	dofi_lock_prepare();
	dofi_lock_init(&lock);
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(pthread_create(&thread[i], NULL, wait_for_sign, NULL), 0);
	dt_sleep_us(50000);
	dofi_lock(&lock);
	ASSERT_EQ(counted, 0);
	over = 1;
	dofi_signal_all(&sign);
	dofi_unlock(&lock);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	ASSERT_EQ(counted, THREADS);
}
