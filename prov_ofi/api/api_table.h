/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots of the jump table that are the same in both versions. */
#ifndef DOFI_API_TABLE_H
#define DOFI_API_TABLE_H

#include <string.h>

#include "object/agent.h"
#include "cm/cm.h"
#include "object/cno.h"
#include "data/dto.h"
#include "object/mr.h"
#include "object/rmr.h"
#include "object/srq.h"

#define DOFI_COMMON_SLOTS \
	.ia_open_func = dofi_ia_open, \
	.ia_query_func = dofi_ia_query, \
	.ia_close_func = dofi_ia_close, \
	.set_consumer_context_func = dofi_set_consumer_context, \
	.get_consumer_context_func = dofi_get_consumer_context, \
	.get_handle_type_func = dofi_get_handle_type, \
	.cno_create_func = dofi_cno_create, \
	.cno_modify_agent_func = dofi_cno_modify_agent, \
	.cno_free_func = dofi_cno_free, \
	.cno_wait_func = dofi_cno_wait, \
	.cr_query_func = dofi_cr_query, \
	.cr_accept_func = dofi_cr_accept, \
	.cr_handoff_func = dofi_cr_handoff, \
	.evd_create_func = dofi_evd_create, \
	.evd_query_func = dofi_evd_query, \
	.evd_modify_cno_func = dofi_evd_modify_cno, \
	.evd_enable_func = dofi_evd_enable, \
	.evd_disable_func = dofi_evd_disable, \
	.evd_wait_func = dofi_evd_wait, \
	.evd_resize_func = dofi_evd_resize, \
	.evd_post_se_func = dofi_evd_post_se, \
	.evd_dequeue_func = dofi_evd_dequeue, \
	.evd_free_func = dofi_evd_free, \
	.ep_create_func = dofi_ep_create, \
	.ep_query_func = dofi_ep_query, \
	.ep_modify_func = dofi_ep_modify, \
	.ep_connect_func = dofi_ep_connect, \
	.ep_dup_connect_func = dofi_ep_dup_connect, \
	.ep_disconnect_func = dofi_ep_disconnect, \
	.ep_post_send_func = dofi_ep_post_send, \
	.ep_post_recv_func = dofi_ep_post_recv, \
	.ep_post_rdma_read_func = dofi_ep_post_rdma_read, \
	.ep_post_rdma_write_func = dofi_ep_post_rdma_write, \
	.ep_get_status_func = dofi_ep_get_status, \
	.ep_free_func = dofi_ep_free, \
	.lmr_free_func = dofi_lmr_free, \
	.rmr_create_func = dofi_rmr_create, \
	.rmr_free_func = dofi_rmr_free, \
	.psp_create_func = dofi_psp_create, \
	.psp_query_func = dofi_psp_query, \
	.psp_free_func = dofi_psp_free, \
	.rsp_create_func = dofi_rsp_create, \
	.rsp_query_func = dofi_rsp_query, \
	.rsp_free_func = dofi_rsp_free, \
	.pz_create_func = dofi_pz_create, \
	.pz_query_func = dofi_pz_query, \
	.pz_free_func = dofi_pz_free, \
	.psp_create_any_func = dofi_psp_create_any, \
	.ep_reset_func = dofi_ep_reset, \
	.evd_set_unwaitable_func = dofi_evd_set_unwaitable, \
	.evd_clear_unwaitable_func = dofi_evd_clear_unwaitable, \
	.lmr_sync_rdma_read_func = dofi_lmr_sync_rdma_read, \
	.lmr_sync_rdma_write_func = dofi_lmr_sync_rdma_write, \
	.ep_create_with_srq_func = dofi_ep_create_with_srq, \
	.ep_recv_query_func = dofi_ep_recv_query, \
	.ep_set_watermark_func = dofi_ep_set_watermark, \
	.srq_create_func = dofi_srq_create, \
	.srq_free_func = dofi_srq_free, \
	.srq_post_recv_func = dofi_srq_post_recv, \
	.srq_query_func = dofi_srq_query, \
	.srq_resize_func = dofi_srq_resize, \
	.srq_set_lw_func = dofi_srq_set_lw

/* An unbound RMR has no triplet; its other members are zero. */
#define DOFI_CHECK_RMR_QUERY(handle, mask, param) do { \
	const struct dofi_rmr *rmr_ = dofi_rmr_live(handle); \
	bool bound_; \
	if (!rmr_) \
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR); \
	if (!(param)) \
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3); \
	pthread_mutex_lock(&rmr_->obj.ia->mr_lock); \
	bound_ = rmr_->bound; \
	pthread_mutex_unlock(&rmr_->obj.ia->mr_lock); \
	if (((mask) & ~DAT_RMR_FIELD_ALL) || (!bound_ && ((mask) & DAT_RMR_FIELD_LMR_TRIPLET))) \
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2); \
} while (0)

/* Fills the members that DAT_RMR_PARAM has in both versions. */
#define DOFI_FILL_RMR_PARAM(param, rmr) do { \
	memset(param, 0, sizeof(*(param))); \
	(param)->ia_handle = dofi_api_ia_handle((rmr)->obj.ia); \
	(param)->pz_handle = (rmr)->pz; \
	pthread_mutex_lock(&(rmr)->obj.ia->mr_lock); \
	if ((rmr)->bound) { \
		(param)->lmr_triplet = (rmr)->bound->triplet; \
		(param)->mem_priv = (rmr)->bound->priv; \
		(param)->rmr_context = (rmr)->bound->key; \
	} \
	pthread_mutex_unlock(&(rmr)->obj.ia->mr_lock); \
} while (0)

/* Fills the members that DAT_LMR_PARAM has in both versions. */
#define DOFI_FILL_LMR_PARAM(param, lmr) do { \
	(param)->ia_handle = dofi_api_ia_handle((lmr)->obj.ia); \
	(param)->mem_type = (lmr)->mem_type; \
	(param)->region_desc = (lmr)->desc; \
	(param)->length = (lmr)->length; \
	(param)->pz_handle = (lmr)->pz; \
	(param)->mem_priv = (lmr)->priv; \
	(param)->lmr_context = (lmr)->context; \
	(param)->rmr_context = (lmr)->rmr_context; \
	(param)->registered_size = (lmr)->length; \
	(param)->registered_address = (lmr)->address; \
} while (0)

#endif
