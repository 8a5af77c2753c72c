/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates the queues and memory that the endpoints share, and the endpoints. */
#include <errno.h>
#include <stdlib.h>

#include "pdat.h"
#include "proc.h"

/* Spare entries for events that no pattern expects, such as flushes at the end. */
#define SPARE 8

static int register_memory(struct pdat_hub *h, struct pdat_dev *d)
{
	DAT_REGION_DESCRIPTION region = { .for_va = h->base.mem };
	int more = perf_atomic(d->base.c->op) ? DAT_IB_MEM_PRIV_REMOTE_ATOMIC : 0;
	DAT_MEM_PRIV_FLAGS rights = (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_ALL_FLAG | more);
	DAT_VLEN size;
	DAT_VADDR addr;
	DAT_RETURN ret;

	ret = dat_lmr_create(d->ia, DAT_MEM_TYPE_VIRTUAL, region, h->base.mem_len, d->pz, rights,
			     DAT_VA_TYPE_VA, &h->lmr, &h->lmr_context, &h->rmr_context, &size,
			     &addr);
	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_lmr_create");
}

static int create_evds(struct pdat_hub *h, struct pdat_dev *d)
{
	const struct perf_case *c = d->base.c;
	DAT_COUNT qlen = c->eps * (c->window + 1 + c->recv_depth) + SPARE;
	DAT_RETURN ret;

	if (c->mode == PERF_CNO) {
		ret = dat_cno_create(d->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &h->cno);
		if (ret != DAT_SUCCESS)
			return pdat_error(ret, "dat_cno_create");
	}
	ret = dat_evd_create(d->ia, c->eps + SPARE, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			     &h->conn_evd);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_evd_create(connection)");
	if (qlen > d->attr.max_evd_qlen)
		qlen = d->attr.max_evd_qlen;
	ret = dat_evd_create(d->ia, qlen, h->cno, DAT_EVD_DTO_FLAG, &h->evd[PERF_TX]);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_evd_create(request)");
	h->evd[PERF_RX] = h->evd[PERF_TX];
	if (c->merged)
		return 0;
	h->evd[PERF_RX] = DAT_HANDLE_NULL;
	ret = dat_evd_create(d->ia, qlen, h->cno, DAT_EVD_DTO_FLAG, &h->evd[PERF_RX]);
	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_evd_create(receive)");
}

/* As many buffers as all endpoints together would have. */
static int create_srq(struct pdat_hub *h, struct pdat_dev *d)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = h->base.shared_depth,
		.max_recv_iov = 1,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};
	DAT_RETURN ret = dat_srq_create(d->ia, d->pz, &attr, &h->srq);

	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_srq_create");
}

int pdat_hub_open(struct perf_dev *dev, struct perf_hub **hub)
{
	struct pdat_dev *d = pdat_dev(dev);
	struct pdat_hub *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return perf_error(-ENOMEM, "dat", "calloc", "out of memory");
	h->base.layer = dev->layer;
	h->base.dev = dev;
	*hub = &h->base;
	if (!d->has_op)
		return -EOPNOTSUPP;
	if (dev->run->plan->srq) {
		if (!d->has_srq)
			return -EOPNOTSUPP;
		h->base.shared_depth = dev->c->eps * dev->c->recv_depth;
		if (h->base.shared_depth > d->attr.max_recv_per_srq)
			h->base.shared_depth = d->attr.max_recv_per_srq;
	}
	err = perf_memory_get(*hub);
	if (!err)
		err = register_memory(h, d);
	if (!err)
		err = create_evds(h, d);
	return err || !h->base.shared_depth ? err : create_srq(h, d);
}

int pdat_hub_close(struct perf_hub *hub)
{
	struct pdat_hub *h = pdat_hub(hub);
	int err = 0;

	if (h->srq)
		pdat_keep_error(&err, dat_srq_free(h->srq), "dat_srq_free");
	if (h->evd[PERF_RX] && h->evd[PERF_RX] != h->evd[PERF_TX])
		pdat_keep_error(&err, dat_evd_free(h->evd[PERF_RX]), "dat_evd_free(receive)");
	if (h->evd[PERF_TX])
		pdat_keep_error(&err, dat_evd_free(h->evd[PERF_TX]), "dat_evd_free(request)");
	if (h->conn_evd)
		pdat_keep_error(&err, dat_evd_free(h->conn_evd), "dat_evd_free(connection)");
	if (h->cno)
		pdat_keep_error(&err, dat_cno_free(h->cno), "dat_cno_free");
	if (h->lmr)
		pdat_keep_error(&err, dat_lmr_free(h->lmr), "dat_lmr_free");
	perf_memory_put(hub);
	free(h);
	return err;
}

static int create_ep(struct pdat_side *p, struct pdat_hub *h, struct pdat_dev *d)
{
	const struct perf_case *c = d->base.c;
	DAT_COUNT limit = d->base.run->read_limit;
	DAT_COUNT reads = c->window < limit ? c->window : limit;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = (DAT_SEG_LENGTH)perf_buffer_size(c),
		.max_rdma_size =
			(DAT_SEG_LENGTH)(c->longest_rdma ? c->longest_rdma : perf_buffer_size(c)),
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.max_recv_dtos = h->srq ? -1 : c->recv_depth,
		.max_request_dtos = c->window + 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = reads,
		.max_rdma_read_out = reads,
		.srq_soft_hw = h->srq ? -1 : 0,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};
	DAT_EVD_HANDLE rx = h->evd[PERF_RX], tx = h->evd[PERF_TX];
	DAT_RETURN ret;

	if (c->queue_per_ep)
		rx = tx = h->evd[h->base.sides % 2 ? PERF_TX : PERF_RX];
	if (h->srq)
		ret = dat_ep_create_with_srq(d->ia, d->pz, rx, tx, h->conn_evd, h->srq, &attr,
					     &p->ep);
	else
		ret = dat_ep_create(d->ia, d->pz, rx, tx, h->conn_evd, &attr, &p->ep);
	return ret == DAT_SUCCESS
		       ? 0
		       : pdat_error(ret, h->srq ? "dat_ep_create_with_srq" : "dat_ep_create");
}

int pdat_side_open(struct perf_hub *hub, struct perf_side **side)
{
	struct pdat_dev *d = pdat_dev(hub->dev);
	struct pdat_hub *h = pdat_hub(hub);
	struct pdat_side *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return perf_error(-ENOMEM, "dat", "calloc", "out of memory");
	p->base.layer = hub->layer;
	p->base.hub = hub;
	p->lmr_context = h->lmr_context;
	p->base.local.key = h->rmr_context;
	*side = &p->base;
	err = perf_memory_side(hub, *side);
	return err ? err : create_ep(p, h, d);
}

int pdat_side_close(struct perf_side *s)
{
	struct pdat_side *p = pdat_side(s);
	int err = 0;

	pdat_keep_error(&err, dat_ep_free(p->ep), "dat_ep_free");
	perf_memory_side_put(s);
	free(p);
	return err;
}
