/* SPDX-License-Identifier: BSD-2-Clause */
/* Which DAT objects does a measurement need, and how do they come and go? */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pdat.h"
#include "proc.h"

/* Room for events that no pattern asks for, such as flushes at the end. */
#define SPARE 8

int pdat_error(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "";

	dat_strerror(ret, &major, &minor);
	return perf_error(-EIO, "dat", call, "%s%s%s (0x%x)", major, *minor ? " " : "", minor,
			  (unsigned int)ret);
}

/* Where is the adapter, and how many reads may be outstanding? Both also bind the raw twin. */
static int query(struct pdat_dev *d, struct perf_run *run)
{
	DAT_IA_ATTR attr;
	const struct sockaddr *sa;
	const void *ip;
	size_t len;
	DAT_RETURN ret;

	memset(&attr, 0, sizeof(attr));
	ret = dat_ia_query(d->ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_NONE, NULL);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_ia_query");
	sa = attr.ia_address_ptr;
	if (!sa || (sa->sa_family != AF_INET && sa->sa_family != AF_INET6))
		return perf_error(-EAFNOSUPPORT, "dat", "dat_ia_query",
				  "no IP address is reported");
	len = sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	memcpy(&d->addr, sa, len);
	ip = &((struct sockaddr_in *)&d->addr)->sin_addr;
	if (sa->sa_family == AF_INET6)
		ip = &((struct sockaddr_in6 *)&d->addr)->sin6_addr;
	inet_ntop(sa->sa_family, ip, run->addr, sizeof(run->addr));
	if (attr.max_rdma_read_per_ep_out < run->read_limit)
		run->read_limit = attr.max_rdma_read_per_ep_out;
	if (attr.max_rdma_read_per_ep_in < run->read_limit)
		run->read_limit = attr.max_rdma_read_per_ep_in;
	return 0;
}

static int pdat_open(struct perf_run *run, const struct perf_case *c, struct perf_dev **dev)
{
	struct pdat_dev *d = calloc(1, sizeof(*d));
	DAT_RETURN ret;
	int err;

	if (!d)
		return perf_error(-ENOMEM, "dat", "calloc", "out of memory");
	d->base = (struct perf_dev) { .layer = &perf_dat_layer, .run = run, .c = c };
	*dev = &d->base;
	d->async_evd = DAT_HANDLE_NULL;
	ret = dat_ia_open((DAT_NAME_PTR)run->opts->ia, SPARE, &d->async_evd, &d->ia);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_ia_open");
	err = query(d, run);
	if (err)
		return err;
	ret = dat_pz_create(d->ia, &d->pz);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_pz_create");
	ret = dat_evd_create(d->ia, SPARE, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &d->cr_evd);
	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_evd_create(CR)");
}

/* Keeps the first error but goes on. */
static void note(int *err, DAT_RETURN ret, const char *call)
{
	if (ret != DAT_SUCCESS && !*err)
		*err = pdat_error(ret, call);
}

static int pdat_close(struct perf_dev *dev)
{
	struct pdat_dev *d = pdat_dev(dev);
	int err = 0;

	if (d->psp)
		note(&err, dat_psp_free(d->psp), "dat_psp_free");
	note(&err, dat_evd_free(d->cr_evd), "dat_evd_free(CR)");
	note(&err, dat_pz_free(d->pz), "dat_pz_free");
	/* graceful: it fails when anything was left behind */
	note(&err, dat_ia_close(d->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
	free(d);
	return err;
}

static int register_memory(struct pdat_side *p, struct pdat_dev *d)
{
	DAT_REGION_DESCRIPTION region = { .for_va = p->base.tx };
	DAT_RMR_CONTEXT rmr;
	DAT_VLEN size;
	DAT_VADDR addr;
	DAT_RETURN ret;

	ret = dat_lmr_create(d->ia, DAT_MEM_TYPE_VIRTUAL, region, p->base.mem_len, d->pz,
			     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &p->lmr, &p->lmr_context,
			     &rmr, &size, &addr);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_lmr_create");
	p->base.local.addr = (uintptr_t)p->base.rx;
	p->base.local.key = rmr;
	return 0;
}

static int create_evds(struct pdat_side *p, struct pdat_dev *d)
{
	const struct perf_case *c = d->base.c;
	bool merged = d->base.run->opts->merged;
	DAT_COUNT qlen = c->window + 1 + c->recv_depth + SPARE;
	DAT_RETURN ret;

	ret = dat_evd_create(d->ia, SPARE, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
			     &p->conn_evd);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_evd_create(connection)");
	ret = dat_evd_create(d->ia, qlen, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &p->evd[PERF_TX]);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_evd_create(request)");
	p->evd[PERF_RX] = p->evd[PERF_TX];
	if (merged)
		return 0;
	p->evd[PERF_RX] = DAT_HANDLE_NULL;
	ret = dat_evd_create(d->ia, qlen, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &p->evd[PERF_RX]);
	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_evd_create(receive)");
}

static int create_ep(struct pdat_side *p, struct pdat_dev *d)
{
	const struct perf_case *c = d->base.c;
	DAT_COUNT limit = d->base.run->read_limit;
	DAT_COUNT reads = c->window < limit ? c->window : limit;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = (DAT_SEG_LENGTH)p->base.rx_len,
		.max_rdma_size = (DAT_SEG_LENGTH)p->base.rx_len,
		.qos = DAT_QOS_BEST_EFFORT,
		.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
		.max_recv_dtos = c->recv_depth,
		.max_request_dtos = c->window + 1,
		.max_recv_iov = 1,
		.max_request_iov = 1,
		.max_rdma_read_in = reads,
		.max_rdma_read_out = reads,
		.max_rdma_read_iov = 1,
		.max_rdma_write_iov = 1,
	};
	DAT_RETURN ret;

	ret = dat_ep_create(d->ia, d->pz, p->evd[PERF_RX], p->evd[PERF_TX], p->conn_evd, &attr,
			    &p->ep);
	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_ep_create");
}

static int pdat_side_open(struct perf_dev *dev, struct perf_side **side)
{
	struct pdat_side *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return perf_error(-ENOMEM, "dat", "calloc", "out of memory");
	p->base.layer = dev->layer;
	p->base.dev = dev;
	*side = &p->base;
	err = perf_memory_get(&p->base, dev->c->size);
	if (!err)
		err = register_memory(p, pdat_dev(dev));
	if (!err)
		err = create_evds(p, pdat_dev(dev));
	return err ? err : create_ep(p, pdat_dev(dev));
}

static int pdat_side_close(struct perf_side *s)
{
	struct pdat_side *p = pdat_side(s);
	int err = 0;

	note(&err, dat_ep_free(p->ep), "dat_ep_free");
	if (p->evd[PERF_RX] != p->evd[PERF_TX])
		note(&err, dat_evd_free(p->evd[PERF_RX]), "dat_evd_free(receive)");
	note(&err, dat_evd_free(p->evd[PERF_TX]), "dat_evd_free(request)");
	note(&err, dat_evd_free(p->conn_evd), "dat_evd_free(connection)");
	note(&err, dat_lmr_free(p->lmr), "dat_lmr_free");
	perf_memory_put(s);
	free(p);
	return err;
}

const struct perf_layer perf_dat_layer = {
	.name = "dat",
	.open = pdat_open,
	.close = pdat_close,
	.listen = pdat_listen,
	.side_open = pdat_side_open,
	.connect = pdat_connect,
	.accept = pdat_accept,
	.established = pdat_established,
	.disconnect = pdat_disconnect,
	.side_close = pdat_side_close,
	.post_recv = pdat_post_recv,
	.post = pdat_post,
	.reap = pdat_reap,
	.wait = pdat_wait,
};
