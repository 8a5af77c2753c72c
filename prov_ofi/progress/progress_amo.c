/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides whether the progress thread blocks on the sockets of software atomic operations, or
 * leaves them to consumers that poll, which it would only disturb. */
#include <sys/epoll.h>

#include "base/clock.h"
#include "cm/amo_listen.h"
#include "data/amo.h"
#include "object/progress_key.h"
#include "progress/progress_amo.h"
#include "progress/progress_cq.h"

/* A consumer is polling if it has polled at least BUSY_POLLS times, at an average interval of
 * BUSY_GAP, since the last check. */
#define BUSY_POLLS 4
#define BUSY_GAP DOFI_US(50)
/* Interval of the checks while one does. */
#define TICK_MS 4
/* Pause after a lack of descriptors: the peers wait in the kernel's queue. */
#define PAUSE_MS 100

static void amo_arm(struct dofi_ia *ia, int fd, enum dofi_key key, bool on)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = dofi_progress_key(NULL, key) };

	epoll_ctl(ia->prog.epfd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &ev);
}

static bool amo_consumer_polls(struct dofi_amo *amo, uint64_t now)
{
	uint32_t polls = atomic_load_explicit(&amo->polls, memory_order_relaxed);
	uint32_t n = polls - amo->seen_polls;
	bool busy = n >= BUSY_POLLS && now - amo->last_check < n * BUSY_GAP;

	amo->seen_polls = polls;
	amo->last_check = now;
	return busy;
}

void dofi_progress_amo_ready(struct dofi_ia *ia)
{
	uint64_t now = dofi_now();

	DOFI_ASSERT_LOCKED(&ia->prog_lock);
	if (amo_consumer_polls(&ia->amo, now)) {
		amo_arm(ia, ia->amo.epfd, DOFI_KEY_AMO, false);
		ia->amo.armed = false;
		ia->amo.next_check = now + DOFI_MS(TICK_MS);
	}
	dofi_amo_poll(ia, true);
}

void dofi_progress_amo_accept(struct dofi_ia *ia)
{
	DOFI_ASSERT_LOCKED(&ia->prog_lock);
	if (dofi_amo_accept(ia))
		return;
	amo_arm(ia, ia->amo.listen_fd, DOFI_KEY_AMO_LISTENER, false);
	ia->amo.paused = true;
	ia->amo.resume = dofi_now() + DOFI_MS(PAUSE_MS);
}

int dofi_progress_check_amo(struct dofi_ia *ia, int ms)
{
	struct dofi_amo *amo = &ia->amo;
	uint64_t now;

	DOFI_ASSERT_LOCKED(&ia->prog_lock);
	if (!amo->on || (amo->armed && !amo->paused))
		return ms;
	now = dofi_now();
	if (amo->paused && now >= amo->resume) {
		amo->paused = false;
		amo_arm(ia, amo->listen_fd, DOFI_KEY_AMO_LISTENER, true);
	}
	if (!amo->armed && now >= amo->next_check) {
		amo->armed = !amo_consumer_polls(amo, now);
		amo->next_check = now + DOFI_MS(TICK_MS);
		if (amo->armed)
			amo_arm(ia, amo->epfd, DOFI_KEY_AMO, true);
	}
	if (!amo->armed)
		ms = dofi_progress_timeout(amo->next_check, ms);
	return amo->paused ? dofi_progress_timeout(amo->resume, ms) : ms;
}
