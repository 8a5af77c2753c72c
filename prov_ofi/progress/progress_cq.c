/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides who drives the completion queues: consumers, who have a lease, or the progress thread.
 *
 * A consumer that reads a CQ drives all connections of the adapter, so the thread blocks on none
 * meanwhile. Calls of consumers store the time; when a period has passed since, the thread takes
 * all CQs over. When an event wakes it and a consumer has called since the last event, it leaves
 * the CQs for a short period, and for longer ones if the consumer still calls. The end of a period
 * is a timer that consumers restart while they poll (dofi_progress_renew_lease).
 * docs/architecture.md has the states.
 *
 * A thread that waits for an EVD owns its CQ. One with a CNO is never left to consumers, whose call
 * may be dat_cno_wait, and that of the collectives only while it is read itself.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "data/cq.h"
#include "object/progress_key.h"
#include "object/progress_wakeup.h"
#include "progress/progress_cq.h"

/* While consumers extend the lease, the thread reads at this interval the completions of CQs that
 * they do not read. */
#define SWEEP_PERIODS 18
/* The first period of a lease is this part of the longest; each is twice as long as the one before.
 */
#define FIRST_PART 8
/* Kinds of events that consumers may handle themselves. */
#define REASONS (1u << DOFI_KEY_EVD | 1u << DOFI_KEY_AMO)
/* Most calls, and the longest time, between two leases if consumers use none. */
#define PASS_MOST 2047u
#define PASS_TIME DOFI_MS(2)
#define STALL_TICK_MS 40
/* Most of the time for which a CQ is read in one round. */
#define TAKE_OVER_MOST DOFI_MS(2)

/* False: the kernel rejects epoll sets that are nested too deeply. */
static bool progress_arm_cq(struct dofi_ia *ia, struct dofi_evd *evd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (evd->progress == DOFI_EVD_ARMED)
		return true;
	ev.data.u64 = dofi_progress_key(evd, DOFI_KEY_EVD);
	if (epoll_ctl(ia->prog.epfd, EPOLL_CTL_ADD, evd->cq_fd, &ev) && errno != EEXIST)
		return false;
	evd->progress = DOFI_EVD_ARMED;
	return true;
}

/* Reads the CQ until blocking on its descriptor is permitted, but not for long: where threads post
 * as fast as this one reads, the other work of a round would have to wait. */
static void progress_take_over_cq(struct dofi_ia *ia, struct dofi_evd *evd)
{
	uint64_t end = 0;

	for (int i = evd->empty_polls ? 2 : 0; i < 3; i++) {
		unsigned int n = dofi_evd_service(evd, &ia->prog.requests);
		bool may_sleep;

		dofi_lock(&evd->lock);
		may_sleep = dofi_cq_may_sleep(evd);
		dofi_unlock(&evd->lock);
		if (may_sleep) {
			evd->empty_polls = 0;
			if (!progress_arm_cq(ia, evd)) {
				dofi_evd_disarm(evd, DOFI_EVD_STALLED);
				evd->next_check = dofi_now() + DOFI_MS(1);
			}
			return;
		}
		if (!n)
			continue;
		i = -1;
		if (!end)
			end = dofi_now() + TAKE_OVER_MOST;
		if (atomic_load(&ia->prog.stop) || dofi_now() >= end) {
			dofi_evd_disarm(evd, DOFI_EVD_STALLED);
			evd->next_check = 0;
			return;
		}
	}
	/* fi_trywait refuses, but there is nothing to read (see api/evd_wait.c): check at
	 * intervals. */
	dofi_evd_disarm(evd, DOFI_EVD_STALLED);
	DOFI_COUNT_SHARED(ia->counts->stalls, 1);
	evd->next_check =
		dofi_now() + DOFI_MS(evd->empty_polls < 6 ? 1u << evd->empty_polls : STALL_TICK_MS);
	evd->empty_polls++;
}

/* True if a thread is inside a call that reads the CQ, for example because it copies much. */
static bool progress_is_read_now(struct dofi_evd *evd)
{
	if (!dofi_trylock(&evd->lock))
		return true;
	dofi_unlock(&evd->lock);
	return false;
}

/* The next call of a consumer looks at the clock. */
static void progress_request_looks(struct dofi_ia *ia)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &ia->evds)
	{
		struct dofi_evd *evd = dofi_container(pos, struct dofi_evd, link);

		if (!dofi_trylock(&evd->lock))
			continue;
		dofi_evd_look_next(evd);
		dofi_unlock(&evd->lock);
	}
}

/* Reads the completions that no consumer has read in the last period; posted operations, or the end
 * of a connection, may depend on them. */
static void progress_sweep(struct dofi_ia *ia)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &ia->evds)
	{
		struct dofi_evd *evd = dofi_container(pos, struct dofi_evd, link);

		if (evd->progress == DOFI_EVD_LEFT && !evd->polled && !progress_is_read_now(evd))
			dofi_evd_service(evd, NULL);
	}
}

/* Determines which CQs consumers have read since the last look. Returns how often. */
static uint32_t progress_count_calls(struct dofi_ia *ia)
{
	struct dofi_list *pos;
	uint32_t calls = 0;

	dofi_list_each(pos, &ia->evds)
	{
		struct dofi_evd *evd = dofi_container(pos, struct dofi_evd, link);
		uint32_t polls = dofi_evd_polls(evd);

		evd->polled = polls != evd->seen_polls;
		calls += polls - evd->seen_polls;
		evd->seen_polls = polls;
	}
	return calls;
}

/* True if calls before an event gain no lease: each lease that was not used makes the thread pass
 * over twice as many calls, but for PASS_TIME only. A consumer that spins on memory makes a few for
 * each event, and one that takes the completions of a window as many as it has posted. */
static bool progress_passes_over(struct dofi_progress *p, uint32_t calls, uint64_t now)
{
	p->passed += calls;
	if (p->passed <= p->pass && now - p->tried_at < PASS_TIME)
		return true;
	p->passed = 0;
	p->tried_at = now;
	p->pass = p->pass < PASS_MOST ? 2 * p->pass + 1 : PASS_MOST;
	return false;
}

/* The end of the period is `end`. */
static void progress_start_period(struct dofi_ia *ia, uint64_t period, uint64_t end, uint64_t now)
{
	atomic_store(&ia->prog.period, period);
	atomic_store(&ia->prog.extend_until, now + SWEEP_PERIODS * dofi_progress_period(ia));
	atomic_store(&ia->prog.extend_at, end - period + DOFI_EXTEND_AFTER(period));
	dofi_progress_set_timer(ia, end - now);
}

static void progress_end_lease(struct dofi_ia *ia)
{
	atomic_store(&ia->prog.extend_at, DOFI_NEVER);
	atomic_store(&ia->prog.period, 0);
	dofi_progress_set_timer(ia, 0);
}

/* When a consumer has used the lease last: now, if a thread is inside a call that reads a CQ. */
static uint64_t progress_used_at(struct dofi_ia *ia, uint64_t now)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &ia->evds)
	{
		if (progress_is_read_now(dofi_container(pos, struct dofi_evd, link)))
			return now;
	}
	return atomic_load(&ia->prog.used_at);
}

/* The timer has expired. The next period begins when the lease has been used last. */
static void progress_continue_lease(struct dofi_ia *ia, uint32_t calls)
{
	uint64_t now = dofi_now(), used_at = progress_used_at(ia, now);
	uint64_t longest = dofi_progress_period(ia), first = longest / FIRST_PART;
	uint64_t period = atomic_load(&ia->prog.period);

	if (!period)
		period = first; /* the timer was started by the end of a wait */
	/* A period may pass between two looks of calls at the clock: a short one, or any after many
	 * calls in quick succession. */
	if (calls && used_at <= now - period) {
		progress_request_looks(ia);
		if (period == longest) {
			progress_start_period(ia, first, now + first, now);
			progress_sweep(ia);
			return;
		}
		/* The call was made at the beginning of the period at the earliest. */
		used_at = now - period + 1;
	}
	if (now >= used_at + period) {
		progress_end_lease(ia);
		return;
	}
	/* A consumer that spins on memory has called in the first period, too: it takes the
	 * completion of the event. */
	if (period > first)
		ia->prog.pass = 0;
	period = 2 * period < longest ? 2 * period : longest;
	progress_start_period(ia, period, used_at + period, now);
	progress_sweep(ia);
}

/* The lease is continued, or ends, when the timer expires. It is granted for an event that
 * consumers may handle themselves, if they have called before it. Requests that the thread has
 * completed count as calls. Its first period begins at the end of the round: a round may take as
 * long as the period, and the processor that a consumer needs to use the lease. */
void dofi_progress_look(struct dofi_ia *ia, unsigned int kinds)
{
	uint64_t now, period = dofi_progress_period(ia) / FIRST_PART;
	bool timer = kinds & 1u << DOFI_KEY_TIMER;
	uint32_t calls;

	DOFI_ASSERT_LOCKED(&ia->prog_lock);
	if (!timer && (atomic_load(&ia->prog.period) || !(kinds & REASONS)))
		return;
	calls = progress_count_calls(ia);
	if (timer) {
		progress_continue_lease(ia, calls);
		return;
	}
	/* A consumer that posts a window makes no other call meanwhile. */
	calls += ia->prog.requests;
	ia->prog.requests = 0;
	now = dofi_now();
	if (calls && (ia->prog.automatic || !progress_passes_over(&ia->prog, calls, now))) {
		progress_start_period(ia, period, now + period, now);
		ia->prog.granted = true;
	}
}

/* Only the timer: calls may have renewed the lease, or requested the end of the period. */
void dofi_progress_begin_lease(struct dofi_ia *ia)
{
	if (ia->prog.granted)
		dofi_progress_set_timer(ia, atomic_load(&ia->prog.period));
	ia->prog.granted = false;
}

/* True if a consumer has read the CQ since the look before last, or since the last one: while a
 * lease is extended, looks are many calls apart. */
static bool progress_was_read(const struct dofi_evd *evd)
{
	return evd->polled || dofi_evd_polls(evd) != evd->seen_polls;
}

/* True: the CQ is left to consumers. An armed one is read first, since a consumer that spins on
 * memory, which the event may change, does not read it. */
static bool progress_leaves_cq(struct dofi_ia *ia, struct dofi_evd *evd)
{
	bool leased = atomic_load(&ia->prog.period), waits, cno;

	if (!leased)
		dofi_lock(&evd->lock);
	else if (!dofi_trylock(&evd->lock))
		return true;
	waits = evd->waiter || evd->borrowers;
	if (waits) {
		/* A borrower looks for this after it has left. */
		atomic_store(&ia->prog.left_to_waiter, true);
		waits = evd->waiter || evd->borrowers;
	}
	cno = evd->cno != NULL;
	dofi_unlock(&evd->lock);
	if (waits)
		return true;
	if (!leased || cno || (evd == ia->coll_evd && !progress_was_read(evd)))
		return false;
	if (evd->progress == DOFI_EVD_ARMED)
		dofi_evd_service(evd, NULL);
	return true;
}

static void progress_check_cq(struct dofi_ia *ia, struct dofi_evd *evd)
{
	if (progress_leaves_cq(ia, evd))
		dofi_evd_disarm(evd, DOFI_EVD_LEFT);
	else
		progress_take_over_cq(ia, evd);
}

void dofi_progress_cq_ready(struct dofi_ia *ia, struct dofi_evd *evd)
{
	DOFI_ASSERT_LOCKED(&ia->prog_lock);
	/* The EVD may have been freed since epoll returned, and be another adapter's. */
	if (dofi_obj_ia(&evd->obj) == ia && evd->progress == DOFI_EVD_ARMED && evd->cq)
		progress_check_cq(ia, evd);
}

int dofi_progress_timeout(uint64_t deadline, int ms)
{
	uint64_t now, left;

	if (deadline == DOFI_NEVER)
		return ms;
	now = dofi_now();
	left = deadline > now ? (deadline - now + DOFI_MS(1) - 1) / DOFI_MS(1) : 0;
	if (left > 3600000)
		left = 3600000;
	return ms < 0 || (int)left < ms ? (int)left : ms;
}

int dofi_progress_check_cqs(struct dofi_ia *ia, unsigned int kinds)
{
	bool all = kinds & (1u << DOFI_KEY_WAKEUP | 1u << DOFI_KEY_TIMER);
	uint64_t now = dofi_now(), next = DOFI_NEVER;
	struct dofi_list *pos;

	DOFI_ASSERT_LOCKED(&ia->prog_lock);
	dofi_list_each(pos, &ia->evds)
	{
		struct dofi_evd *evd = dofi_container(pos, struct dofi_evd, link);

		if (evd->progress == DOFI_EVD_STALLED ? all || now >= evd->next_check
						      : all && evd->progress == DOFI_EVD_LEFT)
			progress_check_cq(ia, evd);
		if (evd->progress == DOFI_EVD_STALLED && evd->next_check < next)
			next = evd->next_check;
	}
	return dofi_progress_timeout(next, -1);
}
