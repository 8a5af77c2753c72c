/* SPDX-License-Identifier: BSD-2-Clause */
/* How does the raw twin post and complete? This is what DAT is compared with. */
#include <errno.h>
#include <poll.h>

#include "proc.h"
#include "raw.h"

#define BATCH 16

/* The context of an operation is the counter that its completion increments. */

int raw_post_recv(struct perf_side *s)
{
	struct raw_side *r = raw_side(s);
	ssize_t ret = fi_recv(r->ep, s->rx, s->rx_len, r->desc, FI_ADDR_UNSPEC, &s->rx_done);

	return ret ? raw_error((int)ret, "fi_recv") : 0;
}

static ssize_t send_more(struct raw_side *r, size_t len)
{
	struct iovec iov = { r->base.tx, len };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.desc = &r->desc,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = &r->base.tx_done,
	};

	return fi_sendmsg(r->ep, &msg, FI_MORE | FI_COMPLETION);
}

static ssize_t rma_flags(struct raw_side *r, enum perf_op op, size_t len, uint64_t flags)
{
	struct iovec iov = { r->base.tx, len };
	struct fi_rma_iov rma = { r->base.peer.addr, len, r->base.peer.key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.desc = &r->desc,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = &r->base.tx_done,
	};

	if (op == PERF_READ)
		return fi_readmsg(r->ep, &msg, flags | FI_COMPLETION);
	return fi_writemsg(r->ep, &msg, flags | FI_COMPLETION);
}

static ssize_t post_plain(struct raw_side *r, enum perf_op op, size_t len)
{
	struct perf_side *s = &r->base;

	switch (op) {
	case PERF_SEND:
		return fi_send(r->ep, s->tx, len, r->desc, FI_ADDR_UNSPEC, &s->tx_done);
	case PERF_WRITE:
		if (r->write_flags)
			return rma_flags(r, op, len, r->write_flags);
		return fi_write(r->ep, s->tx, len, r->desc, FI_ADDR_UNSPEC, s->peer.addr,
				s->peer.key, &s->tx_done);
	default:
		return fi_read(r->ep, s->tx, len, r->desc, FI_ADDR_UNSPEC, s->peer.addr,
			       s->peer.key, &s->tx_done);
	}
}

int raw_post(struct perf_side *s, enum perf_op op, size_t len, bool more)
{
	struct raw_side *r = raw_side(s);
	ssize_t ret;

	if (!more || !r->more)
		ret = post_plain(r, op, len);
	else if (op == PERF_SEND)
		ret = send_more(r, len);
	else
		ret = rma_flags(r, op, len, FI_MORE | (op == PERF_WRITE ? r->write_flags : 0));
	if (ret && ret != -FI_EAGAIN)
		return raw_error((int)ret, "post");
	return (int)ret;
}

static int completion_error(struct raw_side *r, enum perf_queue q)
{
	struct fi_cq_err_entry e = { 0 };
	ssize_t n = fi_cq_readerr(r->cq[q], &e, 0);

	if (n < 0)
		return raw_error((int)n, "fi_cq_readerr");
	return perf_error(-e.err, "raw", e.flags & FI_RECV ? "receive" : "own operation", "%s (%s)",
			  raw_lib.strerror(e.err),
			  fi_cq_strerror(r->cq[q], e.prov_errno, e.err_data, NULL, 0));
}

int raw_reap(struct perf_side *s, enum perf_queue q, int max)
{
	struct fi_cq_msg_entry entry[BATCH];
	struct raw_side *r = raw_side(s);
	ssize_t i, n;

	n = fi_cq_read(r->cq[q], entry, (size_t)(max < BATCH ? max : BATCH));
	if (n == -FI_EAGAIN)
		return 0;
	if (n == -FI_EAVAIL)
		return completion_error(r, q);
	if (n < 0)
		return raw_error((int)n, "fi_cq_read");
	for (i = 0; i < n; i++)
		++*(uint64_t *)entry[i].op_context;
	return (int)n;
}

int raw_wait(struct perf_side *s, enum perf_queue q, int max, int timeout_ms)
{
	struct raw_side *r = raw_side(s);
	struct pollfd pfd = { .fd = r->cq_fd[q], .events = POLLIN };
	struct fid *fid = &r->cq[q]->fid;
	int ret = raw_reap(s, q, max);

	if (ret)
		return ret;
	ret = fi_trywait(raw_dev(s->dev)->fabric, &fid, 1);
	if (ret == -FI_EAGAIN)
		return 0;
	if (ret)
		return raw_error(ret, "fi_trywait");
	if (poll(&pfd, 1, timeout_ms) < 0 && errno != EINTR)
		return raw_error(-errno, "poll");
	return raw_reap(s, q, max);
}
