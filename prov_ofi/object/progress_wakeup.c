/* SPDX-License-Identifier: BSD-2-Clause */
/* Wakes the progress thread, and identifies it. */
#include "base/eventfd.h"
#include "object/progress_wakeup.h"

void dofi_progress_wakeup(struct dofi_ia *ia)
{
	if (!atomic_exchange(&ia->prog.wakeup_pending, true))
		dofi_eventfd_set(ia->prog.wakeup_fd);
}

bool dofi_progress_is_me(struct dofi_ia *ia)
{
	/* Not a thread-local variable: gcc 12's leak checker fails on those of libraries that are
	 * loaded with dlopen. */
	return atomic_load_explicit(&ia->prog.self, memory_order_relaxed) ==
	       (uintptr_t)pthread_self();
}

static void progress_wakeup_if_long_tick(struct dofi_ia *ia)
{
	if (atomic_load_explicit(&ia->prog.long_tick, memory_order_relaxed))
		dofi_progress_wakeup(ia);
}

void dofi_progress_consumer_left(struct dofi_ia *ia)
{
	if (!ia->prog.automatic)
		progress_wakeup_if_long_tick(ia);
}

void dofi_progress_request_deferred(struct dofi_ia *ia)
{
	if (ia->prog.automatic)
		progress_wakeup_if_long_tick(ia);
}
