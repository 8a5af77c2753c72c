/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates, fills, resizes and queries shared receive queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "data/cq.h"
#include "data/dto.h"
#include "data/srq_cq.h"
#include "base/dat_error.h"
#include "object/async_evd.h"
#include "object/limits.h"
#include "object/mr.h"
#include "object/version.h"
#include "fabric/fab_ops.h"

/* A long list of segments is there twice (see srq_cq.c). Caller holds srq->lock, or the SRQ is
 * unpublished. */
static int srq_add_descriptors(struct dofi_srq *srq, uint32_t capacity)
{
	uint32_t n, iov = (uint32_t)srq->max_iov * (srq->max_iov > DOFI_IOV_INLINE ? 2 : 1);
	struct dofi_dto *block, **blocks;

	if (capacity <= srq->capacity)
		return 0;
	n = capacity - srq->capacity;
	block = dofi_dto_alloc(n, iov);
	blocks = realloc(srq->block, (srq->blocks + 1) * sizeof(*blocks));
	if (blocks)
		srq->block = blocks;
	if (!block || !blocks) {
		free(block);
		return -ENOMEM;
	}
	srq->block[srq->blocks++] = block;
	for (uint32_t i = 0; i < n; i++) {
		block[i].prefix_slot = srq->capacity + i;
		block[i].next = srq->spare;
		srq->spare = &block[i];
	}
	srq->capacity = capacity;
	return 0;
}

static int srq_open_context(struct dofi_srq *srq)
{
	struct dofi_fab *fab = &srq->obj.ia->fab;
	struct fi_rx_attr attr = *fab->info->rx_attr;

	/* Contexts of libfabric cannot be resized. */
	srq->depth = fab->srq_depth;
	if (srq->depth < (uint32_t)srq->max_dtos)
		srq->depth = (uint32_t)srq->max_dtos;
	attr.size = srq->depth;
	attr.iov_limit = (size_t)srq->max_iov + fab->prefix_iov;
	attr.op_flags = 0;
	return fab->desc->ops->open_srq(srq, &attr);
}

static bool srq_attr_ok(struct dofi_ia *ia, const DAT_SRQ_ATTR *attr)
{
	return attr && attr->max_recv_dtos > 0 && attr->max_recv_dtos <= DOFI_MAX_SRQ_DTOS &&
	       attr->max_recv_iov >= 0 && attr->max_recv_iov <= (DAT_COUNT)ia->fab.max_iov &&
	       attr->low_watermark == DAT_SRQ_LW_DEFAULT;
}

DAT_RETURN dofi_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *attr,
			   DAT_SRQ_HANDLE *out)
{
	struct dofi_ia *ia = dofi_ia_live(ia_handle);
	struct dofi_srq *srq;
	struct dofi_pz *pz;
	DAT_RETURN limit;
	int ret;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	pz = (struct dofi_pz *)dofi_obj_check(pz_handle, DAT_HANDLE_TYPE_PZ, ia);
	if (!pz)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!srq_attr_ok(ia, attr))
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!ia->fab.srq_depth)
		return DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	limit = dofi_obj_limit(ia, DAT_HANDLE_TYPE_SRQ);
	if (limit)
		return limit;
	srq = dofi_obj_new(ia, DAT_HANDLE_TYPE_SRQ);
	if (!srq)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	srq->pz = pz;
	srq->max_dtos = attr->max_recv_dtos;
	srq->max_iov = attr->max_recv_iov ? attr->max_recv_iov : 1;
	srq->block = NULL;
	srq->blocks = 0;
	srq->prefixes.base = NULL;
	srq->capacity = srq->users = 0;
	srq->spare = NULL;
	srq->returned = NULL;
	srq->posted = srq->taken = srq->dequeued = 0;
	srq->low_mark = 0;
	srq->low_armed = srq->low_passed = false;
	dofi_list_init(&srq->eps);
	ret = srq_add_descriptors(srq, (uint32_t)srq->max_dtos);
	if (!ret)
		ret = srq_open_context(srq);
	if (ret) {
		for (size_t i = 0; i < srq->blocks; i++)
			free(srq->block[i]);
		free(srq->block);
		dofi_obj_release(&srq->obj);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES,
				ret == -ENOMEM ? DAT_RESOURCE_MEMORY : DAT_RESOURCE_SRQ);
	}
	pz->users++;
	dofi_obj_publish(&srq->obj);
	*out = srq;
	return DAT_SUCCESS;
}

void dofi_srq_destroy(struct dofi_srq *srq)
{
	/* A concurrent post finds no context. */
	dofi_lock(&srq->lock);
	srq->obj.ia->fab.desc->ops->close_srq(srq);
	srq->srx = NULL;
	for (size_t i = 0; i < srq->blocks; i++)
		free(srq->block[i]);
	free(srq->block);
	srq->block = NULL;
	dofi_unlock(&srq->lock);
	srq->pz->users--;
	dofi_obj_release(&srq->obj);
}

DAT_RETURN dofi_srq_free(DAT_SRQ_HANDLE handle)
{
	struct dofi_srq *srq = dofi_srq_live(handle);
	DAT_RETURN ret = DAT_SUCCESS;
	struct dofi_ia *ia;
	bool used;

	if (!srq)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	ia = dofi_obj_ia(&srq->obj);
	pthread_rwlock_wrlock(&ia->uses);
	dofi_lock(&srq->lock);
	used = srq->users;
	dofi_unlock(&srq->lock);
	if (!dofi_obj_remains(&srq->obj, ia))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	else if (used)
		ret = DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
	else if (!dofi_obj_retire(&srq->obj))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	pthread_rwlock_unlock(&ia->uses);
	if (!ret)
		dofi_srq_destroy(srq);
	return ret;
}

void dofi_srq_attach(struct dofi_srq *srq, struct dofi_ep *ep)
{
	dofi_lock(&ep->lock);
	ep->srq = srq;
	dofi_unlock(&ep->lock);
	dofi_lock(&srq->lock);
	dofi_list_append(&srq->eps, &ep->shared.link);
	srq->users++;
	dofi_unlock(&srq->lock);
}

void dofi_srq_detach(struct dofi_ep *ep)
{
	struct dofi_srq *srq = ep->srq;

	dofi_lock(&srq->lock);
	dofi_list_remove(&ep->shared.link);
	srq->users--;
	dofi_unlock(&srq->lock);
	dofi_lock(&ep->lock);
	ep->srq = NULL;
	dofi_unlock(&ep->lock);
}

static struct dofi_dto *srq_take_spare(struct dofi_srq *srq)
{
	struct dofi_dto *dto;

	if (!srq->spare)
		srq->spare = atomic_exchange_explicit(&srq->returned, NULL, memory_order_acquire);
	dto = srq->spare;
	if (dto)
		srq->spare = dto->next;
	return dto;
}

/* A buffer occupies its entry until the consumer has dequeued its completion: dat_srq_query reports
 * these buffers as outstanding, and dat_srq_resize counts them, too. */
static bool srq_full(const struct dofi_srq *srq)
{
	return srq->posted - srq->dequeued >= (uint32_t)srq->max_dtos;
}

static DAT_RETURN srq_post_locked(struct dofi_srq *srq, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie)
{
	struct dofi_dto *dto = srq_full(srq) ? NULL : srq_take_spare(srq);
	DAT_RETURN ret;

	if (!dto)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, 0);
	dto->kind = DOFI_RECV;
	ret = dofi_dto_segments(srq->obj.ia, srq->pz, dto, n, iov);
	if (ret)
		goto back;
	dto->ep = NULL;
	dto->srq = srq;
	dto->shared = true;
	dto->cookie = cookie;
	dto->flags = 0;
	dto->inv_key = 0;
	dto->solicited = false;
	dto->status = DAT_DTO_ERR_FLUSHED;
	/* Before a message can consume the buffer. */
	atomic_fetch_add_explicit(&srq->posted, 1, memory_order_relaxed);
	if (!dofi_srq_submit(srq, dto))
		return DAT_SUCCESS;
	atomic_fetch_sub_explicit(&srq->posted, 1, memory_order_relaxed);
	ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, 0);
back:
	atomic_store_explicit(&dto->state, DOFI_DTO_FREE, memory_order_relaxed);
	dto->next = srq->spare;
	srq->spare = dto;
	return ret;
}

DAT_RETURN dofi_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie)
{
	struct dofi_srq *srq = dofi_srq_live(handle);
	DAT_RETURN ret;

	if (!srq)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (n < 0 || n > srq->max_iov)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (n && !iov)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	dofi_lock(&srq->lock);
	if (!srq->srx) {
		dofi_unlock(&srq->lock);
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	}
	ret = srq_post_locked(srq, n, iov, cookie);
	dofi_unlock(&srq->lock);
	return ret;
}

DAT_RETURN dofi_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	struct dofi_srq *srq = dofi_srq_live(handle);
	uint32_t dequeued, taken, posted;

	if (!srq)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (mask & ~DAT_SRQ_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	dofi_lock(&srq->lock);
	if (!srq->srx) {
		dofi_unlock(&srq->lock);
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	}
	/* Read in this order, each count is at least the previous one. */
	dequeued = atomic_load(&srq->dequeued);
	taken = atomic_load(&srq->taken);
	posted = srq->posted;
	memset(param, 0, sizeof(*param));
	param->ia_handle = dofi_api_ia_handle(dofi_obj_ia(&srq->obj));
	param->srq_state = DAT_SRQ_STATE_OPERATIONAL;
	param->pz_handle = srq->pz;
	param->max_recv_dtos = srq->max_dtos;
	param->max_recv_iov = srq->max_iov;
	param->low_watermark = srq->low_mark;
	param->available_dto_count = (DAT_COUNT)(posted - taken);
	param->outstanding_dto_count = (DAT_COUNT)(posted - dequeued);
	dofi_unlock(&srq->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT n)
{
	struct dofi_srq *srq = dofi_srq_live(handle);
	const struct dofi_fabric_ops *ops;
	DAT_RETURN ret = DAT_SUCCESS;

	if (!srq)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	ops = dofi_obj_ia(&srq->obj)->fab.desc->ops;
	if (n <= 0 || n > DOFI_MAX_SRQ_DTOS)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	dofi_lock(&srq->lock);
	if (!srq->srx)
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	else if ((uint32_t)n < srq->posted - srq->dequeued || n < srq->low_mark)
		ret = DOFI_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_OPERATIONAL);
	else if ((uint32_t)n > srq->depth || srq_add_descriptors(srq, (uint32_t)n) ||
		 (ops->resize_srq && ops->resize_srq(srq, (uint32_t)n)))
		ret = DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	else
		srq->max_dtos = n;
	dofi_unlock(&srq->lock);
	return ret;
}

DAT_RETURN dofi_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT lw)
{
	struct dofi_srq *srq = dofi_srq_live(handle);
	DAT_RETURN ret = DAT_SUCCESS;
	struct dofi_ia *ia;
	bool now = false;

	if (!srq)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	dofi_lock(&srq->lock);
	ia = dofi_obj_ia(&srq->obj);
	if (!srq->srx) {
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	} else if (lw < 0 || lw > srq->max_dtos) {
		ret = DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	} else {
		atomic_store(&srq->low_mark, lw);
		atomic_store(&srq->low_armed, lw > 0);
		/* A message that arrives meanwhile finds the watermark armed or disarmed. */
		if (lw > 0 && srq->posted - srq->taken < (uint32_t)lw)
			now = atomic_exchange(&srq->low_armed, false);
	}
	dofi_unlock(&srq->lock);
	if (now)
		dofi_async_event(ia, DAT_ASYNC_ERROR_EP_BROKEN, srq, DAT_SRQ_LOW_WATERMARK_EVENT);
	return ret;
}
