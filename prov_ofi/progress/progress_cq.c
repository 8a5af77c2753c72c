/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which completion queues the progress thread blocks on, and which it leaves to their
 * consumers, and how long.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "data/cq.h"
#include "progress/progress_key.h"
#include "progress/progress_cq.h"

/* When consumers have been at work for so many ticks in a row, ticks become longer. */
#define CALM_TICKS 16
#define LONG_TICK_MS 4
/* On a device, and where those who are away ring, they become four times as long each, until then:
 * a tick costs programs that poll some hundred microseconds where they have all processors, and one
 * every 4 ms is more than one percent of a slow processor. */
#define LONGEST_TICK_MS 256
/* A consumer is polling if it reads so many times, each within so long on average. The copying of
 * what it moves takes place inside its calls, at 2 GB/s or more: while it lasts it cannot poll. A
 * post that copies much counts as reads. */
#define BUSY_POLLS 4
#define BUSY_GAP DOFI_US(50)
#define COPY_TIME(bytes) ((bytes) / 2)
/* Fewer reads than BUSY_POLLS say nothing before so much time has gone by. */
#define BUSY_LOOK DOFI_MS(DOFI_TICK_MS)
/* A device makes the progress itself: whoever looks at its EVD now and then takes the completions.
 * A thread that each of them wakes would only get in the way, and so do ticks where consumers that
 * poll have all processors. */
#define DEVICE_GAP DOFI_MS(LONG_TICK_MS)
#define STALL_TICK_MS 40
/* Nobody waits for the completions of a covered queue; they are taken now and then. */
#define COVERED_TICK_MS 10

/* False: the kernel takes no set that holds so many others in each other. */
static bool arm(struct dofi_ia *ia, struct dofi_evd *evd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	ev.data.u64 = dofi_progress_key(evd, DOFI_KEY_EVD);
	if (epoll_ctl(ia->prog.epfd, EPOLL_CTL_ADD, evd->cq_fd, &ev) && errno != EEXIST)
		return false;
	evd->watch = DOFI_WATCH_ARMED;
	return true;
}

static void disarm(struct dofi_ia *ia, struct dofi_evd *evd, enum dofi_evd_watch to)
{
	if (evd->watch == DOFI_WATCH_ARMED)
		epoll_ctl(ia->prog.epfd, EPOLL_CTL_DEL, evd->cq_fd, NULL);
	evd->watch = to;
}

void dofi_watch_end(struct dofi_ia *ia, struct dofi_evd *evd)
{
	disarm(ia, evd, DOFI_WATCH_NEW);
}

/* Has a consumer read the CQ often since the last look? One that does so now and then, while it
 * spins on memory that a peer writes, must not be left to make the progress. */
static bool read_often(struct dofi_evd *evd, uint64_t now)
{
	uint32_t polls = atomic_load_explicit(&evd->polls, memory_order_relaxed);
	uint64_t moved = atomic_load_explicit(&evd->moved, memory_order_relaxed);
	uint64_t posted = atomic_load_explicit(&evd->posted, memory_order_relaxed);
	uint64_t n = polls - evd->seen_polls + (posted - evd->seen_posted) / DOFI_LONG_COPY;
	uint64_t copying = COPY_TIME(moved - evd->seen_moved);
	uint64_t elapsed = now - evd->seen_at;
	bool busy;

	if (evd->obj.ia->fab.row->device)
		busy = n && elapsed < n * DEVICE_GAP;
	else if (n < BUSY_POLLS)
		busy = n && elapsed < copying;
	else
		busy = elapsed < n * BUSY_GAP + copying;
	if (!busy && n < BUSY_POLLS && elapsed < BUSY_LOOK)
		return false;
	evd->seen_polls = polls;
	evd->seen_posted = posted;
	evd->seen_moved = moved;
	evd->seen_at = now;
	return busy;
}

/* Is a consumer making progress on this CQ? One that merely has a CNO is not expected to. */
static bool consumer_at_work(struct dofi_evd *evd)
{
	bool often = read_often(evd, dofi_now()), waiter, cno;

	/* Somebody is inside: a consumer that takes in much data reads seldom, and is not to be
	 * waited for. A wrong guess is put right at the next tick. */
	if (!dofi_trylock(&evd->lock))
		return true;
	waiter = evd->waiter;
	cno = evd->cno != NULL;
	dofi_unlock(&evd->lock);
	return waiter || (often && !cno);
}

/* Every endpoint of this CQ has a consumer at work on its other CQ, which makes the progress of
 * both directions. (libfabric 1.17 wakes both descriptors for whatever arrives.) */
static bool covered(struct dofi_ia *ia, struct dofi_evd *evd)
{
	struct dofi_list *pos;
	bool any = false, all = true, cno;

	dofi_lock(&evd->lock);
	cno = evd->cno != NULL;
	dofi_unlock(&evd->lock);
	if (cno)
		return false;	/* its completions must be noticed at once */
	pthread_mutex_lock(&ia->obj_lock);
	dofi_list_each(pos, &ia->objs[DAT_HANDLE_TYPE_EP]) {
		const struct dofi_ep *ep = dofi_container(pos, struct dofi_ep, obj.link);
		const struct dofi_evd *other =
			ep->recv_evd == evd ? ep->req_evd : ep->recv_evd;

		if (ep->recv_evd != evd && ep->req_evd != evd)
			continue;
		any = true;
		all = other != evd && other->watch == DOFI_WATCH_NAPPING && !other->covered;
		if (!all)
			break;
	}
	pthread_mutex_unlock(&ia->obj_lock);
	return any && all;
}

/* Reads the CQ until its descriptor may be slept on. */
static void take_over(struct dofi_ia *ia, struct dofi_evd *evd)
{
	for (int i = evd->fruitless ? 2 : 0; i < 3; i++) {
		unsigned int n = dofi_evd_service(evd);
		bool may_sleep;

		dofi_evd_enter(evd, ia->fab.bare);
		may_sleep = dofi_cq_may_sleep(evd);
		dofi_evd_leave(evd, ia->fab.bare);
		if (may_sleep) {
			evd->fruitless = 0;
			if (!arm(ia, evd)) {
				disarm(ia, evd, DOFI_WATCH_STALLED);
				evd->look_again = dofi_now() + DOFI_MS(1);
			}
			return;
		}
		if (n)
			i = -1;
	}
	/* libfabric 1.17 (tcp): a message waits for a receive. Until one is posted the
	 * descriptor is of no use; come back now and then. */
	disarm(ia, evd, DOFI_WATCH_STALLED);
	atomic_store(&evd->stalled, true);
	atomic_fetch_add(&ia->stalls, 1);
	evd->look_again = dofi_now() +
			  DOFI_MS(evd->fruitless < 6 ? 1u << evd->fruitless : STALL_TICK_MS);
	evd->fruitless++;
}

static int tick_ms(const struct dofi_ia *ia)
{
	uint32_t longer = ia->prog.calm;

	if (!ia->fab.row->device) {
		if (ia->prog.calm < CALM_TICKS)
			return DOFI_TICK_MS;
		longer = ia->prog.unneeded;
	}
	return longer < 3 ? LONG_TICK_MS << 2 * longer : LONGEST_TICK_MS;
}

/* Are ticks longer than can be waited for? */
static bool dozes(const struct dofi_ia *ia)
{
	return ia->prog.napping &&
	       ia->prog.calm >= (ia->fab.row->device ? 1 : CALM_TICKS);
}

/* A consumer is at work: leave the CQ alone until the next tick. */
static void nap(struct dofi_ia *ia, struct dofi_evd *evd, uint64_t now, bool is_covered)
{
	evd->covered = is_covered;
	disarm(ia, evd, DOFI_WATCH_NAPPING);
	/* A little less than the sleep, so that the next round does not come too early. */
	evd->look_again = now - DOFI_US(100) +
			  DOFI_MS(is_covered ? COVERED_TICK_MS : tick_ms(ia));
}

/* Somebody has to take the completions of a covered queue. When all is quiet it is slept on: who
 * covers it sleeps, too. */
static void serve_covered(struct dofi_ia *ia, struct dofi_evd *evd, uint64_t now)
{
	if (!dofi_evd_service(evd) && ia->prog.unneeded)
		take_over(ia, evd);
	else
		nap(ia, evd, now, true);
}

/* Looks at a CQ that is not armed. True: it is armed now. */
static bool visit(struct dofi_ia *ia, struct dofi_evd *evd, uint64_t now, bool bell)
{
	if (evd->watch != DOFI_WATCH_NEW && now < evd->look_again && !bell)
		return false;
	if (consumer_at_work(evd)) {
		nap(ia, evd, now, false);
		return false;
	}
	if (covered(ia, evd)) {
		serve_covered(ia, evd, now);
		return false;
	}
	evd->stalled = false;
	take_over(ia, evd);
	return evd->watch == DOFI_WATCH_ARMED;
}

int dofi_watch_until(uint64_t deadline, int ms)
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

/* Is a waiter, which rings when it leaves, in each napping CQ that is not covered? */
static bool all_wait(struct dofi_ia *ia)
{
	struct dofi_list *pos;
	bool all = true;

	dofi_list_each(pos, &ia->evds) {
		struct dofi_evd *evd = dofi_container(pos, struct dofi_evd, link);

		if (evd->watch != DOFI_WATCH_NAPPING || evd->covered)
			continue;
		dofi_lock(&evd->lock);
		all = evd->waiter;
		dofi_unlock(&evd->lock);
		if (!all)
			break;
	}
	return all;
}

int dofi_watch_visit(struct dofi_ia *ia, bool bell)
{
	uint64_t now = dofi_now();
	uint64_t next = DOFI_NEVER;
	bool napping = false, took = false, device = ia->fab.row->device;
	struct dofi_list *pos;

	/* First: what is visited now is to be visited again soon. */
	if (bell)
		ia->prog.calm = 0;
	dofi_list_each(pos, &ia->evds) {
		struct dofi_evd *evd = dofi_container(pos, struct dofi_evd, link);

		if (evd->watch != DOFI_WATCH_ARMED)
			took |= visit(ia, evd, now, bell);
		napping |= evd->watch == DOFI_WATCH_NAPPING;
		if ((evd->watch == DOFI_WATCH_STALLED ||
		     (evd->watch == DOFI_WATCH_NAPPING && evd->covered && !device)) &&
		    evd->look_again < next)
			next = evd->look_again;
	}
	ia->prog.calm = took || bell ? 0 : ia->prog.calm + 1;
	ia->prog.napping = napping;
	atomic_store_explicit(&ia->prog.dozing, dozes(ia), memory_order_relaxed);
	/* After that store: who is seen waiting will read it when leaving. */
	ia->prog.unneeded = !device && dozes(ia) && all_wait(ia) ? ia->prog.unneeded + 1 : 0;
	return dofi_watch_until(next, napping ? tick_ms(ia) : -1);
}

void dofi_watch_ready(struct dofi_ia *ia, struct dofi_evd *evd)
{
	/* The EVD may have been freed since epoll returned, and be another adapter's. */
	if (evd->obj.ia != ia || evd->watch != DOFI_WATCH_ARMED || !evd->cq)
		return;
	if (consumer_at_work(evd)) {
		ia->prog.calm = 0;
		nap(ia, evd, dofi_now(), false);
	} else if (covered(ia, evd)) {
		ia->prog.unneeded = 0;
		serve_covered(ia, evd, dofi_now());
	} else {
		take_over(ia, evd);
	}
}
