/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the progress thread: handles events, timers, deferred work and agents. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "object/agent.h"
#include "base/eventfd.h"
#include "base/forkfd.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/thread.h"
#include "cm/cm.h"
#include "cm/outage.h"
#include "data/ud_message.h"
#include "object/coll_handle.h"
#include "object/deferred_work.h"
#include "object/progress_wakeup.h"
#include "progress/progress.h"
#include "progress/progress_amo.h"
#include "progress/progress_cq.h"

#define EVENTS 64
#define SLICE_NS 100000
#define LOST_TICK_MS 100
/* The longest interval at which requests that the fabric has refused are tried again. */
#define RETRY_MOST_MS 512

/* Returns the set of the events' kinds. */
static unsigned int progress_kinds(const struct epoll_event *events, int n)
{
	unsigned int kinds = 0;

	for (int i = 0; i < n; i++)
		kinds |= 1u << (events[i].data.u64 & 7);
	return kinds;
}

static void progress_handle_events(struct dofi_ia *ia, const struct epoll_event *events, int n)
{
	for (int i = 0; i < n; i++) {
		void *obj = (void *)(uintptr_t)(events[i].data.u64 & ~(uint64_t)7);

		switch (events[i].data.u64 & 7) {
		case DOFI_KEY_WAKEUP:
			dofi_eventfd_clear(ia->prog.wakeup_fd);
			/* Not before the read, which would consume a later wakeup; an exchange, so
			 * that the stores of a thread that found it pending are visible here. */
			(void)atomic_exchange(&ia->prog.wakeup_pending, false);
			break;
		case DOFI_KEY_EVD:
			dofi_progress_cq_ready(ia, obj);
			break;
		case DOFI_KEY_UD:
			dofi_ud_receive(obj);
			break;
		case DOFI_KEY_OUTAGE:
			pthread_mutex_lock(&ia->cm_lock);
			dofi_outage_changed(ia);
			pthread_mutex_unlock(&ia->cm_lock);
			break;
		case DOFI_KEY_AMO:
			dofi_progress_amo_ready(ia);
			break;
		case DOFI_KEY_AMO_LISTENER:
			dofi_progress_amo_accept(ia);
			break;
		default:
			break; /* the timer: see the look; the event queue is read in every round */
		}
	}
}

/* fi_trywait must permit blocking on the event queue, too. */
static bool progress_eq_quiet(struct dofi_ia *ia)
{
	struct fid *fid = &ia->fab.eq->fid;

	return !fi_trywait(ia->fab.fabric, &fid, 1);
}

/* How long the thread may leave deferred work, in ms. Requests that the fabric has refused are
 * tried again after each event, because what arrives makes room. The intervals are for a refusal
 * with another reason (no memory), and grow: a sender whose peer takes nothing costs nothing. */
static int progress_retry_ms(struct dofi_ia *ia, int events)
{
	if (events || !dofi_deferred_is_refused(ia))
		ia->prog.retry_ms = DOFI_TICK_MS;
	else if (ia->prog.retry_ms < RETRY_MOST_MS)
		ia->prog.retry_ms *= 2;
	return ia->prog.retry_ms;
}

/* One round of everything; returns how long the thread may sleep, in ms. */
static int progress_round(struct dofi_ia *ia, const struct epoll_event *events, int n)
{
	unsigned int kinds = progress_kinds(events, n);
	uint64_t deadline;
	int ms;

	pthread_mutex_lock(&ia->prog_lock);
	dofi_progress_look(ia, kinds);
	progress_handle_events(ia, events, n);
	ms = dofi_progress_check_amo(ia, dofi_progress_check_cqs(ia, kinds));
	pthread_mutex_unlock(&ia->prog_lock);

	pthread_mutex_lock(&ia->cm_lock);
	dofi_cm_read_events(ia);
	deadline = dofi_timers_run(&ia->timers, dofi_now());
	/* There are events again: read them in the next round, which comes at once unless consumers
	 * poll, who would have to share the processor. */
	if (!progress_eq_quiet(ia))
		ms = atomic_load(&ia->prog.period) ? DOFI_TICK_MS : 0;
	pthread_mutex_unlock(&ia->cm_lock);

	if (dofi_deferred_has_eps(ia))
		dofi_deferred_run(ia);
	dofi_coll_run(ia);
	dofi_agents_run(ia);
	if (dofi_deferred_has_eps(ia)) {
		int retry = progress_retry_ms(ia, n);

		if (ms < 0 || ms > retry)
			ms = retry;
	}
	dofi_progress_begin_lease(ia);
	return dofi_progress_timeout(deadline, ms);
}

struct sched_request { /* struct sched_attr, which not every libc declares */
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* The program may spin on memory that only this thread's work changes, on every processor.
 * Requesting short slices makes the scheduler (EEVDF, Linux 6.12) run it as soon as it wakes; older
 * ones do so anyway, and ignore or refuse the request. */
static void progress_request_short_slices(void)
{
	struct sched_request req;

	memset(&req, 0, sizeof(req));
	req.size = sizeof(req);
	if (syscall(SYS_sched_getattr, 0, &req, sizeof(req), 0) || req.policy != SCHED_OTHER)
		return;
	req.runtime = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &req, 0);
}

/* What is left of a round without descriptors: the numbers may be those of other files. */
static int progress_lost_round(struct dofi_ia *ia)
{
	pthread_mutex_lock(&ia->cm_lock);
	dofi_outage_lost(ia);
	dofi_timers_run(&ia->timers, dofi_now());
	pthread_mutex_unlock(&ia->cm_lock);
	if (dofi_deferred_has_eps(ia))
		dofi_deferred_run(ia);
	dofi_agents_run(ia);
	return LOST_TICK_MS;
}

/* AddressSanitizer (gcc 12) does not unmark the variables of a thread that is cancelled, and
 * reports them when the thread ends. */
#define CANCELLABLE __attribute__((no_sanitize("address")))

/* Sleeps until an event arrives or `ms` have passed. The only cancellation point of the thread. */
static CANCELLABLE int progress_sleep(struct dofi_ia *ia, struct epoll_event *events, int ms)
{
	const struct timespec tick = { 0, ms * 1000000L };
	int n = 0, failed = 0;

	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	if (atomic_load(&ia->prog.lost)) {
		nanosleep(&tick, NULL);
	} else {
		n = epoll_wait(ia->prog.epfd, events, EVENTS, ms);
		failed = n < 0 && errno != EINTR;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	DOFI_COUNT(ia->counts->wakeups, 1);
	/* Events of the program's epoll set are not ours. */
	if ((n > 0 || failed) && dofi_progress_lost(ia))
		n = 0;
	return n < 0 ? 0 : n;
}

static CANCELLABLE void *progress_thread(void *arg)
{
	struct dofi_ia *ia = arg;
	struct epoll_event events[EVENTS];
	int n = 0;

	dofi_thread_is_progress = true;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	atomic_store(&ia->prog.self, (uintptr_t)pthread_self());
	progress_request_short_slices();
	for (;;) {
		int ms = atomic_load(&ia->prog.lost) ? progress_lost_round(ia)
						     : progress_round(ia, events, n);

		/* Read after the wakeup was cleared: it may have been sent for this. */
		if (atomic_load(&ia->prog.stop))
			break;
		n = progress_sleep(ia, events, ms);
	}
	if (ia->prog.end) {
		atomic_store(&ia->prog.self, 0);
		ia->prog.end(ia);
	}
	return NULL;
}

static int progress_watch_fd(struct dofi_ia *ia, int fd, enum dofi_key kind)
{
	struct epoll_event ev = { .events = EPOLLIN };

	ev.data.u64 = dofi_progress_key(NULL, kind);
	return epoll_ctl(ia->prog.epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int progress_start_thread(struct dofi_ia *ia)
{
	sigset_t all, old;
	int ret;

	/* Only the program's threads handle its signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&ia->prog.thread, NULL, progress_thread, ia);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	ia->prog.running = !ret;
	if (!ret)
		pthread_setname_np(ia->prog.thread, "dat-progress");
	return -ret;
}

int dofi_progress_open(struct dofi_ia *ia)
{
	int ret;

	dofi_lock_prepare();
	memset(&ia->prog, 0, sizeof(ia->prog));
	ia->run_deferred = dofi_progress_run_deferred;
	ia->prog.epfd = dofi_forkfd(epoll_create1(EPOLL_CLOEXEC));
	ia->prog.wakeup_fd = dofi_forkfd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	ia->prog.timer_fd = dofi_forkfd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	ia->prog.extend_at = DOFI_NEVER;
	ia->prog.retry_ms = DOFI_TICK_MS;
	if (ia->prog.epfd < 0 || ia->prog.wakeup_fd < 0 || ia->prog.timer_fd < 0)
		ret = -errno;
	else
		ret = progress_watch_fd(ia, ia->prog.wakeup_fd, DOFI_KEY_WAKEUP);
	if (!ret)
		ret = progress_watch_fd(ia, ia->prog.timer_fd, DOFI_KEY_TIMER);
	if (ret)
		dofi_progress_close(ia);
	return ret;
}

void dofi_progress_close(struct dofi_ia *ia)
{
	if (ia->prog.epfd >= 0)
		dofi_forkfd_close(ia->prog.epfd);
	if (ia->prog.wakeup_fd >= 0)
		dofi_forkfd_close(ia->prog.wakeup_fd);
	if (ia->prog.timer_fd >= 0)
		dofi_forkfd_close(ia->prog.timer_fd);
	ia->prog.epfd = ia->prog.wakeup_fd = ia->prog.timer_fd = -1;
}

int dofi_progress_start(struct dofi_ia *ia)
{
	int ret = progress_watch_fd(ia, ia->fab.eq_fd, DOFI_KEY_EQ);

	ia->prog.automatic = ia->fab.auto_progress;
	if (!ret && ia->outage.fd >= 0)
		ret = progress_watch_fd(ia, ia->outage.fd, DOFI_KEY_OUTAGE);
	return ret ? ret : progress_start_thread(ia);
}

void dofi_progress_detach(struct dofi_ia *ia, void (*end)(struct dofi_ia *ia))
{
	pthread_detach(ia->prog.thread);
	ia->prog.running = false;
	ia->prog.end = end;
	atomic_store(&ia->prog.stop, true);
}

void dofi_progress_stop(struct dofi_ia *ia)
{
	if (!ia->prog.running)
		return;
	atomic_store(&ia->prog.stop, true);
	/* Nothing wakes a thread that sleeps on a set which the program has closed. */
	if (dofi_progress_lost(ia))
		pthread_cancel(ia->prog.thread);
	else
		dofi_progress_wakeup(ia);
	pthread_join(ia->prog.thread, NULL);
	ia->prog.self = 0;
	ia->prog.running = false;
}
