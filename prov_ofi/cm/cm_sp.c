/* SPDX-License-Identifier: BSD-2-Clause */
/* Service points and their listeners. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/cm.h"
#include "fabric/fab_ops.h"
#include "base/dat_error.h"
#include "base/error_text.h"
#include "base/log.h"
#include "base/port_range.h"
#include "fabric/fab_info.h"
#include "object/progress_wakeup.h"
#include "diag/diag.h"
#include "object/ep_state.h"
#include "object/version.h"

/* Qualifiers have 64 bits, ports 16. The low bits are the port; privileged ports and 0 are mapped
 * to others. The request contains the whole qualifier, so several of one process can share a
 * port. */
#define LOW_PORTS 1024
#define LOW_PORTS_AT 61440

uint16_t dofi_cm_port(DAT_CONN_QUAL qual)
{
	uint16_t low = (uint16_t)qual;

	return low < LOW_PORTS ? (uint16_t)(low + LOW_PORTS_AT) : low;
}

uint16_t dofi_cm_low_qual(uint16_t port, bool moved)
{
	return moved ? (uint16_t)(port - LOW_PORTS_AT) : port;
}

static struct dofi_listener *sp_find_listener(struct dofi_ia *ia, uint16_t port, DAT_CONN_QUAL qual)
{
	bool any = !ia->fab.desc->qual_in_name;
	struct dofi_list *pos;

	dofi_list_each(pos, &ia->listeners)
	{
		struct dofi_listener *l = dofi_container(pos, struct dofi_listener, link);

		if (l->port == port && (any || l->qual == qual))
			return l;
	}
	return NULL;
}

struct dofi_sp *dofi_sp_find(struct dofi_listener *l, DAT_CONN_QUAL qual)
{
	struct dofi_list *pos;

	DOFI_ASSERT_LOCKED(&l->ia->cm_lock);
	dofi_list_each(pos, &l->sps)
	{
		struct dofi_sp *sp = dofi_container(pos, struct dofi_sp, link);

		if (sp->qual == qual)
			return sp;
	}
	return NULL;
}

/* Listens at the IA's own address if the user chose it, else at every address of this host. */
static struct fi_info *sp_listen_info(struct dofi_ia *ia, uint16_t port)
{
	union dofi_addr addr = ia->fab.addr;

	if (!ia->fab.addr_named)
		dofi_addr_set_any(&addr);
	dofi_addr_set_port(&addr.sa, port);
	return dofi_fab_info_copy(&ia->fab, &addr, NULL);
}

static int sp_start_listening(struct dofi_listener *l, struct fi_info *info, uint16_t port)
{
	union dofi_addr addr;
	size_t len = sizeof(addr);
	int ret = fi_passive_ep(l->ia->fab.fabric, info, &l->pep, l);

	if (ret)
		return ret;
	ret = fi_pep_bind(l->pep, &l->ia->fab.eq->fid, 0);
	if (!ret && l->ia->fab.desc->qual_in_name && port)
		ret = l->ia->fab.desc->ops->set_qual(&l->pep->fid, l->qual);
	if (!ret)
		ret = fi_listen(l->pep);
	if (!ret)
		ret = fi_getname(&l->pep->fid, &addr, &len);
	if (ret) {
		fi_close(&l->pep->fid);
		return ret;
	}
	l->port = dofi_addr_port(&addr.sa);
	return 0;
}

static int sp_new_listener(struct dofi_ia *ia, uint16_t port, DAT_CONN_QUAL qual,
			   struct dofi_listener **out)
{
	struct dofi_listener *l = calloc(1, sizeof(*l));
	struct fi_info *info = sp_listen_info(ia, port);
	int ret = -ENOMEM;

	if (!l || !info)
		goto failed;
	l->ia = ia;
	l->qual = qual;
	dofi_list_init(&l->sps);
	ret = sp_start_listening(l, info, port);
	if (ret)
		goto failed;
	dofi_fab_info_free(&ia->fab, info);
	dofi_list_append(&ia->listeners, &l->link);
	*out = l;
	return 0;
failed:
	if (info)
		dofi_fab_info_free(&ia->fab, info);
	free(l);
	return ret;
}

void dofi_listener_unref(struct dofi_listener *l)
{
	if (--l->users)
		return;
	dofi_list_remove(&l->link);
	fi_close(&l->pep->fid);
	free(l);
}

/* Maximum number of ports of the system's choice that another socket has (ops->port_taken). */
#define CHOICES 100

/* port 0: of the system's choice. */
static int sp_new_listener_at(struct dofi_ia *ia, uint16_t port, struct dofi_listener **out)
{
	int ret, choices = 0;

	if (port && sp_find_listener(ia, port, port))
		return -EADDRINUSE;
	do
		ret = sp_new_listener(ia, port, port, out);
	while (!port && ia->fab.desc->ops->port_taken(-ret) && ++choices < CHOICES);
	return ret;
}

/* On a port of the library's choice. A port where the IA listens has a service point. */
static int sp_new_listener_anywhere(struct dofi_ia *ia, struct dofi_listener **out)
{
	struct dofi_ports ports;
	int ret = -EADDRINUSE;
	uint16_t port;

	/* Names that are no ports need no range. */
	if (ia->fab.desc->qual_in_name)
		return sp_new_listener(ia, 0, 0, out);
	dofi_ports_begin(&ports);
	while (dofi_ports_is_taken(ret) && dofi_ports_next(&ports, &port))
		ret = sp_new_listener_at(ia, port, out);
	if (dofi_ports_exhausted(&ports, ret))
		dofi_log(DOFI_LOG_WARN, "no port for a service point: all of "
					"DAPL_OFI_PORT_RANGE are in use; try: a wider range");
	else if (ret)
		dofi_log(DOFI_LOG_ERROR, "no port for a service point: %s", dofi_error_text(-ret));
	return ret;
}

/* port 0: any free one, which becomes the qualifier. */
static int sp_attach(struct dofi_ia *ia, struct dofi_sp *sp, uint16_t port)
{
	struct dofi_listener *l = port ? sp_find_listener(ia, port, sp->qual) : NULL;
	int ret;

	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	if (l && dofi_sp_find(l, sp->qual))
		return -EEXIST;
	if (!l) {
		ret = port ? sp_new_listener(ia, port, sp->qual, &l)
			   : sp_new_listener_anywhere(ia, &l);
		if (ret)
			return ret;
	}
	if (!port)
		sp->qual = l->qual = l->port;
	l->users++;
	sp->listener = l;
	dofi_list_append(&l->sps, &sp->link);
	sp->evd->feeds++;
	return 0;
}

void dofi_sp_destroy(struct dofi_sp *sp)
{
	DOFI_ASSERT_LOCKED(&sp->obj.ia->cm_lock);
	dofi_list_remove(&sp->link);
	sp->evd->feeds--;
	dofi_listener_unref(sp->listener);
	dofi_obj_release(&sp->obj);
}

void dofi_sp_forget_ep(struct dofi_ep *ep)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_list *pos;

	DOFI_ASSERT_LOCKED(&ia->cm_lock);
	pthread_mutex_lock(&ia->obj_lock);
	dofi_list_each(pos, &ia->objs[DAT_HANDLE_TYPE_RSP])
	{
		struct dofi_sp *sp = dofi_container(pos, struct dofi_sp, obj.link);

		if (sp->ep == ep)
			sp->ep = NULL;
	}
	pthread_mutex_unlock(&ia->obj_lock);
}

struct dofi_evd *dofi_sp_cr_evd(struct dofi_ia *ia, DAT_EVD_HANDLE handle)
{
	struct dofi_evd *evd = (struct dofi_evd *)dofi_obj_check(handle, DAT_HANDLE_TYPE_EVD, ia);

	return evd && (evd->flags & DAT_EVD_CR_FLAG) ? evd : NULL;
}

/* Programs that search for a free port compare the whole result with the type alone, which the
 * original DAPL returns in this case. A port that this user may not bind counts as taken. */
static DAT_RETURN sp_no_listener(uint16_t port, int err)
{
	if (err != -EADDRINUSE && err != -EACCES)
		return dofi_ret(err);
	return port ? DAT_CONN_QUAL_IN_USE : DOFI_ERR(DAT_CONN_QUAL_UNAVAILABLE, 0);
}

static DAT_RETURN sp_make_sp(struct dofi_ia *ia, DAT_HANDLE_TYPE type, DAT_CONN_QUAL qual,
			     uint16_t port, struct dofi_evd *evd, struct dofi_sp **out)
{
	struct dofi_sp *sp = dofi_obj_new_for(ia, type, evd->obj.internal);
	int ret;

	if (!sp)
		return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	sp->qual = qual;
	sp->evd = evd;
	sp->flags = DAT_PSP_CONSUMER_FLAG;
	sp->ep = NULL;
	sp->spent = false;
	dofi_list_init(&sp->link);
	ret = sp_attach(ia, sp, port);
	if (ret) {
		dofi_obj_release(&sp->obj);
		if (port)
			dofi_diag_port(port, ret == -EEXIST ? -EADDRINUSE : ret);
		return sp_no_listener(port, ret);
	}
	dofi_diag_port_ok();
	DOFI_COUNT_IA(ia, CM_LISTEN);
	*out = sp;
	return DAT_SUCCESS;
}

static DAT_RETURN sp_create_psp(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *qual, uint16_t port,
				DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *out)
{
	struct dofi_ia *ia = dofi_ia_live(ia_handle);
	struct dofi_evd *evd;
	struct dofi_sp *sp;
	DAT_RETURN ret;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!qual)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	evd = dofi_sp_cr_evd(ia, evd_handle);
	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	pthread_mutex_lock(&ia->cm_lock);
	ret = sp_make_sp(ia, DAT_HANDLE_TYPE_PSP, port ? *qual : 0, port, evd, &sp);
	if (!ret) {
		if (port)
			DOFI_COUNT_IA(ia, PSP_CREATE);
		else
			DOFI_COUNT_IA(ia, PSP_CREATE_ANY);
		sp->flags = flags;
		*qual = sp->qual;
		dofi_obj_publish(&sp->obj);
		*out = sp;
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}

DAT_RETURN dofi_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			   DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	return sp_create_psp(ia, &qual, dofi_cm_port(qual), evd, flags, psp);
}

DAT_RETURN dofi_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
			       DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	return sp_create_psp(ia, qual, 0, evd, flags, psp);
}

DAT_RETURN dofi_sp_create_csp(struct dofi_ia *ia, const union dofi_addr *addr,
			      const struct dofi_comm *comm, struct dofi_evd *evd,
			      struct dofi_sp **out)
{
	uint16_t qual = dofi_addr_port(&addr->sa);
	struct dofi_sp *sp;
	DAT_RETURN ret;

	pthread_mutex_lock(&ia->cm_lock);
	ret = sp_make_sp(ia, DOFI_HANDLE_TYPE_CSP, qual, qual ? dofi_cm_port(qual) : 0, evd, &sp);
	if (!ret) {
		sp->addr = *addr;
		dofi_addr_set_port(&sp->addr.sa, (uint16_t)sp->qual);
		sp->comm = *comm;
		dofi_obj_publish(&sp->obj);
		*out = sp;
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}

static struct dofi_sp *sp_live(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
	return (struct dofi_sp *)dofi_obj_live(handle, type);
}

struct dofi_ia *dofi_sp_lock(struct dofi_sp *sp)
{
	struct dofi_ia *ia = dofi_obj_ia(&sp->obj);

	pthread_mutex_lock(&ia->cm_lock);
	if (dofi_obj_remains(&sp->obj, ia))
		return ia;
	pthread_mutex_unlock(&ia->cm_lock);
	return NULL;
}

DAT_RETURN dofi_psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	struct dofi_sp *sp = sp_live(handle, DAT_HANDLE_TYPE_PSP);
	struct dofi_ia *ia;

	if (!sp)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	if (mask & ~DAT_PSP_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ia = dofi_sp_lock(sp);
	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	param->ia_handle = dofi_api_ia_handle(ia);
	param->conn_qual = sp->qual;
	param->evd_handle = sp->evd;
	param->psp_flags = sp->flags;
	pthread_mutex_unlock(&ia->cm_lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_sp_free(DAT_HANDLE handle, DAT_HANDLE_TYPE type, DAT_RETURN subtype)
{
	struct dofi_sp *sp = sp_live(handle, type);
	struct dofi_ia *ia;

	if (!sp)
		return DOFI_ERR(DAT_INVALID_HANDLE, subtype);
	ia = dofi_sp_lock(sp);
	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, subtype);
	if (!dofi_obj_retire(&sp->obj)) {
		pthread_mutex_unlock(&ia->cm_lock);
		return DOFI_ERR(DAT_INVALID_HANDLE, subtype);
	}
	if (sp->ep && !sp->spent && sp->ep->state == DAT_EP_STATE_RESERVED)
		dofi_ep_transit(sp->ep, DOFI_EP_RELEASE);
	dofi_sp_destroy(sp);
	pthread_mutex_unlock(&ia->cm_lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_psp_free(DAT_PSP_HANDLE handle)
{
	return dofi_sp_free(handle, DAT_HANDLE_TYPE_PSP, DAT_INVALID_HANDLE_PSP);
}

DAT_RETURN dofi_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep_handle,
			   DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *out)
{
	struct dofi_ia *ia = dofi_ia_live(ia_handle);
	struct dofi_evd *evd;
	struct dofi_ep *ep;
	struct dofi_sp *sp = NULL;
	DAT_RETURN ret;

	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	ep = (struct dofi_ep *)dofi_obj_check(ep_handle, DAT_HANDLE_TYPE_EP, ia);
	if (!ep && ep_handle != DAT_HANDLE_NULL)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	evd = dofi_sp_cr_evd(ia, evd_handle);
	if (!evd)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	if (!out)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	pthread_mutex_lock(&ia->cm_lock);
	if (ep && !dofi_obj_remains(&ep->obj, ia))
		ret = DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	else if (ep && ep->ud)
		ret = DOFI_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	else if (ep && ep->state != DAT_EP_STATE_UNCONNECTED)
		ret = dofi_ret_ep_state(ep->state);
	else
		ret = sp_make_sp(ia, DAT_HANDLE_TYPE_RSP, qual, dofi_cm_port(qual), evd, &sp);
	if (!ret) {
		sp->ep = ep;
		if (ep)
			dofi_ep_transit(ep, DOFI_EP_RESERVE);
		dofi_obj_publish(&sp->obj);
		*out = sp;
	}
	pthread_mutex_unlock(&ia->cm_lock);
	return ret;
}

DAT_RETURN dofi_rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
	struct dofi_sp *sp = sp_live(handle, DAT_HANDLE_TYPE_RSP);
	struct dofi_ia *ia;

	if (!sp)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
	if (mask & ~DAT_RSP_FIELD_ALL)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DOFI_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ia = dofi_sp_lock(sp);
	if (!ia)
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
	param->ia_handle = dofi_api_ia_handle(ia);
	param->conn_qual = sp->qual;
	param->evd_handle = sp->evd;
	pthread_mutex_lock(&ia->obj_lock);
	param->ep_handle = sp->ep;
	pthread_mutex_unlock(&ia->obj_lock);
	pthread_mutex_unlock(&ia->cm_lock);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_rsp_free(DAT_RSP_HANDLE handle)
{
	return dofi_sp_free(handle, DAT_HANDLE_TYPE_RSP, DAT_INVALID_HANDLE_RSP);
}
