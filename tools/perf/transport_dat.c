/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the transport over DAT: for each peer connection A, for messages, and connection B, for
 * RDMA writes; and posts on them.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "proc.h"
#include "tdat.h"

#define LINE 64u

/*
 * The session's buffers: those of A hold control messages, those of B the slots that are written
 * from and the ring that the peer writes to; for two-queues those of B are source and target.
 */
static void plan_session(struct tdat *d)
{
	struct perf_transport *t = &d->base;
	bool queues = t->c->op == PERF_TWO_QUEUES;

	d->slot_size = (t->eager_limit + sizeof(struct tdat_tail) + LINE - 1) / LINE * LINE;
	d->plan = *t->run->plan;
	d->plan.validate = 0;
	d->plan.srq = 0;
	d->run = *t->run;
	d->run.plan = &d->plan;
	d->c = (struct perf_case){
		.test = PERF_LAT,
		.op = PERF_WRITE,
		.mode = PERF_POLL,
		.size = queues ? t->c->size : d->slot_size * TDAT_SLOTS,
		.window = queues ? 1 : TDAT_SLOTS + TDAT_LONG,
		.recv_depth = queues ? 4 : TDAT_RECEIVES,
		.eps = 2 * t->peers,
		.merged = !queues || t->run->plan->merged,
		.queue_per_ep = queues,
		.longest_rdma = t->c->size,
	};
	if (d->c.longest_rdma < d->slot_size)
		d->c.longest_rdma = d->slot_size;
}

static int post_receives(struct tdat *d)
{
	struct perf_transport *t = &d->base;
	uint64_t k;
	int i, ret = 0;

	if (t->c->op == PERF_TWO_QUEUES)
		return perf_refill(d->session.hub);
	for (i = 0; i < t->peers; i++)
		for (k = 0; !ret && k < TDAT_RECEIVES; k++)
			ret = tdat_post_receive(d, i, k);
	return ret;
}

static int transport_dat_open(struct perf_transport *t)
{
	struct tdat *d = tdat(t);
	struct pdat_hub *h;
	int i, ret;

	plan_session(d);
	ret = perf_session_open(&d->session, &perf_dat_layer, &d->run, &d->c, t->role);
	/* the other kinds use the same address */
	memcpy(t->run->addr, d->run.addr, sizeof(t->run->addr));
	if (ret)
		return ret;
	h = pdat_hub(d->session.hub);
	d->evd_a = h->evd[PERF_RX];
	d->evd_b = h->evd[PERF_TX];
	for (i = 0; i < t->peers; i++) {
		d->peer[i].a = h->base.side[2 * i];
		d->peer[i].b = h->base.side[2 * i + 1];
	}
	t->source = d->peer[0].b->tx.slot->mem;
	t->target = d->peer[0].b->target;
	return post_receives(d);
}

static int transport_dat_close(struct perf_transport *t)
{
	int ret = tdat_cache_put(tdat(t));

	return ret ? ret : perf_session_close(&tdat(t)->session);
}

/* ---------------------------------------------------------------- two-queues */

static int transport_dat_write(struct perf_transport *t)
{
	struct tdat *d = tdat(t);
	struct perf_side *b = d->peer[0].b;
	DAT_LMR_TRIPLET from = {
		.virtual_address = (uintptr_t)t->source,
		.segment_length = (DAT_SEG_LENGTH)t->c->size,
		.lmr_context = pdat_side(b)->lmr_context,
	};
	DAT_RMR_TRIPLET to = {
		.virtual_address = b->peer.addr,
		.segment_length = (DAT_SEG_LENGTH)t->c->size,
		.rmr_context = (DAT_RMR_CONTEXT)b->peer.key,
	};

	return tdat_post_write(d, 0, &from, &to, tdat_cookie(TDAT_WORK_SLOT, 0, 0));
}

/* 1: a successful completion. */
static int read_queue(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_dequeue(evd, &event);
	int err;

	if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
		return 0;
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_evd_dequeue");
	err = pdat_check_event(&event);
	return err ? err : 1;
}

static int transport_dat_written(struct perf_transport *t)
{
	return read_queue(tdat(t)->evd_b);
}

static int transport_dat_look(struct perf_transport *t)
{
	int ret = read_queue(tdat(t)->evd_a);

	return ret > 0 ? perf_transport_error(t, -EPROTO, "event queue A") : ret;
}

const struct perf_transport_ops perf_dat_transport = {
	.name = "dat",
	.open = transport_dat_open,
	.close = transport_dat_close,
	.start = tdat_start,
	.progress = tdat_progress,
	.write = transport_dat_write,
	.written = transport_dat_written,
	.look = transport_dat_look,
	.size = sizeof(struct tdat),
};
