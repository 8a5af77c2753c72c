/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects deferred work. */
#include "object/deferred_work.h"

/* Caller holds deferred_lock. */
static void deferred_enlist(struct dofi_ia *ia, struct dofi_ep *ep, uint32_t bits)
{
	DOFI_ASSERT_LOCKED(&ia->deferred_lock);
	if (!atomic_fetch_or(&ep->deferred, bits))
		dofi_list_append(&ia->deferred, &ep->deferred_link);
	atomic_fetch_or(&ia->deferred_pending, DOFI_PENDING_EPS);
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

struct dofi_ep *dofi_deferred_take(struct dofi_ia *ia, uint32_t *bits, uint32_t *life)
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
		atomic_fetch_and(&ia->deferred_pending, ~DOFI_PENDING_EPS);
	pthread_mutex_unlock(&ia->deferred_lock);
	return ep;
}

bool dofi_deferred_is_refused(struct dofi_ia *ia)
{
	struct dofi_list *pos;
	bool refused = true;

	pthread_mutex_lock(&ia->deferred_lock);
	dofi_list_each(pos, &ia->deferred)
	{
		struct dofi_ep *ep = dofi_container(pos, struct dofi_ep, deferred_link);

		refused = refused && atomic_load(&ep->deferred) == DOFI_DEFERRED_SUBMIT;
	}
	pthread_mutex_unlock(&ia->deferred_lock);
	return refused;
}

/* The holder of cm_lock that frees or resets an EP has cleared its work from the list. */
void dofi_deferred_put_back(struct dofi_ia *ia, struct dofi_ep *ep, uint32_t bits, uint32_t life)
{
	pthread_mutex_lock(&ia->deferred_lock);
	if (dofi_ep_live(ep) && atomic_load(&ep->life) == life)
		deferred_enlist(ia, ep, bits);
	pthread_mutex_unlock(&ia->deferred_lock);
}
