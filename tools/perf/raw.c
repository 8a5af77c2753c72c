/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the libfabric objects of the raw twin. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "proc.h"
#include "raw.h"

#define RAW_API FI_VERSION(1, 14)

struct raw_lib raw_lib;

int raw_error(int err, const char *call)
{
	return perf_error(err, "raw", call, "%s", raw_lib.strerror(-err));
}

/* QUIRK libfabric rxm: over RDMA devices an endpoint's completion queue has room for the requests
 * of FI_UNIVERSE_SIZE connections, and for the receives of each unless they share them: more than
 * soft-RoCE takes (seen in 1.17). The provider of DAT sets the same. */
static void raw_limit_rxm(const char *provider)
{
	if (strcmp(provider, "verbs;ofi_rxm"))
		return;
	setenv("FI_UNIVERSE_SIZE", "240", 0);
	setenv("FI_OFI_RXM_USE_SRX", "1", 0);
	setenv("FI_OFI_RXM_MSG_RX_SIZE", "1024", 0);
}

/* libfabric stays loaded: it reads its environment only once. */
static int raw_load(const char *provider)
{
	void *lib;

	raw_limit_rxm(provider);
	if (raw_lib.getinfo)
		return 0;
	lib = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return perf_error(-FI_ENODATA, "raw", "dlopen", "%s", dlerror());
	*(void **)&raw_lib.freeinfo = dlsym(lib, "fi_freeinfo");
	*(void **)&raw_lib.dupinfo = dlsym(lib, "fi_dupinfo");
	*(void **)&raw_lib.fabric = dlsym(lib, "fi_fabric");
	*(void **)&raw_lib.strerror = dlsym(lib, "fi_strerror");
	*(void **)&raw_lib.getinfo = dlsym(lib, "fi_getinfo");
	if (!raw_lib.freeinfo || !raw_lib.dupinfo || !raw_lib.fabric || !raw_lib.strerror ||
	    !raw_lib.getinfo)
		return perf_error(-FI_ENODATA, "raw", "dlsym", "libfabric.so.1 is incomplete");
	return 0;
}

static struct fi_info *raw_hints(const struct raw_dev *d, enum fi_ep_type type, enum perf_op op)
{
	const struct perf_run *run = d->base.run;
	const struct perf_case *c = d->base.c;
	struct fi_info *h = raw_lib.dupinfo(NULL);

	if (!h)
		return NULL;
	h->caps = FI_MSG | FI_RMA | (perf_atomic(op) ? FI_ATOMIC : 0);
	if (op == PERF_IMMED) {
		h->mode = FI_RX_CQ_DATA;
		h->domain_attr->cq_data_size = sizeof(uint32_t);
	}
	if (type == FI_EP_MSG)
		h->addr_format = strchr(run->addr, ':') ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	h->ep_attr->type = type;
	if (run->plan->srq && !d->lacks_srx)
		h->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	h->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	h->domain_attr->threading = FI_THREAD_SAFE;
	h->rx_attr->size = (size_t)c->recv_depth;
	h->tx_attr->size = (size_t)c->window + 1;
	h->fabric_attr->prov_name = strdup(run->raw_provider);
	return h;
}

static bool has_ip(const struct fi_info *info)
{
	return info->addr_format == FI_SOCKADDR_IN || info->addr_format == FI_SOCKADDR_IN6 ||
	       info->addr_format == FI_SOCKADDR;
}

static int raw_getinfo(struct raw_dev *d, enum fi_ep_type type, const char *node, enum perf_op op)
{
	struct fi_info *h = raw_hints(d, type, op);
	int ret;

	if (!h)
		return -FI_ENOMEM;
	ret = raw_lib.getinfo(RAW_API, node, NULL, node ? FI_SOURCE : 0, h, &d->info);
	raw_lib.freeinfo(h);
	return ret;
}

/* Prefers connected endpoints, as DAT uses them, then RDM endpoints. */
static int raw_getinfo_base(struct raw_dev *d)
{
	const struct perf_run *run = d->base.run;
	int ret = raw_getinfo(d, FI_EP_MSG, run->addr, PERF_SEND);

	if (ret != -FI_ENODATA)
		return ret;
	ret = raw_getinfo(d, FI_EP_RDM, NULL, PERF_SEND);
	d->unconnected = !ret;
	if (!ret && has_ip(d->info)) {
		raw_lib.freeinfo(d->info);
		d->info = NULL;
		ret = raw_getinfo(d, FI_EP_RDM, run->addr, PERF_SEND);
	}
	return ret;
}

/*
 * Gets the same endpoints with the capabilities of an operation beyond messages, reads and writes.
 * No other endpoints, since DAT would not use them.
 */
static int raw_getinfo_op(struct raw_dev *d, enum perf_op op)
{
	struct fi_info *plain = d->info;
	int ret;

	d->info = NULL;
	ret = raw_getinfo(d, plain->ep_attr->type, has_ip(plain) ? d->base.run->addr : NULL, op);
	d->lacks_op = ret == -FI_ENODATA;
	if (ret)
		d->info = plain;
	else
		raw_lib.freeinfo(plain);
	return d->lacks_op ? 0 : ret;
}

static int raw_choose_info(struct raw_dev *d)
{
	const struct perf_run *run = d->base.run;
	enum perf_op op = d->base.c->op;
	int ret = raw_getinfo_base(d);

	if (ret == -FI_ENODATA && run->plan->srq) {
		d->lacks_srx = true;
		ret = raw_getinfo_base(d);
	}
	if (!ret && (op == PERF_IMMED || perf_atomic(op)))
		ret = raw_getinfo_op(d, op);
	if (ret)
		return perf_error(ret, "raw", "fi_getinfo", "provider %s, address %s: %s",
				  run->raw_provider, run->addr, raw_lib.strerror(-ret));
	/*
	 * software providers clear this bit but support it: see fi_mr(3); rxm does not pass it to
	 * its core provider
	 */
	if (!d->unconnected)
		d->info->domain_attr->mr_mode |= FI_MR_VIRT_ADDR;
	return 0;
}

#define MIN_PEERS 16

/* Opens an event queue for connections, or an address vector for RDM endpoints. */
static int raw_open_eq_av(struct raw_dev *d)
{
	/* No more than needed: provider shm refuses an address vector for more than 256 peers. */
	size_t peers = d->base.c->eps < MIN_PEERS ? MIN_PEERS : (size_t)d->base.c->eps;
	struct fi_eq_attr eq_attr = { .size = MIN_PEERS + peers, .wait_obj = FI_WAIT_FD };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE, .count = peers };
	int ret;

	if (d->unconnected) {
		ret = fi_av_open(d->domain, &av_attr, &d->av, NULL);
		return ret ? raw_error(ret, "fi_av_open") : 0;
	}
	ret = fi_eq_open(d->fabric, &eq_attr, &d->eq, NULL);
	return ret ? raw_error(ret, "fi_eq_open") : 0;
}

static int raw_open(struct perf_run *run, const struct perf_case *c, struct perf_dev **dev)
{
	struct raw_dev *d = calloc(1, sizeof(*d));
	int ret = d ? raw_load(run->raw_provider) : -FI_ENOMEM;

	if (ret) {
		free(d);
		return ret;
	}
	d->base = (struct perf_dev){ .layer = &perf_raw_layer, .run = run, .c = c };
	*dev = &d->base;
	ret = raw_choose_info(d);
	if (ret)
		return ret;
	ret = raw_lib.fabric(d->info->fabric_attr, &d->fabric, NULL);
	if (ret)
		return raw_error(ret, "fi_fabric");
	ret = fi_domain(d->fabric, d->info, &d->domain, NULL);
	if (ret)
		return raw_error(ret, "fi_domain");
	return raw_open_eq_av(d);
}

int raw_close_fid(struct fid *fid, const char *what)
{
	int ret = fid ? fi_close(fid) : 0;

	return ret ? raw_error(ret, what) : 0;
}

static int raw_close(struct perf_dev *dev)
{
	struct raw_dev *d = raw_dev(dev);
	int ret = 0;

	ret |= raw_close_fid(d->pep ? &d->pep->fid : NULL, "fi_close(pep)");
	ret |= raw_close_fid(d->eq ? &d->eq->fid : NULL, "fi_close(eq)");
	ret |= raw_close_fid(d->av ? &d->av->fid : NULL, "fi_close(av)");
	ret |= raw_close_fid(d->domain ? &d->domain->fid : NULL, "fi_close(domain)");
	ret |= raw_close_fid(d->fabric ? &d->fabric->fid : NULL, "fi_close(fabric)");
	if (d->info)
		raw_lib.freeinfo(d->info);
	free(d);
	return ret ? -FI_EIO : 0;
}

const struct perf_layer perf_raw_layer = {
	.name = "raw",
	.open = raw_open,
	.close = raw_close,
	.hub_open = raw_hub_open,
	.hub_close = raw_hub_close,
	.listen = raw_listen,
	.side_open = raw_side_open,
	.connect = raw_connect,
	.accept = raw_accept,
	.established = raw_established,
	.exchange = raw_exchange_names,
	.disconnect = raw_disconnect,
	.side_close = raw_side_close,
	.post_recv = raw_post_recv,
	.post_shared = raw_post_shared,
	.post = raw_post,
	.reap = raw_reap,
	.wait = raw_wait,
	.wait_any = raw_wait_any,
};
