/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects, opens, waits on and closes the inner endpoint of a domain. */
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
/* Operations of one direction that are outstanding at once, whatever the provider would take. */
#define DEPTH_MAX 8192

static struct fi_info *make_hints(const struct dofi_fab *fab, bool bind, bool tagged)
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
	hints->fabric_attr->prov_name = strdup(fab->row->prov_name);
	if (!hints->fabric_attr->prov_name)
		goto failed;
	if (fab->row->over_device) {
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

/* Threads of the provider's own are not wanted, though sockets has a descriptor only with them: it
 * was many times slower beside a thread that polls. All that is done to the inner objects is done
 * under one lock, so a provider that is not safe for several threads serves as well. */
static int ask(const struct dofi_fab *fab, bool bind, bool tagged, bool tell,
	       struct fi_info **info)
{
	struct fi_info *hints = make_hints(fab, bind, tagged);
	int ret;

	if (!hints)
		return -FI_ENOMEM;
	if (wfab_test_asked(fab))
		wfab_test_hints(hints);
	ret = dofi_lib.getinfo(API_VERSION, NULL, NULL, 0, hints, info);
	if (ret == -FI_ENODATA) {
		hints->domain_attr->threading = FI_THREAD_DOMAIN;
		ret = dofi_lib.getinfo(API_VERSION, NULL, NULL, 0, hints, info);
	}
	if (ret && tell)
		dofi_why_info(fab, hints, ret);
	dofi_lib.freeinfo(hints);
	return ret;
}

/* Providers over IP are bound to the address; others have addresses of their own kind. Tagged
 * messages are for bulk cells, which one can do without. */
static int find_inner(const struct dofi_fab *fab, bool tell, struct fi_info **info)
{
	int ret = -FI_ENODATA;

	if (dofi_param(DOFI_NUM_BULK_KIB)) {
		ret = ask(fab, true, true, false, info);
		if (ret == -FI_ENODATA)
			ret = ask(fab, false, true, false, info);
	}
	if (ret == -FI_ENODATA)
		ret = ask(fab, true, false, false, info);
	return ret == -FI_ENODATA ? ask(fab, false, false, tell, info) : ret;
}

#define ORDINARY_CELL (16u * 1024)
#define LARGE_CELL (2 * ORDINARY_CELL)

static uint32_t wanted_cell(void)
{
	uint32_t kib = (uint32_t)dofi_param(DOFI_NUM_CELL_KIB);

	return kib ? kib * 1024 : ORDINARY_CELL;
}

/* rxm copies messages up to a size, and fetches longer ones. The size of its buffers is the same that
 * a receive for several messages must have left; over a device it is the limit. */
static void find_limit(struct wfab *net)
{
	bool device = net->domain->fabric->fab->row->over_device;
	size_t buffer = 0, len = sizeof(buffer);

	if (strstr(net->info->fabric_attr->prov_name, "ofi_rxm") &&
	    !fi_getopt(&net->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &buffer, &len))
		net->copied = (uint32_t)(device ? buffer : dofi_lib_rxm_limit(buffer));
}

/* As long as they are copied, large cells cost less per byte than ordinary ones; fetched ones take
 * longer. Cells that have to be registered take up memory for good, so they stay as they are. */
static void enlarge_cells(struct wfab *net)
{
	if (dofi_param(DOFI_NUM_CELL_KIB) || net->register_cells || net->copied < LARGE_CELL ||
	    net->info->ep_attr->max_msg_size < LARGE_CELL)
		return;
	net->cell_size = LARGE_CELL;
	if (net->bulk.size < 2 * net->cell_size)
		net->bulk.size = 0;
}

/* QUIRK libfabric (1.17) tcp, 32 bits: requests of RDMA carry a wrong key, because struct
 * fi_rma_iov is smaller there than its form on the wire. rxm fetches messages by such requests: none
 * may be longer than what it copies. */
static void avoid_fetching(struct wfab *net)
{
	if (sizeof(size_t) >= sizeof(uint64_t) || !net->copied ||
	    net->domain->fabric->fab->row->over_device)
		return;
	net->bulk.size = 0;
	if (net->cell_size > net->copied)
		net->cell_size = net->copied;
}

/* The first that takes cells whole; the provider lists the best one first. */
static struct fi_info *best_of(struct fi_info *all)
{
	for (struct fi_info *info = all; info; info = info->next)
		if (info->ep_attr->max_msg_size >= wanted_cell())
			return info;
	return all;
}

static int fill_outer(const struct dofi_fab *fab, struct fi_info *info)
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
	info->tx_attr->iov_limit = RDM_IOV_MAX;
	info->tx_attr->rma_iov_limit = 1;
	info->rx_attr->caps = FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE;
	info->rx_attr->msg_order = FI_ORDER_SAS;
	info->rx_attr->size = 1024;
	info->rx_attr->iov_limit = RDM_IOV_MAX;
	info->domain_attr->name = strdup(fab->netdev);
	info->fabric_attr->name = strdup(fab->row->name);
	info->fabric_attr->prov_name = strdup(fab->row->prov_name);
	info->fabric_attr->prov_version = fab->lib_version;
	info->src_addr = malloc(dofi_addr_len(&fab->addr.sa));
	if (!info->domain_attr->name || !info->fabric_attr->name || !info->fabric_attr->prov_name ||
	    !info->src_addr)
		return -FI_ENOMEM;
	info->src_addrlen = dofi_addr_len(&fab->addr.sa);
	memcpy(info->src_addr, &fab->addr, info->src_addrlen);
	return 0;
}

int wfab_getinfo(struct dofi_fab *fab, struct fi_info **out)
{
	struct fi_info *inner, *info;
	int ret = find_inner(fab, true, &inner);

	if (ret)
		return ret;
	dofi_lib.freeinfo(inner);
	info = dofi_lib.dupinfo(NULL);
	if (!info)
		return -FI_ENOMEM;
	ret = fill_outer(fab, info);
	if (ret)
		dofi_lib.freeinfo(info);
	else
		*out = info;
	return ret;
}

static uint32_t depth(size_t size)
{
	return size && size < DEPTH_MAX ? (uint32_t)size : DEPTH_MAX;
}

static int choose_inner(struct wfab *net)
{
	const struct dofi_fab *fab = net->domain->fabric->fab;
	struct fi_info *all, *best;
	int ret = find_inner(fab, true, &all);

	if (ret)
		return ret;
	best = best_of(all);
	net->info = dofi_lib.dupinfo(best);
	dofi_lib.freeinfo(all);
	if (!net->info)
		return -FI_ENOMEM;
	net->cell_size = wanted_cell();
	if (net->cell_size > net->info->ep_attr->max_msg_size)
		net->cell_size = (uint32_t)net->info->ep_attr->max_msg_size & ~63u;
	if (net->cell_size < 2 * WFAB_CELL_HDR)
		return -FI_EMSGSIZE;
	net->register_cells = net->info->domain_attr->mr_mode & FI_MR_LOCAL;
	net->post_max = depth(net->info->rx_attr->size);
	return 0;
}

static int open_cq(struct wfab *net)
{
	size_t size = net->post_max + depth(net->info->tx_attr->size) + net->bulk.most;
	struct fi_cq_attr attr = { .size = size, .format = FI_CQ_FORMAT_MSG,
				   .wait_obj = FI_WAIT_FD };

	net->cq_fd = -1;
	if (!net->shake.on && !fi_cq_open(net->inner, &attr, &net->cq, net)) {
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

/* rxm sleeps on a queue of tcp. */
static void take_signal(struct wfab *net)
{
	if (net->cq_fd >= 0 && dofi_fab_older(net->domain->fabric->fab, 1, 18) &&
	    strstr(net->info->fabric_attr->prov_name, "tcp;ofi_rxm"))
		net->signal_fd = rdm_cq_signal_take_inner(net->cq_fd);
}

static int open_inner(struct wfab *net, const char **what)
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
	ret = open_cq(net);
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
	find_limit(net);
	enlarge_cells(net);
	avoid_fetching(net);
	*what = "fi_enable";
	ret = fi_enable(net->ep);
	if (ret)
		return ret;
	take_signal(net);
	*what = "the endpoint's name";
	net->name_len = sizeof(net->name);
	return fi_getname(&net->ep->fid, net->name, &net->name_len);
}

/* An endpoint of rxm that is closed behind its queue, or a domain with regions left, crashes
 * libfabric 1.17. */
static void close_inner(struct wfab *net)
{
	if (net->timer_fd >= 0)
		dofi_forkfd_close(net->timer_fd);
	if (net->ep)
		fi_close(&net->ep->fid);
	wfab_cells_close_mrs(net);
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
	wfab_cells_free(net);
	wfab_peers_free(net);
	wfab_conns_free(net);
	free(net);
}

int wfab_open(struct rdm_domain *domain)
{
	struct wfab *net = calloc(1, sizeof(*net));
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
	ret = choose_inner(net);
	if (ret)
		goto failed;
	if (wfab_test_asked(domain->fabric->fab))
		wfab_test_start(net);
	wfab_bulk_init(net);
	ret = open_inner(net, &what);
	if (!ret) {
		net->timer_fd = dofi_forkfd(timerfd_create(CLOCK_MONOTONIC,
							   TFD_NONBLOCK | TFD_CLOEXEC));
		if (net->timer_fd < 0)
			ret = -errno;
	}
	if (ret) {
		dofi_why_object(domain->fabric->fab, what, ret);
		goto failed;
	}
	domain->wire = net;
	dofi_log(DOFI_LOG_INFO, "%s: cells of %u bytes, %u per channel, bulk cells of %u bytes, "
		 "copied up to %u, %s",
		 net->info->fabric_attr->prov_name, net->cell_size, net->window, net->bulk.size,
		 net->copied,
		 net->cq_fd < 0 ? "looked for each millisecond" : "with a descriptor");
	return 0;
failed:
	close_inner(net);
	return ret;
}

/* The last cells of connections that have been closed still have to go out; and what has come is
 * read, because a TCP socket below that is closed before takes with it what was sent last. */
static void drain(struct wfab *net)
{
	uint64_t end = dofi_now() + DOFI_MS(WFAB_LINGER_MS);
	struct pollfd pfd = { .fd = net->cq_fd, .events = POLLIN };
	unsigned int got;

	do {
		got = wfab_poll(net);
		if (!got && !dofi_list_empty(&net->closed))
			poll(&pfd, 1, WFAB_TICK_MS);
	} while ((got || !dofi_list_empty(&net->closed)) && dofi_now() < end);
}

void wfab_close(struct rdm_domain *domain)
{
	struct wfab *net = wfab_of(domain);

	pthread_mutex_lock(&domain->wire_lock);
	drain(net);
	domain->wire = NULL;
	pthread_mutex_unlock(&domain->wire_lock);
	close_inner(net);
}

/* It is time to look; something has arrived. */
int wfab_wait_fds(struct rdm_domain *domain, int fd[RDM_WAIT_FDS])
{
	const struct wfab *net = wfab_of(domain);

	fd[0] = net->timer_fd;
	fd[1] = net->cq_fd;
	fd[2] = net->signal_fd;
	return net->cq_fd < 0 ? 1 : net->signal_fd < 0 ? 2 : 3;
}

/* Without a descriptor one sleeps for as long again as nothing has come: a stream whose receiver
 * sleeps goes on soon, and who waits for long looks seldom. */
static uint64_t tick(const struct wfab *net)
{
	uint64_t silence = dofi_now() - net->fruit_at;

	if (silence < DOFI_US(WFAB_TICK_US))
		return DOFI_US(WFAB_TICK_US);
	return silence < DOFI_MS(WFAB_TICK_MS) ? silence : DOFI_MS(WFAB_TICK_MS);
}

/* How long may one sleep although nothing arrives? 0: as long as one likes, and without a
 * connection nothing does arrive. */
static uint64_t next_look(const struct wfab *net)
{
	if (net->cq_fd < 0 && net->want_tx)
		return tick(net);
	if (!dofi_list_empty(&net->blocked) || net->post_full || net->bulk.post_full)
		return DOFI_MS(WFAB_TICK_MS);
	if (!dofi_list_empty(&net->gaps) || !dofi_list_empty(&net->closed))
		return DOFI_MS(100);
	return 0;
}

void wfab_set_timer(struct wfab *net)
{
	uint64_t in = next_look(net);
	struct itimerspec at = { .it_value = { 0, (long)in } };

	if (in || net->timer_due)
		timerfd_settime(net->timer_fd, 0, &at, NULL);
	net->timer_due = in ? dofi_now() + in : 0;
}

/* Without a descriptor, one looks until nothing is found: a look takes in what a provider gives at
 * once, which may be one cell of the many that wait, and a stream that gets on by so little in each
 * tick is many times slower than the fabric. */
bool wfab_may_sleep(struct rdm_domain *domain)
{
	struct wfab *net = wfab_of(domain);
	bool may = true;

	pthread_mutex_lock(&domain->wire_lock);
	wfab_send_owed(net, false);
	if (net->cq_fd >= 0) {
		struct fid *fid = &net->cq->fid;

		may = !fi_trywait(net->fabric, &fid, 1);
	} else {
		may = !net->fruitful;
	}
	if (may)
		wfab_set_timer(net);
	pthread_mutex_unlock(&domain->wire_lock);
	return may;
}

bool wfab_busy(struct rdm_domain *domain)
{
	return atomic_load(&wfab_of(domain)->want_tx);
}
