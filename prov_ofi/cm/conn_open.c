/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates and closes the fabric endpoint of one connection.
 *
 * A connection ends in this order: posts are refused (ep->conn is NULL), the fabric flushes its
 * operations and the completions are read, the fabric endpoint is closed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/slab.h"
#include "cm/cm.h"
#include "data/amo.h"
#include "data/cq.h"
#include "fabric/fab_ops.h"
#include "object/ep.h"
#include "object/ep_state.h"
#include "object/srq.h"

static struct dofi_slab slab = DOFI_SLAB_INIT(struct dofi_conn, 64, NULL);

static void conn_destroy(struct dofi_conn *conn)
{
	dofi_list_remove(&conn->link);
	conn->ia = NULL;
	dofi_slab_put(&slab, conn, true);
}

/* Binding and closing an endpoint access both its CQs (object/evd.h). Caller holds cm_lock. */
static void conn_enter_queues(struct dofi_ep *ep)
{
	struct dofi_evd *a = ep->recv_evd, *b = ep->req_evd;
	bool bare = ep->cq_external_lock;

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	dofi_evd_enter((uintptr_t)a < (uintptr_t)b ? a : b, bare);
	dofi_evd_enter((uintptr_t)a < (uintptr_t)b ? b : a, bare && a != b);
}

static void conn_leave_queues(struct dofi_ep *ep)
{
	dofi_evd_leave(ep->recv_evd, ep->cq_external_lock);
	dofi_evd_leave(ep->req_evd, ep->cq_external_lock && ep->req_evd != ep->recv_evd);
}

static void conn_close_fid(struct fid_ep *fid, struct dofi_ep *ep)
{
	conn_enter_queues(ep);
	fi_close(&fid->fid);
	conn_leave_queues(ep);
}

/* Selective completion: each operation states whether it generates a completion (data/dto.c). */
static int conn_bind_queues(struct dofi_conn *conn, struct dofi_ep *ep)
{
	struct fid *recv = &ep->recv_evd->cq->fid, *req = &ep->req_evd->cq->fid;
	int ret = fi_ep_bind(conn->fid, &ep->obj.ia->fab.eq->fid, 0);

	if (!ret && ep->srq)
		ret = fi_ep_bind(conn->fid, &ep->srq->srx->fid, 0);
	if (ret)
		return ret;
	if (recv == req)
		return fi_ep_bind(conn->fid, recv, FI_RECV | FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
	ret = fi_ep_bind(conn->fid, recv, FI_RECV);
	return ret ? ret : fi_ep_bind(conn->fid, req, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
}

int dofi_conn_open(struct dofi_ep *ep, struct fi_info *info, struct dofi_conn **out)
{
	struct dofi_ia *ia = ep->obj.ia;
	struct dofi_conn *conn = dofi_slab_get(&slab, true);
	int ret;

	DOFI_ASSERT_LOCKED(&ep->obj.ia->cm_lock);
	if (!conn)
		return -ENOMEM;
	memset(conn, 0, sizeof(*conn));
	ret = -ENOMEM;
	if (ep->srq) {
		info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
		/* What the peer of a former connection has announced; its completions have been
		 * read, and no message of this one arrives before the id is allocated. */
		ep->announced.what = DOFI_ANNOUNCED_NOTHING;
		ep->announced.value = 0;
		conn->conn_id = dofi_conn_id_alloc(&ia->conn_ids, ep);
		if (!conn->conn_id)
			goto no_fid;
	}
	ep->rq.depth = ep->sq.depth = ep->max_reads = UINT32_MAX;
	ret = ia->fab.desc->ops->prepare_ep(conn, ep, info);
	if (ret)
		goto no_fid;
	ret = fi_endpoint(ia->fab.domain, info, &conn->fid, conn);
	if (ret)
		goto no_fid;
	conn_enter_queues(ep);
	ret = conn_bind_queues(conn, ep);
	conn_leave_queues(ep);
	if (!ret)
		ret = fi_enable(conn->fid);
	if (ret)
		goto no_enable;
	conn->ia = ia;
	conn->ep = ep;
	dofi_lock(&ep->lock);
	ep->qos = dofi_qos_of_tclass(info->tx_attr->tclass);
	dofi_unlock(&ep->lock);
	dofi_list_append(&ia->conns, &conn->link);
	*out = conn;
	return 0;
no_enable:
	conn_close_fid(conn->fid, ep);
	info->handle = NULL;
no_fid:
	ia->fab.desc->ops->release_ep(conn, ep);
	if (conn->conn_id)
		dofi_conn_id_free(&ia->conn_ids, conn->conn_id);
	dofi_slab_put(&slab, conn, true);
	return ret;
}

void dofi_conn_set_reads(struct dofi_conn *conn, unsigned int served)
{
	struct dofi_ep *ep = conn->ep;
	unsigned int most = (unsigned int)ep->attr.max_rdma_read_out;

	/* Software fabrics serve any number. */
	if (!conn->ia->fab.limits_reads)
		return;
	if (served < most)
		most = served;
	dofi_lock(&ep->lock);
	ep->max_reads = most ? most : 1;
	dofi_unlock(&ep->lock);
}

/* Reads also what waits for the establishment of another EP. */
static void conn_drain(struct dofi_evd *evd)
{
	uint64_t since;

	dofi_evd_drain(evd);
	while (dofi_cq_awaited(evd, &since)) {
		dofi_cm_resume(evd, true);
		dofi_evd_drain(evd);
	}
}

/* Buffers of the EP's SRQ come back as flushed. */
static void conn_await_flushed(struct dofi_ep *ep)
{
	const struct timespec nap = { .tv_nsec = 200000 };

	for (int i = 0; i < 10; i++) {
		nanosleep(&nap, NULL);
		conn_drain(ep->recv_evd);
	}
}

void dofi_conn_detach(struct dofi_conn *conn)
{
	struct dofi_ep *ep = conn->ep;

	DOFI_ASSERT_LOCKED(&conn->ia->cm_lock);
	dofi_lock(&ep->lock);
	conn->shut = true;
	ep->conn = NULL;
	dofi_ep_set_quotas(ep);
	dofi_unlock(&ep->lock);
	conn->ep = NULL;
	dofi_amo_detach(ep);
	if (conn->ia->fab.desc->ops->detach_ep(conn, ep))
		conn_await_flushed(ep);
	conn_drain(ep->recv_evd);
	conn_drain(ep->req_evd);
	conn_close_fid(conn->fid, ep);
	conn->fid = NULL;
	conn->ia->fab.desc->ops->release_ep(conn, ep);
	/* Operations that fi_close itself flushed. */
	conn_drain(ep->recv_evd);
	conn_drain(ep->req_evd);
	if (conn->conn_id)
		dofi_conn_id_free(&conn->ia->conn_ids, conn->conn_id);
	conn_destroy(conn);
}
