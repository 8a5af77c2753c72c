/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures all fabrics, with two local processes or with a remote server. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric.h"
#include "report.h"
#include "exchange.h"
#include "args.h"
#include "worker.h"

static void outcomes_free(struct perf_outcome *out, int n)
{
	int i, k;

	for (i = 0; out && i < n; i++)
		for (k = 0; k < PERF_KINDS; k++)
			free(out[i].round[k]);
	free(out);
}

/* Allocates outcomes with all figures NaN, also those of kinds that are not measured. */
static struct perf_outcome *outcomes_alloc(const struct perf_plan *plan, int n)
{
	struct perf_outcome *out = calloc((size_t)n, sizeof(*out));
	int i, k, r;

	for (i = 0; out && i < n; i++)
		for (k = 0; k < PERF_KINDS; k++) {
			perf_figures_none(&out[i].picked[k]);
			out[i].round[k] = calloc((size_t)plan->rounds, sizeof(*out[i].round[k]));
			if (!out[i].round[k]) {
				outcomes_free(out, n);
				return NULL;
			}
			for (r = 0; r < plan->rounds; r++)
				perf_figures_none(&out[i].round[k][r]);
		}
	return out;
}

/* Collects all results while checking the processes. */
static int collect_results(struct perf_parent *p, int fd, const struct perf_worker *w,
			   struct perf_outcome *out)
{
	int want = w->n * (int)w->plan->rounds * __builtin_popcount((unsigned int)w->plan->kinds);
	int got = 0, ret = 0;

	while (!ret && got < want) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };
		/*
		 * Checked before the socket: the process may end right after it has sent its last
		 * result.
		 */
		bool over = p->ended[PERF_CLIENT];
		struct perf_result r;

		if (poll(&pfd, 1, PERF_CHECK_MS) > 0 && pfd.revents & POLLIN) {
			perf_parent_reports = true;
			ret = perf_get(fd, &r, sizeof(r), PERF_CHECK_MS);
			if (ret)
				break;
			out[r.index].round[r.kind][r.round] = r.figures;
			out[r.index].unsupported[r.kind] |= r.unsupported;
			perf_progress(w->plan->fabric, &w->list[r.index], ++got, want);
			if (perf_now() < p->end_at)
				continue;
		}
		ret = perf_parent_check(p);
		if (!ret && over && !(pfd.revents & POLLIN))
			ret = perf_error(-EIO, NULL, "client", "ended before its last result");
	}
	while (!ret && !perf_parent_done(p)) {
		poll(NULL, 0, PERF_CHECK_MS / 10);
		ret = perf_parent_check(p);
	}
	perf_progress_end();
	return ret;
}

static int start(struct perf_parent *p, const struct perf_opts *o, struct perf_worker *w,
		 const int chan[2])
{
	int role, ret = 0;

	for (role = 0; !ret && role < PERF_ROLES; role++) {
		if (chan[role] < 0)
			continue;
		w->role = (enum perf_role)role;
		w->chan = chan[role];
		w->close_fd = chan[!role];
		ret = perf_parent_start(p, w, o->pin ? o->cpu[role] : -1);
	}
	return ret;
}

/* chan: of server and client; -1 for a remote server. */
static int run(const struct perf_opts *o, struct perf_worker *w, const int chan[2],
	       struct perf_outcome *out)
{
	struct perf_parent p;
	int result[2], role, ret;

	if (perf_parent_init(&p, w->plan, o->limit_s))
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, result))
		return perf_error(-errno, NULL, "socketpair", "%s", strerror(errno));
	w->result = result[1];
	ret = start(&p, o, w, chan);
	for (role = 0; role < PERF_ROLES; role++)
		if (chan[role] >= 0)
			close(chan[role]);
	close(result[1]);
	if (!ret)
		ret = collect_results(&p, result[0], w, out);
	perf_parent_end(&p, ret != 0);
	close(result[0]);
	perf_parent_fini(&p);
	return ret;
}

/* Opens both ends of the side channel, or that to the server; on failure `reason` is set. */
static int open_channel(const struct perf_opts *o, const struct perf_plan *plan, int chan[2],
			char *reason, size_t reason_len)
{
	perf_parent_reports = !o->host;
	if (o->host) {
		chan[PERF_SERVER] = -1;
		chan[PERF_CLIENT] = perf_control_dial(o->host, o->port, plan, reason, reason_len);
		return chan[PERF_CLIENT] < 0 ? chan[PERF_CLIENT] : 0;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, chan))
		return perf_error(-errno, NULL, "socketpair", "%s", strerror(errno));
	return 0;
}

static void pick(const struct perf_book *b, struct perf_outcome *out)
{
	const struct perf_opts *o = b->opts;
	int i, k;

	for (i = 0; i < b->n; i++)
		for (k = 0; k < PERF_KINDS; k++)
			perf_pick(&out[i].picked[k], out[i].round[k], (int)o->plan.rounds, o->best);
}

/* With --raw-only no adapter reports the address. */
static void local_address(const struct perf_opts *o, int chan, char *addr, size_t len)
{
	if (o->addr || !o->host)
		snprintf(addr, len, "%s", o->addr ? o->addr : "127.0.0.1");
	else
		perf_control_local_addr(chan, addr, len);
}

/* -ENODEV: the fabric does not open on one of the sides; nothing was printed. */
static int measure_fabric(struct perf_book *b, struct perf_fabric *f)
{
	const struct perf_opts *o = b->opts;
	struct perf_plan plan = o->plan;
	char ia[PERF_NAME + 16], addr[64];
	struct perf_worker w = { .plan = &plan, .list = b->list, .n = b->n, .ia = o->ia };
	int chan[2], ret = 0;

	snprintf(plan.fabric, sizeof(plan.fabric), "%s", f->name);
	snprintf(plan.raw_provider, sizeof(plan.raw_provider), "%s", f->raw_provider);
	if (o->fabrics) {
		perf_private_ia(ia, sizeof(ia), f->name);
		w.ia = ia;
		ret = perf_probe(&plan, ia, o->addr ? o->addr : "127.0.0.1", f->reason,
				 sizeof(f->reason));
	}
	if (!ret && open_channel(o, &plan, chan, f->reason, sizeof(f->reason)))
		ret = -ENODEV;
	if (ret)
		return ret;
	local_address(o, chan[PERF_CLIENT], addr, sizeof(addr));
	w.addr = addr;
	f->out = outcomes_alloc(&plan, b->n);
	if (!f->out)
		return perf_error(-ENOMEM, NULL, "start", "out of memory");
	ret = run(o, &w, chan, f->out);
	if (!ret) {
		pick(b, f->out);
		return 0;
	}
	snprintf(f->reason, sizeof(f->reason), "the measurement failed");
	outcomes_free(f->out, b->n);
	f->out = NULL;
	return ret;
}

static void choose_fabrics(struct perf_book *b)
{
	const struct perf_opts *o = b->opts;
	int i;

	b->fabrics = o->fabrics ? o->fabrics : 1;
	for (i = 0; i < b->fabrics; i++) {
		struct perf_fabric *f = &b->fabric[i];

		snprintf(f->name, sizeof(f->name), "%s",
			 o->fabrics ? o->fabric[i] : o->plan.fabric);
		snprintf(f->raw_provider, sizeof(f->raw_provider), "%s",
			 o->plan.raw_provider[0]         ? o->plan.raw_provider
			 : o->plan.kinds & 1 << PERF_DAT ? PERF_RAW_AUTO
							 : perf_raw_provider(f->name, !o->host));
	}
}

static int private_registry(const struct perf_opts *o)
{
	const char *fabric[PERF_MAX_FABRICS];
	int i;

	for (i = 0; i < o->fabrics; i++)
		fabric[i] = o->fabric[i];
	return o->fabrics ? perf_private_registry(fabric, o->fabrics, o->domain) : 0;
}

/* Operations that "--op all" skips if unsupported. */
static bool op_is_optional(enum perf_op op)
{
	return op == PERF_IMMED || perf_atomic(op);
}

static bool has_unsupported(const struct perf_book *b)
{
	int f, i;

	for (f = 0; f < b->fabrics; f++)
		for (i = 0; b->fabric[f].out && i < b->n; i++)
			if (!(b->opts->any_op && op_is_optional(b->list[i].op)) &&
			    (b->fabric[f].out[i].unsupported[PERF_DAT] ||
			     b->fabric[f].out[i].unsupported[PERF_RAW] ||
			     b->fabric[f].out[i].unsupported[PERF_SOCKETS] ||
			     b->fabric[f].out[i].unsupported[PERF_SHM]))
				return true;
	return false;
}

/* Tables contain what is missing. */
static void report_missing(const struct perf_book *b, bool table)
{
	int f;

	for (f = 0; !table && f < b->fabrics; f++)
		if (!b->fabric[f].out && b->fabric[f].reason[0])
			fprintf(stderr, "dat_perf: %s: not measured: %s\n", b->fabric[f].name,
				b->fabric[f].reason);
}

/* Computes the exit status: 3 if some were measured and others could not be. */
static int exit_status(struct perf_book *b, int measured, int missing, int failed)
{
	enum perf_format format = b->opts->format;
	int ret = 0;

	report_missing(b, measured && (format == PERF_TABLE || format == PERF_OSU));
	if (measured)
		ret = perf_report(b);
	if (measured && !ret && b->opts->plot)
		ret = perf_plot(b);
	if (ret || failed || !measured)
		return 1;
	if (missing && !b->opts->any_fabric)
		return 3;
	return has_unsupported(b) ? 3 : 0;
}

int perf_measure(const struct perf_opts *o)
{
	struct perf_book *b = calloc(1, sizeof(*b));
	int i, ret, measured = 0, missing = 0, failed = 0;
	struct perf_case *list;

	if (!b)
		return 1;
	b->opts = o;
	b->n = perf_cases(&o->plan, false, &list);
	b->list = list;
	choose_fabrics(b);
	if ((o->plot && perf_plot_possible()) || private_registry(o)) {
		free(list);
		free(b);
		return 1;
	}
	for (i = 0; i < b->fabrics; i++) {
		ret = measure_fabric(b, &b->fabric[i]);
		measured += !ret;
		missing += ret == -ENODEV;
		failed += ret && ret != -ENODEV;
	}
	ret = exit_status(b, measured, missing, failed);
	for (i = 0; i < b->fabrics; i++)
		outcomes_free(b->fabric[i].out, b->n);
	free(list);
	free(b);
	return ret;
}
