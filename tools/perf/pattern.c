/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs one pattern over one transport: opens it, measures and closes it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "proc.h"
#include "transport.h"

static const struct perf_transport_ops *const transport_of[PERF_KINDS] = {
	[PERF_DAT] = &perf_dat_transport,
	[PERF_SOCKETS] = &perf_socket_transport,
	[PERF_SHM] = &perf_shm_transport,
};

int perf_transport_error(const struct perf_transport *t, int err, const char *call)
{
	return perf_error(err, t->ops->name, call, "%s", strerror(-err));
}

static int msgs_get(struct perf_msgs *m, int least)
{
	for (m->capacity = 1; m->capacity < (uint64_t)least;)
		m->capacity *= 2;
	m->msg = calloc(m->capacity, sizeof(*m->msg));
	return m->msg ? 0 : perf_error(-ENOMEM, NULL, "calloc", "out of memory");
}

static int transport_get(struct perf_transport **out, enum perf_kind kind, struct perf_run *run,
			 const struct perf_case *c, enum perf_role role)
{
	const struct perf_transport_ops *ops = transport_of[kind];
	struct perf_transport *t = calloc(1, ops->size);
	int i, ret = t ? 0 : perf_error(-ENOMEM, NULL, "calloc", "out of memory");

	*out = t;
	if (ret)
		return ret;
	t->ops = ops;
	t->run = run;
	t->c = c;
	t->role = role;
	t->peers = c->op == PERF_HALO ? PERF_MAX_PEERS : 1;
	t->eager_limit = (size_t)run->plan->eager_limit;
	for (i = 0; !ret && i < t->peers; i++) {
		ret = msgs_get(&t->peer[i].out, c->window + 1);
		if (!ret)
			ret = msgs_get(&t->peer[i].in, c->window + 1);
	}
	return ret;
}

static void transport_put(struct perf_transport *t)
{
	int i;

	for (i = 0; i < t->peers; i++) {
		free(t->peer[i].out.msg);
		free(t->peer[i].in.msg);
	}
	free(t);
}

/* After an error the process exits, which frees everything. */
int perf_pattern(enum perf_kind kind, struct perf_run *run, const struct perf_case *c,
		 enum perf_role role, struct perf_figures *f)
{
	int limit = (int)run->plan->timeout_ms;
	struct perf_transport *t;
	int ret;

	if (kind == PERF_SHM && !run->one_host)
		return -EOPNOTSUPP;
	ret = transport_get(&t, kind, run, c, role);
	if (!ret)
		ret = t->ops->open(t);
	perf_stage("prepare");
	if (!ret)
		ret = perf_barrier(run->chan, limit);
	perf_stage("measure (pattern)");
	if (!ret)
		ret = (c->op == PERF_TWO_QUEUES ? perf_pattern_queues : perf_pattern_messages)(t,
											       f);
	if (!ret)
		ret = perf_barrier(run->chan, limit);
	if (!ret)
		ret = t->ops->close(t);
	if (!ret)
		transport_put(t);
	return ret;
}
