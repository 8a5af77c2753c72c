/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests concurrent opens, closes, lists and calls. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rig.h"

#define THREADS 6
#define ROUNDS 60

#if DAT_API_MAJOR == 1
#define TO_VALUE(h) ((unsigned long)(h))
#else
#define TO_VALUE(h) ((DAT_IA_HANDLE)(h))
#endif

static int errors[THREADS];

static int one_round(const char *name)
{
	DAT_IA_HANDLE ia, own, back;
	DAT_HANDLE_TYPE type;
	DAT_PZ_HANDLE pz;

	if (rig_open(name, &ia) != DAT_SUCCESS)
		return 1;
	if (dat.pz_create(ia, &pz) != FAKE_ANSWER(52) ||
	    dat.get_handle_type(ia, &type) != FAKE_ANSWER(7) ||
	    dat.get_ia_handle(TO_VALUE(ia), &own) != DAT_SUCCESS ||
	    (!rig_foreign &&
	     (dat.get_ia_handle(TO_VALUE(own), &back) != DAT_SUCCESS || back != ia)))
		return 1;
	return dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS;
}

static void *open_and_close(void *arg)
{
	static const char *const names[] = { "a", "b", "c" };
	int self = *(int *)arg, i;

	for (i = 0; i < ROUNDS; i++)
		errors[self] += one_round(names[(self + i) % 3]);
	return NULL;
}

static void *list_and_fail(void *arg)
{
	int self = *(int *)arg, i;
	DAT_IA_HANDLE ia;
	DAT_COUNT n;

	for (i = 0; i < ROUNDS; i++) {
		if (dat.registry_list_providers(0, &n, NULL) != RET_ARG1 || n != 4)
			errors[self]++;
		if (rig_open("d", &ia) != 0x80030003u)
			errors[self]++;
		if (dat.ia_close((DAT_IA_HANDLE)63, DAT_CLOSE_ABRUPT_FLAG) != RET_BAD_IA)
			errors[self]++;
	}
	return NULL;
}

static void all_at_once(void)
{
	pthread_t thread[THREADS];
	int self[THREADS], i;
	DAT_COUNT n;

	rig_load(LINE("a", "") LINE("b", "") LINE("c", "") LINE("d", "open=0x80030003"));
	dat.registry_list_providers(0, &n, NULL);
	fake_state.log_off = true;
	memset(errors, 0, sizeof(errors));
	rig_capture_stderr();
	for (i = 0; i < THREADS; i++) {
		self[i] = i;
		CU_ASSERT_FALSE_FATAL(pthread_create(
			&thread[i], NULL, i < 2 ? list_and_fail : open_and_close, &self[i]));
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	rig_captured();
	for (i = 0; i < THREADS; i++)
		CU_ASSERT_EQUAL(errors[i], 0);
	CU_ASSERT_EQUAL(fake_state.opens, (THREADS - 2) * ROUNDS);
	CU_ASSERT_EQUAL(fake_state.closes, fake_state.opens);
	CU_ASSERT_EQUAL(fake_state.inits, fake_state.finis);
	CU_ASSERT_FALSE(rig_fake_mapped());
	rig_unload();
}

/* Of many threads that close one IA, exactly one succeeds. */
static int closed;

static void *close_one(void *arg)
{
	DAT_RETURN ret = dat.ia_close((DAT_IA_HANDLE)1, DAT_CLOSE_ABRUPT_FLAG);

	(void)arg;
	if (ret == DAT_SUCCESS)
		__atomic_add_fetch(&closed, 1, __ATOMIC_RELAXED);
	else if (ret != RET_BAD_IA)
		__atomic_add_fetch(&closed, 1000, __ATOMIC_RELAXED);
	return NULL;
}

static void close_race(void)
{
	pthread_t thread[4];
	int round, i;

	rig_load(LINE("a", ""));
	fake_state.log_off = true;
	for (round = 0; round < 20; round++) {
		closed = 0;
		rig_must_open("a");
		for (i = 0; i < 4; i++)
			pthread_create(&thread[i], NULL, close_one, NULL);
		for (i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
		CU_ASSERT_EQUAL(closed, 1);
	}
	CU_ASSERT_EQUAL(fake_state.closes, 20);
	rig_unload();
}

/* A slow provider must not delay others. */
static sem_t arrived, may_go;
static const char *where_to_stop;
static DAT_RETURN slow_result;

static bool take(sem_t *sem)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 20;
	while (sem_timedwait(sem, &limit))
		if (errno != EINTR)
			return false;
	return true;
}

static void stop_there(const char *where, const char *name, void *own)
{
	(void)own;
	if (strcmp(name, "a") || strcmp(where, where_to_stop))
		return;
	sem_post(&arrived);
	take(&may_go);
}

static void *slow_one(void *arg)
{
	DAT_IA_HANDLE ia;

	(void)arg;
	slow_result = rig_open("a", &ia);
	if (slow_result == DAT_SUCCESS)
		slow_result = dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return NULL;
}

/* A thread opens and closes "a", and is stopped at each place while the test goes on. */
static void stop_at_each(void (*meanwhile)(void))
{
	static const char *const places[] = { "init", "open", "query", "close", "fini" };
	pthread_t thread;
	size_t i;

	rig_load(LINE("a", "") LINE("b", ""));
	sem_init(&arrived, 0, 0);
	sem_init(&may_go, 0, 0);
	fake_state.log_off = true;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		where_to_stop = places[i];
		fake_state.hook = stop_there;
		pthread_create(&thread, NULL, slow_one, NULL);
		CU_ASSERT_FATAL(take(&arrived));
		meanwhile();
		/* Queries come at open and at close. */
		sem_post(&may_go);
		sem_post(&may_go);
		pthread_join(thread, NULL);
		CHECK_RET(slow_result, DAT_SUCCESS);
		while (!sem_trywait(&may_go) || !sem_trywait(&arrived))
			;
	}
	sem_destroy(&arrived);
	sem_destroy(&may_go);
	rig_unload();
}

static void use_another(void)
{
	DAT_IA_HANDLE ia = rig_must_open("b");
	DAT_COUNT n;

	CHECK_RET(dat.registry_list_providers(0, &n, NULL), RET_ARG1);
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static void others_go_on(void)
{
	stop_at_each(use_another);
}

/* A second opener waits for the first one's init instead of a second init. */
static DAT_RETURN second_result;

static void *open_same(void *arg)
{
	DAT_IA_HANDLE ia;

	(void)arg;
	second_result = rig_open("a", &ia);
	return NULL;
}

static void same_name_waits(void)
{
	pthread_t one, two;
	DAT_IA_HANDLE ia;

	rig_load(LINE("a", ""));
	sem_init(&arrived, 0, 0);
	sem_init(&may_go, 0, 0);
	where_to_stop = "init";
	fake_state.hook = stop_there;
	pthread_create(&one, NULL, slow_one, NULL);
	CU_ASSERT_FATAL(take(&arrived));
	pthread_create(&two, NULL, open_same, NULL);
	fake_state.hook = NULL;
	sem_post(&may_go);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	CHECK_RET(slow_result, DAT_SUCCESS);
	CHECK_RET(second_result, DAT_SUCCESS);
	CU_ASSERT_EQUAL(fake_state.opens, 2);
	for (ia = (DAT_IA_HANDLE)1; ia < (DAT_IA_HANDLE)3; ia = (char *)ia + 1)
		dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	CU_ASSERT_EQUAL(fake_state.closes, 2);
	CU_ASSERT_EQUAL(fake_state.inits, fake_state.finis);
	sem_destroy(&arrived);
	sem_destroy(&may_go);
	rig_unload();
}

/* A child of fork() has none of the threads that were loading or unloading. */
static void open_in_child(void)
{
	DAT_IA_HANDLE ia;

	fake_state.hook = NULL;
	ia = rig_must_open("a");
	CHECK_RET(dat.ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static void fork_meanwhile(void)
{
	rig_in_child(open_in_child);
}

static void child_opens(void)
{
	stop_at_each(fork_meanwhile);
}

void add_thread_suite(void)
{
	CU_pSuite s = CU_add_suite("threads", NULL, NULL);

	ADD_OURS(s, "open, call, translate, close, list and fail all at once", all_at_once);
	ADD_OURS(s, "one of several closers closes", close_race);
	ADD_OURS(s, "a slow provider keeps no other name waiting", others_go_on);
	ADD_OURS(s, "openers of one name share one init", same_name_waits);
	ADD_OURS(s, "a child opens what another thread was loading", child_opens);
}
