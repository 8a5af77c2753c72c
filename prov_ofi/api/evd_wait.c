/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait; data/evd_dequeue.c takes events that are queued.
 *
 * A wait polls for a short time that adapts to the success of recent polling, then sleeps on the
 * CQ's descriptor and on the EVD's eventfd. The waiting thread drives progress; the progress thread
 * leaves the EVD alone meanwhile (see progress/progress.c).
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/eventfd.h"
#include "base/forkfd.h"
#include "base/param.h"
#include "cm/cm.h"
#include "object/cno.h"
#include "object/coll_handle.h"
#include "data/amo.h"
#include "data/cq.h"
#include "object/evd.h"
#include "object/progress_wakeup.h"
#include "object/deferred_work.h"

/* fi_trywait may refuse the sleep again and again, for example while other threads hold endpoints
 * that have to be polled first. After this number of refusals in sequence the thread does not sleep
 * on the CQ's descriptor, for an increasing time. */
#define STALL_AFTER 3
#define STALL_DELAY_MAX 50
/* A sleep ends after this time, in case that the program has closed the descriptors on which the
 * thread sleeps. */
#define SLEEP_MOST DOFI_MS(4000)

static uint64_t evd_stall_delay(unsigned int refusals)
{
	unsigned int doublings = refusals - STALL_AFTER;

	return DOFI_MS(doublings < 5 ? 1u << doublings : STALL_DELAY_MAX);
}

/* A yield that takes longer has run another thread. */
#define SWITCH_NS 1500
/* A yield that takes longer has run a thread that computes: a sleeper gets the processor sooner. */
#define COMPUTES_NS DOFI_MS(1)
/* Polls between two yields that run no other thread. */
#define SKIP_MOST 63u
/* A wait for a collective polls for a multiple of the polling time, as an operation has several
 * messages, and a member that sleeps delays all others; longer while other threads run. */
#define GROUP_SPINS 5
#define SHARED_SPINS 25

/* Spins, and yields at intervals that adapt to whether another thread wants the processor: if a
 * group has more members than the machine processors, the others cannot run while this one polls.
 * True: another thread has run for a short time. */
static bool evd_give_way(struct dofi_evd *evd)
{
	uint64_t start, took;

	if (!evd->groups || evd->yield_skipped++ < evd->yield_skip) {
		dofi_relax();
		return false;
	}
	evd->yield_skipped = 0;
	start = dofi_now();
	sched_yield();
	took = dofi_now() - start;
	if (took >= SWITCH_NS)
		evd->yield_skip = 0;
	else if (evd->yield_skip < SKIP_MOST)
		evd->yield_skip = 2 * evd->yield_skip + 1;
	return took >= SWITCH_NS && took < COMPUTES_NS;
}

/* The program has closed the descriptors: a wait only finds what other threads report. */
static bool evd_is_lost(struct dofi_evd *evd)
{
	return atomic_load_explicit(&evd->obj.ia->prog.lost, memory_order_relaxed);
}

static bool evd_satisfied(const struct dofi_evd *evd, DAT_COUNT threshold)
{
	return dofi_evd_count(evd) >= (uint32_t)threshold;
}

/* Drives progress from a waiting thread. True: the CQ had completions, though perhaps of suppressed
 * requests only. Caller holds evd->lock, which is released while deferred work runs. */
static bool evd_poll_once(struct dofi_evd *evd)
{
	struct dofi_ia *ia = evd->obj.ia;
	bool groups = evd->groups, amo = evd->cq && dofi_amo_active(&ia->amo);
	bool cm = (!evd->cq && !groups) ||
		  (evd->flags & (DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG)),
	     found = false;

	DOFI_ASSERT_LOCKED(&evd->lock);
	if (evd_is_lost(evd))
		return false;
	if (evd->cq) {
		dofi_evd_polled(evd);
		found = dofi_cq_read_batch(evd);
	}
	if (!cm && !groups && !amo && !dofi_deferred_pending(ia))
		return found;
	dofi_unlock(&evd->lock);
	if (amo) {
		atomic_fetch_add_explicit(&ia->amo.polls, 1, memory_order_relaxed);
		dofi_amo_poll(ia, false);
	}
	if (dofi_deferred_has_eps(ia))
		dofi_deferred_run(ia);
	if (cm)
		dofi_cm_progress(ia, false);
	if (dofi_deferred_take_coll(ia) || groups)
		dofi_coll_run(ia);
	dofi_lock(&evd->lock);
	return found;
}

/* A call that polls renews the consumers' lease. */
static void evd_renew_lease(struct dofi_evd *evd, uint64_t now)
{
	if (evd->cq || evd->groups)
		dofi_progress_renew_lease(evd->obj.ia, now);
}

static int evd_make_wake_fd(struct dofi_evd *evd)
{
	if (evd->wake_fd < 0)
		evd->wake_fd = dofi_forkfd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	return evd->wake_fd < 0 ? -errno : 0;
}

/* True if the thread may sleep on the descriptors of the CQ and, if groups of collectives report to
 * the EVD, of their CQ. Caller holds evd->lock. */
static bool evd_cqs_quiet(struct dofi_evd *evd)
{
	struct dofi_evd *coll = evd->groups ? evd->obj.ia->coll_evd : NULL;
	bool quiet = !evd->cq || dofi_cq_may_sleep(evd);

	if (!quiet || !coll)
		return quiet;
	dofi_lock_second(&coll->lock);
	quiet = !dofi_evd_count(coll) && dofi_cq_may_sleep(coll);
	dofi_unlock(&coll->lock);
	return quiet;
}

/* True if the thread may sleep. *stalled: not on the CQ's descriptor, which would wake it at once,
 * because the CQ has refused the sleep repeatedly. Caller holds evd->lock. */
static bool evd_may_sleep(struct dofi_evd *evd, bool *stalled, unsigned int *refusals)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	*stalled = false;
	if ((!evd->cq && !evd->groups) || evd_is_lost(evd))
		return true;
	if (evd_cqs_quiet(evd)) {
		*refusals = 0;
		return true;
	}
	if (++*refusals < STALL_AFTER)
		return false;
	*stalled = true;
	return true;
}

/* Caller holds evd->lock. */
static void evd_end_sleep(struct dofi_evd *evd)
{
	/* A waker resets `sleeping` and sets the descriptor. */
	if (!evd->sleeping && !evd_is_lost(evd))
		dofi_eventfd_clear(evd->wake_fd);
	evd->sleeping = false;
}

/* Ends the wait. Caller holds evd->lock. */
static void evd_leave_wait(struct dofi_evd *evd)
{
	DOFI_ASSERT_LOCKED(&evd->lock);
	evd->waiter = false;
	DOFI_COUNT(evd->counts->waits_over, 1);
	/* The EVD and its IA (wakeup descriptor) may be closed once the lock is released. */
	if (evd->dying)
		dofi_signal_all(&evd->left);
	else
		dofi_progress_waiter_left(evd->obj.ia);
}

/* The wakeup of the EVD, its CQ, software atomic operations, the CQ of the collectives. */
#define SLEEP_FDS 4

struct sleeper {
	struct dofi_evd *evd;
	uint32_t notified;     /* evd->notified when it fell asleep */
	struct dofi_evd *coll; /* EVD of the collectives whose CQ it sleeps on; NULL: none */
	bool stalled;          /* the descriptors of CQs would end the sleep at once */
	bool lost;             /* the program has closed the descriptors */
};

static void evd_leave_coll(const struct sleeper *s)
{
	if (!s->coll)
		return;
	s->coll->borrowers--;
	dofi_progress_waiter_left(s->evd->obj.ia);
}

/* Cancellation handler of a sleeping waiter. Events that arrived meanwhile must notify others. */
static void evd_leave_cancelled(void *arg)
{
	struct sleeper *s = arg;
	struct dofi_evd *evd = s->evd;

	evd_leave_coll(s);
	dofi_lock(&evd->lock);
	evd_end_sleep(evd);
	evd_leave_wait(evd);
	if (!evd->dying)
		dofi_evd_notify(evd, s->notified);
	dofi_unlock(&evd->lock);
}

/* Returns 0 or -errno: -EBADF if a descriptor has been closed. */
static int evd_poll_cancellable(struct sleeper *s, struct pollfd *fds, nfds_t n,
				const struct timespec *limit)
{
	int ret;

	pthread_cleanup_push(evd_leave_cancelled, s);
	ret = ppoll(fds, n, limit, NULL) < 0 ? -errno : 0;
	pthread_cleanup_pop(0);
	for (nfds_t i = 0; !ret && i < n; i++)
		ret = fds[i].revents & POLLNVAL ? -EBADF : 0;
	return ret;
}

/* How long the sleep may take. */
static struct timespec evd_sleep_limit(const struct sleeper *s, uint64_t deadline,
				       unsigned int refusals)
{
	uint64_t now = dofi_now(), left = SLEEP_MOST;

	if (s->lost)
		left = DOFI_MS(STALL_DELAY_MAX);
	else if (s->stalled)
		left = evd_stall_delay(refusals);
	else if (dofi_progress_is_me(s->evd->obj.ia))
		left = DOFI_MS(1); /* an agent waits: it blocks the handling of connections */
	if (deadline <= now)
		left = 0; /* since the caller looked */
	else if (deadline != DOFI_NEVER && deadline - now < left)
		left = deadline - now;
	return (struct timespec){ .tv_sec = (time_t)(left / 1000000000u),
				  .tv_nsec = (long)(left % 1000000000u) };
}

/* Collects the descriptors that end the sleep; returns their number. Caller holds evd->lock. */
static nfds_t evd_sleep_fds(struct sleeper *s, struct pollfd fds[SLEEP_FDS])
{
	struct dofi_evd *evd = s->evd;
	nfds_t n = 1;

	DOFI_ASSERT_LOCKED(&evd->lock);
	for (size_t i = 0; i < SLEEP_FDS; i++)
		fds[i].events = POLLIN;
	fds[0].fd = s->lost ? -1 : evd->wake_fd;
	if (s->lost)
		return n;
	if (evd->cq && !s->stalled)
		fds[n++].fd = evd->cq_fd;
	/* Closing the IA aborts the wait before it closes the set. */
	if (evd->cq && dofi_amo_active(&evd->obj.ia->amo))
		fds[n++].fd = evd->obj.ia->amo.epfd;
	/* Freeing the last group takes evd->lock; closing the IA then waits for borrowers. */
	if (evd->groups && !s->stalled) {
		s->coll = evd->obj.ia->coll_evd;
		s->coll->borrowers++;
		fds[n++].fd = s->coll->cq_fd;
	}
	return n;
}

/* Sleeps until the EVD is woken, the CQ is readable or the deadline expires. Returns 0 or -EINTR.
 * Caller holds evd->lock, which is released meanwhile. */
static int evd_sleep_once(struct dofi_evd *evd, uint64_t deadline, bool stalled,
			  unsigned int refusals)
{
	struct sleeper s = {
		.evd = evd, .notified = evd->notified, .stalled = stalled, .lost = evd_is_lost(evd)
	};
	struct timespec limit = evd_sleep_limit(&s, deadline, refusals);
	struct pollfd fds[SLEEP_FDS];
	nfds_t n = evd_sleep_fds(&s, fds);
	int ret;

	evd->sleeping = !s.lost;
	DOFI_COUNT(evd->counts->sleeps, 1);
	if (stalled)
		DOFI_COUNT_SHARED(evd->obj.ia->counts->stalls, 1);
	dofi_unlock(&evd->lock);
	ret = evd_poll_cancellable(&s, fds, n, &limit);
	if (ret == -EBADF && !dofi_progress_lost(evd->obj.ia))
		atomic_store(&evd->obj.ia->prog.lost, true);
	evd_leave_coll(&s);
	dofi_lock(&evd->lock);
	evd_end_sleep(evd);
	return ret == -EINTR ? -EINTR : 0;
}

/* Successful polling extends the polling time to its maximum; unsuccessful polling shortens it. */
static void evd_adapt_spin(struct dofi_evd *evd, bool slept)
{
	uint32_t most = (uint32_t)DOFI_US(dofi_param(DOFI_NUM_SPIN_US));

	if (!slept || evd->groups)
		evd->spin_ns = most;
	else if (evd->spin_ns > DOFI_US(2))
		evd->spin_ns -= evd->spin_ns / 4;
}

/* Why the wait ends without an event; 0: it continues. */
static DAT_RETURN evd_wait_error(const struct dofi_evd *evd)
{
	if (evd->dying)
		return DOFI_ERR(DAT_ABORT, 0);
	if (!evd->waitable)
		return DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
	return evd->dead ? DOFI_ERR(DAT_INVALID_STATE, 0) : DAT_SUCCESS;
}

/* Body of dat_evd_wait. Caller holds evd->lock and has set evd->waiter. */
static DAT_RETURN evd_wait_locked(struct dofi_evd *evd, uint64_t deadline, DAT_COUNT threshold)
{
	uint64_t begin = dofi_now(), start = begin, now = begin;
	uint32_t seen = evd->notified;
	unsigned int refusals = 0, spins = evd->groups ? GROUP_SPINS : 1;
	bool released, slept = false, stalled;

	evd_renew_lease(evd, now);
	evd_poll_once(evd);
	/* Any queued event ends the wait at once; later only notifying events do. */
	released = evd_satisfied(evd, threshold);
	while (!released || !evd_satisfied(evd, threshold)) {
		DAT_RETURN error = evd_wait_error(evd);

		if (error)
			return error;
		if (now >= deadline) {
			if (evd_satisfied(evd, threshold))
				break;
			return DOFI_ERR(DAT_TIMEOUT_EXPIRED, 0);
		}
		if (now - start < (uint64_t)spins * evd->spin_ns) {
			dofi_unlock(&evd->lock);
			if (evd_give_way(evd) &&
			    now - begin < (uint64_t)SHARED_SPINS * evd->spin_ns)
				start = dofi_now();
			dofi_lock(&evd->lock);
		} else if (evd->notified == seen && evd_may_sleep(evd, &stalled, &refusals)) {
			slept = true;
			if (evd_sleep_once(evd, deadline, stalled, refusals) &&
			    evd->notified == seen)
				return DOFI_ERR(DAT_INTERRUPTED_CALL, 0);
		}
		if (evd_poll_once(evd))
			refusals = 0;
		if (evd->notified != seen) {
			released = true;
			seen = evd->notified;
		}
		now = dofi_now();
		evd_renew_lease(evd, now);
	}
	evd_adapt_spin(evd, slept);
	return DAT_SUCCESS;
}

static DAT_RETURN evd_check_wait(const struct dofi_evd *evd, DAT_COUNT threshold)
{
	if (evd->dying)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (evd->waiter)
		return DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	if (evd->dead)
		return DOFI_ERR(DAT_INVALID_STATE, 0);
	if (!evd->waitable)
		return DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
	if (threshold <= 0 || threshold > evd->qlen)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	/* The completion flags determine the notification: a threshold above 1 is not allowed. */
	if (threshold > 1 && evd->unsignalled_streams)
		return DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			 DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct dofi_evd *evd = dofi_evd_live(handle);
	uint64_t deadline = DOFI_NEVER;
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!event)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!nmore)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (timeout != DAT_TIMEOUT_INFINITE)
		deadline = dofi_now() + DOFI_US(timeout);
	pthread_testcancel();
	dofi_lock(&evd->lock);
	ret = evd_check_wait(evd, threshold);
	if (!ret && evd_make_wake_fd(evd))
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	if (ret) {
		dofi_unlock(&evd->lock);
		return ret;
	}
	ia = evd->obj.ia;
	evd->waiter = true;
	DOFI_COUNT(evd->counts->waits, 1);
	ret = evd_wait_locked(evd, deadline, threshold);
	if (!ret) {
		dofi_evd_pop(evd, event);
		DOFI_COUNT(evd->counts->waits_found, 1);
	}
	*nmore = (DAT_COUNT)dofi_evd_count(evd);
	evd_leave_wait(evd);
	dofi_unlock(&evd->lock);
	/* The EVD may be freed now. */
	if (ret != DOFI_ERR(DAT_ABORT, 0) && dofi_deferred_has_eps(ia))
		dofi_deferred_run(ia);
	return ret;
}
