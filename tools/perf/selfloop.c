/* SPDX-License-Identifier: BSD-2-Clause */
/* What does one operation cost when a single thread is both ends of a connection? */
#include <limits.h>
#include <stdlib.h>

#include "proc.h"
#include "session.h"

static int connect_both(const struct perf_layer *l, struct perf_dev *dev, struct perf_side *s[2])
{
	struct perf_where where;
	int ret = l->listen(dev, &where);

	if (!ret)
		ret = l->side_open(dev, &s[0]);
	if (!ret)
		ret = l->side_open(dev, &s[1]);
	if (!ret)
		ret = l->connect(s[0], &where);
	if (!ret)
		ret = l->accept(s[1]);
	if (!ret)
		ret = l->established(s[0]);
	if (!ret)
		ret = l->established(s[1]);
	if (!ret) {
		s[0]->peer = s[1]->local;
		s[1]->peer = s[0]->local;
	}
	return ret;
}

static int loop(const struct perf_layer *l, const struct perf_case *c, struct perf_side *s[2])
{
	long i, end = c->warmup + c->iters;
	uint64_t start = 0;
	int ret = 0;

	for (i = 0; !ret && i < end; i++) {
		if (i == c->warmup)
			start = perf_now();
		ret = perf_loop_iter(s[0], s[1], c, i);
	}
	if (!ret)
		printf("%s %s %zu bytes: %ld operations, %.3f us each\n", l->name,
		       perf_op_name[c->op], c->size, c->iters,
		       (double)(perf_now() - start) / 1000.0 / (double)c->iters);
	return ret;
}

static int run_layer(const struct perf_layer *l, struct perf_run *run, const struct perf_case *c)
{
	struct perf_side *s[2] = { NULL, NULL };
	struct perf_dev *dev = NULL;
	int ret = l->open(run, c, &dev);

	if (!ret)
		ret = connect_both(l, dev, s);
	if (!ret)
		ret = loop(l, c, s);
	if (!ret)
		ret = l->disconnect(s[0]);
	if (!ret)
		ret = l->disconnect(s[1]);
	/* after an error the process ends: its objects go with it */
	if (!ret)
		ret = l->side_close(s[0]);
	if (!ret)
		ret = l->side_close(s[1]);
	if (!ret)
		ret = l->close(dev);
	return ret;
}

int perf_selfloop(const struct perf_opts *o, const struct perf_case *list, int n)
{
	struct perf_run run = { .opts = o, .read_limit = INT_MAX };
	int k, ret = 0;

	(void)n;
	snprintf(run.addr, sizeof(run.addr), "%s", o->addr);
	for (k = 0; !ret && k < PERF_KINDS; k++)
		if (o->kinds & 1u << k)
			ret = run_layer(perf_layer_of((enum perf_kind)k), &run, &list[0]);
	return ret;
}
