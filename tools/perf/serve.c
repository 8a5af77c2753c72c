/* SPDX-License-Identifier: BSD-2-Clause */
/* A server, which measures with one client after the other. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric.h"
#include "wire.h"
#include "worker.h"

static void name_of(int fd, char *text, size_t len, bool peer)
{
	struct sockaddr_storage ss;
	socklen_t ss_len = sizeof(ss);
	char host[64] = "?", port[16] = "?";

	if (!(peer ? getpeername : getsockname)(fd, (struct sockaddr *)&ss, &ss_len))
		getnameinfo((struct sockaddr *)&ss, ss_len, host, sizeof(host), port, sizeof(port),
			    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(text, len, "%s port %s", host, port);
}

/* Whatever the adapter is, it is opened before the client hears that all is well. */
static int prepare(const struct perf_opts *o, struct perf_plan *plan, struct perf_worker *w,
		   char *ia, size_t ia_len, char *why, size_t why_len)
{
	const char *fabric = plan->fabric;
	int ret;

	snprintf(ia, ia_len, "%s", o->ia ? o->ia : "");
	if (!o->ia) {
		perf_private_ia(ia, ia_len, plan->fabric);
		if (perf_private_registry(&fabric, 1, o->domain))
			return -EIO;
	}
	if (o->plan.raw_provider[0])
		snprintf(plan->raw_provider, sizeof(plan->raw_provider), "%s",
			 o->plan.raw_provider);
	ret = perf_probe(plan, ia, w->addr, why, why_len);
	w->ia = ia;
	w->plan = plan;
	return ret;
}

static int watch(struct perf_parent *p)
{
	int ret = 0;

	while (!ret && !perf_parent_done(p)) {
		poll(NULL, 0, PERF_LOOK_MS / 10);
		ret = perf_parent_look(p);
	}
	perf_parent_rest(p, ret != 0);
	return ret;
}

static int measure(const struct perf_opts *o, struct perf_worker *w, int listener)
{
	struct perf_parent p;
	struct perf_case *list;
	int ret;

	w->n = perf_cases(w->plan, false, &list);
	w->list = list;
	w->role = PERF_SERVER;
	w->close_fd = listener;
	ret = perf_parent_init(&p, w->plan, o->limit_s);
	if (!ret)
		ret = perf_parent_start(&p, w, o->pin ? o->cpu[0] : -1);
	if (!ret)
		ret = watch(&p);
	perf_parent_fini(&p);
	free(list);
	return ret;
}

/* One client. This process itself never opens an adapter, so the registry can change. */
static int serve(const struct perf_opts *o, int fd, int listener, const char *who)
{
	char why[512] = "it cannot be said why", ia[PERF_NAME + 16], addr[64];
	struct perf_worker w = { .chan = fd, .addr = addr };
	struct perf_plan plan;
	int ret = perf_control_hello(fd, &plan, why, sizeof(why));

	perf_control_here(fd, addr, sizeof(addr));
	if (o->addr)
		snprintf(addr, sizeof(addr), "%s", o->addr);
	if (!ret)
		ret = prepare(o, &plan, &w, ia, sizeof(ia), why, sizeof(why));
	if (ret) {
		perf_control_answer(fd, why);
		return perf_error(ret, NULL, "server", "%s: refused: %s", who, why);
	}
	ret = perf_control_answer(fd, NULL);
	if (!ret)
		ret = measure(o, &w, listener);
	if (ret)
		return perf_error(ret, NULL, "server", "%s: %s: failed", who, plan.fabric);
	printf("dat_perf: server: %s: %s: %d cases measured\n", who, plan.fabric, w.n);
	fflush(stdout);
	return 0;
}

static int next_client(const struct perf_opts *o, int listener)
{
	char who[96];
	int fd, ret;

	do {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	} while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd < 0)
		return perf_error(-errno, NULL, "accept", "%s", strerror(errno));
	name_of(fd, who, sizeof(who), true);
	ret = serve(o, fd, listener, who);
	close(fd);
	return ret;
}

int perf_serve(const struct perf_opts *o)
{
	char here[96];
	int listener = perf_control_listen(o->bind, o->port);
	int ret = 0;

	if (listener < 0)
		return 1;
	name_of(listener, here, sizeof(here), false);
	printf("dat_perf: server: listening on %s\n", here);
	fflush(stdout);
	do {
		ret = next_client(o, listener);
	} while (!o->once);
	close(listener);
	return ret ? 1 : 0;
}
