/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures operations with both ends of a connection in a single thread. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "proc.h"
#include "session.h"

/* Each end has its own queues and memory, as two processes would. */
static int open_ends(const struct perf_layer *l, struct perf_dev *dev, struct perf_hub *h[2])
{
	struct perf_side *s;
	int i, ret = 0;

	for (i = 0; !ret && i < 2; i++) {
		ret = l->hub_open(dev, &h[i]);
		if (!ret)
			ret = l->side_open(h[i], &s);
		if (!ret)
			perf_add_side(h[i], s);
	}
	return ret;
}

static int connect_both(const struct perf_layer *l, struct perf_dev *dev, struct perf_hub *h[2])
{
	struct perf_listen_addr listen_addr;
	struct perf_side *a, *b;
	int ret = l->listen(dev, &listen_addr);

	if (!ret)
		ret = open_ends(l, dev, h);
	if (ret)
		return ret;
	a = h[0]->side[0];
	b = h[1]->side[0];
	h[0]->twin = h[1];
	h[1]->twin = h[0];
	ret = l->connect(a, &listen_addr);
	if (!ret)
		ret = l->accept(b);
	if (!ret)
		ret = l->established(a);
	if (!ret)
		ret = l->established(b);
	a->peer = b->local;
	b->peer = a->local;
	if (!ret && l->exchange)
		ret = l->exchange(a);
	if (!ret && l->exchange)
		ret = l->exchange(b);
	return ret;
}

static int loop(const struct perf_layer *l, const struct perf_case *c, struct perf_hub *h[2])
{
	long i, end = c->warmup + c->iters;
	uint64_t start = 0;
	int ret = 0;

	for (i = 0; !ret && i < end; i++) {
		if (i == c->warmup)
			start = perf_now();
		ret = perf_loop_iter(h[0], h[1], c, i);
	}
	if (!ret)
		printf("%s %s %zu bytes: %ld operations, %.3f us each\n", l->name,
		       perf_op_name[c->op], c->size, c->iters,
		       (double)(perf_now() - start) / 1000.0 / (double)c->iters);
	return ret;
}

static int run_layer(const struct perf_layer *l, struct perf_run *run, const struct perf_case *c)
{
	struct perf_hub *h[2] = { NULL, NULL };
	struct perf_dev *dev = NULL;
	int i, ret = l->open(run, c, &dev);

	if (!ret)
		ret = connect_both(l, dev, h);
	if (!ret)
		ret = loop(l, c, h);
	for (i = 0; !ret && i < 2; i++)
		ret = l->disconnect(h[i]->side[0]);
	/* after an error the process exits, which frees its objects */
	for (i = 0; !ret && i < 2; i++) {
		ret = l->side_close(h[i]->side[0]);
		if (!ret)
			ret = l->hub_close(h[i]);
	}
	return ret ? ret : l->close(dev);
}

int perf_selfloop(const struct perf_opts *o)
{
	struct perf_run run = {
		.plan = &o->plan,
		.ia = o->ia,
		.read_limit = INT_MAX,
		.chan = -1,
	};
	struct perf_case *list;
	int k, n, ret;

	n = perf_cases(&o->plan, true, &list);
	ret = n ? 0 : -1;
	run.one_host = true;
	snprintf(run.addr, sizeof(run.addr), "%s", o->addr ? o->addr : "127.0.0.1");
	snprintf(run.raw_provider, sizeof(run.raw_provider), "%s", o->plan.raw_provider);
	for (k = 0; !ret && k < PERF_KINDS; k++)
		if (o->plan.kinds & 1 << k)
			ret = run_layer(perf_layer_of((enum perf_kind)k), &run, &list[0]);
	if (ret == -EOPNOTSUPP) {
		fprintf(stderr, "dat_perf: %s: %s is not supported\n", perf_kind_name[k - 1],
			perf_op_name[list[0].op]);
		fflush(stdout);
		_exit(3);
	}
	free(list);
	perf_exit(ret);
}
