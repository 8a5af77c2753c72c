/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: their creation, and their end by their member.
 *
 * Each member connects to all of higher rank and accepts those of lower rank; the group exists when
 * all connections do. A group fails as a whole: a member that loses a connection closes all others,
 * so that every member learns of it, and operations end with an error from then on.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dat_error.h"
#include "base/log.h"
#include "base/param.h"
#include "cm/cm.h"
#include "coll/coll_int.h"

/* Interval of looking for the end of the last messages. */
#define DRAIN_TICK_US 100
/* Bytes of all slots of a group up to which its eager size is not reduced. */
#define SLOTS_MOST (64u << 20)

/* ---- creation ---- */

static void group_log_refusal(const struct coll_group *g, uint32_t rank, const uint8_t *blob)
{
	int version = blob ? dofi_coll_blob_version(blob) : -1;

	if (version >= 0 && version != COLL_VERSION)
		dofi_log(DOFI_LOG_WARN,
			 "refused member %u of collective group %u: its description has version "
			 "%d, expected %d; try: the same release of this library for all members",
			 rank, g->id, version, COLL_VERSION);
	else
		dofi_log(DOFI_LOG_WARN,
			 "refused member %u of collective group %u: expected the description of a "
			 "member on an adapter of the same fabric",
			 rank, g->id);
}

/* Reads the descriptions of the members: all of one fabric, each once. */
static DAT_RETURN group_read_members(struct coll_group *g, const struct coll_group_args *args,
				     uint8_t fabric)
{
	for (uint32_t i = 0; i < g->size; i++) {
		if (!args->members[i] || !dofi_coll_get_blob(args->members[i], &g->idents[i]) ||
		    !dofi_cm_fabrics_match(g->idents[i].fabric, fabric)) {
			group_log_refusal(g, i, args->members[i]);
			return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
		}
		for (uint32_t j = 0; j < i; j++)
			if (!memcmp(g->idents[i].token, g->idents[j].token, COLL_TOKEN))
				return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	}
	return DAT_SUCCESS;
}

/* All members find the same size. */
static void group_choose_eager(struct coll_group *g)
{
	g->eager = COLL_EAGER_MOST;
	for (uint32_t i = 0; i < g->size; i++)
		if (g->idents[i].eager < g->eager)
			g->eager = g->idents[i].eager;
	while (g->eager > COLL_EAGER_LEAST && g->size * COLL_SLOTS * dofi_coll_slot(g) > SLOTS_MOST)
		g->eager = g->eager / 2 < COLL_EAGER_LEAST ? COLL_EAGER_LEAST : g->eager / 2;
}

static bool group_register_slots(struct coll_group *g)
{
	size_t len = (size_t)g->size * COLL_SLOTS * dofi_coll_slot(g);
	struct dofi_lmr_request req = { .mem_type = DAT_MEM_TYPE_VIRTUAL,
					.length = len,
					.internal = true,
					.pz = g->pz,
					.priv = DAT_MEM_PRIV_LOCAL_READ_FLAG |
						DAT_MEM_PRIV_LOCAL_WRITE_FLAG };

	if (g->size == 1)
		return true;
	g->slots = calloc(1, len);
	req.desc.for_va = g->slots;
	return g->slots && !dofi_lmr_make(g->member->coll->ia, &req, &g->slots_lmr);
}

/* Allocates a group without any effect on other objects. */
static DAT_RETURN group_make(struct dofi_coll *coll, const struct coll_group_args *args,
			     struct coll_group **out)
{
	struct coll_group *g = calloc(1, sizeof(*g));
	DAT_RETURN ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);

	if (!g)
		return ret;
	g->id = args->id;
	g->size = (uint32_t)args->size;
	g->self = args->self;
	g->pz = (struct dofi_pz *)args->pz;
	g->context = args->context;
	g->last = &g->first;
	dofi_list_init(&g->link);
	g->idents = calloc(g->size, sizeof(*g->idents));
	g->peers = calloc(g->size, sizeof(*g->peers));
	if (g->idents && g->peers)
		ret = group_read_members(g, args, coll->ia->fab.desc->wire_id);
	if (!ret) {
		g->member = dofi_coll_find_member(coll, g->idents[g->self].token);
		if (!g->member)
			ret = DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
		else if (dofi_coll_find_group(g->member, g->id))
			ret = DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	}
	if (!ret)
		group_choose_eager(g);
	if (!ret && !group_register_slots(g))
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (ret) {
		dofi_coll_group_free(g);
		return ret;
	}
	for (uint32_t i = 0; i < g->size; i++)
		dofi_coll_peer_init(&g->peers[i], g, i);
	*out = g;
	return DAT_SUCCESS;
}

/* Takes what the group needs of other objects; group_detach gives it back. */
static bool group_attach(struct coll_group *g, struct dofi_evd *evd)
{
	struct dofi_coll *coll = g->member->coll;

	g->handle = dofi_obj_new(coll->ia, DOFI_HANDLE_TYPE_COLLECTIVE);
	if (!g->handle)
		return false;
	g->handle->group = g;
	if (!dofi_evd_reserve(evd))
		goto no_event;
	if (!dofi_coll_reserve(coll, g->size))
		goto no_room;
	g->evd = evd;
	evd->feeds++;
	/* A waiter sleeps on the CQ of the collectives, too, after this. */
	dofi_lock(&evd->lock);
	evd->groups++;
	dofi_evd_wake_locked(evd);
	dofi_unlock(&evd->lock);
	g->pz->users++;
	g->member->groups++;
	dofi_list_append(&coll->groups, &g->link);
	return true;
no_room:
	dofi_evd_unreserve(evd);
no_event:
	dofi_obj_release(&g->handle->obj);
	return false;
}

static void group_connect(struct coll_group *g)
{
	long limit = dofi_param(DOFI_NUM_COLL_CREATE_MS);

	if (g->size > 1) {
		if (dofi_coll_timer_add(g))
			dofi_coll_timer_arm(g, limit);
		else
			dofi_coll_fail(g, "no memory for a timer");
	}
	for (uint32_t i = g->self + 1; i < g->size && !g->cause; i++)
		dofi_coll_peer_connect(&g->peers[i], 1000u * (uint64_t)limit);
	dofi_coll_take_waiting(g);
}

DAT_RETURN dofi_coll_create_group(struct dofi_coll *coll, struct dofi_evd *evd,
				  const struct coll_group_args *args)
{
	struct coll_group *g;
	DAT_RETURN ret;

	pthread_mutex_lock(&coll->lock);
	ret = group_make(coll, args, &g);
	if (!ret && !group_attach(g, evd)) {
		dofi_coll_group_free(g);
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	if (!ret) {
		g->clock_start = dofi_now();
		group_connect(g);
		dofi_coll_settle(g);
	}
	dofi_coll_unlock(coll);
	return ret;
}

/* ---- end ---- */

/* True if the other members have everything that this one has sent, and know that it leaves. */
static bool group_has_left(const struct coll_group *g)
{
	for (uint32_t i = 0; i < g->size; i++)
		if (i != g->self && !dofi_coll_peer_idle(&g->peers[i]))
			return false;
	return true;
}

/* Says good-bye, and waits until the last messages have arrived, unless the IA is being closed.
 * Caller holds coll->lock, which is released meanwhile. */
static void group_leave(struct dofi_coll *coll, struct coll_group *g)
{
	uint64_t end = dofi_now() + DOFI_MS(dofi_param(DOFI_NUM_LINGER_MS));

	for (uint32_t i = 0; i < g->size; i++) {
		if (i == g->self)
			continue;
		g->peers[i].bye = g->peers[i].state == COLL_PEER_UP;
		dofi_coll_peer_move(&g->peers[i]);
	}
	dofi_coll_settle(g);
	while (g->state == COLL_READY && !group_has_left(g) && dofi_now() < end &&
	       dofi_ia_live(coll->ia)) {
		dofi_coll_process(coll);
		if (group_has_left(g))
			break;
		dofi_coll_unlock(coll);
		usleep(DRAIN_TICK_US);
		pthread_mutex_lock(&coll->lock);
	}
}

DAT_RETURN dofi_coll_free_group(struct dofi_ia *ia, struct dofi_coll_handle *handle)
{
	struct dofi_coll *coll = ia->coll;
	struct coll_group *g;

	if (!coll)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	pthread_mutex_lock(&coll->lock);
	if (!dofi_obj_remains(&handle->obj, ia) || !dofi_obj_retire(&handle->obj)) {
		dofi_coll_unlock(coll);
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	}
	g = handle->group;
	/* Operations that are not over end with an error, at the other members as well. */
	if (g->state == COLL_READY && !g->first)
		group_leave(coll, g);
	dofi_coll_group_remove(g);
	dofi_coll_unlock(coll);
	return DAT_SUCCESS;
}
