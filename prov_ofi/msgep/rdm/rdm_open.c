/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects, opens and closes the inner endpoint of a domain, and waits for it. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/forkfd.h"
#include "base/log.h"
#include "base/param.h"
#include "base/port_range.h"
#include "fabric/fab_info.h"
#include "fabric/fab_lib.h"
#include "msgep/rdm/rdm_int.h"
#include "msgep/tcp_socks.h"
#include "diag/diag.h"

/* Maximum of outstanding operations per direction, whatever the provider would accept. */
#define DEPTH_MAX 8192
/* For the end of requests that have not been answered. */
#define REQUESTS_MS 100

static struct fi_info *rdm_make_hints(const struct dofi_fab *fab, bool bind, bool tagged)
{
	struct fi_info *hints =
		dofi_info_hints(FI_EP_RDM, fab->desc->prov_name, bind ? &fab->addr : NULL);

	if (!hints)
		return NULL;
	hints->caps = FI_MSG | (tagged ? FI_TAGGED : 0);
	/* QUIRK libfabric efa: for peers on this host it opens endpoints of libfabric's shm, which
	 * exclude a descriptor (efa_rdm_cq.c, 2.6.0), replace the program's signal actions, and
	 * refuse all sends to a peer that was killed. With this hint it opens none; these peers
	 * are reached through the device or, with "+shm", shared memory of this library. */
	if (!strcmp(fab->desc->prov_name, "efa"))
		hints->caps |= FI_REMOTE_COMM;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->mr_mode |= FI_MR_ENDPOINT;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->av_type = FI_AV_TABLE;
	if (fab->desc->over_device) {
		hints->domain_attr->name = strdup(fab->device);
		if (!hints->domain_attr->name) {
			dofi_lib.freeinfo(hints);
			return NULL;
		}
	}
	return hints;
}

/* Manual progress, though sockets has a descriptor only with threads of its own: it was many times
 * slower alongside a polling thread. All calls to the inner objects are made under one lock, so a
 * provider that is not thread-safe suffices. */
static int rdm_query_provider(const struct dofi_fab *fab, bool bind, bool tagged, bool report,
			      struct fi_info **info)
{
	struct fi_info *hints = rdm_make_hints(fab, bind, tagged);
	int ret;

	if (!hints)
		return -FI_ENOMEM;
	if (rdm_constrained_requested(fab))
		rdm_constrained_hints(hints);
	ret = dofi_info_get(hints, info);
	if (ret == -FI_ENODATA) {
		hints->domain_attr->threading = FI_THREAD_DOMAIN;
		ret = dofi_info_get(hints, info);
	}
	if (ret && report)
		dofi_diag_info(fab, hints, ret);
	dofi_lib.freeinfo(hints);
	return ret;
}

/* Providers over IP are bound to the address; others have their own address formats. Tagged
 * messages are for large packets, which are optional. */
int rdm_find_inner(const struct dofi_fab *fab, struct fi_info **info)
{
	int ret = -FI_ENODATA;

	if (dofi_param(DOFI_NUM_LARGE_PACKET_KIB)) {
		ret = rdm_query_provider(fab, true, true, false, info);
		if (ret == -FI_ENODATA)
			ret = rdm_query_provider(fab, false, true, false, info);
	}
	if (ret == -FI_ENODATA)
		ret = rdm_query_provider(fab, true, false, false, info);
	return ret == -FI_ENODATA ? rdm_query_provider(fab, false, false, true, info) : ret;
}

#define ORDINARY_PACKET (16u * 1024)
#define LARGE_PACKET (2 * ORDINARY_PACKET)

static uint32_t rdm_packet_size(void)
{
	uint32_t kib = (uint32_t)dofi_param(DOFI_NUM_PACKET_KIB);

	return kib ? kib * 1024 : ORDINARY_PACKET;
}

/* rxm copies messages up to a size, and fetches longer ones (rendezvous). Its buffer size equals
 * the free space that a multi-receive buffer must have left; over a device it is the limit. Peers
 * must have the same limit, so an adapter that cannot find it would connect to none. */
static int rdm_find_copy_limit(struct rdm_net *net)
{
	bool device = net->domain->fabric->fab->desc->over_device;
	size_t buffer = 0, len = sizeof(buffer);
	int ret;

	if (!strstr(net->inner.info->fabric_attr->prov_name, "ofi_rxm"))
		return 0;
	ret = fi_getopt(&net->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &buffer, &len);
	if (!ret)
		net->copied = (uint32_t)(device ? buffer : dofi_lib_rxm_limit(buffer));
	/* Without this option all adapters have no limit. */
	return ret == -FI_ENOPROTOOPT || ret == -FI_ENOSYS ? 0 : ret;
}

/* As long as they are copied, large packets cost less per byte than ordinary ones; fetching takes
 * longer. Packets that must be registered occupy memory permanently, so they keep their size. */
static void rdm_enlarge_packets(struct rdm_net *net)
{
	if (dofi_param(DOFI_NUM_PACKET_KIB) || net->register_packets ||
	    net->copied < LARGE_PACKET || net->inner.info->ep_attr->max_msg_size < LARGE_PACKET)
		return;
	net->packet_size = LARGE_PACKET;
	if (net->large.size < 2 * net->packet_size)
		net->large.size = 0;
}

/* QUIRK libfabric tcp: in 32-bit programs RDMA requests carry a wrong key (seen in 1.17), because
 * struct fi_rma_iov is smaller there than its format on the network. rxm fetches messages by such
 * requests: no message may be longer than what it copies. */
static void rdm_avoid_fetching(struct rdm_net *net)
{
	if (sizeof(size_t) >= sizeof(uint64_t) || !net->copied ||
	    net->domain->fabric->fab->desc->over_device)
		return;
	net->large.size = 0;
	if (net->packet_size > net->copied)
		net->packet_size = net->copied;
}

/* The first one that accepts whole packets; the provider lists the best one first. */
static struct fi_info *rdm_select_info(struct fi_info *all)
{
	for (struct fi_info *info = all; info; info = info->next)
		if (info->ep_attr->max_msg_size >= rdm_packet_size())
			return info;
	return all;
}

/* QUIRK libfabric>=1.18 rxm: registers what it fetches, at both ends, and leaves it registered if
 * the peer dies meanwhile (rxm_handle_comp_error in rxm_cq.c, 2.1), so that the domain is never
 * closed. In the mode FI_MR_LOCAL, which it supports and tcp does not demand, it takes the
 * registrations of its user: this library makes and closes them. */
static void rdm_register_what_is_fetched(struct rdm_net *net)
{
	if (dofi_fab_older(net->domain->fabric->fab, 1, 18) ||
	    !strstr(net->inner.info->fabric_attr->prov_name, "tcp;ofi_rxm"))
		return;
	net->inner.info->domain_attr->mr_mode |= FI_MR_LOCAL;
	net->register_above = 0;
}

static uint32_t rdm_depth(size_t size)
{
	return size && size < DEPTH_MAX ? (uint32_t)size : DEPTH_MAX;
}

static int rdm_choose_inner(struct rdm_net *net)
{
	const struct dofi_fab *fab = net->domain->fabric->fab;
	struct fi_info *all, *best;
	int ret = rdm_find_inner(fab, &all);

	if (ret)
		return ret;
	best = rdm_select_info(all);
	net->inner.info = dofi_lib.dupinfo(best);
	dofi_lib.freeinfo(all);
	if (!net->inner.info)
		return -FI_ENOMEM;
	net->packet_size = rdm_packet_size();
	if (net->packet_size > net->inner.info->ep_attr->max_msg_size)
		net->packet_size = (uint32_t)net->inner.info->ep_attr->max_msg_size & ~63u;
	if (net->packet_size < 2 * RDM_PACKET_HDR)
		return -FI_EMSGSIZE;
	net->register_packets = net->inner.info->domain_attr->mr_mode & FI_MR_LOCAL;
	net->post_max = rdm_depth(net->inner.info->rx_attr->size);
	return 0;
}

/* QUIRK libfabric psm3: a queue has a descriptor, but with manual progress only reading the queue
 * writes to it: what arrives does not wake a thread that blocks (seen in 2.6; psmx3_wait.c). With
 * automatic progress a thread of the provider would read it each millisecond, as ours does. */
static bool rdm_may_block(const struct rdm_net *net)
{
	return !net->constrained.on && strcmp(net->inner.info->fabric_attr->prov_name, "psm3");
}

/* rxm's descriptor reports each arrival. The manual page of cxi warns of one that another thread
 * takes between fi_trywait and the wait, and efa repeats what a receiver had no room for when its
 * queue is read, so these are polled every FD_TICK_MS, too. */
static bool rdm_fd_may_miss(const struct rdm_net *net)
{
	return !strstr(net->inner.info->fabric_attr->prov_name, "ofi_rxm");
}

static int rdm_open_cq(struct rdm_net *net)
{
	size_t size = net->post_max + rdm_depth(net->inner.info->tx_attr->size) + net->large.limit;

	if (rdm_may_block(net) && !msgep_inner_open_cq(&net->inner, size, FI_WAIT_FD)) {
		net->fd_may_miss = rdm_fd_may_miss(net);
		return 0;
	}
	return msgep_inner_open_cq(&net->inner, size, FI_WAIT_NONE);
}

/* rxm waits on a queue of tcp. */
static void rdm_open_signal(struct rdm_net *net)
{
	if (net->inner.cq_fd >= 0 && dofi_fab_older(net->domain->fabric->fab, 1, 18) &&
	    strstr(net->inner.info->fabric_attr->prov_name, "tcp;ofi_rxm"))
		net->inner.signal_fd = msgep_cq_signal_take_inner(net->inner.cq_fd);
}

/* At the port of the inner address; it listens once it is enabled. */
static int rdm_open_ep_at_port(struct rdm_net *net, const char **what)
{
	int ret;

	*what = "fi_endpoint";
	ret = fi_endpoint(net->inner.domain, net->inner.info, &net->ep, net);
	if (ret) {
		net->ep = NULL;
		return ret;
	}
	*what = "fi_ep_bind";
	ret = fi_ep_bind(net->ep, &net->av->fid, 0);
	if (!ret)
		ret = fi_ep_bind(net->ep, &net->inner.cq->fid, FI_TRANSMIT | FI_RECV);
	if (ret)
		return ret;
	*what = "fi_getopt";
	ret = rdm_find_copy_limit(net);
	if (ret)
		return ret;
	if (net->register_above != UINT32_MAX)
		net->register_above = net->copied;
	rdm_enlarge_packets(net);
	rdm_avoid_fetching(net);
	*what = "fi_enable";
	return fi_enable(net->ep);
}

/* NULL: the provider's addresses have no ports. */
static struct sockaddr *rdm_inner_addr(const struct rdm_net *net)
{
	struct sockaddr *sa = net->inner.info->src_addr;
	uint32_t format = net->inner.info->addr_format;

	return format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6
		       ? sa
		       : NULL;
}

static int rdm_open_ep(struct rdm_net *net, const char **what)
{
	struct sockaddr *sa = rdm_inner_addr(net);
	struct dofi_ports ports;
	int ret = -FI_EADDRINUSE;
	uint16_t port;

	if (!sa)
		return rdm_open_ep_at_port(net, what);
	dofi_ports_begin(&ports);
	while (dofi_ports_is_taken(ret) && dofi_ports_next(&ports, &port)) {
		if (net->ep)
			msgep_fid_close(&net->ep->fid, "an endpoint");
		net->ep = NULL;
		if (port)
			dofi_addr_set_port(sa, port);
		ret = rdm_open_ep_at_port(net, what);
		/* QUIRK libfabric verbs: Reports a taken port as a lack of data (vrb_getinfo,
		 * seen in 1.17): the next one is tried. */
		if (port && ret == -FI_ENODATA)
			ret = -FI_EADDRINUSE;
	}
	if (dofi_ports_exhausted(&ports, ret))
		*what = DOFI_PORTS_SEARCH;
	return ret;
}

static int rdm_open_inner(struct rdm_net *net, const char **what)
{
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	int ret = msgep_inner_open(&net->inner, what);

	if (ret)
		return ret;
	*what = "fi_cq_open";
	ret = rdm_open_cq(net);
	if (ret)
		return ret;
	*what = "fi_av_open";
	ret = fi_av_open(net->inner.domain, &av, &net->av, net);
	if (ret)
		return ret;
	ret = rdm_open_ep(net, what);
	if (ret)
		return ret;
	rdm_open_signal(net);
	*what = "the endpoint's name";
	net->name_len = sizeof(net->name);
	return fi_getname(&net->ep->fid, net->name, &net->name_len);
}

/* Over tcp the name of an endpoint is the address of its listener (msgep/tcp_socks.h). False: there
 * is none. */
static bool rdm_listener(const struct rdm_net *net, union dofi_addr *addr)
{
	const struct fi_info *info = net->inner.info;

	if (!strstr(info->fabric_attr->prov_name, "tcp") || net->name_len > sizeof(*addr) ||
	    (info->addr_format != FI_SOCKADDR_IN && info->addr_format != FI_SOCKADDR_IN6))
		return false;
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, net->name, net->name_len);
	return dofi_addr_port(&addr->sa);
}

static void rdm_close_accepted(const struct rdm_net *net)
{
	union dofi_addr addr;

	if (rdm_listener(net, &addr))
		msgep_tcp_close_accepted(&addr);
}

/* QUIRK libfabric<1.18 rxm: closing an endpoint leaks what it has allocated for a connection whose
 * request it has not answered (seen in 1.17, not in 2.1). It frees that if the connection ends
 * first, which it notices once in 10 ms. */
static void rdm_end_requests(struct rdm_net *net)
{
	uint64_t end = dofi_now() + DOFI_MS(REQUESTS_MS);
	union dofi_addr addr;

	if (!dofi_fab_older(net->domain->fabric->fab, 1, 18) || !rdm_listener(net, &addr))
		return;
	while (msgep_tcp_end_accepted(&addr, true) && dofi_now() < end) {
		rdm_poll(net);
		poll(NULL, 0, RDM_TICK_MS);
	}
}

/* QUIRK libfabric rxm: closing an endpoint after its queue, or a domain with regions left, crashes
 * (seen in 1.17). */
static void rdm_close_inner(struct rdm_net *net)
{
	if (net->timer_fd >= 0)
		dofi_forkfd_close(net->timer_fd);
	if (net->ep) {
		msgep_fid_close(&net->ep->fid, "an endpoint");
		rdm_close_accepted(net);
	}
	rdm_packets_close_mrs(net);
	if (net->av)
		msgep_fid_close(&net->av->fid, "an address vector");
	msgep_inner_close(&net->inner);
	rdm_packets_free(net);
	rdm_peers_free(net);
	rdm_conns_free(net);
	free(net);
}

int rdm_open(struct msgep_domain *domain)
{
	struct rdm_net *net = calloc(1, sizeof(*net));
	const char *what = "an event descriptor";
	int ret;

	if (!net)
		return -FI_ENOMEM;
	net->domain = domain;
	msgep_inner_init(&net->inner);
	net->timer_fd = -1;
	net->register_above = UINT32_MAX;
	net->window = (uint32_t)dofi_param(DOFI_NUM_PACKET_WINDOW);
	dofi_list_init(&net->unused);
	dofi_list_init(&net->closed);
	dofi_list_init(&net->blocked);
	dofi_list_init(&net->gaps);
	dofi_list_init(&net->touched);
	dofi_list_init(&net->owing);
	ret = rdm_choose_inner(net);
	if (ret)
		goto failed;
	if (rdm_constrained_requested(domain->fabric->fab))
		rdm_constrained_start(net);
	rdm_register_what_is_fetched(net);
	rdm_large_init(net);
	ret = rdm_open_inner(net, &what);
	if (!ret) {
		net->timer_fd =
			dofi_forkfd(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
		if (net->timer_fd < 0)
			ret = -errno;
	}
	if (ret) {
		dofi_diag_object(domain->fabric->fab, what, ret);
		goto failed;
	}
	domain->transport_data = net;
	dofi_log(DOFI_LOG_INFO,
		 "%s: packets of %u bytes, %u per channel, large packets of %u bytes, "
		 "copied up to %u, %s",
		 net->inner.info->fabric_attr->prov_name, net->packet_size, net->window,
		 net->large.size, net->copied,
		 net->inner.cq_fd < 0 ? "polled each millisecond" : "with a descriptor");
	return 0;
failed:
	rdm_close_inner(net);
	return ret;
}

/* Sends the last packets of closed connections, and reads what has arrived: closing a TCP socket
 * before that drops what was sent last. */
static void rdm_drain(struct rdm_net *net)
{
	uint64_t end = dofi_now() + DOFI_MS(RDM_LINGER_MS);
	struct pollfd pfd = { .fd = net->inner.cq_fd, .events = POLLIN };
	unsigned int got;

	do {
		got = rdm_poll(net);
		if (!got && !dofi_list_empty(&net->closed))
			poll(&pfd, 1, RDM_TICK_MS);
	} while ((got || !dofi_list_empty(&net->closed)) && dofi_now() < end);
}

void rdm_close(struct msgep_domain *domain)
{
	struct rdm_net *net = rdm_net_of(domain);

	dofi_lock(&domain->transport_lock);
	rdm_drain(net);
	rdm_end_requests(net);
	domain->transport_data = NULL;
	dofi_unlock(&domain->transport_lock);
	rdm_close_inner(net);
}

/* Descriptors for the timer and for arrivals. */
int rdm_wait_fds(struct msgep_domain *domain, int fd[MSGEP_WAIT_FDS])
{
	const struct rdm_net *net = rdm_net_of(domain);

	fd[0] = net->timer_fd;
	return msgep_inner_wait_fds(&net->inner, fd, 1);
}

/* Without a descriptor, polls until nothing is found: a poll returns what a provider delivers at
 * once, which may be one of many packets, and one packet per tick would make a stream many times
 * slower than the fabric. */
bool rdm_may_sleep(struct msgep_domain *domain, bool used)
{
	struct rdm_net *net = rdm_net_of(domain);
	bool may = true;

	(void)used;
	dofi_lock(&domain->transport_lock);
	rdm_send_owed(net, RDM_OWED_ALL);
	if (net->inner.cq_fd >= 0) {
		struct fid *fid = &net->inner.cq->fid;

		may = !fi_trywait(net->inner.fabric, &fid, 1);
	} else {
		may = !net->found_any;
	}
	if (may)
		rdm_set_timer(net);
	dofi_unlock(&domain->transport_lock);
	return may;
}

bool rdm_busy(struct msgep_domain *domain)
{
	return atomic_load(&rdm_net_of(domain)->want_tx);
}
