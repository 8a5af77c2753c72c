/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures all cases, rounds and kinds in a process, in order. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "flow.h"
#include "exchange.h"
#include "transport.h"
#include "worker.h"

/* clang-format off */
static const char *const mode_stage[PERF_MODES] = {
	"measure (poll)", "measure (wait)", "measure (cno)", "measure (memory)",
};
/* clang-format on */

static int run_pattern(struct perf_worker *w, struct perf_hub *hub, const struct perf_case *c,
		       struct perf_figures *f)
{
	bool first = w->role == PERF_CLIENT;

	switch (c->test) {
	case PERF_LAT:
		return first ? perf_initiate_lat(hub, c, f) : perf_respond_lat(hub, c);
	case PERF_BIBW:
		return perf_both_ways(hub, c, f);
	default:
		return first ? perf_initiate_bw(hub, c, f) : perf_respond_bw(hub, c);
	}
}

static int measure(struct perf_worker *w, struct perf_session *ss, const struct perf_case *c,
		   struct perf_figures *f)
{
	int limit = (int)w->plan->timeout_ms;
	int ret;

	perf_stage("prepare");
	perf_figures_none(f);
	ret = perf_refill(ss->hub);
	if (!ret)
		ret = perf_barrier(w->chan, limit);
	perf_stage(mode_stage[c->mode]);
	if (!ret)
		ret = run_pattern(w, ss->hub, c, f);
	return ret ? ret : perf_barrier(w->chan, limit);
}

/* Patterns open and close what they need themselves. */
static int measure_pattern(struct perf_worker *w, struct perf_run *run, struct perf_result *r,
			   const struct perf_case *c)
{
	int ret;

	perf_figures_none(&r->figures);
	ret = perf_pattern(r->kind, run, c, w->role, &r->figures);
	r->unsupported = ret == -EOPNOTSUPP;
	return r->unsupported ? 0 : ret;
}

static int measure_one(struct perf_worker *w, struct perf_run *run, struct perf_session *ss,
		       struct perf_result *r, bool fresh)
{
	const struct perf_case *c = &w->list[r->index];
	int ret = 0;

	r->unsupported = !perf_kind_applies(r->kind, c->op);
	if (r->unsupported) {
		perf_figures_none(&r->figures);
		return 0;
	}
	if (perf_is_pattern(c->op))
		return measure_pattern(w, run, r, c);
	if (fresh || !r->round)
		ret = perf_session_open(ss, perf_layer_of(r->kind), run, c, w->role);
	/* later rounds of a kept session have none */
	r->unsupported = ret == -EOPNOTSUPP || (!ret && !ss->hub);
	if (r->unsupported) {
		memset(ss, 0, sizeof(*ss));
		perf_figures_none(&r->figures);
		return 0;
	}
	if (!ret)
		ret = measure(w, ss, c, &r->figures);
	if (!ret && (fresh || r->round == w->plan->rounds - 1))
		ret = perf_session_close(ss);
	return ret;
}

/*
 * Measures the kinds of one round in turn; every second round reverses their order, against drift.
 */
static int run_round(struct perf_worker *w, struct perf_run *run, struct perf_session *ss,
		     int index, int round)
{
	/* with several kinds, none may be open while another is measured */
	bool fresh = w->plan->kinds & (w->plan->kinds - 1);
	int k, ret;

	for (k = 0; k < PERF_KINDS; k++) {
		struct perf_result r = {
			.index = index,
			.round = round,
			.kind = (enum perf_kind)(round % 2 ? PERF_KINDS - 1 - k : k),
		};

		if (!(w->plan->kinds & 1 << r.kind))
			continue;
		ret = measure_one(w, run, ss, &r, fresh);
		if (!ret && w->role == PERF_CLIENT)
			ret = perf_put(w->result, &r, sizeof(r));
		if (ret)
			return ret;
	}
	return 0;
}

int perf_work(void *arg)
{
	struct perf_worker *w = arg;
	struct perf_run run = {
		.plan = w->plan,
		.ia = w->ia,
		.read_limit = INT_MAX,
		.chan = w->chan,
	};
	struct perf_session ss = { NULL, NULL };
	int i, r, ret;

	/* the peer's end, which only its own process may keep open */
	if (w->close_fd >= 0)
		close(w->close_fd);
	run.one_host = perf_same_host(w->chan);
	snprintf(run.addr, sizeof(run.addr), "%s", w->addr);
	snprintf(run.raw_provider, sizeof(run.raw_provider), "%s", w->plan->raw_provider);
	for (i = 0; i < w->n; i++)
		for (r = 0; r < w->plan->rounds; r++) {
			ret = run_round(w, &run, &ss, i, r);
			if (ret)
				return ret;
		}
	perf_stage("exit");
	return 0;
}
