/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes the adapter's libfabric objects below the pairs, and waits for them. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/port_range.h"
#include "fabric/fab_info.h"
#include "msgep/pair/pair_message.h"
#include "msgep/tcp_socks.h"
#include "diag/diag.h"

#define QUEUE 4096
/* Time limit for sending the last messages before the adapter is closed. */
#define CLOSE_MS 1000
/* QUIRK libfabric<1.18 tcp: closing a listener leaks the descriptor of a connection whose request
 * has not been read. A peer that has been granted a token connects at once. */
#define TOKEN_CLOSE_MS 100

int pair_find_inner(const struct dofi_fab *fab, struct fi_info **info)
{
	struct fi_info *hints = dofi_info_hints(FI_EP_MSG, fab->desc->prov_name, &fab->addr);
	int ret;

	if (!hints)
		return -FI_ENOMEM;
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	hints->caps = FI_MSG | FI_RMA;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	ret = dofi_info_get(hints, info);
	if (ret)
		dofi_diag_info(fab, hints, ret);
	dofi_lib.freeinfo(hints);
	return ret;
}

static int pair_post_first(struct pair_net *net)
{
	int ret = 0;

	for (int i = 0; i < PAIR_RECEIVES && !ret; i++)
		ret = pair_post_new(net);
	return ret;
}

static int pair_open_cq(struct pair_net *net, struct msgep_inner *in, const char **what)
{
	int ret;

	*what = "fi_cq_open";
	ret = msgep_inner_open_cq(in, QUEUE, FI_WAIT_FD);
	if (!ret && dofi_fab_older(net->domain->fabric->fab, 1, 18))
		in->signal_fd = msgep_cq_signal_take(in->cq_fd);
	return ret;
}

static int pair_open_queues(struct pair_net *net, const char **what)
{
	struct fi_eq_attr eq = { .size = 256, .wait_obj = FI_WAIT_FD };
	int ret;

	ret = pair_open_cq(net, &net->inner, what);
	if (!ret && pair_is_bulk_apart(net))
		ret = pair_open_cq(net, &net->apart, what);
	if (ret)
		return ret;
	*what = "fi_eq_open";
	ret = fi_eq_open(net->inner.fabric, &eq, &net->eq, net);
	if (!ret)
		ret = fi_control(&net->eq->fid, FI_GETWAIT, &net->eq_fd);
	return ret;
}

/* At the port of l->addr; 0: the kernel's choice. */
static int pair_listen_at(struct pair_net *net, struct pair_listener *l, const char **what)
{
	union dofi_addr addr = l->addr;
	size_t len = sizeof(addr);
	struct fi_info *info = dofi_info_copy(net->inner.info, &l->addr, NULL);
	int ret;

	if (!info)
		return -FI_ENOMEM;
	*what = "fi_passive_ep";
	ret = fi_passive_ep(net->inner.fabric, info, &l->pep, net);
	dofi_lib.freeinfo(info);
	if (!ret)
		ret = fi_pep_bind(l->pep, &net->eq->fid, 0);
	if (!ret)
		ret = fi_listen(l->pep);
	if (!ret)
		ret = fi_getname(&l->pep->fid, &addr, &len);
	if (ret) {
		if (l->pep)
			fi_close(&l->pep->fid);
		l->pep = NULL;
		return ret;
	}
	dofi_addr_set_port(&l->addr.sa, dofi_addr_port(&addr.sa));
	return 0;
}

static int pair_listen(struct pair_net *net, struct pair_listener *l, const char **what)
{
	struct dofi_ports ports;
	int ret = -FI_EADDRINUSE;
	uint16_t port;

	dofi_ports_begin(&ports);
	/* One port of the setting serves all addresses. */
	if (ports.n && net->n_listeners) {
		dofi_addr_set_port(&l->addr.sa, dofi_addr_port(&net->listeners[0].addr.sa));
		ret = pair_listen_at(net, l, what);
	}
	while (dofi_ports_is_taken(ret) && dofi_ports_next(&ports, &port)) {
		dofi_addr_set_port(&l->addr.sa, port);
		ret = pair_listen_at(net, l, what);
	}
	if (dofi_ports_exhausted(&ports, ret))
		*what = DOFI_PORTS_SEARCH;
	if (ret)
		return ret;
	if (!pair_sock_limit_listener(l))
		dofi_log(DOFI_LOG_WARN, "the socket of libfabric's listener was not found: a peer "
					"that sends it half a request can block this adapter");
	return 0;
}

/* One per address that the user named, or per address of this host. */
static int pair_open_listeners(struct pair_net *net, const char **what)
{
	const struct dofi_fab *fab = net->domain->fabric->fab;
	size_t n = fab->n_addrs ? fab->n_addrs : 1;
	int ret = 0;

	net->listeners = calloc(n, sizeof(*net->listeners));
	if (!net->listeners)
		return -FI_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct pair_listener *l = &net->listeners[net->n_listeners];

		memset(l, 0, sizeof(*l));
		l->addr = fab->n_addrs ? fab->addrs[i] : fab->addr;
		if (!fab->addr_named)
			dofi_addr_set_any_family(&l->addr);
		ret = pair_listen(net, l, what);
		net->n_listeners += !ret;
		/* The address has been removed meanwhile. */
		if (ret && ret != -FI_EADDRNOTAVAIL && ret != -FI_ENODEV)
			return ret;
	}
	return net->n_listeners ? 0 : ret;
}

uint16_t pair_port(const struct pair_net *net, const union dofi_addr *local)
{
	for (size_t i = 0; i < net->n_listeners; i++)
		if (dofi_addr_same_host(&net->listeners[i].addr.sa, &local->sa))
			return dofi_addr_port(&net->listeners[i].addr.sa);
	return dofi_addr_port(&net->listeners[0].addr.sa);
}

static int pair_open_inner(struct pair_net *net, const char **what)
{
	int ret = msgep_inner_open(&net->inner, what);

	if (!ret && pair_is_bulk_apart(net))
		ret = msgep_inner_open_beside(&net->apart, &net->inner, what);
	if (!ret)
		ret = pair_open_queues(net, what);
	if (ret)
		return ret;
	*what = "fi_srx_context";
	ret = fi_srx_context(net->inner.domain, net->inner.info->rx_attr, &net->srx, net);
	if (!ret)
		ret = pair_post_first(net);
	return ret ? ret : pair_open_listeners(net, what);
}

/* QUIRK libfabric tcp: closing a listener leaks what it has allocated for a connection whose
 * request it has not read. It frees that if the connection ends first. */
static void pair_end_requests(struct pair_net *net)
{
	unsigned int ended = 1;

	for (int round = 0; round < PAIR_END_ROUNDS && ended; round++) {
		ended = 0;
		for (size_t i = 0; i < net->n_listeners; i++)
			ended += msgep_tcp_end_accepted(&net->listeners[i].addr, false);
		dofi_lock(&net->lock);
		pair_read_eq(net);
		dofi_unlock(&net->lock);
	}
}

static void pair_close_inner(struct pair_net *net)
{
	net->closing = true;
	/* Listeners are opened last: if there is one, all other objects exist. */
	if (net->n_listeners)
		pair_end_requests(net);
	for (size_t i = 0; i < net->n_listeners; i++)
		msgep_fid_close(&net->listeners[i].pep->fid, "a listener");
	pair_free_all(net);
	pair_tokens_free(net);
	for (size_t i = 0; i < net->n_listeners; i++)
		msgep_tcp_close_accepted(&net->listeners[i].addr);
	free(net->listeners);
	free(net->strays.at);
	if (net->srx)
		msgep_fid_close(&net->srx->fid, "a shared receive context");
	if (net->eq)
		msgep_fid_close(&net->eq->fid, "an event queue");
	msgep_inner_close(&net->apart);
	msgep_inner_close(&net->inner);
	pair_bufs_free(net);
	pair_transfers_free(net);
	for (uint32_t i = 0; i < net->n_conns; i++)
		free(net->conns[i]);
	free(net->conns);
	free(net);
}

int pair_open(struct msgep_domain *domain)
{
	const struct dofi_fab *fab = domain->fabric->fab;
	struct pair_net *net = calloc(1, sizeof(*net));
	const char *what = "a random name";
	int ret;

	if (!net)
		return -FI_ENOMEM;
	net->domain = domain;
	msgep_inner_init(&net->inner);
	msgep_inner_init(&net->apart);
	/* QUIRK libfabric>=1.18 tcp: when a receive is posted to the shared context, only one
	 * endpoint of the domain is processed again of those that have data without a receive
	 * (xnet_srx_msg in xnet_srx.c, 2.1). If that is a bulk endpoint, which has receives of its
	 * own, the endpoints of pairs wait behind it indefinitely. With 1.17 reading a second
	 * completion queue costs streams of writes of 64 KiB 6 to 8 percent. */
	net->bulk_inner = dofi_fab_older(fab, 1, 18) ? &net->inner : &net->apart;
	dofi_lock_init(&net->lock);
	dofi_lock_init(&net->leaf);
	dofi_list_init(&net->pairs);
	dofi_list_init(&net->unused);
	dofi_list_init(&net->tokens);
	dofi_list_init(&net->bulks);
	dofi_list_init(&net->wanted);
	dofi_list_init(&net->dirty);
	dofi_list_init(&net->touched);
	dofi_list_init(&net->kept);
	ret = getrandom(net->name, PAIR_NAME, 0) == PAIR_NAME ? 0 : -FI_EIO;
	if (!ret)
		ret = pair_find_inner(fab, &net->inner.info);
	if (!ret) {
		net->inject = net->inner.info->tx_attr->inject_size;
		ret = pair_open_inner(net, &what);
		if (ret)
			dofi_diag_object(fab, what, ret);
	}
	if (ret) {
		pair_close_inner(net);
		return ret;
	}
	domain->transport_data = net;
	return 0;
}

/* True if anything is still to be sent. Caller holds net->lock. */
static bool pair_unsent(struct pair_net *net)
{
	struct dofi_list *pos;
	bool any = false;

	DOFI_ASSERT_LOCKED(&net->lock);
	dofi_list_each(pos, &net->pairs)
	{
		struct pair *pair = dofi_container(pos, struct pair, link);

		dofi_lock(&pair->lock);
		any |= pair->state == PAIR_UP &&
		       (pair->in_flight || pair->waiting || !pair_is_empty(pair));
		dofi_unlock(&pair->lock);
	}
	return any;
}

void pair_close(struct msgep_domain *domain)
{
	struct pair_net *net = pair_net_of(domain);
	struct pollfd pfd = { .fd = net->inner.cq_fd, .events = POLLIN };
	uint64_t now = dofi_now(), end = now + DOFI_MS(CLOSE_MS);
	uint64_t tokens_end = now + DOFI_MS(TOKEN_CLOSE_MS);
	unsigned int got;

	dofi_lock(&net->lock);
	do {
		/* It may have read a part only of what has completed. */
		got = pair_poll(net, NULL);
		if (!got)
			poll(&pfd, 1, 1);
		pair_read_eq(net);
		now = dofi_now();
	} while (((got || pair_unsent(net)) && now < end) ||
		 (!dofi_list_empty(&net->tokens) && now < tokens_end));
	dofi_unlock(&net->lock);
	domain->transport_data = NULL;
	pair_close_inner(net);
}

int pair_wait_fds(struct msgep_domain *domain, int fd[MSGEP_WAIT_FDS])
{
	const struct pair_net *net = pair_net_of(domain);

	fd[0] = net->eq_fd;
	return msgep_inner_wait_fds(&net->apart, fd, msgep_inner_wait_fds(&net->inner, fd, 1));
}

bool pair_may_sleep(struct msgep_domain *domain, bool used)
{
	struct pair_net *net = pair_net_of(domain);
	struct fid *fids[] = { &net->inner.cq->fid, &net->eq->fid, &net->bulk_inner->cq->fid };
	bool may;

	DOFI_NO_CANCEL();

	dofi_lock(&net->lock);
	pair_read_eq(net);
	pair_bulk_send_kept(net, PAIR_TRANSFERS);
	pair_flush_dirty(net, PAIR_HELD);
	may = !net->early && !fi_trywait(net->inner.fabric, fids, pair_is_bulk_apart(net) ? 3 : 2);
	if (may) {
		dofi_lock(&net->leaf);
		may = !atomic_load(&net->has_touched) && !atomic_load(&net->dirty_need) &&
		      !atomic_load(&net->has_kept);
		if (may && used)
			pair_note_sleeper(net);
		dofi_unlock(&net->leaf);
	}
	dofi_unlock(&net->lock);
	return may;
}

bool pair_busy(struct msgep_domain *domain)
{
	return atomic_load(&pair_net_of(domain)->users);
}
