/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects and disconnects the endpoints of two processes. */
#include <errno.h>

#include "proc.h"
#include "session.h"
#include "exchange.h"

/*
 * Opens both layers before connecting: the server first, so that an error of the adapter is
 * reported once.
 */
static int session_agree(struct perf_session *ss, const struct perf_layer *layer,
			 struct perf_run *run, const struct perf_case *c, enum perf_role role)
{
	int limit = (int)run->plan->timeout_ms;
	int mine, theirs = 0, ret = 0;

	if (role == PERF_CLIENT) {
		perf_stage("wait for the server");
		ret = perf_get_able(run->chan, &theirs, limit);
	}
	perf_stage("open adapter");
	if (!ret)
		ret = layer->open(run, c, &ss->dev);
	if (ret)
		return ret;
	mine = layer->hub_open(ss->dev, &ss->hub);
	if (mine && mine != -EOPNOTSUPP)
		return mine;
	ret = perf_put_able(run->chan, mine);
	if (!ret && role == PERF_SERVER)
		ret = perf_get_able(run->chan, &theirs, limit);
	if (ret || (!mine && !theirs))
		return ret;
	ret = layer->hub_close(ss->hub);
	if (!ret)
		ret = layer->close(ss->dev);
	return ret ? ret : -EOPNOTSUPP;
}

static int session_exchange_addr(struct perf_session *ss, const struct perf_layer *layer,
				 enum perf_role role, struct perf_listen_addr *listen_addr)
{
	struct perf_run *run = ss->dev->run;
	int ret;

	perf_stage("listen");
	if (role == PERF_CLIENT)
		return perf_get_listen_addr(run->chan, listen_addr, (int)run->plan->timeout_ms);
	ret = layer->listen(ss->dev, listen_addr);
	return ret ? ret : perf_put_listen_addr(run->chan, listen_addr);
}

static int session_add_side(struct perf_session *ss, const struct perf_layer *layer,
			    enum perf_role role, const struct perf_listen_addr *listen_addr)
{
	struct perf_run *run = ss->dev->run;
	struct perf_side *s = NULL;
	int ret;

	perf_stage("open endpoint");
	ret = layer->side_open(ss->hub, &s);
	perf_stage(role == PERF_CLIENT ? "connect" : "accept");
	if (!ret)
		ret = role == PERF_CLIENT ? layer->connect(s, listen_addr) : layer->accept(s);
	perf_stage("establish connection");
	if (!ret)
		ret = layer->established(s);
	perf_stage("exchange addresses");
	if (!ret)
		ret = perf_put_target(run->chan, &s->local);
	if (!ret)
		ret = perf_get_target(run->chan, &s->peer, (int)run->plan->timeout_ms);
	if (!ret && layer->exchange)
		ret = layer->exchange(s);
	if (!ret)
		perf_add_side(ss->hub, s);
	return ret;
}

int perf_session_open(struct perf_session *ss, const struct perf_layer *layer, struct perf_run *run,
		      const struct perf_case *c, enum perf_role role)
{
	struct perf_listen_addr listen_addr;
	int i, ret;

	ret = session_agree(ss, layer, run, c, role);
	if (!ret)
		ret = session_exchange_addr(ss, layer, role, &listen_addr);
	for (i = 0; !ret && i < c->eps; i++)
		ret = session_add_side(ss, layer, role, &listen_addr);
	return ret;
}

int perf_session_close(struct perf_session *ss)
{
	const struct perf_layer *layer = ss->dev->layer;
	struct perf_run *run = ss->dev->run;
	int i, ret = 0;

	perf_stage("disconnect");
	for (i = 0; !ret && i < ss->hub->sides; i++)
		ret = layer->disconnect(ss->hub->side[i]);
	if (!ret)
		ret = perf_barrier(run->chan, (int)run->plan->timeout_ms);
	perf_stage("close");
	for (i = 0; !ret && i < ss->hub->sides; i++)
		ret = layer->side_close(ss->hub->side[i]);
	if (!ret)
		ret = layer->hub_close(ss->hub);
	if (!ret)
		ret = layer->close(ss->dev);
	ss->hub = NULL;
	ss->dev = NULL;
	return ret;
}
