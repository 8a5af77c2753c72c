/* SPDX-License-Identifier: BSD-2-Clause */
/* Reserves entries of a device's completion queues, so that none overflows.
 *
 * If a CQ has no entry for a completion, the device breaks the queue and all its connections. So
 * each connection reserves entries in the CQs of its EVDs for all operations that it will have
 * outstanding at the fabric, and submits no more than that; others wait in the rings of its EP. A
 * connection that is created when a CQ is nearly full gets fewer entries.
 */
#include <errno.h>

#include "base/log.h"
#include "fabrics/verbs/device.h"
#include "fabrics/verbs/split_rdma.h"
#include "object/ep.h"
#include "object/limits.h"
#include "object/srq.h"

#define CQ_LEAST 128
#define CQ_USUAL 8192
#define CQ_COVERING 32768
/* Minimum number of entries of a connection, per direction. */
#define SHARE_LEAST 5
/* Some devices (siw) refuse a queue of one entry. */
#define QUEUE_LEAST 2
/* Segments of an entry with which the depth of a queue was determined (device.c), with a message
 * prefix. */
#define SEGMENTS (DOFI_DEFAULT_IOV + 1)

/* The library of soft-iWARP interprets one of the offsets at which the kernel maps queues, page
 * 0x90, as an error, so no queue can begin there. The first CQ of an IA is large enough to cover
 * that page. */
static bool cq_must_cover(const struct dofi_evd *evd)
{
	return evd->internal && dofi_device_is_siw(&evd->obj.ia->fab);
}

/* QUIRK libfabric verbs: a CQ with a wait descriptor that cannot be opened leaks descriptors (seen
 * in 1.17): try without one. */
static bool cq_can_be_had(struct dofi_fab *fab, size_t size)
{
	struct fi_cq_attr attr = { .size = size,
				   .format = FI_CQ_FORMAT_DATA,
				   .wait_obj = FI_WAIT_NONE };
	struct fid_cq *cq;

	if (size <= fab->cq_known_size)
		return true;
	if (fi_cq_open(fab->domain, &attr, &cq, NULL))
		return false;
	fi_close(&cq->fid);
	fab->cq_known_size = size;
	return true;
}

int dofi_device_open_cq(struct dofi_evd *evd, struct fi_cq_attr *attr)
{
	struct dofi_fab *fab = &evd->obj.ia->fab;
	int ret;

	/* Programs do not announce that they will share an EVD among endpoints. */
	attr->size = 8 * (size_t)evd->qlen;
	if (attr->size < CQ_USUAL)
		attr->size = CQ_USUAL;
	if (cq_must_cover(evd))
		attr->size = CQ_COVERING;
	/* The greatest size of some devices is one less than a power of two. */
	while (attr->size > CQ_LEAST && !cq_can_be_had(fab, attr->size))
		attr->size = cq_can_be_had(fab, attr->size - 1) ? attr->size - 1 : attr->size / 2;
	ret = fi_cq_open(fab->domain, attr, &evd->cq, evd);
	evd->cq_size = ret ? 0 : (uint32_t)attr->size;
	evd->cq_held = 0;
	return ret;
}

/* While a CQ is half empty, connections get what they request, up to an eighth of the free entries;
 * receives of iWARP, where a message without a receive ends the connection, up to half of them. In
 * the other half each connection gets few, so that hundreds can follow. */
static uint32_t cq_share_of(const struct dofi_evd *evd, uint32_t wanted, bool urgent)
{
	uint32_t left = evd->cq_size - evd->cq_held;
	uint32_t most = left <= evd->cq_size / 2 ? left / 64 : urgent ? left / 2 : left / 8;

	if (most < SHARE_LEAST)
		most = left < SHARE_LEAST ? left : SHARE_LEAST;
	return wanted < most ? wanted : most;
}

static uint32_t cq_hold(struct dofi_evd *evd, uint32_t wanted, bool urgent)
{
	uint32_t n = cq_share_of(evd, wanted, urgent);

	if (n < wanted && n < SHARE_LEAST)
		return 0;
	evd->cq_held += n;
	return n;
}

/* The buffers of an SRQ may all complete on one CQ, but only once, however many EPs share both: a
 * connection other than `but` of the SRQ and this EVD. */
static struct dofi_conn *cq_other_conn(struct dofi_srq *srq, const struct dofi_evd *evd,
				       const struct dofi_conn *but)
{
	struct dofi_conn *found = NULL;
	struct dofi_list *pos;

	dofi_lock(&srq->lock);
	dofi_list_each(pos, &srq->eps)
	{
		struct dofi_conn *conn = dofi_container(pos, struct dofi_ep, shared.link)->conn;

		if (conn && conn != but && conn->rx_evd == evd && (!found || conn->rx_held))
			found = conn;
	}
	dofi_unlock(&srq->lock);
	return found;
}

/* Depth of a queue: what is wanted, within the limit of the fabric. That is for entries of few
 * segments; the memory that devices have for a queue holds fewer longer ones. */
static uint32_t cq_depth(uint32_t wanted, size_t most, size_t iov)
{
	if (iov > SEGMENTS)
		most = most * SEGMENTS / iov;
	return wanted < most ? wanted : (uint32_t)most;
}

static uint32_t cq_receives(const struct dofi_ep *ep, const struct fi_info *info)
{
	uint32_t n = ep->rq.limit;

	if (ep->srq)
		return cq_other_conn(ep->srq, ep->recv_evd, NULL) ? 0 : ep->srq->depth;
	if (n && n < QUEUE_LEAST)
		n = QUEUE_LEAST;
	return cq_depth(n, info->rx_attr->size, info->rx_attr->iov_limit);
}

static uint32_t cq_requests(const struct dofi_ep *ep, const struct fi_info *info)
{
	uint32_t n = ep->sq.limit;

	/* One operation can become several. */
	if (n)
		n += dofi_split_rdma_more(ep);
	if (n && n < QUEUE_LEAST)
		n = QUEUE_LEAST;
	return cq_depth(n, info->tx_attr->size, info->tx_attr->iov_limit);
}

/* The queue pair gets room for the segments that the EP's attributes allow, or have allowed: posted
 * receives keep theirs. */
static void cq_set_segments(const struct dofi_ep *ep, struct fi_info *info)
{
	const struct dofi_fab *fab = &ep->obj.ia->fab;
	size_t rx = ep->rq.iov, tx = ep->sq.iov;

	/* RDMA operations of more are split. */
	if (tx > fab->max_iov)
		tx = fab->max_iov;
	if (rx < DOFI_DEFAULT_IOV)
		rx = DOFI_DEFAULT_IOV;
	if (tx < DOFI_DEFAULT_IOV)
		tx = DOFI_DEFAULT_IOV;
	info->rx_attr->iov_limit = rx + fab->prefix_iov;
	info->tx_attr->iov_limit = tx + fab->prefix_iov;
}

int dofi_device_reserve(struct dofi_conn *conn, struct dofi_ep *ep, struct fi_info *info)
{
	uint32_t rx, tx;

	cq_set_segments(ep, info);
	rx = cq_receives(ep, info);
	tx = cq_requests(ep, info);
	conn->rx_evd = ep->recv_evd;
	conn->tx_evd = ep->req_evd;
	if (ep->srq && rx > conn->rx_evd->cq_size - conn->rx_evd->cq_held)
		goto full;
	conn->rx_held = ep->srq ? rx : cq_hold(conn->rx_evd, rx, ep->obj.ia->fab.has_msg_prefix);
	if (ep->srq)
		conn->rx_evd->cq_held += rx;
	conn->tx_held = cq_hold(conn->tx_evd, tx, false);
	if ((rx && !conn->rx_held) || (tx && !conn->tx_held)) {
		dofi_device_release(conn, ep);
		goto full;
	}
	if (!ep->srq)
		ep->rq.depth = conn->rx_held;
	ep->sq.depth = conn->tx_held;
	info->rx_attr->size = !ep->srq && conn->rx_held ? conn->rx_held : QUEUE_LEAST;
	info->tx_attr->size = conn->tx_held ? conn->tx_held : QUEUE_LEAST;
	return 0;
full:
	dofi_log(DOFI_LOG_ERROR,
		 "the completion queues of an endpoint's EVDs, of %u and %u "
		 "entries, have no room for one more connection",
		 ep->recv_evd->cq_size, ep->req_evd->cq_size);
	return -FI_ENOSPC;
}

void dofi_device_release(struct dofi_conn *conn, struct dofi_ep *ep)
{
	struct dofi_conn *heir = NULL;

	if (ep->srq && conn->rx_held)
		heir = cq_other_conn(ep->srq, conn->rx_evd, conn);
	if (heir)
		heir->rx_held = conn->rx_held;
	else if (conn->rx_evd)
		conn->rx_evd->cq_held -= conn->rx_held;
	if (conn->tx_evd)
		conn->tx_evd->cq_held -= conn->tx_held;
	conn->rx_evd = conn->tx_evd = NULL;
	conn->rx_held = conn->tx_held = 0;
}
