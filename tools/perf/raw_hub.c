/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates the queues, receives and memory that the raw twin's endpoints share, and the endpoints.
 */
#include <stdlib.h>

#include "proc.h"
#include "raw.h"

static bool sleeps(const struct perf_case *c)
{
	return c->mode == PERF_WAIT || c->mode == PERF_CNO;
}

/* Opens a CQ with a wait descriptor; providers without one are polled. */
static int open_cq(struct raw_hub *h, struct raw_dev *d, int q)
{
	const struct perf_case *c = d->base.c;
	/* QUIRK libfabric tcp: reads a queue without descriptor by a system call (seen in 1.17) */
	struct fi_cq_attr attr = {
		.format = FI_CQ_FORMAT_MSG,
		.wait_obj = FI_WAIT_FD,
		.size = (size_t)(c->eps * (c->window + 1 + c->recv_depth)),
	};
	int ret = fi_cq_open(d->domain, &attr, &h->cq[q], NULL);

	h->cq_fd[q] = -1;
	if (!ret)
		ret = fi_control(&h->cq[q]->fid, FI_GETWAIT, &h->cq_fd[q]);
	if (!ret)
		return 0;
	if (sleeps(c))
		return -FI_EOPNOTSUPP;
	if (h->cq[q])
		fi_close(&h->cq[q]->fid);
	attr.wait_obj = FI_WAIT_NONE;
	ret = fi_cq_open(d->domain, &attr, &h->cq[q], NULL);
	return ret ? raw_error(ret, "fi_cq_open") : 0;
}

static int open_cqs(struct raw_hub *h, struct raw_dev *d)
{
	int ret = open_cq(h, d, PERF_TX);

	if (ret || !d->base.c->merged)
		return ret ? ret : open_cq(h, d, PERF_RX);
	h->cq[PERF_RX] = h->cq[PERF_TX];
	h->cq_fd[PERF_RX] = h->cq_fd[PERF_TX];
	return 0;
}

static int register_memory(struct raw_hub *h, struct raw_dev *d)
{
	static uint64_t next_key = 1;
	int ret;

	ret = fi_mr_reg(d->domain, h->base.mem, h->base.mem_len,
			FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
			0, next_key++, 0, &h->mr, NULL);
	if (ret)
		return raw_error(ret, "fi_mr_reg");
	h->desc = fi_mr_desc(h->mr);
	return 0;
}

/* As many buffers as all endpoints together would have. */
static int open_srx(struct raw_hub *h, struct raw_dev *d)
{
	const struct perf_case *c = d->base.c;
	struct fi_rx_attr attr = *d->info->rx_attr;
	int ret;

	h->base.shared_depth = c->eps * c->recv_depth;
	attr.size = (size_t)h->base.shared_depth;
	ret = fi_srx_context(d->domain, &attr, &h->srx, NULL);
	if (ret == -FI_ENOSYS || ret == -FI_EOPNOTSUPP)
		return -FI_EOPNOTSUPP;
	return ret ? raw_error(ret, "fi_srx_context") : 0;
}

int raw_hub_open(struct perf_dev *dev, struct perf_hub **hub)
{
	struct raw_dev *d = raw_dev(dev);
	struct raw_hub *h = calloc(1, sizeof(*h));
	int ret;

	if (!h)
		return raw_error(-FI_ENOMEM, "calloc");
	h->base.layer = dev->layer;
	h->base.dev = dev;
	*hub = &h->base;
	if (d->lacks_op || d->lacks_srx)
		return -FI_EOPNOTSUPP;
	ret = open_cqs(h, d);
	if (!ret && dev->run->plan->srq)
		ret = open_srx(h, d);
	if (!ret)
		ret = perf_memory_get(*hub);
	return ret ? ret : register_memory(h, d);
}

int raw_hub_close(struct perf_hub *hub)
{
	struct raw_hub *h = raw_hub(hub);
	int ret = 0;

	ret |= raw_close_fid(h->srx ? &h->srx->fid : NULL, "fi_close(srx)");
	ret |= raw_close_fid(h->mr ? &h->mr->fid : NULL, "fi_close(mr)");
	if (h->cq[PERF_RX] != h->cq[PERF_TX])
		ret |= raw_close_fid(h->cq[PERF_RX] ? &h->cq[PERF_RX]->fid : NULL, "fi_close(cq)");
	ret |= raw_close_fid(h->cq[PERF_TX] ? &h->cq[PERF_TX]->fid : NULL, "fi_close(cq)");
	perf_memory_put(hub);
	free(h);
	return ret ? -FI_EIO : 0;
}

int raw_side_open(struct perf_hub *hub, struct perf_side **side)
{
	const struct perf_plan *plan = hub->dev->run->plan;
	struct raw_dev *d = raw_dev(hub->dev);
	struct raw_hub *h = raw_hub(hub);
	struct raw_side *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return raw_error(-FI_ENOMEM, "calloc");
	r->base.layer = hub->layer;
	r->base.hub = hub;
	r->dest = FI_ADDR_UNSPEC;
	r->desc = h->desc;
	r->more = plan->raw_more;
	r->write_flags = plan->raw_delivery ? FI_DELIVERY_COMPLETE : 0;
	r->base.local.key = fi_mr_key(h->mr);
	*side = &r->base;
	ret = perf_memory_side(hub, *side);
	if (!(d->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR))
		r->base.local.addr -= (uintptr_t)hub->mem;
	return ret || !d->unconnected ? ret : raw_make_ep(r, d->info);
}

int raw_side_close(struct perf_side *s)
{
	struct raw_side *r = raw_side(s);
	int ret = raw_close_fid(r->ep ? &r->ep->fid : NULL, "fi_close(ep)");

	perf_memory_side_put(s);
	free(r);
	return ret ? -FI_EIO : 0;
}
