/* SPDX-License-Identifier: BSD-2-Clause */
/* The timer of a group: ends its creation, then limits how long a long message waits silently. */
#include "coll/coll_int.h"
#include "object/progress_wakeup.h"

/* Caller holds cm_lock; the progress thread handles it after its timers (dofi_coll_process). */
static void timer_expired(struct dofi_timer *timer)
{
	struct coll_group *g = dofi_container(timer, struct coll_group, timer);

	atomic_store(&g->expired, true);
	atomic_store(&g->member->coll->expired, true);
}

bool dofi_coll_timer_add(struct coll_group *g)
{
	struct dofi_ia *ia = g->member->coll->ia;

	pthread_mutex_lock(&ia->cm_lock);
	g->timer_added = !dofi_timer_add(&ia->timers, &g->timer, timer_expired);
	pthread_mutex_unlock(&ia->cm_lock);
	return g->timer_added;
}

void dofi_coll_timer_arm(struct coll_group *g, long ms)
{
	struct dofi_ia *ia = g->member->coll->ia;

	pthread_mutex_lock(&ia->cm_lock);
	dofi_timer_arm(&ia->timers, &g->timer, dofi_now() + DOFI_MS(ms));
	pthread_mutex_unlock(&ia->cm_lock);
	dofi_progress_wakeup(ia);
}

void dofi_coll_timer_cancel(struct coll_group *g)
{
	struct dofi_ia *ia = g->member->coll->ia;

	pthread_mutex_lock(&ia->cm_lock);
	dofi_timer_cancel(&ia->timers, &g->timer);
	pthread_mutex_unlock(&ia->cm_lock);
}

void dofi_coll_timer_drop(struct coll_group *g)
{
	struct dofi_ia *ia = g->member->coll->ia;

	if (!g->timer_added)
		return;
	pthread_mutex_lock(&ia->cm_lock);
	dofi_timer_drop(&ia->timers, &g->timer);
	pthread_mutex_unlock(&ia->cm_lock);
	g->timer_added = false;
}
