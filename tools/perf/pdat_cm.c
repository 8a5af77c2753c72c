/* SPDX-License-Identifier: BSD-2-Clause */
/* Connects and disconnects DAT endpoints. */
#include <errno.h>
#include <string.h>

#include "pdat.h"
#include "proc.h"

static const char *event_name(DAT_EVENT_NUMBER n)
{
	switch (n) {
	case DAT_CONNECTION_REQUEST_EVENT:
		return "connection request";
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return "established";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "rejected by the peer";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "rejected, not by the peer";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "accept completion error";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "disconnected";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "broken";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "timed out";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "unreachable";
	default:
		return "unexpected event";
	}
}

static int wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER want, int limit_ms, DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN ret;

	do {
		ret = dat_evd_wait(evd, (DAT_TIMEOUT)limit_ms * 1000u, 1, event, &more);
	} while (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL);
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		return perf_error(-ETIMEDOUT, "dat", "dat_evd_wait", "no event \"%s\" for %d ms",
				  event_name(want), limit_ms);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_evd_wait");
	if (event->event_number != want)
		return perf_error(-EIO, "dat", "dat_evd_wait",
				  "event \"%s\" (0x%x) instead of \"%s\"",
				  event_name(event->event_number),
				  (unsigned int)event->event_number, event_name(want));
	return 0;
}

int pdat_listen(struct perf_dev *dev, struct perf_listen_addr *listen_addr)
{
	struct pdat_dev *d = pdat_dev(dev);
	DAT_CONN_QUAL qual;
	DAT_RETURN ret;

	ret = dat_psp_create_any(d->ia, &qual, d->cr_evd, DAT_PSP_CONSUMER_FLAG, &d->psp);
	if (ret != DAT_SUCCESS)
		return pdat_error(ret, "dat_psp_create_any");
	memset(listen_addr, 0, sizeof(*listen_addr));
	listen_addr->addr = d->addr;
	listen_addr->qual = qual;
	return 0;
}

int pdat_connect(struct perf_side *s, const struct perf_listen_addr *listen_addr)
{
	int limit = (int)s->hub->dev->run->plan->timeout_ms;
	struct pdat_side *p = pdat_side(s);
	struct sockaddr_storage addr = listen_addr->addr;
	DAT_RETURN ret;

	p->active = true;
	ret = dat_ep_connect(p->ep, (DAT_IA_ADDRESS_PTR)&addr, listen_addr->qual,
			     (DAT_TIMEOUT)limit * 1000u, 0, NULL, DAT_QOS_BEST_EFFORT,
			     DAT_CONNECT_DEFAULT_FLAG);
	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_ep_connect");
}

int pdat_accept(struct perf_side *s)
{
	struct pdat_dev *d = pdat_dev(s->hub->dev);
	DAT_EVENT event;
	DAT_RETURN ret;
	int err;

	err = wait_for(d->cr_evd, DAT_CONNECTION_REQUEST_EVENT, (int)d->base.run->plan->timeout_ms,
		       &event);
	if (err)
		return err;
	ret = dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, pdat_side(s)->ep, 0,
			    NULL);
	return ret == DAT_SUCCESS ? 0 : pdat_error(ret, "dat_cr_accept");
}

int pdat_established(struct perf_side *s)
{
	DAT_EVENT event;

	return wait_for(pdat_hub(s->hub)->conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED,
			(int)s->hub->dev->run->plan->timeout_ms, &event);
}

/*
 * The active side starts; both await the event before they free anything. The event may be that of
 * another connection: the caller disconnects all of them, and takes one event for each.
 */
int pdat_disconnect(struct perf_side *s)
{
	struct pdat_side *p = pdat_side(s);
	DAT_EVENT event;
	DAT_RETURN ret;

	if (p->active) {
		ret = dat_ep_disconnect(p->ep, DAT_CLOSE_GRACEFUL_FLAG);
		if (ret != DAT_SUCCESS)
			return pdat_error(ret, "dat_ep_disconnect");
	}
	return wait_for(pdat_hub(s->hub)->conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED,
			(int)s->hub->dev->run->plan->timeout_ms, &event);
}
