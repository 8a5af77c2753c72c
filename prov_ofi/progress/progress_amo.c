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

/* Interval of the checks while a consumer polls. */
#define TICK_MS 4
/* Pause after a lack of descriptors: the peers wait in the kernel's queue. */
#define PAUSE_MS 100

static void amo_arm(struct dofi_ia *ia, int fd, enum dofi_key key, bool on)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = dofi_progress_key(NULL, key) };

	epoll_ctl(ia->prog.epfd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &ev);
}

/* True if a consumer has polled since the last check and has the lease (progress_cq.c). */
static bool amo_consumer_polls(struct dofi_ia *ia)
{
	uint32_t polls = atomic_load_explicit(&ia->amo.polls, memory_order_relaxed);
	bool polled = polls != ia->amo.seen_polls;

	ia->amo.seen_polls = polls;
	return polled && atomic_load(&ia->prog.period);
}

void dofi_progress_amo_ready(struct dofi_ia *ia)
{
	DOFI_ASSERT_LOCKED(&ia->prog_lock);
	if (amo_consumer_polls(ia)) {
		amo_arm(ia, ia->amo.epfd, DOFI_KEY_AMO, false);
		ia->amo.armed = false;
		ia->amo.next_check = dofi_now() + DOFI_MS(TICK_MS);
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
		amo->armed = !amo_consumer_polls(ia);
		amo->next_check = now + DOFI_MS(TICK_MS);
		if (amo->armed)
			amo_arm(ia, amo->epfd, DOFI_KEY_AMO, true);
	}
	if (!amo->armed)
		ms = dofi_progress_timeout(amo->next_check, ms);
	return amo->paused ? dofi_progress_timeout(amo->resume, ms) : ms;
}
