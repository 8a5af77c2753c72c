/* SPDX-License-Identifier: BSD-2-Clause */
/* Which libfabric objects does the raw twin need, and how do they come and go? */
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

/* It stays loaded: the settings of its environment are read only once anyway. */
static int load(void)
{
	void *lib;

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

static struct fi_info *hints(const struct perf_run *run, const struct perf_case *c)
{
	struct fi_info *h = raw_lib.dupinfo(NULL);

	if (!h)
		return NULL;
	h->caps = FI_MSG | FI_RMA;
	h->addr_format = strchr(run->addr, ':') ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	h->ep_attr->type = FI_EP_MSG;
	h->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	h->domain_attr->threading = FI_THREAD_SAFE;
	h->rx_attr->size = (size_t)c->recv_depth;
	h->tx_attr->size = (size_t)c->window + 1;
	h->fabric_attr->prov_name = strdup(run->opts->raw_provider);
	return h;
}

static int get_info(struct raw_dev *d)
{
	const struct perf_run *run = d->base.run;
	struct fi_info *h = hints(run, d->base.c);
	int ret;

	if (!h)
		return raw_error(-FI_ENOMEM, "fi_dupinfo");
	ret = raw_lib.getinfo(RAW_API, run->addr, NULL, FI_SOURCE, h, &d->info);
	raw_lib.freeinfo(h);
	if (ret)
		return perf_error(ret, "raw", "fi_getinfo",
				  "provider %s, FI_EP_MSG, address %s: %s", run->opts->raw_provider,
				  run->addr, raw_lib.strerror(-ret));
	/* software providers drop this bit although they honour it: see fi_mr(3) */
	d->info->domain_attr->mr_mode |= FI_MR_VIRT_ADDR;
	return 0;
}

int raw_open(struct perf_run *run, const struct perf_case *c, struct perf_dev **dev)
{
	struct fi_eq_attr eq_attr = { .size = 16, .wait_obj = FI_WAIT_FD };
	struct raw_dev *d = calloc(1, sizeof(*d));
	int ret = d ? load() : -FI_ENOMEM;

	if (ret) {
		free(d);
		return ret;
	}
	d->base = (struct perf_dev) { .layer = &perf_raw_layer, .run = run, .c = c };
	*dev = &d->base;
	ret = get_info(d);
	if (ret)
		return ret;
	ret = raw_lib.fabric(d->info->fabric_attr, &d->fabric, NULL);
	if (ret)
		return raw_error(ret, "fi_fabric");
	ret = fi_domain(d->fabric, d->info, &d->domain, NULL);
	if (ret)
		return raw_error(ret, "fi_domain");
	ret = fi_eq_open(d->fabric, &eq_attr, &d->eq, NULL);
	return ret ? raw_error(ret, "fi_eq_open") : 0;
}

static int close_fid(struct fid *fid, const char *what)
{
	int ret = fid ? fi_close(fid) : 0;

	return ret ? raw_error(ret, what) : 0;
}

int raw_close(struct perf_dev *dev)
{
	struct raw_dev *d = raw_dev(dev);
	int ret = 0;

	ret |= close_fid(d->pep ? &d->pep->fid : NULL, "fi_close(pep)");
	ret |= close_fid(d->eq ? &d->eq->fid : NULL, "fi_close(eq)");
	ret |= close_fid(d->domain ? &d->domain->fid : NULL, "fi_close(domain)");
	ret |= close_fid(d->fabric ? &d->fabric->fid : NULL, "fi_close(fabric)");
	if (d->info)
		raw_lib.freeinfo(d->info);
	free(d);
	return ret ? -FI_EIO : 0;
}

static int open_cqs(struct raw_side *r, struct raw_dev *d)
{
	bool merged = d->base.run->opts->merged;
	const struct perf_case *c = d->base.c;
	int q, ret;

	for (q = PERF_TX; q <= PERF_RX; q++) {
		/* tcp of 1.17 reads a queue without descriptor with a system call */
		struct fi_cq_attr attr = {
			.format = FI_CQ_FORMAT_MSG,
			.wait_obj = FI_WAIT_FD,
			.size = (size_t)(c->window + 1 + c->recv_depth),
		};

		if (q == PERF_RX && merged) {
			r->cq[q] = r->cq[PERF_TX];
		} else {
			ret = fi_cq_open(d->domain, &attr, &r->cq[q], NULL);
			if (ret)
				return raw_error(ret, "fi_cq_open");
		}
		ret = fi_control(&r->cq[q]->fid, FI_GETWAIT, &r->cq_fd[q]);
		if (ret)
			return raw_error(ret, "fi_control(FI_GETWAIT)");
	}
	return 0;
}

static int register_memory(struct raw_side *r, struct raw_dev *d)
{
	static uint64_t next_key = 1;
	struct perf_side *s = &r->base;
	int ret;

	ret = fi_mr_reg(d->domain, s->tx, s->mem_len,
			FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
			0, next_key++, 0, &r->mr, NULL);
	if (ret)
		return raw_error(ret, "fi_mr_reg");
	r->desc = fi_mr_desc(r->mr);
	s->local.addr = (uintptr_t)s->rx;
	s->local.key = fi_mr_key(r->mr);
	return 0;
}

int raw_side_open(struct perf_dev *dev, struct perf_side **side)
{
	const struct perf_opts *o = dev->run->opts;
	struct raw_side *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return raw_error(-FI_ENOMEM, "calloc");
	r->base.layer = dev->layer;
	r->base.dev = dev;
	r->more = o->raw_more;
	r->write_flags = o->raw_delivery ? FI_DELIVERY_COMPLETE : 0;
	*side = &r->base;
	ret = perf_memory_get(&r->base, dev->c->size);
	if (!ret)
		ret = register_memory(r, raw_dev(dev));
	return ret ? ret : open_cqs(r, raw_dev(dev));
}

int raw_side_close(struct perf_side *s)
{
	struct raw_side *r = raw_side(s);
	int ret = 0;

	ret |= close_fid(r->ep ? &r->ep->fid : NULL, "fi_close(ep)");
	ret |= close_fid(r->mr ? &r->mr->fid : NULL, "fi_close(mr)");
	if (r->cq[PERF_RX] != r->cq[PERF_TX])
		ret |= close_fid(r->cq[PERF_RX] ? &r->cq[PERF_RX]->fid : NULL, "fi_close(cq)");
	ret |= close_fid(r->cq[PERF_TX] ? &r->cq[PERF_TX]->fid : NULL, "fi_close(cq)");
	perf_memory_put(s);
	free(r);
	return ret ? -FI_EIO : 0;
}

const struct perf_layer perf_raw_layer = {
	.name = "raw",
	.open = raw_open,
	.close = raw_close,
	.listen = raw_listen,
	.side_open = raw_side_open,
	.connect = raw_connect,
	.accept = raw_accept,
	.established = raw_established,
	.disconnect = raw_disconnect,
	.side_close = raw_side_close,
	.post_recv = raw_post_recv,
	.post = raw_post,
	.reap = raw_reap,
	.wait = raw_wait,
};
