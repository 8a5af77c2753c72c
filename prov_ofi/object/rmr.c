/* SPDX-License-Identifier: BSD-2-Clause */
/* Bindings of RMRs: putting them into effect, and ending them. */
#include <stdlib.h>

#include "fabric/fab_ops.h"
#include "object/rmr.h"

/* Caller holds ia->mr_lock. */
static void rmr_close_window(struct dofi_window *w)
{
	struct dofi_ia *ia = w->rmr->obj.ia;

	DOFI_ASSERT_LOCKED(&ia->mr_lock);
	dofi_region_remove(&ia->lmrs, w->region, w->context);
	ia->fab.desc->ops->close_mr(ia, w->mr);
	w->lmr->users--;
	free(w);
}

static void rmr_unbind(struct dofi_rmr *rmr)
{
	DOFI_ASSERT_LOCKED(&rmr->obj.ia->mr_lock);
	if (rmr->bound)
		rmr_close_window(rmr->bound);
	rmr->bound = NULL;
	rmr->bound_ep = NULL;
}

static void rmr_release(struct dofi_rmr *rmr)
{
	rmr->pz->users--;
	dofi_obj_release(&rmr->obj);
}

void dofi_rmr_destroy(struct dofi_rmr *rmr)
{
	struct dofi_ia *ia = rmr->obj.ia;
	bool over;

	pthread_mutex_lock(&ia->mr_lock);
	rmr_unbind(rmr);
	rmr->dying = true;
	over = !rmr->queued;
	pthread_mutex_unlock(&ia->mr_lock);
	if (over)
		rmr_release(rmr);
}

void dofi_rmr_take_effect(struct dofi_rmr *rmr, struct dofi_window *window, struct dofi_ep *ep)
{
	struct dofi_ia *ia = rmr->obj.ia;

	DOFI_ASSERT_LOCKED(&ep->lock);
	pthread_mutex_lock(&ia->mr_lock);
	rmr_unbind(rmr);
	if (rmr->dying && window) {
		rmr_close_window(window);
	} else if (window) {
		rmr->bound = window;
		rmr->bound_ep = ep;
	}
	pthread_mutex_unlock(&ia->mr_lock);
}

void dofi_rmr_bind_over(struct dofi_rmr *rmr, struct dofi_window *unopened)
{
	struct dofi_ia *ia = rmr->obj.ia;
	bool last;

	pthread_mutex_lock(&ia->mr_lock);
	if (unopened)
		rmr_close_window(unopened);
	last = !--rmr->queued && rmr->dying;
	pthread_mutex_unlock(&ia->mr_lock);
	if (last)
		rmr_release(rmr);
}

void dofi_rmr_ep_ended(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_list *pos;

	/* Same order as where an LMR is freed. */
	pthread_mutex_lock(&ia->mr_lock);
	pthread_mutex_lock(&ia->obj_lock);
	dofi_list_each(pos, &ia->objs[DAT_HANDLE_TYPE_RMR])
	{
		struct dofi_rmr *rmr = dofi_container(pos, struct dofi_rmr, obj.link);

		if (rmr->bound_ep == ep && rmr->for_ep)
			rmr_unbind(rmr);
		else if (rmr->bound_ep == ep)
			rmr->bound_ep = NULL;
	}
	pthread_mutex_unlock(&ia->obj_lock);
	pthread_mutex_unlock(&ia->mr_lock);
}

/* True if the bind that opens the window has taken effect and the peer may use the window. */
static bool rmr_may_invalidate(const struct dofi_window *w, const struct dofi_ep *ep)
{
	const struct dofi_rmr *rmr = w->rmr;

	return rmr->bound == w && (!rmr->for_ep || rmr->bound_ep == ep);
}

bool dofi_rmr_invalidate(struct dofi_ep *ep, uint32_t key)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_region *r;
	bool done = false;

	pthread_mutex_lock(&ia->mr_lock);
	r = dofi_region_find(&ia->lmrs, ia->fab.desc->ops->find_mr(ia, key));
	if (r && r->pz == ep->pz && r->window) {
		done = rmr_may_invalidate(r->window, ep);
		if (done)
			rmr_unbind(r->window->rmr);
	} else if (r && r->pz == ep->pz && r->lmr) {
		done = dofi_lmr_close_to_peers(r->lmr);
	}
	pthread_mutex_unlock(&ia->mr_lock);
	return done;
}
