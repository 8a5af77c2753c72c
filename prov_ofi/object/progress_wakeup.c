/* SPDX-License-Identifier: BSD-2-Clause */
/* Wakes the progress thread, identifies it, and renews the consumers' lease. */
#include <errno.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "base/eventfd.h"
#include "base/forkfd.h"
#include "object/progress_wakeup.h"

/* Polls of other queues run the collectives at this interval, or at their looks at the clock. */
#define COLL_GAP DOFI_US(25)

void dofi_progress_wakeup(struct dofi_ia *ia)
{
	/* Not into a file of the program. */
	if (!atomic_exchange(&ia->prog.wakeup_pending, true) && !dofi_progress_lost(ia))
		dofi_eventfd_set(ia->prog.wakeup_fd);
}

bool dofi_progress_lost(struct dofi_ia *ia)
{
	int kept = errno;

	if (!atomic_load(&ia->prog.lost) &&
	    (!dofi_forkfd_is_open(ia->prog.epfd) || !dofi_forkfd_is_open(ia->prog.wakeup_fd)))
		atomic_store(&ia->prog.lost, true);
	errno = kept;
	return atomic_load(&ia->prog.lost);
}

bool dofi_progress_is_me(struct dofi_ia *ia)
{
	/* Not a thread-local variable: gcc 12's leak checker fails on those of libraries that are
	 * loaded with dlopen. */
	return atomic_load_explicit(&ia->prog.self, memory_order_relaxed) ==
	       (uintptr_t)pthread_self();
}

void dofi_progress_set_timer(struct dofi_ia *ia, uint64_t ns)
{
	struct itimerspec after = { .it_value = { .tv_nsec = (long)ns } };

	timerfd_settime(ia->prog.timer_fd, 0, &after, NULL);
}

/* The thread leaves the queue of the collectives to consumers that have the lease, which may read
 * other queues only: their calls run the collectives at intervals, as deferred work. */
static void progress_request_coll(struct dofi_ia *ia, uint64_t now)
{
	if (now < atomic_load_explicit(&ia->coll_due_at, memory_order_relaxed))
		return;
	atomic_store_explicit(&ia->coll_due_at, now + COLL_GAP, memory_order_relaxed);
	atomic_fetch_or(&ia->deferred_pending, DOFI_PENDING_COLL);
}

void dofi_progress_renew_lease(struct dofi_ia *ia, uint64_t now)
{
	uint64_t at = atomic_load_explicit(&ia->prog.extend_at, memory_order_relaxed);
	uint64_t last = atomic_load_explicit(&ia->prog.used_at, memory_order_relaxed);
	uint64_t period = dofi_progress_period(ia), rest = period - DOFI_EXTEND_AFTER(period);
	/* The next call may be as far away, and come after the end of the period. */
	uint64_t early = now > last + rest ? now - last - rest : 0;

	atomic_store_explicit(&ia->prog.used_at, now, memory_order_relaxed);
	if (atomic_load_explicit(&ia->coll_evd, memory_order_relaxed))
		progress_request_coll(ia, now);
	if (now + early < at ||
	    now > atomic_load_explicit(&ia->prog.extend_until, memory_order_relaxed))
		return;
	if (!atomic_compare_exchange_strong(&ia->prog.extend_at, &at,
					    now + DOFI_EXTEND_AFTER(period)))
		return;
	atomic_store(&ia->prog.period, period);
	dofi_progress_set_timer(ia, period);
}

void dofi_progress_waiter_left(struct dofi_ia *ia)
{
	_Atomic bool *left = &ia->prog.left_to_waiter;

	if (atomic_load(left) && atomic_exchange(left, false))
		dofi_progress_set_timer(ia, dofi_progress_period(ia));
}

void dofi_progress_request_deferred(struct dofi_ia *ia)
{
	atomic_store(&ia->prog.extend_at, DOFI_NEVER);
}
