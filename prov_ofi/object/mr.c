/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements protection zones and memory regions: registration, rights, release. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/dat_error.h"
#include "object/limits.h"
#include "fabric/fab_ops.h"
#include "object/mr.h"
#include "object/version.h"
#include "diag/diag.h"

#define WRITES (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG | DOFI_PRIV_ATOMIC)

/* libfabric has one access right for remote writes and atomic operations, msgep has two. */
static uint64_t mr_fabric_access(const struct dofi_fab *fab, DAT_MEM_PRIV_FLAGS priv)
{
	uint64_t access = 0;

	if (priv & (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		access |= FI_SEND | FI_WRITE;
	if (priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
		access |= FI_RECV | FI_READ;
	if (priv & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= FI_REMOTE_READ;
	if (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= FI_REMOTE_WRITE;
	if (priv & DOFI_PRIV_ATOMIC)
		access |= fab->atomic_access;
	return access;
}

struct fi_mr_attr dofi_mr_attr(const struct dofi_fab *fab, const struct dofi_mr_request *req,
			       struct iovec *iov)
{
	*iov = (struct iovec){ (void *)(uintptr_t)req->address, req->length };
	return (struct fi_mr_attr){ .mr_iov = iov,
				    .iov_count = 1,
				    .access = mr_fabric_access(fab, req->priv),
				    .requested_key = req->context };
}

/* Registers the memory with the fabric if a peer or the device needs it. */
static int mr_register_region(struct dofi_lmr *lmr)
{
	const struct dofi_mr_request req = { .address = lmr->address,
					     .length = lmr->length,
					     .priv = lmr->priv,
					     .context = lmr->context,
					     .zero_based = lmr->zero_based,
					     .pz = lmr->pz };
	struct dofi_ia *ia = lmr->obj.ia;
	uint32_t key = 0;
	int ret = ia->fab.desc->ops->register_mr(ia, &req, &lmr->mr, &key);

	if (ret)
		lmr->mr = NULL;
	DOFI_REGION_SET(lmr->region->desc, lmr->mr ? fi_mr_desc(lmr->mr) : NULL);
	lmr->rmr_context = key;
	return ret;
}

/* Resolves the memory that the description names. */
static DAT_RETURN mr_resolve(struct dofi_ia *ia, const struct dofi_lmr_request *req,
			     struct dofi_lmr *lmr)
{
	struct dofi_lmr *other;
	int ret;

	lmr->length = req->length;
	switch ((int)req->mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
		lmr->address = (uintptr_t)req->desc.for_va;
		break;
	case DAT_MEM_TYPE_LMR:
		other = (struct dofi_lmr *)dofi_obj_check(req->desc.for_lmr_handle,
							  DAT_HANDLE_TYPE_LMR, ia);
		if (!other)
			return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
		lmr->address = other->address;
		lmr->length = other->length;
		break;
	case DAT_MEM_TYPE_SHARED_VIRTUAL:
		if (!req->desc.for_shared_memory.shared_memory_id)
			return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
		lmr->address = (uintptr_t)req->desc.for_shared_memory.virtual_address;
		memcpy(lmr->shared_id, req->desc.for_shared_memory.shared_memory_id,
		       sizeof(lmr->shared_id));
		break;
	default:
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
	if (!lmr->length)
		return DOFI_ERR(DAT_LENGTH_ERROR, 0);
	ret = dofi_mem_check(&ia->maps, lmr->address, lmr->length, req->priv & WRITES,
			     req->mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL);
	if (ret == -EINVAL)
		return DOFI_ERR(DAT_INVALID_STATE, 0);
	if (ret == -EACCES)
		return DOFI_ERR(DAT_PRIVILEGES_VIOLATION,
				req->priv & WRITES ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
	if (ret)
		return DOFI_ERR(DAT_PROTECTION_VIOLATION,
				req->priv & WRITES ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
	return DAT_SUCCESS;
}

/* True if the error means that no more can be registered. The program may access the memory as
 * requested (mr_resolve), so a refusal is that of a process that may lock no memory at all. */
static bool mr_is_limit(int ret)
{
	return ret == -FI_ENOMEM || ret == -EOVERFLOW || ret == -EAGAIN || ret == -EPERM;
}

static DAT_RETURN mr_open_region(struct dofi_ia *ia, struct dofi_lmr *lmr)
{
	struct dofi_region *r = dofi_region_insert(&ia->lmrs, &lmr->context);
	int ret;

	if (!r)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	lmr->region = r;
	ret = mr_register_region(lmr);
	if (ret) {
		dofi_diag_memory(&ia->fab, lmr->length, ret);
		dofi_region_remove(&ia->lmrs, r, lmr->context);
		return mr_is_limit(ret)
			       ? DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION)
			       : dofi_ret(ret);
	}
	DOFI_REGION_SET(r->base, lmr->zero_based ? 0 : lmr->address);
	DOFI_REGION_SET(r->bias, lmr->zero_based ? lmr->address : 0);
	DOFI_REGION_SET(r->length, lmr->length);
	dofi_region_set_rights(r, lmr->pz, lmr->priv);
	r->lmr = lmr;
	r->window = NULL;
	dofi_region_open(r, lmr->context);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_lmr_make(DAT_IA_HANDLE ia_handle, const struct dofi_lmr_request *req,
			 struct dofi_lmr **out)
{
	struct dofi_ia *ia = dofi_ia_live(ia_handle);
	struct dofi_lmr *lmr;
	struct dofi_pz *pz;
	DAT_RETURN ret;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	pz = (struct dofi_pz *)dofi_obj_check(req->pz, DAT_HANDLE_TYPE_PZ, ia);
	if (!pz)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (req->priv & ~DOFI_PRIV_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	lmr = dofi_obj_new_for(ia, DAT_HANDLE_TYPE_LMR, req->internal);
	if (!lmr)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	lmr->pz = pz;
	lmr->mem_type = req->mem_type;
	lmr->desc = req->desc;
	lmr->priv = req->priv;
	lmr->zero_based = req->zero_based;
	lmr->users = 0;
	ret = mr_resolve(ia, req, lmr);
	if (!ret)
		ret = mr_open_region(ia, lmr);
	if (ret) {
		dofi_obj_release(&lmr->obj);
		return ret;
	}
	if (lmr->mem_type == DAT_MEM_TYPE_SHARED_VIRTUAL)
		lmr->desc.for_shared_memory.shared_memory_id = (DAT_LMR_COOKIE)&lmr->shared_id;
	pz->users++;
	dofi_obj_publish(&lmr->obj);
	*out = lmr;
	return DAT_SUCCESS;
}

void dofi_lmr_outputs(struct dofi_lmr *lmr, DAT_LMR_HANDLE *handle, DAT_LMR_CONTEXT *lmr_context,
		      DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *size, DAT_VADDR *address)
{
	*handle = lmr;
	if (lmr_context)
		*lmr_context = lmr->context;
	if (rmr_context)
		*rmr_context = lmr->rmr_context;
	if (size)
		*size = lmr->length;
	if (address)
		*address = lmr->address;
}

void dofi_lmr_destroy(struct dofi_lmr *lmr)
{
	dofi_region_remove(&lmr->obj.ia->lmrs, lmr->region, lmr->context);
	if (lmr->mr)
		lmr->obj.ia->fab.desc->ops->close_mr(lmr->obj.ia, lmr->mr);
	lmr->mr = NULL;
	lmr->pz->users--;
	dofi_obj_release(&lmr->obj);
}

DAT_RETURN dofi_lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
	const struct dofi_lmr *lmr = dofi_lmr_live(handle);
	DAT_RETURN ret = DAT_SUCCESS;
	struct dofi_ia *ia;

	if (!lmr)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	if (mask & ~DAT_LMR_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ia = dofi_obj_ia(&lmr->obj);
	param->ia_handle = dofi_api_ia_handle(ia);
	/* A peer may invalidate the key meanwhile. */
	pthread_mutex_lock(&ia->mr_lock);
	if (!dofi_obj_remains(&lmr->obj, ia)) {
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
		goto out;
	}
	param->mem_type = lmr->mem_type;
	param->region_desc = lmr->desc;
	param->length = lmr->length;
	param->pz_handle = lmr->pz;
	param->mem_priv = lmr->priv;
	param->lmr_context = lmr->context;
	param->rmr_context = lmr->rmr_context;
	param->registered_size = lmr->length;
	param->registered_address = lmr->address;
	dofi_api_lmr_param(lmr, param);
out:
	pthread_mutex_unlock(&ia->mr_lock);
	return ret;
}

DAT_RETURN dofi_lmr_free(DAT_LMR_HANDLE handle)
{
	struct dofi_lmr *lmr = dofi_lmr_live(handle);
	DAT_RETURN ret = DAT_SUCCESS;
	struct dofi_ia *ia;

	if (!lmr)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	ia = dofi_obj_ia(&lmr->obj);
	/* Under this lock no RMR can be bound to it. */
	pthread_mutex_lock(&ia->mr_lock);
	if (!dofi_obj_remains(&lmr->obj, ia))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	else if (lmr->users)
		ret = DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	else if (!dofi_obj_retire(&lmr->obj))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	else
		dofi_lmr_destroy(lmr);
	pthread_mutex_unlock(&ia->mr_lock);
	return ret;
}

bool dofi_lmr_close_to_peers(struct dofi_lmr *lmr)
{
	DOFI_ASSERT_LOCKED(&lmr->obj.ia->mr_lock);
	if (DOFI_REGION_GET(lmr->region->desc) || !lmr->mr)
		return false;
	lmr->priv &= ~DOFI_PRIV_REMOTE;
	DOFI_REGION_SET(lmr->region->priv, lmr->priv);
	lmr->rmr_context = 0;
	lmr->obj.ia->fab.desc->ops->close_mr(lmr->obj.ia, lmr->mr);
	lmr->mr = NULL;
	return true;
}

/* Memory is coherent: both sync calls only check their arguments. */
static DAT_RETURN mr_sync_check(DAT_IA_HANDLE handle, const DAT_LMR_TRIPLET *seg, DAT_VLEN n)
{
	struct dofi_ia *ia = dofi_ia_live(handle);

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (n && !seg)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	for (DAT_VLEN i = 0; i < n; i++) {
		const struct dofi_region *r = dofi_region_find(&ia->lmrs, seg[i].lmr_context);

		if (!r || !dofi_region_covers(r, seg[i].virtual_address, seg[i].segment_length))
			return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
	return DAT_SUCCESS;
}

DAT_RETURN dofi_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *seg, DAT_VLEN n)
{
	return mr_sync_check(ia, seg, n);
}

DAT_RETURN dofi_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *seg, DAT_VLEN n)
{
	return mr_sync_check(ia, seg, n);
}

DAT_RETURN dofi_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *out)
{
	struct dofi_ia *ia = dofi_ia_live(ia_handle);
	struct dofi_pz *pz;
	DAT_RETURN ret;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = dofi_obj_limit(ia, DAT_HANDLE_TYPE_PZ);
	if (ret)
		return ret;
	pz = dofi_obj_new(ia, DAT_HANDLE_TYPE_PZ);
	if (!pz)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	pz->users = 0;
	dofi_obj_publish(&pz->obj);
	*out = pz;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_pz_query(DAT_PZ_HANDLE handle, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	struct dofi_pz *pz = dofi_pz_live(handle);

	if (!pz)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (mask & ~DAT_PZ_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	param->ia_handle = dofi_api_ia_handle(dofi_obj_ia(&pz->obj));
	return DAT_SUCCESS;
}

DAT_RETURN dofi_pz_free(DAT_PZ_HANDLE handle)
{
	struct dofi_pz *pz = dofi_pz_live(handle);
	DAT_RETURN ret = DAT_SUCCESS;
	struct dofi_ia *ia;

	if (!pz)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	ia = dofi_obj_ia(&pz->obj);
	pthread_rwlock_wrlock(&ia->uses);
	if (!dofi_obj_remains(&pz->obj, ia))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	else if (pz->users)
		ret = DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
	else if (!dofi_obj_retire(&pz->obj))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	pthread_rwlock_unlock(&ia->uses);
	if (!ret)
		dofi_obj_release(&pz->obj);
	return ret;
}
