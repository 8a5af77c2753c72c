/* SPDX-License-Identifier: BSD-2-Clause */
/* Executes deferred work. */
#include "base/cancel.h"
#include "cm/cm.h"
#include "data/amo.h"
#include "data/cq.h"
#include "data/dto_submit.h"
#include "data/srq_cq.h"
#include "object/deferred_work.h"
#include "object/progress_wakeup.h"
#include "progress/progress.h"

#define ENDS (DOFI_DEFERRED_BREAK | DOFI_DEFERRED_DRAINED | DOFI_DEFERRED_FLUSHED)

/* False: it is busy, and the caller must not wait for it. */
static bool deferred_lock_cm(struct dofi_ia *ia)
{
	if (!dofi_progress_is_me(ia))
		return !pthread_mutex_trylock(&ia->cm_lock);
	pthread_mutex_lock(&ia->cm_lock);
	return true;
}

/* Completions arrived before the event of their connection. False: what follows them waits on, or
 * cm_lock was busy. An EP that has been reset or freed meanwhile has ended the wait. */
static bool deferred_establish(struct dofi_ia *ia, struct dofi_ep *ep, uint32_t life)
{
	bool over = true;

	dofi_cm_progress(ia, dofi_progress_is_me(ia));
	if (!deferred_lock_cm(ia))
		return false;
	if (dofi_ep_live(ep) && atomic_load(&ep->life) == life)
		over = dofi_cm_resume(ep->recv_evd, false);
	pthread_mutex_unlock(&ia->cm_lock);
	return over;
}

/* The EP may have been reset, or freed, since the work was taken from the list: the work does not
 * concern its present connection then. False: cm_lock was busy. */
static bool deferred_end_connection(struct dofi_ia *ia, struct dofi_ep *ep, uint32_t bits,
				    uint32_t life)
{
	if (!deferred_lock_cm(ia))
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

/* False: the fabric still refuses the operations, so they are on the list again. */
static bool deferred_submit(struct dofi_ep *ep)
{
	dofi_lock(&ep->lock);
	if (dofi_ep_live(ep)) {
		dofi_amo_continue(ep);
		dofi_dto_submit(ep);
	}
	dofi_unlock(&ep->lock);
	return !(atomic_load(&ep->deferred) & DOFI_DEFERRED_SUBMIT);
}

void dofi_progress_run_deferred(struct dofi_ia *ia)
{
	uint32_t bits = 0, life = 0;
	struct dofi_ep *ep, *waits = NULL, *refused = NULL;
	bool last = false;

	DOFI_NO_CANCEL();
	/* Bounded: work that is put back meanwhile is left to the next run. */
	for (int i = 0; i < 64 && !last && (ep = dofi_deferred_take(ia, &bits, &life)); i++) {
		if ((bits & DOFI_DEFERRED_EQ) && !deferred_establish(ia, ep, life)) {
			dofi_deferred_put_back(ia, ep, DOFI_DEFERRED_EQ, life);
			/* The thread looks at intervals. */
			if (!dofi_progress_is_me(ia))
				dofi_progress_wakeup(ia);
			if (ep == waits)
				return;
			waits = waits ? waits : ep;
		}
		if ((bits & DOFI_DEFERRED_SUBMIT) && !deferred_submit(ep)) {
			/* Only reading a CQ makes room: a second attempt at once is for nothing. */
			last = ep == refused;
			refused = refused ? refused : ep;
		}
		if ((bits & DOFI_DEFERRED_REPORT) && !deferred_report_rest(ep))
			return;
		if (bits & DOFI_DEFERRED_MARKS)
			dofi_srq_raise(ia, ep);
		if ((bits & ENDS) && !deferred_end_connection(ia, ep, bits, life)) {
			dofi_deferred_put_back(ia, ep, bits & ENDS, life);
			dofi_progress_wakeup(ia);
			return;
		}
	}
}
