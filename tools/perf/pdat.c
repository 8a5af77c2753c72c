/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and closes the adapter of a measurement. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pdat.h"
#include "proc.h"
#include "args.h"

/* Spare entries for events that no pattern expects, such as flushes at the end. */
#define SPARE 8

int pdat_error(DAT_RETURN ret, const char *call)
{
	const char *major = "?", *minor = "";

	dat_strerror(ret, &major, &minor);
	return perf_error(-EIO, "dat", call, "%s%s%s (0x%x)", major, *minor ? " " : "", minor,
			  (unsigned int)ret);
}

/* Returns a named attribute of the provider, or "". */
static const char *provider_attr(const DAT_PROVIDER_ATTR *provider, const char *name)
{
	const DAT_NAMED_ATTR *attr = provider->provider_specific_attr;
	int i;

	for (i = 0; i < provider->num_provider_specific_attr; i++)
		if (!strcmp(attr[i].name, name))
			return attr[i].value;
	return "";
}

static bool provider_offers(const DAT_PROVIDER_ATTR *provider, const char *name)
{
	return !strcmp(provider_attr(provider, name), "TRUE");
}

/* Of a fabric whose endpoints libfabric connects, completions of a shared queue have no room. */
static bool offers_op(const struct pdat_dev *d, const DAT_PROVIDER_ATTR *provider)
{
	const char *fabric = provider_attr(provider, "DAT_OFI_FABRIC");

	switch (d->base.c->op) {
	case PERF_FADD:
		return provider_offers(provider, DAT_IB_ATTR_FETCH_AND_ADD);
	case PERF_CSWAP:
		return provider_offers(provider, DAT_IB_ATTR_CMP_AND_SWAP);
	case PERF_IMMED:
		return provider_offers(provider, DAT_IB_ATTR_IMMED_DATA) &&
		       !(d->base.run->plan->srq && !strcmp(fabric, "verbs"));
	default:
		return true;
	}
}

/* For other providers, the raw twin uses the name of the adapter. */
static void set_raw_provider(struct perf_run *run, const char *fabric)
{
	if (strcmp(run->raw_provider, PERF_RAW_AUTO))
		return;
	if (!*fabric)
		fabric = strncmp(run->ia, "ofi-", 4) ? run->ia : run->ia + 4;
	snprintf(run->raw_provider, sizeof(run->raw_provider), "%s",
		 perf_raw_provider(fabric, run->one_host));
}

/* Queries the address and the limit of outstanding reads; the raw twin uses both. */
static int pdat_query(struct pdat_dev *d, struct perf_run *run)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR *attr = &d->attr;
	const struct sockaddr *sa;
	const void *ip;
	size_t len;
	DAT_RETURN ret;

	memset(attr, 0, sizeof(*attr));
	memset(&provider, 0, sizeof(provider));
	ret = dat_ia_query(d->ia, NULL, DAT_IA_FIELD_ALL, attr, DAT_PROVIDER_FIELD_ALL, &provider);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_ia_query");
	d->has_srq = provider.srq_supported;
	d->has_op = offers_op(d, &provider);
	set_raw_provider(run, provider_attr(&provider, "DAT_OFI_FABRIC"));
	sa = attr->ia_address_ptr;
	if (!sa || (sa->sa_family != AF_INET && sa->sa_family != AF_INET6))
		return perf_error(-EAFNOSUPPORT, "dat", "dat_ia_query",
				  "no IP address is reported");
	len = sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	memcpy(&d->addr, sa, len);
	ip = &((struct sockaddr_in *)&d->addr)->sin_addr;
	if (sa->sa_family == AF_INET6)
		ip = &((struct sockaddr_in6 *)&d->addr)->sin6_addr;
	inet_ntop(sa->sa_family, ip, run->addr, sizeof(run->addr));
	if (attr->max_rdma_read_per_ep_out < run->read_limit)
		run->read_limit = attr->max_rdma_read_per_ep_out;
	if (attr->max_rdma_read_per_ep_in < run->read_limit)
		run->read_limit = attr->max_rdma_read_per_ep_in;
	return 0;
}

static int pdat_open(struct perf_run *run, const struct perf_case *c, struct perf_dev **dev)
{
	struct pdat_dev *d = calloc(1, sizeof(*d));
	DAT_RETURN ret;
	int err;

	if (!d)
		return perf_error(-ENOMEM, "dat", "calloc", "out of memory");
	d->base = (struct perf_dev){ .layer = &perf_dat_layer, .run = run, .c = c };
	*dev = &d->base;
	d->async_evd = DAT_HANDLE_NULL;
	ret = dat_ia_open((DAT_NAME_PTR)run->ia, SPARE, &d->async_evd, &d->ia);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_ia_open");
	err = pdat_query(d, run);
	if (err)
		return err;
	ret = dat_pz_create(d->ia, &d->pz);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_pz_create");
	ret = dat_evd_create(d->ia, SPARE, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &d->cr_evd);
	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_evd_create(CR)");
}

void pdat_keep_error(int *err, DAT_RETURN ret, const char *call)
{
	if (ret != DAT_SUCCESS && !*err)
		*err = pdat_error(ret, call);
}

static int pdat_close(struct perf_dev *dev)
{
	struct pdat_dev *d = pdat_dev(dev);
	int err = 0;

	if (d->psp)
		pdat_keep_error(&err, dat_psp_free(d->psp), "dat_psp_free");
	pdat_keep_error(&err, dat_evd_free(d->cr_evd), "dat_evd_free(CR)");
	pdat_keep_error(&err, dat_pz_free(d->pz), "dat_pz_free");
	/* graceful: fails if any object is left open */
	pdat_keep_error(&err, dat_ia_close(d->ia, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
	free(d);
	return err;
}

const struct perf_layer perf_dat_layer = {
	.name = "dat",
	.open = pdat_open,
	.close = pdat_close,
	.hub_open = pdat_hub_open,
	.hub_close = pdat_hub_close,
	.listen = pdat_listen,
	.side_open = pdat_side_open,
	.connect = pdat_connect,
	.accept = pdat_accept,
	.established = pdat_established,
	.disconnect = pdat_disconnect,
	.side_close = pdat_side_close,
	.post_recv = pdat_post_recv,
	.post_shared = pdat_post_shared,
	.post = pdat_post,
	.reap = pdat_reap,
	.wait = pdat_wait,
	.wait_any = pdat_wait_any,
	.own_progress = true,
};
