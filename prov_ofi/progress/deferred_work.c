/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects deferred work and executes it. */
#include "base/cancel.h"
#include "cm/cm.h"
#include "data/cq.h"
#include "data/dto.h"
#include "progress/progress.h"
#include "object/srq.h"
#include "progress/deferred_work.h"

/* work_lock held. */
static void enlist(struct dofi_ia *ia, struct dofi_ep *ep, uint32_t bits)
{
	if (!atomic_fetch_or(&ep->work, bits))
		dofi_list_append(&ia->work, &ep->work_link);
	atomic_store_explicit(&ia->work_waiting, true, memory_order_release);
}

void dofi_work_add(struct dofi_ep *ep, uint32_t bits)
{
	struct dofi_ia *ia = ep->obj.ia;

	/* Who finds the bits set leaves the work to whoever takes them: that must see what was done
	 * before this, which a load would not ensure. */
	if ((atomic_fetch_or(&ep->work, 0) & bits) == bits)
		return;
	pthread_mutex_lock(&ia->work_lock);
	enlist(ia, ep, bits);
	pthread_mutex_unlock(&ia->work_lock);
}

void dofi_work_cancel(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;

	pthread_mutex_lock(&ia->work_lock);
	dofi_list_remove(&ep->work_link);
	atomic_store(&ep->work, 0);
	pthread_mutex_unlock(&ia->work_lock);
}

static struct dofi_ep *next_ep(struct dofi_ia *ia, uint32_t *bits, uint32_t *life)
{
	struct dofi_ep *ep = NULL;

	pthread_mutex_lock(&ia->work_lock);
	if (!dofi_list_empty(&ia->work)) {
		ep = dofi_container(ia->work.next, struct dofi_ep, work_link);
		dofi_list_remove(&ep->work_link);
		*life = atomic_load(&ep->life);
		*bits = atomic_exchange(&ep->work, 0);
	}
	if (dofi_list_empty(&ia->work))
		atomic_store_explicit(&ia->work_waiting, false, memory_order_release);
	pthread_mutex_unlock(&ia->work_lock);
	return ep;
}

/* Puts back what could not be done now; but whoever held us up may have freed the EP, or reset it,
 * and have looked for it on the list before. */
static void put_back(struct dofi_ia *ia, struct dofi_ep *ep, uint32_t bits, uint32_t life)
{
	pthread_mutex_lock(&ia->work_lock);
	if (dofi_ep_live(ep) && atomic_load(&ep->life) == life)
		enlist(ia, ep, bits);
	pthread_mutex_unlock(&ia->work_lock);
	dofi_progress_ring(ia);
}

#define ENDS (DOFI_WORK_BREAK | DOFI_WORK_DRAINED | DOFI_WORK_FLUSHED)

/* The EP may have been reset, or freed, since the work was taken from the list: what it is
 * connected to now has nothing to do with it. False: cm_lock was busy. */
static bool end_connection(struct dofi_ia *ia, struct dofi_ep *ep, uint32_t bits, uint32_t life)
{
	if (dofi_progress_is_me(ia))
		pthread_mutex_lock(&ia->cm_lock);
	else if (pthread_mutex_trylock(&ia->cm_lock))
		return false;
	if (dofi_ep_live(ep) && atomic_load(&ep->life) == life) {
		if (bits & DOFI_WORK_BREAK)
			dofi_cm_break(ep);
		else if (bits & DOFI_WORK_FLUSHED)
			dofi_cm_flushed(ep);
		if (bits & DOFI_WORK_DRAINED)
			dofi_cm_drained(ep);
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return true;
}

/* False: there is still no memory. The progress thread tries again soon. */
static bool report_rest(struct dofi_ep *ep)
{
	dofi_lock(&ep->lock);
	if (dofi_ep_live(ep))
		dofi_dto_report_rest(ep);
	dofi_unlock(&ep->lock);
	return !(atomic_load(&ep->work) & DOFI_WORK_REPORT);
}

void dofi_work_run(struct dofi_ia *ia)
{
	uint32_t bits = 0, life = 0;
	struct dofi_ep *ep;

	DOFI_NO_CANCEL();
	/* Bounded: what is put back by the way is left to the next run. */
	for (int i = 0; i < 64 && (ep = next_ep(ia, &bits, &life)); i++) {
		if (bits & DOFI_WORK_EQ)
			dofi_cm_progress(ia, dofi_progress_is_me(ia));
		if (bits & DOFI_WORK_SUBMIT) {
			dofi_lock(&ep->lock);
			if (dofi_ep_live(ep))
				dofi_dto_submit(ep);
			dofi_unlock(&ep->lock);
		}
		if ((bits & DOFI_WORK_REPORT) && !report_rest(ep))
			return;
		if (bits & DOFI_WORK_MARKS)
			dofi_srq_raise(ep);
		if ((bits & ENDS) && !end_connection(ia, ep, bits, life)) {
			put_back(ia, ep, bits & ENDS, life);
			return;
		}
	}
}

void dofi_work_unstall(struct dofi_evd *evd)
{
	dofi_lock(&evd->lock);
	evd->stalled = false;
	dofi_evd_wake_locked(evd);
	dofi_unlock(&evd->lock);
	dofi_progress_ring(evd->obj.ia);
}

void dofi_work_nudge(struct dofi_evd *evd)
{
	if (atomic_load_explicit(&evd->stalled, memory_order_acquire))
		dofi_work_unstall(evd);
	dofi_evd_service(evd);
}
