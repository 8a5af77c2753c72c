/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes adapters. */
#include <errno.h>
#include <string.h>

#include "object/agent.h"
#include "object/async_evd.h"
#include "base/log.h"
#include "base/param.h"
#include "cm/amo_listen.h"
#include "cm/cm.h"
#include "cm/outage.h"
#include "fabrics/fabrics.h"
#include "cm/half_open.h"
#include "data/srq_cq.h"
#include "object/cno.h"
#include "object/coll_handle.h"
#include "object/ep.h"
#include "base/dat_error.h"
#include "object/limits.h"
#include "object/ia.h"
#include "object/mr.h"
#include "object/progress_wakeup.h"
#include "progress/progress.h"
#include "object/rmr.h"
#include "diag/diag.h"

/* Length of an asynchronous EVD that no consumer has requested. */
#define UNSEEN_ASYNC_QLEN 16

/* Types in the order in which closing destroys them: dependent objects first. */
/* clang-format off */
static const DAT_HANDLE_TYPE close_order[] = {
	DAT_HANDLE_TYPE_CR, DAT_HANDLE_TYPE_RMR, DAT_HANDLE_TYPE_RSP, DAT_HANDLE_TYPE_EP,
	DAT_HANDLE_TYPE_PSP, DOFI_HANDLE_TYPE_CSP, DAT_HANDLE_TYPE_SRQ, DAT_HANDLE_TYPE_LMR,
	DAT_HANDLE_TYPE_PZ, DAT_HANDLE_TYPE_EVD, DAT_HANDLE_TYPE_CNO,
};
/* clang-format on */

static void ia_init_fields(struct dofi_ia *ia, struct dofi_provider *prov)
{
	ia->obj.provider = &prov->vtable;
	ia->count_base = NULL;
	atomic_init(&ia->consumer_handle, NULL);
	for (int i = 0; i < DOFI_KINDS; i++) {
		dofi_list_init(&ia->objs[i]);
		ia->obj_count[i] = 0;
	}
	ia->async_evd = ia->internal_evd = NULL;
	ia->own_async_evd = false;
	ia->query_only = false;
	dofi_list_init(&ia->async_link);
	dofi_list_init(&ia->evds);
	dofi_list_init(&ia->listeners);
	dofi_list_init(&ia->conns);
	dofi_list_init(&ia->ahs);
	ia->ud_hosts = NULL;
	ia->early_ends = false;
	ia->half_opens = NULL;
	ia->probes = 0;
	ia->calls = 0;
	ia->coll = NULL;
	ia->coll_evd = NULL;
	ia->coll_hooks = NULL;
	dofi_list_init(&ia->deferred);
	dofi_list_init(&ia->agents);
	ia->calling = NULL;
	ia->called = 0;
	atomic_init(&ia->has_agents, false);
	ia->deferred_pending = false;
	memset(&ia->timers, 0, sizeof(ia->timers));
	ia->amo.listen_fd = ia->amo.epfd = -1;
	ia->amo.n = ia->amo.port = 0;
	ia->amo.on = ia->amo.armed = ia->amo.paused = false;
	dofi_outage_init(ia);
	dofi_mem_maps_init(&ia->maps);
	dofi_lmr_table_init(&ia->lmrs);
	dofi_conn_ids_init(&ia->conn_ids);
	dofi_keys_init(&ia->keys);
}

static void ia_tear_down(struct dofi_ia *ia)
{
	dofi_async_close(ia);
	dofi_half_open_fini(ia);
	if (ia->internal_evd)
		dofi_evd_destroy(ia->internal_evd);
	ia->internal_evd = NULL;
	dofi_outage_close(ia);
	dofi_amo_close(ia);
	dofi_progress_close(ia);
	dofi_fab_close(&ia->fab);
	dofi_timers_free(&ia->timers);
	dofi_lmr_table_free(&ia->lmrs);
	dofi_mem_maps_close(&ia->maps);
	dofi_conn_ids_free(&ia->conn_ids);
	dofi_keys_free(&ia->keys);
	dofi_count_base_free(&ia->count_base);
	dofi_counter_slot_free(DOFI_COUNTER_IA, ia->counts);
	dofi_ah_free_all(ia);
	dofi_obj_release(&ia->obj);
}

/* Builds the rest on the fabric. */
static int ia_build_rest(struct dofi_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE async_evd)
{
	int ret = dofi_amo_open(ia);

	if (!ret)
		dofi_attr_name(ia);
	if (!ret)
		ret = dofi_outage_watch(ia);
	if (!ret)
		ret = dofi_evd_new(ia, 64, DAT_EVD_DTO_FLAG, NULL, DOFI_EVD_OF_NOBODY,
				   &ia->internal_evd);
	if (!ret)
		ret = dofi_async_open(ia, qlen, async_evd);
	if (!ret)
		ret = dofi_progress_start(ia);
	return ret;
}

static int ia_build(struct dofi_ia *ia, const char *params, DAT_COUNT qlen,
		    DAT_EVD_HANDLE async_evd)
{
	int ret = dofi_progress_open(ia);

	if (!ret) {
		ret = dofi_fab_open(&ia->fab, params);
		if (ret) {
			dofi_diag_fabric_limit(ret);
			return ret;
		}
		ret = ia_build_rest(ia, qlen, async_evd);
	}
	if (ret)
		dofi_diag_open(ret);
	return ret;
}

/* An asynchronous EVD outside this process cannot be reached: *async_evd is set to OUT_OF_SCOPE,
 * and the IA also gets an EVD of its own. The requested length matters only if the consumer
 * receives the new EVD. */
static DAT_RETURN ia_check_async_evd(DAT_COUNT *qlen, DAT_EVD_HANDLE *async_evd)
{
	if (*async_evd == DAT_EVD_ASYNC_EXISTS)
		*async_evd = DAT_EVD_OUT_OF_SCOPE;
	if (*async_evd == DAT_EVD_OUT_OF_SCOPE) {
		*qlen = UNSEEN_ASYNC_QLEN;
		return DAT_SUCCESS;
	}
	if (*async_evd != DAT_HANDLE_NULL)
		return dofi_async_find(*async_evd)
			       ? DAT_SUCCESS
			       : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
	if (*qlen <= 0)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (*qlen > DOFI_MAX_EVD_QLEN)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	return DAT_SUCCESS;
}

static DAT_RETURN ia_open_ia(struct dofi_provider *prov, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			     DAT_IA_HANDLE *out)
{
	unsigned int number = 0;
	struct dofi_ia *ia;
	DAT_RETURN bad;
	int ret;

	if (!prov)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!async_evd)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	bad = ia_check_async_evd(&qlen, async_evd);
	if (bad)
		return bad;
	dofi_obj_init_fork();
	ia = dofi_obj_new(NULL, DAT_HANDLE_TYPE_IA);
	if (!ia)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	dofi_slab_number(&dofi_slabs[DAT_HANDLE_TYPE_IA], ia, &number);
	ia->counts = dofi_counter_slot_new(DOFI_COUNTER_IA, number, number);
	if (!ia->counts) {
		dofi_obj_release(&ia->obj);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	ia_init_fields(ia, prov);
	ret = ia_build(ia, prov->params, qlen,
		       *async_evd == DAT_EVD_OUT_OF_SCOPE ? DAT_HANDLE_NULL : *async_evd);
	if (ret) {
		ia_tear_down(ia);
		dofi_diag_settings(prov->params);
		return ret == -ENOMEM ? dofi_ret(ret)
				      : DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	}
	dofi_diag_ignored(prov->params);
	dofi_diag_legacy(prov->info.ia_name, prov->params, &ia->fab);
	dofi_obj_publish(&ia->obj);
	if (ia->own_async_evd) {
		/* Alive, but not the consumer's: not in the list of objects. */
		atomic_store(&ia->async_evd->obj.magic, DOFI_OBJ_MAGIC(DAT_HANDLE_TYPE_EVD));
		if (*async_evd == DAT_HANDLE_NULL)
			*async_evd = ia->async_evd;
	}
	*out = ia;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			DAT_IA_HANDLE *ia)
{
	return ia_open_ia(dofi_provider_find(name, DAT_FALSE), qlen, async_evd, ia);
}

DAT_RETURN dofi_ia_open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT qlen,
				   DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	return ia_open_ia(dofi_provider_find(name, DAT_TRUE), qlen, async_evd, ia);
}

static bool ia_provider_ep(const struct dofi_cr *cr)
{
	return cr->ep && cr->ep->by_provider;
}

/* True if objects of the consumer remain or other IAs use the asynchronous EVD. */
static bool ia_in_use(struct dofi_ia *ia)
{
	struct dofi_list *pos;
	unsigned int n = 0;

	pthread_mutex_lock(&ia->obj_lock);
	for (int i = 0; i < DOFI_KINDS; i++)
		n += ia->obj_count[i];
	/* Connection requests and the EPs created for them belong to the provider. */
	n -= ia->obj_count[DAT_HANDLE_TYPE_CR];
	dofi_list_each(pos, &ia->objs[DAT_HANDLE_TYPE_CR])
		n -= ia_provider_ep(dofi_container(pos, struct dofi_cr, obj.link));
	pthread_mutex_unlock(&ia->obj_lock);
	return n || (ia->own_async_evd && ia->async_evd->feeds);
}

static void ia_destroy_object(struct dofi_obj *obj)
{
	struct dofi_sp *sp;

	switch ((int)obj->type) {
	case DAT_HANDLE_TYPE_CR:
		dofi_cr_destroy((struct dofi_cr *)obj, DOFI_CM_NO_LISTENER);
		break;
	case DAT_HANDLE_TYPE_PSP:
	case DAT_HANDLE_TYPE_RSP:
	case DOFI_HANDLE_TYPE_CSP:
		sp = (struct dofi_sp *)obj;
		dofi_sp_destroy(sp);
		break;
	case DAT_HANDLE_TYPE_EP:
		dofi_ep_destroy((struct dofi_ep *)obj);
		break;
	case DAT_HANDLE_TYPE_RMR:
		dofi_rmr_destroy((struct dofi_rmr *)obj);
		break;
	case DAT_HANDLE_TYPE_SRQ:
		dofi_srq_destroy((struct dofi_srq *)obj);
		break;
	case DAT_HANDLE_TYPE_LMR:
		dofi_lmr_destroy((struct dofi_lmr *)obj);
		break;
	case DAT_HANDLE_TYPE_EVD:
		dofi_evd_destroy((struct dofi_evd *)obj);
		break;
	case DAT_HANDLE_TYPE_CNO:
		dofi_cno_destroy((struct dofi_cno *)obj);
		break;
	default:
		dofi_obj_release(obj);
		break;
	}
}

static struct dofi_obj *ia_first_of(struct dofi_ia *ia, DAT_HANDLE_TYPE type)
{
	struct dofi_obj *obj = NULL;

	pthread_mutex_lock(&ia->obj_lock);
	if (!dofi_list_empty(&ia->objs[type]))
		obj = dofi_container(ia->objs[type].next, struct dofi_obj, link);
	pthread_mutex_unlock(&ia->obj_lock);
	return obj;
}

static void ia_destroy_all(struct dofi_ia *ia)
{
	struct dofi_obj *obj;
	bool cm;

	/* It outlives the CNOs. */
	if (ia->own_async_evd)
		dofi_evd_set_cno(ia->async_evd, NULL);
	for (size_t i = 0; i < sizeof(close_order) / sizeof(*close_order); i++) {
		DAT_HANDLE_TYPE type = close_order[i];

		cm = type != DAT_HANDLE_TYPE_EVD && type != DAT_HANDLE_TYPE_CNO;
		while ((obj = ia_first_of(ia, type))) {
			if (type == DAT_HANDLE_TYPE_CNO)
				dofi_agent_dismiss((struct dofi_cno *)obj);
			if (cm)
				pthread_mutex_lock(&ia->cm_lock);
			if (dofi_obj_retire(obj))
				ia_destroy_object(obj);
			if (cm)
				pthread_mutex_unlock(&ia->cm_lock);
		}
	}
}

/* The endpoints of collectives end with those. */
static bool ia_keeps(const struct dofi_obj *obj)
{
	const struct dofi_evd *coll = obj->ia->coll_evd;

	return obj->type == DAT_HANDLE_TYPE_EP && coll &&
	       ((const struct dofi_ep *)obj)->req_evd == coll;
}

/* Threads that post or poll without pause would compete with the close for processors and locks.
 * An agent may read EVDs until its call is over. */
static void ia_turn_away(struct dofi_ia *ia)
{
	dofi_obj_withdraw(ia, DAT_HANDLE_TYPE_EP, ia_keeps);
	dofi_obj_withdraw(ia, DAT_HANDLE_TYPE_SRQ, ia_keeps);
	if (!atomic_load(&ia->has_agents))
		dofi_obj_withdraw(ia, DAT_HANDLE_TYPE_EVD, ia_keeps);
}

/* Waits for calls in other threads that create or free objects of the IA. */
static void ia_await_calls(struct dofi_ia *ia)
{
	pthread_mutex_lock(&ia->obj_lock);
	while (ia->calls)
		pthread_cond_wait(&ia->calls_over, &ia->obj_lock);
	pthread_mutex_unlock(&ia->obj_lock);
}

/* Waits for connect calls that probe a host and use the IA meanwhile. */
static void ia_await_probes(struct dofi_ia *ia)
{
	pthread_mutex_lock(&ia->cm_lock);
	while (ia->probes)
		pthread_cond_wait(&ia->probes_done, &ia->cm_lock);
	pthread_mutex_unlock(&ia->cm_lock);
}

DAT_RETURN dofi_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dofi_ia *ia = dofi_ia_live(handle);
	bool by_agent;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (flags == DAT_CLOSE_GRACEFUL_FLAG && ia_in_use(ia))
		return DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	if (!dofi_obj_retire(&ia->obj))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ia_turn_away(ia);
	ia_await_calls(ia);
	dofi_async_retire(ia);
	by_agent = dofi_progress_is_me(ia);
	if (by_agent)
		dofi_progress_detach(ia, ia_tear_down);
	else
		dofi_progress_stop(ia);
	if (ia->coll_hooks)
		atomic_load(&ia->coll_hooks)->close(ia);
	ia_destroy_all(ia);
	ia_await_probes(ia);
	dofi_async_close(ia);
	if (!by_agent)
		ia_tear_down(ia);
	return DAT_SUCCESS;
}
