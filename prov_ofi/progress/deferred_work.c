/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects deferred work and executes it. */
#include "base/cancel.h"
#include "cm/cm.h"
#include "data/cq.h"
#include "data/dto.h"
#include "progress/progress.h"
#include "object/srq.h"
#include "progress/deferred_work.h"

/* Caller holds deferred_lock. */
static void deferred_enlist(struct dofi_ia *ia, struct dofi_ep *ep, uint32_t bits)
{
	if (!atomic_fetch_or(&ep->deferred, bits))
		dofi_list_append(&ia->deferred, &ep->deferred_link);
	atomic_store_explicit(&ia->deferred_pending, true, memory_order_release);
}

void dofi_deferred_add(struct dofi_ep *ep, uint32_t bits)
{
	struct dofi_ia *ia = ep->obj.ia;

	/* If the bits are set, the thread that clears them does the work; it must see all earlier
	 * stores of this thread, which a load would not ensure. */
	if ((atomic_fetch_or(&ep->deferred, 0) & bits) == bits)
		return;
	pthread_mutex_lock(&ia->deferred_lock);
	deferred_enlist(ia, ep, bits);
	pthread_mutex_unlock(&ia->deferred_lock);
}

void dofi_deferred_cancel(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;

	pthread_mutex_lock(&ia->deferred_lock);
	dofi_list_remove(&ep->deferred_link);
	atomic_store(&ep->deferred, 0);
	pthread_mutex_unlock(&ia->deferred_lock);
}

static struct dofi_ep *deferred_next_ep(struct dofi_ia *ia, uint32_t *bits, uint32_t *life)
{
	struct dofi_ep *ep = NULL;

	pthread_mutex_lock(&ia->deferred_lock);
	if (!dofi_list_empty(&ia->deferred)) {
		ep = dofi_container(ia->deferred.next, struct dofi_ep, deferred_link);
		dofi_list_remove(&ep->deferred_link);
		*life = atomic_load(&ep->life);
		*bits = atomic_exchange(&ep->deferred, 0);
	}
	if (dofi_list_empty(&ia->deferred))
		atomic_store_explicit(&ia->deferred_pending, false, memory_order_release);
	pthread_mutex_unlock(&ia->deferred_lock);
	return ep;
}

/* Puts back work that could not be done because cm_lock was busy, unless its holder has freed or
 * reset the EP meanwhile and so has cleared it from the list already. */
static void deferred_put_back(struct dofi_ia *ia, struct dofi_ep *ep, uint32_t bits, uint32_t life)
{
	pthread_mutex_lock(&ia->deferred_lock);
	if (dofi_ep_live(ep) && atomic_load(&ep->life) == life)
		deferred_enlist(ia, ep, bits);
	pthread_mutex_unlock(&ia->deferred_lock);
	dofi_progress_wakeup(ia);
}

#define ENDS (DOFI_DEFERRED_BREAK | DOFI_DEFERRED_DRAINED | DOFI_DEFERRED_FLUSHED)

/* The EP may have been reset, or freed, since the work was taken from the list: the work does not
 * concern its present connection then. False: cm_lock was busy. */
static bool deferred_end_connection(struct dofi_ia *ia, struct dofi_ep *ep, uint32_t bits,
				    uint32_t life)
{
	if (dofi_progress_is_me(ia))
		pthread_mutex_lock(&ia->cm_lock);
	else if (pthread_mutex_trylock(&ia->cm_lock))
		return false;
	if (dofi_ep_live(ep) && atomic_load(&ep->life) == life) {
		if (bits & DOFI_DEFERRED_BREAK)
			dofi_cm_break(ep);
		else if (bits & DOFI_DEFERRED_FLUSHED)
			dofi_cm_flushed(ep);
		if (bits & DOFI_DEFERRED_DRAINED)
			dofi_cm_drained(ep);
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return true;
}

/* False: there is still no memory. The progress thread tries again soon. */
static bool deferred_report_rest(struct dofi_ep *ep)
{
	dofi_lock(&ep->lock);
	if (dofi_ep_live(ep))
		dofi_dto_report_rest(ep);
	dofi_unlock(&ep->lock);
	return !(atomic_load(&ep->deferred) & DOFI_DEFERRED_REPORT);
}

void dofi_deferred_run(struct dofi_ia *ia)
{
	uint32_t bits = 0, life = 0;
	struct dofi_ep *ep;

	DOFI_NO_CANCEL();
	/* Bounded: work that is put back meanwhile is left to the next run. */
	for (int i = 0; i < 64 && (ep = deferred_next_ep(ia, &bits, &life)); i++) {
		if (bits & DOFI_DEFERRED_EQ)
			dofi_cm_progress(ia, dofi_progress_is_me(ia));
		if (bits & DOFI_DEFERRED_SUBMIT) {
			dofi_lock(&ep->lock);
			if (dofi_ep_live(ep))
				dofi_dto_submit(ep);
			dofi_unlock(&ep->lock);
		}
		if ((bits & DOFI_DEFERRED_REPORT) && !deferred_report_rest(ep))
			return;
		if (bits & DOFI_DEFERRED_MARKS)
			dofi_srq_raise(ep);
		if ((bits & ENDS) && !deferred_end_connection(ia, ep, bits, life)) {
			deferred_put_back(ia, ep, bits & ENDS, life);
			return;
		}
	}
}

void dofi_deferred_resume_cq(struct dofi_evd *evd)
{
	dofi_lock(&evd->lock);
	evd->stalled = false;
	dofi_evd_wake_locked(evd);
	dofi_unlock(&evd->lock);
	dofi_progress_wakeup(evd->obj.ia);
}

void dofi_deferred_kick_cq(struct dofi_evd *evd)
{
	if (atomic_load_explicit(&evd->stalled, memory_order_acquire))
		dofi_deferred_resume_cq(evd);
	dofi_evd_service(evd);
}
