/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls for memory windows: creation, binding, query. */
#include <errno.h>
#include <stdlib.h>

#include "data/dto.h"
#include "base/dat_error.h"
#include "fabric/fab_ops.h"
#include "object/rmr.h"
#include "object/version.h"

#define CHANGES (DAT_MEM_PRIV_REMOTE_WRITE_FLAG | DOFI_PRIV_ATOMIC)

static DAT_RETURN rmr_create(DAT_PZ_HANDLE pz_handle, bool for_ep, DAT_RMR_HANDLE *out)
{
	struct dofi_pz *pz = dofi_pz_live(pz_handle);
	struct dofi_rmr *rmr;

	if (!pz)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	rmr = dofi_obj_new(pz->obj.ia, DAT_HANDLE_TYPE_RMR);
	if (!rmr)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	rmr->pz = pz;
	rmr->for_ep = for_ep;
	rmr->dying = false;
	rmr->queued = 0;
	rmr->bound = NULL;
	rmr->bound_ep = NULL;
	pz->users++;
	dofi_obj_publish(&rmr->obj);
	*out = rmr;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *out)
{
	return rmr_create(pz, false, out);
}

DAT_RETURN dofi_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *out)
{
	return rmr_create(pz, true, out);
}

DAT_RETURN dofi_rmr_free(DAT_RMR_HANDLE handle)
{
	struct dofi_rmr *rmr = dofi_rmr_live(handle);
	struct dofi_ia *ia;
	bool mine;

	if (!rmr)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	ia = dofi_obj_ia(&rmr->obj);
	pthread_mutex_lock(&ia->mr_lock);
	mine = dofi_obj_remains(&rmr->obj, ia) && dofi_obj_retire(&rmr->obj);
	pthread_mutex_unlock(&ia->mr_lock);
	if (!mine)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	dofi_rmr_destroy(rmr);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	struct dofi_rmr *rmr = dofi_rmr_live(handle);
	const struct dofi_window *w;
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_IA_HANDLE known;
	struct dofi_ia *ia;

	if (!rmr)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ia = dofi_obj_ia(&rmr->obj);
	known = dofi_api_ia_handle(ia);
	pthread_mutex_lock(&ia->mr_lock);
	if (!dofi_obj_remains(&rmr->obj, ia)) {
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
		goto out;
	}
	w = rmr->bound;
	/* An unbound RMR has no triplet; its other members are zero. */
	if ((mask & ~DAT_RMR_FIELD_ALL) || (!w && (mask & DAT_RMR_FIELD_LMR_TRIPLET))) {
		ret = DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	} else {
		memset(param, 0, sizeof(*param));
		param->ia_handle = known;
		param->pz_handle = rmr->pz;
		if (w) {
			param->lmr_triplet = w->triplet;
			param->mem_priv = w->priv;
			param->rmr_context = w->key;
		}
		dofi_api_rmr_param(rmr, param);
	}
out:
	pthread_mutex_unlock(&ia->mr_lock);
	return ret;
}

/* Translates the triplet's range of the LMR to an address of the process. */
static bool rmr_locate(const struct dofi_lmr *lmr, const DAT_LMR_TRIPLET *t, uint64_t *address)
{
	const struct dofi_region *r = lmr->region;

	*address = t->virtual_address + DOFI_REGION_GET(r->bias);
	return dofi_region_covers(r, t->virtual_address, t->segment_length);
}

static int rmr_open_window(struct dofi_window *w, uint64_t address, const struct dofi_ep *only)
{
	struct dofi_ia *ia = w->rmr->obj.ia;
	struct dofi_region *r = dofi_region_insert(&ia->lmrs, &w->context);
	const struct dofi_mr_request req = { .address = address,
					     .length = w->triplet.segment_length,
					     .priv = w->priv,
					     .context = w->context,
					     .zero_based = w->zero_based,
					     .pz = w->rmr->pz,
					     .only = only,
					     .window = w };
	int ret;

	if (!r)
		return -ENOMEM;
	w->region = r;
	ret = ia->fab.desc->ops->register_mr(ia, &req, &w->mr, &w->key);
	if (ret) {
		dofi_region_remove(&ia->lmrs, r, w->context);
		return ret;
	}
	DOFI_REGION_SET(r->base, w->zero_based ? 0 : address);
	DOFI_REGION_SET(r->bias, w->zero_based ? address : 0);
	DOFI_REGION_SET(r->length, w->triplet.segment_length);
	dofi_region_set_rights(r, w->rmr->pz, w->priv);
	DOFI_REGION_SET(r->desc, fi_mr_desc(w->mr));
	r->lmr = NULL;
	r->window = w;
	w->only = only;
	dofi_region_open(r, w->context);
	return 0;
}

static DAT_RETURN rmr_find_lmr(const struct dofi_bind *b, struct dofi_rmr *rmr,
			       struct dofi_lmr **out)
{
	struct dofi_ia *ia = rmr->obj.ia;
	const struct dofi_region *r;

	if (b->lmr_given) {
		*out = (struct dofi_lmr *)dofi_obj_check(b->lmr, DAT_HANDLE_TYPE_LMR, ia);
		return *out ? DAT_SUCCESS : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	}
	r = dofi_region_find(&ia->lmrs, b->triplet->lmr_context);
	*out = r ? r->lmr : NULL;
	return *out ? DAT_SUCCESS : DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

/* Caller holds ia->mr_lock, so that the LMR cannot be freed meanwhile. */
static DAT_RETURN rmr_make_window(const struct dofi_bind *b, struct dofi_rmr *rmr,
				  const struct dofi_ep *ep, struct dofi_window **out)
{
	DAT_MEM_PRIV_FLAGS remote = b->priv & DOFI_PRIV_REMOTE;
	struct dofi_window *w;
	struct dofi_lmr *lmr;
	uint64_t address;
	DAT_RETURN ret = rmr_find_lmr(b, rmr, &lmr);
	int err;

	DOFI_ASSERT_LOCKED(&rmr->obj.ia->mr_lock);
	if (ret)
		return ret;
	if (lmr->pz != rmr->pz || ep->pz != rmr->pz)
		return DOFI_ERR(DAT_PROTECTION_VIOLATION, 0);
	if (!rmr_locate(lmr, b->triplet, &address))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if ((remote & DAT_MEM_PRIV_REMOTE_READ_FLAG) && !(lmr->priv & DAT_MEM_PRIV_LOCAL_READ_FLAG))
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	if ((remote & CHANGES) && !(lmr->priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	w = calloc(1, sizeof(*w));
	if (!w)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	w->rmr = rmr;
	w->lmr = lmr;
	w->triplet = *b->triplet;
	w->priv = remote;
	w->zero_based = b->zero_based;
	err = rmr_open_window(w, address, rmr->for_ep ? ep : NULL);
	if (err) {
		free(w);
		return err == -EOPNOTSUPP
			       ? dofi_ret(err)
			       : DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	}
	lmr->users++;
	*out = w;
	return DAT_SUCCESS;
}

static DAT_RETURN rmr_prepare(struct dofi_ia *ia, const struct dofi_bind *b, struct dofi_rmr *rmr,
			      struct dofi_ep *ep, struct dofi_window **window)
{
	DAT_RETURN ret = DAT_SUCCESS;

	*window = NULL;
	if (!dofi_obj_remains(&rmr->obj, ia))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	if (rmr->for_ep && rmr->bound_ep && rmr->bound_ep != ep)
		return DOFI_ERR(DAT_PROTECTION_VIOLATION, 0);
	if (b->triplet->segment_length)
		ret = rmr_make_window(b, rmr, ep, window);
	else if (ep->pz != rmr->pz)
		ret = DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!ret)
		rmr->queued++;
	return ret;
}

DAT_RETURN dofi_rmr_do_bind(const struct dofi_bind *b, DAT_RMR_CONTEXT *context)
{
	struct dofi_rmr *rmr = dofi_rmr_live(b->rmr);
	struct dofi_window *window;
	struct dofi_ep *ep;
	struct dofi_ia *ia;
	DAT_RETURN ret;
	uint32_t key;

	if (!rmr)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	ia = dofi_obj_ia(&rmr->obj);
	ep = (struct dofi_ep *)dofi_obj_check(b->ep, DAT_HANDLE_TYPE_EP, ia);
	if (!ep)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!b->triplet)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (b->priv & ~DOFI_PRIV_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER,
				DOFI_API == 12 ? DAT_INVALID_ARG3 : DAT_INVALID_ARG4);
	if (b->unknown_va_type)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	/* Before the zones: an EP that waits for its connection may have no zone yet. */
	ret = dofi_dto_may_bind(ep);
	if (ret)
		return ret;
	pthread_mutex_lock(&ia->mr_lock);
	ret = rmr_prepare(ia, b, rmr, ep, &window);
	pthread_mutex_unlock(&ia->mr_lock);
	if (ret)
		return ret;
	key = window ? window->key : 0;
	ret = dofi_dto_post_bind(ep, rmr, window, b->cookie, b->flags);
	if (ret)
		dofi_rmr_bind_over(rmr, window);
	else if (context)
		*context = key;
	return ret;
}
