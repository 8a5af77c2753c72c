/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations of fabrics whose connected endpoints are this library's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag/diag.h"
#include "fabrics/emulated/emulated.h"
#include "fabric/netif.h"
#include "msgep/msgep.h"
#include "object/ep.h"
#include "object/limits.h"
#include "object/mr.h"
#include "object/srq.h"

int dofi_emulated_address(struct dofi_fab *fab, const char *wanted)
{
	int ret = dofi_netif_pick(wanted, &fab->addr, fab->netdev, sizeof(fab->netdev));

	if (ret)
		dofi_diag_address(wanted, ret);
	fab->addr_named = wanted != NULL;
	return ret ? ret : dofi_netif_list(fab, wanted);
}

int dofi_emulated_find(struct dofi_fab *fab, const char *wanted)
{
	(void)wanted;
	fab->immed = fab->atomics = true;
	fab->software_atomics = fab->desc->delegates_atomics;
	fab->checks_pz = fab->zero_based = true;
	fab->traffic_classes = fab->desc->transport->traffic_classes;
	fab->atomic_access = FI_ATOMIC;
	fab->mtu = 65536;
	fab->min_batch = DOFI_CQ_BATCH;
	fab->srq_depth = DOFI_MAX_SRQ_DTOS;
	return msgep_getinfo(fab, &fab->info);
}

static int emulated_open_fabric(struct dofi_fab *fab)
{
	return msgep_fabric(fab, &fab->fabric);
}

static int emulated_open_cq(struct dofi_evd *evd, struct fi_cq_attr *attr)
{
	return fi_cq_open(evd->obj.ia->fab.domain, attr, &evd->cq, evd);
}

static int emulated_open_srq(struct dofi_srq *srq, struct fi_rx_attr *attr)
{
	int ret;

	attr->size = (size_t)srq->max_dtos;
	ret = fi_srx_context(srq->obj.ia->fab.domain, attr, &srq->srx, srq);
	srq->post_to = srq->srx;
	return ret;
}

static int emulated_resize_srq(struct dofi_srq *srq, uint32_t n)
{
	return msgep_srx_reserve(srq->srx, n);
}

static void emulated_close_srq(struct dofi_srq *srq)
{
	fi_close(&srq->srx->fid);
}

/* Only accesses of peers use the registration. A window has a key even without rights. */
static int emulated_register_mr(struct dofi_ia *ia, const struct dofi_mr_request *req,
				struct fid_mr **mr, uint32_t *key)
{
	struct msgep_auth auth = { (uintptr_t)req->pz, (uintptr_t)req->only };
	struct fi_mr_attr attr;
	struct iovec iov;

	*mr = NULL;
	if (!(req->priv & DOFI_PRIV_REMOTE) && !req->window)
		return 0;
	attr = dofi_mr_attr(&ia->fab, req, &iov);
	/* With absolute addressing the offset is added to what the peer sends. */
	attr.offset = req->zero_based ? req->address : 0;
	attr.auth_key = (uint8_t *)&auth;
	attr.auth_key_size = sizeof(auth);
	*key = req->context;
	return fi_mr_regattr(ia->fab.domain, &attr, 0, mr);
}

static void emulated_close_mr(struct dofi_ia *ia, struct fid_mr *mr)
{
	(void)ia;
	fi_close(&mr->fid);
}

static uint32_t emulated_find_mr(struct dofi_ia *ia, uint32_t key)
{
	(void)ia;
	return key;
}

/* What peers may reach through the endpoint: see msgep.h. */
static int emulated_authorize(struct dofi_ep *ep, struct fi_info *info)
{
	const struct msgep_auth auth = { (uintptr_t)ep->pz, (uintptr_t)ep };

	/* Owned by the info and freed with it. */
	free(info->ep_attr->auth_key);
	info->ep_attr->auth_key = malloc(sizeof(auth));
	info->ep_attr->auth_key_size = info->ep_attr->auth_key ? sizeof(auth) : 0;
	if (!info->ep_attr->auth_key)
		return -FI_ENOMEM;
	memcpy(info->ep_attr->auth_key, &auth, sizeof(auth));
	return 0;
}

static int emulated_prepare_ep(struct dofi_conn *conn, struct dofi_ep *ep, struct fi_info *info)
{
	(void)conn;
	/* The endpoint has exactly the requested queue lengths. With a shared context max_recv_dtos
	 * is a watermark, which may be set at any time. */
	info->rx_attr->size = ep->srq ? DOFI_MAX_SRQ_DTOS : (size_t)ep->attr.max_recv_dtos;
	/* What it takes out of a shared context completes by the endpoint's flags. */
	if (ep->srq)
		info->rx_attr->op_flags |= FI_COMPLETION;
	return emulated_authorize(ep, info);
}

static void emulated_release_ep(struct dofi_conn *conn, struct dofi_ep *ep)
{
	(void)conn;
	(void)ep;
}

static bool emulated_detach_ep(struct dofi_conn *conn, struct dofi_ep *ep)
{
	(void)ep;
	fi_shutdown(conn->fid, 0);
	return false;
}

static int emulated_set_qual(struct fid *fid, uint64_t qual)
{
	return fi_control(fid, DOFI_CONTROL_QUAL, &qual);
}

static bool emulated_eq_error(struct fi_eq_err_entry *err)
{
	(void)err;
	return false;
}

static bool emulated_no_listener(int code, size_t len)
{
	(void)len;
	return code == ECONNREFUSED;
}

/* The kernel chooses a free one. */
static bool emulated_port_taken(int err)
{
	(void)err;
	return false;
}

static int emulated_watch(int *fd)
{
	*fd = -1;
	return 0;
}

static uint8_t emulated_cq_status(struct dofi_evd *evd, const struct dofi_dto *dto,
				  const struct fi_cq_err_entry *err)
{
	(void)evd;
	(void)dto;
	return dofi_fab_cq_status(err);
}

const struct dofi_fabric_ops dofi_emulated_ops = {
	.open_fabric = emulated_open_fabric,
	.open_cq = emulated_open_cq,
	.open_srq = emulated_open_srq,
	.resize_srq = emulated_resize_srq,
	.close_srq = emulated_close_srq,
	.register_mr = emulated_register_mr,
	.close_mr = emulated_close_mr,
	.find_mr = emulated_find_mr,
	.prepare_ep = emulated_prepare_ep,
	.release_ep = emulated_release_ep,
	.detach_ep = emulated_detach_ep,
	.set_qual = emulated_set_qual,
	.eq_error = emulated_eq_error,
	.no_listener = emulated_no_listener,
	.port_taken = emulated_port_taken,
	.watch = emulated_watch,
	.cq_status = emulated_cq_status,
};
