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
#include "fabric/fab_lib.h"
#include "msgep/cq_signal.h"
#include "msgep/rdm/rdm.h"
#include "diag/diag.h"

#define API_VERSION FI_VERSION(1, 14)
/* Maximum of outstanding operations per direction, whatever the provider would accept. */
#define DEPTH_MAX 8192

static struct fi_info *msgep_make_hints(const struct dofi_fab *fab, bool bind, bool tagged)
{
	struct fi_info *hints = dofi_lib.dupinfo(NULL);
	bool v6 = fab->addr.sa.sa_family == AF_INET6;

	if (!hints)
		return NULL;
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | (tagged ? FI_TAGGED : 0);
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->fabric_attr->prov_name = strdup(fab->desc->prov_name);
	if (!hints->fabric_attr->prov_name)
		goto failed;
	if (fab->desc->over_device) {
		hints->domain_attr->name = strdup(fab->device);
		if (!hints->domain_attr->name)
			goto failed;
	}
	if (!bind)
		return hints;
	hints->addr_format = v6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	hints->src_addr = malloc(dofi_addr_len(&fab->addr.sa));
	if (!hints->src_addr)
		goto failed;
	hints->src_addrlen = dofi_addr_len(&fab->addr.sa);
	memcpy(hints->src_addr, &fab->addr, hints->src_addrlen);
	return hints;
failed:
	dofi_lib.freeinfo(hints);
	return NULL;
}

/* Manual progress, though sockets has a descriptor only with threads of its own: it was many times
 * slower alongside a polling thread. All calls to the inner objects are made under one lock, so a
 * provider that is not thread-safe suffices. */
static int msgep_ask_provider(const struct dofi_fab *fab, bool bind, bool tagged, bool tell,
			      struct fi_info **info)
{
	struct fi_info *hints = msgep_make_hints(fab, bind, tagged);
	int ret;

	if (!hints)
		return -FI_ENOMEM;
	if (rdm_constrained_requested(fab))
		rdm_constrained_hints(hints);
	ret = dofi_lib.getinfo(API_VERSION, NULL, NULL, 0, hints, info);
	if (ret == -FI_ENODATA) {
		hints->domain_attr->threading = FI_THREAD_DOMAIN;
		ret = dofi_lib.getinfo(API_VERSION, NULL, NULL, 0, hints, info);
	}
	if (ret && tell)
		dofi_diag_info(fab, hints, ret);
	dofi_lib.freeinfo(hints);
	return ret;
}

/* Providers over IP are bound to the address; others have their own address formats. Tagged
 * messages are for large packets, which are optional. */
static int msgep_find_inner(const struct dofi_fab *fab, bool tell, struct fi_info **info)
{
	int ret = -FI_ENODATA;

	if (dofi_param(DOFI_NUM_BULK_KIB)) {
		ret = msgep_ask_provider(fab, true, true, false, info);
		if (ret == -FI_ENODATA)
			ret = msgep_ask_provider(fab, false, true, false, info);
	}
	if (ret == -FI_ENODATA)
		ret = msgep_ask_provider(fab, true, false, false, info);
	return ret == -FI_ENODATA ? msgep_ask_provider(fab, false, false, tell, info) : ret;
}

#define ORDINARY_CELL (16u * 1024)
#define LARGE_CELL (2 * ORDINARY_CELL)

static uint32_t msgep_wanted_packet(void)
{
	uint32_t kib = (uint32_t)dofi_param(DOFI_NUM_CELL_KIB);

	return kib ? kib * 1024 : ORDINARY_CELL;
}

/* rxm copies messages up to a size, and fetches longer ones (rendezvous). Its buffer size equals
 * the free space that a multi-receive buffer must have left; over a device it is the limit. */
static void msgep_find_limit(struct rdm_net *net)
{
	bool device = net->domain->fabric->fab->desc->over_device;
	size_t buffer = 0, len = sizeof(buffer);

	if (strstr(net->info->fabric_attr->prov_name, "ofi_rxm") &&
	    !fi_getopt(&net->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &buffer, &len))
		net->copied = (uint32_t)(device ? buffer : dofi_lib_rxm_limit(buffer));
}

/* As long as they are copied, large packets cost less per byte than ordinary ones; fetching takes
 * longer. Packets that must be registered occupy memory permanently, so they keep their size. */
static void msgep_enlarge_packets(struct rdm_net *net)
{
	if (dofi_param(DOFI_NUM_CELL_KIB) || net->register_packets || net->copied < LARGE_CELL ||
	    net->info->ep_attr->max_msg_size < LARGE_CELL)
		return;
	net->packet_size = LARGE_CELL;
	if (net->large.size < 2 * net->packet_size)
		net->large.size = 0;
}

/* QUIRK libfabric (1.17) tcp, 32 bits: RDMA requests carry a wrong key, because struct fi_rma_iov
 * is smaller there than its format on the network. rxm fetches messages by such requests: no
 * message may be longer than what it copies. */
static void msgep_avoid_fetching(struct rdm_net *net)
{
	if (sizeof(size_t) >= sizeof(uint64_t) || !net->copied ||
	    net->domain->fabric->fab->desc->over_device)
		return;
	net->large.size = 0;
	if (net->packet_size > net->copied)
		net->packet_size = net->copied;
}

/* The first one that accepts whole packets; the provider lists the best one first. */
static struct fi_info *msgep_best_of(struct fi_info *all)
{
	for (struct fi_info *info = all; info; info = info->next)
		if (info->ep_attr->max_msg_size >= msgep_wanted_packet())
			return info;
	return all;
}

static int msgep_fill_outer(const struct dofi_fab *fab, struct fi_info *info)
{
	bool v6 = fab->addr.sa.sa_family == AF_INET6;

	info->caps = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ |
		     FI_REMOTE_WRITE;
	info->addr_format = v6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	info->ep_attr->type = FI_EP_MSG;
	info->ep_attr->max_msg_size = SIZE_MAX;
	info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = 1;
	info->domain_attr->threading = FI_THREAD_SAFE;
	info->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->resource_mgmt = FI_RM_ENABLED;
	info->domain_attr->mr_mode = FI_MR_VIRT_ADDR;
	info->domain_attr->mr_key_size = sizeof(uint32_t);
	info->domain_attr->cq_data_size = 8;
	info->tx_attr->caps = FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE;
	info->tx_attr->msg_order = FI_ORDER_SAS;
	info->tx_attr->size = 1024;
	info->tx_attr->iov_limit = MSGEP_IOV_MAX;
	info->tx_attr->rma_iov_limit = 1;
	info->rx_attr->caps = FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE;
	info->rx_attr->msg_order = FI_ORDER_SAS;
	info->rx_attr->size = 1024;
	info->rx_attr->iov_limit = MSGEP_IOV_MAX;
	info->domain_attr->name = strdup(fab->netdev);
	info->fabric_attr->name = strdup(fab->desc->name);
	info->fabric_attr->prov_name = strdup(fab->desc->prov_name);
	info->fabric_attr->prov_version = fab->lib_version;
	info->src_addr = malloc(dofi_addr_len(&fab->addr.sa));
	if (!info->domain_attr->name || !info->fabric_attr->name || !info->fabric_attr->prov_name ||
	    !info->src_addr)
		return -FI_ENOMEM;
	info->src_addrlen = dofi_addr_len(&fab->addr.sa);
	memcpy(info->src_addr, &fab->addr, info->src_addrlen);
	return 0;
}

int rdm_getinfo(struct dofi_fab *fab, struct fi_info **out)
{
	struct fi_info *inner, *info;
	int ret = msgep_find_inner(fab, true, &inner);

	if (ret)
		return ret;
	dofi_lib.freeinfo(inner);
	info = dofi_lib.dupinfo(NULL);
	if (!info)
		return -FI_ENOMEM;
	ret = msgep_fill_outer(fab, info);
	if (ret)
		dofi_lib.freeinfo(info);
	else
		*out = info;
	return ret;
}

static uint32_t msgep_depth(size_t size)
{
	return size && size < DEPTH_MAX ? (uint32_t)size : DEPTH_MAX;
}

static int msgep_choose_inner(struct rdm_net *net)
{
	const struct dofi_fab *fab = net->domain->fabric->fab;
	struct fi_info *all, *best;
	int ret = msgep_find_inner(fab, true, &all);

	if (ret)
		return ret;
	best = msgep_best_of(all);
	net->info = dofi_lib.dupinfo(best);
	dofi_lib.freeinfo(all);
	if (!net->info)
		return -FI_ENOMEM;
	net->packet_size = msgep_wanted_packet();
	if (net->packet_size > net->info->ep_attr->max_msg_size)
		net->packet_size = (uint32_t)net->info->ep_attr->max_msg_size & ~63u;
	if (net->packet_size < 2 * RDM_PACKET_HDR)
		return -FI_EMSGSIZE;
	net->register_packets = net->info->domain_attr->mr_mode & FI_MR_LOCAL;
	net->post_max = msgep_depth(net->info->rx_attr->size);
	return 0;
}

static int msgep_open_cq(struct rdm_net *net)
{
	size_t size = net->post_max + msgep_depth(net->info->tx_attr->size) + net->large.limit;
	struct fi_cq_attr attr = { .size = size, .format = FI_CQ_FORMAT_MSG,
				   .wait_obj = FI_WAIT_FD };

	net->cq_fd = -1;
	if (!net->constrained.on && !fi_cq_open(net->inner, &attr, &net->cq, net)) {
		if (!fi_control(&net->cq->fid, FI_GETWAIT, &net->cq_fd))
			return 0;
		fi_close(&net->cq->fid);
		net->cq = NULL;
		net->cq_fd = -1;
	}
	attr.wait_obj = FI_WAIT_NONE;
	attr.size = size;	/* some change it */
	return fi_cq_open(net->inner, &attr, &net->cq, net);
}

/* rxm waits on a queue of tcp. */
static void msgep_take_signal(struct rdm_net *net)
{
	if (net->cq_fd >= 0 && dofi_fab_older(net->domain->fabric->fab, 1, 18) &&
	    strstr(net->info->fabric_attr->prov_name, "tcp;ofi_rxm"))
		net->signal_fd = msgep_cq_signal_take_inner(net->cq_fd);
}

static int msgep_open_inner(struct rdm_net *net, const char **what)
{
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	int ret;

	*what = "fi_fabric";
	ret = dofi_lib.fabric(net->info->fabric_attr, &net->fabric, net);
	if (ret)
		return ret;
	*what = "fi_domain";
	ret = fi_domain(net->fabric, net->info, &net->inner, net);
	if (ret)
		return ret;
	*what = "fi_cq_open";
	ret = msgep_open_cq(net);
	if (ret)
		return ret;
	*what = "fi_av_open";
	ret = fi_av_open(net->inner, &av, &net->av, net);
	if (ret)
		return ret;
	*what = "fi_endpoint";
	ret = fi_endpoint(net->inner, net->info, &net->ep, net);
	if (ret)
		return ret;
	*what = "fi_ep_bind";
	ret = fi_ep_bind(net->ep, &net->av->fid, 0);
	if (!ret)
		ret = fi_ep_bind(net->ep, &net->cq->fid, FI_TRANSMIT | FI_RECV);
	if (ret)
		return ret;
	msgep_find_limit(net);
	msgep_enlarge_packets(net);
	msgep_avoid_fetching(net);
	*what = "fi_enable";
	ret = fi_enable(net->ep);
	if (ret)
		return ret;
	msgep_take_signal(net);
	*what = "the endpoint's name";
	net->name_len = sizeof(net->name);
	return fi_getname(&net->ep->fid, net->name, &net->name_len);
}

/* Closing an rxm endpoint after its queue, or a domain with regions left, crashes libfabric
 * 1.17. */
static void msgep_close_inner(struct rdm_net *net)
{
	if (net->timer_fd >= 0)
		dofi_forkfd_close(net->timer_fd);
	if (net->ep)
		fi_close(&net->ep->fid);
	rdm_packets_close_mrs(net);
	if (net->cq)
		fi_close(&net->cq->fid);
	if (net->av)
		fi_close(&net->av->fid);
	if (net->inner)
		fi_close(&net->inner->fid);
	if (net->fabric)
		fi_close(&net->fabric->fid);
	if (net->info)
		dofi_lib.freeinfo(net->info);
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
	net->timer_fd = net->signal_fd = -1;
	net->window = (uint32_t)dofi_param(DOFI_NUM_CELL_WINDOW);
	dofi_list_init(&net->unused);
	dofi_list_init(&net->closed);
	dofi_list_init(&net->blocked);
	dofi_list_init(&net->gaps);
	dofi_list_init(&net->touched);
	dofi_list_init(&net->owing);
	ret = msgep_choose_inner(net);
	if (ret)
		goto failed;
	if (rdm_constrained_requested(domain->fabric->fab))
		rdm_constrained_start(net);
	rdm_large_init(net);
	ret = msgep_open_inner(net, &what);
	if (!ret) {
		net->timer_fd = dofi_forkfd(timerfd_create(CLOCK_MONOTONIC,
							   TFD_NONBLOCK | TFD_CLOEXEC));
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
		 net->info->fabric_attr->prov_name, net->packet_size, net->window, net->large.size,
		 net->copied, net->cq_fd < 0 ? "polled each millisecond" : "with a descriptor");
	return 0;
failed:
	msgep_close_inner(net);
	return ret;
}

/* Sends the last packets of closed connections, and reads what has arrived: closing a TCP socket
 * before that drops what was sent last. */
static void msgep_drain(struct rdm_net *net)
{
	uint64_t end = dofi_now() + DOFI_MS(RDM_LINGER_MS);
	struct pollfd pfd = { .fd = net->cq_fd, .events = POLLIN };
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

	pthread_mutex_lock(&domain->transport_lock);
	msgep_drain(net);
	domain->transport_data = NULL;
	pthread_mutex_unlock(&domain->transport_lock);
	msgep_close_inner(net);
}

/* Descriptors for the timer and for arrivals. */
int rdm_wait_fds(struct msgep_domain *domain, int fd[MSGEP_WAIT_FDS])
{
	const struct rdm_net *net = rdm_net_of(domain);

	fd[0] = net->timer_fd;
	fd[1] = net->cq_fd;
	fd[2] = net->signal_fd;
	return net->cq_fd < 0 ? 1 : net->signal_fd < 0 ? 2 : 3;
}

/* Without a descriptor the tick grows with the idle time: a stream whose receiver blocks resumes
 * soon, and a thread that has waited for long polls seldom. */
static uint64_t msgep_tick(const struct rdm_net *net)
{
	uint64_t silence = dofi_now() - net->found_at;

	if (silence < DOFI_US(RDM_TICK_US))
		return DOFI_US(RDM_TICK_US);
	return silence < DOFI_MS(RDM_TICK_MS) ? silence : DOFI_MS(RDM_TICK_MS);
}

/* Longest time to block although nothing arrives; 0: unlimited. Without a connection nothing does
 * arrive. */
static uint64_t msgep_next_poll(const struct rdm_net *net)
{
	if (net->cq_fd < 0 && net->want_tx)
		return msgep_tick(net);
	if (!dofi_list_empty(&net->blocked) || net->post_full || net->large.post_full)
		return DOFI_MS(RDM_TICK_MS);
	if (!dofi_list_empty(&net->gaps) || !dofi_list_empty(&net->closed))
		return DOFI_MS(100);
	return 0;
}

void rdm_set_timer(struct rdm_net *net)
{
	uint64_t in = msgep_next_poll(net);
	struct itimerspec at = { .it_value = { 0, (long)in } };

	if (in || net->timer_due)
		timerfd_settime(net->timer_fd, 0, &at, NULL);
	net->timer_due = in ? dofi_now() + in : 0;
}

/* Without a descriptor, polls until nothing is found: a poll returns what a provider delivers at
 * once, which may be one of many packets, and one packet per tick would make a stream many times
 * slower than the fabric. */
bool rdm_may_sleep(struct msgep_domain *domain)
{
	struct rdm_net *net = rdm_net_of(domain);
	bool may = true;

	pthread_mutex_lock(&domain->transport_lock);
	rdm_send_owed(net, false);
	if (net->cq_fd >= 0) {
		struct fid *fid = &net->cq->fid;

		may = !fi_trywait(net->fabric, &fid, 1);
	} else {
		may = !net->found_any;
	}
	if (may)
		rdm_set_timer(net);
	pthread_mutex_unlock(&domain->transport_lock);
	return may;
}

bool rdm_busy(struct msgep_domain *domain)
{
	return atomic_load(&rdm_net_of(domain)->want_tx);
}
