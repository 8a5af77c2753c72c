/* SPDX-License-Identifier: BSD-2-Clause */
/* Work that is left to the next poll, and the threads that sleep meanwhile. */
#include "base/thread.h"
#include "msgep/cm/inbox.h"
#include "msgep/pair/pair_int.h"

void pair_touch(struct pair_conn *conn)
{
	struct pair_net *net = pair_net_of(conn->ep->domain);

	dofi_lock(&net->leaf);
	if (dofi_list_empty(&conn->touch))
		dofi_list_append(&net->touched, &conn->touch);
	atomic_store_explicit(&net->has_touched, true, memory_order_relaxed);
	dofi_unlock(&net->leaf);
}

void pair_note_sleeper(struct pair_net *net)
{
	DOFI_ASSERT_LOCKED(&net->leaf);
	if (dofi_thread_is_progress)
		atomic_store_explicit(&net->asleep, true, memory_order_relaxed);
	else
		atomic_store_explicit(&net->waiter, (uintptr_t)pthread_self(),
				      memory_order_relaxed);
}

void pair_leave_work(struct pair_net *net)
{
	bool asleep, waits;

	if (!pair_has_sleeper(net))
		return;
	asleep = atomic_exchange(&net->asleep, false);
	waits = atomic_exchange(&net->waiter, 0) != 0;
	if (asleep || waits)
		msgep_inbox_retry(net->domain);
}
