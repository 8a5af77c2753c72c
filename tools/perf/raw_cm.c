/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects the raw twin's endpoints through libfabric. */
#include <stdlib.h>
#include <string.h>

#include "proc.h"
#include "raw.h"

/* Reads one event of the device and records requests and connections. */
static int raw_next_event(struct raw_dev *d, const char *want)
{
	int limit = (int)d->base.run->plan->timeout_ms;
	struct fi_eq_err_entry err = { 0 };
	struct fi_eq_cm_entry cm;
	uint32_t event;
	ssize_t n;

	n = fi_eq_sread(d->eq, &event, &cm, sizeof(cm), limit, 0);
	if (n == -FI_EAVAIL) {
		n = fi_eq_readerr(d->eq, &err, 0);
		return raw_error(n < 0 ? (int)n : -err.err, want);
	}
	if (n == -FI_EAGAIN)
		return perf_error(-FI_ETIMEDOUT, "raw", want, "no event for %d ms", limit);
	if (n == -FI_EINTR)
		return 0;
	if (n < 0)
		return raw_error((int)n, "fi_eq_sread");
	switch (event) {
	case FI_CONNREQ:
		d->connreq = cm.info;
		return 0;
	case FI_CONNECTED:
		((struct raw_side *)cm.fid->context)->connected = true;
		return 0;
	default:
		return perf_error(-FI_EOTHER, "raw", want, "unexpected event %u", event);
	}
}

int raw_listen(struct perf_dev *dev, struct perf_listen_addr *listen_addr)
{
	struct raw_dev *d = raw_dev(dev);
	size_t len = sizeof(listen_addr->addr);
	int ret;

	memset(listen_addr, 0, sizeof(*listen_addr));
	if (d->unconnected)
		return 0;
	ret = fi_passive_ep(d->fabric, d->info, &d->pep, NULL);
	if (ret)
		return raw_error(ret, "fi_passive_ep");
	ret = fi_pep_bind(d->pep, &d->eq->fid, 0);
	if (ret)
		return raw_error(ret, "fi_pep_bind");
	ret = fi_listen(d->pep);
	if (ret)
		return raw_error(ret, "fi_listen");
	ret = fi_getname(&d->pep->fid, &listen_addr->addr, &len);
	return ret ? raw_error(ret, "fi_getname") : 0;
}

static int raw_bind_ep(struct raw_side *r, struct raw_dev *d, struct raw_hub *h)
{
	int ret = d->unconnected ? fi_ep_bind(r->ep, &d->av->fid, 0)
				 : fi_ep_bind(r->ep, &d->eq->fid, 0);

	if (ret)
		return raw_error(ret, "fi_ep_bind(eq)");
	if (h->srx) {
		ret = fi_ep_bind(r->ep, &h->srx->fid, 0);
		if (ret)
			return raw_error(ret, "fi_ep_bind(srx)");
	}
	if (h->cq[PERF_TX] == h->cq[PERF_RX]) {
		ret = fi_ep_bind(r->ep, &h->cq[PERF_TX]->fid, FI_TRANSMIT | FI_RECV);
	} else {
		ret = fi_ep_bind(r->ep, &h->cq[PERF_TX]->fid, FI_TRANSMIT);
		if (!ret)
			ret = fi_ep_bind(r->ep, &h->cq[PERF_RX]->fid, FI_RECV);
	}
	return ret ? raw_error(ret, "fi_ep_bind(cq)") : 0;
}

int raw_make_ep(struct raw_side *r, struct fi_info *info)
{
	struct raw_dev *d = raw_dev(r->base.hub->dev);
	size_t len = sizeof(r->base.local.name);
	int ret = fi_endpoint(d->domain, info, &r->ep, r);

	if (ret)
		return raw_error(ret, "fi_endpoint");
	ret = raw_bind_ep(r, d, raw_hub(r->base.hub));
	if (ret)
		return ret;
	ret = fi_enable(r->ep);
	if (ret)
		return raw_error(ret, "fi_enable");
	if (!d->unconnected)
		return 0;
	ret = fi_getname(&r->ep->fid, r->base.local.name, &len);
	r->base.local.name_len = len;
	return ret ? raw_error(ret, "fi_getname") : 0;
}

/* Some providers (verbs) need the destination when the endpoint is created. */
static struct fi_info *raw_info_for_peer(const struct raw_dev *d,
					 const struct perf_listen_addr *listen_addr)
{
	struct fi_info *info = raw_lib.dupinfo(d->info);

	if (!info)
		return NULL;
	free(info->dest_addr);
	info->dest_addrlen = listen_addr->addr.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
								     : sizeof(struct sockaddr_in);
	info->dest_addr = malloc(info->dest_addrlen);
	if (info->dest_addr) {
		memcpy(info->dest_addr, &listen_addr->addr, info->dest_addrlen);
		return info;
	}
	raw_lib.freeinfo(info);
	return NULL;
}

int raw_connect(struct perf_side *s, const struct perf_listen_addr *listen_addr)
{
	struct raw_side *r = raw_side(s);
	struct raw_dev *d = raw_dev(s->hub->dev);
	struct fi_info *info;
	int ret;

	if (d->unconnected)
		return 0;
	info = raw_info_for_peer(d, listen_addr);
	ret = info ? raw_make_ep(r, info) : -FI_ENOMEM;
	if (info)
		raw_lib.freeinfo(info);
	if (ret)
		return ret;
	ret = fi_connect(r->ep, &listen_addr->addr, NULL, 0);
	return ret ? raw_error(ret, "fi_connect") : 0;
}

int raw_accept(struct perf_side *s)
{
	struct raw_side *r = raw_side(s);
	struct raw_dev *d = raw_dev(s->hub->dev);
	int ret = 0;

	if (d->unconnected)
		return 0;
	while (!ret && !d->connreq)
		ret = raw_next_event(d, "wait for a connection request");
	if (ret)
		return ret;
	ret = raw_make_ep(r, d->connreq);
	raw_lib.freeinfo(d->connreq);
	d->connreq = NULL;
	if (ret)
		return ret;
	ret = fi_accept(r->ep, NULL, 0);
	return ret ? raw_error(ret, "fi_accept") : 0;
}

int raw_established(struct perf_side *s)
{
	struct raw_dev *d = raw_dev(s->hub->dev);
	int ret = 0;

	while (!ret && !d->unconnected && !raw_side(s)->connected)
		ret = raw_next_event(d, "wait for the connection");
	return ret;
}

/* Both names are known now. */
int raw_exchange_names(struct perf_side *s)
{
	struct raw_dev *d = raw_dev(s->hub->dev);
	int ret;

	if (!d->unconnected)
		return 0;
	ret = fi_av_insert(d->av, s->peer.name, 1, &raw_side(s)->dest, 0, NULL);
	return ret == 1 ? 0 : raw_error(ret < 0 ? ret : -FI_EADDRNOTAVAIL, "fi_av_insert");
}

/* Nothing is outstanding: closing the endpoints is all that is needed. */
int raw_disconnect(struct perf_side *s)
{
	(void)s;
	return 0;
}
