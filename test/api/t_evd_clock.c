/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a wait ends if the clock passes its deadline between two readings. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "rig.h"

#define TIMEOUT_US 1000
#define READINGS 8

/* What this thread reads: `start`, from reading `at` on a nanosecond before the end of a wait that
 * began then, and from the next one on a nanosecond after it. 0: the time. */
static _Thread_local struct {
	unsigned int at, readings;
	uint64_t start;
} fake;

_Atomic unsigned int progress_ahead_s;

bool is_progress_thread(void)
{
	char name[16] = "";

	return !pthread_getname_np(pthread_self(), name, sizeof(name)) &&
	       !strcmp(name, "dat-progress");
}

/* The library finds this function before that of the C library. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
	static _Atomic(void *) found;
	__typeof__(&clock_gettime) real;
	unsigned int ahead_s = atomic_load_explicit(&progress_ahead_s, memory_order_relaxed);
	uint64_t ns = fake.start;
	int ret;

	if (!atomic_load(&found))
		atomic_store(&found, dlsym(RTLD_NEXT, "clock_gettime"));
	*(void **)&real = atomic_load(&found);
	if (!fake.at || id != CLOCK_MONOTONIC) {
		ret = real(id, ts);
		if (ahead_s && id == CLOCK_MONOTONIC && is_progress_thread())
			ts->tv_sec += ahead_s;
		return ret;
	}
	if (fake.readings >= fake.at)
		ns += TIMEOUT_US * 1000 + (fake.readings == fake.at ? -1 : 1);
	fake.readings++;
	ts->tv_sec = (time_t)(ns / 1000000000u);
	ts->tv_nsec = (long)(ns % 1000000000u);
	return 0;
}

/* One nanosecond late, the time left was infinite. */
TEST(evd_wait, ends_if_the_deadline_passes_between_two_readings_of_the_clock)
{
	DAT_EVD_HANDLE evd;
	struct node n;
	DAT_EVENT event;
	DAT_RETURN ret;
	DAT_COUNT more;

	node_open(&n);
	evd = evd_make(&n, 8, DAT_EVD_SOFTWARE_FLAG);
	for (unsigned int at = 1; at <= READINGS; at++) {
		fake.start = dt_now_us() * 1000;
		fake.readings = 0;
		fake.at = at;
		ret = dat_evd_wait(evd, TIMEOUT_US, 1, &event, &more);
		fake.at = 0;
		ASSERT_EQ(DAT_GET_TYPE(ret), DAT_TIMEOUT_EXPIRED);
		ASSERT(fake.readings > at + 1);
	}
	OK(dat_evd_free(evd));
	node_close(&n);
}
