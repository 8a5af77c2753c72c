/* SPDX-License-Identifier: BSD-2-Clause */
/* What follows from an event, or from a posted operation: a group has been created, starts rounds,
 * or ends. */
#include <stdlib.h>

#include "base/dat_error.h"
#include "coll/coll_int.h"
#include "data/cq.h"

/* The descriptors of the transport are in the set of the queue on which a thread was last about to
 * sleep. If that were another one, which the progress thread blocks on, each message would wake the
 * thread, which would process it in place of the consumer. */
static void group_watch_transport(struct dofi_evd *evd)
{
	dofi_lock(&evd->lock);
	dofi_cq_may_sleep(evd);
	dofi_unlock(&evd->lock);
}

static void group_created(struct coll_group *g)
{
	group_watch_transport(g->member->coll->evd);
	if (g->timer_added)
		dofi_coll_timer_cancel(g);
	g->state = COLL_READY;
	dofi_obj_publish(&g->handle->obj);
	dofi_coll_report(g, DAT_IB_COLLECTIVE_CREATE_DATA, DAT_OP_SUCCESS, g->handle, g->context,
			 true);
}

/* ---- end ---- */

void dofi_coll_group_free(struct coll_group *g)
{
	if (g->slots_lmr)
		dofi_lmr_free(g->slots_lmr);
	free(g->slots);
	free(g->peers);
	free(g->idents);
	free(g);
}

static void group_detach(struct coll_group *g)
{
	dofi_list_remove(&g->link);
	g->member->coll->peers -= g->size;
	g->member->groups--;
	g->pz->users--;
	/* A waiter does not look at the collectives any more. */
	dofi_lock(&g->evd->lock);
	g->evd->groups--;
	dofi_evd_wake_locked(g->evd);
	dofi_unlock(&g->evd->lock);
	g->evd->feeds--;
	dofi_obj_release(&g->handle->obj);
}

/* Afterwards no connection uses memory of operations. */
static void group_drop_peers(struct coll_group *g)
{
	for (uint32_t i = 0; i < g->size; i++)
		if (i != g->self)
			dofi_coll_peer_destroy(&g->peers[i]);
}

void dofi_coll_group_remove(struct coll_group *g)
{
	dofi_coll_timer_drop(g);
	group_drop_peers(g);
	dofi_coll_ops_fail(g);
	dofi_coll_ops_free(g);
	group_detach(g);
	dofi_coll_group_free(g);
}

void dofi_coll_group_destroy(struct coll_group *g)
{
	dofi_obj_retire(&g->handle->obj);
	dofi_coll_group_remove(g);
}

/* The group has failed: ends connections, then operations. */
static void group_break(struct coll_group *g)
{
	bool creating = g->state == COLL_CREATING;

	g->state = COLL_FAILED;
	group_drop_peers(g);
	if (creating) {
		dofi_coll_report(g, DAT_IB_COLLECTIVE_CREATE_DATA, DAT_IB_COLL_COMP_ERR,
				 DAT_HANDLE_NULL, g->context, true);
		dofi_coll_group_remove(g);
	} else {
		dofi_coll_ops_fail(g);
	}
}

void dofi_coll_settle(struct coll_group *g)
{
	if (g->state == COLL_FAILED)
		return;
	if (!g->cause && g->state == COLL_CREATING && g->up == g->size - 1)
		group_created(g);
	if (!g->cause && g->state == COLL_READY)
		dofi_coll_ops_advance(g);
	if (g->cause)
		group_break(g);
}

DAT_RETURN dofi_coll_op_post(struct coll_op *op)
{
	struct coll_group *g = op->group;

	if (op->no_memory || !dofi_evd_reserve(g->evd)) {
		dofi_coll_op_release(op);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	/* Setting the clock concerns one member only. */
	if (op->type != DAT_IB_COLLECTIVE_CLOCK_SET_STATUS)
		op->seq = g->seq++;
	*g->last = op;
	g->last = &op->next;
	if (g->state == COLL_FAILED)
		dofi_coll_ops_fail(g);
	else if (g->first == op)
		dofi_coll_settle(g);
	return DAT_SUCCESS;
}
