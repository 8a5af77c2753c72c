/* SPDX-License-Identifier: BSD-2-Clause */
/* In which steps do two processes come to a connection, and part again? */
#include "proc.h"
#include "session.h"

static int serve(struct perf_session *ss, const struct perf_layer *layer, int chan)
{
	struct perf_where where;
	int ret;

	perf_stage("listen");
	ret = layer->listen(ss->dev, &where);
	if (!ret)
		ret = layer->side_open(ss->dev, &ss->side);
	if (!ret)
		ret = perf_put(chan, &where, sizeof(where));
	perf_stage("accept");
	return ret ? ret : layer->accept(ss->side);
}

static int call(struct perf_session *ss, const struct perf_layer *layer,
		const struct perf_where *where)
{
	int ret;

	perf_stage("open endpoint");
	ret = layer->side_open(ss->dev, &ss->side);
	perf_stage("connect");
	return ret ? ret : layer->connect(ss->side, where);
}

int perf_session_open(struct perf_session *ss, const struct perf_layer *layer,
		      struct perf_run *run, const struct perf_case *c, enum perf_role role,
		      int chan)
{
	int limit = run->opts->timeout_ms;
	struct perf_where where;
	int ret = 0;

	/* the client comes second: what is wrong with the adapter is said once */
	perf_stage("wait for the server");
	if (role == PERF_CLIENT)
		ret = perf_get(chan, &where, sizeof(where), limit);
	perf_stage("open adapter");
	if (!ret)
		ret = layer->open(run, c, &ss->dev);
	if (!ret)
		ret = role == PERF_SERVER ? serve(ss, layer, chan) : call(ss, layer, &where);
	perf_stage("establish connection");
	if (!ret)
		ret = layer->established(ss->side);
	perf_stage("exchange addresses");
	if (!ret)
		ret = perf_put(chan, &ss->side->local, sizeof(ss->side->local));
	if (!ret)
		ret = perf_get(chan, &ss->side->peer, sizeof(ss->side->peer), limit);
	return ret;
}

int perf_session_close(struct perf_session *ss, int chan)
{
	const struct perf_layer *layer = ss->dev->layer;
	int limit = ss->dev->run->opts->timeout_ms;
	int ret;

	perf_stage("disconnect");
	ret = layer->disconnect(ss->side);
	if (!ret)
		ret = perf_barrier(chan, limit);
	perf_stage("close");
	if (!ret)
		ret = layer->side_close(ss->side);
	if (!ret)
		ret = layer->close(ss->dev);
	ss->side = NULL;
	ss->dev = NULL;
	return ret;
}
