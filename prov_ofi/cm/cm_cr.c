/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements dat_cr_query, dat_cr_reject and dat_cr_handoff. */
#include <string.h>

#include "base/dat_error.h"
#include "cm/cm_cr.h"

DAT_RETURN dofi_cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	struct dofi_cr *cr = dofi_cr_live(handle);
	DAT_RETURN ret = DAT_SUCCESS;
	struct dofi_ia *ia;

	if (!cr)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	if (mask & ~DAT_CR_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ia = dofi_obj_ia(&cr->obj);
	pthread_mutex_lock(&ia->cm_lock);
	if (dofi_obj_remains(&cr->obj, ia)) {
		param->remote_ia_address_ptr = &cr->remote.sa;
		param->remote_port_qual = cr->remote_port;
		param->private_data_size = cr->msg.priv_len;
		param->private_data = cr->priv;
		param->local_ep_handle = cr->ep;
	} else {
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}

DAT_RETURN dofi_cr_check_priv(struct dofi_ia *ia, DAT_COUNT size, const void *priv,
			      DAT_RETURN bad_size, DAT_RETURN bad_ptr)
{
	if (size < 0 || (size_t)size > ia->fab.max_priv)
		return DOFI_ERR(DAT_INVALID_PARAMETER, bad_size);
	if (size && !priv)
		return DOFI_ERR(DAT_INVALID_PARAMETER, bad_ptr);
	return DAT_SUCCESS;
}

/* The consumer's rejection. */
static DAT_RETURN cr_reject(struct dofi_cr *cr, const void *priv, uint16_t priv_len)
{
	struct dofi_cm_msg msg = dofi_cr_rejection(cr->obj.ia, DOFI_CM_BY_PEER, priv, priv_len);

	if (dofi_cr_answer(cr, &msg))
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	dofi_cr_release_ep(cr);
	DOFI_COUNT_IA(cr->obj.ia, SP_CR_REJECTED);
	DOFI_COUNT_IA(cr->obj.ia, CM_USER_REJ_TX);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cr_refuse(DAT_CR_HANDLE handle, DAT_COUNT size, const DAT_PVOID priv)
{
	struct dofi_cr *cr = dofi_cr_live(handle);
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!cr)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	ia = dofi_obj_ia(&cr->obj);
	ret = dofi_cr_check_priv(ia, size, priv, DAT_INVALID_ARG2, DAT_INVALID_ARG3);
	if (ret)
		return ret;
	pthread_mutex_lock(&ia->cm_lock);
	ret = dofi_obj_remains(&cr->obj, ia) ? cr_reject(cr, priv, (uint16_t)size)
					     : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	if (!ret && dofi_obj_retire(&cr->obj)) {
		dofi_cr_destroy(cr, 0);
		dofi_cm_read_events(ia);
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}

static struct dofi_sp *cr_find_sp(struct dofi_ia *ia, DAT_CONN_QUAL qual)
{
	struct dofi_list *pos;

	dofi_list_each(pos, &ia->listeners)
	{
		struct dofi_listener *l = dofi_container(pos, struct dofi_listener, link);
		struct dofi_sp *sp = dofi_sp_find(l, qual);

		if (sp && !sp->spent)
			return sp;
	}
	return NULL;
}

/* A new CR takes over the request; the old handle becomes invalid. */
static DAT_RETURN cr_hand_off(struct dofi_cr *cr, DAT_CONN_QUAL qual)
{
	struct dofi_sp *sp = cr_find_sp(cr->obj.ia, qual);
	struct dofi_cr *next;
	unsigned int reason;

	if (!sp)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	next = dofi_cr_new(sp, cr->listener, cr->info);
	if (!next)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	next->msg = cr->msg;
	memcpy(next->priv, cr->priv, cr->msg.priv_len);
	next->msg.priv = next->priv;
	next->seal = cr->seal;
	reason = dofi_cr_deliver(next, sp);
	if (reason) {
		next->info = NULL;
		dofi_cr_destroy(next, 0);
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, 0);
	}
	dofi_cr_release_ep(cr);
	cr->info = NULL;
	dofi_obj_retire(&cr->obj);
	dofi_cr_destroy(cr, 0);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual)
{
	struct dofi_cr *cr = dofi_cr_live(handle);
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!cr)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	ia = dofi_obj_ia(&cr->obj);
	pthread_mutex_lock(&ia->cm_lock);
	ret = dofi_obj_remains(&cr->obj, ia) ? cr_hand_off(cr, qual)
					     : DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}
