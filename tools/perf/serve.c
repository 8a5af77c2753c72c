/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a server, which measures with one client after another. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric.h"
#include "exchange.h"
#include "worker.h"

static void get_peer_name(int fd, char *text, size_t len, bool peer)
{
	struct sockaddr_storage ss;
	socklen_t ss_len = sizeof(ss);
	char host[64] = "?", port[16] = "?";

	if (!(peer ? getpeername : getsockname)(fd, (struct sockaddr *)&ss, &ss_len))
		getnameinfo((struct sockaddr *)&ss, ss_len, host, sizeof(host), port, sizeof(port),
			    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(text, len, "%s port %s", host, port);
}

/* Probes the adapter before the client is accepted. */
static int server_prepare(const struct perf_opts *o, struct perf_plan *plan, struct perf_worker *w,
			  char *ia, size_t ia_len, char *reason, size_t reason_len)
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
	ret = perf_probe(plan, ia, w->addr, reason, reason_len);
	w->ia = ia;
	w->plan = plan;
	return ret;
}

static int server_wait(struct perf_parent *p)
{
	int ret = 0;

	while (!ret && !perf_parent_done(p)) {
		poll(NULL, 0, PERF_CHECK_MS / 10);
		ret = perf_parent_check(p);
	}
	perf_parent_end(p, ret != 0);
	return ret;
}

static int server_measure(const struct perf_opts *o, struct perf_worker *w, int listener)
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
		ret = server_wait(&p);
	perf_parent_fini(&p);
	free(list);
	return ret;
}

/* Serves one client. This process itself never opens an adapter, so the registry may change. */
static int serve_client(const struct perf_opts *o, int fd, int listener, const char *peer_name)
{
	char reason[512] = "unknown error", ia[PERF_NAME + 16], addr[64];
	struct perf_worker w = { .chan = fd, .addr = addr };
	struct perf_plan plan;
	int ret = perf_control_hello(fd, &plan, reason, sizeof(reason));

	perf_control_local_addr(fd, addr, sizeof(addr));
	if (o->addr)
		snprintf(addr, sizeof(addr), "%s", o->addr);
	if (!ret)
		ret = server_prepare(o, &plan, &w, ia, sizeof(ia), reason, sizeof(reason));
	if (ret) {
		perf_control_answer(fd, reason);
		return perf_error(ret, NULL, "server", "rejected %s: %s", peer_name, reason);
	}
	ret = perf_control_answer(fd, NULL);
	if (!ret)
		ret = server_measure(o, &w, listener);
	if (ret)
		return perf_error(ret, NULL, "server", "%s: %s: failed", peer_name, plan.fabric);
	printf("dat_perf: server: %s: %s: %d cases measured\n", peer_name, plan.fabric, w.n);
	fflush(stdout);
	return 0;
}

static int accept_client(const struct perf_opts *o, int listener)
{
	char peer_name[96];
	int fd, ret;

	do {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	} while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd < 0)
		return perf_error(-errno, NULL, "accept", "%s", strerror(errno));
	get_peer_name(fd, peer_name, sizeof(peer_name), true);
	ret = serve_client(o, fd, listener, peer_name);
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
	get_peer_name(listener, here, sizeof(here), false);
	printf("dat_perf: server: listening on %s\n", here);
	fflush(stdout);
	do {
		ret = accept_client(o, listener);
	} while (!o->once);
	close(listener);
	return ret ? 1 : 0;
}
