/* SPDX-License-Identifier: BSD-2-Clause */
/* How do the raw twin's endpoints find each other, with libfabric's own connections? */
#include <string.h>

#include "proc.h"
#include "raw.h"

/* Takes one event of the device; requests and connections are noted where they belong. */
static int next_event(struct raw_dev *d, const char *want)
{
	int limit = d->base.run->opts->timeout_ms;
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
		return perf_error(-FI_EOTHER, "raw", want, "event %u came instead", event);
	}
}

int raw_listen(struct perf_dev *dev, struct perf_where *where)
{
	struct raw_dev *d = raw_dev(dev);
	size_t len = sizeof(where->addr);
	int ret;

	ret = fi_passive_ep(d->fabric, d->info, &d->pep, NULL);
	if (ret)
		return raw_error(ret, "fi_passive_ep");
	ret = fi_pep_bind(d->pep, &d->eq->fid, 0);
	if (ret)
		return raw_error(ret, "fi_pep_bind");
	ret = fi_listen(d->pep);
	if (ret)
		return raw_error(ret, "fi_listen");
	memset(where, 0, sizeof(*where));
	ret = fi_getname(&d->pep->fid, &where->addr, &len);
	if (ret)
		return raw_error(ret, "fi_getname");
	where->len = len;
	return 0;
}

static int make_ep(struct raw_side *r, struct raw_dev *d, struct fi_info *info)
{
	int ret = fi_endpoint(d->domain, info, &r->ep, r);

	if (ret)
		return raw_error(ret, "fi_endpoint");
	ret = fi_ep_bind(r->ep, &d->eq->fid, 0);
	if (ret)
		return raw_error(ret, "fi_ep_bind(eq)");
	if (r->cq[PERF_TX] == r->cq[PERF_RX]) {
		ret = fi_ep_bind(r->ep, &r->cq[PERF_TX]->fid, FI_TRANSMIT | FI_RECV);
	} else {
		ret = fi_ep_bind(r->ep, &r->cq[PERF_TX]->fid, FI_TRANSMIT);
		if (!ret)
			ret = fi_ep_bind(r->ep, &r->cq[PERF_RX]->fid, FI_RECV);
	}
	if (ret)
		return raw_error(ret, "fi_ep_bind(cq)");
	ret = fi_enable(r->ep);
	return ret ? raw_error(ret, "fi_enable") : 0;
}

int raw_connect(struct perf_side *s, const struct perf_where *where)
{
	struct raw_side *r = raw_side(s);
	struct raw_dev *d = raw_dev(s->dev);
	int ret = make_ep(r, d, d->info);

	if (ret)
		return ret;
	ret = fi_connect(r->ep, &where->addr, NULL, 0);
	return ret ? raw_error(ret, "fi_connect") : 0;
}

int raw_accept(struct perf_side *s)
{
	struct raw_side *r = raw_side(s);
	struct raw_dev *d = raw_dev(s->dev);
	int ret = 0;

	while (!ret && !d->connreq)
		ret = next_event(d, "wait for a connection request");
	if (ret)
		return ret;
	ret = make_ep(r, d, d->connreq);
	raw_lib.freeinfo(d->connreq);
	d->connreq = NULL;
	if (ret)
		return ret;
	ret = fi_accept(r->ep, NULL, 0);
	return ret ? raw_error(ret, "fi_accept") : 0;
}

int raw_established(struct perf_side *s)
{
	int ret = 0;

	while (!ret && !raw_side(s)->connected)
		ret = next_event(raw_dev(s->dev), "wait for the connection");
	return ret;
}

/* Nothing is outstanding: closing the endpoints is all that is needed. */
int raw_disconnect(struct perf_side *s)
{
	(void)s;
	return 0;
}
