/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints of a queue whose transport has reported news of them: of thousands of connections, a
 * poll processes these. (hot) */
#include "msgep/object/cq_eps.h"

void msgep_cq_bind_touch(struct msgep_cq *cq, struct msgep_ep *ep)
{
	struct msgep_touch *t = &ep->touch[ep->touch[0].cq != NULL];

	DOFI_ASSERT_LOCKED(&cq->poll);
	dofi_list_init(&t->link);
	t->ep = ep;
	t->cq = cq;
	t->bound = true;
}

void msgep_cq_unbind_touch(struct msgep_cq *cq, struct msgep_ep *ep)
{
	DOFI_ASSERT_LOCKED(&cq->poll);
	dofi_lock(&cq->touch_lock);
	for (size_t i = 0; i < MSGEP_EP_QUEUES; i++) {
		struct msgep_touch *t = &ep->touch[i];

		if (t->cq != cq)
			continue;
		t->bound = false;
		if (dofi_list_empty(&t->link))
			continue;
		dofi_list_remove(&t->link);
		atomic_fetch_sub_explicit(&cq->n_touched, 1, memory_order_relaxed);
	}
	dofi_unlock(&cq->touch_lock);
}

/* As long as a queue polls all of its endpoints, it finds what they have. */
void msgep_ep_touch(struct msgep_ep *ep)
{
	for (size_t i = 0; i < MSGEP_EP_QUEUES; i++) {
		struct msgep_touch *t = &ep->touch[i];
		struct msgep_cq *cq = t->cq;

		if (!cq || !atomic_load(&cq->has_reported))
			continue;
		dofi_lock(&cq->touch_lock);
		if (t->bound && dofi_list_empty(&t->link)) {
			dofi_list_append(&cq->touched, &t->link);
			atomic_fetch_add_explicit(&cq->n_touched, 1, memory_order_relaxed);
		}
		dofi_unlock(&cq->touch_lock);
	}
}

struct msgep_ep *msgep_cq_next_touched(struct msgep_cq *cq)
{
	struct msgep_touch *t;

	DOFI_ASSERT_LOCKED(&cq->poll);
	dofi_lock(&cq->touch_lock);
	t = dofi_list_pop(&cq->touched, struct msgep_touch, link);
	if (t)
		atomic_fetch_sub_explicit(&cq->n_touched, 1, memory_order_relaxed);
	dofi_unlock(&cq->touch_lock);
	return t ? t->ep : NULL;
}
