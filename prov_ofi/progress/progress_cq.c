/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which completion queues the progress thread blocks on, and which it leaves to their
 * consumers, and how long.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "data/cq.h"
#include "object/progress_key.h"
#include "progress/progress_cq.h"

/* Ticks become longer after this many consecutive ticks with active consumers. */
#define CALM_TICKS 16
#define LONG_TICK_MS 4
/* On RDMA devices, and while all consumers wait, the tick grows by 4x up to this limit: a tick
 * costs polling programs that occupy all processors some hundred microseconds, and one every 4 ms
 * is more than one percent of a slow processor. */
#define LONGEST_TICK_MS 256
/* A consumer is polling if it reads at least BUSY_POLLS times, at an average interval of BUSY_GAP.
 * Its data is copied inside its calls, at 2 GB/s or more, and it cannot poll meanwhile. A post that
 * copies much counts as reads. */
#define BUSY_POLLS 4
#define BUSY_GAP DOFI_US(50)
#define COPY_TIME(bytes) ((bytes) / 2)
/* Fewer reads than BUSY_POLLS are inconclusive before this time has passed. */
#define BUSY_LOOK DOFI_MS(DOFI_TICK_MS)
/* A device makes progress itself: a consumer that polls its EVD occasionally gets the completions.
 * A thread woken by each of them would only compete for the processor, and so do ticks if polling
 * consumers occupy all processors. The same applies to the EVD of the collectives, whose consumers
 * share the processors with those that they wait for, and so poll seldom. */
#define DEVICE_GAP DOFI_MS(LONG_TICK_MS)
#define STALL_TICK_MS 40
/* No consumer waits for the completions of a covered queue; they are read at this interval. */
#define COVERED_TICK_MS 10

/* False: the kernel rejects epoll sets that are nested too deeply. */
static bool progress_arm_cq(struct dofi_ia *ia, struct dofi_evd *evd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	ev.data.u64 = dofi_progress_key(evd, DOFI_KEY_EVD);
	if (epoll_ctl(ia->prog.epfd, EPOLL_CTL_ADD, evd->cq_fd, &ev) && errno != EEXIST)
		return false;
	evd->progress = DOFI_EVD_ARMED;
	return true;
}

/* True if a consumer has read the CQ often since the last check. One that reads it occasionally,
 * while it spins on memory that a peer writes, cannot be relied on for progress. */
static bool progress_polled_often(struct dofi_evd *evd, uint64_t now)
{
	uint32_t polls = dofi_evd_polls(evd);
	uint64_t moved = DOFI_COUNT_READ(evd->bytes_completed);
	uint64_t posted = atomic_load_explicit(&evd->bytes_posted, memory_order_relaxed);
	uint64_t n = polls - evd->seen_polls + (posted - evd->seen_posted) / DOFI_LONG_COPY;
	uint64_t copying = COPY_TIME(moved - evd->seen_completed);
	uint64_t elapsed = now - evd->last_check;
	bool busy;

	if (evd->obj.ia->prog.automatic || evd == evd->obj.ia->coll_evd)
		busy = n && elapsed < n * DEVICE_GAP;
	else if (n < BUSY_POLLS)
		busy = n && elapsed < copying;
	else
		busy = elapsed < n * BUSY_GAP + copying;
	if (!busy && n < BUSY_POLLS && elapsed < BUSY_LOOK)
		return false;
	evd->seen_polls = polls;
	evd->seen_posted = posted;
	evd->seen_completed = moved;
	evd->last_check = now;
	return busy;
}

/* True if a consumer makes progress on this CQ. A consumer with a CNO is not expected to. */
static bool progress_consumer_active(struct dofi_evd *evd)
{
	bool often = progress_polled_often(evd, dofi_now()), waiter, cno;

	/* A thread is inside: a consumer that receives much data reads seldom; do not block on its
	 * lock. A wrong guess is corrected at the next tick. */
	if (!dofi_trylock(&evd->lock))
		return true;
	waiter = evd->waiter || evd->borrowers;
	cno = evd->cno != NULL;
	dofi_unlock(&evd->lock);
	return waiter || (often && !cno);
}

/* True if for each endpoint of this CQ a consumer polls its other CQ, which makes progress in both
 * directions. Blocking on this CQ would wake the thread for arrivals that the consumer handles. */
static bool progress_is_covered(struct dofi_ia *ia, struct dofi_evd *evd)
{
	struct dofi_list *pos;
	bool any = false, all = true, cno;

	dofi_lock(&evd->lock);
	cno = evd->cno != NULL;
	dofi_unlock(&evd->lock);
	if (cno)
		return false; /* its completions must be noticed at once */
	pthread_mutex_lock(&ia->obj_lock);
	dofi_list_each(pos, &ia->objs[DAT_HANDLE_TYPE_EP])
	{
		const struct dofi_ep *ep = dofi_container(pos, struct dofi_ep, obj.link);
		const struct dofi_evd *other = ep->recv_evd == evd ? ep->req_evd : ep->recv_evd;

		if (ep->recv_evd != evd && ep->req_evd != evd)
			continue;
		any = true;
		all = other != evd && other->progress == DOFI_EVD_CONSUMER_POLLED &&
		      !other->covered_by_peer_cq;
		if (!all)
			break;
	}
	pthread_mutex_unlock(&ia->obj_lock);
	return any && all;
}

/* Reads the CQ until blocking on its descriptor is permitted. */
static void progress_take_over_cq(struct dofi_ia *ia, struct dofi_evd *evd)
{
	for (int i = evd->empty_polls ? 2 : 0; i < 3; i++) {
		unsigned int n = dofi_evd_service(evd);
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
		if (n)
			i = -1;
	}
	/* fi_trywait refuses, but there is nothing to read (see api/evd_wait.c): check at
	 * intervals. */
	dofi_evd_disarm(evd, DOFI_EVD_STALLED);
	DOFI_COUNT_SHARED(ia->counts->stalls, 1);
	evd->next_check =
		dofi_now() + DOFI_MS(evd->empty_polls < 6 ? 1u << evd->empty_polls : STALL_TICK_MS);
	evd->empty_polls++;
}

static int progress_tick_ms(const struct dofi_ia *ia)
{
	uint32_t longer = ia->prog.idle_rounds;

	if (!ia->prog.automatic) {
		if (ia->prog.idle_rounds < CALM_TICKS)
			return DOFI_TICK_MS;
		longer = ia->prog.waiting_rounds;
	}
	return longer < 3 ? LONG_TICK_MS << 2 * longer : LONGEST_TICK_MS;
}

/* True if ticks are so long that a wakeup must shorten them. */
static bool progress_has_long_tick(const struct dofi_ia *ia)
{
	return ia->prog.consumer_polled &&
	       ia->prog.idle_rounds >= (ia->prog.automatic ? 1 : CALM_TICKS);
}

/* A consumer is active: does not check the CQ before the next tick. */
static void progress_leave_to_consumer(struct dofi_ia *ia, struct dofi_evd *evd, uint64_t now,
				       bool is_covered)
{
	evd->covered_by_peer_cq = is_covered;
	dofi_evd_disarm(evd, DOFI_EVD_CONSUMER_POLLED);
	/* Slightly less than the timeout, so that the CQ is due in the next round. */
	evd->next_check =
		now - DOFI_US(100) + DOFI_MS(is_covered ? COVERED_TICK_MS : progress_tick_ms(ia));
}

/* Reads the completions of a covered queue. If there are none while all consumers wait, the thread
 * takes the queue over, because the consumer that covers it blocks, too. */
static void progress_serve_covered(struct dofi_ia *ia, struct dofi_evd *evd, uint64_t now)
{
	if (!dofi_evd_service(evd) && ia->prog.waiting_rounds)
		progress_take_over_cq(ia, evd);
	else
		progress_leave_to_consumer(ia, evd, now, true);
}

/* Checks a CQ that is not armed. True: it is armed now. */
static bool progress_check_cq(struct dofi_ia *ia, struct dofi_evd *evd, uint64_t now, bool wakeup)
{
	if (evd->progress != DOFI_EVD_UNKNOWN && now < evd->next_check && !wakeup)
		return false;
	if (progress_consumer_active(evd)) {
		progress_leave_to_consumer(ia, evd, now, false);
		return false;
	}
	if (progress_is_covered(ia, evd)) {
		progress_serve_covered(ia, evd, now);
		return false;
	}
	progress_take_over_cq(ia, evd);
	return evd->progress == DOFI_EVD_ARMED;
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

/* True if each consumer-polled CQ that is not covered has a waiter, which sends a wakeup when it
 * returns. */
static bool progress_all_consumers_wait(struct dofi_ia *ia)
{
	struct dofi_list *pos;
	bool all = true;

	dofi_list_each(pos, &ia->evds)
	{
		struct dofi_evd *evd = dofi_container(pos, struct dofi_evd, link);

		if (evd->progress != DOFI_EVD_CONSUMER_POLLED || evd->covered_by_peer_cq)
			continue;
		dofi_lock(&evd->lock);
		all = evd->waiter || evd->borrowers;
		dofi_unlock(&evd->lock);
		if (!all)
			break;
	}
	return all;
}

int dofi_progress_check_cqs(struct dofi_ia *ia, bool wakeup)
{
	uint64_t now = dofi_now();
	uint64_t next = DOFI_NEVER;
	bool consumer_polled = false, took = false, automatic = ia->prog.automatic;
	struct dofi_list *pos;

	DOFI_ASSERT_LOCKED(&ia->prog_lock);
	/* Reset first: CQs that are checked now must be checked again soon. */
	if (wakeup)
		ia->prog.idle_rounds = 0;
	dofi_list_each(pos, &ia->evds)
	{
		struct dofi_evd *evd = dofi_container(pos, struct dofi_evd, link);

		if (evd->progress != DOFI_EVD_ARMED)
			took |= progress_check_cq(ia, evd, now, wakeup);
		consumer_polled |= evd->progress == DOFI_EVD_CONSUMER_POLLED;
		if ((evd->progress == DOFI_EVD_STALLED ||
		     (evd->progress == DOFI_EVD_CONSUMER_POLLED && evd->covered_by_peer_cq &&
		      !automatic)) &&
		    evd->next_check < next)
			next = evd->next_check;
	}
	ia->prog.idle_rounds = took || wakeup ? 0 : ia->prog.idle_rounds + 1;
	ia->prog.consumer_polled = consumer_polled;
	atomic_store_explicit(&ia->prog.long_tick, progress_has_long_tick(ia),
			      memory_order_relaxed);
	/* After that store: a waiter that is seen here reads it when it returns. */
	ia->prog.waiting_rounds = !automatic && progress_has_long_tick(ia) &&
						  progress_all_consumers_wait(ia)
					  ? ia->prog.waiting_rounds + 1
					  : 0;
	return dofi_progress_timeout(next, consumer_polled ? progress_tick_ms(ia) : -1);
}

void dofi_progress_cq_ready(struct dofi_ia *ia, struct dofi_evd *evd)
{
	DOFI_ASSERT_LOCKED(&ia->prog_lock);
	/* The EVD may have been freed since epoll returned, and be another adapter's. */
	if (evd->obj.ia != ia || evd->progress != DOFI_EVD_ARMED || !evd->cq)
		return;
	if (progress_consumer_active(evd)) {
		ia->prog.idle_rounds = 0;
		progress_leave_to_consumer(ia, evd, dofi_now(), false);
	} else if (progress_is_covered(ia, evd)) {
		ia->prog.waiting_rounds = 0;
		progress_serve_covered(ia, evd, dofi_now());
	} else {
		progress_take_over_cq(ia, evd);
	}
}
