/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts and completes operations of the raw twin, which DAT is compared with. */
#include <errno.h>
#include <poll.h>

#include "proc.h"
#include "raw.h"

#define BATCH 16

/* The context of an operation is its slot, whose counters the completion increments. */

int raw_post_recv(struct perf_side *s, struct perf_slot *slot)
{
	struct raw_side *r = raw_side(s);
	ssize_t ret = fi_recv(r->ep, slot->mem, s->hub->stride, r->desc, FI_ADDR_UNSPEC, slot);

	return ret ? raw_error((int)ret, "fi_recv") : 0;
}

int raw_post_shared(struct perf_hub *hub, struct perf_slot *slot)
{
	struct raw_hub *h = raw_hub(hub);
	ssize_t ret = fi_recv(h->srx, slot->mem, hub->stride, h->desc, FI_ADDR_UNSPEC, slot);

	return ret ? raw_error((int)ret, "fi_recv(srx)") : 0;
}

static ssize_t raw_send_more(struct raw_side *r, const struct perf_work *w)
{
	struct iovec iov = { w->slot->mem, w->len };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.desc = &r->desc,
		.iov_count = 1,
		.addr = r->dest,
		.context = w->slot,
	};

	return fi_sendmsg(r->ep, &msg, FI_MORE | FI_COMPLETION);
}

static ssize_t raw_rma(struct raw_side *r, const struct perf_work *w, uint64_t flags)
{
	struct iovec iov = { w->slot->mem, w->len };
	struct fi_rma_iov rma = { r->base.peer.addr + w->offset, w->len, r->base.peer.key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.desc = &r->desc,
		.iov_count = 1,
		.addr = r->dest,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = w->slot,
		.data = (uint32_t)w->number,
	};

	if (w->op == PERF_IMMED)
		flags |= FI_REMOTE_CQ_DATA;
	if (w->op == PERF_READ)
		return fi_readmsg(r->ep, &msg, flags | FI_COMPLETION);
	return fi_writemsg(r->ep, &msg, flags | FI_COMPLETION);
}

/* The result goes to the same place as with DAT; the operands follow it. */
static ssize_t raw_atomic(struct raw_side *r, const struct perf_work *w)
{
	uint64_t *result = (void *)w->slot->mem, *operand = result + 1, *compare = result + 2;
	struct perf_target *peer = &r->base.peer;

	*operand = w->op == PERF_FADD ? 1 : w->number + 1;
	*compare = w->number;
	if (w->op == PERF_FADD)
		return fi_fetch_atomic(r->ep, operand, 1, r->desc, result, r->desc, r->dest,
				       peer->addr + w->offset, peer->key, FI_UINT64, FI_SUM,
				       w->slot);
	return fi_compare_atomic(r->ep, operand, 1, r->desc, compare, r->desc, result, r->desc,
				 r->dest, peer->addr + w->offset, peer->key, FI_UINT64, FI_CSWAP,
				 w->slot);
}

static ssize_t raw_post_plain(struct raw_side *r, const struct perf_work *w)
{
	struct perf_target *peer = &r->base.peer;

	switch (w->op) {
	case PERF_SEND:
		return fi_send(r->ep, w->slot->mem, w->len, r->desc, r->dest, w->slot);
	case PERF_WRITE:
		if (r->write_flags)
			return raw_rma(r, w, r->write_flags);
		return fi_write(r->ep, w->slot->mem, w->len, r->desc, r->dest,
				peer->addr + w->offset, peer->key, w->slot);
	case PERF_IMMED:
		return raw_rma(r, w, r->write_flags);
	case PERF_FADD:
	case PERF_CSWAP:
		return raw_atomic(r, w);
	default:
		return fi_read(r->ep, w->slot->mem, w->len, r->desc, r->dest,
			       peer->addr + w->offset, peer->key, w->slot);
	}
}

int raw_post(struct perf_side *s, const struct perf_work *w)
{
	struct raw_side *r = raw_side(s);
	ssize_t ret;

	if (!w->more || !r->more || perf_atomic(w->op))
		ret = raw_post_plain(r, w);
	else if (w->op == PERF_SEND)
		ret = raw_send_more(r, w);
	else
		ret = raw_rma(r, w, FI_MORE | (w->op == PERF_READ ? 0 : r->write_flags));
	if (ret && ret != -FI_EAGAIN)
		return raw_error((int)ret, "post");
	return (int)ret;
}

static int completion_error(struct raw_hub *h, enum perf_queue q)
{
	struct fi_cq_err_entry e = { 0 };
	ssize_t n = fi_cq_readerr(h->cq[q], &e, 0);

	if (n < 0)
		return raw_error((int)n, "fi_cq_readerr");
	return perf_error(-e.err, "raw", e.flags & FI_RECV ? "receive" : "own operation", "%s (%s)",
			  raw_lib.strerror(e.err),
			  fi_cq_strerror(h->cq[q], e.prov_errno, e.err_data, NULL, 0));
}

/* Not all fabrics consume a receive for a write with immediate data. */
static int count_completion(struct raw_hub *h, const struct fi_cq_msg_entry *entry)
{
	if (!(entry->flags & FI_REMOTE_WRITE))
		return perf_completed(entry->op_context, entry->len);
	if (raw_dev(h->base.dev)->info->mode & FI_RX_CQ_DATA)
		return perf_completed_immed(entry->op_context, NULL);
	++h->base.rx_done;
	/* with several connections, the source is unknown */
	return h->base.sides == 1 && h->base.dev->run->plan->validate
		       ? perf_check_immed(h->base.side[0], NULL)
		       : 0;
}

int raw_reap(struct perf_hub *hub, enum perf_queue q, int max)
{
	struct fi_cq_msg_entry entry[BATCH];
	struct raw_hub *h = raw_hub(hub);
	ssize_t i, n;
	int err;

	n = fi_cq_read(h->cq[q], entry, (size_t)(max < BATCH ? max : BATCH));
	if (n == -FI_EAGAIN)
		return 0;
	if (n == -FI_EAVAIL)
		return completion_error(h, q);
	if (n < 0)
		return raw_error((int)n, "fi_cq_read");
	for (i = 0; i < n; i++) {
		err = count_completion(h, &entry[i]);
		if (err)
			return err;
	}
	return (int)n;
}

/* Blocks until one of `n` queues may have a completion. */
static int raw_block_on(struct perf_hub *hub, struct fid **fid, struct pollfd *pfd, int n,
			int timeout_ms)
{
	int ret = fi_trywait(raw_dev(hub->dev)->fabric, fid, n);

	if (ret == -FI_EAGAIN)
		return 0;
	if (ret)
		return raw_error(ret, "fi_trywait");
	if (poll(pfd, (nfds_t)n, timeout_ms) < 0 && errno != EINTR)
		return raw_error(-errno, "poll");
	return 0;
}

int raw_wait(struct perf_hub *hub, enum perf_queue q, int max, int timeout_ms)
{
	struct raw_hub *h = raw_hub(hub);
	struct pollfd pfd = { .fd = h->cq_fd[q], .events = POLLIN };
	struct fid *fid = &h->cq[q]->fid;
	int ret = raw_reap(hub, q, max);

	if (!ret)
		ret = raw_block_on(hub, &fid, &pfd, 1, timeout_ms);
	return ret ? ret : raw_reap(hub, q, max);
}

int raw_wait_any(struct perf_hub *hub, int timeout_ms)
{
	struct raw_hub *h = raw_hub(hub);
	struct pollfd pfd[2] = {
		{ .fd = h->cq_fd[PERF_TX], .events = POLLIN },
		{ .fd = h->cq_fd[PERF_RX], .events = POLLIN },
	};
	struct fid *fid[2] = { &h->cq[PERF_TX]->fid, &h->cq[PERF_RX]->fid };

	return raw_block_on(hub, fid, pfd, h->cq[PERF_TX] == h->cq[PERF_RX] ? 1 : 2, timeout_ms);
}
